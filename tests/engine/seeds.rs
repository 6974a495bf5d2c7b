//! Inputs of the fuzz target for engine output.

use crate::seed_files::feed;

#[path = "../fuzz/engine.rs"]
mod invariants;

#[test]
fn seeds_of_engine_output() {
    feed("engine_output", 9, invariants::engine_output);
}

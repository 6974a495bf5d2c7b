//! Inputs of the fuzz targets for messages and logs.

use crate::seed_files::feed;

#[path = "../fuzz/referee.rs"]
mod invariants;

#[test]
fn seeds_of_messages() {
    feed("wire", 8, invariants::wire);
}

#[test]
fn seeds_of_logs() {
    feed("referee_log", 4, invariants::log);
}

//! The inputs of the fuzz target also pass as tests.

use crate::seed_files::feed;

#[path = "../fuzz/tables.rs"]
mod invariants;

#[test]
fn seeds_of_parquet() {
    feed("parquet", 30, invariants::parquet);
}

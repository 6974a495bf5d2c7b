//! The inputs of the fuzz targets also pass as tests.

use crate::seed_files::feed;

#[path = "../fuzz/records.rs"]
mod invariants;

#[test]
fn seeds_of_lines() {
    feed("epd_line", 30, invariants::epd_line);
}

#[test]
fn seeds_of_records() {
    feed("record", 80, invariants::record);
}

#[test]
fn seeds_of_packed_boards() {
    feed("packed_board", 25, invariants::packed_board);
}

#[test]
fn seeds_of_streams() {
    feed("stream", 15, invariants::stream);
}

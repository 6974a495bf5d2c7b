//! The inputs that the fuzz targets begin with, each of which must hold what they check.

use std::fs;
use std::path::Path;

#[path = "../fuzz/records.rs"]
mod invariants;

/// Feeds a folder to a check; there must be so many files at least.
fn feed(folder: &str, least: usize, check: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/seeds").join(folder);
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    assert!(files.map(|path| check(&fs::read(path).unwrap())).count() >= least);
}

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

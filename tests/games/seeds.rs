//! Fuzzing inputs that reach most of the readers also pass as tests.

use std::fs;
use std::path::Path;

#[path = "../fuzz/games.rs"]
mod invariants;

/// Feeds a folder to a check; it must have at least `least` files.
fn feed(folder: &str, least: usize, check: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/seeds").join(folder);
    let mut files = 0;
    for entry in fs::read_dir(folder).unwrap() {
        check(&fs::read(entry.unwrap().path()).unwrap());
        files += 1;
    }
    assert!(files >= least, "{files} files");
}

#[test]
fn seeds_of_pgn() {
    feed("pgn", 100, invariants::pgn);
}

#[test]
fn seeds_of_pgc() {
    feed("pgc", 100, invariants::pgc);
}

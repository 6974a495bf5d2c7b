//! Inputs of fuzzing for the readers of rows, also run as tests.
//!
//! So are all samples of the format: whole, cut, and with each of their first bytes changed.

use std::fs;
use std::path::Path;

use crate::samples::samples;
use epdb_store::any_row;

#[test]
fn seeds_do_no_harm() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/seeds/store_row");
    let mut seeds = 0;
    for seed in fs::read_dir(folder).unwrap() {
        any_row(&fs::read(seed.unwrap().path()).unwrap());
        seeds += 1;
    }
    assert!(seeds > 3);
}

#[test]
fn samples_cut_and_changed_do_no_harm() {
    let samples = samples("store");
    for row in samples.valid.iter().chain(&samples.invalid).flat_map(|case| &case.rows) {
        let bytes = row.bytes();
        any_row(&bytes);
        for at in 0..bytes.len().min(300) {
            any_row(&bytes[..at]);
            for bit in 0..8 {
                let mut changed = bytes.clone();
                changed[at] ^= 1 << bit;
                any_row(&changed);
            }
        }
    }
}

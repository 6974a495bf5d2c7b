//! Inputs of the fuzz targets, which also pass as tests.

use std::fs;
use std::path::Path;

/// Feeds a folder to a check; it must have at least `least` files.
pub(crate) fn feed(folder: &str, least: usize, check: impl Fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/seeds").join(folder);
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    assert!(files.map(|path| check(&fs::read(path).unwrap())).count() >= least);
}

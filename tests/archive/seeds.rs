//! The inputs that fuzzing found to reach most of the reader.

use std::fs;
use std::path::Path;

#[path = "../fuzz/archive.rs"]
mod invariants;

#[test]
fn seeds_of_archives() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/seeds/archive");
    let mut files = 0;
    for entry in fs::read_dir(folder).unwrap() {
        invariants::archive(&fs::read(entry.unwrap().path()).unwrap());
        files += 1;
    }
    assert!(files >= 50, "{files} files");
}

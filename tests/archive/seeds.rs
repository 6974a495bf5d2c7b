//! Inputs for fuzzing: valid archives of every coder, and damaged archives whose section checksums are valid.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use epdb_archive::Archive;

#[path = "../fuzz/archive.rs"]
mod invariants;

/// The codings of the segments, and whether their blocks have operations.
fn codings(bytes: &[u8]) -> Vec<(u8, bool)> {
    let Ok(archive) = Archive::from_bytes(bytes.to_vec()) else { return Vec::new() };
    if archive.verify().is_err() {
        return Vec::new();
    }
    let parts = archive.parts();
    let table = parts.iter().find(|part| part.name == "segment table").unwrap();
    let table = &bytes[table.offset as usize..][..table.len as usize];
    table.chunks(32).map(|entry| (entry[28], entry[29] == 1)).collect()
}

#[test]
fn seeds_of_archives() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/seeds/archive");
    let mut seen = BTreeSet::new();
    let (mut files, mut opened) = (0, 0);
    for entry in fs::read_dir(folder).unwrap() {
        let bytes = fs::read(entry.unwrap().path()).unwrap();
        invariants::archive(&bytes);
        seen.extend(codings(&bytes));
        files += 1;
        opened += usize::from(Archive::from_bytes(bytes).is_ok());
    }
    assert!(files >= 50 && opened > files / 2, "{opened} of {files} files");
    for coding in [(0, false), (1, false), (2, true), (3, false)] {
        assert!(seen.contains(&coding), "{coding:?} in {seen:?}");
    }
}

//! Other people's files: `../shared/data` next to the crate, or the folder that `EPDB_SHARED_DATA` names.
//!
//! They are not part of the project. A test that needs them is skipped without them, and reports that.

#![allow(dead_code, reason = "each test binary uses its part")]

use std::path::{Path, PathBuf};

use crate::skipped::skipped;

/// A file or folder among other people's files. Where there is none, the test that asks is named
/// as skipped.
pub(crate) fn shared_data(place: &str) -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data");
    let data = std::env::var_os("EPDB_SHARED_DATA").map_or_else(beside, PathBuf::from);
    let path = data.join(place);
    if path.exists() {
        return Some(path);
    }
    skipped(&format!("no {}", path.display()));
    None
}

/// All files below a folder of other people's files, in order of their names.
pub(crate) fn shared_files(folder: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    if let Some(folder) = shared_data(folder) {
        add_files(&folder, &mut files);
    }
    files
}

fn add_files(folder: &Path, files: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for entry in entries {
        if entry.is_dir() { add_files(&entry, files) } else { files.push(entry) }
    }
}

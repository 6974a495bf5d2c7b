//! Detects changes of files.

use std::fs::{self, Metadata};
use std::io;
use std::path::Path;
use std::time::SystemTime;

/// Properties that change when a file is replaced or written.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Stamp {
    len: u64,
    modified: Option<SystemTime>,
    file: (u64, u64),
}

impl Stamp {
    pub(super) fn of(path: &Path) -> io::Result<Stamp> {
        let metadata = fs::metadata(path)?;
        let file = file_number(&metadata);
        Ok(Stamp { len: metadata.len(), modified: metadata.modified().ok(), file })
    }
}

/// Device and number of the file.
#[cfg(unix)]
fn file_number(metadata: &Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt;
    (metadata.dev(), metadata.ino())
}

/// The creation time is used instead of a number.
#[cfg(not(unix))]
fn file_number(metadata: &Metadata) -> (u64, u64) {
    let made = metadata.created().ok();
    let since = made.and_then(|made| made.duration_since(SystemTime::UNIX_EPOCH).ok());
    (since.map_or(0, |since| since.as_secs()), since.map_or(0, |since| since.subsec_nanos().into()))
}

//! What tells whether a file is still the one that was opened.

use std::fs::{self, Metadata};
use std::io;
use std::path::Path;
use std::time::SystemTime;

/// What changes when a file is replaced or written to.
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

/// Which file of which device it is.
#[cfg(unix)]
fn file_number(metadata: &Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt;
    (metadata.dev(), metadata.ino())
}

/// The time at which it was made stands for its number.
#[cfg(not(unix))]
fn file_number(metadata: &Metadata) -> (u64, u64) {
    let made = metadata.created().ok();
    let since = made.and_then(|made| made.duration_since(SystemTime::UNIX_EPOCH).ok());
    (since.map_or(0, |since| since.as_secs()), since.map_or(0, |since| since.subsec_nanos().into()))
}

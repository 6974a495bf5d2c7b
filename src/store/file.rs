//! Checks of a store's file before redb opens it.

use std::fs::{self, File, Metadata, TryLockError};
use std::io::{self, Read};
use std::path::Path;

use super::error::{StoreError, guarded};
use super::pages;
use super::schema::Access;
use crate::new_file::{file_identity, open_regular};

type Result<T> = std::result::Result<T, StoreError>;

/// The first bytes of a store, with which every redb database begins.
pub const MAGIC: &[u8] = b"redb\x1a\x0a\xa9\x0d\x0a";

/// True if a file is empty or ends within [`MAGIC`].
pub(super) fn is_cut_short(path: &Path) -> bool {
    let max = MAGIC.len() as u64;
    fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() < max)
        && fs::read(path).is_ok_and(|bytes| MAGIC.starts_with(&bytes))
}

/// Refuses a file that is not a redb database, which redb would report as an input/output error.
pub(super) fn check_magic(path: &Path) -> Result<()> {
    let mut start = [0; MAGIC.len()];
    let read = open_regular(path).and_then(|mut file| file.read_exact(&mut start));
    let path = path.to_path_buf();
    match read {
        Ok(()) if start == MAGIC => Ok(()),
        Ok(()) => Err(StoreError::NotAStore {
            path,
            what: "it does not begin with the bytes of a redb database".into(),
        }),
        Err(error) => Err(match error.kind() {
            io::ErrorKind::NotFound => StoreError::NotFound { path },
            io::ErrorKind::UnexpectedEof => {
                StoreError::NotAStore { path, what: "it is too short".into() }
            }
            _ => StoreError::Io { path, error },
        }),
    }
}

/// Refuses a file if redb would read something other than the last commit from it.
pub(super) fn check_pages(path: &Path, access: Access) -> Result<()> {
    let file = open_shared(path)?;
    guarded(path, || pages::check(&file, access))
}

/// True if the file that is open is still the one with this name.
pub(super) fn has_name(file: &File, path: &Path) -> bool {
    let identity = |found: io::Result<Metadata>| found.ok().map(|found| file_identity(&found));
    identity(file.metadata()) == identity(fs::metadata(path))
}

/// Opens a file with a shared lock, so that no process writes to it while it is open. On systems
/// without file locks, opens it without a lock.
pub(super) fn open_shared(path: &Path) -> Result<File> {
    let io_error = |error| StoreError::Io { path: path.to_path_buf(), error };
    let file = open_regular(path).map_err(io_error)?;
    match file.try_lock_shared() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(StoreError::InUse { path: path.to_path_buf() }),
        Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => Ok(file),
        Err(TryLockError::Error(error)) => Err(io_error(error)),
    }
}

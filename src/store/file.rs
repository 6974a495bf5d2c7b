//! Checks of a store's file before redb opens it.

use std::fs::{self, File, Metadata, TryLockError};
use std::io::{self, Read};
use std::ops::Bound;
use std::path::Path;

use redb::backends::FileBackend;
use redb::{ConcurrencyMode, StorageBackend};

use super::error::{StoreError, guarded};
use epdb_base::new_file::{file_identity, open_regular};

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

/// True if the file that is open is still the one with this name.
pub(super) fn has_name(file: &File, path: &Path) -> bool {
    let identity = |found: io::Result<Metadata>| found.ok().map(|found| file_identity(&found));
    identity(file.metadata()) == identity(fs::metadata(path))
}

/// Sharing of a store between processes. On Linux and macOS, one process writes and others read at the
/// same time. On other systems, where locked bytes cannot be read, one process writes or others read.
pub(super) const SHARING: ConcurrencyMode = if cfg!(any(target_os = "linux", target_os = "macos")) {
    ConcurrencyMode::SingleWriter
} else {
    ConcurrencyMode::ExclusiveWriter
};

/// The byte that redb's writer locks for itself while it has the file open. No file is so long.
const WRITER_BYTE: u64 = 1 << 62;

/// Opens a file so that no process writes to it while it is open. On systems without file locks,
/// opens it without a lock.
///
/// # Errors
/// [`StoreError::InUse`] if a process has the store open for writing.
pub(super) fn open_unwritten(path: &Path) -> Result<File> {
    let file = open_regular(path).map_err(|error| io_error(path, error))?;
    let locked = match SHARING {
        ConcurrencyMode::SingleWriter => guarded(path, || {
            // The lock belongs to the open file, so it stays as long as `file`.
            let lock = FileBackend::new(file.try_clone()?)?;
            let byte = Bound::Included(WRITER_BYTE);
            Ok(lock.try_lock_shared_range(byte, byte).map_err(io::Error::from)?)
        })?,
        _ => match file.try_lock_shared() {
            Ok(()) => true,
            Err(TryLockError::WouldBlock) => false,
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => true,
            Err(TryLockError::Error(error)) => return Err(io_error(path, error)),
        },
    };
    if locked { Ok(file) } else { Err(StoreError::InUse { path: path.to_path_buf() }) }
}

fn io_error(path: &Path, error: io::Error) -> StoreError {
    StoreError::Io { path: path.to_path_buf(), error }
}

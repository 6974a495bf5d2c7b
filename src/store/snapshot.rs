//! Copies of a store in the state of its last commit, even while another process writes to the
//! store.

use std::fs::File;
use std::io::{self, Seek};
use std::path::Path;

use redb::Database;
use redb::backends::FileBackend;

use super::error::{Result as Inner, StoreError, guarded};
use super::file::{MAGIC, check_magic, open_unwritten};
use super::pages::{self, Header};
use crate::new_file::{SpooledFile, open_regular};

/// Maximum number of attempts to copy a store while another process commits to it.
const MAX_TRIES: usize = 20;
/// Cache of redb while it repairs a copy, in bytes.
const CACHE_BYTES: usize = 4 << 20;

/// Copies a store, in the state of its last commit, into a temporary file in `folder`. Other
/// processes may write to the store at the same time.
///
/// A commit writes to pages that the previous commit does not use, and then writes the header. So
/// if the header is the same before and after copying, no commit happened in between. The copy is
/// then like a store whose writer died, and is repaired like one.
///
/// # Errors
/// [`StoreError::NotFound`], [`StoreError::NotAStore`], [`StoreError::Damaged`],
/// [`StoreError::Io`], and [`StoreError::InUse`] if commits came faster than the store could be
/// copied.
pub fn copy_snapshot(path: impl AsRef<Path>, folder: &Path) -> Result<SpooledFile, StoreError> {
    let path = path.as_ref();
    check_magic(path)?;
    for _ in 0..MAX_TRIES {
        if let Some(copy) = guarded(path, || copy_of_one_commit(path, folder))? {
            return Ok(copy);
        }
    }
    Err(StoreError::InUse { path: path.to_path_buf() })
}

/// Returns a copy of the store that is closed properly; `None` if a commit happened during the
/// copying, or if the copy was removed.
fn copy_of_one_commit(path: &Path, folder: &Path) -> Inner<Option<SpooledFile>> {
    let mut file = open_regular(path)?;
    let before = pages::read_header(&file)?;
    file.rewind()?;
    let mut is_of_one_commit = false;
    let copy = SpooledFile::fill(folder, |copy| {
        io::copy(&mut file, copy)?;
        is_of_one_commit = pages::read_header(&file)? == before;
        match is_of_one_commit {
            true => repair(copy, &before),
            false => Ok(()),
        }
    })?;
    // Closing the copy unlocks it.
    Ok((is_of_one_commit && copy.is_there()).then_some(copy))
}

/// Closes a store that its writer did not close. A lock on the file through another handle stays.
fn repair(file: &File, header: &Header) -> Inner<()> {
    if !pages::is_open_for_writing(header) {
        return Ok(());
    }
    pages::check_before_writing(file)?;
    let file = FileBackend::new(file.try_clone()?)?;
    drop(Database::builder().set_cache_size(CACHE_BYTES).create_with_backend(file)?);
    Ok(())
}

/// Closes a store that its writer did not close. Nobody else may use the file. A file that does not
/// begin like a store is left unchanged.
///
/// # Errors
/// The errors of [`copy_snapshot`]. They name `path` as the file.
#[cfg_attr(not(feature = "source"), expect(dead_code))]
pub(crate) fn close_copy(file: &mut File, path: &Path) -> Result<(), StoreError> {
    guarded(path, || match pages::read_header(file) {
        Ok(header) if header.starts_with(MAGIC) => repair(file, &header),
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(()),
        Err(error) => Err(error.into()),
    })
}

/// True if a process has the store open for writing.
///
/// # Errors
/// [`StoreError::NotFound`], [`StoreError::NotAStore`], [`StoreError::Io`].
pub fn is_being_written(path: impl AsRef<Path>) -> Result<bool, StoreError> {
    let path = path.as_ref();
    check_magic(path)?;
    let io_error = |error| StoreError::Io { path: path.to_path_buf(), error };
    let header = open_regular(path).and_then(|file| pages::read_header(&file));
    let header = header.map_err(io_error)?;
    if !pages::is_open_for_writing(&header) {
        return Ok(false);
    }
    // The writer may have died. Then no process holds the lock.
    match open_unwritten(path) {
        Ok(_) => Ok(false),
        Err(StoreError::InUse { .. }) => Ok(true),
        Err(error) => Err(error),
    }
}

//! A copy of a store as of its last commit, made while others may write to it.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use redb::Database;

use super::error::{Result as Inner, StoreError, guarded};
use super::file::{MAGIC, check_magic, open_shared};
use super::pages::{self, HEADER_BYTES};
use super::schema::Access;
use crate::new_file::SpooledFile;

/// A copy that commits ran ahead of is made anew so many times.
const MAX_TRIES: usize = 20;
/// The memory in which a copy is put right.
const CACHE_BYTES: usize = 4 << 20;

/// Copies a store as of its last commit into a temporary file in `folder`, without keeping anybody from
/// writing to it meanwhile.
///
/// A commit writes to pages that the one before does not use, and then the header. So what was copied
/// between two looks at the header that are equal is what the death of a writer would have left at that time,
/// and it is put right as such.
///
/// # Errors
/// [`StoreError::NotFound`], [`StoreError::NotAStore`], [`StoreError::Damaged`], [`StoreError::Io`], and
/// [`StoreError::InUse`] when commits came faster than it could be copied.
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

/// A copy that is as if its writer had closed it; `None` where a commit came in between.
fn copy_of_one_commit(path: &Path, folder: &Path) -> Inner<Option<SpooledFile>> {
    let mut file = File::open(path)?;
    let before = header(&mut file)?;
    file.rewind()?;
    let mut is_of_one_commit = false;
    let copy = SpooledFile::fill(folder, |copy| {
        io::copy(&mut file, copy)?;
        is_of_one_commit = header(&mut file)? == before;
        match is_of_one_commit {
            true => repair(copy, &before),
            false => Ok(()),
        }
    })?;
    Ok(is_of_one_commit.then_some(copy))
}

/// Closes a store whose writer did not. Whoever locked the file still has that lock, through another handle.
fn repair(file: &File, header: &[u8; HEADER_BYTES]) -> Inner<()> {
    if !pages::is_open_for_writing(header) {
        return Ok(());
    }
    pages::check(file, Access::Write)?;
    drop(Database::builder().set_cache_size(CACHE_BYTES).create_file(file.try_clone()?)?);
    Ok(())
}

/// Closes a store whose writer did not, in a file that nobody else has; what does not begin like a store is
/// left as it is.
///
/// # Errors
/// As [`copy_snapshot`], with `path` as its name.
#[cfg_attr(not(feature = "source"), expect(dead_code))]
pub(crate) fn close_copy(file: &mut File, path: &Path) -> Result<(), StoreError> {
    guarded(path, || {
        if file.metadata()?.len() < HEADER_BYTES as u64 {
            return Ok(());
        }
        let header = header(file)?;
        match header.starts_with(MAGIC) {
            true => repair(file, &header),
            false => Ok(()),
        }
    })
}

/// Whether a process has the store open for writing.
///
/// # Errors
/// [`StoreError::NotFound`], [`StoreError::NotAStore`], [`StoreError::Io`].
pub fn is_being_written(path: impl AsRef<Path>) -> Result<bool, StoreError> {
    let path = path.as_ref();
    check_magic(path)?;
    let io_error = |error| StoreError::Io { path: path.to_path_buf(), error };
    let header = File::open(path).and_then(|mut file| header(&mut file)).map_err(io_error)?;
    if !pages::is_open_for_writing(&header) {
        return Ok(false);
    }
    // Its writer may have died.
    match open_shared(path) {
        Ok(_) => Ok(false),
        Err(StoreError::InUse { .. }) => Ok(true),
        Err(error) => Err(error),
    }
}

/// The header, which each commit changes.
fn header(file: &mut File) -> io::Result<[u8; HEADER_BYTES]> {
    let mut header = [0; HEADER_BYTES];
    file.seek(SeekFrom::Start(0))?;
    file.read_exact(&mut header)?;
    Ok(header)
}

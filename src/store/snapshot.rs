//! A copy of a store as of its last commit, made while others may write to it.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use super::error::StoreError;
use super::file::{check_magic, open_shared};
use super::pages::{self, HEADER_BYTES};
use crate::new_file::SpooledFile;

/// A copy that commits ran ahead of is made anew so many times.
const MOST_TRIES: usize = 20;

/// Copies a store as of its last commit into a temporary file in `folder`, without keeping anybody from
/// writing to it meanwhile.
///
/// A commit writes to pages that the one before does not use, and then the header. So what was copied
/// between two looks at the header that are equal is what the death of a writer would have left at that time:
/// [`Store::open_read_only`](super::Store::open_read_only) puts it right.
///
/// # Errors
/// [`StoreError::NotFound`], [`StoreError::NotAStore`], [`StoreError::Io`], and
/// [`StoreError::InUse`] when commits came faster than it could be copied.
pub fn copy_of(path: impl AsRef<Path>, folder: &Path) -> Result<SpooledFile, StoreError> {
    let path = path.as_ref();
    check_magic(path)?;
    let io_error = |error| StoreError::Io { path: path.to_path_buf(), error };
    for _ in 0..MOST_TRIES {
        let mut file = File::open(path).map_err(io_error)?;
        let before = header(&mut file).map_err(io_error)?;
        file.seek(SeekFrom::Start(0)).map_err(io_error)?;
        let copy = SpooledFile::copy(folder, &mut file).map_err(io_error)?;
        if header(&mut file).map_err(io_error)? == before {
            return Ok(copy);
        }
    }
    Err(StoreError::InUse { path: path.to_path_buf() })
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

//! Stores and archives as files. A store or archive is opened by its path. So if its bytes come from standard
//! input or from an address, they are first copied into a temporary file. An archive at an address is read by
//! ranges.

use std::io;
use std::mem;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::address::{self, is_address};
use super::delta::name_of;
use super::input::{self, Input};
use epdb_archive::{Archive, ArchiveError, ReadRanges};
use epdb_base::new_file::SpooledFile;
use epdb_chess::error::{Error, Result};
use epdb_store::{Store, StoreError, StoreOptions};

/// A store or an archive with a path.
#[derive(Clone, Debug)]
pub struct Local {
    /// The name that the user gave.
    name: String,
    path: PathBuf,
    /// The temporary file, if `path` is the path of a copy.
    copy: Option<Arc<SpooledFile>>,
    /// Reads ranges of an archive, if the path is an address.
    ranges: Option<Arc<dyn ReadRanges>>,
}

impl Local {
    /// The file of a store or an archive.
    ///
    /// # Errors
    /// The input has to be copied, and copying fails.
    pub(super) fn new(path: &Path, mut input: Input) -> Result<Local> {
        let name = name_of(path).into_owned();
        let ranges = match input.archive_end.take() {
            Some(end) => address::ranges(end, mem::take(&mut input.head))?,
            None => None,
        };
        if input.is_file || ranges.is_some() {
            return Ok(Local { name, path: path.to_path_buf(), copy: None, ranges });
        }
        let copy = input::spooled(path, |file| io::copy(&mut input.bytes, file).map(drop))?;
        Ok(Local::temporary(name, copy))
    }

    /// The store or archive at a path; `-` is standard input. A missing file is an error only when
    /// the store or archive is opened.
    ///
    /// # Errors
    /// The input has to be copied, and copying fails.
    pub fn open(path: impl AsRef<Path>) -> Result<Local> {
        let path = path.as_ref();
        if path != Path::new("-") && !is_address(path) && !path.exists() {
            let name = name_of(path).into_owned();
            return Ok(Local { name, path: path.to_path_buf(), copy: None, ranges: None });
        }
        Local::new(path, input::open(path, None)?)
    }

    /// An archive that is open already, and has no path.
    pub(super) fn opened(name: &str) -> Local {
        Local { name: name.to_string(), path: PathBuf::from(name), copy: None, ranges: None }
    }

    /// A temporary file with the content of a file that the user named.
    pub(super) fn temporary(name: String, copy: SpooledFile) -> Local {
        let path = copy.path().to_path_buf();
        Local { name, path, copy: Some(Arc::new(copy)), ranges: None }
    }

    /// The path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Size in bytes of the file; 0 if it cannot be found out.
    pub(super) fn size(&self) -> u64 {
        match &self.ranges {
            Some(ranges) => ranges.size(),
            None => self.path.metadata().map_or(0, |found| found.len()),
        }
    }

    /// The name that the user gave.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Opens the store for reading, in about `memory_bytes`.
    ///
    /// # Errors
    /// The store cannot be opened. The error names it.
    pub fn store(&self, memory_bytes: usize) -> Result<Store> {
        let options = StoreOptions { memory_bytes, ..Default::default() };
        let opened = Store::open_read_only(&self.path, &options);
        opened.map_err(|error| match (error, &self.copy) {
            // No other process uses the copy, so a header that marks it as in use is wrong. A copy
            // cannot be repaired here.
            (StoreError::InUse { .. }, Some(_)) => {
                let what = "its length differs from the length in its header".to_string();
                let place = "the file".to_string();
                StoreError::Damaged { path: PathBuf::from(&self.name), place, what }.into()
            }
            (error, _) => self.failed(error),
        })
    }

    /// Opens the archive.
    ///
    /// # Errors
    /// The archive cannot be opened. The error names it.
    pub fn archive(&self) -> Result<Archive> {
        self.archive_by(|path| Archive::open(path))
    }

    /// Opens what is left of the archive; see [`Archive::open_cut`].
    ///
    /// # Errors
    /// No record is left. The error names the archive.
    pub fn cut_archive(&self) -> Result<Archive> {
        self.archive_by(|path| Archive::open_cut(path))
    }

    fn archive_by(
        &self,
        open: impl Fn(&Path) -> std::result::Result<Archive, ArchiveError>,
    ) -> Result<Archive> {
        let opened = match &self.ranges {
            Some(ranges) => Archive::from_ranges(Arc::clone(ranges)),
            None => open(&self.path),
        };
        opened.map_err(|error| Error::from(error).in_source(&*self.name))
    }

    /// Makes an error of the store or the archive. It names the user's file, not the copy.
    pub fn failed(&self, error: impl Into<Error>) -> Error {
        let error = error.into();
        match self.copy {
            None => error,
            Some(_) => {
                let path = self.path.display().to_string();
                Error::new(error.to_string().replace(&path, &self.name))
            }
        }
    }
}

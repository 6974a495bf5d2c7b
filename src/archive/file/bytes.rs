//! The bytes of an open archive.

use std::fs::File;
use std::ops::Deref;

use memmap2::Mmap;

use super::map;
use crate::archive::error::ArchiveError;

/// A file that is mapped, or read into memory.
pub(in crate::archive) enum FileBytes {
    Mapped(Mmap),
    Owned(Vec<u8>),
}

impl FileBytes {
    /// Maps a file, which may not be empty.
    pub(in crate::archive) fn map(file: &File) -> Result<FileBytes, ArchiveError> {
        if file.metadata()?.len() == 0 {
            return Err(ArchiveError::NotAnArchive);
        }
        Ok(FileBytes::Mapped(map::map(file)?))
    }

    /// Asks for huge pages, if the system supports them for files. Random access then waits for fewer
    /// address translations; pages that are not in memory are read in that size too.
    pub(in crate::archive) fn prefer_huge_pages(&self) {
        #[cfg(target_os = "linux")]
        if let FileBytes::Mapped(map) = self {
            // An optimisation only: an error changes nothing.
            map.advise(memmap2::Advice::HugePage).ok();
        }
    }
}

impl Deref for FileBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            FileBytes::Mapped(map) => map,
            FileBytes::Owned(bytes) => bytes,
        }
    }
}

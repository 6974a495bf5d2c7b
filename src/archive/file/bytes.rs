//! The bytes of an open file.

use std::fs::File;
use std::ops::Deref;

use memmap2::Mmap;

use super::map;
use crate::archive::error::ArchiveError;

/// A file in memory, or mapped into it.
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

    /// Asks for huge pages, where the system has them for files: who looks here and there waits for
    /// fewer translations of addresses. What is not in memory is then read in such pages too.
    pub(in crate::archive) fn prefer_huge_pages(&self) {
        #[cfg(target_os = "linux")]
        if let FileBytes::Mapped(map) = self {
            // Without them everything is as before.
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

//! Files that are mapped for reading.

mod fault;

use std::fs::{self, File, Metadata};
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use memmap2::{MmapOptions, MmapRaw};

use self::fault::MapGuard;
use crate::new_file::file_identity;

/// A mapped file. Other processes may write to the file or cut it off, see [`MappedFile::bytes`].
#[derive(Debug)]
pub struct MappedFile {
    // Fields are dropped in this order: the guard must end before the map.
    guard: MapGuard,
    map: MmapRaw,
    path: PathBuf,
    identity: (u64, u64),
}

impl MappedFile {
    /// Maps a file for reading, in its current length. `path` is the path of the file.
    pub fn new(file: &File, path: &Path) -> io::Result<MappedFile> {
        let identity = file_identity(&file.metadata()?);
        let map = MmapOptions::new().map_raw_read_only(file)?;
        let guard = MapGuard::new(map.as_ptr().addr(), map.len());
        Ok(MappedFile { guard, map, path: path.to_path_buf(), identity })
    }

    /// Length of the file in bytes when it was mapped.
    #[inline]
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.map.len()
    }

    /// The bytes of a range of the file; `None` if the range is not in the map.
    ///
    /// The caller must choose a range to which no program of this project writes while the map
    /// exists.
    #[inline]
    #[allow(unsafe_code)]
    pub fn bytes(&self, range: Range<usize>) -> Option<&[u8]> {
        if range.start > range.end || range.end > self.map.len() {
            return None;
        }
        // SAFETY: the range is within the map, which is readable and lives as long as `self`. Rust
        // also demands that the bytes do not change while the slice exists, and nothing that this
        // process can do makes that sure. No program of this project breaks it: an archive is never
        // changed in place, and a store's reader pins the pages that it reads. If another program
        // writes to the file or cuts it off:
        // - Cut off: touching a page behind the new end raises SIGBUS. `MapGuard` maps zeros there,
        //   and the answer becomes an error. On other systems the process ends; no memory is
        //   corrupted.
        // - Written to: two reads of one byte may differ. All reads are plain loads of bytes through
        //   slices of `u8` and `zerocopy` types for which every bit pattern is a value, so no
        //   invalid value can arise. Lengths and offsets are compared with the length of the slice
        //   by safe indexing on the values that are used, so a change between check and use can give
        //   an error, a panic by a bounds check, or bytes that fail their checksum, and no access
        //   outside the map.
        Some(unsafe { std::slice::from_raw_parts(self.map.as_ptr().add(range.start), range.len()) })
    }

    /// True if a byte of the map could not be read. The map then reads as zeros.
    #[inline]
    pub fn has_fault(&self) -> bool {
        self.guard.fault().is_some()
    }

    /// The first byte that cannot be read, because the file was cut off or its disk fails, or the
    /// first byte of its page; `None` if the whole file can be read. After a cut, bytes in the same
    /// page as the new end are zeros without a fault, and fail their checks. So the size of the file
    /// is compared too.
    #[cold]
    pub fn unreadable_from(&self) -> Option<u64> {
        let now = fs::metadata(&self.path).ok();
        let is_same = |now: &Metadata| file_identity(now) == self.identity;
        let len = now.filter(is_same).map(|now| now.len());
        let end = len.filter(|len| *len < self.map.len() as u64);
        end.or(self.guard.fault().map(|offset| offset as u64))
    }

    /// Requests huge pages, if the system supports them for files. Random access then waits for
    /// fewer address translations. Pages that are not in memory are then also read in this size.
    pub fn prefer_huge_pages(&self) {
        // An optimisation only: an error changes nothing.
        #[cfg(target_os = "linux")]
        self.map.advise(memmap2::Advice::HugePage).ok();
    }
}

//! The bytes of an archive: mapped files, LEB128 numbers, and byte strings that begin with their
//! length.

use std::fs::{self, File, Metadata};
use std::io;
use std::ops::Deref;
use std::path::{Path, PathBuf};

use memmap2::Mmap;

use super::fault::MapGuard;
use crate::archive::error::ArchiveError;
use crate::new_file::{file_identity, open_regular};

/// A file that is mapped, or read into memory.
pub(in crate::archive) enum FileBytes {
    Mapped(MappedFile),
    Owned(Vec<u8>),
}

/// A mapped file.
pub(in crate::archive) struct MappedFile {
    // Fields are dropped in this order: the guard must end before the map.
    guard: MapGuard,
    map: Mmap,
    path: PathBuf,
    identity: (u64, u64),
}

impl FileBytes {
    /// Maps a file. An empty file is refused.
    pub(in crate::archive) fn open(path: &Path) -> Result<FileBytes, ArchiveError> {
        let file = open_regular(path)?;
        let found = file.metadata()?;
        if found.len() == 0 {
            return Err(ArchiveError::NotAnArchive);
        }
        let map = map(&file)?;
        let guard = MapGuard::new(&map);
        let (path, identity) = (path.to_path_buf(), file_identity(&found));
        Ok(FileBytes::Mapped(MappedFile { guard, map, path, identity }))
    }

    /// The result of reading this file, or an error if the file was cut off meanwhile. Every result
    /// of a public function of the archive goes through this function after it was computed.
    #[inline]
    pub(in crate::archive) fn intact<T, E: From<ArchiveError>>(
        &self,
        result: Result<T, E>,
    ) -> Result<T, E> {
        match self {
            FileBytes::Mapped(file) if result.is_err() || file.guard.fault().is_some() => {
                file.examined(result)
            }
            _ => result,
        }
    }

    /// Requests huge pages, if the system supports them for files. Random access then waits for
    /// fewer address translations. Pages that are not in memory are then also read in this size.
    pub(in crate::archive) fn prefer_huge_pages(&self) {
        #[cfg(target_os = "linux")]
        if let FileBytes::Mapped(file) = self {
            // An optimisation only: an error changes nothing.
            file.map.advise(memmap2::Advice::HugePage).ok();
        }
    }
}

impl Deref for FileBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            FileBytes::Mapped(file) => &file.map,
            FileBytes::Owned(bytes) => bytes,
        }
    }
}

impl MappedFile {
    /// The result of reading, or the error that the file was cut off. After a cut, bytes in the same
    /// page as the new end are zeros without a fault, and fail their checks. So the size of the file
    /// is the reason of such an error.
    #[cold]
    fn examined<T, E: From<ArchiveError>>(&self, result: Result<T, E>) -> Result<T, E> {
        let now = fs::metadata(&self.path).ok();
        let is_same = |now: &Metadata| file_identity(now) == self.identity;
        let len = now.filter(is_same).map(|now| now.len());
        let end = len.filter(|len| *len < self.map.len() as u64);
        match end.or(self.guard.fault().map(|offset| offset as u64)) {
            Some(byte) => Err(ArchiveError::CutOff { byte }.into()),
            None => result,
        }
    }
}

/// The bytes with which a frame of zstd begins.
const FRAME_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// True if the bytes are exactly one frame of zstd, as RFC 8878 defines it.
pub(in crate::archive) fn is_one_frame(bytes: &[u8]) -> bool {
    bytes.starts_with(&FRAME_MAGIC)
        && zstd::zstd_safe::find_frame_compressed_size(bytes) == Ok(bytes.len())
}

/// Maps a file for reading.
///
/// # Errors
/// Errors of the system; an empty file is mapped as no bytes.
#[allow(unsafe_code)]
fn map(file: &File) -> io::Result<Mmap> {
    // SAFETY: `Mmap::map` asks that the file is not changed while it is mapped, and nothing that
    // this process can do makes that sure: another process may write into the file or cut it off.
    // What follows if one does:
    // - Cut off: touching a page behind the new end raises SIGBUS. `MapGuard` maps zeros there, and
    //   the answer becomes an error. On other systems the process ends; no memory is corrupted.
    // - Written to: two reads of one byte may differ. All reads of the map in `archive` are plain
    //   loads of bytes through slices of `u8` and `zerocopy` types for which every bit pattern is
    //   a value, so no invalid value can arise. Lengths and offsets are compared with the length
    //   of the slice by safe indexing on the values that are used, so a change between check and
    //   use can give an error, a panic by a bounds check, or bytes that fail their checksum, and
    //   no access outside the map.
    // Strictly, a data race on the map is outside of what the language defines; writers of epdb
    // never change an archive in place (they write a new file and rename it), which is what makes
    // the map sound in practice.
    unsafe { Mmap::map(file) }
}

/// Appends a number as LEB128, in groups of seven bits.
pub(in crate::archive) fn put_number(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends the length of bytes as LEB128, then the bytes.
pub(in crate::archive) fn put_sized(bytes: &[u8], out: &mut Vec<u8>) {
    put_number(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

/// Takes a number; `None` if it is not encoded as by [`put_number`].
pub(in crate::archive) fn take_number(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for place in 0..9 {
        let byte = *bytes.split_off_first()?;
        value |= u64::from(byte & 0x7f) << (7 * place);
        if byte & 0x80 == 0 {
            // Leading zeros are refused, so that each number has one encoding.
            return (byte > 0 || place == 0).then_some(value);
        }
    }
    None
}

/// Takes bytes that are preceded by their length.
pub(in crate::archive) fn take_sized<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let len = usize::try_from(take_number(bytes)?).ok()?;
    bytes.split_off(..len)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_one_encoding() {
        for value in [0, 1, 127, 128, 300, 1 << 62] {
            let mut bytes = Vec::new();
            put_number(value, &mut bytes);
            assert_eq!(take_number(&mut &bytes[..]), Some(value));
            if let Some(last) = bytes.last_mut() {
                *last |= 0x80;
            }
            bytes.push(0);
            assert_eq!(take_number(&mut &bytes[..]), None, "{value}");
        }
    }
}

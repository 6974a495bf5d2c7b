//! The bytes of an archive: mapped files, LEB128 numbers, and byte strings that begin with their
//! length.

use std::ops::Deref;
use std::path::Path;

use crate::error::ArchiveError;
use epdb_base::mapped_file::MappedFile;
use epdb_base::new_file::open_regular;

/// A file that is mapped, or read into memory.
pub(crate) enum FileBytes {
    Mapped(MappedFile),
    Owned(Vec<u8>),
}

impl FileBytes {
    /// Maps a file. An empty file is refused.
    pub(crate) fn open(path: &Path) -> Result<FileBytes, ArchiveError> {
        let file = open_regular(path)?;
        if file.metadata()?.len() == 0 {
            return Err(ArchiveError::NotAnArchive);
        }
        Ok(FileBytes::Mapped(MappedFile::new(&file, path)?))
    }

    /// The result of reading this file, or an error if the file was cut off meanwhile. Every result
    /// of a public function of the archive goes through this function after it was computed.
    #[inline]
    pub(crate) fn intact<T, E: From<ArchiveError>>(&self, result: Result<T, E>) -> Result<T, E> {
        match self {
            FileBytes::Mapped(file) if result.is_err() || file.has_fault() => {
                examined(file, result)
            }
            _ => result,
        }
    }

    /// Requests huge pages for a mapped file.
    pub(crate) fn prefer_huge_pages(&self) {
        if let FileBytes::Mapped(file) = self {
            file.prefer_huge_pages();
        }
    }
}

impl Deref for FileBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            // Nobody writes to an archive in place, so its whole file may be borrowed.
            FileBytes::Mapped(file) => file.bytes(0..file.len()).unwrap_or_default(),
            FileBytes::Owned(bytes) => bytes,
        }
    }
}

/// The result of reading, or the error that the file was cut off.
#[cold]
fn examined<T, E: From<ArchiveError>>(file: &MappedFile, result: Result<T, E>) -> Result<T, E> {
    match file.unreadable_from() {
        Some(byte) => Err(ArchiveError::CutOff { byte }.into()),
        None => result,
    }
}

/// The bytes with which a frame of zstd begins.
const FRAME_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// True if the bytes are exactly one frame of zstd, as RFC 8878 defines it.
pub(crate) fn is_one_frame(bytes: &[u8]) -> bool {
    bytes.starts_with(&FRAME_MAGIC)
        && zstd::zstd_safe::find_frame_compressed_size(bytes) == Ok(bytes.len())
}

/// Appends a number as LEB128, in groups of seven bits.
pub(crate) fn put_number(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends the length of bytes as LEB128, then the bytes.
pub(crate) fn put_sized(bytes: &[u8], out: &mut Vec<u8>) {
    put_number(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

/// Takes a number; `None` if it is not encoded as by [`put_number`].
pub(crate) fn take_number(bytes: &mut &[u8]) -> Option<u64> {
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
pub(crate) fn take_sized<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
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

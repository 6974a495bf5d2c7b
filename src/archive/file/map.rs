//! Mapping a file into memory, which is `unsafe`.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;

use memmap2::Mmap;

/// Maps a file for reading.
///
/// # Errors
/// Errors of the system; an empty file is mapped as no bytes.
pub(in crate::archive) fn map(file: &File) -> io::Result<Mmap> {
    // SAFETY: `Mmap::map` asks that the file is not changed while it is mapped, and nothing that
    // this process can do makes that sure: another process may write into the file or cut it off.
    // What follows if one does:
    // - Cut off: touching a page behind the new end raises SIGBUS, which ends the process. That
    //   is documented for users in `formats/archive.md`; no memory is corrupted by it.
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

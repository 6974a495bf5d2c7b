//! Writing a file from front to back, with the place and check of each part.

use std::io::{self, Write};

use super::sections::Section;

/// Bytes that memory hands over at once.
const CACHE_LINE: usize = 64;

/// Counts and checks what goes through.
pub(in crate::archive) struct Sink<W> {
    out: W,
    offset: u64,
    start: u64,
    check: u32,
}

impl<W: Write> Sink<W> {
    pub(in crate::archive) const fn new(out: W) -> Sink<W> {
        Sink { out, offset: 0, start: 0, check: 0 }
    }

    /// Bytes written so far.
    pub(in crate::archive) const fn offset(&self) -> u64 {
        self.offset
    }

    pub(in crate::archive) fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)?;
        self.offset += bytes.len() as u64;
        self.check = crc32c::crc32c_append(self.check, bytes);
        Ok(())
    }

    /// Writes zeros up to the next multiple of a cache line, so that what has the size of one, or of
    /// half of one, does not lie in two.
    pub(in crate::archive) fn align(&mut self) -> io::Result<()> {
        let beyond = (self.offset % CACHE_LINE as u64) as usize;
        self.put(&[0; CACHE_LINE][..(CACHE_LINE - beyond) % CACHE_LINE])
    }

    /// Begins a part.
    pub(in crate::archive) const fn begin(&mut self) {
        self.start = self.offset;
        self.check = 0;
    }

    /// Ends the part that began last.
    pub(in crate::archive) fn end(&self) -> Section {
        Section { offset: self.start, len: self.offset - self.start, check: self.check }
    }

    /// Writes a part.
    pub(in crate::archive) fn section(&mut self, bytes: &[u8]) -> io::Result<Section> {
        self.begin();
        self.put(bytes)?;
        Ok(self.end())
    }

    pub(in crate::archive) fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }
}

//! Writing of a file from front to back, with the offset and the checksum of each part.

use std::io::{self, Write};

use super::sections::Section;

pub(crate) const CACHE_LINE: u64 = 64;

/// Size of a write. A system may keep pieces of this size in huge pages. A lookup then waits for
/// fewer address translations.
const PIECE: usize = 2 << 20;

/// Writer that counts its bytes and computes checksums.
pub(crate) struct Sink<W> {
    out: W,
    /// Bytes that are not written yet, fewer than a piece.
    waiting: Vec<u8>,
    /// Number of bytes that were passed to the sink, including bytes that are not written yet.
    offset: u64,
    start: u64,
    check: u32,
}

impl<W: Write> Sink<W> {
    pub(crate) const fn new(out: W) -> Sink<W> {
        Sink { out, waiting: Vec::new(), offset: 0, start: 0, check: 0 }
    }

    /// Number of bytes that were written so far.
    pub(crate) const fn offset(&self) -> u64 {
        self.offset
    }

    pub(crate) fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.offset += bytes.len() as u64;
        self.check = crc32c::crc32c_append(self.check, bytes);
        let mut rest = bytes;
        while let Some((now, later)) = rest.split_at_checked(PIECE - self.waiting.len()) {
            self.waiting.extend_from_slice(now);
            self.out.write_all(&self.waiting)?;
            self.waiting.clear();
            rest = later;
        }
        self.waiting.extend_from_slice(rest);
        Ok(())
    }

    /// Writes zeros up to the next multiple of a cache line, so that structures of 64 or 32 bytes
    /// do not span two lines.
    pub(crate) fn align(&mut self) -> io::Result<()> {
        let gap = self.offset.next_multiple_of(CACHE_LINE) - self.offset;
        self.put(&[0; CACHE_LINE as usize][..gap as usize])
    }

    /// Begins a part.
    pub(crate) const fn begin(&mut self) {
        self.start = self.offset;
        self.check = 0;
    }

    /// Ends the part that began last.
    pub(crate) fn end(&self) -> Section {
        Section { offset: self.start, len: self.offset - self.start, check: self.check }
    }

    /// Writes a part.
    pub(crate) fn section(&mut self, bytes: &[u8]) -> io::Result<Section> {
        self.begin();
        self.put(bytes)?;
        Ok(self.end())
    }

    pub(crate) fn finish(mut self) -> io::Result<W> {
        self.out.write_all(&self.waiting)?;
        self.out.flush()?;
        Ok(self.out)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    /// Records the size of each write.
    #[derive(Default)]
    struct Written {
        bytes: Vec<u8>,
        pieces: Vec<usize>,
    }

    impl Write for Written {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.pieces.push(bytes.len());
            self.bytes.extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn bytes_are_written_in_pieces() {
        let bytes: Vec<u8> = (0..PIECE * 5 / 2).map(|nth| (nth % 251) as u8).collect();
        let mut sink = Sink::new(Written::default());
        let mut rest = &bytes[..];
        for len in [1, PIECE - 2, 1, 2 * PIECE / 3, 0, PIECE] {
            let (now, later) = rest.split_at(len.min(rest.len()));
            sink.put(now).unwrap();
            rest = later;
        }
        sink.put(rest).unwrap();
        assert_eq!(sink.offset(), bytes.len() as u64);
        let written = sink.finish().unwrap();
        assert_eq!(written.pieces, [PIECE, PIECE, PIECE / 2]);
        assert!(written.bytes == bytes);
    }
}

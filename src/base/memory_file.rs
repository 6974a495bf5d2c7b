//! A file in memory, for systems that have no files.

use std::io::{self, Read, Seek, SeekFrom, Write};

/// A file in memory, in pieces: nothing is copied when it grows, which would take its memory three times.
#[derive(Debug, Default)]
pub(crate) struct MemoryFile {
    pieces: Vec<Vec<u8>>,
    position: usize,
}

impl MemoryFile {
    const PIECE: usize = 1 << 20;

    fn len(&self) -> usize {
        let last = self.pieces.last().map_or(0, Vec::len);
        self.pieces.len().saturating_sub(1) * Self::PIECE + last
    }
}

impl Read for MemoryFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let piece = self.pieces.get(self.position / Self::PIECE).map_or(&[][..], Vec::as_slice);
        let read = piece.get(self.position % Self::PIECE..).unwrap_or_default().read(buffer)?;
        self.position += read;
        Ok(read)
    }
}

impl Write for MemoryFile {
    /// Appends: nothing writes elsewhere.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.position != self.len() {
            return Err(io::ErrorKind::Unsupported.into());
        }
        if self.pieces.last().is_none_or(|piece| piece.len() == Self::PIECE) {
            self.pieces.push(Vec::with_capacity(Self::PIECE));
        }
        let Some(piece) = self.pieces.last_mut() else { return Ok(0) };
        let written = bytes.len().min(Self::PIECE - piece.len());
        piece.extend_from_slice(&bytes[..written]);
        self.position += written;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for MemoryFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let place = match to {
            SeekFrom::Start(place) => Some(place),
            SeekFrom::End(past) => (self.len() as u64).checked_add_signed(past),
            SeekFrom::Current(past) => (self.position as u64).checked_add_signed(past),
        };
        let place = place.ok_or(io::ErrorKind::InvalidInput)?;
        self.position = place as usize;
        Ok(place)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn what_was_appended_is_read_from_any_place() {
        let written: Vec<u8> =
            (0..5 * MemoryFile::PIECE / 2).map(|place| (place / 7) as u8).collect();
        let mut file = MemoryFile::default();
        for part in written.chunks(77_777) {
            file.write_all(part).unwrap();
        }
        assert_eq!(file.stream_position().unwrap(), written.len() as u64);
        for start in
            [0, 1, MemoryFile::PIECE - 1, MemoryFile::PIECE, written.len(), written.len() + 9]
        {
            assert_eq!(file.seek(SeekFrom::Start(start as u64)).unwrap(), start as u64);
            let mut read = Vec::new();
            file.read_to_end(&mut read).unwrap();
            assert!(read == written[start.min(written.len())..], "{start}");
        }
        file.seek(SeekFrom::Start(3)).unwrap();
        assert!(file.write_all(&[1]).is_err());
        file.seek(SeekFrom::End(0)).unwrap();
        file.write_all(&[1]).unwrap();
        assert_eq!(file.len(), written.len() + 1);
        assert!(file.seek(SeekFrom::Current(-1 - file.len() as i64)).is_err());
    }
}

//! The bytes of a Parquet file: a file on this machine, or an object at an address, of which only ranges are
//! received.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use epdb_archive::ReadRanges;
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, Length};

use super::address::{self, is_address};
use epdb_chess::error::{Error, Result};

#[derive(Clone, Debug)]
pub(super) enum ParquetBytes {
    Local { file: Arc<File>, size: u64 },
    Remote(Arc<dyn ReadRanges>),
}

impl ParquetBytes {
    /// Opens a file or an object; `None` if its server does not send ranges.
    pub(super) fn open(path: &Path) -> Result<Option<ParquetBytes>> {
        if is_address(path) {
            return Ok(address::ranges_at(path)?.map(ParquetBytes::Remote));
        }
        ParquetBytes::of_file(path).map(Some)
    }

    pub(super) fn of_file(path: &Path) -> Result<ParquetBytes> {
        let open = || {
            let file = File::open(path)?;
            Ok(ParquetBytes::Local { size: file.metadata()?.len(), file: Arc::new(file) })
        };
        open().map_err(|error: io::Error| Error::new("cannot read").because(error))
    }

    pub(super) fn size(&self) -> u64 {
        match self {
            ParquetBytes::Local { size, .. } => *size,
            ParquetBytes::Remote(object) => object.size(),
        }
    }

    /// Receives ranges of an object at once, before each of them is read.
    pub(super) fn prefetch(&self, ranges: &[Range<u64>]) -> Result<()> {
        match self {
            ParquetBytes::Local { .. } => Ok(()),
            ParquetBytes::Remote(object) => object.prefetch(ranges).map_err(cannot_read),
        }
    }

    /// Reads on from a place.
    pub(super) fn reader_at(&self, at: u64) -> PlacedReader {
        PlacedReader { bytes: self.clone(), at }
    }

    /// Reads a range. Its length may be from a damaged file, so memory grows only with the bytes that are there.
    ///
    /// # Errors
    /// The range cannot be read, or ends after the file.
    pub(super) fn read(&self, range: &Range<u64>) -> io::Result<Vec<u8>> {
        let length = range.end.saturating_sub(range.start);
        let mut bytes = Vec::new();
        self.reader_at(range.start).take(length).read_to_end(&mut bytes)?;
        if bytes.len() as u64 == length {
            Ok(bytes)
        } else {
            Err(io::ErrorKind::UnexpectedEof.into())
        }
    }
}

pub(super) fn cannot_read(error: io::Error) -> Error {
    Error::new("cannot read the Parquet file").because(error)
}

/// Reads from a place of a file, which other readers use at the same time.
pub(super) struct PlacedReader {
    bytes: ParquetBytes,
    at: u64,
}

impl Read for PlacedReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = match &self.bytes {
            ParquetBytes::Local { file, .. } => read_at(file, buffer, self.at)?,
            ParquetBytes::Remote(object) => {
                let end = object.size().min(self.at.saturating_add(buffer.len() as u64));
                let range = self.at.min(end)..end;
                let read = object.read_ranges(&[range])?.pop().unwrap_or_default();
                buffer[..read.len()].copy_from_slice(&read);
                read.len()
            }
        };
        self.at += length as u64;
        Ok(length)
    }
}

#[cfg(unix)]
fn read_at(file: &File, buffer: &mut [u8], at: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, at)
}

#[cfg(windows)]
fn read_at(file: &File, buffer: &mut [u8], at: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buffer, at)
}

impl Length for ParquetBytes {
    fn len(&self) -> u64 {
        self.size()
    }
}

impl ChunkReader for ParquetBytes {
    type T = BufReader<PlacedReader>;

    fn get_read(&self, start: u64) -> parquet::errors::Result<Self::T> {
        Ok(BufReader::with_capacity(1 << 10, self.reader_at(start)))
    }

    fn get_bytes(&self, start: u64, length: usize) -> parquet::errors::Result<Bytes> {
        let range = start..start.saturating_add(length as u64);
        let bytes = self.read(&range).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => {
                ParquetError::EOF(format!("expected {length} bytes at {start}"))
            }
            _ => error.into(),
        });
        bytes.map(Bytes::from)
    }
}

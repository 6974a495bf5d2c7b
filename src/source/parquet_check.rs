//! Checks of the bytes of Parquet files that epdb writes. Parquet has checksums of pages, but not of their
//! headers, of dictionaries and of the footer. So the key-value metadata of our files have the CRC-32C of each
//! column chunk, of the footer, and of all other bytes.
//!
//! | Key | Value |
//! |---|---|
//! | `epdb:chunks` | for each row group, for each column chunk: the check, in 8 hexadecimal digits |
//! | `epdb:check` | the check of the footer, and the check of all bytes that are in no column chunk and not in the footer, in 8 digits each |
//!
//! The check of the footer is made with zeros in place of its own digits.

use std::io::{self, Read, Write};
use std::ops::Range;

use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};

use super::output::Output;
use super::parquet_bytes::{ParquetBytes, cannot_read};
use epdb_chess::error::{Error, Result};

/// The name of the writer in a file, which shows that the file has checks. Other programs keep the metadata
/// of a file that they rewrite, but not its writer.
pub(super) const CREATED_BY: &str = concat!("epdb version ", env!("CARGO_PKG_VERSION"));
/// The start of [`CREATED_BY`] of each version.
const WRITER: &str = "epdb version ";

const CHUNKS: &str = "epdb:chunks";
const CHECK: &str = "epdb:check";
/// Number of hexadecimal digits of a check.
const DIGITS: usize = 8;
/// Length of the end of a file: the length of the footer, and `PAR1`.
const END: usize = 8;

/// The key of the last check, as the footer has it: the field of the value follows, a text of 16 bytes.
fn check_mark() -> Vec<u8> {
    [CHECK.as_bytes(), &[0x18, 2 * DIGITS as u8]].concat()
}

/// An output that keeps the bytes of the current row group until they are checked.
pub(super) struct CheckedWriter {
    output: Output,
    /// Bytes that are not written yet.
    pending: Vec<u8>,
    /// The place of these bytes in the file.
    start: u64,
    /// The checks of all column chunks so far.
    chunks: String,
    groups: usize,
    /// The check of all bytes outside of column chunks so far.
    others: u32,
}

impl CheckedWriter {
    pub(super) const fn new(output: Output) -> CheckedWriter {
        let chunks = String::new();
        CheckedWriter { output, pending: Vec::new(), start: 0, chunks, groups: 0, others: 0 }
    }

    /// Number of row groups that were checked.
    pub(super) const fn groups(&self) -> usize {
        self.groups
    }

    /// Makes the checks of a row group, given the start and the length of each column chunk, and writes it.
    pub(super) fn end_group(&mut self, columns: &[(u64, u64)]) -> Result<()> {
        let mut at = 0;
        for &(start, length) in columns {
            let begin = self.pending_place(start)?;
            let end = self.pending_place(start + length)?;
            let chunk = self.pending.get(begin..end).ok_or_else(misplaced)?;
            self.chunks.push_str(&digits(crc32c::crc32c(chunk)));
            let between = self.pending.get(at..begin).ok_or_else(misplaced)?;
            self.others = crc32c::crc32c_append(self.others, between);
            at = end;
        }
        // Bytes after the last column may be a part of a later row group that was written at the same time.
        self.output.write_all(&self.pending[..at])?;
        self.pending.drain(..at);
        self.start += at as u64;
        self.groups += 1;
        Ok(())
    }

    /// The place of a byte of the file in the bytes that are not written yet.
    fn pending_place(&self, byte: u64) -> Result<usize> {
        let place = byte.checked_sub(self.start).ok_or_else(misplaced)?;
        usize::try_from(place).map_err(|_| misplaced())
    }

    /// The key-value metadata. The value of the last one is set by [`CheckedWriter::finish`].
    pub(super) fn key_values(&self) -> [(String, String); 2] {
        [(CHUNKS.into(), self.chunks.clone()), (CHECK.into(), "0".repeat(2 * DIGITS))]
    }

    /// Completes the file, whose footer is written.
    pub(super) fn finish(mut self) -> Result<()> {
        let footer =
            footer_start(&self.pending, self.pending.len() as u64).ok_or_else(misplaced)?;
        let footer = usize::try_from(footer).map_err(|_| misplaced())?;
        let (others, footer) = self.pending.split_at_mut(footer);
        let others = crc32c::crc32c_append(self.others, others);
        let place = check_place(footer).ok_or_else(misplaced)?;
        footer[place + DIGITS..place + 2 * DIGITS].copy_from_slice(digits(others).as_bytes());
        let check = digits(crc32c::crc32c(footer));
        footer[place..place + DIGITS].copy_from_slice(check.as_bytes());
        self.output.write_all(&self.pending)?;
        self.output.finish()?;
        Ok(())
    }
}

impl Write for CheckedWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.pending.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn misplaced() -> Error {
    Error::new("internal error: a column of the Parquet file is not where its metadata say")
}

fn digits(check: u32) -> String {
    format!("{check:08x}")
}

/// The start of the footer, given the last bytes of a file of `size` bytes.
fn footer_start(tail: &[u8], size: u64) -> Option<u64> {
    let end = tail.len().checked_sub(END)?;
    let length = u32::from_le_bytes(*tail[end..].first_chunk()?);
    size.checked_sub(END as u64)?.checked_sub(length.into())
}

/// The place of the digits of the last check in a footer.
fn check_place(footer: &[u8]) -> Option<usize> {
    let mark = check_mark();
    let place = memchr::memmem::rfind(footer, &mark)? + mark.len();
    (place + 2 * DIGITS <= footer.len()).then_some(place)
}

#[derive(Debug)]
pub(super) struct FileChecks {
    chunks: Vec<u32>,
    /// Number of column chunks of a row group.
    columns: usize,
    others: u32,
    footer: u64,
}

impl FileChecks {
    /// Reads the checks of a file, and checks the footer; `None` for a file of another program.
    pub(super) fn read(
        file: &ParquetBytes,
        metadata: &ParquetMetaData,
    ) -> Result<Option<FileChecks>> {
        let facts = metadata.file_metadata();
        if !facts.created_by().is_some_and(|writer| writer.starts_with(WRITER)) {
            return Ok(None);
        }
        let broken = || Error::new("the footer of the Parquet file is damaged: its check differs");
        let size = file.size();
        let end = file.read(&(size.saturating_sub(END as u64)..size)).map_err(cannot_read)?;
        let start = footer_start(&end, size).ok_or_else(broken)?;
        let mut footer = file.read(&(start..size)).map_err(cannot_read)?;
        let place = check_place(&footer).ok_or_else(broken)?;
        let written = |footer: &[u8], at: usize| {
            let text = std::str::from_utf8(&footer[at..at + DIGITS]).ok()?;
            u32::from_str_radix(text, 16).ok()
        };
        let check = written(&footer, place).ok_or_else(broken)?;
        let others = written(&footer, place + DIGITS).ok_or_else(broken)?;
        footer[place..place + DIGITS].fill(b'0');
        if !holds(crc32c::crc32c(&footer), check) {
            return Err(broken());
        }
        let values = facts.key_value_metadata().into_iter().flatten();
        let chunks = values.filter(|pair| pair.key == CHUNKS).find_map(|pair| pair.value.as_ref());
        let chunks = chunks.ok_or_else(broken)?.as_bytes().chunks(DIGITS);
        let chunks = chunks.map(|text| written(text, 0).ok_or_else(broken));
        let chunks = chunks.collect::<Result<Vec<u32>>>()?;
        let columns = facts.schema_descr().num_columns();
        if chunks.len() != columns * metadata.num_row_groups() {
            return Err(broken());
        }
        Ok(Some(FileChecks { chunks, columns, others, footer: start }))
    }

    /// Checks a column chunk of a row group.
    pub(super) fn verify_chunk(
        &self,
        file: &ParquetBytes,
        group: &RowGroupMetaData,
        number: usize,
        column: usize,
    ) -> Result<()> {
        let chunk = group.column(column);
        let (start, length) = chunk.byte_range();
        let check = check_of(file, start, start.saturating_add(length), 0)?;
        if holds(check, self.chunks[number * self.columns + column]) {
            return Ok(());
        }
        Err(Error::new(format!(
            "the column `{}` of row group {} is damaged: its check differs",
            chunk.column_path().string(),
            number + 1
        )))
    }

    /// Checks all column chunks, and all other bytes.
    pub(super) fn verify_all(&self, file: &ParquetBytes, metadata: &ParquetMetaData) -> Result<()> {
        for (number, group) in metadata.row_groups().iter().enumerate() {
            for column in 0..self.columns {
                self.verify_chunk(file, group, number, column)?;
            }
        }
        self.verify_others(file, metadata)
    }

    /// Checks all bytes that are in no column chunk: the indexes and the bloom filters.
    pub(super) fn verify_others(
        &self,
        file: &ParquetBytes,
        metadata: &ParquetMetaData,
    ) -> Result<()> {
        let mut ranges = Vec::new();
        let mut at = 0;
        for chunk in metadata.row_groups().iter().flat_map(RowGroupMetaData::columns) {
            let (start, length) = chunk.byte_range();
            if at < start {
                ranges.push(at..start);
            }
            at = start.saturating_add(length);
        }
        ranges.push(at..self.footer);
        file.prefetch(&ranges)?;
        let append = |others, range: &Range<u64>| check_of(file, range.start, range.end, others);
        if holds(ranges.iter().try_fold(0, append)?, self.others) {
            return Ok(());
        }
        Err(Error::new(
            "an index or a bloom filter of the Parquet file is damaged: the check differs",
        ))
    }
}

/// True if a check matches; always true while fuzzing, to reach the code after the check.
fn holds(found: u32, expected: u32) -> bool {
    cfg!(fuzzing) || found == expected
}

/// The check of a range of bytes, continued from the check of bytes before them.
fn check_of(file: &ParquetBytes, start: u64, end: u64, before: u32) -> Result<u32> {
    let mut bytes = file.reader_at(start).take(end.saturating_sub(start));
    let mut buffer = vec![0; 64 << 10];
    let mut check = before;
    loop {
        match bytes.read(&mut buffer).map_err(cannot_read)? {
            0 => return Ok(check),
            length => check = crc32c::crc32c_append(check, &buffer[..length]),
        }
    }
}

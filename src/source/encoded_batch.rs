//! Many records in their binary form.

use std::io::Write;

use rayon::prelude::*;

use super::item::EncodedRecords;
use epdb_chess::codec::error::DecodeError;
use epdb_chess::codec::key::record_key;
use epdb_chess::codec::{record, stream};
use epdb_chess::error::Result;
use epdb_chess::text::lines::SPEC_LINE_LIMIT;

/// Records in their binary form that are written together. For a target of text, a record may also
/// be a canonical line with its LF. The two kinds can be distinguished, because no binary record
/// begins with a letter or a digit.
#[derive(Clone, Debug, Default)]
pub struct EncodedBatch {
    bytes: Vec<u8>,
    /// End of each record.
    ends: Vec<usize>,
}

/// Number of records at which a batch is full.
const BATCH_RECORDS: usize = 1 << 13;
/// Number of bytes at which a batch is full.
const BATCH_BYTES: usize = 1 << 20;
/// Number of records that one thread formats at a time.
const PART_RECORDS: usize = 256;

impl EncodedBatch {
    /// Adds a record.
    pub fn push(&mut self, record: &[u8]) {
        self.bytes.extend_from_slice(record);
        self.ends.push(self.bytes.len());
    }

    /// Adds the record that `put` appends. `put` returns false if it appends no record.
    pub fn push_with(&mut self, put: impl FnOnce(&mut Vec<u8>) -> Result<bool>) -> Result<()> {
        if put(&mut self.bytes)? {
            self.ends.push(self.bytes.len());
        }
        Ok(())
    }

    /// Whether the batch is large enough to be written.
    pub fn is_full(&self) -> bool {
        self.ends.len() >= BATCH_RECORDS || self.bytes.len() >= BATCH_BYTES
    }

    /// The number of records.
    pub const fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether the batch has no records.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Calls `visit` with each record.
    ///
    /// # Errors
    /// Errors of `visit`.
    pub fn each(&self, visit: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        self.records().iter().try_for_each(visit)
    }

    /// Calls `visit` with the position key of each record, and the record. The keys are computed on all
    /// threads.
    pub fn each_keyed(&self, visit: &mut dyn FnMut(u64, &[u8]) -> Result<()>) -> Result<()> {
        let records: Vec<&[u8]> = self.records().iter().collect();
        let keys = records.par_iter().with_min_len(PART_RECORDS).map(|record| record_key(record));
        let keys: Vec<u64> = keys.collect::<Result<_, _>>()?;
        keys.into_iter().zip(records).try_for_each(|(key, record)| visit(key, record))
    }

    pub(super) fn write_to<W: Write>(&self, stream: &mut stream::Writer<W>) -> Result<()> {
        Ok(stream.write_all_encoded(&self.bytes, &self.ends)?)
    }

    /// Removes all records.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    fn records(&self) -> EncodedRecords<'_> {
        EncodedRecords::new(&self.bytes, &self.ends)
    }

    /// True if the batch is very small: one thread formats it before other threads could start.
    pub(super) const fn is_small(&self) -> bool {
        self.ends.len() <= PART_RECORDS
    }

    /// Formats all records as canonical lines, on all threads. The lines are put into the buffers
    /// of `texts`.
    pub(super) fn write_texts(&self, texts: &mut Vec<PartText>) {
        let parts: Vec<_> = self.records().chunks(PART_RECORDS).collect();
        texts.resize_with(parts.len(), PartText::default);
        match (&parts[..], &mut texts[..]) {
            ([part], [text]) => text.write(*part),
            _ => parts.par_iter().zip(texts).for_each(|(part, text)| text.write(*part)),
        }
    }
}

/// A part of a batch as canonical lines.
#[derive(Default)]
pub(super) struct PartText {
    pub(super) lines: Vec<u8>,
    pub(super) long_lines: u64,
    /// The error of a record that cannot be written as a line.
    pub(super) error: Option<DecodeError>,
}

impl PartText {
    fn write(&mut self, records: EncodedRecords<'_>) {
        self.lines.clear();
        self.long_lines = 0;
        self.error = records.iter().try_for_each(|record| self.write_line(record)).err();
    }

    fn write_line(&mut self, record: &[u8]) -> Result<(), DecodeError> {
        if record.first().is_some_and(u8::is_ascii_alphanumeric) {
            self.lines.extend_from_slice(record);
            return Ok(());
        }
        let start = self.lines.len();
        if let Err(error) = record::write_text(record, &mut self.lines) {
            self.lines.truncate(start);
            return Err(error);
        }
        self.long_lines += u64::from(self.lines.len() - start > SPEC_LINE_LIMIT);
        self.lines.push(b'\n');
        Ok(())
    }
}

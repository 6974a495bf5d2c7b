//! Many records in their binary form.

use std::ops::Range;

use rayon::prelude::*;

use crate::codec::record;
use crate::error::Result;
use crate::text::lines::SPEC_LINE_LIMIT;

/// Records in their binary form that are written together.
#[derive(Clone, Debug, Default)]
pub struct EncodedBatch {
    bytes: Vec<u8>,
    /// The place of each.
    places: Vec<Range<usize>>,
}

/// So many records, or bytes of them, make a batch; so many of them become text at a time.
const BATCH_RECORDS: usize = 1 << 13;
const BATCH_BYTES: usize = 1 << 20;
const PART_RECORDS: usize = 256;

impl EncodedBatch {
    /// Adds a record.
    pub fn push(&mut self, record: &[u8]) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(record);
        self.places.push(start..self.bytes.len());
    }

    /// Whether it has as many as are worth writing together.
    pub fn is_full(&self) -> bool {
        self.places.len() >= BATCH_RECORDS || self.bytes.len() >= BATCH_BYTES
    }

    /// Hands on each record.
    ///
    /// # Errors
    /// What `visit` says.
    pub fn each(&self, visit: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        self.records(&self.places).try_for_each(visit)
    }

    /// Takes all records out.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.places.clear();
    }

    fn records<'b>(&'b self, places: &'b [Range<usize>]) -> impl Iterator<Item = &'b [u8]> {
        places.iter().map(|place| &self.bytes[place.clone()])
    }

    /// The records as canonical lines, part by part, and how many of each are long.
    pub(super) fn texts(&self) -> Vec<Result<(Vec<u8>, u64)>> {
        let parts = 0..self.places.len().div_ceil(PART_RECORDS);
        parts.into_par_iter().map(|part| self.text(part)).collect()
    }

    /// A part of the records as canonical lines, and how many of them are long.
    fn text(&self, part: usize) -> Result<(Vec<u8>, u64)> {
        let from = part * PART_RECORDS;
        let (mut text, mut long_lines) = (Vec::new(), 0);
        for record in self.records(&self.places[from..self.places.len().min(from + PART_RECORDS)]) {
            let start = text.len();
            record::write_text(record, &mut text)?;
            long_lines += u64::from(text.len() - start > SPEC_LINE_LIMIT);
            text.push(b'\n');
        }
        Ok((text, long_lines))
    }
}

//! Making a segment of blocks.

use rayon::prelude::*;
use zerocopy::IntoBytes;
use zerocopy::little_endian::U32;

use super::encoder::BlockEncoder;
use super::{block, directory, text};
use crate::archive::error::ArchiveError;
use crate::archive::file::check;
use crate::archive::file::layout::{
    CODER_MIXING, CODER_SHIPPED, CODER_TEXT, CODER_TREE, HAS_OPERATIONS,
};
use crate::archive::file::sized::put_sized;
use crate::archive::mixing::MixingModel;
use crate::archive::row::{Row, operations};
use crate::archive::tree::{self, TrainingSet};
use crate::archive::{operations as coded_operations, rans};
use crate::codec::key::position_key;
use crate::codec::record;
use crate::model::{EpdRecord, Operation};
use crate::text::{FormatOptions, epd};

/// Records that wait to be coded.
#[derive(Clone, Default)]
pub(in crate::archive) struct BlockSegmentBuilder {
    /// The number of the first of them.
    first: u64,
    rows: Vec<Row>,
    /// The binary records of those that have operations beside counters, and their numbers.
    encoded: Vec<u8>,
    ends: Vec<(u32, usize)>,
    /// The position keys.
    keys: Vec<u64>,
    /// The numbers that the records came by, counted from 0, where they were put into another order.
    order: Vec<u32>,
}

/// A segment, coded.
pub(in crate::archive) struct CodedSegment {
    pub(in crate::archive) coder: u8,
    pub(in crate::archive) flags: u8,
    pub(in crate::archive) block_records: u32,
    pub(in crate::archive) model: Vec<u8>,
    pub(in crate::archive) directory: Vec<u8>,
    pub(in crate::archive) blocks: Vec<Vec<u8>>,
}

impl CodedSegment {
    pub(super) fn len(&self) -> usize {
        let blocks: usize = self.blocks.iter().map(Vec::len).sum();
        self.model.len() + self.directory.len() + blocks
    }
}

/// With more records than this an archive has a model of its own in any case.
const FEW: usize = 1 << 16;
/// Records in a block of text under zstd, or a few less: many, for it lives on repetition.
const TEXT_BLOCK: usize = 1 << 14;
/// Level of zstd.
const TEXT_LEVEL: i32 = 19;

impl BlockSegmentBuilder {
    /// For records from a number on.
    pub(in crate::archive) fn from(first: u64) -> BlockSegmentBuilder {
        BlockSegmentBuilder { first, ..BlockSegmentBuilder::default() }
    }

    /// What the checks of the blocks begin with: another for other records.
    pub(in crate::archive) fn identity(&self) -> u32 {
        let rows = self
            .rows
            .iter()
            .fold(0, |check, row| crc32c::crc32c_append(check, row.0.map(U32::from).as_bytes()));
        let records = crc32c::crc32c_append(rows, &self.encoded);
        self.order
            .iter()
            .fold(records, |check, number| crc32c::crc32c_append(check, &number.to_le_bytes()))
    }

    pub(super) fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The numbers that the records came by, where they were put into another order.
    pub(super) fn order(&self) -> &[u32] {
        &self.order
    }

    /// Takes a record.
    pub(in crate::archive) fn push(&mut self, record: &EpdRecord) -> Result<(), ArchiveError> {
        let row = Row::of(record);
        if row.has_operations() {
            record::encode(record, &mut self.encoded)?;
            self.ends.push((self.rows.len() as u32, self.encoded.len()));
        }
        self.rows.push(row);
        self.keys.push(position_key(record.position()));
        Ok(())
    }

    /// The position keys and the rows of the records, block by block.
    pub(in crate::archive) fn blocks(
        &self,
        records: u32,
    ) -> impl Iterator<Item = impl Iterator<Item = (&u64, &Row)>> {
        let blocks = self.keys.chunks(records as usize).zip(self.rows.chunks(records as usize));
        blocks.map(|(keys, rows)| keys.iter().zip(rows))
    }

    /// Whether there are as many operations as a block may have.
    pub(in crate::archive) fn is_full(&self) -> bool {
        self.encoded.len() >= coded_operations::MAX_BLOCK
    }

    /// Bytes of memory held, as far as they grow with the records.
    pub(in crate::archive) fn memory(&self) -> usize {
        self.rows.len() * (size_of::<Row>() + 8) + self.encoded.len() + self.ends.len() * 16
    }

    /// The records from `first`, at most `count`.
    fn records(&self, first: usize, count: usize) -> Result<Vec<EpdRecord>, ArchiveError> {
        let end = (first + count).min(self.rows.len());
        let mut with = self.ends.partition_point(|&(number, _)| (number as usize) < first);
        let mut records = Vec::with_capacity(end - first);
        for number in first..end {
            let record = match self.ends.get(with) {
                Some(&(owner, _)) if owner as usize == number => {
                    let start = with.checked_sub(1).map_or(0, |before| self.ends[before].1);
                    with += 1;
                    record::decode(&self.encoded[start..]).ok().map(|(record, _)| record)
                }
                _ => self.rows[number].record(),
            };
            records.push(record.ok_or(ArchiveError::corrupt("record before it was coded"))?);
        }
        Ok(records)
    }

    /// Puts the records into another order, which is kept where that is asked for.
    pub(super) fn rearrange(&mut self, order: Vec<u32>, is_kept: bool) {
        let mut ends = vec![None; self.rows.len()];
        let mut start = 0;
        for &(owner, end) in &self.ends {
            ends[owner as usize] = Some(start..end);
            start = end;
        }
        let mut sorted = BlockSegmentBuilder::from(self.first);
        for &place in &order {
            let place = place as usize;
            if let Some(range) = ends[place].clone() {
                sorted.encoded.extend_from_slice(&self.encoded[range]);
                sorted.ends.push((sorted.rows.len() as u32, sorted.encoded.len()));
            }
            sorted.rows.push(self.rows[place]);
            sorted.keys.push(self.keys[place]);
        }
        sorted.order = if is_kept { order } else { Vec::new() };
        *self = sorted;
    }

    /// Codes all records, in whichever way is shortest; by a mixing model only where `may_mix`.
    pub(in crate::archive) fn code(
        &self,
        block_records: u32,
        may_mix: bool,
    ) -> Result<CodedSegment, ArchiveError> {
        let per_block = block_records as usize;
        let training = TrainingSet::of(&self.rows, per_block);
        let plan = training.best_plan();
        let (bytes, model) = training.build(&plan, false).write();
        let encoder = BlockEncoder::Tree(model.encoder());
        let mut best = self.code_positions(CODER_TREE, bytes, &encoder, block_records)?;
        let mut consider = |other: CodedSegment| {
            if other.len() < best.len() {
                best = other;
            }
        };
        if let Some(shipped) = tree::shipped().filter(|_| self.rows.len() <= FEW) {
            let encoder = BlockEncoder::Tree(shipped.encoder());
            consider(self.code_positions(CODER_SHIPPED, Vec::new(), &encoder, block_records)?);
        }
        if may_mix && let Some(model) = MixingModel::of(&self.rows) {
            let encoder = BlockEncoder::Mixing(model.encoder());
            consider(self.code_positions(CODER_MIXING, model.write(), &encoder, block_records)?);
        }
        let limit = best.len();
        match self.code_text(limit, per_block)? {
            Some(text) if text.len() < limit => Ok(text),
            _ => Ok(best),
        }
    }

    /// Codes by a model with these bytes in the segment.
    fn code_positions(
        &self,
        coder: u8,
        model: Vec<u8>,
        encoder: &BlockEncoder,
        block_records: u32,
    ) -> Result<CodedSegment, ArchiveError> {
        let identity = self.identity();
        let per_block = block_records as usize;
        let blocks: Vec<Vec<u8>> = (0..self.rows.len().div_ceil(per_block))
            .into_par_iter()
            .map(|block| self.code_block(encoder, identity, block * per_block, per_block))
            .collect::<Result<_, _>>()?;
        Ok(CodedSegment {
            coder,
            flags: if self.ends.is_empty() { 0 } else { HAS_OPERATIONS },
            block_records,
            model,
            directory: directory::write(&lens(&blocks)?),
            blocks,
        })
    }

    fn code_block(
        &self,
        encoder: &BlockEncoder,
        identity: u32,
        first: usize,
        count: usize,
    ) -> Result<Vec<u8>, ArchiveError> {
        let rows = &self.rows[first..(first + count).min(self.rows.len())];
        let mut tail = Vec::new();
        if rows.iter().any(Row::has_operations) {
            let records = self.records(first, count)?;
            let kept: Vec<_> = records
                .iter()
                .map(|record| {
                    let kept: Vec<Operation> = operations(record).cloned().collect();
                    (*record.position(), kept)
                })
                .filter(|(_, operations)| !operations.is_empty())
                .collect();
            tail = coded_operations::encode(
                kept.iter().map(|(position, operations)| (*position, operations.as_slice())),
            );
        }
        let mut block = Vec::new();
        let place = check::place(identity, self.first + first as u64);
        rans::encode(&encoder.encode(rows), block::check(place, rows, &tail), &mut block);
        if self.ends.is_empty() {
            return Ok(block);
        }
        let mut out = Vec::with_capacity(block.len() + tail.len() + 3);
        put_sized(&block, &mut out);
        out.extend_from_slice(&tail);
        Ok(out)
    }

    /// Codes the text under zstd; `None` when that cannot be shorter than `limit`, or when text
    /// does not say all of the records.
    fn code_text(
        &self,
        limit: usize,
        per_block: usize,
    ) -> Result<Option<CodedSegment>, ArchiveError> {
        // Whole blocks as the index counts them.
        let text_block = (TEXT_BLOCK / per_block).max(1) * per_block;
        let identity = self.identity();
        let sample = self.text(0, text_block)?;
        let part = (limit as u64 * text_block.min(self.rows.len()) as u64
            / self.rows.len().max(1) as u64) as usize;
        let promising = sample.as_ref().is_some_and(|text| {
            zstd::bulk::compress(text, 3).is_ok_and(|bytes| bytes.len() < part * 3 / 2)
        });
        if !promising {
            return Ok(None);
        }
        let blocks: Option<Vec<Vec<u8>>> = (0..self.rows.len().div_ceil(text_block))
            .into_par_iter()
            .map(|block| -> Result<Option<Vec<u8>>, ArchiveError> {
                let Some(text) = self.text(block * text_block, text_block)? else {
                    return Ok(None);
                };
                let mut bytes = zstd::bulk::compress(&text, TEXT_LEVEL)?;
                let number = self.first + (block * text_block) as u64;
                let check = check::placed(identity, number, &bytes);
                bytes.extend_from_slice(&check.to_le_bytes());
                Ok(Some(bytes))
            })
            .collect::<Result<_, _>>()?;
        let Some(blocks) = blocks else { return Ok(None) };
        Ok(Some(CodedSegment {
            coder: CODER_TEXT,
            flags: 0,
            block_records: text_block as u32,
            model: Vec::new(),
            directory: directory::write(&lens(&blocks)?),
            blocks,
        }))
    }

    /// The text of records, if it is not too long and reads back as the same records.
    fn text(&self, first: usize, count: usize) -> Result<Option<Vec<u8>>, ArchiveError> {
        let mut text = Vec::new();
        for record in self.records(first, count)? {
            let start = text.len();
            epd::format(&record, &FormatOptions::default(), &mut text);
            if text::read_line(&text[start..]).as_ref() != Some(&record)
                || text.len() > text::MAX_BLOCK
            {
                return Ok(None);
            }
            text.push(b'\n');
        }
        Ok(Some(text))
    }
}

fn lens(blocks: &[Vec<u8>]) -> Result<Vec<u32>, ArchiveError> {
    blocks
        .iter()
        .map(|block| {
            u32::try_from(block.len()).map_err(|_| ArchiveError::LimitExceeded {
                what: "bytes of a block",
                found: block.len() as u64,
                limit: u32::MAX.into(),
            })
        })
        .collect()
}

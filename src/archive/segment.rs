//! A run of records in one coding: made from rows, and read block by block.

use std::borrow::Cow;
use std::ops::Range;

use rayon::prelude::*;
use zerocopy::IntoBytes;
use zerocopy::little_endian::{U32, U64};

use super::error::{ArchiveError, Refusal};
use super::layout::{CODER_SHIPPED, CODER_TEXT, CODER_TREE, HAS_OPERATIONS};
use super::row::{Row, operations};
use super::segments::Segment;
use super::side::{put_sized, take_sized};
use super::tree::{self, PositionModel, RowEncoder, TrainingSet};
use super::{check, directory, operations as coded_operations, rans};
use crate::codec::key::position_key;
use crate::codec::record;
use crate::model::{EpdRecord, Operation};
use crate::text::{Profile, ReadOptions, WriteOptions, epd};

/// Records that wait to be coded.
#[derive(Default)]
pub(super) struct SegmentBuilder {
    /// The number of the first of them.
    first: u64,
    rows: Vec<Row>,
    /// The binary records of those that have operations beside counters, and their numbers.
    encoded: Vec<u8>,
    ends: Vec<(u32, usize)>,
    /// The position keys.
    keys: Vec<u64>,
}

/// A segment, coded.
pub(super) struct CodedSegment {
    pub(super) coder: u8,
    pub(super) flags: u8,
    pub(super) block_records: u32,
    pub(super) model: Vec<u8>,
    pub(super) directory: Vec<u8>,
    pub(super) blocks: Vec<Vec<u8>>,
}

impl CodedSegment {
    fn len(&self) -> usize {
        let blocks: usize = self.blocks.iter().map(Vec::len).sum();
        self.model.len() + self.directory.len() + blocks
    }
}

/// With more records than this an archive has a model of its own in any case.
const FEW: usize = 1 << 16;
/// Records in a block of text under zstd, or a few less: many, for it lives on repetition.
const TEXT_BLOCK: usize = 1 << 14;
/// The most bytes of text in such a block.
const MAX_TEXT_BLOCK: usize = 4 << 20;
/// Level of zstd.
const TEXT_LEVEL: i32 = 19;

impl SegmentBuilder {
    /// For records from a number on.
    pub(super) fn from(first: u64) -> SegmentBuilder {
        SegmentBuilder { first, ..SegmentBuilder::default() }
    }

    /// What the checks of the blocks begin with: another for other records.
    pub(super) fn identity(&self) -> u32 {
        let rows = self
            .rows
            .iter()
            .fold(0, |check, row| crc32c::crc32c_append(check, row.0.map(U32::from).as_bytes()));
        crc32c::crc32c_append(rows, &self.encoded)
    }

    /// Takes a record.
    pub(super) fn push(&mut self, record: &EpdRecord) -> Result<(), ArchiveError> {
        let row = Row::of(record);
        if row.has_operations() {
            record::encode(record, &mut self.encoded)?;
            self.ends.push((self.rows.len() as u32, self.encoded.len()));
        }
        self.rows.push(row);
        self.keys.push(position_key(record.position()));
        Ok(())
    }

    /// The position keys of the records.
    pub(super) fn keys(&self) -> &[u64] {
        &self.keys
    }

    /// Whether there are as many operations as a block may have.
    pub(super) fn is_full(&self) -> bool {
        self.encoded.len() >= coded_operations::MAX_BLOCK
    }

    /// Bytes of memory held, as far as they grow with the records.
    pub(super) fn memory(&self) -> usize {
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

    /// Puts the records into the order of their columns, in which most of them begin like the one
    /// before.
    pub(super) fn sort(&mut self) -> Result<(), ArchiveError> {
        let mut order: Vec<u32> = (0..self.rows.len() as u32).collect();
        order.sort_by_key(|&place| self.rows[place as usize].0);
        let mut ends = vec![None; self.rows.len()];
        let mut start = 0;
        for &(owner, end) in &self.ends {
            ends[owner as usize] = Some(start..end);
            start = end;
        }
        let mut sorted = SegmentBuilder::from(self.first);
        for place in order {
            let place = place as usize;
            if let Some(range) = ends[place].clone() {
                sorted.encoded.extend_from_slice(&self.encoded[range]);
                sorted.ends.push((sorted.rows.len() as u32, sorted.encoded.len()));
            }
            sorted.rows.push(self.rows[place]);
            sorted.keys.push(self.keys[place]);
        }
        *self = sorted;
        Ok(())
    }

    /// Codes all records, in whichever way is shortest.
    pub(super) fn code(&self, block_records: u32) -> Result<CodedSegment, ArchiveError> {
        let per_block = block_records as usize;
        let training = TrainingSet::of(&self.rows, per_block);
        let plan = training.best_plan();
        let (bytes, model) = training.build(&plan, false).write();
        let mut best = self.code_positions(Some(&bytes), &model, block_records)?;
        let mut consider = |other: CodedSegment| {
            if other.len() < best.len() {
                best = other;
            }
        };
        if let Some(shipped) = tree::shipped().filter(|_| self.rows.len() <= FEW) {
            consider(self.code_positions(None, shipped, block_records)?);
        }
        let limit = best.len();
        match self.code_text(limit, per_block)? {
            Some(text) if text.len() < limit => Ok(text),
            _ => Ok(best),
        }
    }

    /// Codes by a model; by that of epdb when there are no bytes of it.
    fn code_positions(
        &self,
        model_bytes: Option<&[u8]>,
        model: &PositionModel,
        block_records: u32,
    ) -> Result<CodedSegment, ArchiveError> {
        let encoder = model.encoder();
        let identity = self.identity();
        let per_block = block_records as usize;
        let blocks: Vec<Vec<u8>> = (0..self.rows.len().div_ceil(per_block))
            .into_par_iter()
            .map(|block| self.code_block(&encoder, identity, block * per_block, per_block))
            .collect::<Result<_, _>>()?;
        Ok(CodedSegment {
            coder: if model_bytes.is_some() { CODER_TREE } else { CODER_SHIPPED },
            flags: if self.ends.is_empty() { 0 } else { HAS_OPERATIONS },
            block_records,
            model: model_bytes.unwrap_or_default().to_vec(),
            directory: directory::write(&lens(&blocks)?),
            blocks,
        })
    }

    fn code_block(
        &self,
        encoder: &RowEncoder,
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
        rans::encode(&encoder.encode(rows), block_check(place, rows, &tail), &mut block);
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
            epd::write(&record, &WriteOptions::default(), &mut text);
            if read_line(&text[start..]).as_ref() != Some(&record) || text.len() > MAX_TEXT_BLOCK {
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

fn read_line(line: &[u8]) -> Option<EpdRecord> {
    let options = ReadOptions::new(Profile::Lenient);
    match epd::read_line(line, &options, &mut Vec::new()) {
        Ok(epd::Line::Record(record)) => Some(record),
        _ => None,
    }
}

/// The check of a block: CRC32C of its place, of its rows, then of the bytes of its operations.
fn block_check(place: U64, rows: &[Row], operations: &[u8]) -> u32 {
    let mut bytes = Vec::with_capacity(size_of::<U64>() + size_of_val(rows));
    bytes.extend_from_slice(place.as_bytes());
    for row in rows {
        row.0.iter().for_each(|value| bytes.extend_from_slice(&value.to_le_bytes()));
    }
    crc32c::crc32c_append(crc32c::crc32c(&bytes), operations)
}

/// The decoded records of a block.
pub(super) enum Block {
    /// Rows, and the operations of those that have any.
    Rows {
        /// One a record.
        rows: Vec<Row>,
        /// The bytes of the operations.
        operations: Vec<u8>,
        /// What these may take, in bytes, when they are read.
        memory: usize,
    },
    /// Canonical text, a line a record.
    Text(Vec<u8>),
}

/// What it takes to decode the blocks of a segment.
pub(super) enum SegmentCoder {
    /// By a position model.
    Tree(Box<PositionModel>),
    /// By the position model that comes with epdb.
    Shipped(&'static PositionModel),
    /// By zstd.
    Text,
}

impl SegmentCoder {
    /// The position model, where there is one.
    pub(super) fn model(&self) -> Option<&PositionModel> {
        match self {
            SegmentCoder::Tree(model) => Some(model),
            SegmentCoder::Shipped(model) => Some(model),
            SegmentCoder::Text => None,
        }
    }

    /// What a model of a segment takes, about, in bytes.
    pub(super) fn cost(&self) -> usize {
        match self {
            SegmentCoder::Tree(model) => model.cost(),
            SegmentCoder::Shipped(_) | SegmentCoder::Text => 0,
        }
    }

    /// Decodes blocks of a segment, each with the number of its first record; `None` for one whose
    /// bytes are not those that were written there.
    /// Operations may take `memory` bytes when they are read.
    pub(super) fn decode(
        &self,
        segment: &Segment,
        blocks: &[(&[u8], u64)],
        memory: usize,
    ) -> Vec<Option<Block>> {
        let Some(model) = self.model() else {
            let blocks = blocks.iter();
            return blocks.map(|&(bytes, first)| text_block(segment, first, bytes)).collect();
        };
        let (mut coded, mut tails) = (Vec::new(), Vec::new());
        for &(bytes, first) in blocks {
            let mut tail = bytes;
            let block = match segment.has_operations {
                false => std::mem::take(&mut tail),
                true => take_sized(&mut tail).unwrap_or_default(),
            };
            coded.push((rans::RansDecoder::new(block), segment.block_len(first) as usize));
            tails.push(tail.to_vec());
        }
        let parts = model.decode(coded.into_iter()).into_iter().zip(tails).zip(blocks);
        parts
            .map(|(((decoder, rows), operations), &(_, first))| {
                let place = check::place(segment.identity, first);
                let holds = decoder.is_done(block_check(place, &rows, &operations));
                holds.then_some(Block::Rows { rows, operations, memory })
            })
            .collect()
    }
}

fn text_block(segment: &Segment, first: u64, bytes: &[u8]) -> Option<Block> {
    // A copy: zstd must not see bytes that another process may change.
    let bytes = bytes.to_vec();
    let (body, check) = bytes.split_last_chunk()?;
    if !check::holds(check::placed(segment.identity, first, body), u32::from_le_bytes(*check)) {
        return None;
    }
    let len = zstd::zstd_safe::get_frame_content_size(body).ok()??;
    let len = usize::try_from(len).ok().filter(|&len| len <= MAX_TEXT_BLOCK)?;
    let text = zstd::bulk::decompress(body, len).ok()?;
    let lines = text.iter().filter(|&&byte| byte == b'\n').count();
    let is_whole = lines as u64 == segment.block_len(first)
        && text.last() == Some(&b'\n')
        && text.len() == len;
    is_whole.then_some(Block::Text(text))
}

impl Block {
    /// Bytes of the operations.
    pub(super) fn operation_bytes(&self) -> usize {
        match self {
            Block::Rows { operations, .. } => operations.len(),
            Block::Text(_) => 0,
        }
    }

    /// The rows, where there are such: positions can be compared without making records.
    pub(super) fn rows(&self) -> Option<&[Row]> {
        match self {
            Block::Rows { rows, .. } => Some(rows),
            Block::Text(_) => None,
        }
    }

    /// Rows of some of the records; `None` when they are none.
    pub(super) fn rows_in(&self, range: Range<usize>) -> Option<Cow<'_, [Row]>> {
        match self {
            Block::Rows { rows, .. } => rows.get(range).map(Cow::Borrowed),
            Block::Text(text) => {
                let lines = text.split(|&byte| byte == b'\n').skip(range.start).take(range.len());
                lines.map(|line| read_line(line).as_ref().map(Row::of)).collect()
            }
        }
    }

    /// All records; `None` when one of them is none.
    pub(super) fn records(&self) -> Option<Vec<EpdRecord>> {
        self.records_in(0..usize::MAX)
    }

    /// Why its records cannot be read, of a block where that was so.
    pub(super) fn refusal(&self) -> Refusal {
        let Block::Rows { rows, operations, memory } = self else { return Refusal::Damaged };
        let with = rows.iter().filter(|row| row.has_operations());
        let positions = with.map_while(Row::position);
        let read = coded_operations::decode(operations, positions, *memory);
        read.err().unwrap_or(Refusal::Damaged)
    }

    /// Some of the records. What comes behind them is not decoded.
    pub(super) fn records_in(&self, range: Range<usize>) -> Option<Vec<EpdRecord>> {
        match self {
            Block::Text(text) => {
                let lines = text.strip_suffix(b"\n")?.split(|&byte| byte == b'\n');
                lines.skip(range.start).take(range.len()).map(read_line).collect()
            }
            Block::Rows { rows, operations, memory } => {
                let rows = &rows[..rows.len().min(range.end)];
                let mut records: Vec<EpdRecord> =
                    rows.iter().map(Row::record).collect::<Option<_>>()?;
                let with = |(row, _): &(&Row, &mut EpdRecord)| row.has_operations();
                let positions: Vec<_> = rows
                    .iter()
                    .zip(&records)
                    .filter(|(row, _)| row.has_operations())
                    .map(|(_, record)| *record.position())
                    .collect();
                let mut all = if positions.is_empty() {
                    Vec::new()
                } else {
                    coded_operations::decode(operations, positions.into_iter(), *memory).ok()?
                }
                .into_iter();
                let mut scratch = Vec::new();
                for (row, record) in rows.iter().zip(&mut records).filter(with) {
                    for operation in all.next()? {
                        if record.set(operation).is_some() {
                            return None;
                        }
                    }
                    scratch.clear();
                    record::encode(record, &mut scratch).ok()?;
                    if Row::of(record) != *row {
                        return None;
                    }
                }
                records.drain(..range.start.min(records.len()));
                Some(records)
            }
        }
    }

    /// One record.
    pub(super) fn record(&self, nth: usize) -> Option<EpdRecord> {
        match self {
            Block::Rows { rows, .. } if !rows.get(nth)?.has_operations() => rows[nth].record(),
            Block::Rows { .. } => self.records_in(nth..nth + 1)?.pop(),
            Block::Text(text) => read_line(text.split(|&byte| byte == b'\n').nth(nth)?),
        }
    }

    /// Appends the canonical text of records from `first`, at most `count`, a line each.
    pub(super) fn write_text(&self, first: usize, count: usize, out: &mut Vec<u8>) -> Option<()> {
        match self {
            Block::Text(text) => {
                let lines = text.split_inclusive(|&byte| byte == b'\n').skip(first).take(count);
                lines.for_each(|line| out.extend_from_slice(line));
            }
            Block::Rows { rows, operations, .. } if operations.is_empty() => {
                for row in rows.iter().skip(first).take(count) {
                    row.write_text(out)?;
                    out.push(b'\n');
                }
            }
            Block::Rows { .. } => {
                for record in &self.records_in(first..first + count)? {
                    epd::write(record, &WriteOptions::default(), out);
                    out.push(b'\n');
                }
            }
        }
        Some(())
    }
}

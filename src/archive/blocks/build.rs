//! Building of a segment of blocks.

use std::ops::Range;
use std::sync::OnceLock;

use foldhash::HashMap;
use rayon::prelude::*;
use zerocopy::little_endian::U64;

use super::part_entries::RecordKeys;
use super::{block, directory};
use crate::columns::{Row, into_operations};
use crate::error::ArchiveError;
use crate::file::bytes::put_sized;
use crate::file::sections::SectionEntry;
use crate::file::{CODER_SHIPPED, CODER_TEXT, CODER_TREE, FLIPPED, HAS_OPERATIONS, check};
use crate::move_links::MoveLinks;
use crate::operations as coded_operations;
use crate::operations::{InitialModel, PositionOf, Subject};
use crate::rans::{self, Interval};
use crate::tree::{self, Step, TrainedEncoder, TrainingSet};
use epdb_chess::codec::error::DecodeError;
use epdb_chess::codec::key::position_key;
use epdb_chess::codec::{packed, record};
use epdb_chess::model::{EpdRecord, Operation, Position};
use epdb_chess::text::{FormatOptions, epd};

/// Records that are not coded yet.
#[derive(Clone, Default)]
pub(crate) struct BlockSegmentBuilder {
    /// Number of the first record.
    first: u64,
    rows: Vec<Row>,
    /// True if the rows have the board turned upside down and the colours exchanged.
    is_flipped: bool,
    /// Binary form of the records with operations other than counters, one after the other.
    encoded: Vec<u8>,
    /// For each record that has operations other than counters: its number in the segment, and the
    /// end of its binary form in `encoded`.
    ends: Vec<(u32, usize)>,
    /// Places in `ends` of the records whose rows and position keys are not made yet.
    unmade: Vec<u32>,
    /// Position keys of the records, if an index needs them.
    keys: Option<Vec<u64>>,
    /// Original numbers of the records in the segment, if the records were rearranged.
    order: Vec<u32>,
    /// Identity of the segment, which the checksums cover. It is computed when it is first needed.
    identity: OnceLock<u32>,
    /// The step from each row (the position of a record) to the next. The steps are found when they
    /// are first needed: by the prediction of rows, or to code operations.
    steps: OnceLock<Vec<Option<Step>>>,
}

pub(crate) struct CodedSegment {
    pub coder: u8,
    pub flags: u8,
    pub block_records: u32,
    pub model: Vec<u8>,
    /// Initial model for the operations of each block; may be empty.
    pub operation_start: Vec<u8>,
    pub directory: Vec<u8>,
    pub blocks: Vec<Vec<u8>>,
}

/// The coded operations of a segment; empty if no record has any.
#[derive(Default)]
struct CodedOperations {
    /// Initial model for each block; may be empty.
    start: Vec<u8>,
    blocks: Vec<Vec<u8>>,
}

/// The rows of a block, and its records with operations, each with its place in the block.
struct BlockOperations<'a> {
    rows: &'a [Row],
    steps: &'a [Option<Step>],
    records: Vec<(usize, Position, Vec<Operation>)>,
}

impl CodedSegment {
    pub(crate) fn len(&self) -> usize {
        self.position_bytes() + self.operation_start.len() + self.directory.len()
    }

    /// Length of the model and the blocks, including operations.
    fn position_bytes(&self) -> usize {
        self.model.len() + self.blocks.iter().map(Vec::len).sum::<usize>()
    }
}

/// Default number of records in a block, if records have no operations.
const MAX_DEFAULT_RECORDS: u32 = 128;
/// Maximum default number of records in a block, if records have operations.
pub(crate) const MAX_RECORDS_WITH_OPERATIONS: u32 = 80;
/// Default number of bytes of coded operations in a block. A lookup of one record decodes half of a
/// block on average. Each record also takes time to decode, so it counts as [`BYTES_OF_RECORD`]
/// additional bytes.
const BLOCK_OPERATIONS: usize = 164;
const BYTES_OF_RECORD: usize = 1;
/// Number of blocks that are coded to estimate the average length of a record's operations.
const MEASURED: usize = 64;
/// Number of records above which a segment always has its own model.
const FEW: usize = 1 << 16;
/// Number of records above which the initial model of operations is trained on a sample.
const TRAINED: usize = 1 << 13;
/// Number of blocks that are coded to estimate the size with the built-in model.
const LOOKED_AT: usize = 64;
/// Number of rows whose checksum is computed at once.
const CHECKED: usize = 256;
/// Number of rows that are made at once.
const MADE: usize = 1 << 14;
/// Approximate number of records in a block of text: many, because zstd needs repetition.
const TEXT_BLOCK: usize = 1 << 14;
/// Number of records whose text is compressed to find out whether text may be shorter.
const TRIED_TEXT: usize = TEXT_BLOCK / 8;
/// Compression level of zstd for blocks of text.
const TEXT_LEVEL: i32 = 19;

impl BlockSegmentBuilder {
    /// Makes a builder for records from number `first` on, with their keys if there is an index.
    pub(crate) fn from(first: u64, has_index: bool) -> BlockSegmentBuilder {
        let keys = has_index.then(Vec::new);
        BlockSegmentBuilder { first, keys, ..BlockSegmentBuilder::default() }
    }

    /// Identity that the checksums of the blocks cover. It is a checksum of all records.
    pub(crate) fn identity(&self) -> u32 {
        *self.identity.get_or_init(|| {
            let mut bytes = Vec::new();
            let mut check = 0;
            for rows in self.rows.chunks(CHECKED) {
                bytes.clear();
                Row::put_bytes(rows, &mut bytes);
                check = crc32c::crc32c_append(check, &bytes);
            }
            check = crc32c::crc32c_append(check, &self.encoded);
            for numbers in self.order.chunks(CHECKED) {
                bytes.clear();
                numbers.iter().for_each(|number| bytes.extend_from_slice(&number.to_le_bytes()));
                check = crc32c::crc32c_append(check, &bytes);
            }
            check
        })
    }

    /// Forgets the values that were computed from the rows, because the rows change.
    fn forget(&mut self) {
        self.identity.take();
        self.steps.take();
    }

    pub(super) fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// Original numbers of the records; empty if they were not rearranged.
    pub(super) fn order(&self) -> &[u32] {
        &self.order
    }

    pub(crate) fn push(&mut self, record: &EpdRecord) -> Result<(), ArchiveError> {
        let row = Row::from_record(record);
        if row.has_operations() {
            record::encode(record, &mut self.encoded)?;
        }
        self.push_row(row, || position_key(record.position()));
        Ok(())
    }

    /// Adds a record in its binary form. It is decoded later: its row by [`Self::make_rows`], its
    /// operations when they are coded for the archive. If there are counters among them, the record is
    /// decoded at once.
    pub(crate) fn push_encoded(&mut self, bytes: &[u8]) -> Result<(), ArchiveError> {
        if !record::is_board_with_operations(bytes)? {
            return self.push(&record::decode(bytes)?.0);
        }
        self.unmade.push(self.ends.len() as u32);
        self.encoded.extend_from_slice(bytes);
        self.push_row(Row::OF_OPERATIONS, || 0);
        Ok(())
    }

    /// Adds the row of a record, whose binary form was added before if it has operations.
    fn push_row(&mut self, row: Row, key: impl FnOnce() -> u64) {
        self.forget();
        if row.has_operations() {
            self.ends.push((self.rows.len() as u32, self.encoded.len()));
        }
        self.rows.push(row);
        if let Some(keys) = &mut self.keys {
            keys.push(key());
        }
    }

    /// Makes the rows and keys of the records that were added in their binary form, on all threads.
    ///
    /// # Errors
    /// [`ArchiveError::Decode`] for a record without a valid board.
    pub(crate) fn make_rows(&mut self) -> Result<(), ArchiveError> {
        for places in std::mem::take(&mut self.unmade).chunks(MADE) {
            let made: Vec<(Row, u64)> = places
                .par_iter()
                .map(|&place| {
                    let board = record::board_of(&self.encoded[self.range_of(place as usize)])?;
                    let (position, _) = packed::decode(board)?;
                    Ok((Row::with_operations(&position), position_key(&position)))
                })
                .collect::<Result<_, DecodeError>>()?;
            for (&place, (row, key)) in places.iter().zip(made) {
                let number = self.ends[place as usize].0 as usize;
                self.rows[number] = row;
                if let Some(keys) = &mut self.keys {
                    keys[number] = key;
                }
            }
        }
        Ok(())
    }

    /// The range in `encoded` of the record with a place in `ends`.
    fn range_of(&self, place: usize) -> Range<usize> {
        let start = place.checked_sub(1).map_or(0, |before| self.ends[before].1);
        start..self.ends[place].1
    }

    /// The keys by which an index finds the records; none if there is no index.
    pub(crate) fn record_keys(&self) -> Vec<RecordKeys> {
        let keys = self.keys.as_deref().unwrap_or_default();
        let records = keys.par_iter().zip(&self.rows);
        records.map(|(&key, row)| RecordKeys::new(key, row)).collect()
    }

    /// True if the operations have reached the limit of a segment.
    pub(crate) fn is_full(&self) -> bool {
        self.encoded.len() >= coded_operations::MAX_BLOCK
    }

    /// Memory that grows with the records, in bytes.
    pub(crate) fn memory_used(&self) -> usize {
        self.rows.len() * (size_of::<Row>() + 8) + self.encoded.len() + self.ends.len() * 16
    }

    /// Returns the records with some numbers in the segment, which may end before the numbers do.
    /// `decode` decodes the records that have operations; it gets the number of a record, and bytes
    /// that begin with the record.
    fn records(
        &self,
        numbers: Range<usize>,
        decode: impl Fn(usize, &[u8]) -> Result<EpdRecord, DecodeError>,
    ) -> Result<Vec<EpdRecord>, ArchiveError> {
        let numbers = numbers.start..numbers.end.min(self.rows.len());
        let mut with = self.ends.partition_point(|&(owner, _)| (owner as usize) < numbers.start);
        let mut records = Vec::with_capacity(numbers.len());
        for number in numbers {
            let record = match self.ends.get(with) {
                Some(&(owner, _)) if owner as usize == number => {
                    let start = self.range_of(with).start;
                    with += 1;
                    decode(number, &self.encoded[start..]).ok()
                }
                _ if self.is_flipped => self.rows[number].flipped().record(),
                _ => self.rows[number].record(),
            };
            records.push(record.ok_or(ArchiveError::corrupt("record before it was coded"))?);
        }
        Ok(records)
    }

    /// Rearranges the records. Stores the original order if `is_kept` is true.
    pub(super) fn rearrange(&mut self, order: Vec<u32>, is_kept: bool) {
        let places = self.ends.iter().enumerate();
        let ranges: HashMap<u32, Range<usize>> =
            places.map(|(place, &(owner, _))| (owner, self.range_of(place))).collect();
        let mut sorted = BlockSegmentBuilder {
            rows: order.iter().map(|&place| self.rows[place as usize]).collect(),
            keys: self
                .keys
                .as_ref()
                .map(|keys| order.iter().map(|&place| keys[place as usize]).collect()),
            first: self.first,
            ..BlockSegmentBuilder::default()
        };
        for (number, place) in (0..).zip(&order) {
            if let Some(range) = ranges.get(place) {
                sorted.encoded.extend_from_slice(&self.encoded[range.clone()]);
                sorted.ends.push((number, sorted.encoded.len()));
            }
        }
        sorted.order = if is_kept { order } else { Vec::new() };
        *self = sorted;
    }

    /// Flips the rows: turns the boards upside down and exchanges the colours.
    pub(super) fn flip(&mut self) {
        self.rows.iter_mut().for_each(|row| *row = row.flipped());
        self.is_flipped = !self.is_flipped;
        self.forget();
    }

    /// Codes all records with the allowed coder that gives the shortest result.
    pub(crate) fn code(&self, block_records: u32) -> Result<CodedSegment, ArchiveError> {
        let per_block = block_records as usize;
        // Finding them takes all threads. Each of the others leaves threads idle at times.
        self.steps();
        let ((operations, (model, encoder)), tried_text) = rayon::join(
            || rayon::join(|| self.code_operations(per_block), || self.train(per_block)),
            || self.compressed_len(TRIED_TEXT),
        );
        let operations = operations?;
        let encode = |first, rows: &[Row]| encoder.encode(first, rows);
        let mut best =
            self.code_positions(CODER_TREE, model, encode, &operations, block_records)?;
        if self.rows.len() <= FEW
            && let Some(shipped) = tree::shipped()
        {
            let encoder = shipped.encoder();
            if self.is_promising(&encoder, &best) {
                let encode = |_, rows: &[Row]| encoder.encode(rows);
                let (coder, model) = (CODER_SHIPPED, Vec::new());
                let coded =
                    self.code_positions(coder, model, encode, &operations, block_records)?;
                best = shorter(best, Some(coded));
            }
        }
        let text = self.code_text(tried_text?, best.len(), per_block)?;
        Ok(shorter(best, text))
    }

    /// Builds a position model of all records. Returns its bytes, and an encoder of the records.
    fn train(&self, per_block: usize) -> (Vec<u8>, TrainedEncoder) {
        let training = TrainingSet::new(&self.rows, per_block, self.steps());
        let (model, encoder) = training.build(&training.best_plan());
        (model.write(), encoder)
    }

    /// The step from each row to the next. Finding them takes all threads, so only one may call
    /// this before they are found.
    fn steps(&self) -> &[Option<Step>] {
        self.steps.get_or_init(|| tree::steps(&self.rows))
    }

    /// Default number of records in a block; smaller if records have long operations.
    pub(crate) fn records_of_a_block(&self) -> Result<u32, ArchiveError> {
        if self.ends.is_empty() {
            return Ok(MAX_DEFAULT_RECORDS);
        }
        let steps = self.steps();
        let max = MAX_RECORDS_WITH_OPERATIONS as usize;
        let step = self.rows.len().div_ceil(max * MEASURED);
        let start = InitialModel::default();
        let blocks: Vec<(usize, usize)> = (0..self.rows.len().div_ceil(max))
            .into_par_iter()
            .filter(|block| block.is_multiple_of(step))
            .map(|block| {
                let block = self.block_operations(steps, block, max)?;
                Ok((block.rows.len(), block.encode(&start).len()))
            })
            .collect::<Result<_, ArchiveError>>()?;
        let records: usize = blocks.iter().map(|&(records, _)| records).sum();
        let bytes: usize = blocks.iter().map(|&(_, bytes)| bytes).sum();
        let bytes = bytes + BYTES_OF_RECORD * records;
        Ok((BLOCK_OPERATIONS * records / bytes.max(1)).clamp(1, max) as u32)
    }

    fn code_operations(&self, per_block: usize) -> Result<CodedOperations, ArchiveError> {
        if self.ends.is_empty() {
            return Ok(CodedOperations::default());
        }
        let steps = self.steps();
        let blocks = self.rows.len().div_ceil(per_block);
        let step = self.rows.len().div_ceil(TRAINED).max(1);
        let sample: Vec<BlockOperations> = (0..blocks)
            .into_par_iter()
            .filter(|block| block.is_multiple_of(step))
            .map(|block| self.block_operations(steps, block, per_block))
            .collect::<Result<_, _>>()?;
        let len = |start: &InitialModel| -> usize {
            sample.par_iter().map(|block| block.encode(start).len()).sum()
        };
        let none = InitialModel::default();
        let ((bytes, trained), len_of_none) = rayon::join(
            || InitialModel::train(sample.iter().map(|it| it.subjects())).write(),
            || len(&none),
        );
        let section = bytes.len() + size_of::<SectionEntry>();
        let is_shorter = section + len(&trained) * step < len_of_none * step;
        let (bytes, start) = if is_shorter { (bytes, trained) } else { (Vec::new(), none) };
        let blocks = (0..blocks)
            .into_par_iter()
            .map(|block| Ok(self.block_operations(steps, block, per_block)?.encode(&start)))
            .collect::<Result<_, ArchiveError>>()?;
        Ok(CodedOperations { start: bytes, blocks })
    }

    /// Returns the rows of a block, and its records with operations. `steps` has the step from each
    /// row of the segment to the next.
    fn block_operations<'a>(
        &'a self,
        steps: &'a [Option<Step>],
        block: usize,
        per_block: usize,
    ) -> Result<BlockOperations<'a>, ArchiveError> {
        let first = block * per_block;
        let end = (first + per_block).min(self.rows.len());
        let rows = &self.rows[first..end];
        let mut records = Vec::new();
        if rows.iter().any(Row::has_operations) {
            let decode = |number: usize, bytes: &[u8]| {
                let next = steps[number].and_then(|step| Some((step.ordinal()?, step.mv)));
                record::decode_unspelled(bytes, next)
            };
            let read = self.records(first..end, decode)?;
            for (place, record) in read.into_iter().enumerate() {
                let position = *record.position();
                let kept = into_operations(record);
                if !kept.is_empty() {
                    records.push((place, position, kept));
                }
            }
        }
        Ok(BlockOperations { rows, steps: &steps[first..end], records })
    }

    /// Codes positions with a coder. `model` has the bytes of the coder's model. `encode` gets the
    /// number of the first row of a block, and returns the coding intervals of the rows of the
    /// block.
    fn code_positions(
        &self,
        coder: u8,
        model: Vec<u8>,
        encode: impl Fn(usize, &[Row]) -> Vec<Interval> + Sync,
        operations: &CodedOperations,
        block_records: u32,
    ) -> Result<CodedSegment, ArchiveError> {
        let identity = self.identity();
        let per_block = block_records as usize;
        let blocks: Vec<Vec<u8>> = self
            .rows
            .par_chunks(per_block)
            .enumerate()
            .map(|(number, rows)| {
                let first = number * per_block;
                let place = check::place(identity, self.first + first as u64);
                code_block(&encode(first, rows), place, rows, operations.blocks.get(number))
            })
            .collect();
        Ok(CodedSegment {
            coder,
            flags: if self.ends.is_empty() { 0 } else { HAS_OPERATIONS }
                | if self.is_flipped { FLIPPED } else { 0 },
            block_records,
            model,
            operation_start: operations.start.clone(),
            directory: directory::write(&lens(&blocks)?),
            blocks,
        })
    }

    /// True if the built-in model may take fewer bytes than a segment that is already coded.
    fn is_promising(&self, encoder: &tree::RowEncoder, coded: &CodedSegment) -> bool {
        let step = (coded.blocks.len() / LOOKED_AT).max(1);
        let mut bytes = Vec::new();
        for rows in self.rows.chunks(coded.block_records as usize).step_by(step) {
            rans::encode(&encoder.encode(rows), 0, &mut bytes);
        }
        bytes.len() * step < coded.position_bytes() * 9 / 8
    }

    /// Codes the text of the records with zstd. Returns `None` if the result cannot be shorter than
    /// `limit`, or if the text does not parse to the same records. `tried` is the compressed length
    /// of the first [`TRIED_TEXT`] records.
    fn code_text(
        &self,
        tried: Option<usize>,
        limit: usize,
        per_block: usize,
    ) -> Result<Option<CodedSegment>, ArchiveError> {
        // The number of records of a text block is a multiple of the number of records of an index
        // block.
        let text_block = (TEXT_BLOCK / per_block).max(1) * per_block;
        let identity = self.identity();
        // The text is compressed at a faster level of zstd first. So a result that is somewhat
        // longer than the limit may still win.
        let may_win = |len: Option<usize>, records: usize, halves: u64| {
            let all = self.rows.len();
            let part = limit as u64 * records.min(all) as u64 / all.max(1) as u64;
            len.is_some_and(|len| len as u64 * 2 < part * halves)
        };
        if !may_win(tried, TRIED_TEXT, 5)
            || !may_win(self.compressed_len(text_block)?, text_block, 3)
        {
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
                check::append_placed(identity, number, &mut bytes);
                Ok(Some(bytes))
            })
            .collect::<Result<_, _>>()?;
        let Some(blocks) = blocks else { return Ok(None) };
        Ok(Some(CodedSegment {
            coder: CODER_TEXT,
            flags: 0,
            block_records: text_block as u32,
            model: Vec::new(),
            operation_start: Vec::new(),
            directory: directory::write(&lens(&blocks)?),
            blocks,
        }))
    }

    /// Length of the text of the first records, compressed at a fast level of zstd; `None` if there is
    /// no such text.
    fn compressed_len(&self, records: usize) -> Result<Option<usize>, ArchiveError> {
        let text = self.text(0, records)?;
        Ok(text.and_then(|text| zstd::bulk::compress(&text, 3).ok()).map(|bytes| bytes.len()))
    }

    /// Formats records as text; `None` if it is too long or does not parse to the same records.
    fn text(&self, first: usize, count: usize) -> Result<Option<Vec<u8>>, ArchiveError> {
        let mut text = Vec::new();
        let decode = |_, bytes: &[u8]| record::decode(bytes).map(|(record, _)| record);
        for record in self.records(first..first + count, decode)? {
            let start = text.len();
            epd::format(&record, &FormatOptions::default(), &mut text);
            if block::parse_line(&text[start..]).as_ref() != Some(&record)
                || text.len() > block::MAX_BLOCK
            {
                return Ok(None);
            }
            text.push(b'\n');
        }
        Ok(Some(text))
    }
}

/// Returns the shorter of two segments; the first if both have the same length.
fn shorter(first: CodedSegment, second: Option<CodedSegment>) -> CodedSegment {
    second.filter(|second| second.len() < first.len()).unwrap_or(first)
}

/// Returns the bytes of a block of rows, with its coded operations if the segment has any.
fn code_block(
    intervals: &[Interval],
    place: U64,
    rows: &[Row],
    operations: Option<&Vec<u8>>,
) -> Vec<u8> {
    let tail = operations.map_or(&[][..], Vec::as_slice);
    let mut block = Vec::new();
    rans::encode(intervals, block::check(place, rows, tail), &mut block);
    if operations.is_none() {
        return block;
    }
    let mut out = Vec::with_capacity(block.len() + tail.len() + 3);
    put_sized(&block, &mut out);
    out.extend_from_slice(tail);
    out
}

impl BlockOperations<'_> {
    fn subjects(&self) -> (MoveLinks<'_>, Vec<Subject<'_>>) {
        let subjects = self.records.iter().map(|(place, position, operations)| Subject {
            place: *place,
            position: PositionOf::Position(*position),
            operations,
        });
        let moves = self.steps.iter().map(|step| step.map(|step| step.mv));
        (MoveLinks::from_moves(self.rows, moves), subjects.collect())
    }

    fn encode(&self, start: &InitialModel) -> Vec<u8> {
        let (mut links, subjects) = self.subjects();
        coded_operations::encode(start, &mut links, &subjects)
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

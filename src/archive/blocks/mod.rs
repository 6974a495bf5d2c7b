//! Level default. Records are in blocks, which are coded by a model of positions. An index
//! leads from position keys to blocks.

mod bits;
mod block;
mod build;
mod cache;
mod coder;
mod directory;
mod index;
mod lookup;
mod order;
mod ordered;
mod part_entries;
mod reader;
mod salvage;
mod separators;
mod sort;
mod verify;

pub(super) use build::{BlockSegmentBuilder, CodedSegment, MAX_RECORDS_WITH_OPERATIONS};
pub(super) use index::write_index;
pub(super) use lookup::{BlockMatch, BlockMatches};
pub(super) use part_entries::{PartEntries, RecordKeys, index_block};
pub(super) use reader::BlockReader;
pub(super) use sort::Arrangement;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;

use super::damage::Damage;
use super::error::ArchiveError;
use super::file::Span;
use super::file::ranges::ArchiveBytes;
use super::file::sections::Section;
use separators::Separators;

/// Minimum length of a block in bytes: the state of its coder.
const MIN_BLOCK: u64 = 4;

/// Maximum distance of a block from where it would be if all blocks were equally long: one part of this
/// number of parts of all blocks, but at most a page. In libraries of master games, 95 % of all blocks are
/// so near.
const SLACK_PARTS: u64 = 32;
const MAX_SLACK: u64 = 16 << 10;

/// The sections and sizes of a segment of blocks.
///
/// A segment is divided in two ways: into blocks, which are coded, and into *index blocks*, which
/// the position index counts. A block consists of one or more index blocks.
#[derive(Copy, Clone, Debug)]
pub(crate) struct BlockSegment {
    pub span: Span,
    /// Records in each block but the last.
    pub block_records: u32,
    /// Number of the first index block of the segment, counted through the whole archive.
    pub(crate) first_index_block: u64,
    /// Records in each index block but the last.
    pub index_records: u32,
    pub coder: u8,
    pub has_operations: bool,
    /// True if the rows are coded with the board turned upside down and the colours exchanged.
    pub(crate) is_flipped: bool,
    pub model: Section,
    /// Initial model for the operations of each block; may be empty.
    pub operation_start: Section,
    pub directory: Section,
    pub blocks: Section,
    /// Numbers of the records in the order of their places in the blocks; empty if numbers and
    /// places are the same.
    pub order: Section,
    /// Separators of sorted rows; empty if the rows are not sorted.
    pub separators: Section,
}

struct EncodedBlock<'a> {
    bytes: Cow<'a, [u8]>,
    /// Number of the first record of the block.
    first: u64,
    records: u64,
}

impl BlockSegment {
    /// True if the sections can hold the records.
    pub(crate) fn fits(&self) -> bool {
        directory::fits(self.directory.len, self.blocks())
            && self.blocks.len >= u64::from(self.blocks()) * MIN_BLOCK
            && (!self.is_ordered() || order::fits(self.order.len, self.span.records))
            && !(self.is_flipped && self.is_sorted())
    }

    /// Leaves the blocks that are in the first bytes of their section, if the directory is sound. Returns
    /// true if there are none.
    pub(crate) fn cut(&mut self, file: &ArchiveBytes, present: u64) -> Result<bool, ArchiveError> {
        if self.blocks.len == present {
            return Ok(false);
        }
        let Some(directory) = Damage::or_none(self.directory.checked(file, "block directory"))?
        else {
            return Ok(true);
        };
        let mut whole = 0;
        while whole < self.blocks() {
            let (start, len) = directory::find(&directory, whole)?;
            if start as u64 + len as u64 > present {
                break;
            }
            whole += 1;
        }
        // The records of the other blocks have no place in an order.
        self.order = Section::default();
        self.span.records = self.span.records.min(whole * self.block_records);
        Ok(whole == 0)
    }

    /// True if the records of the blocks are not in the order of their numbers.
    const fn is_ordered(&self) -> bool {
        self.order.len > 0
    }

    /// True if positions are found by separators and not by the index.
    const fn is_sorted(&self) -> bool {
        self.separators.len > 0
    }

    fn separators<'a>(&self, file: &'a ArchiveBytes) -> Result<Separators<'a>, ArchiveError> {
        let bytes = self.separators.kept(file, "separators")?;
        Ok(Separators::new(bytes, self.index_blocks(), self.span.identity))
    }

    const fn blocks(&self) -> u32 {
        self.span.records.div_ceil(self.block_records)
    }

    fn index_blocks(&self) -> u64 {
        self.span.records.div_ceil(self.index_records).into()
    }

    /// The block that has the record at a place of the segment.
    fn block_of(&self, number: u64) -> u32 {
        ((number - self.span.first) / u64::from(self.block_records)) as u32
    }

    /// Place of the first record of a block. Places are counted through the whole archive, like
    /// record numbers. If the records are sorted, the place of a record differs from its number.
    fn first_of(&self, block: u32) -> u64 {
        self.span.first + u64::from(block) * u64::from(self.block_records)
    }

    /// Number of records of the block whose first record has the place `first`.
    fn block_len(&self, first: u64) -> u64 {
        self.span.end().saturating_sub(first).min(self.block_records.into())
    }

    /// Returns the given blocks in coded form, as they are in the bytes of the file.
    fn encoded<'a>(
        &self,
        file: &'a ArchiveBytes,
        blocks: impl Iterator<Item = u32>,
    ) -> Result<Vec<EncodedBlock<'a>>, ArchiveError> {
        let blocks: Vec<u32> = blocks.collect();
        let bytes = file.read_all(&self.ranges(file, blocks.iter().copied())?, "blocks")?;
        let encoded = |(block, bytes)| {
            let first = self.first_of(block);
            EncodedBlock { bytes, first, records: self.block_len(first) }
        };
        Ok(blocks.into_iter().zip(bytes).map(encoded).collect())
    }

    /// Returns the ranges of blocks in the file.
    fn ranges(
        &self,
        file: &ArchiveBytes,
        blocks: impl Iterator<Item = u32>,
    ) -> Result<Vec<Range<u64>>, ArchiveError> {
        let directory = self.directory.kept(file, "block directory")?;
        let range = |block| {
            let (start, len) = directory::find(directory, block)?;
            let end = (start as u64).checked_add(len as u64).filter(|end| *end <= self.blocks.len);
            let end = end.ok_or(ArchiveError::corrupt_at("block directory", block.into()))?;
            Ok(self.blocks.offset + start as u64..self.blocks.offset + end)
        };
        blocks.map(range).collect()
    }

    /// Ranges that blocks need before the directory is known: model, start of operations, directory, and
    /// the places where the blocks are if all blocks are about equally long.
    fn likely_ranges(&self, blocks: &BTreeSet<u32>) -> Vec<Range<u64>> {
        let sections = [self.model, self.operation_start, self.directory];
        let mut ranges: Vec<Range<u64>> = sections.iter().map(Section::range).collect();
        let mean = self.blocks.len / u64::from(self.blocks());
        let slack = (self.blocks.len / SLACK_PARTS).min(MAX_SLACK);
        ranges.extend(blocks.iter().map(|block| {
            let start = u64::from(*block) * mean;
            let end = (start + mean + slack).min(self.blocks.len);
            self.blocks.offset + start.saturating_sub(slack)..self.blocks.offset + end
        }));
        ranges
    }
}

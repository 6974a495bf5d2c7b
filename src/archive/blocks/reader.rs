//! Reading of an archive of level default, by number and in order.

use std::ops::Range;

use rayon::prelude::*;

use super::block::Block;
use super::cache::{LastWindow, RecentBlocks, SegmentCache, Shared};
use super::coder::{CoderBytes, SegmentCoder};
use super::index::BlockIndex;
use super::order::Places;
use super::{BlockSegment, directory};
use crate::columns::{COLUMNS, NAMES, Row};
use crate::damage::Damage;
use crate::error::ArchiveError;
use crate::file::place_of;
use crate::file::ranges::ArchiveBytes;
use crate::file::sections::Section;
use epdb_base::threads;
use epdb_chess::codec::query::{Select, Selected};
use epdb_chess::model::EpdRecord;

/// Number of blocks that one thread decodes together.
pub(super) const SIDE_BY_SIDE: usize = 32;
/// Maximum number of further blocks that are tried if the first block of a segment is damaged.
const SAMPLED_BLOCKS: usize = 16;

/// The records of an archive of level default.
pub(crate) struct BlockReader {
    bytes: ArchiveBytes,
    segments: Vec<BlockSegment>,
    index: Option<Section>,
    /// Identity that the checksums of the index cover.
    identity: u32,
    coders: SegmentCache<SegmentCoder>,
    /// For segments with sorted rows: the place of each record, by its number.
    places: SegmentCache<Places>,
    last_window: LastWindow,
    recent_blocks: RecentBlocks,
    /// Approximate memory for reading, in bytes.
    memory_bytes: usize,
    /// Number of blocks that were decoded.
    #[cfg(test)]
    pub decoded: std::sync::atomic::AtomicUsize,
}

impl BlockReader {
    pub(crate) fn new(
        bytes: ArchiveBytes,
        segments: Vec<BlockSegment>,
        index: Option<Section>,
        identity: u32,
        memory_bytes: usize,
    ) -> BlockReader {
        BlockReader {
            bytes,
            segments,
            index,
            identity,
            coders: coder_cache(memory_bytes),
            places: places_cache(memory_bytes),
            last_window: LastWindow::default(),
            recent_blocks: RecentBlocks::default(),
            memory_bytes,
            #[cfg(test)]
            decoded: std::sync::atomic::AtomicUsize::new(0),
        }
    }

    /// Sets another memory limit, in bytes.
    pub(crate) fn with_memory(self, memory_bytes: usize) -> BlockReader {
        BlockReader {
            coders: coder_cache(memory_bytes),
            places: places_cache(memory_bytes),
            memory_bytes,
            ..self
        }
    }

    pub(crate) fn has_index(&self) -> bool {
        self.index.is_some() || self.segments.iter().all(BlockSegment::is_sorted)
    }

    pub(super) const fn bytes(&self) -> &ArchiveBytes {
        &self.bytes
    }

    pub(super) const fn places(&self) -> &SegmentCache<Places> {
        &self.places
    }

    pub(super) const fn last_window(&self) -> &LastWindow {
        &self.last_window
    }

    /// Returns the cache of the blocks that were searched last. `None` if the cache has no room for
    /// `blocks` blocks, or if memory cannot hold a full cache of blocks of this segment.
    pub(super) fn recent_blocks(&self, place: usize, blocks: usize) -> Option<&RecentBlocks> {
        let has_room =
            blocks <= RecentBlocks::MAX && RecentBlocks::MAX <= self.blocks_in_memory(place);
        has_room.then_some(&self.recent_blocks)
    }

    pub(super) fn segments(&self) -> &[BlockSegment] {
        &self.segments
    }

    pub(super) const fn memory_bytes(&self) -> usize {
        self.memory_bytes
    }

    /// Index of the segment that has a record.
    fn segment_of(&self, number: u64) -> Result<usize, ArchiveError> {
        place_of(&self.segments, |segment| &segment.span, number)
    }

    pub(super) fn coder(&self, place: usize) -> Result<Shared<SegmentCoder>, ArchiveError> {
        if let Some(made) = self.coders.made(place) {
            return made;
        }
        let segment = &self.segments[place];
        let bytes = CoderBytes::read(segment, &self.bytes)?;
        self.coders.get(place, || SegmentCoder::read(segment, &bytes, self.memory_bytes / 2))
    }

    /// True if the coder of a segment was made.
    pub(super) fn has_coder(&self, place: usize) -> bool {
        self.coders.made(place).is_some()
    }

    pub(super) fn blocks(
        &self,
        place: usize,
        blocks: impl Iterator<Item = u32>,
    ) -> Result<Vec<Block>, ArchiveError> {
        let segment = &self.segments[place];
        let coder = self.coder(place)?;
        let encoded = segment.encoded(&self.bytes, blocks)?;
        #[cfg(test)]
        self.decoded.fetch_add(encoded.len(), std::sync::atomic::Ordering::Relaxed);
        let decoded = coder.get()?.decode(segment, &encoded, self.memory_bytes / 4);
        // Bytes that were checked may have become zeros before they were decoded.
        self.bytes.intact::<_, ArchiveError>(Ok(()))?;
        let blocks = decoded.into_iter().zip(&encoded);
        let or_error = |(block, encoded): (Option<Block>, &super::EncodedBlock)| {
            block.ok_or(ArchiveError::corrupt_at("block of record", encoded.first))
        };
        blocks.map(or_error).collect()
    }

    /// Decodes blocks of a segment and maps them by `make`. If they are many, all threads do so.
    /// `number` is the number of the block of an item.
    pub(super) fn map_blocks<I: Sync, T: Send>(
        &self,
        place: usize,
        items: &[I],
        number: impl Fn(&I) -> u32 + Sync,
        make: impl Fn(&I, Block) -> T + Sync,
    ) -> Result<Vec<T>, ArchiveError> {
        let make_part = |part: &[I]| {
            let blocks = self.blocks(place, part.iter().map(&number))?;
            Ok(part.iter().zip(blocks).map(|(item, block)| make(item, block)).collect())
        };
        if items.len() <= SIDE_BY_SIDE {
            return make_part(items);
        }
        self.bytes.prefetch(|| {
            self.coder(place)?;
            self.segments[place].ranges(&self.bytes, items.iter().map(&number))
        })?;
        let parts = items.par_chunks(SIDE_BY_SIDE).with_min_len(threads::at_least(1));
        let parts = parts.map(make_part);
        Ok(parts.collect::<Result<Vec<Vec<T>>, _>>()?.into_iter().flatten().collect())
    }

    /// Number of rows that fit into memory; at least one.
    pub(super) fn rows_in_memory(&self) -> u64 {
        (self.memory_bytes / 4 / size_of::<Row>()).max(1) as u64
    }

    /// Number of decoded blocks of a segment that fit into memory; at least one.
    pub(super) fn blocks_in_memory(&self, place: usize) -> usize {
        let records = self.segments[place].block_records as usize;
        (self.memory_bytes / 4 / records.saturating_mul(2 * size_of::<Row>()).max(1)).max(1)
    }

    pub(super) fn block(&self, place: usize, block: u32) -> Result<Block, ArchiveError> {
        let mut blocks = self.blocks(place, block..block + 1)?;
        blocks.pop().ok_or(ArchiveError::corrupt("block directory"))
    }

    /// Decodes the block that has a record. Returns it, and the place of the record in it.
    fn block_with(&self, number: u64) -> Result<(Block, usize), ArchiveError> {
        let segment = self.segment_of(number)?;
        let place = self.place_of(segment, number)?;
        let block = self.block(segment, self.segments[segment].block_of(place))?;
        let nth = (place - block.first()) as usize;
        Ok((block, nth))
    }

    pub(crate) fn record(&self, number: u64) -> Result<EpdRecord, ArchiveError> {
        let (block, place) = self.block_with(number)?;
        block.record(place)
    }

    /// Appends the canonical text of a record, without line end.
    pub(super) fn write_text(&self, number: u64, out: &mut Vec<u8>) -> Result<(), ArchiveError> {
        let (block, place) = self.block_with(number)?;
        block.write_record(place, || block.record(place), out)
    }

    /// Reads records, beginning with the first of a range. Returns at least one. The result ends
    /// with a block or window, because its records are decoded together. So it may also have records
    /// after the end of the range.
    pub(crate) fn records(&self, range: Range<u64>) -> Result<Vec<EpdRecord>, ArchiveError> {
        let place = self.segment_of(range.start)?;
        let segment = &self.segments[place];
        if segment.is_ordered() {
            return self.ordered_records(place, range);
        }
        let numbers = self.blocks_of(place, &range);
        let first = numbers.start..numbers.start + 1;
        // If one of the blocks is damaged, those before it are read one by one.
        let blocks = self.blocks(place, numbers).or_else(|_| self.blocks(place, first))?;
        let mut records = Vec::new();
        let mut next = range.start;
        for block in blocks {
            match block.records_from((next - block.first()) as usize) {
                Ok(read) => records.extend(read),
                Err(error) if records.is_empty() => return Err(error),
                Err(_) => break,
            }
            next = block.first() + segment.block_len(block.first());
        }
        if records.is_empty() {
            Err(ArchiveError::corrupt_at("block of record", range.start))
        } else {
            Ok(records)
        }
    }

    /// Adds the selected records of the first part of a range: of the records that are decoded together, at least
    /// one. Returns the number of the first record that was not looked at.
    pub(crate) fn select(
        &self,
        range: Range<u64>,
        select: &dyn Select,
        selected: &mut Selected,
    ) -> Result<u64, ArchiveError> {
        let place = self.segment_of(range.start)?;
        let segment = &self.segments[place];
        if segment.is_ordered() {
            return self.select_ordered(place, range, select, selected);
        }
        let mut next = range.start;
        for block in self.blocks(place, self.blocks_of(place, &range))? {
            let stop = range.end.min(block.first() + segment.block_len(block.first()));
            block.select(next..stop, select, selected)?;
            next = stop;
        }
        Ok(next)
    }

    /// True if all records are stored in the order of their numbers.
    pub(crate) fn is_in_order(&self) -> bool {
        !self.segments.iter().any(BlockSegment::is_ordered)
    }

    /// The number after the records that are decoded together from record `start` on, if they are stored in
    /// the order of their numbers.
    pub(crate) fn piece_end(&self, start: u64) -> Result<u64, ArchiveError> {
        let place = self.segment_of(start)?;
        let segment = &self.segments[place];
        let after = segment.block_of(start).saturating_add(self.blocks_together(place));
        Ok(segment.first_of(after).min(segment.span.end()))
    }

    /// Number of blocks of a segment that are decoded together.
    pub(super) fn blocks_together(&self, place: usize) -> u32 {
        self.blocks_in_memory(place).min(SIDE_BY_SIDE) as u32
    }

    /// The blocks of a segment that are decoded together for a range of records, which begins in it.
    fn blocks_of(&self, place: usize, range: &Range<u64>) -> Range<u32> {
        let segment = &self.segments[place];
        let first = segment.block_of(range.start);
        let last = segment.block_of((range.end - 1).min(segment.span.end() - 1));
        first..(last + 1).min(first.saturating_add(self.blocks_together(place)))
    }

    /// Appends the canonical text of records, each on a line, beginning with the first record of a
    /// range. Appends at least one record. Returns the number after the last record that was
    /// appended.
    pub(crate) fn write_texts(
        &self,
        range: Range<u64>,
        out: &mut Vec<u8>,
    ) -> Result<u64, ArchiveError> {
        let place = self.segment_of(range.start)?;
        let segment = &self.segments[place];
        if segment.is_ordered() {
            return self.write_ordered_text(place, range, out);
        }
        let mut next = range.start;
        for block in self.blocks(place, self.blocks_of(place, &range))? {
            let stop = range.end.min(block.first() + segment.block_len(block.first()));
            let places = (next - block.first()) as usize..(stop - block.first()) as usize;
            block.write_text(places, out)?;
            next = stop;
        }
        Ok(next)
    }

    /// Opens the index, if there is one.
    pub(super) fn index(&self) -> Result<Option<BlockIndex<'_>>, ArchiveError> {
        let Some(section) = self.index else { return Ok(None) };
        BlockIndex::new(&self.bytes, section, self.identity).map(Some)
    }

    /// Returns the size in bytes of each column of the positions, and of the operations. Empty if nothing is
    /// coded by columns. Reads all blocks.
    pub(crate) fn column_bytes(&self) -> Result<Vec<(&'static str, f64)>, ArchiveError> {
        let mut bits = [0.0; COLUMNS];
        let mut operations = 0;
        let mut any = false;
        for (place, segment) in self.segments.iter().enumerate() {
            let coder = self.coder(place)?;
            let Some(encoder) = coder.get()?.encoder() else { continue };
            any = true;
            for number in 0..segment.blocks() {
                let block = self.block(place, number)?;
                if segment.is_flipped {
                    let rows: Vec<Row> = block.rows().iter().map(Row::flipped).collect();
                    encoder.add_bits(&rows, &mut bits);
                } else {
                    encoder.add_bits(block.rows(), &mut bits)
                }
                operations += block.operation_bytes();
            }
        }
        if !any {
            return Ok(Vec::new());
        }
        let columns = NAMES.into_iter().zip(bits.map(|bits| bits / 8.0));
        Ok(columns.chain([("operations", operations as f64)]).collect())
    }

    /// Checks that each segment belongs to the tables and the index of the file. The first block of a
    /// segment proves it, because its checksum covers the identity of the segment. If `is_strict`, a
    /// damaged first block is an error, even if the rest proves it.
    pub(crate) fn verify_segments(&self, is_strict: bool) -> Result<(), ArchiveError> {
        for place in 0..self.segments.len() {
            let first = self.block(place, 0).and_then(|block| block.record(0));
            if let Err(error) = first
                && (is_strict || !error.is_damage() || !self.has_own_bytes(place)?)
            {
                return Err(error);
            }
        }
        Ok(())
    }

    /// True if a segment whose first block cannot be read belongs to this file all the same. Then
    /// only the lookups that need the damaged part fail. The checksum of all blocks proves it if the
    /// model is damaged; another block, or the model, proves it if the first block is damaged.
    fn has_own_bytes(&self, place: usize) -> Result<bool, ArchiveError> {
        let segment = &self.segments[place];
        let holds = |section: Section, name| Damage::or_none(section.verify(&self.bytes, name));
        if holds(segment.blocks, "blocks")?.is_some() {
            return Ok(true);
        }
        if segment.model.len > 0 && holds(segment.model, "model")?.is_some() {
            return Ok(true);
        }
        let step = (segment.blocks() as usize).div_ceil(SAMPLED_BLOCKS).max(1);
        for number in (1..segment.blocks()).step_by(step) {
            if Damage::or_none(self.block(place, number))?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Checks in each segment that the blocks follow each other and fill their section.
    pub(crate) fn verify_directories(&self) -> Result<(), ArchiveError> {
        self.segments.iter().try_for_each(|segment| {
            let directory = segment.directory.kept(&self.bytes, "block directory")?;
            directory::check(directory, segment.blocks(), segment.blocks.len as usize)
        })
    }
}

fn coder_cache(memory_bytes: usize) -> SegmentCache<SegmentCoder> {
    SegmentCache::new("model", SegmentCoder::cost, memory_bytes / 2)
}

fn places_cache(memory_bytes: usize) -> SegmentCache<Places> {
    SegmentCache::new("order of records", Places::cost, memory_bytes / 4)
}

//! Verification of the records and the index of an archive of level default.

use std::ops::ControlFlow;

use super::BlockSegment;
use super::block::Block;
use super::index::BlockIndex;
use super::part_entries::{PartEntries, RecordKeys};
use super::reader::BlockReader;
use super::separators::{BoardKey, board_key};
use crate::columns::Row;
use crate::error::ArchiveError;
use crate::index_entries::IndexEntries;
use epdb_base::threads::make_in_order;
use epdb_chess::codec::key::position_key;

impl BlockReader {
    /// Reads all records. An index must have the entries of these records and no others.
    pub(crate) fn verify(&self) -> Result<(), ArchiveError> {
        self.verify_sorted()?;
        let Some(index) = self.index()? else {
            let read = |_: &BlockSegment, blocks: Vec<Block>| {
                blocks.iter().try_for_each(|block| block.records_from(0).map(drop))
            };
            return self.each_blocks(read, Ok);
        };
        let mut expected = PartEntries::new(self.memory_bytes() / 8);
        let entries_of = |segment: &BlockSegment, blocks: Vec<Block>| {
            let mut entries = Vec::new();
            for block in blocks {
                let place = block.first() - segment.span.first;
                for (number, record) in (place..).zip(block.records_from(0)?) {
                    let position = record.position();
                    let index_block = number / u64::from(segment.index_records);
                    let index_block = segment.first_index_block + index_block;
                    let row = Row::from_position(position);
                    entries.push((RecordKeys::new(position_key(position), &row), index_block));
                }
            }
            Ok(entries)
        };
        self.each_blocks(entries_of, |entries| {
            for (keys, block) in entries {
                if !self.is_separated(block) {
                    expected.push(keys, block as u32)?;
                }
            }
            Ok(())
        })?;
        let expected = expected.finish(|key| index.high_bits(key))?;
        if digest(self.entries(&index)?)? == digest(expected)? {
            Ok(())
        } else {
            Err(ArchiveError::corrupt("position index"))
        }
    }

    /// Makes a value of some blocks at a time on the threads of the pool, and passes the values to `take` in
    /// the order of the blocks.
    fn each_blocks<T: Send>(
        &self,
        make: impl Fn(&BlockSegment, Vec<Block>) -> Result<T, ArchiveError> + Sync,
        mut take: impl FnMut(T) -> Result<(), ArchiveError>,
    ) -> Result<(), ArchiveError> {
        let pieces = (0..self.segments().len()).flat_map(|place| {
            let blocks = self.segments()[place].blocks();
            let together = self.blocks_together(place);
            let starts = (0..blocks).step_by(together as usize);
            starts.map(move |start| (place, start..blocks.min(start.saturating_add(together))))
        });
        let make = |(place, blocks)| make(&self.segments()[place], self.blocks(place, blocks)?);
        make_in_order(pieces, make, |made| {
            take(made?)?;
            Ok(ControlFlow::Continue(()))
        })
        .map(drop)
    }

    /// True if an index block is in a segment that has separators instead of an index.
    fn is_separated(&self, block: u64) -> bool {
        let after = self.segments().partition_point(|segment| segment.first_index_block <= block);
        after.checked_sub(1).is_some_and(|place| self.segments()[place].is_sorted())
    }

    /// Checks that the records match the separators and the stored orders.
    fn verify_sorted(&self) -> Result<(), ArchiveError> {
        for (place, segment) in self.segments().iter().enumerate() {
            if segment.is_sorted() {
                self.verify_separators(place, segment)?;
            }
            if segment.is_ordered() {
                self.place_of(place, segment.span.first)?;
            }
        }
        Ok(())
    }

    /// Checks that the rows of a segment ascend, and that rows with equal boards ascend by their
    /// numbers. Checks that each separator is between the index blocks that it separates.
    fn verify_separators(&self, place: usize, segment: &BlockSegment) -> Result<(), ArchiveError> {
        let corrupt = || ArchiveError::corrupt_at("separators", place as u64);
        let (separators, end) = segment.separators(self.bytes())?.all()?;
        let mut separators = separators.into_iter();
        let mut last = (BoardKey::default(), 0);
        let mut nth = 0;
        for block in 0..segment.blocks() {
            let block = self.block(place, block)?;
            let len = segment.block_len(block.first());
            let numbers = self.numbers(segment, block.first()..block.first() + len)?;
            for (row, number) in block.rows_in(0..len as usize)?.iter().zip(numbers) {
                let next = (board_key(row), number);
                if nth % segment.index_records == 0 {
                    let separator = separators.next().ok_or_else(corrupt)?;
                    if separator < last.0 || separator > next.0 {
                        return Err(corrupt());
                    }
                }
                if nth > 0 && next <= last {
                    return Err(corrupt());
                }
                last = next;
                nth += 1;
            }
        }
        if last.0 < end { Ok(()) } else { Err(corrupt()) }
    }

    fn entries(&self, index: &BlockIndex) -> Result<IndexEntries, ArchiveError> {
        let mut entries = IndexEntries::new(self.memory_bytes() / 8);
        for bucket in 0..index.buckets() {
            index.each(bucket, |cut, block| Ok(entries.push((index.aligned(cut), block))?))?;
        }
        Ok(entries)
    }
}

/// Digest of the set of entries of an index, whatever their order and how often they occur.
fn digest(entries: IndexEntries) -> Result<blake3::Hash, ArchiveError> {
    let mut hasher = blake3::Hasher::new();
    entries.finish(|(key, block)| {
        hasher.update(&key.to_le_bytes());
        hasher.update(&block.to_le_bytes());
        Ok::<(), ArchiveError>(())
    })?;
    Ok(hasher.finalize())
}

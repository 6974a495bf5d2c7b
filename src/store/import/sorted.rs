//! The incoming records of a merge, in the order of their keys: a batch in memory, or the runs of an import.

use std::fs::File;
use std::io;
use std::ops::Range;

use super::batch::{Arena, Batch, Incoming};
use crate::error::{Fault, Result, damaged};
use epdb_base::spill::MergedRuns;
use epdb_chess::codec::key::fast_range;

/// Number of blocks that the threads merge together.
pub(super) const BLOCKS_AT_ONCE: usize = 16;

/// Memory for the buffers of runs in a merge. The other half is for the records that are merged.
pub(super) const fn run_buffer_bytes(memory_bytes: usize) -> usize {
    memory_bytes / 2
}

pub(super) enum SortedRecords<'b> {
    Batch { arena: &'b Arena, rest: &'b mut [Incoming], record_bytes: u64 },
    Runs(Box<RunRecords>),
}

/// The records of runs. A part of them is in memory.
pub(super) struct RunRecords {
    merged: MergedRuns<File>,
    part: Batch,
    records: u64,
    record_bytes: u64,
}

impl RunRecords {
    /// Reads the runs in these ranges of a file, with about `memory_bytes`. `record_bytes` is about the
    /// size of all records.
    pub(super) fn new(
        file: File,
        ranges: &[Range<u64>],
        records: u64,
        record_bytes: u64,
        memory_bytes: usize,
    ) -> io::Result<RunRecords> {
        let half = run_buffer_bytes(memory_bytes);
        let merged = MergedRuns::new(file, ranges, half)?;
        Ok(RunRecords { merged, part: Batch::new(half), records, record_bytes })
    }

    fn next_key(&self) -> Option<u64> {
        let (key, _) = self.merged.current()?;
        Some(key.first_chunk().map_or(0, |key| u64::from_be_bytes(*key)))
    }

    /// Reads the records of blocks below `end`, or as many of them as fit into memory.
    fn read_part(&mut self, end: u64, blocks: u64) -> Result<()> {
        self.part.clear();
        while let Some(key) = self.next_key() {
            if fast_range(key, blocks).0 >= end || self.part.is_full() {
                break;
            }
            let payload =
                self.merged.current().and_then(|(_, payload)| payload.split_first_chunk());
            let Some((nth, record)) = payload else {
                return Err(damaged_run("a record has no import number"));
            };
            self.part
                .push_numbered(key, u32::from_le_bytes(*nth), record)
                .map_err(|error| damaged_run(&error.to_string()))?;
            self.merged.advance().map_err(|error| damaged_run(&error.to_string()))?;
        }
        self.part.sort_boards();
        Ok(())
    }
}

fn damaged_run(what: &str) -> Fault {
    damaged("the runs of an import", what)
}

impl<'b> SortedRecords<'b> {
    pub(super) fn from_batch(batch: &'b mut Batch) -> SortedRecords<'b> {
        batch.sort();
        let record_bytes = batch.record_bytes() as u64;
        SortedRecords::Batch { arena: &batch.arena, rest: &mut batch.index, record_bytes }
    }

    pub(super) fn len(&self) -> u64 {
        match self {
            SortedRecords::Batch { rest, .. } => rest.len() as u64,
            SortedRecords::Runs(runs) => runs.records,
        }
    }

    pub(super) fn record_bytes(&self) -> u64 {
        match self {
            SortedRecords::Batch { record_bytes, .. } => *record_bytes,
            SortedRecords::Runs(runs) => runs.record_bytes,
        }
    }

    /// Number of records that probably come after these, as a multiple of their number, if the records of
    /// the import come by ascending keys. The keys are spread evenly, so a batch shows how many have larger
    /// keys. For records in any other order, and for few keys, the number is about 0. Runs have all records
    /// of an import so far, so it is 0 for them.
    // Without this estimate, the merge of each batch rewrites all blocks, because their number must grow. A
    // library of 12 million positions then takes twice the time.
    pub(super) fn records_ahead(&self) -> f64 {
        const MIN_KEYS: usize = 1 << 10;
        const MAX_AHEAD: f64 = (1 << 10) as f64;
        let SortedRecords::Batch { rest, .. } = self else { return 0.0 };
        let keys = rest.chunk_by(|a, b| a.key == b.key).take(MIN_KEYS).count();
        match (rest.first(), rest.last()) {
            (Some(first), Some(last)) if keys == MIN_KEYS => {
                ((u64::MAX - last.key) as f64 / (last.key - first.key) as f64).min(MAX_AHEAD)
            }
            _ => 0.0,
        }
    }

    pub(super) fn next_block(&self, blocks: u64) -> Option<u64> {
        let key = match self {
            SortedRecords::Batch { rest, .. } => rest.first()?.key,
            SortedRecords::Runs(runs) => runs.next_key()?,
        };
        Some(fast_range(key, blocks).0)
    }

    /// The end of the next blocks that the threads merge together.
    pub(super) fn end_of_step(&self, blocks: u64) -> Option<u64> {
        let next = self.next_block(blocks)?;
        let SortedRecords::Batch { rest, .. } = self else {
            return Some(blocks.min(next + BLOCKS_AT_ONCE as u64));
        };
        let mut rest = &**rest;
        let mut end = next;
        for _ in 0..BLOCKS_AT_ONCE {
            let Some(first) = rest.first() else { break };
            end = fast_range(first.key, blocks).0 + 1;
            rest = &rest[records_below(rest, end, blocks)..];
        }
        Some(end)
    }

    /// Takes the records of the blocks below `end`, or as many of them as fit into memory.
    pub(super) fn take(&mut self, end: u64, blocks: u64) -> Result<(&Arena, &mut [Incoming])> {
        match self {
            SortedRecords::Batch { arena, rest, .. } => {
                let all = std::mem::take(rest);
                let (taken, others) = all.split_at_mut(records_below(all, end, blocks));
                *rest = others;
                Ok((arena, taken))
            }
            SortedRecords::Runs(runs) => {
                runs.read_part(end, blocks)?;
                Ok((&runs.part.arena, &mut runs.part.index))
            }
        }
    }
}

/// Number of the records that belong to blocks below `end`.
pub(super) fn records_below(incoming: &[Incoming], end: u64, blocks: u64) -> usize {
    incoming.partition_point(|record| fast_range(record.key, blocks).0 < end)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use epdb_chess::model::{EpdRecord, Position};

    fn ahead(keys: &mut dyn Iterator<Item = u64>) -> f64 {
        let mut batch = Batch::new(1 << 20);
        keys.for_each(|key| batch.push(key, &EpdRecord::new(Position::START)).unwrap());
        SortedRecords::from_batch(&mut batch).records_ahead()
    }

    #[test]
    fn records_with_ascending_keys_show_how_many_follow() {
        let step = u64::MAX / 10_000;
        let eighth = ahead(&mut (0..1250).map(|n| n * step));
        assert!((6.9..7.1).contains(&eighth), "{eighth}");
        let third_quarter = ahead(&mut (5000..7500).map(|n| n * step));
        assert!((0.99..1.01).contains(&third_quarter), "{third_quarter}");
        let in_any_order = ahead(&mut (0..5000).map(|n| (n * 7919 % 10_000) * step));
        assert!(in_any_order < 0.001, "{in_any_order}");
    }

    #[test]
    fn few_or_equal_keys_show_nothing() {
        for keys in [0, 1, 2, 1000] {
            assert_eq!(ahead(&mut (0..keys).flat_map(|key| [key, key])), 0.0);
        }
        assert_eq!(ahead(&mut std::iter::repeat_n(7, 5000)), 0.0);
        // Keys that are close to each other show more than any library has.
        assert_eq!(ahead(&mut (0..5000)), 1024.0);
    }
}

//! Sorting of the entries of position indexes. Also a map of boards, for lookups without an index.

use std::collections::HashMap;
use std::io;
use std::ops::ControlFlow;

use epdb_base::new_file::temp_dir;
use epdb_base::spill::Sorter;
use epdb_chess::codec::packed::PackedBoard;
use epdb_chess::codec::query::{Query, SkipTo};

/// A position key, and the number of the record or index block that has it.
pub(super) type Entry = (u64, u32);

/// Sorter of entries that uses bounded memory.
#[derive(Debug)]
pub(super) struct IndexEntries(Sorter);

impl IndexEntries {
    pub(super) fn new(memory_bytes: usize) -> IndexEntries {
        IndexEntries(Sorter::new(temp_dir(), memory_bytes))
    }

    pub(super) fn push(&mut self, (key, place): Entry) -> io::Result<()> {
        self.0.push(&(u128::from(key) << 32 | u128::from(place)).to_be_bytes()[4..], &[])
    }

    pub(super) fn len(&self) -> u64 {
        self.0.len()
    }

    /// Calls `visit` with all entries in ascending order. Equal entries are visited once.
    pub(super) fn finish<E: From<io::Error>>(
        self,
        mut visit: impl FnMut(Entry) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut sorted = self.0.finish()?;
        let mut last = None;
        while let Some((bytes, _)) = sorted.next_entry()? {
            let bits = bytes.iter().fold(0, |bits, &byte| bits << 8 | u128::from(byte));
            if last == Some(bits) {
                continue;
            }
            last = Some(bits);
            visit(((bits >> 32) as u64, bits as u32))?;
        }
        Ok(())
    }
}

/// For each board: the indices of the queries for this board.
pub(super) struct BoardMap(HashMap<PackedBoard, Vec<usize>>);

impl BoardMap {
    pub(super) fn new(queries: impl Iterator<Item = Query>) -> BoardMap {
        let mut places: HashMap<PackedBoard, Vec<usize>> = HashMap::new();
        for (place, query) in queries.enumerate() {
            places.entry(*query.board()).or_default().push(place);
        }
        BoardMap(places)
    }

    /// True if no query needs more records.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Calls `visit` with the index of each query for this board. False if a visit ended this.
    pub(super) fn visit<E>(
        &mut self,
        board: &PackedBoard,
        mut visit: impl FnMut(usize) -> Result<ControlFlow<SkipTo>, E>,
    ) -> Result<bool, E> {
        let Some(places) = self.0.get_mut(board) else { return Ok(true) };
        let mut kept = Vec::with_capacity(places.len());
        for &place in &*places {
            match visit(place)? {
                ControlFlow::Continue(()) => kept.push(place),
                ControlFlow::Break(SkipTo::NextQuery) => {}
                ControlFlow::Break(SkipTo::End) => return Ok(false),
            }
        }
        if kept.is_empty() {
            self.0.remove(board);
        } else {
            *places = kept;
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn entries_come_sorted_and_equal_ones_once_in_any_memory() {
        let entries: Vec<Entry> = (0..5000u32)
            .map(|i| (u64::from(i % 1999).wrapping_mul(0x9e37_79b9_7f4a_7c15), i % 7))
            .collect();
        let mut expected = entries.clone();
        expected.sort_unstable();
        expected.dedup();
        for memory_bytes in [1 << 20, 4000] {
            let mut sorter = IndexEntries::new(memory_bytes);
            entries.iter().for_each(|&entry| sorter.push(entry).unwrap());
            assert_eq!(sorter.len(), 5000);
            let mut sorted = Vec::new();
            let visit = |entry| {
                sorted.push(entry);
                Ok::<(), io::Error>(())
            };
            sorter.finish(visit).unwrap();
            assert_eq!(sorted, expected);
        }
    }
}

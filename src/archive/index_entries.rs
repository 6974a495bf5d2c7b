//! The entries of a position index, sorted.

use std::io;

use crate::spill::Sorter;

/// A position key and the record or block that has it.
pub(super) type Entry = (u64, u32);

/// Sorter of entries, in bounded memory.
#[derive(Debug)]
pub(super) struct IndexEntries(Sorter);

impl IndexEntries {
    pub(super) fn new(memory: usize) -> IndexEntries {
        IndexEntries(Sorter::new(std::env::temp_dir(), memory))
    }

    pub(super) fn push(&mut self, (key, place): Entry) -> io::Result<()> {
        self.0.push(&(u128::from(key) << 32 | u128::from(place)).to_be_bytes()[4..], &[])
    }

    /// Number of entries.
    pub(super) fn len(&self) -> u64 {
        self.0.len()
    }

    /// Calls `visit` with all entries in order, and with equal ones once.
    pub(super) fn finish<E: From<io::Error>>(
        self,
        mut visit: impl FnMut(Entry) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut sorted = self.0.finish()?;
        let mut last = None;
        while let Some((bytes, _)) = sorted.next_entry()? {
            let bits = bytes.iter().fold(0, |bits, &byte| bits << 8 | u128::from(byte));
            if last.replace(bits) != Some(bits) {
                visit(((bits >> 32) as u64, bits as u32))?;
            }
        }
        Ok(())
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
        for memory in [1 << 20, 4000] {
            let mut sorter = IndexEntries::new(memory);
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

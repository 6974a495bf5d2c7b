//! Sorting position keys with their places in bounded memory.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};

/// A key and the record or block that has it.
pub(super) type Entry = (u64, u32);

/// Bits of a key that say in which temporary file an entry waits when memory does not suffice. A
/// process may have few files open: 256 in all on some systems.
const FILE_BITS: u32 = 5;
const FILES: usize = 1 << FILE_BITS;
const ENTRY_BYTES: usize = 12;

/// Takes entries in any order and gives them back sorted, in memory of about `limit` bytes.
pub(super) struct KeySorter {
    limit: usize,
    held: Vec<Entry>,
    files: Vec<BufWriter<File>>,
    len: u64,
}

impl KeySorter {
    pub(super) const fn new(limit: usize) -> KeySorter {
        KeySorter { limit, held: Vec::new(), files: Vec::new(), len: 0 }
    }

    pub(super) fn push(&mut self, entry: Entry) -> io::Result<()> {
        if (self.held.len() + 1) * size_of::<Entry>() > self.limit {
            self.spill()?;
        }
        self.held.push(entry);
        self.len += 1;
        Ok(())
    }

    /// How many entries were taken.
    pub(super) const fn len(&self) -> u64 {
        self.len
    }

    fn spill(&mut self) -> io::Result<()> {
        if self.files.is_empty() {
            for _ in 0..FILES {
                self.files.push(BufWriter::with_capacity(4096, tempfile::tempfile()?));
            }
        }
        for (key, place) in self.held.drain(..) {
            let mut bytes = [0; ENTRY_BYTES];
            bytes[..8].copy_from_slice(&key.to_le_bytes());
            bytes[8..].copy_from_slice(&place.to_le_bytes());
            self.files[(key >> (64 - FILE_BITS)) as usize].write_all(&bytes)?;
        }
        Ok(())
    }

    /// Calls `visit` with all entries in order, equal ones once.
    pub(super) fn finish<E: From<io::Error>>(
        mut self,
        mut visit: impl FnMut(Entry) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.files.is_empty() {
            return visit_sorted(&mut self.held, &mut visit);
        }
        self.spill()?;
        self.held = Vec::new();
        for file in self.files {
            let mut file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
            io::Seek::rewind(&mut file)?;
            let mut input = BufReader::with_capacity(1 << 16, file);
            let mut entries = Vec::new();
            let mut bytes = [0; ENTRY_BYTES];
            while input.read_exact(&mut bytes).map(|()| true).or_else(end_of_file)? {
                let [a, b, c, d, e, f, g, h, place @ ..] = bytes;
                let key = u64::from_le_bytes([a, b, c, d, e, f, g, h]);
                entries.push((key, u32::from_le_bytes(place)));
            }
            visit_sorted(&mut entries, &mut visit)?;
        }
        Ok(())
    }
}

fn end_of_file(error: io::Error) -> io::Result<bool> {
    if error.kind() == io::ErrorKind::UnexpectedEof { Ok(false) } else { Err(error) }
}

fn visit_sorted<E>(
    entries: &mut Vec<Entry>,
    visit: &mut impl FnMut(Entry) -> Result<(), E>,
) -> Result<(), E> {
    entries.sort_unstable();
    entries.dedup();
    entries.drain(..).try_for_each(visit)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::expect_used)]

    use super::*;

    #[test]
    fn spilling_gives_the_same_order() {
        let entries: Vec<Entry> = (0..5000u32)
            .map(|i| (u64::from(i % 1999).wrapping_mul(0x9e37_79b9_7f4a_7c15), i % 7))
            .collect();
        let sorted = |limit| {
            let mut sorter = KeySorter::new(limit);
            entries.iter().for_each(|&entry| sorter.push(entry).expect("pushed"));
            let mut out = Vec::new();
            sorter
                .finish(|entry| {
                    out.push(entry);
                    Ok::<(), io::Error>(())
                })
                .expect("sorted");
            out
        };
        let mut expected = entries.clone();
        expected.sort_unstable();
        expected.dedup();
        assert_eq!(sorted(1 << 20), expected);
        assert_eq!(sorted(4000), expected);
    }
}

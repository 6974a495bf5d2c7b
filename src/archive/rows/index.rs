//! The position index of level fast: a hash table from position keys to records.
// A line of the table is one cache line with 12 entries, so nearly every lookup reads one line and
// one row. In earlier measurements, B-trees with an entry for each record gave 0.7 million hits a
// second, and hash tables in mapped memory 35 million. A perfect hash function gave 38 million, but
// building it takes all keys in memory.

use std::io::Write;

use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::error::ArchiveError;
use crate::file::check;
use crate::file::sections::Section;
use crate::file::sink::Sink;
use crate::index_entries::IndexEntries;
use epdb_chess::codec::key::fast_range;
use epdb_chess::simd::{byte_eq_mask, prefetch};

/// Number of entries of a line of the table.
const ENTRIES: usize = 12;

/// A line of the table, as long as a cache line.
#[derive(Copy, Clone, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct IndexLine {
    /// For each entry the number of a record or, with the highest bit set, the place of a list of
    /// records.
    places: [U32; ENTRIES],
    /// The lowest byte of each key.
    marks: [u8; ENTRIES],
    /// The lowest four bits are the number of entries. 15 means that all places are taken, and that
    /// the next line has more entries of this line or of earlier lines. The other bits come from
    /// the CRC32C of the line. This checksum is computed with zeros in place of these bits.
    tail: U32,
}

const _: () = assert!(size_of::<IndexLine>() == 64);

/// The bit of an entry that marks the place of a list of records.
const LIST: u32 = 1 << 31;
/// Maximum number of records of an archive of level fast.
pub(crate) const MAX_RECORDS: u64 = LIST as u64;
const COUNT_MASK: u32 = 15;
const FULL_AND_MORE: u32 = 15;
/// Average number of entries of a line, in tenths.
const LOAD_TENTHS: u64 = 90;

/// Size in bytes of the data after the lines: the number of homes, and the checksum of this number.
/// Homes are the lines to which a key can be mapped. If the home of an entry is full, the entry is
/// in a later line.
const TABLE_END: usize = 12;

const INDEX: &str = "position index";

impl IndexLine {
    const EMPTY: IndexLine =
        IndexLine { places: [U32::ZERO; ENTRIES], marks: [0; ENTRIES], tail: U32::ZERO };

    #[inline(always)]
    fn check(&self, identity: u32, number: u64) -> u32 {
        let mut words: [U64; 8] = zerocopy::transmute!(*self);
        words[7] &= u64::from(COUNT_MASK) << 32 | u64::from(u32::MAX);
        check::placed_words(identity, number, words) & !COUNT_MASK
    }

    /// The number of entries, and true if the next line continues this one; `None` if the line is
    /// damaged.
    #[inline(always)]
    fn count(&self, identity: u32, number: u64) -> Option<(usize, bool)> {
        let tail = self.tail.get();
        let count = tail & COUNT_MASK;
        let more = count == FULL_AND_MORE;
        let count = if more { ENTRIES } else { count as usize };
        let holds = check::holds(self.check(identity, number), tail & !COUNT_MASK);
        (holds && count <= ENTRIES).then_some((count, more))
    }

    /// The entries with this mark, as bits of [`equal_marks`], and true if the next line continues
    /// this one; `None` if the line is damaged.
    #[inline(always)]
    fn marked(&self, identity: u32, number: u64, mark: u8) -> Option<(u32, bool)> {
        let (count, more) = self.count(identity, number)?;
        Some((equal_marks(&self.marks, mark) & ((1 << count) - 1), more))
    }
}

/// Returns a bit for each mark that equals `mark`; the bits above those of the marks are zeros.
#[inline]
fn equal_marks(marks: &[u8; ENTRIES], mark: u8) -> u32 {
    let mut all = [0; 16];
    all[..ENTRIES].copy_from_slice(marks);
    byte_eq_mask(u128::from_le_bytes(all), mark)
}

/// Writes the table of sorted keys and records, then the lists of records that share a key.
pub(crate) fn write_index<W: Write>(
    sorter: IndexEntries,
    identity: u32,
    out: &mut Sink<W>,
) -> Result<(Section, Section), ArchiveError> {
    let homes = (sorter.len() * 10).div_ceil(LOAD_TENTHS).max(1);
    let mut lists: Vec<u8> = Vec::new();
    out.align()?;
    out.begin();
    let mut table =
        IndexWriter { out, identity, homes, line: IndexLine::EMPTY, number: 0, count: 0 };
    let mut group: Option<(u64, Vec<u32>)> = None;
    let mut close = |table: &mut IndexWriter<W>, group: Option<(u64, Vec<u32>)>| {
        let Some((key, records)) = group else { return Ok(()) };
        let place = match records[..] {
            [record] => record,
            _ => {
                let place = lists.len() as u64 / 4;
                put_list(identity, place, &records, &mut lists);
                u32::try_from(place).ok().filter(|&place| place < LIST).map_or(
                    Err(ArchiveError::LimitExceeded {
                        what: "records that share a key",
                        found: place,
                        limit: LIST.into(),
                    }),
                    |place| Ok(place | LIST),
                )?
            }
        };
        table.put(key, place)
    };
    sorter.finish::<ArchiveError>(|(key, record)| {
        match &mut group {
            Some((last, records)) if *last == key => records.push(record),
            _ => close(&mut table, group.replace((key, vec![record])))?,
        }
        Ok(())
    })?;
    close(&mut table, group)?;
    table.finish()?;
    let lines = out.end();
    Ok((lines, out.section(&lists)?))
}

/// Appends a list: its length, a checksum, the records.
fn put_list(identity: u32, place: u64, records: &[u32], lists: &mut Vec<u8>) {
    let bytes: Vec<u8> = records.iter().flat_map(|record| record.to_le_bytes()).collect();
    let len = (records.len() as u32).to_le_bytes();
    lists.extend_from_slice(&len);
    lists.extend_from_slice(&list_check(identity, place, len, &bytes).to_le_bytes());
    lists.extend_from_slice(&bytes);
}

fn list_check(identity: u32, place: u64, len: [u8; 4], bytes: &[u8]) -> u32 {
    crc32c::crc32c_append(check::placed(identity, place, &len), bytes)
}

/// Writer of the table of the position index, line by line.
struct IndexWriter<'a, W> {
    out: &'a mut Sink<W>,
    identity: u32,
    homes: u64,
    line: IndexLine,
    number: u64,
    count: usize,
}

impl<W: Write> IndexWriter<'_, W> {
    fn put(&mut self, key: u64, place: u32) -> Result<(), ArchiveError> {
        let (home, _) = fast_range(key, self.homes);
        while self.number < home {
            self.next(false)?;
        }
        if self.count == ENTRIES {
            self.next(true)?;
        }
        self.line.places[self.count] = place.into();
        self.line.marks[self.count] = key as u8;
        self.count += 1;
        Ok(())
    }

    #[inline]
    fn next(&mut self, more: bool) -> Result<(), ArchiveError> {
        let count = if more { FULL_AND_MORE } else { self.count as u32 };
        self.line.tail = count.into();
        self.line.tail = (self.line.check(self.identity, self.number) | count).into();
        self.out.put(self.line.as_bytes())?;
        self.line = IndexLine::EMPTY;
        self.number += 1;
        self.count = 0;
        Ok(())
    }

    fn finish(&mut self) -> Result<(), ArchiveError> {
        while self.number < self.homes || self.count > 0 {
            self.next(false)?;
        }
        self.out.put(&self.homes.to_le_bytes())?;
        self.out.put(
            &check::placed(self.identity, self.number, &self.homes.to_le_bytes()).to_le_bytes(),
        )?;
        Ok(())
    }
}

/// Reader of the table of the position index.
#[derive(Copy, Clone)]
pub(super) struct RecordIndex<'a> {
    lines: &'a [IndexLine],
    homes: u64,
    lists: &'a [u8],
    identity: u32,
}

impl<'a> RecordIndex<'a> {
    /// Reads the number of homes (lines to which a key can be mapped) from the end of the table;
    /// `None` if the end is damaged.
    pub(super) fn homes(bytes: &[u8], identity: u32) -> Option<u64> {
        let (rest, check) = bytes.split_last_chunk::<4>()?;
        let (lines, homes) = rest.split_last_chunk::<8>()?;
        let lines = (lines.len() / size_of::<IndexLine>()) as u64;
        let found = check::placed(identity, lines, homes);
        let whole = check::holds(found, u32::from_le_bytes(*check));
        let homes = u64::from_le_bytes(*homes);
        (whole && (1..=lines).contains(&homes)).then_some(homes)
    }

    /// Makes a reader of the bytes of both sections, without reading them. `homes` comes from
    /// [`RecordIndex::homes`].
    #[inline]
    pub(super) fn new(
        bytes: &'a [u8],
        lists: &'a [u8],
        homes: u64,
        identity: u32,
    ) -> Result<RecordIndex<'a>, ArchiveError> {
        let lines = bytes.len().checked_sub(TABLE_END).and_then(|end| bytes.get(..end));
        let lines = lines.and_then(|lines| <[IndexLine]>::ref_from_bytes(lines).ok());
        let lines = lines.ok_or(ArchiveError::corrupt(INDEX))?;
        Ok(RecordIndex { lines, homes, lists, identity })
    }

    /// Number of the home line of a key, where a search for the key begins.
    #[inline]
    fn home(&self, key: u64) -> u64 {
        fast_range(key, self.homes).0
    }

    #[inline]
    fn line(&self, number: u64) -> Option<&'a IndexLine> {
        self.lines.get(usize::try_from(number).ok()?)
    }

    /// Prefetches the line of a key.
    #[inline]
    pub(super) fn prefetch_line(&self, key: u64) {
        if let Some(line) = self.line(self.home(key)) {
            prefetch(line);
        }
    }

    /// Returns the record that a key probably has. The checksum of the key's line is not checked. If
    /// the line leads to a list or to the next line instead, prefetches the list or the next line,
    /// and returns `None`.
    #[inline]
    pub(super) fn prefetch_likely(&self, key: u64) -> Option<u32> {
        let home = self.home(key);
        let line = self.line(home)?;
        let marked = equal_marks(&line.marks, key as u8);
        match line.places.get(marked.trailing_zeros() as usize).map(|place| place.get()) {
            Some(place) if place & LIST == 0 => return Some(place),
            Some(place) => {
                let start = ((place & !LIST) as usize).checked_mul(4);
                if let Some(list) = start.and_then(|start| self.lists.get(start)) {
                    prefetch(list);
                }
            }
            None if line.tail.get() & COUNT_MASK == FULL_AND_MORE => {
                if let Some(next) = self.line(home + 1) {
                    prefetch(next);
                }
            }
            None => {}
        }
        None
    }

    /// Returns the records that may have this key. Records of one key ascend.
    #[inline]
    pub(super) fn candidates(&self, key: u64) -> Candidates<'a> {
        let next_line = Some(self.home(key));
        let mark = key as u8;
        Candidates { index: *self, mark, next_line, line: None, list: [].iter() }
    }

    fn list(&self, place: u32) -> Option<&'a [U32]> {
        let bytes = self.lists.get((place as usize).checked_mul(4)?..)?;
        let (len, bytes) = bytes.split_first_chunk::<4>()?;
        let (check, bytes) = bytes.split_first_chunk::<4>()?;
        let bytes = bytes.get(..(u32::from_le_bytes(*len) as usize).checked_mul(4)?)?;
        if !check::holds(
            list_check(self.identity, place.into(), *len, bytes),
            u32::from_le_bytes(*check),
        ) {
            return None;
        }
        <[U32]>::ref_from_bytes(bytes).ok()
    }

    /// Number of entries; reads all lines and lists.
    #[inline]
    pub(super) fn count(&self) -> Result<u64, ArchiveError> {
        let mut entries = 0;
        for (number, line) in (0..).zip(self.lines) {
            let (count, _) = line
                .count(self.identity, number)
                .ok_or_else(|| ArchiveError::corrupt_at(INDEX, number))?;
            for place in &line.places[..count] {
                entries += match place.get() {
                    place if place & LIST == 0 => 1,
                    place => {
                        let list = self.list(place & !LIST).ok_or(ArchiveError::corrupt(INDEX))?;
                        list.len() as u64
                    }
                };
            }
        }
        Ok(entries)
    }
}

/// The records that may have a key, read line by line.
pub(super) struct Candidates<'a> {
    index: RecordIndex<'a>,
    mark: u8,
    /// Number of the next line to read.
    next_line: Option<u64>,
    /// The current line, and a bit for each entry that has the mark of the key and was not taken
    /// yet.
    line: Option<(&'a IndexLine, u32)>,
    /// Rest of the current list.
    list: std::slice::Iter<'a, U32>,
}

impl Candidates<'_> {
    /// The next place with the mark in the current line.
    #[inline(always)]
    fn next_place(&mut self) -> Option<u32> {
        let (line, marked) = self.line.as_mut()?;
        let place = line.places.get(marked.trailing_zeros() as usize)?;
        *marked &= *marked - 1;
        Some(place.get())
    }

    /// The next record of the current list.
    #[inline]
    pub(super) fn next_of_list(&self) -> Option<u64> {
        self.list.as_slice().first().map(|record| record.get().into())
    }

    /// Ends the search after the current entry. Call this function if the entry has the key: a key
    /// has only one entry.
    #[inline]
    pub(super) fn has_key(&mut self) {
        self.line = None;
        self.next_line = None;
    }

    /// Moves to a line.
    #[inline(always)]
    fn read_line(&mut self, number: u64) -> Result<(), ArchiveError> {
        let line = self.index.line(number);
        let marked = line.and_then(|line| {
            let (marked, more) = line.marked(self.index.identity, number, self.mark)?;
            Some((line, marked, more))
        });
        let Some((line, marked, more)) = marked else {
            return Err(ArchiveError::corrupt_at(INDEX, number));
        };
        self.line = Some((line, marked));
        self.next_line = more.then_some(number + 1);
        Ok(())
    }
}

impl Iterator for Candidates<'_> {
    type Item = Result<u32, ArchiveError>;

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(record) = self.list.next() {
                return Some(Ok(record.get()));
            }
            match self.next_place() {
                Some(place) if place & LIST == 0 => return Some(Ok(place)),
                Some(place) => match self.index.list(place & !LIST) {
                    Some(list) => self.list = list.iter(),
                    None => return Some(Err(ArchiveError::corrupt(INDEX))),
                },
                None => {
                    let number = self.next_line.take()?;
                    if let Err(error) = self.read_line(number) {
                        return Some(Err(error));
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::check::worth::{assert_every_byte_counts, assert_place_counts};

    fn sealed(count: u32, number: u64) -> IndexLine {
        let line = IndexLine { tail: count.into(), ..IndexLine::EMPTY };
        IndexLine { tail: (line.check(7, number) | count).into(), ..line }
    }

    #[test]
    fn every_change_of_one_byte_of_a_line_changes_its_check() {
        assert_eq!(sealed(7, 9).count(7, 9), Some((7, false)));
        assert_every_byte_counts(sealed(7, 9), |line| line.count(7, 9).is_some());
    }

    #[test]
    fn no_line_passes_where_the_number_differs_in_the_lowest_twenty_bits() {
        let line = sealed(0, 0);
        assert_place_counts(|identity, number| line.count(identity, number).is_some());
    }

    #[test]
    fn equal_marks_are_found() {
        let bytes = [0, 1, 0x80, 0x7f, 0x81, 0, 255, 1, 0, 254, 0, 1];
        for byte in 0..=255 {
            let found = equal_marks(&bytes, byte);
            for (nth, &own) in bytes.iter().enumerate() {
                assert_eq!(found >> nth & 1 == 1, own == byte, "{byte} at {nth}");
            }
        }
    }
}

//! The row directory of sorted rows: a hash function without collisions, so that each position key
//! leads to one row, with a mark that most other keys do not have, in so few bytes that lookups find
//! it in the cache.
//!
//! Keys are spread over lines, those of a line over buckets. Each bucket has a pilot, a byte that
//! makes the hash of its keys lead to rows that no other key leads to: "hash and displace", in
//! lines small enough that every row is taken.

use std::cmp::Reverse;
use std::io::Write;
use std::ops::Range;

use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::archive::error::ArchiveError;
use crate::archive::file::check;
use crate::archive::file::sections::Section;
use crate::archive::file::sink::Sink;
use crate::prefetch::prefetch;
use crate::spill::{Sorted, Sorter};

const BUCKETS: usize = 22;
/// Keys of a line, on average: few lines have more than the most then.
const LINE_KEYS: u64 = 42;
/// The most keys of a line that has pilots.
const MAX_KEYS: usize = 64;
/// What seeds are below.
const SEEDS: u8 = u8::MAX;
/// Instead of a seed: the rows ascend by their keys.
const ASCENDING: u8 = u8::MAX;

/// Odd numbers with their bits well mixed.
const PILOT_FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
const KEY_FACTOR: u64 = 0xd6e8_feb8_6659_fd93;

const DIRECTORY: &str = "row directory";

/// Which records there are of a key beside the first: how many, and the number of their first,
/// counted from the first of all that are further ones.
#[derive(Copy, Clone, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(in crate::archive) struct Further {
    count: U32,
    first: U32,
}

impl Further {
    /// Their numbers among all records, of which so many are first ones.
    pub(super) fn numbers(&self, firsts: u64) -> Range<u64> {
        let start = firsts + u64::from(self.first.get());
        start..start + u64::from(self.count.get())
    }
}

/// The rows of a run of keys; as long as a line of the processor's cache.
#[derive(Copy, Clone, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Line {
    /// The number of the first record.
    first: U32,
    check: U32,
    seed: u8,
    /// How many keys there are; 0 where the rows ascend.
    keys: u8,
    /// Of each bucket; where the rows ascend, the first four are the number of keys.
    pilots: [u8; BUCKETS],
    /// The lowest four bits of the key of each row, of two in a byte those of the first in the lower
    /// half.
    marks: [u8; MAX_KEYS / 2],
}

const _: () = assert!(size_of::<Line>() == 64);

/// Where a key belongs.
#[derive(Copy, Clone)]
struct Place {
    line: u64,
    bucket: usize,
}

impl Place {
    #[inline(always)]
    fn of(key: u64, lines: u64) -> Place {
        let scaled = u128::from(key) * u128::from(lines);
        Place {
            line: (scaled >> 64) as u64,
            bucket: high_product(scaled as u64, BUCKETS as u64) as usize,
        }
    }
}

#[inline(always)]
fn high_product(one: u64, other: u64) -> u64 {
    ((u128::from(one) * u128::from(other)) >> 64) as u64
}

/// Which row of so many a key has.
#[inline(always)]
fn slot(key: u64, seed: u8, pilot: u8, rows: u64) -> u64 {
    let pilot = u64::from(u16::from_be_bytes([seed, pilot]));
    let hash = (key ^ pilot.wrapping_mul(PILOT_FACTOR)).wrapping_mul(KEY_FACTOR);
    high_product(hash, rows)
}

/// What the line says of a key beside its row.
#[inline(always)]
const fn mark(key: u64) -> u8 {
    key as u8 & 15
}

impl Line {
    /// One without pilots.
    const fn ascending(first: u32, keys: u32) -> Line {
        let mut pilots = [0; BUCKETS];
        pilots.split_at_mut(4).0.copy_from_slice(&keys.to_le_bytes());
        let (first, check) = (U32::new(first), U32::ZERO);
        Line { first, check, seed: ASCENDING, keys: 0, pilots, marks: [0; MAX_KEYS / 2] }
    }

    fn sealed(mut self, identity: u32, number: u64) -> Line {
        self.check = self.check(identity, number).into();
        self
    }

    #[inline(always)]
    fn check(&self, identity: u32, number: u64) -> u32 {
        let mut words: [U64; 8] = zerocopy::transmute!(*self);
        words[0] &= u64::from(u32::MAX);
        check::placed_words(identity, number, words)
    }

    #[inline(always)]
    fn is_whole(&self, identity: u32, number: u64) -> bool {
        check::holds(self.check(identity, number), self.check.get())
            && usize::from(self.keys) <= MAX_KEYS
    }

    /// Says of a row, which it has not said yet, that it is that of a key.
    fn put_mark(&mut self, slot: usize, key: u64) {
        if let Some(marks) = self.marks.get_mut(slot / 2) {
            *marks |= mark(key) << (4 * (slot % 2));
        }
    }

    /// The number of its first record, and of the one behind the last.
    fn numbers(&self) -> Range<u64> {
        let [a, b, c, d, ..] = self.pilots;
        let keys = match self.seed {
            ASCENDING => u32::from_le_bytes([a, b, c, d]),
            _ => self.keys.into(),
        };
        let first = u64::from(self.first.get());
        first..first + u64::from(keys)
    }

    /// Where the first record of a key is, if there is one.
    #[inline(always)]
    fn first_row(&self, bucket: usize, key: u64) -> FirstRow {
        if self.seed == ASCENDING {
            return FirstRow::Among(self.numbers());
        }
        let pilot = self.pilots[bucket.min(BUCKETS - 1)];
        let slot = slot(key, self.seed, pilot, self.keys.into());
        let marks = self.marks[slot as usize / 2 % self.marks.len()];
        if mark(key) == marks >> (4 * (slot % 2)) & 15 && self.keys > 0 {
            FirstRow::At(u64::from(self.first.get()) + slot)
        } else {
            FirstRow::Nowhere
        }
    }
}

/// Where the first record of a key is, if there is one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum FirstRow {
    Nowhere,
    /// The only number that it can have.
    At(u64),
    /// The numbers of records that ascend by their keys.
    Among(Range<u64>),
}

/// The directory, read.
#[derive(Copy, Clone)]
pub(super) struct RowDirectory<'a> {
    lines: &'a [Line],
    identity: u32,
}

impl<'a> RowDirectory<'a> {
    /// How many records are the first ones of their keys: those up to the last of the last line.
    /// `None` where it is damaged.
    pub(super) fn firsts(bytes: &[u8], identity: u32) -> Option<u64> {
        let lines = <[Line]>::ref_from_bytes(bytes).ok()?;
        let last = lines.last()?;
        let number = lines.len() as u64 - 1;
        last.is_whole(identity, number).then(|| last.numbers().end)
    }

    /// Takes the bytes of the section; looks at none.
    #[inline]
    pub(super) fn new(lines: &'a [u8], identity: u32) -> Result<RowDirectory<'a>, ArchiveError> {
        let lines =
            <[Line]>::ref_from_bytes(lines).map_err(|_| ArchiveError::corrupt(DIRECTORY))?;
        Ok(RowDirectory { lines, identity })
    }

    #[inline(always)]
    fn place(&self, key: u64) -> Place {
        Place::of(key, self.lines.len() as u64)
    }

    /// Brings the line of a key near.
    #[inline(always)]
    pub(super) fn prefetch_line(&self, key: u64) {
        self.lines.get(self.place(key).line as usize).into_iter().for_each(prefetch);
    }

    /// Where the first record of a key is, as its line says, which is not checked.
    #[inline(always)]
    pub(super) fn first_row(&self, key: u64) -> FirstRow {
        let Place { line, bucket } = self.place(key);
        let line = self.lines.get(line as usize);
        line.map_or(FirstRow::Nowhere, |line| line.first_row(bucket, key))
    }

    /// Checks the line of a key.
    #[inline(always)]
    pub(super) fn check_line(&self, key: u64) -> Result<(), ArchiveError> {
        self.line(self.place(key).line).map(|_| ())
    }

    #[inline(always)]
    fn line(&self, number: u64) -> Result<&'a Line, ArchiveError> {
        match self.lines.get(number as usize) {
            Some(line) if line.is_whole(self.identity, number) => Ok(line),
            _ => Err(ArchiveError::corrupt_at(DIRECTORY, number)),
        }
    }

    /// Checks that the rows of all lines follow each other, that the keys of first records, which
    /// `first_key` gives by their numbers, belong where these are, and that lines say no more.
    pub(super) fn verify(
        &self,
        mut first_key: impl FnMut(u64) -> Result<u64, ArchiveError>,
    ) -> Result<(), ArchiveError> {
        let mut end = 0;
        for number in 0..self.lines.len() as u64 {
            let line = self.line(number)?;
            let numbers = line.numbers();
            let mut is_right = numbers.start == end;
            end = numbers.end;
            let mut expected = Line::ascending(line.first.get(), (end - numbers.start) as u32);
            if line.seed != ASCENDING {
                let Line { seed, keys, .. } = *line;
                expected = Line { seed, keys, pilots: [0; BUCKETS], ..expected };
            }
            let mut last = None;
            for row in numbers {
                let key = first_key(row)?;
                let Place { line: place, bucket } = self.place(key);
                is_right &= place == number;
                if line.seed == ASCENDING {
                    is_right &= last.replace(key).is_none_or(|last| last < key);
                } else {
                    is_right &= line.first_row(bucket, key) == FirstRow::At(row);
                    expected.pilots[bucket] = line.pilots[bucket];
                    expected.put_mark((row - u64::from(line.first.get())) as usize, key);
                }
            }
            if !is_right || expected.sealed(self.identity, number).as_bytes() != line.as_bytes() {
                return Err(ArchiveError::corrupt_at(DIRECTORY, number));
            }
        }
        Ok(())
    }
}

/// Takes a record that has its place, and which further ones there are of its key.
type PutRow<'p> = &'p mut dyn FnMut(&[u8], Option<Further>) -> Result<(), ArchiveError>;

/// The first record of a key, on its way to its row.
struct First {
    key: u64,
    /// Which row of the line it has, once the line has pilots.
    slot: u8,
    record: Vec<u8>,
    further: Option<Further>,
}

/// Puts records that come in the order of their keys into the order of rows, and makes the directory.
pub(in crate::archive) struct DirectoryBuilder {
    lines: u64,
    /// The number of the line that is being filled.
    line: u64,
    /// First records of the line that have no rows yet, and their bytes.
    waiting: Vec<First>,
    bytes: usize,
    most_bytes: usize,
    /// How many rows the lines before have, and how many the line has so far.
    rows: u32,
    put: u32,
    /// Records whose key had one before.
    further: Sorter,
    /// The lines that are complete.
    done: Sorter,
}

/// What a [`DirectoryBuilder`] gives in the end.
pub(in crate::archive) struct BuiltDirectory {
    /// Records whose rows come behind all others.
    pub(in crate::archive) further: Sorted,
    pub(in crate::archive) lines: Sorted,
}

impl DirectoryBuilder {
    /// For so many records.
    pub(in crate::archive) fn new(records: u64, memory: usize) -> DirectoryBuilder {
        let sorter = || Sorter::new(std::env::temp_dir(), memory / 4);
        DirectoryBuilder {
            lines: records.div_ceil(LINE_KEYS).max(1),
            line: 0,
            waiting: Vec::new(),
            bytes: 0,
            most_bytes: memory / 4,
            rows: 0,
            put: 0,
            further: sorter(),
            done: sorter(),
        }
    }

    /// Takes the next record and its key, and calls `put` with those that have their places.
    pub(in crate::archive) fn push(
        &mut self,
        key: u64,
        record: &[u8],
        put: PutRow<'_>,
    ) -> Result<(), ArchiveError> {
        if let Some(last) = self.waiting.last_mut().filter(|last| last.key == key) {
            let number = self.further.len() as u32;
            let mut further =
                last.further.unwrap_or(Further { count: U32::ZERO, first: number.into() });
            further.count += 1;
            last.further = Some(further);
            return Ok(self.further.push(&number.to_be_bytes(), record)?);
        }
        let line = Place::of(key, self.lines).line;
        while self.line < line {
            self.end_line(put)?;
        }
        if self.waiting.len() == MAX_KEYS || self.bytes > self.most_bytes {
            self.put_ascending(put)?;
        }
        self.bytes += record.len();
        self.waiting.push(First { key, slot: 0, record: record.to_vec(), further: None });
        Ok(())
    }

    /// Ends the input.
    pub(in crate::archive) fn finish(
        mut self,
        put: PutRow<'_>,
    ) -> Result<BuiltDirectory, ArchiveError> {
        while self.line < self.lines {
            self.end_line(put)?;
        }
        Ok(BuiltDirectory { further: self.further.finish()?, lines: self.done.finish()? })
    }

    /// Gives the records that wait their rows in the order in which they came.
    fn put_ascending(&mut self, put: PutRow<'_>) -> Result<(), ArchiveError> {
        self.put += self.waiting.len() as u32;
        self.bytes = 0;
        self.waiting.drain(..).try_for_each(|first| put(&first.record, first.further))
    }

    fn end_line(&mut self, put: PutRow<'_>) -> Result<(), ArchiveError> {
        let keys: Vec<u64> = self.waiting.iter().map(|first| first.key).collect();
        let pilots = if self.put == 0 { Pilots::find(&keys, self.lines) } else { None };
        let count = self.put + keys.len() as u32;
        let mut line = Line::ascending(self.rows, count);
        if let Some(Pilots { seed, pilots, slots }) = pilots {
            line = Line { seed, keys: keys.len() as u8, pilots, ..line };
            for (first, slot) in self.waiting.iter_mut().zip(slots) {
                first.slot = slot;
                line.put_mark(slot.into(), first.key);
            }
            self.waiting.sort_unstable_by_key(|first| first.slot);
        }
        self.put_ascending(put)?;
        self.done.push(&self.line.to_be_bytes(), line.as_bytes())?;
        self.rows += std::mem::take(&mut self.put);
        self.line += 1;
        Ok(())
    }
}

/// What gives each key of a line a row of its own.
struct Pilots {
    seed: u8,
    pilots: [u8; BUCKETS],
    /// The row of each key.
    slots: Vec<u8>,
}

impl Pilots {
    /// For [`MAX_KEYS`] at most. Tries seeds and pilots from 0 on, the largest buckets first; `None`
    /// where none do.
    fn find(keys: &[u64], lines: u64) -> Option<Pilots> {
        let mut buckets = [const { Vec::new() }; BUCKETS];
        for (nth, &key) in keys.iter().enumerate() {
            buckets[Place::of(key, lines).bucket].push((nth, key));
        }
        let mut order: Vec<usize> = (0..BUCKETS).collect();
        order.sort_by_key(|&bucket| Reverse(buckets[bucket].len()));
        (0..SEEDS).find_map(|seed| {
            let mut found = Pilots { seed, pilots: [0; BUCKETS], slots: vec![0; keys.len()] };
            let mut taken = 0;
            order
                .iter()
                .all(|&bucket| found.settle(bucket, &buckets[bucket], &mut taken))
                .then_some(found)
        })
    }

    /// Finds a pilot with which the keys of a bucket have rows that are not taken.
    fn settle(&mut self, bucket: usize, keys: &[(usize, u64)], taken: &mut u64) -> bool {
        let rows = self.slots.len() as u64;
        let seed = self.seed;
        let place_all = |pilot: u8| {
            keys.iter().try_fold(*taken, |taken: u64, &(_, key)| {
                let bit = 1 << slot(key, seed, pilot, rows);
                (taken & bit == 0).then_some(taken | bit)
            })
        };
        let Some((pilot, all)) = (0..=u8::MAX).find_map(|pilot| Some((pilot, place_all(pilot)?)))
        else {
            return false;
        };
        *taken = all;
        self.pilots[bucket] = pilot;
        for &(nth, key) in keys {
            self.slots[nth] = slot(key, seed, pilot, rows) as u8;
        }
        true
    }
}

/// Writes the directory.
pub(in crate::archive) fn write_directory<W: Write>(
    mut lines: Sorted,
    identity: u32,
    out: &mut Sink<W>,
) -> Result<Section, ArchiveError> {
    out.align()?;
    out.begin();
    for number in 0.. {
        let Some((_, line)) = lines.next_entry()? else { break };
        let line = Line::read_from_bytes(line).map_err(|_| ArchiveError::corrupt(DIRECTORY))?;
        out.put(line.sealed(identity, number).as_bytes())?;
    }
    Ok(out.end())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;

    use super::*;
    use crate::archive::file::check::worth::{assert_every_byte_counts, assert_place_counts};

    fn line() -> Line {
        Line { seed: 3, keys: 50, pilots: [7; BUCKETS], ..Line::ascending(5, 0) }
    }

    #[test]
    fn every_change_of_one_byte_of_a_line_changes_its_check() {
        assert_every_byte_counts(line().sealed(7, 9), |line| line.is_whole(7, 9));
    }

    /// A-D3.
    #[test]
    fn no_line_passes_where_the_number_differs_in_the_lowest_twenty_bits() {
        let line = line().sealed(7, 0);
        assert_place_counts(|identity, number| line.is_whole(identity, number));
    }

    /// The order of rows and the lines that a builder makes of keys.
    fn built(keys: &[u64], memory: usize) -> (Vec<u64>, Vec<Line>) {
        let mut rows = Vec::new();
        let mut put = |record: &[u8], _: Option<Further>| {
            rows.push(u64::from_be_bytes(record.try_into().unwrap()));
            Ok(())
        };
        let mut builder = DirectoryBuilder::new(keys.len() as u64, memory);
        for key in keys {
            builder.push(*key, &key.to_be_bytes(), &mut put).unwrap();
        }
        let mut built = builder.finish(&mut put).unwrap();
        let mut lines = Vec::new();
        while let Some((_, line)) = built.lines.next_entry().unwrap() {
            let number = lines.len() as u64;
            lines.push(Line::read_from_bytes(line).unwrap().sealed(7, number));
        }
        (rows, lines)
    }

    /// How many lines have rows that ascend, after each key was seen to lead to its row.
    fn assert_leads(keys: &[u64], memory: usize) -> usize {
        let (rows, lines) = built(keys, memory);
        let firsts = RowDirectory::firsts(lines.as_bytes(), 7).unwrap();
        assert_eq!((rows.len(), firsts), (keys.len(), keys.len() as u64));
        let directory = RowDirectory::new(lines.as_bytes(), 7).unwrap();
        for (number, &key) in (0..).zip(&rows) {
            match directory.first_row(key) {
                FirstRow::At(found) => assert_eq!(found, number),
                FirstRow::Among(numbers) => {
                    assert!(numbers.contains(&number));
                    let place = |number: u64| rows[number as usize];
                    assert!(numbers.map(place).is_sorted());
                }
                FirstRow::Nowhere => panic!("{key} is there"),
            }
        }
        directory.verify(|number| Ok(rows[number as usize])).unwrap();
        lines.iter().filter(|line| line.seed == ASCENDING).count()
    }

    /// Numbers that are spread as keys are.
    fn spread(count: u64) -> Vec<u64> {
        let mut keys: Vec<u64> =
            (1..=count).map(|nth| nth.wrapping_mul(PILOT_FACTOR).rotate_left(17)).collect();
        keys.iter_mut().for_each(|key| *key = key.wrapping_mul(0xff51_afd7_ed55_8ccd));
        keys.sort_unstable();
        keys
    }

    #[test]
    fn every_key_has_a_row_of_its_own() {
        for count in [0, 1, 2, 41, 42, 43, 5000, 60_000] {
            let ascending = assert_leads(&spread(count), 1 << 20);
            assert!(ascending as u64 <= count / 5000, "{ascending} lines of {count} keys");
        }
        let empty = built(&[], 1 << 20).1;
        let directory = RowDirectory::new(empty.as_bytes(), 7).unwrap();
        assert_eq!(directory.first_row(9), FirstRow::Nowhere);
    }

    /// Whoever chooses keys can put all of them into one line, or into one bucket.
    #[test]
    fn rows_of_keys_without_pilots_ascend() {
        let near: Vec<u64> = (0..1000).collect();
        assert_eq!(assert_leads(&near, 1 << 20), 1);
        let mixed = [near, spread(3000)].concat();
        assert!((1..4).contains(&assert_leads(&mixed, 1 << 20)));
        // As many of one bucket as a line may have.
        assert_eq!(assert_leads(&(0..64).collect::<Vec<u64>>(), 1 << 20), 1);
        // Where memory does not hold a line.
        assert!(assert_leads(&spread(3000), 0) > 20);
    }

    proptest! {
        #[test]
        fn any_keys_lead_to_their_rows(
            mut keys in prop::collection::vec(any::<u64>(), 0..600),
            near in prop::collection::vec(0..u64::MAX >> 40, 0..300),
        ) {
            keys.extend(near);
            keys.sort_unstable();
            keys.dedup();
            assert_leads(&keys, 1 << 20);
        }
    }
}

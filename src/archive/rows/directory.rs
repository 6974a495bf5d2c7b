//! The row directory, which leads from keys to rows that are sorted by their keys. A line of the
//! directory covers a range of keys, divided into eight buckets. The line has the number of its
//! first row, and the number of rows in each bucket. It also has a mark for each key: the position
//! of the key within the bucket. The directory is so small that lookups often find it in the cache.
// Two other ways were tried. The table of rows in any order touches memory twice for a hit. A
// minimal perfect hash with marks of four bits took as many bytes, 64 for 40 keys. But 6 in 100
// missing keys passed it instead of 2, and its rows were not in the order of their keys. With rows
// in that order, and with the row guide, a single hit took 265 ns instead of 400.

use std::io::Write;
use std::ops::Range;

use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::hint_table::shift;
use crate::error::ArchiveError;
use crate::file::check;
use crate::file::sections::Section;
use crate::file::sink::Sink;
use epdb_base::new_file::temp_dir;
use epdb_base::spill::{Sorted, Sorter};
use epdb_chess::codec::key::fast_range;
use epdb_chess::simd::{byte_eq_mask, prefetch};

/// Average number of keys of a line (a cache line of the row directory); few lines have more than
/// [`MARKS`].
const LINE_KEYS: u64 = 40;
/// Number of equal parts of the key range of a line.
const BUCKETS: usize = 8;
/// Maximum number of rows of a line that have marks (one byte of the key).
const MARKS: usize = 48;
/// Number of marks that are compared at once; a bucket nearly always has fewer marks.
const WINDOW: usize = size_of::<u128>();
/// Value of all `ends` of a line that has at least this number of rows. Such a line has no marks.
const MANY: u8 = u8::MAX;

const DIRECTORY: &str = "row directory";

/// The further records of a key: all records of the key except the first one. `first` is the number
/// of the first further record of this key, counted from the first further record of the archive.
#[derive(Copy, Clone, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(crate) struct Further {
    count: U32,
    first: U32,
}

impl Further {
    /// The record numbers of these further records in the archive. The archive begins with `firsts`
    /// records: the first record of each key.
    pub(super) fn numbers(&self, firsts: u64) -> Range<u64> {
        let start = firsts + u64::from(self.first.get());
        start..start + u64::from(self.count.get())
    }
}

/// The rows of a range of keys, in one cache line.
#[derive(Copy, Clone, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Line {
    /// Number of the first record of the line.
    first: U32,
    check: U32,
    /// Number of rows up to the end of each bucket, or [`MANY`].
    ends: [u8; BUCKETS],
    /// Marks of the first rows, then zeros. If the line has more rows than it can count in `ends`, the
    /// first four bytes are the number of rows instead.
    marks: [u8; MARKS],
}

const _: () = assert!(size_of::<Line>() == 64);

/// Place of a key in the directory.
#[derive(Copy, Clone)]
struct Place {
    line: u64,
    bucket: usize,
    /// Position within the bucket, in units of 1/256.
    mark: u8,
}

impl Place {
    #[inline(always)]
    fn new(key: u64, lines: u64) -> Place {
        let (line, in_line) = fast_range(key, lines);
        let (bucket, in_bucket) = fast_range(in_line, BUCKETS as u64);
        Place { line, bucket: bucket as usize, mark: (in_bucket >> 56) as u8 }
    }
}

impl Line {
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
    }

    /// Number of rows.
    fn rows(&self) -> u64 {
        let [a, b, c, d, ..] = self.marks;
        match self.ends[BUCKETS - 1] {
            MANY => u32::from_le_bytes([a, b, c, d]).into(),
            rows => rows.into(),
        }
    }

    /// Numbers of the records of the line.
    fn numbers(&self) -> Range<u64> {
        let first = u64::from(self.first.get());
        first..first + self.rows()
    }

    /// Numbers of the records whose keys may belong to this bucket and have this mark.
    #[inline(always)]
    fn candidates(&self, bucket: usize, mark: u8) -> Range<u64> {
        if self.ends[BUCKETS - 1] == MANY {
            return self.numbers();
        }
        let start = bucket.checked_sub(1).map_or(0, |before| usize::from(self.ends[before]));
        let end = usize::from(self.ends[bucket % BUCKETS]).max(start);
        let window = start.min(MARKS - WINDOW);
        let marks = self.marks[window..].first_chunk().copied().unwrap_or_default();
        let marked = end.min(window + WINDOW);
        let up_to = |place: usize| (1 << (place - window)) - 1;
        let of_bucket = up_to(marked) & !up_to(start.min(marked));
        let equal = byte_eq_mask(u128::from_le_bytes(marks), mark) & of_bucket;
        let (from, to) = match equal {
            0 => (marked.max(start), marked),
            _ => (
                window + equal.trailing_zeros() as usize,
                window + (u32::BITS - equal.leading_zeros()) as usize,
            ),
        };
        // Rows of the bucket whose marks are not compared may have any mark.
        let to = if end > marked { end } else { to };
        let first = u64::from(self.first.get());
        first + from as u64..first + to as u64
    }
}

/// A line that is being built.
struct OpenLine {
    first: u32,
    rows: u32,
    /// Number of rows of each bucket.
    counts: [u32; BUCKETS],
    marks: [u8; MARKS],
}

impl OpenLine {
    const fn new(first: u32) -> OpenLine {
        OpenLine { first, rows: 0, counts: [0; BUCKETS], marks: [0; MARKS] }
    }

    fn push(&mut self, place: Place) {
        if let Some(mark) = self.marks.get_mut(self.rows as usize) {
            *mark = place.mark;
        }
        self.counts[place.bucket % BUCKETS] += 1;
        self.rows += 1;
    }

    fn line(&self) -> Line {
        let (first, check) = (self.first.into(), U32::ZERO);
        if self.rows >= MANY.into() {
            let mut marks = [0; MARKS];
            marks.split_at_mut(4).0.copy_from_slice(&self.rows.to_le_bytes());
            return Line { first, check, ends: [MANY; BUCKETS], marks };
        }
        let mut rows = 0;
        let ends = self.counts.map(|count| {
            rows += count as u8;
            rows
        });
        Line { first, check, ends, marks: self.marks }
    }
}

/// Reader of the directory.
#[derive(Copy, Clone)]
pub(super) struct RowDirectory<'a> {
    lines: &'a [Line],
    identity: u32,
}

impl<'a> RowDirectory<'a> {
    /// Reads from the last line the number of records that are the first of their keys. `None` if
    /// the line is damaged.
    pub(super) fn firsts(bytes: &[u8], identity: u32) -> Option<u64> {
        let lines = <[Line]>::ref_from_bytes(bytes).ok()?;
        let last = lines.last()?;
        let number = lines.len() as u64 - 1;
        last.is_whole(identity, number).then(|| last.numbers().end)
    }

    /// Makes a reader of the bytes of the section, without reading them.
    #[inline]
    pub(super) fn new(lines: &'a [u8], identity: u32) -> Result<RowDirectory<'a>, ArchiveError> {
        let lines =
            <[Line]>::ref_from_bytes(lines).map_err(|_| ArchiveError::corrupt(DIRECTORY))?;
        Ok(RowDirectory { lines, identity })
    }

    /// Number of lines.
    #[inline(always)]
    pub(super) const fn lines(&self) -> u64 {
        self.lines.len() as u64
    }

    #[inline(always)]
    fn place(&self, key: u64) -> Place {
        Place::new(key, self.lines())
    }

    /// Prefetches the line of a key.
    #[inline(always)]
    pub(super) fn prefetch_line(&self, key: u64) {
        self.lines.get(self.place(key).line as usize).into_iter().for_each(prefetch);
    }

    /// Returns a range of record numbers. If there is a record with this key, the first such record
    /// is in the range. The records of the range ascend by their keys. The checksum of the
    /// line is not checked.
    #[inline(always)]
    pub(super) fn candidates(&self, key: u64) -> Range<u64> {
        let Place { line, bucket, mark } = self.place(key);
        match self.lines.get(line as usize) {
            Some(line) => line.candidates(bucket, mark),
            None => 0..0,
        }
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

    /// Checks that the rows of all lines follow each other, and that the lines have nothing else.
    /// Also checks that the keys of first records ascend and belong to these lines. `first_key(n)`
    /// is the key of record `n`, which is a first record.
    pub(super) fn verify(
        &self,
        mut first_key: impl FnMut(u64) -> Result<u64, ArchiveError>,
    ) -> Result<(), ArchiveError> {
        let (mut end, mut last) = (0, None);
        for number in 0..self.lines() {
            let line = self.line(number)?;
            let numbers = line.numbers();
            let mut is_right = numbers.start == end;
            end = numbers.end;
            let mut expected = OpenLine::new(line.first.get());
            for row in numbers {
                let key = first_key(row)?;
                let place = self.place(key);
                is_right &= place.line == number && last.replace(key).is_none_or(|last| last < key);
                expected.push(place);
            }
            let expected = expected.line().sealed(self.identity, number);
            if !is_right || expected.as_bytes() != line.as_bytes() {
                return Err(ArchiveError::corrupt_at(DIRECTORY, number));
            }
        }
        Ok(())
    }

    /// Number of the first record of each line. The lines are not checked.
    pub(super) fn first_numbers(&self) -> impl Iterator<Item = u64> {
        self.lines.iter().map(|line| line.first.get().into())
    }
}

/// Callback that gets the records in their final order, each with the further records of its key.
type PutRow<'p> = &'p mut dyn FnMut(&[u8], Option<Further>) -> Result<(), ArchiveError>;

/// A first record of a key that is not written yet.
struct First {
    key: u64,
    record: Vec<u8>,
    further: Option<Further>,
}

/// Builder of the directory from records in the order of their keys.
pub(crate) struct DirectoryBuilder {
    lines: u64,
    /// Number of the line that is being built.
    number: u64,
    line: OpenLine,
    /// The first record of the latest key. This record is written only when all further records of
    /// its key are known.
    first: Option<First>,
    /// All further records so far.
    further: Sorter,
    /// Complete lines.
    done: Sorter,
    guide: Sorter,
}

/// Result of a [`DirectoryBuilder`].
pub(crate) struct BuiltDirectory {
    /// The records that are not the first of their key. Their rows follow the rows of all first
    /// records.
    pub further: Sorted,
    pub directory: DirectoryLines,
}

/// The complete directory, not written yet.
pub(crate) struct DirectoryLines {
    sorted: Sorted,
    lines: u64,
    firsts: u64,
    guide: Sorter,
}

impl DirectoryBuilder {
    /// Makes a builder for this number of records.
    pub(crate) fn new(records: u64, memory_bytes: usize) -> DirectoryBuilder {
        let sorter = || Sorter::new(temp_dir(), memory_bytes / 4);
        DirectoryBuilder {
            lines: records.div_ceil(LINE_KEYS).max(1),
            number: 0,
            line: OpenLine::new(0),
            first: None,
            further: sorter(),
            done: sorter(),
            guide: sorter(),
        }
    }

    /// Adds the next record and its key. If the key differs from the previous key, all further
    /// records of the previous key are known. Then calls `put` with the first record of that key.
    pub(crate) fn push(
        &mut self,
        key: u64,
        record: &[u8],
        put: PutRow<'_>,
    ) -> Result<(), ArchiveError> {
        if let Some(first) = self.first.as_mut().filter(|first| first.key == key) {
            let number = self.further.len() as u32;
            let mut further =
                first.further.unwrap_or(Further { count: U32::ZERO, first: number.into() });
            further.count += 1;
            first.further = Some(further);
            return Ok(self.further.push(&number.to_be_bytes(), record)?);
        }
        self.put_first(put)?;
        let place = Place::new(key, self.lines);
        self.end_lines(place.line)?;
        self.line.push(place);
        self.first = Some(First { key, record: record.to_vec(), further: None });
        Ok(())
    }

    /// Ends the input, and calls `put` with the first record of the last key.
    pub(crate) fn finish(mut self, put: PutRow<'_>) -> Result<BuiltDirectory, ArchiveError> {
        self.put_first(put)?;
        self.end_lines(self.lines)?;
        let directory = DirectoryLines {
            sorted: self.done.finish()?,
            lines: self.lines,
            firsts: self.line.first.into(),
            guide: self.guide,
        };
        Ok(BuiltDirectory { further: self.further.finish()?, directory })
    }

    fn put_first(&mut self, put: PutRow<'_>) -> Result<(), ArchiveError> {
        self.first.take().map_or(Ok(()), |first| put(&first.record, first.further))
    }

    /// Ends all lines before the line `number`.
    fn end_lines(&mut self, number: u64) -> Result<(), ArchiveError> {
        while self.number < number {
            self.done.push(&self.number.to_be_bytes(), self.line.line().as_bytes())?;
            self.line = OpenLine::new(self.line.first + self.line.rows);
            self.number += 1;
        }
        Ok(())
    }
}

impl DirectoryLines {
    /// Writes the row directory, then the row guide (approximate record numbers for each line of
    /// the directory).
    pub(crate) fn write<W: Write>(
        self,
        identity: u32,
        out: &mut Sink<W>,
    ) -> Result<(Section, Section), ArchiveError> {
        let DirectoryLines { mut sorted, lines, firsts, mut guide } = self;
        out.align()?;
        out.begin();
        for number in 0..lines {
            let Some((_, line)) = sorted.next_entry()? else { break };
            let line = Line::read_from_bytes(line).map_err(|_| ArchiveError::corrupt(DIRECTORY))?;
            out.put(line.sealed(identity, number).as_bytes())?;
            let shift = shift(line.first.get().into(), number, lines, firsts);
            guide.push(&number.to_be_bytes(), shift.as_bytes())?;
        }
        let directory = out.end();
        out.begin();
        let mut guide = guide.finish()?;
        while let Some((_, shift)) = guide.next_entry()? {
            out.put(shift)?;
        }
        Ok((directory, out.end()))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;

    use super::*;
    use crate::file::check::worth::{assert_every_byte_counts, assert_place_counts};

    fn line() -> Line {
        Line { first: 5.into(), check: U32::ZERO, ends: [50; BUCKETS], marks: [7; MARKS] }
    }

    #[test]
    fn every_change_of_one_byte_of_a_line_changes_its_check() {
        assert_every_byte_counts(line().sealed(7, 9), |line| line.is_whole(7, 9));
    }

    #[test]
    fn no_line_passes_where_the_number_differs_in_the_lowest_twenty_bits() {
        let line = line().sealed(7, 0);
        assert_place_counts(|identity, number| line.is_whole(identity, number));
    }

    /// The order of rows and the lines that a builder makes from keys.
    fn built(keys: &[u64], memory_bytes: usize) -> (Vec<u64>, Vec<Line>) {
        let mut rows = Vec::new();
        let mut put = |record: &[u8], _: Option<Further>| {
            rows.push(u64::from_be_bytes(record.try_into().unwrap()));
            Ok(())
        };
        let mut builder = DirectoryBuilder::new(keys.len() as u64, memory_bytes);
        for key in keys {
            builder.push(*key, &key.to_be_bytes(), &mut put).unwrap();
        }
        let mut sorted = builder.finish(&mut put).unwrap().directory.sorted;
        let mut lines = Vec::new();
        while let Some((_, line)) = sorted.next_entry().unwrap() {
            let number = lines.len() as u64;
            lines.push(Line::read_from_bytes(line).unwrap().sealed(7, number));
        }
        (rows, lines)
    }

    /// Number of candidate rows for all keys; asserts that each key is among its candidates.
    fn assert_leads(keys: &[u64], memory_bytes: usize) -> u64 {
        let (rows, lines) = built(keys, memory_bytes);
        assert_eq!(rows, keys);
        let firsts = RowDirectory::firsts(lines.as_bytes(), 7).unwrap();
        assert_eq!(firsts, keys.len() as u64);
        let directory = RowDirectory::new(lines.as_bytes(), 7).unwrap();
        directory.verify(|number| Ok(rows[number as usize])).unwrap();
        let mut candidates = 0;
        for (number, &key) in (0..).zip(&rows) {
            let numbers = directory.candidates(key);
            assert!(numbers.contains(&number) && numbers.end <= firsts, "{key}");
            candidates += numbers.end - numbers.start;
        }
        candidates
    }

    /// Numbers that are spread like keys.
    fn keys(count: u64) -> Vec<u64> {
        let mix = |number: u64| {
            let number = (number ^ number >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
            (number ^ number >> 32).wrapping_mul(0xff51_afd7_ed55_8ccd)
        };
        let mut keys: Vec<u64> = (1..=count).map(|nth| mix(mix(nth))).collect();
        keys.sort_unstable();
        keys
    }

    #[test]
    fn few_rows_come_into_question_for_a_key() {
        for count in [0, 1, 2, 39, 40, 41, 5000, 60_000] {
            let candidates = assert_leads(&keys(count), 1 << 20);
            assert!(candidates <= count + count / 8 + 1, "{candidates} for {count} keys");
        }
        let empty = built(&[], 1 << 20).1;
        let directory = RowDirectory::new(empty.as_bytes(), 7).unwrap();
        assert!(directory.candidates(9).is_empty());
    }

    #[test]
    fn few_rows_come_into_question_for_what_is_not_there() {
        let keys = keys(60_000);
        let lines = built(&keys[..30_000], 1 << 20).1;
        let directory = RowDirectory::new(lines.as_bytes(), 7).unwrap();
        let led = |key: &&u64| !directory.candidates(**key).is_empty();
        let led = keys[30_000..].iter().filter(led).count();
        assert!(led < 30_000 / 25, "{led}");
    }

    /// Damaged lines may lead anywhere; they are checked later.
    #[test]
    fn any_bytes_are_read_as_a_line() {
        let bytes = [0, 1, 15, 16, 17, 31, 32, 33, 47, 48, 49, 64, 65, 254, 255];
        for start in bytes {
            for end in bytes {
                for bucket in 0..BUCKETS {
                    let ends = std::array::from_fn(|at| if at < bucket { start } else { end });
                    let numbers = Line { ends, ..line() }.candidates(bucket, 7);
                    assert!(numbers.is_empty() || numbers.end <= u64::from(u32::MAX));
                }
            }
        }
    }

    /// Keys can be chosen so that all fall into one line, or have the same mark.
    #[test]
    fn any_number_of_keys_has_place_in_a_line() {
        for count in [16, 17, 47, 48, 49, 64, 65, 254, 255, 256, 1000] {
            let near: Vec<u64> = (0..count).collect();
            assert_eq!(assert_leads(&near, 1 << 20), count * count);
            let all: Vec<u64> = (0..count).map(|nth| nth << 56 | nth).collect();
            assert_leads(&all[..all.len().min(200)], 1 << 20);
        }
        let mixed = [(0..1000).collect(), keys(3000)].concat();
        assert_leads(&mixed, 0);
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

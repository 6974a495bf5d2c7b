//! The row directory of sorted rows: from position keys to the rows of a bucket, in so few bytes
//! that lookups find it in the cache.

use std::io::Write;
use std::ops::Range;

use zerocopy::little_endian::U32;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::archive::error::ArchiveError;
use crate::archive::file::check;
use crate::archive::file::sections::Section;
use crate::archive::file::sink::Sink;
use crate::archive::index_entries::IndexEntries;
use crate::prefetch::prefetch;

const PARTS: usize = 8;
const PART_BUCKETS: usize = 12;
/// Buckets of a line.
const BUCKETS: usize = PARTS * PART_BUCKETS;
/// Records of a line, on average.
const LINE_RECORDS: u64 = 160;
/// The bit of the first record that says wide line.
const WIDE: u32 = 1 << 31;

const DIRECTORY: &str = "row directory";
const WIDE_LINES: &str = "wide lines";

/// How many records are in each of a run of buckets; as long as a line of the processor's cache.
#[derive(Copy, Clone, Debug, Default, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Line {
    /// The number of the first record; with the highest bit set that of a wide line, and all that
    /// is behind the check is 0.
    first: U32,
    check: U32,
    /// Records of the line before each part.
    before: [u8; PARTS],
    /// The records of the buckets of each part, four bits each, the lowest first.
    counts: [[u8; PART_BUCKETS / 2]; PARTS],
}

const _: () = assert!(size_of::<Line>() == 64);

/// A line whose counts need more bits.
#[derive(Copy, Clone, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct WideLine {
    /// The number of the first record of each bucket, and that behind the last record.
    starts: [U32; BUCKETS + 1],
    check: U32,
}

/// The records of a bucket.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Bucket {
    pub(super) numbers: Range<u64>,
    /// The one that a key most likely leads to.
    pub(super) likely: u64,
}

/// Where a key belongs.
#[derive(Copy, Clone)]
struct Place {
    line: u64,
    part: usize,
    /// Of the part.
    bucket: usize,
    /// Which part of the bucket is below the key, of 2^64.
    below: u64,
}

impl Place {
    #[inline(always)]
    fn of(key: u64, lines: u64) -> Place {
        let scaled = u128::from(key) * u128::from(lines);
        let in_line = u128::from(scaled as u64) * PARTS as u128;
        let in_part = u128::from(in_line as u64) * PART_BUCKETS as u128;
        Place {
            line: (scaled >> 64) as u64,
            part: (in_line >> 64) as usize,
            bucket: (in_part >> 64) as usize,
            below: in_part as u64,
        }
    }
}

impl Line {
    fn sealed(mut self, identity: u32, number: u64) -> Line {
        self.check = self.check(identity, number).into();
        self
    }

    #[inline(always)]
    fn check(&self, identity: u32, number: u64) -> u32 {
        let unchecked = Line { check: U32::ZERO, ..*self };
        check::placed_words::<9>(identity, number, unchecked.as_bytes())
    }

    #[inline(always)]
    fn is_whole(&self, identity: u32, number: u64) -> bool {
        check::holds(self.check(identity, number), self.check.get())
    }

    /// The records of a bucket of a line that is not wide.
    #[inline(always)]
    fn bucket(&self, Place { part, bucket, below, .. }: Place) -> Bucket {
        let [a, b, c, d, e, f] = self.counts[part & (PARTS - 1)];
        let counts = u64::from_le_bytes([a, b, c, d, e, f, 0, 0]);
        let before = nibble_sum(counts & ((1 << (4 * bucket)) - 1));
        let start =
            u64::from(self.first.get()) + u64::from(self.before[part & (PARTS - 1)]) + before;
        let count = counts >> (4 * bucket) & 15;
        let likely = start + ((u128::from(below) * u128::from(count)) >> 64) as u64;
        Bucket { numbers: start..start + count, likely }
    }
}

/// The sum of twelve numbers of four bits.
#[inline(always)]
fn nibble_sum(nibbles: u64) -> u64 {
    const LOW: u64 = u64::MAX / 17;
    let bytes = (nibbles & LOW) + (nibbles >> 4 & LOW);
    bytes.wrapping_mul(u64::MAX / 255) >> 56
}

impl WideLine {
    fn sealed(mut self, identity: u32, number: u64) -> WideLine {
        self.check = self.check(identity, number).into();
        self
    }

    fn check(&self, identity: u32, number: u64) -> u32 {
        check::placed(identity, number, self.starts.as_bytes())
    }

    fn bucket(&self, Place { part, bucket, .. }: Place) -> Bucket {
        let nth = part * PART_BUCKETS + bucket;
        let start = self.starts[nth].get().into();
        Bucket { numbers: start..self.starts[nth + 1].get().into(), likely: start }
    }
}

/// Writes the directory of records that were numbered in the order of their keys, then its wide
/// lines.
pub(in crate::archive) fn write_directory<W: Write>(
    entries: IndexEntries,
    identity: u32,
    out: &mut Sink<W>,
) -> Result<(Section, Section), ArchiveError> {
    let lines = entries.len().div_ceil(LINE_RECORDS).max(1);
    out.align()?;
    out.begin();
    let mut writer = DirectoryWriter {
        out,
        identity,
        number: 0,
        first: 0,
        counts: [0; BUCKETS],
        wide: Vec::new(),
    };
    entries.finish::<ArchiveError>(|(key, _)| {
        let place = Place::of(key, lines);
        while writer.number < place.line {
            writer.end_line()?;
        }
        writer.counts[place.part * PART_BUCKETS + place.bucket] += 1;
        Ok(())
    })?;
    while writer.number < lines {
        writer.end_line()?;
    }
    let wide = writer.wide;
    let directory = out.end();
    Ok((directory, out.section(wide.as_bytes())?))
}

/// The directory as it is written, line by line.
struct DirectoryWriter<'a, W> {
    out: &'a mut Sink<W>,
    identity: u32,
    /// The number of the line that is counted, and that of its first record.
    number: u64,
    first: u32,
    counts: [u32; BUCKETS],
    wide: Vec<WideLine>,
}

impl<W: Write> DirectoryWriter<'_, W> {
    fn end_line(&mut self) -> Result<(), ArchiveError> {
        let line = narrow(self.first, &self.counts).unwrap_or_else(|| self.push_wide());
        self.out.put(line.sealed(self.identity, self.number).as_bytes())?;
        self.first += self.counts.iter().sum::<u32>();
        self.number += 1;
        self.counts = [0; BUCKETS];
        Ok(())
    }

    /// Puts a wide line behind the others, and gives the line that leads to it.
    fn push_wide(&mut self) -> Line {
        let number = self.wide.len() as u32;
        let mut starts = [self.first.into(); BUCKETS + 1];
        let mut end = self.first;
        for (start, count) in starts[1..].iter_mut().zip(self.counts) {
            end += count;
            *start = end.into();
        }
        let line = WideLine { starts, check: U32::ZERO };
        self.wide.push(line.sealed(self.identity, number.into()));
        Line { first: (WIDE | number).into(), ..Line::default() }
    }
}

/// A line with the counts of its buckets, if it holds them.
fn narrow(first: u32, counts: &[u32; BUCKETS]) -> Option<Line> {
    let mut line = Line { first: first.into(), ..Line::default() };
    let mut before = 0;
    for (part, counts) in counts.as_chunks::<PART_BUCKETS>().0.iter().enumerate() {
        line.before[part] = u8::try_from(before).ok()?;
        for (byte, pair) in line.counts[part].iter_mut().zip(counts.as_chunks::<2>().0) {
            let [low, high] = *pair;
            if low.max(high) > 15 {
                return None;
            }
            *byte = (low | high << 4) as u8;
        }
        before += counts.iter().sum::<u32>();
    }
    Some(line)
}

/// The directory, read.
#[derive(Copy, Clone)]
pub(super) struct RowDirectory<'a> {
    lines: &'a [Line],
    wide: &'a [WideLine],
    identity: u32,
}

impl<'a> RowDirectory<'a> {
    /// Takes the bytes of both sections; looks at none.
    #[inline]
    pub(super) fn new(
        lines: &'a [u8],
        wide: &'a [u8],
        identity: u32,
    ) -> Result<RowDirectory<'a>, ArchiveError> {
        let lines = <[Line]>::ref_from_bytes(lines).ok().filter(|lines| !lines.is_empty());
        let lines = lines.ok_or(ArchiveError::corrupt(DIRECTORY))?;
        let wide = <[WideLine]>::ref_from_bytes(wide);
        let wide = wide.map_err(|_| ArchiveError::corrupt(WIDE_LINES))?;
        Ok(RowDirectory { lines, wide, identity })
    }

    /// Brings the line of a key near.
    #[inline]
    pub(super) fn prefetch_line(&self, key: u64) {
        let place = Place::of(key, self.lines.len() as u64);
        self.lines.get(place.line as usize).into_iter().for_each(prefetch);
    }

    /// The bucket of a key.
    #[inline(always)]
    pub(super) fn bucket(&self, key: u64) -> Result<Bucket, ArchiveError> {
        let place = Place::of(key, self.lines.len() as u64);
        let line = self.line(place.line)?;
        match line.first.get() {
            first if first & WIDE == 0 => Ok(line.bucket(place)),
            first => Ok(self.wide_line(first & !WIDE)?.bucket(place)),
        }
    }

    #[inline(always)]
    fn line(&self, number: u64) -> Result<&'a Line, ArchiveError> {
        match self.lines.get(number as usize) {
            Some(line) if line.is_whole(self.identity, number) => Ok(line),
            _ => Err(ArchiveError::corrupt_at(DIRECTORY, number)),
        }
    }

    #[cold]
    fn wide_line(&self, number: u32) -> Result<&'a WideLine, ArchiveError> {
        let line = self.wide.get(number as usize);
        let is_whole = |line: &&WideLine| {
            check::holds(line.check(self.identity, number.into()), line.check.get())
        };
        line.filter(is_whole).ok_or_else(|| ArchiveError::corrupt_at(WIDE_LINES, number.into()))
    }

    /// Checks that the buckets follow each other, from the first of so many records to the last.
    pub(super) fn verify(&self, records: u64) -> Result<(), ArchiveError> {
        let (mut end, mut wide) = (0, 0);
        for number in 0..self.lines.len() as u64 {
            let line = self.line(number)?;
            let wide_line = match line.first.get() {
                first if first & WIDE == 0 => None,
                first => Some(self.wide_line(first & !WIDE)?),
            };
            wide += usize::from(wide_line.is_some());
            for nth in 0..BUCKETS {
                let (part, bucket) = (nth / PART_BUCKETS, nth % PART_BUCKETS);
                let place = Place { line: number, part, bucket, below: 0 };
                let bucket =
                    wide_line.map_or_else(|| line.bucket(place), |wide| wide.bucket(place));
                let Range { start, end: next } = bucket.numbers;
                if start != end || next < end {
                    return Err(ArchiveError::corrupt_at(DIRECTORY, number));
                }
                end = next;
            }
        }
        let is_whole = end == records && wide == self.wide.len();
        if is_whole { Ok(()) } else { Err(ArchiveError::corrupt(DIRECTORY)) }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;

    use super::*;

    fn place(nth: usize) -> Place {
        Place { line: 0, part: nth / PART_BUCKETS, bucket: nth % PART_BUCKETS, below: u64::MAX }
    }

    /// CRCs are linear: a change shows or not whatever the other bytes are.
    #[test]
    fn every_change_of_one_byte_of_a_line_changes_its_check() {
        let line = Line::default().sealed(7, 9);
        assert!(line.is_whole(7, 9));
        for place in 0..size_of::<Line>() {
            for change in 1..=255 {
                let mut changed = line;
                changed.as_mut_bytes()[place] ^= change;
                assert!(!changed.is_whole(7, 9), "byte {place} by {change}");
            }
        }
    }

    /// A-D3. Whatever the lines are: what a check makes of two numbers differs by what it makes of
    /// the bits in which they differ.
    #[test]
    fn no_line_passes_where_the_number_differs_in_the_lowest_twenty_bits() {
        let line = Line::default().sealed(7, 0);
        for number in 1..1 << 20 {
            assert!(!line.is_whole(7, number), "{number}");
        }
        for identity in [6, 8, 1 << 31] {
            assert!(!line.is_whole(identity, 0));
        }
    }

    #[test]
    fn places_ascend_with_the_keys_and_fill_the_lines() {
        for lines in [1, 3, 1000] {
            let mut last = 0;
            let step = u64::MAX / (lines * BUCKETS as u64);
            for key in (0..lines * BUCKETS as u64).map(|nth| nth * step + step / 2) {
                let Place { line, part, bucket, below } = Place::of(key, lines);
                assert!(below.abs_diff(1 << 63) < 1 << 50, "half of it");
                let nth = line * BUCKETS as u64 + (part * PART_BUCKETS + bucket) as u64;
                assert!(bucket < PART_BUCKETS && part < PARTS);
                assert!(nth == last || nth == last + 1, "{nth} behind {last}");
                last = nth;
            }
            assert_eq!(last, lines * BUCKETS as u64 - 1);
        }
    }

    proptest! {
        /// A line holds the counts of its buckets where they are small, and says so where not.
        #[test]
        fn lines_give_back_their_counts(
            first in 0..1u32 << 30,
            mut counts in prop::array::uniform32(0..8u32),
            (nth, large) in (0..BUCKETS, 0..40u32),
        ) {
            let mut all = [0; BUCKETS];
            all[..32].copy_from_slice(&counts);
            counts.reverse();
            all[60..92].copy_from_slice(&counts);
            all[nth] = large;
            let before: u32 = all[..BUCKETS - PART_BUCKETS].iter().sum();
            let Some(line) = narrow(first, &all) else {
                prop_assert!(large > 15 || before > 255);
                return Ok(());
            };
            prop_assert!(large <= 15);
            let mut start = u64::from(first);
            for (nth, count) in all.iter().enumerate() {
                let end = start + u64::from(*count);
                let likely = start.max(end.saturating_sub(1));
                prop_assert_eq!(line.bucket(place(nth)), Bucket { numbers: start..end, likely });
                start = end;
            }
        }
    }
}

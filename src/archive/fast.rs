//! Level fast: records as rows of fixed size, and the table that finds them by position key.

use std::io::Write;

use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::check;
use super::error::ArchiveError;
use super::prefetch::prefetch;
use super::sections::Section;
use super::sink::Sink;
use super::sorter::KeySorter;
use crate::codec::packed::{self, PackedBoard};
use crate::codec::{identity, record};
use crate::model::{CastlingDialect, Counters, EpdRecord, Position, Square, en_passant_rank};
use crate::text::{WriteOptions, epd};

/// Bytes of a board in a row: the longest plain form.
const BOARD: usize = 24;

/// One record: the packed identity board, and the rest of the record or where it is.
#[derive(
    Copy, Clone, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub(super) struct FastRow {
    /// Zeros behind the board; all zero when the board has the escape form.
    board: [u8; BOARD],
    /// See [`Rest`]; the check is in the highest bits.
    rest: U64,
}

/// Bytes of a row.
pub(super) const ROW_BYTES: u64 = 32;

const _: () = assert!(size_of::<FastRow>() as u64 == ROW_BYTES);

/// Bits of the rest of a row below its check.
const REST_BITS: u32 = 40;
/// Set when the record is in the heap, at the place that the other bits say.
const IN_HEAP: u64 = 1 << (REST_BITS - 1);
/// Otherwise: halfmove clock, fullmove number, and what is there at all.
const HALFMOVE_BITS: u32 = 10;
const FULLMOVE_BITS: u32 = 14;
const HAS_COUNTERS: u64 = 1 << 24;
const SHREDDER: u64 = 1 << 25;
/// The file of an en passant square that does not count, from 1.
const EN_PASSANT_SHIFT: u32 = 26;

const ROW: &str = "record";

impl FastRow {
    fn new(board: [u8; BOARD], rest: u64) -> FastRow {
        FastRow { board, rest: rest.into() }
    }

    /// Puts the check in.
    fn seal(&mut self, identity: u32, number: u64) {
        let check = self.check(identity, number);
        self.rest = (self.rest() | u64::from(check) << REST_BITS).into();
    }

    /// 24 bits of the CRC32C of the row's place and the row with zeros for the check itself. No
    /// change of a single byte passes it, and no row in the place of one near, as a test shows.
    fn check(&self, identity: u32, number: u64) -> u32 {
        let unchecked = FastRow { board: self.board, rest: self.rest().into() };
        check::placed_words::<5>(identity, number, unchecked.as_bytes()) >> 8
    }

    /// The rest without the check.
    fn rest(&self) -> u64 {
        self.rest.get() & ((1 << REST_BITS) - 1)
    }

    /// The place in the heap of a record that is there.
    fn place(&self) -> Option<u64> {
        let rest = self.rest();
        (rest & IN_HEAP != 0).then_some(rest & !IN_HEAP)
    }

    fn is_whole(&self, identity: u32, number: u64) -> bool {
        check::holds((self.rest.get() >> REST_BITS) as u32, self.check(identity, number))
    }

    /// Whether a pawn of the board made a double step.
    fn has_double_step(&self) -> bool {
        const LOW_BITS: u128 = u128::MAX / 15;
        let codes = self.board.last_chunk().map_or(0, |codes| u128::from_le_bytes(*codes));
        // A nibble is 0 where it is the code.
        let others = codes ^ (LOW_BITS * u128::from(packed::DOUBLE_STEP));
        let others = others | others >> 1;
        (others | others >> 2) & LOW_BITS != LOW_BITS
    }
}

/// The board of a row, zeros behind it; `None` for the escape form.
fn padded(board: &PackedBoard) -> Option<[u8; BOARD]> {
    let bytes = board.as_bytes();
    let mut padded = [0; BOARD];
    padded.get_mut(..bytes.len())?.copy_from_slice(bytes);
    Some(padded)
}

/// Makes the row of a record; a record that no row holds goes to the heap. [`seal`] puts the checks
/// in.
pub(super) fn put(
    record: &EpdRecord,
    rows: &mut Vec<FastRow>,
    heap: &mut Vec<u8>,
) -> Result<(), ArchiveError> {
    let identity = record.position().identity();
    let board = padded(&packed::pack(&identity));
    let row = match (board, inline(record, &identity)) {
        (Some(board), Some(rest)) => FastRow::new(board, rest),
        (board, _) => {
            let place = heap.len() as u64;
            if place >= IN_HEAP {
                return Err(ArchiveError::LimitExceeded {
                    what: "bytes of records that are no rows",
                    found: place,
                    limit: IN_HEAP,
                });
            }
            heap.extend_from_slice(&[0; 4]);
            record::encode(record, heap)?;
            FastRow::new(board.unwrap_or_default(), IN_HEAP | place)
        }
    };
    rows.push(row);
    Ok(())
}

/// Puts the checks into the rows and heap of a segment, and says its identity.
pub(super) fn seal(rows: &mut [FastRow], heap: &mut [u8], first: u64) -> u32 {
    let identity = crc32c::crc32c_append(crc32c::crc32c(rows.as_bytes()), heap);
    let starts: Vec<usize> = rows.iter().filter_map(|row| Some(row.place()? as usize)).collect();
    let mut ends = starts.iter().skip(1).copied().chain([heap.len()]);
    for (number, row) in (first..).zip(rows) {
        row.seal(identity, number);
        if let (Some(start), Some(end)) = (row.place(), row.place().and_then(|_| ends.next()))
            && let Some((check, record)) = heap[start as usize..end].split_first_chunk_mut::<4>()
        {
            *check = check::placed(identity, number, record).to_le_bytes();
        }
    }
    identity
}

fn inline(record: &EpdRecord, identity: &Position) -> Option<u64> {
    if !record.operations().is_empty() {
        return None;
    }
    let mut rest = 0;
    if let Some(Counters { halfmove_clock, fullmove_number }) = record.fen_counters() {
        if halfmove_clock >> HALFMOVE_BITS != 0 || fullmove_number >> FULLMOVE_BITS != 0 {
            return None;
        }
        rest |=
            HAS_COUNTERS | u64::from(halfmove_clock) | u64::from(fullmove_number) << HALFMOVE_BITS;
    }
    if record.dialect() == CastlingDialect::Shredder {
        rest |= SHREDDER;
    }
    if let (Some(target), None) = (record.position().en_passant(), identity.en_passant()) {
        rest |= u64::from(target.file() + 1) << EN_PASSANT_SHIFT;
    }
    Some(rest)
}

/// The rows and the heap of a segment.
#[derive(Copy, Clone)]
pub(super) struct FastSegment<'a> {
    pub(super) rows: &'a [FastRow],
    pub(super) heap: &'a [u8],
    /// The number of the first record.
    pub(super) first: u64,
    pub(super) identity: u32,
}

impl FastSegment<'_> {
    /// A row whose check holds.
    pub(super) fn row(&self, nth: u32) -> Result<&FastRow, ArchiveError> {
        let number = self.first + u64::from(nth);
        let row = self.rows.get(nth as usize).filter(|row| row.is_whole(self.identity, number));
        row.ok_or(ArchiveError::corrupt_at(ROW, number))
    }

    /// Brings a row near.
    pub(super) fn prefetch(&self, nth: u32) {
        if let Some(row) = self.rows.get(nth as usize) {
            prefetch(row);
        }
    }

    /// Whether a record is of the position with this packed identity board.
    pub(super) fn is_of(&self, nth: u32, board: &PackedBoard) -> Result<bool, ArchiveError> {
        let row = self.row(nth)?;
        if let Some(board) = padded(board) {
            return Ok(row.board == board);
        }
        Ok(row.board == [0; BOARD]
            && packed::pack(&self.record(nth)?.position().identity()) == *board)
    }

    /// The record of a row.
    pub(super) fn record(&self, nth: u32) -> Result<EpdRecord, ArchiveError> {
        let row = self.row(nth)?;
        let record = match row.place() {
            None => Rest::of(row).and_then(|rest| rest.record(row)),
            Some(place) => self.heap_record(nth, place).and_then(|bytes| {
                let (record, _) = record::decode(bytes).ok()?;
                let board = padded(&packed::pack(&record.position().identity()));
                (board.unwrap_or_default() == row.board).then_some(record)
            }),
        };
        record.ok_or(ArchiveError::corrupt_at(ROW, self.first + u64::from(nth)))
    }

    /// Appends the canonical text of a row's record.
    pub(super) fn write_text(&self, nth: u32, out: &mut Vec<u8>) -> Result<(), ArchiveError> {
        let row = self.row(nth)?;
        if row.place().is_some() {
            epd::write(&self.record(nth)?, &WriteOptions::default(), out);
            return Ok(());
        }
        if row.rest() >= SHREDDER || row.has_double_step() {
            // What the text alone does not say is looked at.
            self.record(nth)?;
        }
        let written = Rest::of(row).and_then(|Rest { en_passant, counters, .. }| {
            identity::write_line(&row.board, en_passant, counters, out).ok()
        });
        written.ok_or(ArchiveError::corrupt_at(ROW, self.first + u64::from(nth)))
    }

    /// The bytes of a record in the heap, its check verified.
    fn heap_record(&self, nth: u32, place: u64) -> Option<&[u8]> {
        let bytes = self.heap.get(usize::try_from(place).ok()?..)?;
        let (check, bytes) = bytes.split_first_chunk()?;
        let bytes = &bytes[..record::len_of(bytes).ok()?];
        let found = check::placed(self.identity, self.first + u64::from(nth), bytes);
        check::holds(found, u32::from_le_bytes(*check)).then_some(bytes)
    }
}

/// What a row says of its record beside the identity board.
struct Rest {
    /// The file of an en passant square that is not part of the identity.
    en_passant: Option<u8>,
    is_shredder: bool,
    counters: Option<Counters>,
}

impl Rest {
    /// `None` for bits that no writer sets.
    fn of(row: &FastRow) -> Option<Rest> {
        let rest = row.rest();
        let en_passant = match rest >> EN_PASSANT_SHIFT {
            0 => None,
            file @ 1..=8 => Some(file as u8 - 1),
            _ => return None,
        };
        let counters = (rest & HAS_COUNTERS != 0).then_some(Counters {
            halfmove_clock: rest as u32 & ((1 << HALFMOVE_BITS) - 1),
            fullmove_number: (rest >> HALFMOVE_BITS) as u32 & ((1 << FULLMOVE_BITS) - 1),
        });
        let is_right = match counters {
            Some(counters) => counters.fullmove_number > 0,
            None => rest & (HAS_COUNTERS - 1) == 0,
        };
        is_right.then_some(Rest { en_passant, is_shredder: rest & SHREDDER != 0, counters })
    }

    /// `None` when the board is that of no identity, or when a record has another row.
    fn record(&self, row: &FastRow) -> Option<EpdRecord> {
        let (identity, len) = packed::unpack(&row.board).ok()?;
        let mut position = identity;
        if let Some(file) = self.en_passant {
            let target = Square::at(file, en_passant_rank(position.turn()));
            position = position.with_en_passant(Some(target)).ok()?;
        }
        let has_target = position.en_passant().is_some();
        if has_target && position.identity() != identity
            || identity.en_passant().is_some() && self.en_passant.is_some()
            || row.board[len..] != [0; BOARD][len..]
        {
            return None;
        }
        let mut record = EpdRecord::new(position);
        if self.is_shredder {
            if position.castling().is_empty() {
                return None;
            }
            record.set_dialect(CastlingDialect::Shredder);
        }
        record.set_fen_counters(self.counters);
        Some(record)
    }
}

/// Entries of a line of the table.
const ENTRIES: usize = 12;

/// A line of the table, as long as one of the processor's cache.
#[derive(Copy, Clone, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(super) struct Line {
    /// The record of each entry; with the highest bit set the place of a list of records.
    places: [U32; ENTRIES],
    /// The lowest byte of each key.
    marks: [u8; ENTRIES],
    /// The number of entries in the lowest four bits; 15 when all are taken and more that belong
    /// here or before are in the next line. The other bits are those of the CRC32C of the line with
    /// zeros for them.
    tail: U32,
}

const _: () = assert!(size_of::<Line>() == 64);

/// The bit of a place that says list.
const LIST: u32 = 1 << 31;
/// The most records of an archive of level fast.
pub(super) const MAX_RECORDS: u64 = LIST as u64;
const COUNT_MASK: u32 = 15;
const FULL_AND_MORE: u32 = 15;
/// Entries a line has on average, in tenths.
const LOAD_TENTHS: u64 = 90;

const INDEX: &str = "position index";

impl Line {
    const EMPTY: Line = Line { places: [U32::ZERO; ENTRIES], marks: [0; ENTRIES], tail: U32::ZERO };

    fn check(&self, identity: u32, number: u64) -> u32 {
        let line = Line { tail: (self.tail.get() & COUNT_MASK).into(), ..*self };
        check::placed_words::<9>(identity, number, line.as_bytes()) & !COUNT_MASK
    }

    /// The number of entries, and whether the next line belongs to this one; `None` when the line
    /// is damaged.
    fn count(&self, identity: u32, number: u64) -> Option<(usize, bool)> {
        let tail = self.tail.get();
        let count = tail & COUNT_MASK;
        let more = count == FULL_AND_MORE;
        let count = if more { ENTRIES } else { count as usize };
        let holds = check::holds(self.check(identity, number), tail & !COUNT_MASK);
        (holds && count <= ENTRIES).then_some((count, more))
    }

    /// The entries with this mark, and whether the next line belongs to this one; `None` when the
    /// line is damaged.
    fn matching(
        &self,
        identity: u32,
        number: u64,
        mark: u8,
    ) -> Option<(impl Iterator<Item = u32> + '_, bool)> {
        let (count, more) = self.count(identity, number)?;
        let mut equal = equal_bytes(&self.marks, mark) & ((1 << (8 * count)) - 1);
        let places = std::iter::from_fn(move || {
            let place = self.places.get(equal.trailing_zeros() as usize / 8)?;
            equal &= equal - 1;
            Some(place.get())
        });
        Some((places, more))
    }
}

/// A 1 as the highest bit of each byte that is this one: no jump that has to be guessed.
fn equal_bytes(bytes: &[u8; ENTRIES], byte: u8) -> u128 {
    const LOW_BITS: u128 = u128::MAX / 255 * 0x7f;
    let mut all = [0; 16];
    all[..ENTRIES].copy_from_slice(bytes);
    let differ = u128::from_le_bytes(all) ^ (u128::MAX / 255 * u128::from(byte));
    !(((differ & LOW_BITS) + LOW_BITS) | differ | LOW_BITS)
}

/// Which of so many lines a key belongs to.
fn home(key: u64, lines: u64) -> u64 {
    ((u128::from(key) * u128::from(lines)) >> 64) as u64
}

/// Writes the table of sorted keys and records, then the lists of records that share a key.
pub(super) fn write_index<W: Write>(
    sorter: KeySorter,
    identity: u32,
    out: &mut Sink<W>,
) -> Result<(Section, Section), ArchiveError> {
    let homes = (sorter.len() * 10).div_ceil(LOAD_TENTHS).max(1);
    let mut lists: Vec<u8> = Vec::new();
    out.align()?;
    out.begin();
    let mut table = Table { out, identity, homes, line: Line::EMPTY, number: 0, count: 0 };
    let mut group: Option<(u64, Vec<u32>)> = None;
    let mut close = |table: &mut Table<W>, group: Option<(u64, Vec<u32>)>| {
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

/// A list: how many, a check, the records.
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

/// The table as it is written, line by line.
struct Table<'a, W> {
    out: &'a mut Sink<W>,
    identity: u32,
    homes: u64,
    line: Line,
    number: u64,
    count: usize,
}

impl<W: Write> Table<'_, W> {
    fn put(&mut self, key: u64, place: u32) -> Result<(), ArchiveError> {
        let home = home(key, self.homes);
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

    fn next(&mut self, more: bool) -> Result<(), ArchiveError> {
        let count = if more { FULL_AND_MORE } else { self.count as u32 };
        self.line.tail = count.into();
        self.line.tail = (self.line.check(self.identity, self.number) | count).into();
        self.out.put(self.line.as_bytes())?;
        self.line = Line::EMPTY;
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

/// The table, read.
#[derive(Copy, Clone)]
pub(super) struct RecordIndex<'a> {
    lines: &'a [Line],
    homes: u64,
    lists: &'a [u8],
    identity: u32,
}

impl<'a> RecordIndex<'a> {
    /// Takes the bytes of both sections; only the last few are looked at.
    pub(super) fn new(
        bytes: &'a [u8],
        lists: &'a [u8],
        identity: u32,
    ) -> Result<RecordIndex<'a>, ArchiveError> {
        let corrupt = || ArchiveError::corrupt(INDEX);
        let (rest, check) = bytes.split_last_chunk::<4>().ok_or_else(corrupt)?;
        let (lines, homes) = rest.split_last_chunk::<8>().ok_or_else(corrupt)?;
        let lines = <[Line]>::ref_from_bytes(lines).map_err(|_| corrupt())?;
        let found = check::placed(identity, lines.len() as u64, homes);
        let whole = check::holds(found, u32::from_le_bytes(*check));
        let homes = u64::from_le_bytes(*homes);
        if !whole || homes == 0 || homes > lines.len() as u64 {
            return Err(corrupt());
        }
        Ok(RecordIndex { lines, homes, lists, identity })
    }

    /// The line of a key.
    fn home(&self, key: u64) -> u64 {
        home(key, self.homes)
    }

    fn line(&self, number: u64) -> Option<&'a Line> {
        self.lines.get(usize::try_from(number).ok()?)
    }

    /// Brings the line of a key near.
    pub(super) fn prefetch(&self, key: u64) {
        if let Some(line) = self.line(self.home(key)) {
            prefetch(line);
        }
    }

    /// Calls `visit` with each record whose key may be this one, ascending within a key.
    pub(super) fn find(
        &self,
        key: u64,
        mut visit: impl FnMut(u32) -> Result<(), ArchiveError>,
    ) -> Result<(), ArchiveError> {
        let mut number = self.home(key);
        loop {
            let corrupt = ArchiveError::corrupt_at(INDEX, number);
            let line = self.line(number);
            let matching = line.and_then(|line| line.matching(self.identity, number, key as u8));
            let Some((places, more)) = matching else { return Err(corrupt) };
            for place in places {
                if place & LIST == 0 {
                    visit(place)?;
                    continue;
                }
                for record in self.list(place & !LIST).ok_or(ArchiveError::corrupt(INDEX))? {
                    visit(record.get())?;
                }
            }
            if !more {
                return Ok(());
            }
            number += 1;
        }
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

    /// Calls `visit` with the number of each line and each of its records.
    pub(super) fn each(
        &self,
        mut visit: impl FnMut(u8, u32) -> Result<(), ArchiveError>,
    ) -> Result<(), ArchiveError> {
        for (number, line) in (0..).zip(self.lines) {
            let corrupt = ArchiveError::corrupt_at(INDEX, number);
            for mark in line.marks.iter().copied().collect::<std::collections::BTreeSet<u8>>() {
                let matching = line.matching(self.identity, number, mark);
                let Some((places, _)) = matching else { return Err(corrupt) };
                for place in places {
                    if place & LIST == 0 {
                        visit(mark, place)?;
                        continue;
                    }
                    for record in self.list(place & !LIST).ok_or(ArchiveError::corrupt(INDEX))? {
                        visit(mark, record.get())?;
                    }
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CRCs are linear: a change shows or not whatever the other bytes are.
    #[test]
    fn every_change_of_one_byte_of_a_row_or_line_changes_its_check() {
        let mut row = FastRow::new([0; BOARD], 0);
        row.seal(7, 9);
        assert!(row.is_whole(7, 9));
        for place in 0..size_of::<FastRow>() {
            for change in 1..=255 {
                let mut changed = row;
                changed.as_mut_bytes()[place] ^= change;
                assert!(!changed.is_whole(7, 9), "byte {place} by {change}");
            }
        }
        let mut line = Line::EMPTY;
        line.tail = 7.into();
        line.tail = (line.check(7, 9) | 7).into();
        assert_eq!(line.count(7, 9), Some((7, false)));
        for place in 0..size_of::<Line>() {
            for change in 1..=255 {
                let mut changed = line;
                changed.as_mut_bytes()[place] ^= change;
                assert_eq!(changed.count(7, 9), None, "byte {place} by {change}");
            }
        }
    }

    /// A-D3. Whatever the rows are: what a check makes of two numbers differs by what it makes of
    /// the bits in which they differ.
    #[test]
    fn no_row_or_line_passes_where_the_number_differs_in_the_lowest_twenty_bits() {
        let (mut row, mut line) = (FastRow::new([0; BOARD], 0), Line::EMPTY);
        row.seal(7, 0);
        line.tail = line.check(7, 0).into();
        for number in 1..1 << 20 {
            assert!(!row.is_whole(7, number), "{number}");
        }
        for number in 1..1 << 20 {
            assert!(line.count(7, number).is_none(), "{number}");
        }
        for identity in [6, 8, 1 << 31] {
            assert!(!row.is_whole(identity, 0) && line.count(identity, 0).is_none());
        }
    }

    #[test]
    fn double_steps_are_seen() {
        for (codes, expected) in [([0x0c; 16], true), ([0xdb; 16], false), ([0xc0; 16], true)] {
            let mut row = FastRow::new([0; BOARD], 0);
            row.board[8..].copy_from_slice(&codes);
            assert_eq!(row.has_double_step(), expected);
        }
        let mut row = FastRow::new([0; BOARD], 0);
        row.board[15] = 0xc0;
        assert!(row.has_double_step());
    }

    #[test]
    fn equal_bytes_are_found() {
        let bytes = [0, 1, 0x80, 0x7f, 0x81, 0, 255, 1, 0, 254, 0, 1];
        for byte in 0..=255 {
            let found = equal_bytes(&bytes, byte);
            for (nth, &own) in bytes.iter().enumerate() {
                assert_eq!(found >> (8 * nth) & 0xff == 0x80, own == byte, "{byte} at {nth}");
            }
        }
    }
}

//! One record of level fast as a row of fixed size.

use zerocopy::little_endian::U64;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::file::check;
use epdb_chess::codec::{identity, packed};
use epdb_chess::model::{CastlingDialect, Counters, EpdRecord, Position, Square, en_passant_rank};

/// Size in bytes of a board in a row: the longest plain form.
pub(super) const BOARD: usize = packed::PLAIN_MAX;

/// One record: the packed identity board, and the rest of the record or its place in the heap.
#[derive(
    Copy, Clone, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub(super) struct FastRow {
    /// The packed board, padded with zeros; all zero if the board has the escape form.
    pub(super) board: [u8; BOARD],
    /// See [`RowRest`]; the checksum is in the highest bits.
    rest: U64,
}

/// Size in bytes of a row.
pub(super) const ROW_BYTES: u64 = 32;

const _: () = assert!(size_of::<FastRow>() as u64 == ROW_BYTES);

/// Number of bits of the rest of a row below its checksum.
const REST_BITS: u32 = 40;
/// Set if the record is in the heap. Its place there is in the lowest bits, and the class of its length in
/// the bits between the place and [`HAS_FURTHER`].
pub(super) const IN_HEAP: u64 = 1 << (REST_BITS - 1);
/// Set together with [`IN_HEAP`] if other records have the same key. The heap then has the range of
/// these records.
pub(super) const HAS_FURTHER: u64 = 1 << (REST_BITS - 2);
/// Number of bits of a place in the heap.
const PLACE_BITS: u32 = 32;
/// Maximum place in the heap.
pub(super) const MAX_PLACE: u64 = (1 << PLACE_BITS) - 1;
const MAX_CLASS: u64 = HAS_FURTHER >> PLACE_BITS;

/// The rest of a row whose record has a place in the heap, and this number of bytes there. The class of a
/// length is the lowest one that has it. So a reader knows how many bytes to request.
pub(super) fn in_heap(place: u64, len: usize) -> u64 {
    let class = (0..MAX_CLASS).find(|&class| len as u64 <= longest_of(class)).unwrap_or(0);
    IN_HEAP | class << PLACE_BITS | place
}

/// The greatest length of a class.
const fn longest_of(class: u64) -> u64 {
    (2 + class % 2) << (class / 2 + 3)
}

/// Number of bits of the halfmove clock. In a row without [`IN_HEAP`], the clock is in the lowest
/// bits of the rest. The fullmove number and the flags follow.
const HALFMOVE_BITS: u32 = 10;
const FULLMOVE_BITS: u32 = 14;
const HAS_COUNTERS: u64 = 1 << 24;
const SHREDDER: u64 = 1 << 25;
/// Position of the bits with the file, 1 to 8, of an en passant square that is not part of the
/// identity. The bits are 0 if the record has no such square.
const EN_PASSANT_SHIFT: u32 = 26;

impl FastRow {
    pub(super) fn new(board: [u8; BOARD], rest: u64) -> FastRow {
        FastRow { board, rest: rest.into() }
    }

    /// Sets the checksum.
    pub(super) fn seal(&mut self, identity: u32, number: u64) {
        let check = self.check(identity, number);
        self.rest = (self.rest() | u64::from(check) << REST_BITS).into();
    }

    /// Returns the highest 24 bits of a CRC32C. It covers the place of the row, and the row with
    /// zeros in place of the checksum. Tests show that these bits detect every change of a single
    /// byte. They also detect a row that was moved to the place of a nearby row.
    #[inline]
    fn check(&self, identity: u32, number: u64) -> u32 {
        let mut words: [U64; 4] = zerocopy::transmute!(*self);
        words[3] = self.rest().into();
        check::placed_words(identity, number, words) >> 8
    }

    /// The rest without the checksum.
    #[inline]
    pub(super) fn rest(&self) -> u64 {
        self.rest.get() & ((1 << REST_BITS) - 1)
    }

    /// Place of a record that is stored in the heap.
    #[inline]
    pub(super) fn place(&self) -> Option<u64> {
        let rest = self.rest();
        (rest & IN_HEAP != 0).then_some(rest & MAX_PLACE)
    }

    /// True if the row says this place and length of its record in the heap.
    pub(super) fn is_in_heap(&self, place: u64, len: usize) -> bool {
        self.rest() & !HAS_FURTHER == in_heap(place, len)
    }

    /// True if the heap has the range of further records.
    #[inline]
    pub(super) fn has_further(&self) -> bool {
        self.rest() >= IN_HEAP | HAS_FURTHER
    }

    /// True if only zeros follow the board.
    #[inline]
    fn board_ends(&self) -> bool {
        let (occupied, codes) = self.board.split_at(packed::OCCUPANCY);
        let count = occupied.first_chunk().map_or(0, |set| u64::from_le_bytes(*set).count_ones());
        let codes = codes.first_chunk().map_or(0, |codes| u128::from_le_bytes(*codes));
        codes.checked_shr(8 * count.div_ceil(2)).unwrap_or(0) == 0
    }

    #[inline]
    pub(super) fn is_whole(&self, identity: u32, number: u64) -> bool {
        check::holds((self.rest.get() >> REST_BITS) as u32, self.check(identity, number))
    }
}

/// Codes a record as the rest of its row; `None` if the record does not fit into a row.
pub(super) fn inline(record: &EpdRecord, identity: &Position) -> Option<u64> {
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

/// The part of a record that its row holds in addition to the identity board.
pub(super) struct RowRest {
    /// The file of an en passant square that is not part of the identity.
    en_passant: Option<u8>,
    is_shredder: bool,
    counters: Option<Counters>,
}

impl RowRest {
    /// Parses the rest of a row; `None` for bits that no writer sets.
    #[inline]
    pub(super) fn parse(row: &FastRow) -> Option<RowRest> {
        let rest = row.rest();
        if !row.board_ends() {
            return None;
        }
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
        is_right.then_some(RowRest { en_passant, is_shredder: rest & SHREDDER != 0, counters })
    }

    /// Appends the canonical text of the record. If the row is unusual, so that only
    /// [`RowRest::record`] can decode it, returns `None` and appends nothing.
    #[inline]
    pub(super) fn write_text(&self, row: &FastRow, out: &mut Vec<u8>) -> Option<()> {
        if self.is_shredder {
            return None;
        }
        identity::write_line(&row.board, self.en_passant, self.counters, out)
    }

    /// Decodes the record of a row; `None` if the board is not an identity board, or if the record
    /// would be encoded as another row.
    pub(super) fn record(&self, row: &FastRow) -> Option<EpdRecord> {
        let (identity, _) = packed::decode(&row.board).ok()?;
        let mut position = identity;
        if let Some(file) = self.en_passant {
            let target = Square::at(file, en_passant_rank(position.turn()));
            position = position.with_en_passant(Some(target)).ok()?;
        }
        let has_target = position.en_passant().is_some();
        if has_target && position.identity() != identity
            || identity.en_passant().is_some() && self.en_passant.is_some()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::check::worth::{assert_every_byte_counts, assert_place_counts};

    fn sealed(number: u64) -> FastRow {
        let mut row = FastRow::new([0; BOARD], 0);
        row.seal(7, number);
        row
    }

    #[test]
    fn a_class_has_the_lengths_that_are_too_long_for_the_one_before() {
        let rest = |class: u64, place| IN_HEAP | class << 32 | place;
        for (len, class) in
            [(1, 0), (16, 0), (17, 1), (24, 1), (25, 2), (32, 2), (48, 3), (16 << 20, 40)]
        {
            assert_eq!(in_heap(MAX_PLACE, len), rest(class, MAX_PLACE), "{len}");
        }
    }

    #[test]
    fn every_change_of_one_byte_of_a_row_changes_its_check() {
        assert_every_byte_counts(sealed(9), |row| row.is_whole(7, 9));
    }

    #[test]
    fn no_row_passes_where_the_number_differs_in_the_lowest_twenty_bits() {
        let row = sealed(0);
        assert_place_counts(|identity, number| row.is_whole(identity, number));
    }
}

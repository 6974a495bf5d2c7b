//! Bits, tags and widths of a record, as `formats/epd_record.md` has them.

use crate::model::Counters;

/// The longest record in bytes.
pub const MAX_LEN: usize = 16 << 20;

/// The three high bits of every marker.
pub(super) const MARKER: u8 = 0b1010_0000;
pub(super) const MARKER_MASK: u8 = 0b1110_0000;
/// Bits 0 and 1: no counters, or two of one, two or four bytes.
pub(super) const COUNTERS: u8 = 0b0000_0011;
/// An en passant square that is not part of the identity.
pub(super) const EN_PASSANT: u8 = 0b0000_0100;
/// The castling field was in Shredder's letters.
pub(super) const SHREDDER: u8 = 0b0000_1000;
/// Operations follow.
pub(super) const OPERATIONS: u8 = 0b0001_0000;

/// Added to the number of a standard opcode: its operands are a general list.
pub(super) const GENERAL: u8 = 0x40;
/// Added to the length of an opcode that is not in the table.
pub(super) const OTHER: u8 = 0x80;
/// Behind the last operation.
pub(super) const NO_MORE_OPERATIONS: u8 = 0xff;
/// Opcodes with numbers from this one on were without one once: records from before that have them by
/// name, and are read.
pub(super) const NAMED_BY_OLDER_WRITERS: u8 = 50;
/// Standard opcodes may have numbers below this one day.
pub(super) const NUMBERS: u8 = 64;

/// Kinds of operands in a general list; the low four bits say the width of what follows.
pub(super) mod kind {
    pub(in crate::codec::record) const END: u8 = 0x00;
    pub(in crate::codec::record) const INTEGER: u8 = 0x00;
    pub(in crate::codec::record) const TOKEN: u8 = 0x10;
    pub(in crate::codec::record) const STRING: u8 = 0x20;
    pub(in crate::codec::record) const MOVES: u8 = 0x30;
    pub(in crate::codec::record) const WIDE_MOVE: u8 = 0x42;
    pub(in crate::codec::record) const TYPED: u8 = 0x50;
    pub(in crate::codec::record) const NEGATIVE: u8 = 0x80;
}

/// The marker's bits for counters: 1, 2 or 3 for the shortest of int-1, int-2, int-4.
#[inline]
pub(super) fn counter_width(counters: Counters) -> u8 {
    match counters.halfmove_clock.max(counters.fullmove_number) {
        0..=0xff => 1,
        0x100..=0xffff => 2,
        _ => 3,
    }
}

/// The bytes of the shortest integer that holds a value: unsigned when it is not negative, two's
/// complement when it is.
pub(super) fn integer_width(value: i128) -> u8 {
    match value {
        -0x80..=0xff => 1,
        -0x8000..=0xffff => 2,
        -0x8000_0000..=0xffff_ffff => 4,
        _ => 8,
    }
}

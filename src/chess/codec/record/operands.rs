//! Operands of a record, and the bits, tags and widths of `formats/epd_record.md`.

use super::super::error::DecodeErrorKind;
use super::super::ordinal;
use crate::model::rules::{Move, Playable};
use crate::model::score::mate_target;
use crate::model::{Counters, Operand, Operands, StandardOpcode};
use crate::text::{Profile, san};

/// Whether the operands of an opcode are integers. Other opcodes have integers as unquoted
/// operands.
pub(super) fn has_integers(standard: Option<&StandardOpcode>) -> bool {
    standard.is_some_and(|entry| matches!(entry.operands, Operands::Integer(..)))
}

/// Reads an integer that a record can have, in its canonical spelling: without a plus sign and
/// without leading zeros. `None` for any other text.
pub(super) fn read_integer(text: &[u8]) -> Option<i128> {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    let is_plain = match digits {
        [] => false,
        [b'0', ..] => text == b"0",
        _ => digits.len() <= 20 && digits.iter().all(u8::is_ascii_digit),
    };
    if !is_plain {
        return None;
    }
    let value: i128 = std::str::from_utf8(text).ok()?.parse().ok()?;
    (i64::MIN.into()..=u64::MAX.into()).contains(&value).then_some(value)
}

/// True if the bytes are allowed between the quotes of an EPD string: they have no quote and no
/// control byte.
pub(super) fn is_string(bytes: &[u8]) -> bool {
    bytes.iter().all(|&byte| byte >= b' ' && byte != 0x7f && byte != b'"')
}

/// Whether the bytes can be an operand without quotes: printing ASCII, but no blank, quote or
/// semicolon.
pub(super) fn is_token(bytes: &[u8]) -> bool {
    !bytes.is_empty()
        && bytes.iter().all(|&byte| byte.is_ascii_graphic() && !b"\";".contains(&byte))
}

/// State while the move operands of an operation are coded: the position to which the ordinal of
/// the next move refers.
pub(super) struct Moves {
    now: Now,
    is_line: bool,
}

/// The position of the record or, in a line, the position after the moves so far.
enum Now {
    /// Moves that are legal in this position are coded by their ordinals.
    Position(Playable),
    /// Operands are coded as text even if they look like moves. The opcode takes no moves, or one of its
    /// operands is not a legal move.
    Text,
    /// No moves can be made in the position of the record.
    NotPlayable,
}

impl Moves {
    pub(super) fn new(root: Option<&Playable>, standard: Option<&StandardOpcode>) -> Moves {
        let form = standard.map(|entry| entry.operands);
        let now = match (form, root) {
            (Some(Operands::Move | Operands::MoveSet | Operands::MoveLine), Some(root)) => {
                Now::Position(*root)
            }
            (Some(Operands::Move | Operands::MoveSet | Operands::MoveLine), None) => {
                Now::NotPlayable
            }
            _ => Now::Text,
        };
        Moves { now, is_line: form == Some(Operands::MoveLine) }
    }

    /// Whether moves are coded as text here.
    pub(super) const fn are_text(&self) -> bool {
        matches!(self.now, Now::Text)
    }

    /// Returns the ordinal of a move, and plays it if it belongs to a line. `None` if the move is
    /// not legal here, or if its canonical text differs from `text`.
    pub(super) fn play_text(&mut self, mv: Move, text: &[u8]) -> Option<u16> {
        let Now::Position(now) = &self.now else { return None };
        let ordinal = ordinal::ordinal(now, mv)?;
        if san::format(now, mv).as_bytes() != text {
            return None;
        }
        self.play(mv);
        Some(ordinal)
    }

    /// Finds the legal move whose canonical text this is.
    pub(super) fn find(&self, text: &[u8]) -> Option<Move> {
        let Now::Position(now) = &self.now else { return None };
        let read = san::parse(now, text, Profile::Strict).ok()?;
        (read.san.as_bytes() == text).then_some(read.mv)
    }

    /// Moves over an unquoted operand that is not a legal move. If the operands are a line of
    /// moves, the position after this operand is unknown, unless the operand is a mate target.
    pub(super) fn pass_text(&mut self, text: &[u8]) {
        if self.is_line && mate_target(text).is_none() {
            self.now = Now::Text;
        }
    }

    /// Returns the move with this ordinal as an operand, and plays it if it belongs to a line.
    pub(super) fn operand(&mut self, ordinal: u16) -> Result<Operand, DecodeErrorKind> {
        let Now::Position(now) = &self.now else {
            return Err(DecodeErrorKind::Ordinal { ordinal, legal: 0 });
        };
        let Some(mv) = ordinal::move_at(now, ordinal) else {
            return Err(DecodeErrorKind::Ordinal { ordinal, legal: ordinal::count(now) });
        };
        let operand = Operand::Move { mv, san: san::format(now, mv) };
        self.play(mv);
        Ok(operand)
    }

    fn play(&mut self, mv: Move) {
        if self.is_line
            && let Now::Position(now) = &mut self.now
        {
            *now = now.after(mv);
        }
    }
}

/// Maximum length of a record in bytes.
pub const MAX_LEN: usize = 16 << 20;

/// The highest three bits of every marker.
pub(super) const MARKER: u8 = 0b1010_0000;
pub(super) const MARKER_MASK: u8 = 0b1110_0000;
/// Bits 0 and 1 of the marker. The value 0 means no counters. The values 1, 2 and 3 mean that each
/// of the two counters has one, two or four bytes.
pub(super) const COUNTERS: u8 = 0b0000_0011;
/// Bit of the marker: the record has an en passant square that is not part of the identity.
pub(super) const EN_PASSANT: u8 = 0b0000_0100;
/// Bit of the marker: the castling field had the letters of Shredder-FEN.
pub(super) const SHREDDER: u8 = 0b0000_1000;
/// Bit of the marker: operations follow.
pub(super) const OPERATIONS: u8 = 0b0001_0000;

/// Value that is added to the number of a standard opcode if its operands are a general list.
pub(super) const GENERAL: u8 = 0x40;
/// Value that is added to the length of an opcode that is not in the table of standard opcodes.
pub(super) const OTHER: u8 = 0x80;
pub(super) const NO_MORE_OPERATIONS: u8 = 0xff;
/// Standard opcodes from this number on had no number in older versions. Records of those versions
/// have these opcodes by name, and are still read.
pub(super) const NAMED_BY_OLDER_WRITERS: u8 = 50;
/// Numbers of standard opcodes, including future ones, are below this number.
pub(super) const NUMBERS: u8 = 64;

/// Kinds of operands in a general list. The low four bits are the width of the length or number
/// that follows.
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

/// Returns the bits of the marker for counters: 1, 2 or 3 for the shortest of int-1, int-2 and
/// int-4 that holds both.
#[inline]
pub(super) fn counter_width(counters: Counters) -> u8 {
    match counters.halfmove_clock.max(counters.fullmove_number) {
        0..=0xff => 1,
        0x100..=0xffff => 2,
        _ => 3,
    }
}

/// Returns the size in bytes of the shortest integer that holds a value. The integer is unsigned,
/// or in two's complement if the value is negative.
pub(super) fn integer_width(value: i128) -> u8 {
    match value {
        -0x80..=0xff => 1,
        -0x8000..=0xffff => 2,
        -0x8000_0000..=0xffff_ffff => 4,
        _ => 8,
    }
}

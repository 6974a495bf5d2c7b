//! Bits, tags and widths of a record, as `formats/epd_record.md` has them, and its operands.

use super::super::error::DecodeErrorKind;
use super::super::ordinal;
use crate::model::rules::{Move, Playable};
use crate::model::score::mate_target;
use crate::model::{Counters, Operand, Operands, StandardOpcode};
use crate::text::{Profile, san};

/// Whether an opcode takes integers; all others have them as unquoted operands.
pub(super) fn has_integers(standard: Option<&StandardOpcode>) -> bool {
    standard.is_some_and(|entry| matches!(entry.operands, Operands::Integer(..)))
}

/// The integer that a record can hold and whose text these bytes are: no sign but that of a
/// negative number, no needless zero.
pub(super) fn read_integer(text: &[u8]) -> Option<i128> {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    let is_plain = match digits {
        [] => false,
        [b'0', ..] => text == b"0",
        _ => digits.len() <= 20 && digits.iter().all(u8::is_ascii_digit),
    };
    let value: i128 = is_plain.then(|| std::str::from_utf8(text).ok()?.parse().ok())??;
    (i64::MIN.into()..=u64::MAX.into()).contains(&value).then_some(value)
}

/// Whether quotes around these bytes make an EPD string: no quote, no control byte.
pub(super) fn is_string(bytes: &[u8]) -> bool {
    bytes.iter().all(|&byte| byte >= b' ' && byte != 0x7f && byte != b'"')
}

/// Whether these bytes can stand as an operand without quotes: printing ASCII, but no blank, quote
/// or semicolon.
pub(super) fn is_token(bytes: &[u8]) -> bool {
    !bytes.is_empty()
        && bytes.iter().all(|&byte| byte.is_ascii_graphic() && !b"\";".contains(&byte))
}

/// Position in which the next move operand of an operation counts its ordinal.
pub(super) struct Moves {
    now: Now,
    is_line: bool,
}

/// The position of the record, and in lines the one after the moves so far.
enum Now {
    /// The moves that are legal here have ordinals.
    Position(Playable),
    /// The opcode takes no moves, or a line went on with something that is no legal move.
    Text,
    /// The record's position is not playable.
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

    /// Whether a move that stands here is its text.
    pub(super) const fn are_text(&self) -> bool {
        matches!(self.now, Now::Text)
    }

    /// The ordinal of a move that is legal here and has this text; the line goes on behind it.
    pub(super) fn play_text(&mut self, mv: Move, text: &[u8]) -> Option<u16> {
        let Now::Position(now) = &self.now else { return None };
        let ordinal = ordinal::ordinal(now, mv)?;
        let is_its_text = san::format(now, mv).as_bytes() == text;
        is_its_text.then(|| {
            self.play(mv);
            ordinal
        })
    }

    /// The legal move whose canonical text this is.
    pub(super) fn find(&self, text: &[u8]) -> Option<Move> {
        let Now::Position(now) = &self.now else { return None };
        let read = san::parse(now, text, Profile::Strict).ok()?;
        (read.san.as_bytes() == text).then_some(read.mv)
    }

    /// Goes over an unquoted operand that is no legal move: nobody knows the position behind it,
    /// unless it is a mate target.
    pub(super) fn pass_text(&mut self, text: &[u8]) {
        if self.is_line && mate_target(text).is_none() {
            self.now = Now::Text;
        }
    }

    /// The move with this ordinal as an operand; the line goes on behind it.
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
        if let (Now::Position(now), true) = (&mut self.now, self.is_line) {
            *now = now.after(mv);
        }
    }
}

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

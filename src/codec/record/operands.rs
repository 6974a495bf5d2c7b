//! Which operands an opcode takes, and which texts they have: what reader and writer share.

use super::super::error::DecodeErrorKind;
use super::super::ordinal;
use crate::model::rules::{Move, Playable};
use crate::model::score::mate_target;
use crate::model::{Operand, Operands, StandardOpcode};
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

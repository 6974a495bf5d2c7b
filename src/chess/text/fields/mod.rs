//! The four fields that FEN and EPD share, and the two counters of FEN (`formats/epd_text.md`).
//!
//! `read` accepts every field that a profile allows, and reports faults. `read_pieces` and
//! `read_usual` accept only the form that nearly all lines have, and make no [`Position`].
//! [`Line`] writes.

mod castling;
pub(super) mod en_passant;
mod line;
mod placement;
mod usual;

pub use castling::side_letter;
pub use castling::{CLASSIC, CastlingText};
pub use line::{CounterText, Line, Placement};
pub(crate) use line::{room_behind, write_behind};
#[cfg(target_arch = "x86_64")]
pub(crate) use placement::avx512;
#[cfg(any(
    target_arch = "x86_64",
    all(target_arch = "aarch64", target_feature = "neon", target_endian = "little")
))]
pub use placement::lanes;
pub(crate) use placement::{
    CodeBits, PairNumbers, PieceNumbers, ROOM, gather_codes, hash_of_board, pair_numbers,
    read_pieces, scatter_codes, write_pieces,
};
pub use placement::{Letters, Pieces, piece_code, place};
pub(crate) use usual::{UsualFields, read_usual};

use super::codes;
use super::diagnostic::{Diagnostic, shown};
use super::options::{CastlingForm, EnPassantForm, Profile};
use super::scan::Word;
use crate::model::rules::en_passant_is_possible;
use crate::model::{CastlingDialect, Color, Counters, Position};

/// Reads the four fields of a position.
pub(super) fn read(
    [placement, turn, castling, en_passant]: [Word; 4],
    profile: Profile,
    warnings: &mut Vec<Diagnostic>,
) -> Result<(Position, CastlingDialect), Diagnostic> {
    let placement = without_last_solidus(placement, profile, warnings);
    let board =
        placement::read_board(placement.text).ok_or_else(|| placement::diagnose(placement))?;
    let turn = read_turn(turn)?;
    let rights = castling::read(castling, &board, profile, warnings)?;
    let target = en_passant::read(en_passant, turn, profile, warnings)?;
    let mut position = Position::new(board, turn, rights.castling, target).map_err(|error| {
        // Cannot happen, because castling rights and en passant square have been checked.
        Diagnostic::error(codes::E_POS_CASTLE, castling.column(), error.to_string())
    })?;
    if profile == Profile::Lenient && !en_passant_is_possible(&position) {
        warnings
            .push(en_passant::dropped_square(en_passant, "no double step can have passed over it"));
        position = position.with_en_passant(None).unwrap_or(position);
    }
    let dialect = rights.dialect();
    Ok((position, dialect))
}

/// Whether a text is a placement, with or without a final solidus.
pub(super) fn is_placement(text: &[u8]) -> bool {
    placement::read_board(text.strip_suffix(b"/").unwrap_or(text)).is_some()
}

/// Drops a solidus (`/`) after the last rank, in the lenient profile only.
fn without_last_solidus<'a>(
    placement: Word<'a>,
    profile: Profile,
    warnings: &mut Vec<Diagnostic>,
) -> Word<'a> {
    let Some(text) = placement.text.strip_suffix(b"/") else { return placement };
    if profile != Profile::Lenient || placement::read_board(text).is_none() {
        return placement;
    }
    let message = "a solidus after the last rank dropped";
    let column = placement.column() + text.len();
    let warning = Diagnostic::warning(codes::W_LEN_SOLIDUS, column, message);
    warnings.push(warning.with_repair(*b"/", *b""));
    Word { text, ..placement }
}

fn read_turn(word: Word) -> Result<Color, Diagnostic> {
    match word.text {
        b"w" | b"W" => Ok(Color::White),
        b"b" | b"B" => Ok(Color::Black),
        other => {
            let message = format!("the side to move must be `w` or `b`, not {}", shown(other));
            Err(Diagnostic::error(codes::E_FEN_COLOR, word.column(), message))
        }
    }
}

/// Appends the four fields of a position. [`CastlingForm::Keep`] means X-FEN here, because a
/// position does not have the letters of its text.
///
/// ```
/// use epdb_chess::model::Position;
/// use epdb_chess::text::{CastlingForm, EnPassantForm, fen};
/// let mut out = Vec::new();
/// fen::format_fields(&Position::START, CastlingForm::Shredder, EnPassantForm::Keep, &mut out);
/// assert_eq!(out, b"rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w HAha -");
/// ```
pub fn write(
    position: &Position,
    castling: CastlingForm,
    en_passant: EnPassantForm,
    out: &mut Vec<u8>,
) {
    write_with_counters(position, castling, en_passant, CounterText::None, out);
}

/// Does the same as [`write()`], and appends the counters.
pub fn write_with_counters(
    position: &Position,
    castling: CastlingForm,
    en_passant: EnPassantForm,
    counters: CounterText,
    out: &mut Vec<u8>,
) {
    let line = Line {
        placement: Placement::Board(position.board()),
        turn: position.turn(),
        castling: CastlingText::new(position, castling),
        en_passant: en_passant::shown_square(position, en_passant),
        counters,
    };
    line.write(out);
}

/// Reads fields 5 and 6, the counters.
pub(super) fn read_counters(clock: Word, number: Word) -> Result<Counters, Diagnostic> {
    let halfmove_clock = decimal(clock.text).ok_or_else(|| {
        let message = format!(
            "the halfmove clock must be an integer from 0 to {}, not {}",
            u32::MAX,
            shown(clock.text)
        );
        Diagnostic::error(codes::E_FEN_HMVC, clock.column(), message)
    })?;
    let fullmove_number = decimal(number.text).filter(|&value| value > 0).ok_or_else(|| {
        let message = format!(
            "the fullmove number must be an integer from 1 to {}, not {}",
            u32::MAX,
            shown(number.text)
        );
        Diagnostic::error(codes::E_FEN_FMVN, number.column(), message)
    })?;
    Ok(Counters { halfmove_clock, fullmove_number })
}

fn decimal(digits: &[u8]) -> Option<u32> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0u32, |value, &digit| {
        if !digit.is_ascii_digit() {
            return None;
        }
        value.checked_mul(10)?.checked_add(u32::from(digit - b'0'))
    })
}

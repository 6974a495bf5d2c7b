//! From a packed board to the fields of a line.

use byteorder::{ByteOrder, LittleEndian};

use crate::codec::error::DecodeError;
use crate::codec::packed::{self, BLACK_KING, KING_TO_MOVE, WHITE_KING};
use crate::model::{Color, Counters, Square, en_passant_rank};
use crate::text::fields::{self, CLASSIC, CounterText, InstructionSet, Letters, Line, Placement};
use crate::text::{CastlingForm, EnPassantForm};

/// The letters of the codes of a packed board, by the side to move: the pawn of a double step is
/// the other side's.
static LETTERS: [Letters; 2] =
    [Letters::new(*b"pPnNbBrRqQkKpRrk"), Letters::new(*b"pPnNbBrRqQkKPRrk")];

/// Appends the four fields of the packed board at the start of these bytes in canonical form,
/// with the en passant square if the board has one.
///
/// # Errors
/// [`DecodeError`] when the bytes are no packed board; that they are one is not proved by success.
///
/// ```
/// use epdb::{codec::{identity, packed}, model::Position};
/// let mut text = Vec::new();
/// identity::write_fields(packed::encode(&Position::START).as_bytes(), &mut text)?;
/// assert_eq!(text, b"rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -");
/// # Ok::<(), epdb::codec::error::DecodeError>(())
/// ```
pub fn write_fields(board: &[u8], out: &mut Vec<u8>) -> Result<(), DecodeError> {
    write_line(board, None, None, out)
}

/// As [`write_fields`], with these instructions instead of the fastest: for tests and benchmarks.
///
/// # Errors
/// As [`write_fields`].
#[doc(hidden)]
pub fn write_fields_with(
    instructions: InstructionSet,
    board: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), DecodeError> {
    write_line_with(instructions, board, None, None, out)
}

/// Appends the canonical line of a record without operations: its packed identity board, the file,
/// 0 to 7, of an en passant square that is not part of the identity, the counters.
pub(crate) fn write_line(
    board: &[u8],
    en_passant: Option<u8>,
    counters: Option<Counters>,
    out: &mut Vec<u8>,
) -> Result<(), DecodeError> {
    write_line_with(InstructionSet::fastest(), board, en_passant, counters, out)
}

#[inline]
fn write_line_with(
    instructions: InstructionSet,
    board: &[u8],
    en_passant: Option<u8>,
    counters: Option<Counters>,
    out: &mut Vec<u8>,
) -> Result<(), DecodeError> {
    let counters = counters.map_or(CounterText::None, CounterText::Fields);
    let Some((occupied, codes, specials)) = usual(board) else {
        return write_unusual(board, en_passant, counters, out);
    };
    let Specials { turn, castling, double_step } = specials;
    let file = double_step.or(en_passant);
    let line = Line {
        placement: Placement::Pieces { occupied, codes: &codes, letters: &LETTERS[turn as usize] },
        turn,
        castling: CLASSIC[usize::from(castling & 15)],
        en_passant: file.map(|file| Square::at(file, en_passant_rank(turn))),
        counters,
    };
    line.write_with(instructions, out);
    Ok(())
}

/// The way through a position.
#[cold]
fn write_unusual(
    board: &[u8],
    en_passant: Option<u8>,
    counters: CounterText,
    out: &mut Vec<u8>,
) -> Result<(), DecodeError> {
    let (mut position, _) = packed::decode(board)?;
    if let (None, Some(file)) = (position.en_passant(), en_passant) {
        let target = Square::at(file, en_passant_rank(position.turn()));
        position = position.with_en_passant(Some(target)).unwrap_or(position);
    }
    let (castling, en_passant) = (CastlingForm::XFen, EnPassantForm::Keep);
    fields::write_with_counters(&position, castling, en_passant, counters, out);
    Ok(())
}

/// Occupancy, codes and specials of a packed board in the plain form with classic castling rights;
/// `None` for any other. Bytes that are no packed board give something without meaning or `None`.
fn usual(board: &[u8]) -> Option<(u64, [u8; 16], Specials)> {
    let occupied = board.get(..8).map(LittleEndian::read_u64)?;
    let pieces = occupied.count_ones() as usize;
    let stored = board.get(8..8 + pieces.div_ceil(2))?;
    let mut codes = [0; 16];
    codes.get_mut(..stored.len())?.copy_from_slice(stored);
    if pieces == 0 {
        return None;
    }
    let specials = Specials::find(occupied, u128::from_le_bytes(codes))?;
    Some((occupied, codes, specials))
}

/// What the codes from 12 on say.
struct Specials {
    turn: Color,
    /// `K`, `Q`, `k`, `q` from bit 0 on.
    castling: u8,
    /// The file of the pawn that just made a double step.
    double_step: Option<u8>,
}

impl Specials {
    /// `None` when a right is not classic.
    fn find(occupied: u64, codes: u128) -> Option<Specials> {
        const ONES: u128 = u128::MAX / 15;
        // A 1 at the bottom of each nibble: which are 12 or more, and their two low bits.
        let special = codes >> 3 & codes >> 2 & ONES;
        let (low, high) = (codes & ONES, codes >> 1 & ONES);
        let double_steps = special & !low & !high;
        let double_step = (double_steps != 0).then(|| {
            let nth = double_steps.trailing_zeros() / 4;
            square_of(occupied, nth) & 7
        });
        Some(Specials {
            turn: if special & low & high != 0 { Color::Black } else { Color::White },
            castling: classic_rights(occupied, codes, special & (low ^ high))?,
            double_step,
        })
    }
}

/// The set of the rights of these rooks, given as a 1 at the bottom of each one's nibble.
fn classic_rights(occupied: u64, codes: u128, rooks: u128) -> Option<u8> {
    if rooks == 0 {
        return Some(0);
    }
    // How far the code of the piece on a square is from the bottom, if one is there.
    let shift = |square: u32| ((occupied & ((1 << square) - 1)).count_ones() * 4) & 127;
    let stands = |square: u32| occupied >> square & 1 == 1;
    let right = |square, bit: u32| -> u8 {
        let is_there = stands(square) && rooks >> shift(square) & 1 == 1;
        u8::from(is_there) << bit
    };
    let rights = right(7, 0) | right(0, 1) | right(63, 2) | right(56, 3);
    let king_is_home = |square, king| {
        stands(square) && [king, KING_TO_MOVE].contains(&((codes >> shift(square)) as u8 & 15))
    };
    let classic = rights.count_ones() == rooks.count_ones()
        && (rights & 3 == 0 || king_is_home(4, WHITE_KING))
        && (rights & 12 == 0 || king_is_home(60, BLACK_KING));
    classic.then_some(rights)
}

/// The square of the piece at a place among the pieces.
fn square_of(occupied: u64, nth: u32) -> u8 {
    let mut rest = occupied;
    for _ in 0..nth {
        rest &= rest - 1;
    }
    rest.trailing_zeros() as u8
}

//! Fast reader of the fields after the placement, for lines in the usual form.

use super::castling::classic_set;
use crate::model::{Color, Square, en_passant_rank};

/// The fields after the piece placement.
pub(crate) struct UsualFields {
    pub turn: Color,
    /// The set of rights: bits 0 to 3 are `K`, `Q`, `k`, `q`. The squares of kings and rooks have
    /// not been checked.
    pub castling: u8,
    pub en_passant: Option<Square>,
    /// Place after the fields: the end of the line, or a blank.
    pub(crate) end: usize,
}

/// Reads side to move, castling rights and en passant square after a placement of `placement`
/// bytes. The fields must have the form of nearly all lines: rights `KQkq`, and one blank between
/// fields. `None` for any other form.
#[inline]
pub(crate) fn read_usual(line: &[u8], placement: usize) -> Option<UsualFields> {
    let tail = word_at(line, placement)?;
    let black_moves = tail as u16 >> 8 == u16::from(b'b');
    let (turn, expected) =
        if black_moves { (Color::Black, b" b \0") } else { (Color::White, b" w \0") };
    if tail as u32 & 0x00ff_ffff != u32::from_le_bytes(*expected) {
        return None;
    }
    let castling = tail >> 24;
    let len = letters(castling);
    let castling = classic_set(castling & ((0x100 << (len * 8)) - 1))?;

    let at = placement + 4 + len;
    // The square, and the blank after it.
    let [file, second, third, ..] = word_at(line, at)?.to_le_bytes();
    let (en_passant, end, behind) = match file {
        b'-' => (None, at + 1, second),
        b'a'..=b'h' if second == b'1' + en_passant_rank(turn) => {
            (Some(Square::at(file - b'a', en_passant_rank(turn))), at + 2, third)
        }
        _ => return None,
    };
    let ends = behind == b' ' || line.len() == end;
    ends.then_some(UsualFields { turn, castling, en_passant, end })
}

/// Eight bytes, beginning at a place, with zeros after the end of the line.
#[inline]
fn word_at(line: &[u8], at: usize) -> Option<u64> {
    // A usual line has more than eight bytes.
    let from = at.min(line.len().checked_sub(8)?);
    let word = u64::from_le_bytes(*line.get(from..)?.first_chunk()?);
    word.checked_shr((at - from) as u32 * 8)
}

/// Number of letters of rights (or of the dash) at the start of the bytes, at most four. The lowest
/// bit of these letters is 1; that of a blank is 0.
const fn letters(bytes: u64) -> usize {
    const LOWEST: u64 = 0x0101_0101;
    (((!bytes & LOWEST) | 1 << 32).trailing_zeros() / 8) as usize
}

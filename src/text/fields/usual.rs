//! Fast path for the fields after the placement of a usual line.

use super::castling::classic_set;
use crate::model::{Color, Square, en_passant_rank};

/// The fields after the placement.
pub(crate) struct UsualFields {
    pub(crate) turn: Color,
    /// `K`, `Q`, `k`, `q` from bit 0 on. The places of kings and rooks have not been checked.
    pub(crate) castling: u8,
    pub(crate) en_passant: Option<Square>,
    /// End of the fields: at the end of the line or before a blank.
    pub(crate) end: usize,
}

/// Reads side to move, castling and en passant square after a placement of this length, in the form of
/// nearly all lines: rights `KQkq`, one blank between fields. `None` for anything else.
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
    // The square and the blank after it.
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

/// Eight bytes from a place on, with zeros after the end of the line.
#[inline]
fn word_at(line: &[u8], at: usize) -> Option<u64> {
    // A line with a placement and the four blanks has more than eight bytes.
    let from = at.min(line.len().checked_sub(8)?);
    let word = u64::from_le_bytes(*line.get(from..)?.first_chunk()?);
    word.checked_shr((at - from) as u32 * 8)
}

/// Number of letters of rights, or of the dash, at the start of the bytes: their lowest bit is set, and
/// that of a blank is not. At most four.
const fn letters(bytes: u64) -> usize {
    const LOWEST: u64 = 0x0101_0101;
    (((!bytes & LOWEST) | 1 << 32).trailing_zeros() / 8) as usize
}

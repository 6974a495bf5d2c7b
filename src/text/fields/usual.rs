//! The fields behind the placement of a usual line, read at one go.

use super::castling::classic_set;
use crate::model::{Color, Square, en_passant_rank};

/// What the fields behind the placement say.
pub(crate) struct UsualFields {
    pub(crate) turn: Color,
    /// `K`, `Q`, `k`, `q` from bit 0 on; whether kings and rooks are there has not been looked at.
    pub(crate) castling: u8,
    pub(crate) en_passant: Option<Square>,
    /// Where they end in the line: at its end or before a blank.
    pub(crate) end: usize,
}

/// Reads side to move, castling and en passant square behind a placement of this length, as nearly
/// all lines have them: rights `KQkq`, one blank between fields. `None` for anything else.
#[inline]
pub(crate) fn read_usual(line: &[u8], placement: usize) -> Option<UsualFields> {
    let tail = Tail::new(line, placement)?;
    let turn = match tail.byte(1) {
        b'w' => Color::White,
        b'b' => Color::Black,
        _ => return None,
    };
    let castling = (tail.0 >> 24) as u64;
    let blank = first_blank(castling);
    if blank > 32 || tail.byte(0) != b' ' || tail.byte(2) != b' ' {
        return None;
    }
    let castling = classic_set((castling & ((1 << blank) - 1)) as u32)?;

    let at = 4 + blank / 8;
    let (en_passant, len) = match tail.byte(at) {
        b'-' => (None, at + 1),
        file @ b'a'..=b'h' if tail.byte(at + 1) == b'1' + en_passant_rank(turn) => {
            (Some(Square::at(file - b'a', en_passant_rank(turn))), at + 2)
        }
        _ => return None,
    };
    let end = placement + len as usize;
    let ends = tail.byte(len) == b' ' || line.len() == end;
    ends.then_some(UsualFields { turn, castling, en_passant, end })
}

/// What stands behind the placement, at most sixteen bytes of it: the three fields with their
/// blanks are eleven. Behind the end of the line there are zeros.
struct Tail(u128);

impl Tail {
    fn new(line: &[u8], at: usize) -> Option<Tail> {
        let rest = line.get(at..)?;
        let tail = match rest.first_chunk() {
            Some(bytes) => u128::from_le_bytes(*bytes),
            // A placement with a piece in it has at least sixteen bytes itself.
            None => u128::from_le_bytes(*line.last_chunk()?) >> (8 * (16 - rest.len())),
        };
        Some(Tail(tail))
    }

    fn byte(&self, at: u32) -> u8 {
        (self.0 >> (at * 8)) as u8
    }
}

/// The bits before the first blank in eight bytes, 64 when there is none.
const fn first_blank(bytes: u64) -> u32 {
    const ONES: u64 = u64::MAX / 255;
    let differ = bytes ^ (ONES * b' ' as u64);
    // The lowest byte that is zero is found exactly.
    let zero = differ.wrapping_sub(ONES) & !differ & ONES << 7;
    zero.trailing_zeros() & !7
}

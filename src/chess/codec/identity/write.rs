//! Writing of a packed board as the fields of a line.

use byteorder::{ByteOrder, LittleEndian};

use super::back_ranks::{BackRank, BackRanks, outermost};
use super::read::pawn_beside;
use crate::codec::error::DecodeError;
use crate::codec::packed::{
    self, BLACK_KING, BLACK_ROOK, CASTLING_ROOK, KING_TO_MOVE, WHITE_KING, WHITE_ROOK,
};
use crate::model::{Color, Square, en_passant_rank};
use crate::simd::InstructionSet;
use crate::text::fields::{
    self, CLASSIC, CounterText, Letters, ROOM, room_behind, write_behind, write_pieces,
};
use crate::text::{CastlingForm, EnPassantForm};

/// The letters of the codes of a packed board, indexed by the side to move. The pawn that just made
/// a double step belongs to the other side.
pub(super) static LETTERS: [Letters; 2] =
    [Letters::new(*b"pPnNbBrRqQkKpRrk"), Letters::new(*b"pPnNbBrRqQkKPRrk")];

/// The facts of a position that its packed board does not have.
pub(super) struct Beside {
    /// The file, 0 to 7, of an en passant square that is not part of the identity.
    pub(super) en_passant: Option<u8>,
    pub(super) counters: CounterText,
}

impl Beside {
    pub(super) const NOTHING: Beside = Beside { en_passant: None, counters: CounterText::None };

    /// Returns the en passant square for this side to move.
    #[inline(always)]
    pub(super) fn target(&self, turn: Color) -> Option<Square> {
        self.en_passant.map(|file| Square::at(file, en_passant_rank(turn)))
    }
}

/// Appends the text of a usual board, by code that runs on every processor. `None` for other
/// boards, and for bytes that are not a packed board.
#[inline(always)]
pub(super) fn write_anywhere(
    instructions: InstructionSet,
    board: &[u8],
    beside: &Beside,
    out: &mut Vec<u8>,
) -> Option<()> {
    let (occupied, count, codes) = plain(board)?;
    let specials = Specials::find(occupied, count, codes)?;
    let letters = &LETTERS[specials.turn as usize];
    let start = out.len();
    let room = room_behind(out)?;
    let len = write_pieces(occupied, &codes.to_le_bytes(), letters, instructions, room);
    let len = specials.write_behind(room, len, beside);
    out.truncate(start + len);
    Some(())
}

/// Appends the text of any board, by decoding its position.
#[cold]
pub(super) fn write_unusual(board: &[u8], out: &mut Vec<u8>) -> Result<(), DecodeError> {
    let (position, _) = packed::decode(board)?;
    let castling = CastlingForm::XFen;
    let en_passant = EnPassantForm::Keep;
    fields::write_with_counters(&position, castling, en_passant, CounterText::None, out);
    Ok(())
}

/// Whether the en passant square of a file is idle: no pawn can capture on it. An idle square is
/// not part of the identity of this packed board.
pub(super) fn is_idle(board: &[u8], file: u8) -> bool {
    if file > 7 {
        return false;
    }
    let Some((occupied, _, codes)) = plain(board) else { return false };
    let turn = turn_of(special(codes), codes);
    let target = Square::at(file, en_passant_rank(turn));
    !pawn_beside(occupied, codes, target, turn)
}

/// Splits a packed board in plain form. Returns the occupied squares, their number, and the codes
/// with the first in the lowest bits. `None` for any other form. If the bytes are not a packed
/// board, the result is `None` or has no meaning.
#[inline(always)]
pub(super) fn plain(board: &[u8]) -> Option<(u64, u32, u128)> {
    let occupied = board.get(..8).map(LittleEndian::read_u64)?;
    let count = occupied.count_ones();
    let len = (count as usize).div_ceil(2);
    if count == 0 || len > 16 {
        return None;
    }
    let stored = board.get(..8 + len)?;
    let codes = match stored.last_chunk() {
        // A copy of a variable number of bytes would take longer than this shift.
        Some(last) => u128::from_le_bytes(*last) >> (8 * (16 - len)),
        None => {
            let mut codes = [0; 16];
            codes[..len].copy_from_slice(&stored[8..]);
            u128::from_le_bytes(codes)
        }
    };
    Some((occupied, count, codes))
}

/// Whether only zeros follow the code of the last piece.
#[inline(always)]
pub(super) fn codes_end(codes: u128, count: u32) -> bool {
    // The codes of 32 pieces fill all bits, and then nothing follows.
    let behind_last = codes.checked_shr(4 * count).unwrap_or(0);
    behind_last == 0
}

/// The lowest bit of each code.
const ONES: u128 = u128::MAX / 15;

/// Returns the lowest bit of each special code (12 and above).
#[inline(always)]
fn special(codes: u128) -> u128 {
    codes >> 3 & codes >> 2 & ONES
}

/// Finds the side to move from the special codes (12 and above).
#[inline(always)]
fn turn_of(special: u128, codes: u128) -> Color {
    if special & codes & codes >> 1 != 0 { Color::Black } else { Color::White }
}

/// Numbers of the kings of a board, by their codes.
pub(super) struct KingCounts {
    pub(super) white: u32,
    /// Number of black kings with the code for White to move.
    pub(super) waiting: u32,
    pub(super) to_move: u32,
}

impl KingCounts {
    /// Whether a board with these castling rights, as in [`Specials`], can have these kings. All black
    /// kings must have the same code, and a side with a castling right must have exactly one king.
    #[inline(always)]
    pub(super) const fn fit(&self, castling: u8) -> bool {
        (self.waiting == 0 || self.to_move == 0)
            && (castling & 3 == 0 || self.white == 1)
            && (castling >> 2 == 0 || self.waiting + self.to_move == 1)
    }
}

/// The facts that the special codes (12 and above) give.
pub(super) struct Specials {
    pub(super) turn: Color,
    /// The set of castling rights: bits 0 to 3 are `K`, `Q`, `k`, `q`.
    pub(super) castling: u8,
}

impl Specials {
    /// Finds the facts that the special codes (12 and above) of a board give. `None` if a pawn just made
    /// a double step, or if a rook with a castling right is not the outermost. Also `None` if the codes
    /// do not describe a valid board.
    #[inline(always)]
    pub(super) fn find(occupied: u64, count: u32, codes: u128) -> Option<Specials> {
        let special = special(codes);
        let low = codes & ONES;
        let high = codes >> 1 & ONES;
        let double_steps = special & !low & !high;
        if !codes_end(codes, count) || double_steps != 0 {
            return None;
        }
        let rooks = [special & low & !high, special & high & !low];
        let castling = usual_rights(occupied, count, codes, rooks)?;
        let kings = codes >> 3 & high & !special;
        let kings = KingCounts {
            white: (kings & low).count_ones(),
            waiting: (kings & !low).count_ones(),
            to_move: (special & low & high).count_ones(),
        };
        let turn = turn_of(special, codes);
        kings.fit(castling).then_some(Specials { turn, castling })
    }

    /// Writes the text after a placement of `placement` bytes. Returns the length of the placement
    /// and this text together.
    #[inline(always)]
    pub(super) fn write_behind(
        &self,
        room: &mut [u8; ROOM],
        placement: usize,
        beside: &Beside,
    ) -> usize {
        let turn = self.turn;
        let castling = &CLASSIC[usize::from(self.castling & 15)];
        write_behind(room, placement, turn, castling, beside.target(turn), &beside.counters)
    }
}

/// Returns the set of castling rights, as in [`Specials`]. `rooks` has a mask of White's rooks with a
/// castling right, and then one of Black's. A mask has the lowest bit of the code of each rook. `None` if
/// a rook in `rooks` is not the outermost on its side of the king.
#[inline(always)]
fn usual_rights(occupied: u64, count: u32, codes: u128, rooks: [u128; 2]) -> Option<u8> {
    let ranks = BackRanks::new(occupied, count);
    let [first, last] = [rooks[0] as u32, (rooks[1] >> ranks.last) as u32];
    let stands = |square: u32| (occupied >> square) as u32 & 1;
    let right = |square: u32, rooks: u32| stands(square) & rooks & 1;
    let [k, q] = [right(7, first >> ranks.to_h[0]), right(0, first)];
    let [bk, bq] = [right(63, last >> ranks.to_h[1]), right(56, last)];
    let black = u128::from(bk << ranks.to_h[1] | bq) << ranks.last;
    let of_corners = [u128::from(k << ranks.to_h[0] | q), black];

    let [on_e1, on_e8] = [codes as u32, (codes >> ranks.last) as u32];
    let [on_e1, on_e8] =
        [on_e1 >> ranks.to_e[0], on_e8 >> ranks.to_e[1]].map(|code| code as u8 & 15);
    let white_is_home = stands(4) == 1 && on_e1 == WHITE_KING;
    let black_is_home = stands(60) == 1 && (on_e8 == BLACK_KING || on_e8 == KING_TO_MOVE);
    let classic =
        rooks == of_corners && (k | q == 0 || white_is_home) && (bk | bq == 0 || black_is_home);
    if classic {
        return Some((k | q << 1 | bk << 2 | bq << 3) as u8);
    }
    outermost_rights(occupied, codes, rooks[0] | rooks[1], ranks.last)
}

/// Does the same as [`usual_rights`], for kings and rooks on any square of the back rank. `rooks` is one
/// mask for both sides. The codes of Black's back rank begin at bit `last`.
#[inline(never)]
fn outermost_rights(occupied: u64, codes: u128, rooks: u128, last: u32) -> Option<u8> {
    let [white, black] = BackRank::both(occupied, codes, last);
    let [white_rooks, black_rooks] = [white.each(CASTLING_ROOK), black.each(CASTLING_ROOK + 1)];
    let are_elsewhere = u128::from(white_rooks) | u128::from(black_rooks) << last != rooks;
    if are_elsewhere {
        return None;
    }
    let black_king = black.each(BLACK_KING) | black.each(KING_TO_MOVE);
    let white_rights =
        rights_of_rank(white_rooks, white.each(WHITE_ROOK), white.each(WHITE_KING), white.edges)?;
    let black_rights =
        rights_of_rank(black_rooks, black.each(BLACK_ROOK), black_king, black.edges)?;
    Some(white_rights | black_rights << 2)
}

/// Returns the rights of one side: bit 0 is the king's side, bit 1 the queen's side. `with_rights`
/// are the rooks with a castling right, and `rooks` the others.
fn rights_of_rank(with_rights: u32, rooks: u32, king: u32, edges: u32) -> Option<u8> {
    if with_rights == 0 {
        return Some(0);
    }
    if king & edges != 0 {
        return None;
    }
    let [of_king_side, of_queen_side] = outermost(rooks | with_rights, king)?;
    let is_outermost = with_rights & !(of_king_side | of_queen_side) == 0;
    let [k, q] = [of_king_side, of_queen_side].map(|rook| with_rights & rook != 0);
    is_outermost.then_some(u8::from(k) | u8::from(q) << 1)
}

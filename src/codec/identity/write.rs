//! From a packed board to the fields of a line.

use byteorder::{ByteOrder, LittleEndian};

use super::back_ranks::{BackRank, BackRanks, outermost};
use crate::codec::error::DecodeError;
use crate::codec::packed::{
    self, BLACK_KING, BLACK_ROOK, CASTLING_ROOK, KING_TO_MOVE, WHITE_KING, WHITE_ROOK,
};
use crate::model::{Color, Square, en_passant_rank};
use crate::text::fields::{
    self, CLASSIC, CounterText, InstructionSet, Letters, ROOM, room_behind, write_behind,
    write_pieces,
};
use crate::text::{CastlingForm, EnPassantForm};

/// The letters of the codes of a packed board, by the side to move: the pawn of a double step is
/// the other side's.
pub(super) static LETTERS: [Letters; 2] =
    [Letters::new(*b"pPnNbBrRqQkKpRrk"), Letters::new(*b"pPnNbBrRqQkKPRrk")];

/// What a line says beside its packed board.
pub(super) struct Beside {
    /// The file, 0 to 7, of an en passant square that is not part of the identity.
    pub(super) en_passant: Option<u8>,
    pub(super) counters: CounterText,
}

impl Beside {
    pub(super) const NOTHING: Beside = Beside { en_passant: None, counters: CounterText::None };

    /// The en passant square.
    #[inline(always)]
    pub(super) fn target(&self, turn: Color) -> Option<Square> {
        self.en_passant.map(|file| Square::at(file, en_passant_rank(turn)))
    }
}

/// The way that every machine can go.
#[inline(always)]
pub(super) fn write_anywhere(
    instructions: InstructionSet,
    board: &[u8],
    beside: &Beside,
    out: &mut Vec<u8>,
) -> Result<(), DecodeError> {
    match write_usual(instructions, board, beside, out) {
        Some(()) => Ok(()),
        None => write_unusual(board, beside, out),
    }
}

/// The way of usual boards; `None` for others.
#[inline(always)]
fn write_usual(
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

/// The way through a position.
#[cold]
pub(super) fn write_unusual(
    board: &[u8],
    beside: &Beside,
    out: &mut Vec<u8>,
) -> Result<(), DecodeError> {
    let (mut position, _) = packed::decode(board)?;
    if let (None, Some(target)) = (position.en_passant(), beside.target(position.turn())) {
        position = position.with_en_passant(Some(target)).unwrap_or(position);
    }
    let (castling, en_passant) = (CastlingForm::XFen, EnPassantForm::Keep);
    fields::write_with_counters(&position, castling, en_passant, beside.counters, out);
    Ok(())
}

/// The occupied squares of a packed board in the plain form, how many they are, and the codes, the
/// first at the bottom; `None` for any other. Bytes that are no packed board give something without
/// meaning or `None`.
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
        // A copy of as many bytes as there are costs more than a shift.
        Some(last) => u128::from_le_bytes(*last) >> (8 * (16 - len)),
        None => {
            let mut codes = [0; 16];
            codes[..len].copy_from_slice(&stored[8..]);
            u128::from_le_bytes(codes)
        }
    };
    Some((occupied, count, codes))
}

/// What the codes from 12 on say.
pub(super) struct Specials {
    pub(super) turn: Color,
    /// `K`, `Q`, `k`, `q` from bit 0 on.
    pub(super) castling: u8,
    /// The file of the pawn that just made a double step.
    pub(super) double_step: Option<u8>,
}

impl Specials {
    /// `None` when a right is not of the outermost rook.
    #[inline(always)]
    pub(super) fn find(occupied: u64, count: u32, codes: u128) -> Option<Specials> {
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
            castling: usual_rights(occupied, count, codes, special & (low ^ high))?,
            double_step,
        })
    }

    /// Writes the text behind a placement of this length, and gives the length of both.
    #[inline(always)]
    pub(super) fn write_behind(
        &self,
        room: &mut [u8; ROOM],
        placement: usize,
        beside: &Beside,
    ) -> usize {
        let turn = self.turn;
        let double_step = self.double_step.map(|file| Square::at(file, en_passant_rank(turn)));
        let target = double_step.or_else(|| beside.target(turn));
        let castling = &CLASSIC[usize::from(self.castling & 15)];
        write_behind(room, placement, turn, castling, target, &beside.counters)
    }
}

/// The set of the rights of these rooks, given as a 1 at the bottom of each one's nibble; `None` when
/// one is not the outermost on its side of the king.
#[inline(always)]
fn usual_rights(occupied: u64, count: u32, codes: u128, rooks: u128) -> Option<u8> {
    let ranks = BackRanks::of(occupied, count);
    let [first, last] = [rooks as u32, (rooks >> ranks.last) as u32];
    let stands = |square: u32| (occupied >> square) as u32 & 1;
    let right = |square: u32, rooks: u32| stands(square) & rooks & 1;
    let [k, q] = [right(7, first >> ranks.to_h[0]), right(0, first)];
    let [bk, bq] = [right(63, last >> ranks.to_h[1]), right(56, last)];
    let black = u128::from(bk << ranks.to_h[1] | bq) << ranks.last;
    let of_corners = u128::from(k << ranks.to_h[0] | q) | black;

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
    outermost_rights(occupied, codes, rooks, ranks.last)
}

/// As [`usual_rights`], wherever on their ranks king and rooks stand; Black's codes begin this many
/// bits up.
#[inline(never)]
fn outermost_rights(occupied: u64, codes: u128, rooks: u128, last: u32) -> Option<u8> {
    let of_rank = |with_rights: u32, rooks: u32, king: u32| {
        if with_rights == 0 {
            return Some(0);
        }
        let [of_king_side, of_queen_side] = outermost(rooks | with_rights, king)?;
        let is_outermost = with_rights & !(of_king_side | of_queen_side) == 0;
        let [k, q] = [of_king_side, of_queen_side].map(|rook| with_rights & rook != 0);
        is_outermost.then_some(u8::from(k) | u8::from(q) << 1)
    };
    let [white, black] = BackRank::both(occupied, codes, last);
    let [first, second] = [white.each(CASTLING_ROOK), black.each(CASTLING_ROOK + 1)];
    let of_white = of_rank(first, white.each(WHITE_ROOK), white.each(WHITE_KING))?;
    let black_king = black.each(BLACK_KING) | black.each(KING_TO_MOVE);
    let of_black = of_rank(second, black.each(BLACK_ROOK), black_king)?;
    (u128::from(first) | u128::from(second) << last == rooks).then_some(of_white | of_black << 2)
}

/// The square of the piece at a place among the pieces.
fn square_of(occupied: u64, nth: u32) -> u8 {
    let mut rest = occupied;
    for _ in 0..nth {
        rest &= rest - 1;
    }
    rest.trailing_zeros() as u8
}

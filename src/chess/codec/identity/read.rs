//! Reading of the four fields of a line as an identity.

use zerocopy::FromBytes;

use super::back_ranks::{BackRank, BackRanks, with_rights};
use crate::codec::key::{NUMBERS, position_key};
use crate::codec::packed::{
    self, BLACK_KING, BLACK_ROOK, CASTLING_ROOK, KING_TO_MOVE, PackedBoard, WHITE_KING, WHITE_ROOK,
};
use crate::model::{Color, Piece, Role, Square};
use crate::text::fields::{Pieces, UsualFields, piece_code, read_pieces, read_usual};

/// The identity of the position at the start of a line.
#[derive(Copy, Clone, PartialEq, Eq, Debug, FromBytes)]
#[repr(C)]
pub struct Identity {
    /// The packed identity board.
    pub board: PackedBoard,
    /// The position key of the board.
    pub key: u64,
    /// Length of the four fields in bytes. The line ends there or has a blank.
    pub len: usize,
}

/// Reads a line by code that runs on every processor.
#[inline(never)]
pub(super) fn read_bytewise(line: &[u8]) -> Option<Identity> {
    identify_line(line, read_pieces(line, &NUMBERS.pieces).as_mut()?)
}

/// Reads the fields after the placement. The pieces stay in the caller's buffer, because copying
/// bytes that were just written would stall the processor.
#[inline(always)]
pub(super) fn identify_line(line: &[u8], pieces: &mut Pieces) -> Option<Identity> {
    let fields = read_usual(line, pieces.len)?;
    identify(pieces, fields)
}

/// Adds the three fields after the placement to the codes and to the key, and makes the identity.
///
/// For usual boards, no branch depends on the side to move or on the rights, because the processor
/// could not predict such a branch.
#[inline(always)]
pub(super) fn identify(pieces: &mut Pieces, fields: UsualFields) -> Option<Identity> {
    let UsualFields { turn, castling, en_passant, end: len } = fields;
    let kings = Kings::find(pieces.codes);
    let [first, last] = [castling & 3, castling >> 2];
    let ranks = BackRanks::new(pieces.occupied, pieces.count);
    let home = Home::new(first, ranks.to_e[0], ranks.to_h[0]);
    let away = Home::new(last, ranks.to_e[1], ranks.to_h[1]);
    let differs = home.differs(pieces.codes as u32, WHITE_KING, WHITE_ROOK)
        | away.differs((pieces.codes >> ranks.last) as u32, BLACK_KING, BLACK_ROOK);
    let is_empty = HOMES[usize::from(castling & 15)] & !pieces.occupied != 0;
    let has_rival = (first != 0) & several(kings.white) | (last != 0) & several(kings.black);
    let black_moves = turn == Color::Black;
    let no_king = black_moves & (kings.black == [0; 2]);
    let mut rooks = [home.rooks, away.rooks];
    if differs | is_empty | has_rival | no_king {
        if has_rival | no_king {
            return None;
        }
        rooks = outermost_rooks(pieces, castling, ranks.last)?;
    }
    let to_move = u64::from(black_moves).wrapping_neg();
    let [low, high] = kings.black;
    let mark = |kings: u64| (kings & to_move) * u64::from(BLACK_KING ^ KING_TO_MOVE);
    pieces.codes ^= u128::from(mark(high)) << 64 | u128::from(mark(low));
    pieces.codes ^= u128::from(rooks[0] * u32::from(WHITE_ROOK ^ CASTLING_ROOK));
    pieces.codes ^=
        u128::from(rooks[1] * u32::from(BLACK_ROOK ^ (CASTLING_ROOK + 1))) << ranks.last;
    pieces.hash ^= NUMBERS.castling[usize::from(castling & 15)];
    pieces.hash ^= NUMBERS.white_to_move & !to_move;

    let is_near = |target: &Square| pawn_beside(pieces.occupied, pieces.codes, *target, turn);
    if let Some(target) = en_passant.filter(is_near) {
        return with_en_passant(*pieces, target, len);
    }
    let board = PackedBoard::plain(pieces.occupied, pieces.count, pieces.codes);
    Some(Identity { board, key: pieces.hash, len })
}

/// Masks of kings: two words of sixteen codes, in which the lowest bit of each king is 1.
struct Kings {
    white: [u64; 2],
    black: [u64; 2],
}

impl Kings {
    /// Finds the kings. All codes must be those of plain pieces, from 0 to 11. Among these codes,
    /// only kings have both the bit of value 8 and the bit of value 2.
    #[inline(always)]
    fn find(codes: u128) -> Kings {
        const ONES: u64 = u64::MAX / 15;
        let [low, high] = [codes as u64, (codes >> 64) as u64];
        let kings = |codes: u64| codes >> 3 & codes >> 1 & ONES;
        Kings {
            white: [kings(low) & low, kings(high) & high],
            black: [kings(low) & !low, kings(high) & !high],
        }
    }
}

#[inline(always)]
fn several([low, high]: [u64; 2]) -> bool {
    low & low.wrapping_sub(1) | high & high.wrapping_sub(1) != 0 || low != 0 && high != 0
}

/// The home squares of the kings and rooks that each set of castling rights needs.
pub(super) static HOMES: [u64; 16] = {
    let mut homes = [0; 16];
    let mut castling = 0;
    while castling < 16 {
        let ranks = [[0, 0x90, 0x11, 0x91][castling & 3], [0, 0x90, 0x11, 0x91][castling >> 2]];
        homes[castling] = ranks[0] | ranks[1] << 56;
        castling += 1;
    }
    homes
};

/// Masks of the lowest bits of the codes that castling rights need on one back rank.
struct Home {
    /// The lowest bit of the code of the king.
    king: u32,
    /// The lowest bits of the codes of the rooks.
    rooks: u32,
}

impl Home {
    /// Makes the masks for a set of castling rights. In `rights`, bit 0 is the right with the rook
    /// on h, and bit 1 is the right with the rook on a. `to_e` and `to_h` are as in [`BackRanks`].
    #[inline(always)]
    fn new(rights: u8, to_e: u32, to_h: u32) -> Home {
        let king = u32::from(rights != 0) << (to_e & 31);
        let rooks = u32::from(rights & 1) << (to_h & 31) | u32::from(rights >> 1);
        Home { king, rooks }
    }

    /// Whether the codes at these places differ from those of king and rooks. The function does not
    /// check that the squares are occupied.
    #[inline(always)]
    fn differs(&self, codes: u32, king: u8, rook: u8) -> bool {
        let expected = (self.king * u32::from(king)) | (self.rooks * u32::from(rook));
        (codes ^ expected) & ((self.king | self.rooks) * 15) != 0
    }
}

/// Finds the rooks with castling rights if kings and rooks are not on their usual squares. A
/// castling right belongs to the outermost rook on its side of the king. Returns a mask for White's
/// back rank, and then a mask for Black's. A mask has the lowest bit of the code of each rook with
/// a castling right, relative to the first code of the rank. The codes of Black's back rank begin
/// at bit `last`. `None` if a castling right is impossible.
#[inline(never)]
fn outermost_rooks(pieces: &Pieces, castling: u8, last: u32) -> Option<[u32; 2]> {
    let [white, black] = BackRank::both(pieces.occupied, pieces.codes, last);
    Some([
        with_rights(castling & 3, white.each(WHITE_ROOK), white.each(WHITE_KING), white.edges)?,
        with_rights(castling >> 2, black.each(BLACK_ROOK), black.each(BLACK_KING), black.edges)?,
    ])
}

/// Makes the identity of a position in which a pawn stands next to the pawn that made a double
/// step. The rules of chess decide whether the capture is legal.
#[cold]
fn with_en_passant(pieces: Pieces, target: Square, len: usize) -> Option<Identity> {
    let board = PackedBoard::plain(pieces.occupied, pieces.count, pieces.codes);
    let (position, _) = packed::decode(board.as_bytes()).ok()?;
    let identity = position.with_en_passant(Some(target)).ok()?.identity();
    Some(Identity { board: packed::encode(&identity), key: position_key(&identity), len })
}

/// Whether a pawn of the side to move stands where it could capture on the en passant square
/// `target`.
pub(super) fn pawn_beside(occupied: u64, codes: u128, target: Square, turn: Color) -> bool {
    let pawn = piece_code(Piece { color: turn, role: Role::Pawn });
    let rank = if turn == Color::White { 4 } else { 3 };
    let is_pawn = |file| code_at(occupied, codes, Square::at(file, rank)) == Some(pawn);
    target.file() > 0 && is_pawn(target.file() - 1)
        || target.file() < 7 && is_pawn(target.file() + 1)
}

/// Returns the code of the piece on a square; `None` if the square is empty.
fn code_at(occupied: u64, codes: u128, square: Square) -> Option<u8> {
    if occupied & square.bit() == 0 {
        return None;
    }
    // Below 32, because the board has at most 32 pieces.
    let before = (occupied & (square.bit() - 1)).count_ones();
    Some(codes.wrapping_shr(4 * before) as u8 & 15)
}

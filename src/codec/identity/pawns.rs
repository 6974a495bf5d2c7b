//! Pawns beside an en passant square, by the codes of a packed board.

use crate::model::{Color, Piece, Role, Square};
use crate::text::fields::piece_code;

/// Whether a pawn of the side to move stands where it could capture on the target.
pub(super) fn pawn_beside(occupied: u64, codes: u128, target: Square, turn: Color) -> bool {
    let pawn = piece_code(Piece { color: turn, role: Role::Pawn });
    let rank = if turn == Color::White { 4 } else { 3 };
    let is_pawn = |file| code_at(occupied, codes, Square::at(file, rank)) == Some(pawn);
    target.file() > 0 && is_pawn(target.file() - 1)
        || target.file() < 7 && is_pawn(target.file() + 1)
}

/// The code of the piece on a square.
fn code_at(occupied: u64, codes: u128, square: Square) -> Option<u8> {
    let before = (occupied & (square.bit() - 1)).count_ones();
    let is_there = occupied & square.bit() != 0;
    is_there.then(|| codes.checked_shr(4 * before).unwrap_or(0) as u8 & 15)
}

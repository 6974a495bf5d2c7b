//! En passant squares.

use crate::model::board::Board;
use crate::model::position::{Position, en_passant_rank};
use crate::model::square::{Color, Role, Square};

/// Whether a double step can have left the en passant square: the square and the one the
/// pawn came from are empty, and the pawn stands in front. True when there is no such square.
#[inline]
pub fn en_passant_is_possible(position: &Position) -> bool {
    let Some(target) = position.en_passant() else { return true };
    has_stepped_over(position.board(), position.turn(), target)
}

/// Whether a double step of the side that is not to move can have gone over a square.
#[inline]
pub(super) fn has_stepped_over(board: &Board, turn: Color, target: Square) -> bool {
    let (pawn, origin) = match turn {
        Color::White => (target.bit() >> 8, target.bit() << 8),
        Color::Black => (target.bit() << 8, target.bit() >> 8),
    };
    board.pieces(!turn, Role::Pawn) & pawn != 0
        && board.occupied() & (target.bit() | origin) == 0
        && target.rank() == en_passant_rank(turn)
}

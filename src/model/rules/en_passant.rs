//! En passant squares.

use crate::model::position::{Position, en_passant_rank};
use crate::model::square::{Color, Role};

/// Whether a double step can have left the en passant square: the square and the one the
/// pawn came from are empty, and the pawn stands in front. True when there is no such square.
#[inline]
pub fn en_passant_is_possible(position: &Position) -> bool {
    let Some(target) = position.en_passant() else { return true };
    let board = position.board();
    let (pawn, origin) = match position.turn() {
        Color::White => (target.bit() >> 8, target.bit() << 8),
        Color::Black => (target.bit() << 8, target.bit() >> 8),
    };
    board.pieces(!position.turn(), Role::Pawn) & pawn != 0
        && board.occupied() & (target.bit() | origin) == 0
        && target.rank() == en_passant_rank(position.turn())
}

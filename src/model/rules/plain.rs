//! Positions with which nothing is wrong, told apart faster than `legality` does.

use super::attacks::{BACK_RANKS, is_attacked};
use super::en_passant::has_stepped_over;
use crate::model::board::Board;
use crate::model::square::{Color, Role, Square};

/// Whether a board shows at a glance that `legality` finds nothing wrong, castling rights aside: as
/// most do on which no king is in check and nothing was promoted. Of others it says nothing.
#[inline(always)]
pub(crate) fn is_plainly_legal(board: &Board, turn: Color, en_passant: Option<Square>) -> bool {
    let kings = Color::ALL.map(|color| (color, board.pieces(color, Role::King)));
    kings.into_iter().all(|(color, set)| {
        has_usual_pieces(board, color)
            && Square::lowest(set)
                .is_some_and(|king| !is_attacked(board, king, !color, board.occupied()))
    }) && board.role(Role::Pawn) & BACK_RANKS == 0
        && en_passant.is_none_or(|target| has_stepped_over(board, turn, target))
}

/// Whether a side has no more pieces of a role than a game begins with.
#[inline(always)]
fn has_usual_pieces(board: &Board, color: Color) -> bool {
    let most = |role, most: usize| {
        // Not every machine that the crate is compiled for counts bits in one instruction.
        (0..most).fold(board.pieces(color, role), |rest, _| rest & rest.wrapping_sub(1)) == 0
    };
    (board.pieces(color, Role::Pawn).count_ones() <= 8)
        & most(Role::Knight, 2)
        & most(Role::Bishop, 2)
        & most(Role::Rook, 2)
        & most(Role::Queen, 1)
        & most(Role::King, 1)
}

//! Tests of the moves that a game plays from a position.

use super::board_test::Pieces;
use crate::model::rules::after;
use crate::model::{Position, Role};
use crate::text::pgn::GamePosition;
use crate::text::san::{MovePattern, captured};

/// A test of the next moves of a game.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum PlayedTest {
    /// These are the next moves.
    Line(Vec<MovePattern>),
    /// One of these pieces makes the next move. Castling is a move of the king.
    Moved(Pieces),
    /// The next move captures one of these pieces.
    Captured(Pieces),
}

impl PlayedTest {
    pub(super) fn holds(&self, position: &Position, place: &GamePosition<'_>) -> bool {
        let mut moves = place.next_moves();
        let turn = position.turn();
        match self {
            PlayedTest::Line(line) => {
                let mut position = *position;
                line.iter().all(|wanted| {
                    let Some(mv) = moves.next() else { return false };
                    let fits = wanted.fits(&position, mv);
                    position = after(&position, mv);
                    fits
                })
            }
            PlayedTest::Moved(pieces) => moves.next().is_some_and(|mv| {
                let role = position.board().role_at(mv.from);
                role.is_some_and(|role| pieces.has(turn, role))
            }),
            PlayedTest::Captured(pieces) => moves.next().is_some_and(|mv| {
                let role: Option<Role> = captured(position, mv);
                role.is_some_and(|role| pieces.has(!turn, role))
            }),
        }
    }
}

//! Tests of the moves that a game plays from a position.

use super::board_test::Pieces;
use super::pattern::TextError;
use epdb_chess::model::Position;
use epdb_chess::model::rules::{Move, after};
use epdb_chess::text::pgn::GamePosition;
use epdb_chess::text::san::{MovePattern, captured};

/// A test of the next moves of a game.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum PlayedTest {
    /// These are the next moves.
    Line(Vec<MovePattern>),
    /// One of these pieces makes the next move. Castling is a move of the king.
    Moved(Pieces),
    /// The next move captures one of these pieces.
    Captured(Pieces),
    /// A pawn becomes one of these pieces.
    Promoted(Pieces),
    /// The next move captures a pawn in passing.
    EnPassant,
    /// The next move captures the piece that made the last move.
    Retaken,
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
                captured(position, mv).is_some_and(|role| pieces.has(!turn, role))
            }),
            PlayedTest::Promoted(pieces) => moves
                .next()
                .is_some_and(|mv| mv.promotion.is_some_and(|role| pieces.has(turn, role))),
            PlayedTest::Retaken => {
                let last = place.last_move();
                let takes = |mv: &Move| captured(position, *mv).is_some();
                moves
                    .next()
                    .filter(takes)
                    .is_some_and(|mv| last.is_some_and(|last| last.to == mv.to))
            }
            PlayedTest::EnPassant => moves.next().is_some_and(|mv| {
                !position.board().occupied().contains(mv.to) && captured(position, mv).is_some()
            }),
        }
    }
}

/// Parses moves with blanks between them.
pub(super) fn moves(text: &str) -> Result<Vec<MovePattern>, TextError> {
    let mut moves = Vec::new();
    let mut place = 0;
    for word in text.split(' ') {
        if !word.is_empty() {
            let mv = MovePattern::parse(word.as_bytes());
            moves.push(mv.map_err(|error| (place, format!("`{word}`: {}", error.message)))?);
        }
        place += word.chars().count() + 1;
    }
    if moves.is_empty() {
        Err((0, "expected moves, as in 'Bxh7+ Kxh7 Ng5+'".into()))
    } else {
        Ok(moves)
    }
}

//! Rows that follow each other by moves, as those of games do.

use super::row::{EN_PASSANT, RANKS, Row, STATE};
use crate::model::rules::{Move, Playable, after};

/// The legal move of a row's position that leads to the pieces, the side to move and the rights of
/// another, with what it is made in. There is one at most.
pub(super) fn step(before: &Row, row: &Row) -> Option<(Playable, Move)> {
    let changed = changed_squares(before, row)?;
    let playable = Playable::new(&before.position()?).ok()?;
    let mut found = None;
    playable.each_move(|mv| {
        let both = mv.from.bit() | mv.to.bit();
        // King and rook may stand on each other's squares after castling, or stay.
        let may_lead = changed & both == both || playable.castling_side(mv).is_some();
        if may_lead && row.has_board_of(&Row::of_position(&after(playable.position(), mv))) {
            found = Some(mv);
        }
        found.is_none()
    });
    found.map(|mv| (playable, mv))
}

/// The squares that differ, if they may be those of one move.
fn changed_squares(before: &Row, row: &Row) -> Option<u64> {
    if (before.0[STATE] ^ row.0[STATE]) & 1 == 0 {
        return None;
    }
    let columns = RANKS..EN_PASSANT;
    let differ = before.0[columns.clone()].iter().zip(&row.0[columns]).map(|(a, b)| a ^ b);
    let changed = Row::squares(differ);
    (2..=4).contains(&changed.count_ones()).then_some(changed)
}

/// How the rows of a block follow each other.
pub(super) struct Chain<'a> {
    rows: &'a [Row],
    /// The moves that were looked for.
    moves: Vec<Option<Option<Move>>>,
}

impl<'a> Chain<'a> {
    pub(super) fn of(rows: &'a [Row]) -> Chain<'a> {
        Chain { rows, moves: vec![None; rows.len()] }
    }

    /// The move that leads from a row to the next.
    pub(super) fn next_move(&mut self, place: usize) -> Option<Move> {
        let (before, row) = self.rows.get(place).zip(self.rows.get(place + 1))?;
        *self.moves[place].get_or_insert_with(|| step(before, row).map(|(_, mv)| mv))
    }

    /// Whether a move leads from the row before to this one.
    pub(super) fn follows(&mut self, place: usize) -> bool {
        place.checked_sub(1).is_some_and(|before| self.next_move(before).is_some())
    }
}

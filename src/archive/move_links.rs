//! Links between rows: the moves that lead from one row (the position of a record) to the next, as
//! in games.

use super::columns::{EN_PASSANT, RANKS, Row, STATE};
use epdb_chess::model::Bitboard;
use epdb_chess::model::rules::{Move, Playable, after};

/// Returns the legal move that leads from the position of one row to the pieces, side to move and
/// rights of another. There is at most one such move. Returns it with the position before it.
pub(super) fn step(before: &Row, row: &Row) -> Option<(Playable, Move)> {
    let changed = changed_squares(before, row)?;
    let playable = Playable::new(&before.position()?).ok()?;
    let mut found = None;
    // In castling, king and rook may exchange their squares, or one of them may stay.
    playable.each_move_from(Bitboard(changed | playable.king().bit()), |mv| {
        let both = mv.from.bit() | mv.to.bit();
        let may_lead = changed & both == both || playable.castling_side(mv).is_some();
        if may_lead && row.has_same_board(&Row::from_position(&after(playable.position(), mv))) {
            found = Some(mv);
        }
        found.is_none()
    });
    found.map(|mv| (playable, mv))
}

/// Returns the squares that differ; `None` if no single move can change them.
fn changed_squares(before: &Row, row: &Row) -> Option<u64> {
    if (before.0[STATE] ^ row.0[STATE]) & 1 == 0 {
        return None;
    }
    let columns = RANKS..EN_PASSANT;
    let differ = before.0[columns.clone()].iter().zip(&row.0[columns]).map(|(a, b)| a ^ b);
    let changed = Row::squares(differ);
    // A capture en passant changes three squares, and castling up to four.
    (2..=4).contains(&changed.count_ones()).then_some(changed)
}

#[derive(Default, Debug)]
pub(super) struct ReadRows {
    pub(super) rows: Vec<Row>,
    /// The move that predicted each row, if any, up to the last row that a move predicted.
    pub(super) moves: Vec<Option<Move>>,
}

impl ReadRows {
    /// Adds a row, and the move that predicted it, if any.
    pub(super) fn push(&mut self, row: Row, mv: Option<Move>) {
        if mv.is_some() {
            // The rows since the last move had none.
            self.moves.resize(self.rows.len(), None);
            self.moves.push(mv);
        }
        self.rows.push(row);
    }

    /// Flips all rows, and drops the moves: only operations need them, which flipped rows lack.
    pub(super) fn flipped(mut self) -> ReadRows {
        self.rows.iter_mut().for_each(|row| *row = row.flipped());
        ReadRows { rows: self.rows, moves: Vec::new() }
    }
}

/// The moves that lead from each row of a block to the next. They are searched for when needed.
pub(super) struct MoveLinks<'a> {
    rows: &'a [Row],
    /// The result of the search for each row. The outer `None` means that it was not searched yet.
    moves: Vec<Option<Option<Move>>>,
}

impl<'a> MoveLinks<'a> {
    pub(super) fn new(rows: &'a [Row]) -> MoveLinks<'a> {
        MoveLinks { rows, moves: vec![None; rows.len()] }
    }

    /// Makes links with known moves: `moves` has the move that leads from each row to the next.
    pub(super) fn from_moves(
        rows: &'a [Row],
        moves: impl Iterator<Item = Option<Move>>,
    ) -> MoveLinks<'a> {
        MoveLinks { rows, moves: moves.map(Some).collect() }
    }

    /// Makes links of decoded rows. If a move predicted a row, no search for this move is needed.
    pub(super) fn from_read(read: &'a ReadRows) -> MoveLinks<'a> {
        let mut links = MoveLinks::new(&read.rows);
        for (place, mv) in read.moves.iter().enumerate() {
            let (Some(mv), Some(last)) = (mv, place.checked_sub(1)) else { continue };
            // In damaged bytes a move may change nothing.
            if !read.rows[last].has_pieces_of(&read.rows[place]) {
                links.moves[last] = Some(Some(*mv));
            }
        }
        links
    }

    /// The move that leads from a row to the next; `None` if there is none.
    pub(super) fn next_move(&mut self, place: usize) -> Option<Move> {
        let (before, row) = self.rows.get(place).zip(self.rows.get(place + 1))?;
        *self.moves[place].get_or_insert_with(|| step(before, row).map(|(_, mv)| mv))
    }

    /// True if a move leads from the previous row to this one.
    pub(super) fn follows(&mut self, place: usize) -> bool {
        place.checked_sub(1).is_some_and(|before| self.next_move(before).is_some())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use epdb_chess::model::{Position, Replay, Start};

    /// The rows of a game, with the moves that led to them.
    fn rows_of(start: &str, moves: &str) -> ReadRows {
        let start = Start { position: start.parse().unwrap(), ..Start::ARRAY };
        let mut replay = Replay::new(&start).unwrap();
        let mut read = ReadRows::default();
        read.push(Row::from_position(replay.position()), None);
        for mv in moves.split(' ').map(|mv| mv.parse().unwrap()) {
            replay.play(mv);
            read.push(Row::from_position(replay.position()), Some(mv));
        }
        read
    }

    #[test]
    fn moves_that_rows_were_read_by_are_those_that_are_found() {
        for (start, moves) in [
            (
                "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -",
                "e2e4 d7d5 e4d5 e7e5 d5e6 g8f6 g1f3 f8e7 f1e2 e8h8 e1h1",
            ),
            ("4k3/8/8/8/8/8/6p1/R3KR2 w AF -", "e1a1 g2f1q"),
            // Castling that only exchanges king and rook.
            ("4k3/8/8/8/8/8/8/5KR1 w G -", "f1g1 e8e7"),
        ] {
            let read = rows_of(start, moves);
            let (mut known, mut searched) =
                (MoveLinks::from_read(&read), MoveLinks::new(&read.rows));
            for place in 0..read.rows.len() {
                assert_eq!(known.next_move(place), searched.next_move(place), "{place} {moves}");
            }
        }
    }

    #[test]
    fn rows_after_moves_are_those_of_the_positions_after_them() {
        for (start, moves) in [
            (
                "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -",
                "e2e4 d7d5 e4d5 e7e5 d5e6 g8f6 e6f7 e8f7 g1f3 f8e7 f1e2 h8f8 e1h1 f7g8",
            ),
            ("r3k3/1P6/8/8/8/8/6p1/RR2K3 w Ba -", "b7a8n e8f8 e1b1 g2g1q a8c7 g1d1"),
        ] {
            let read = rows_of(start, moves);
            for (row, next) in read.rows.iter().zip(&read.rows[1..]) {
                let (playable, mv) = step(row, next).unwrap();
                let position = after(playable.position(), mv);
                assert_eq!(row.after(playable.position(), mv, &position), *next, "{moves}");
            }
        }
    }

    #[test]
    fn a_move_after_which_nothing_has_changed_is_none() {
        let mut read = ReadRows::default();
        read.push(Row::from_position(&Position::START), None);
        read.push(Row::from_position(&Position::START), Some("e2e4".parse().unwrap()));
        assert_eq!(MoveLinks::from_read(&read).next_move(0), None);
    }
}

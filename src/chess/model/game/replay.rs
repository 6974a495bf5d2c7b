//! The position in the line that is built or walked.

use super::Start;
use crate::model::position::Position;
use crate::model::rules::{self, Move, Playable};
use crate::model::square::{Color, Role};

/// The position in a line of moves, which can enter and leave variations. Nothing is checked: the
/// caller makes only legal moves, and begins a variation only after a move.
///
/// ```
/// use epdb_chess::model::{Replay, Square, Start, rules::Move};
/// let mut replay = Replay::new(&Start::ARRAY).expect("the start array is playable");
/// replay.play(Move { from: Square::at(6, 0), to: Square::at(5, 2), promotion: None });
/// assert_eq!((replay.ply(), replay.fullmove_number(), replay.halfmove_clock()), (1, 1, 1));
/// ```
#[derive(Clone, Debug)]
pub struct Replay {
    line: Line,
    outer: Vec<Line>,
    start: Start,
}

/// The current position of a line, and the position before the last move. The two places are
/// written in turn. A variation begins at the position before the last move.
#[derive(Copy, Clone, Debug)]
struct Line {
    places: [Reached; 2],
    /// Index of the current position. It is a byte: the processor stalls if a whole word is read
    /// just after one byte of it was written.
    now: u8,
}

#[derive(Copy, Clone, Debug)]
struct Reached {
    position: Position,
    halfmove_clock: u32,
    ply: u32,
    may_be_check: bool,
    is_behind_null_move: bool,
}

impl Reached {
    /// Writes to `next` the position after a legal move. `role` is the role of the piece; `None` if
    /// it is not known, or if the move is castling.
    #[inline(always)]
    fn play(&self, mv: Move, role: Option<Role>, next: &mut Reached) {
        let played = match role {
            Some(role) => rules::play_piece(&self.position, mv, role, &mut next.position),
            None => rules::play(&self.position, mv, &mut next.position),
        };
        next.may_be_check = played.may_be_check;
        next.halfmove_clock =
            if played.is_zeroing { 0 } else { self.halfmove_clock.saturating_add(1) };
        next.ply = self.ply.saturating_add(1);
        next.is_behind_null_move = self.is_behind_null_move;
    }

    /// Position after a null move.
    fn pass(&self) -> Reached {
        Reached {
            position: rules::after_null_move(&self.position),
            halfmove_clock: self.halfmove_clock.saturating_add(1),
            ply: self.ply.saturating_add(1),
            may_be_check: false,
            is_behind_null_move: true,
        }
    }
}

impl Replay {
    /// Begins at the start of a game; `None` if no moves can be made there.
    pub fn new(start: &Start) -> Option<Replay> {
        let position = match start.position {
            Position::START => Position::START,
            other => *Playable::new(&other).ok()?.position(),
        };
        let halfmove_clock = start.counters.halfmove_clock;
        let may_be_check = position != Position::START;
        let is_behind_null_move = false;
        let now = Reached { position, halfmove_clock, ply: 0, may_be_check, is_behind_null_move };
        let line = Line { places: [now; 2], now: 0 };
        Some(Replay { line, outer: Vec::new(), start: *start })
    }

    /// The position that was reached, without an en passant square that cannot result from a double
    /// step.
    pub const fn position(&self) -> &Position {
        &self.now().position
    }

    /// The current position, prepared for move generation.
    #[inline(always)]
    pub fn playable(&self) -> Playable {
        Playable::from_playable(self.position(), self.may_be_check())
    }

    /// False only if the side to move is certainly not in check.
    pub(crate) const fn may_be_check(&self) -> bool {
        self.now().may_be_check
    }

    /// The number of plies from the start of the game.
    pub const fn ply(&self) -> u32 {
        self.now().ply
    }

    /// The fullmove number of the next move.
    pub fn fullmove_number(&self) -> u32 {
        let black_began = u32::from(self.start.position.turn() == Color::Black);
        let moves = (self.ply() / 2).saturating_add((self.ply() % 2 + black_began) / 2);
        self.start.counters.fullmove_number.saturating_add(moves)
    }

    /// Plies since the last pawn move or capture.
    pub const fn halfmove_clock(&self) -> u32 {
        self.now().halfmove_clock
    }

    /// Whether the line has a null move before this position.
    pub const fn is_behind_null_move(&self) -> bool {
        self.now().is_behind_null_move
    }

    /// Makes a null move: the other side is to move, and no pawn can be captured en passant any
    /// more. The side to move must not be in check.
    pub fn play_null_move(&mut self) {
        self.line.places[usize::from(self.line.now ^ 1)] = self.now().pass();
        self.line.now ^= 1;
    }

    /// Makes a legal move.
    #[inline(always)]
    pub fn play(&mut self, mv: Move) {
        self.make(mv, None);
    }

    /// Does the same as [`Replay::play`], given the role of the piece. `role` is `None` if the role
    /// is not known, or if the move is castling.
    #[inline(always)]
    pub(super) fn make(&mut self, mv: Move, role: Option<Role>) {
        let [even, odd] = &mut self.line.places;
        let (now, next) = if self.line.now == 0 { (even, odd) } else { (odd, even) };
        now.play(mv, role, next);
        self.line.now ^= 1;
    }

    const fn now(&self) -> &Reached {
        &self.line.places[(self.line.now & 1) as usize]
    }

    /// Goes back to the position before the last move, for a variation.
    pub fn begin_variation(&mut self) {
        self.outer.push(self.line);
        self.line.now ^= 1;
    }

    /// Returns from the last variation to the line that has it. Does nothing if no variation is
    /// open.
    pub fn end_variation(&mut self) {
        if let Some(outer) = self.outer.pop() {
            self.line = outer;
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::model::Counters;

    #[test]
    fn counters_follow_the_moves() {
        let counters = Counters { halfmove_clock: 5, fullmove_number: 39 };
        let black = Playable::new(&Position::START).unwrap().after("e2e4".parse().unwrap());
        let start = Start { position: *black.position(), counters };
        let mut replay = Replay::new(&start).unwrap();
        let mut seen = Vec::new();
        for text in ["g8f6", "g1f3", "e7e5", "f3e5"] {
            replay.play(text.parse().unwrap());
            seen.push((replay.ply(), replay.fullmove_number(), replay.halfmove_clock()));
        }
        assert_eq!(seen, [(1, 40, 6), (2, 40, 7), (3, 41, 0), (4, 41, 0)]);
        replay.begin_variation();
        assert_eq!((replay.ply(), replay.fullmove_number()), (3, 41));
        replay.end_variation();
        assert_eq!(replay.ply(), 4);
    }
}

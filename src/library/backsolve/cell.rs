//! A position of a graph, with all that is known of it.

use zerocopy::{FromBytes, Immutable, IntoBytes};

use epdb_chess::model::score::child_to_parent;

/// The value that a position has by itself, before its moves are known. Values are those of `ce`,
/// relative to the side to move.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum Known {
    /// The position has no own value.
    #[default]
    Nothing,
    /// A value by the rules of chess, which moves cannot change.
    Fact(i16),
    /// A score of a person or an engine.
    Score(i16),
}

/// The origin of the value of a position.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Origin {
    /// The position has no value.
    Unknown,
    /// The value is the position's own score.
    Own,
    /// The value follows from the rules of chess.
    Fact,
    /// The value comes from the best move.
    Move,
    /// The best move repeats positions, because one side has no other way to a draw.
    Repetition,
}

/// A position of the graph of positions through which scores are carried back. It has only numbers
/// and flags, because it may lie in a file.
#[derive(Copy, Clone, Debug, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub(super) struct Cell {
    /// Number of values that may still become the value of the position: its own value, and the values
    /// after its moves. Values that were ruled out as worse do not count.
    pub(super) left: u32,
    /// Number of plies to the origin of the value; 0 for mates, because their value shows the distance.
    /// Before the moves are known, this field has the depth of the score.
    pub(super) distance: u32,
    own: i16,
    pub(super) value: i16,
    pub(super) legal_moves: u16,
    flags: u16,
}

impl Cell {
    /// The position's own value follows from the rules of chess.
    const FACT: u16 = 1;
    /// The own value is a score.
    const SCORE: u16 = 1 << 1;
    /// The position's own value counts: it may become the final value.
    pub(super) const OWN: u16 = 1 << 2;
    /// The position has no value: nothing is known of it, and no move leads to a known value.
    pub(super) const UNKNOWN: u16 = 1 << 3;
    /// The value is final. Positions that are never settled have value 0.
    pub(super) const SETTLED: u16 = 1 << 4;
    /// The side to move can force the play into a position that is a draw by itself.
    pub(super) const MOVER_ENDS: u16 = 1 << 5;
    /// The other side can force the play into a position that is a draw by itself.
    pub(super) const OTHER_ENDS: u16 = 1 << 6;
    /// The value of the position is a draw by repetition.
    pub(super) const REPETITION: u16 = 1 << 7;
    /// Some moves have no value, and no own value is a lower bound for them. Until all mates are
    /// settled, [`Cell::left`] has one more for these moves, so that the other moves prove no mate.
    pub(super) const OPEN: u16 = 1 << 8;
    /// All moves that have a value lose by force, but some moves have no value.
    pub(super) const UNPROVEN: u16 = 1 << 9;

    pub(super) fn new(known: Known, legal_moves: u16) -> Cell {
        let mut cell = Cell { left: 0, distance: 0, own: 0, value: 0, legal_moves, flags: 0 };
        cell.set_known(known);
        cell
    }

    pub(super) fn set_known(&mut self, known: Known) {
        (self.flags, self.own) = match known {
            Known::Nothing => (0, 0),
            Known::Fact(value) => (Cell::FACT, value),
            Known::Score(value) => (Cell::SCORE, value),
        };
    }

    pub(super) const fn known(&self) -> Known {
        match self.flags & (Cell::FACT | Cell::SCORE) {
            0 => Known::Nothing,
            Cell::FACT => Known::Fact(self.own),
            _ => Known::Score(self.own),
        }
    }

    /// The own value, if it counts.
    pub(super) fn own(&self) -> Option<i16> {
        self.is(Cell::OWN).then_some(self.own)
    }

    pub(super) const fn is(&self, flag: u16) -> bool {
        self.flags & flag == flag
    }

    pub(super) const fn set(&mut self, flag: u16) {
        self.flags |= flag;
    }

    /// Drops all that an earlier attempt found out, except that a mate is not proven.
    pub(super) const fn restart(&mut self) {
        self.flags &= Cell::FACT | Cell::SCORE | Cell::UNPROVEN;
        (self.value, self.distance) = (0, 0);
    }

    /// Whether the position has no known value, and cannot get one any more.
    pub(super) fn becomes_unknown(&self) -> bool {
        let is_without_moves = self.left == 0 || self.is(Cell::UNPROVEN);
        is_without_moves && !self.is(Cell::UNKNOWN) && self.known() == Known::Nothing
    }

    pub(super) const fn is_zero(&self) -> bool {
        self.value == 0 && !self.is(Cell::UNKNOWN)
    }

    pub(super) fn origin(&self) -> Origin {
        if self.is(Cell::UNKNOWN) {
            Origin::Unknown
        } else if self.is(Cell::FACT) {
            Origin::Fact
        } else if self.own() == Some(self.value) {
            Origin::Own
        } else if self.is(Cell::REPETITION) {
            Origin::Repetition
        } else {
            Origin::Move
        }
    }

    /// The value as `ce`, relative to the side to move; `None` if unknown.
    pub(super) fn value(&self) -> Option<i16> {
        (!self.is(Cell::UNKNOWN)).then_some(self.value)
    }

    /// Whether the move to `target` gives the position its value and leads towards the origin of
    /// the value.
    pub(super) fn is_best(&self, target: &Cell) -> bool {
        let is_nearer = || target.distance + 1 == self.distance;
        target.value().map(seen_before) == Some(self.value)
            && (!is_plain(self.value) || is_nearer())
    }
}

/// Whether a value is neither a mate nor a draw.
pub(super) const fn is_plain(value: i16) -> bool {
    value != 0 && value.unsigned_abs() <= MAX_PLAIN
}

pub(super) const MAX_PLAIN: u16 = 32_000;

/// Converts the value of a position to the value that it gives to the position one move before.
pub(super) fn seen_before(value: i16) -> i16 {
    // All values of a graph belong to legal positions.
    let before = child_to_parent(value.into()).ok().flatten();
    before.and_then(|before| i16::try_from(before).ok()).unwrap_or_default()
}

//! When a game is decided before its end.

use crate::model::score::Score;
use crate::model::{Color, GameResult};

/// When games are decided before their end. By default they are not.
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug)]
pub struct AdjudicationRules {
    /// When a player who is lost has lost.
    pub resign: Option<ResignRule>,
    /// When nothing happens any more.
    pub draw: Option<DrawRule>,
    /// A game is drawn after so many moves of each side.
    pub max_moves: Option<u32>,
}

/// A player who is lost has lost.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct ResignRule {
    /// For so many moves in a row.
    pub moves: u32,
    /// The score in centipawns that a player says of itself at most, its sign changed.
    pub score: u32,
    /// Whether the opponent has to see it too.
    pub two_sided: bool,
}

/// A game in which nothing happens is drawn.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct DrawRule {
    /// Not before this number of a move.
    pub from_move: u32,
    /// For so many moves of each side in a row.
    pub moves: u32,
    /// No score is farther from 0, in centipawns.
    pub score: u32,
}

/// Follows one game.
#[derive(Clone, Debug)]
pub struct Adjudicator {
    rules: AdjudicationRules,
}

impl Adjudicator {
    /// At the start of a game.
    pub const fn new(rules: AdjudicationRules) -> Adjudicator {
        Adjudicator { rules }
    }

    /// Takes a move: its ply in the game from 1, who made it, what the mover says of the position before it.
    pub fn judge(&mut self, ply: u32, mover: Color, score: Option<Score>) -> Option<GameResult> {
        let _ = (self.rules, ply, mover, score);
        todo!("being written")
    }
}

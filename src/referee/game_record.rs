//! A finished game as the archive has it.

use std::time::Duration;

use super::openings::Opening;
use super::outcome::Outcome;
use super::pairing::Pairing;
use super::settings::Tournament;
use crate::model::rules::Move;
use crate::model::score::Score;
use crate::model::{BuildError, Game};

/// A move as it was made.
#[derive(Copy, Clone, PartialEq, Debug)]
pub struct PlayedMove {
    /// The move.
    pub mv: Move,
    /// How long the player thought.
    pub used: Duration,
    /// What the player's clock shows after it, the increment included; `None` where no clock decides.
    pub left: Option<Duration>,
    /// What the player says of the position before it.
    pub score: Option<Score>,
    /// How deep it searched, in plies.
    pub depth: Option<u32>,
}

/// The game with its tags, clocks and evaluations. `moves` are those behind the opening, `date` is
/// `YYYY.MM.DD`.
///
/// # Errors
/// A move is not legal, or a text of the tournament cannot stand in a tag.
pub fn to_game(
    tournament: &Tournament,
    pairing: &Pairing,
    opening: &Opening,
    moves: &[PlayedMove],
    outcome: &Outcome,
    date: &str,
) -> Result<Game, BuildError> {
    let _ = (tournament, pairing, opening, moves, outcome, date);
    todo!("being written")
}

//! The state of a tournament at one moment, for display.

use std::time::Duration;

use super::arbiter::{FinishedGame, outcomes};
use super::pairing::{Absences, Pairing};
use super::settings::Tournament;
use super::standings::Standings;
use epdb_chess::model::score::Score;
use epdb_chess::model::{Color, Position, San};

/// The state of a tournament at one moment.
#[derive(Clone, Debug)]
pub struct Snapshot<'a> {
    /// The settings.
    pub tournament: &'a Tournament,
    /// Time since the tournament began.
    pub now: Duration,
    /// The games in progress, by their numbers.
    pub running: Vec<RunningGame>,
    /// The games that are over, in the order in which they ended.
    pub finished: &'a [FinishedGame],
    /// The games that have not begun, in their order, as far as their players are known.
    pub to_come: Vec<Pairing>,
    /// The seats of clients: the first seat of each player in the order of the settings, then the
    /// second seats, and so on.
    pub seats: Vec<SeatView>,
    /// Games that are not played because players have signed off.
    pub absences: &'a Absences,
    /// True if the supervisor has paused the tournament.
    pub is_paused: bool,
    /// True if the tournament is over.
    pub has_ended: bool,
}

impl Snapshot<'_> {
    /// The table of the games that are over.
    pub fn standings(&self) -> Standings {
        Standings::with_absences(self.tournament, &outcomes(self.finished), self.absences)
    }
}

/// A client of a player.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct SeatView {
    /// The index of the player.
    pub player: usize,
    /// The state of the client as a word.
    pub state: &'static str,
    /// The number of the game that the client plays.
    pub game: Option<u32>,
}

/// A game that is played.
#[derive(Clone, Debug)]
pub struct RunningGame {
    /// The players and numbers of the game.
    pub pairing: Pairing,
    /// The name of the opening of the game.
    pub opening: Option<String>,
    /// The position on the board.
    pub position: Position,
    /// The number of the next move.
    pub fullmove_number: u32,
    /// The last move, which may be one of the opening.
    pub last_move: Option<San>,
    /// The side whose clock runs.
    pub running: Option<Color>,
    /// White and Black.
    pub sides: [SideView; 2],
    /// Whether the game waits for the supervisor.
    pub is_held: bool,
}

/// One side of a game that is played.
#[derive(Copy, Clone, PartialEq, Debug)]
pub struct SideView {
    /// The index of the player.
    pub player: usize,
    /// The state of the client as a word.
    pub state: &'static str,
    /// Remaining time now; `None` if the game has no clock.
    pub left: Option<Duration>,
    /// Score of the side's last move, from its own view.
    pub score: Option<Score>,
    /// Depth of the search for the last move, in plies.
    pub depth: Option<u32>,
}

//! Engines that play games by the clock.

use std::time::Duration;

use super::clock::{ClockReading, milliseconds};
use super::error::{EngineError, EngineErrorKind};
use super::info::Info;
use super::search::{Effort, Elapsed};
use super::session::{Answer, Engine, fen, go, playable};
use epdb_chess::model::rules::Move;
use epdb_chess::model::{Color, EpdRecord};

use epdb_chess::text::san;

/// Time control of a move.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum MoveTime {
    /// The engine manages the time of these clocks.
    Clocks(ClockReading),
    /// A fixed time for the move.
    Fixed(Duration),
    /// The move has no limit of time.
    Unlimited,
}

/// Search limits of a move, besides its time.
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug)]
pub struct SearchLimits {
    /// The maximum number of nodes.
    pub nodes: Option<u64>,
    /// The maximum depth in plies.
    pub depth: Option<u32>,
}

impl MoveTime {
    /// The command and limits of a search. The engine gets `stop` when the clock of the player to
    /// move has run out.
    fn effort(&self, turn: Color, SearchLimits { nodes, depth }: SearchLimits) -> Effort {
        let (mut limits, time) = match self {
            MoveTime::Fixed(time) => (vec![("movetime", Some(milliseconds(*time)))], Some(*time)),
            MoveTime::Clocks(clocks) => {
                (clocks.limits().to_vec(), Some(clocks.left[usize::from(turn == Color::Black)]))
            }
            MoveTime::Unlimited => (Vec::new(), None),
        };
        limits.extend([("nodes", nodes), ("depth", depth.map(u64::from))]);
        Effort { command: go(&limits), nodes, depth, time }
    }
}

impl Engine {
    /// Searches for the next move of a game that began with `start` and continued with `moves`.
    /// Call [`Engine::begin_game`] before the first move. `watch` is as in [`Engine::search`].
    ///
    /// # Errors
    /// The engine failed. It should not be used again.
    pub fn play(
        &mut self,
        start: &EpdRecord,
        moves: &[Move],
        time: &MoveTime,
        watch: &mut dyn FnMut(&Info, Elapsed) -> bool,
    ) -> Result<Answer, EngineError> {
        self.play_within(start, moves, (time, SearchLimits::default()), watch)
    }

    /// Does the same as [`Engine::play`], with search limits besides the time.
    ///
    /// # Errors
    /// The errors of [`Engine::play`].
    pub fn play_within(
        &mut self,
        start: &EpdRecord,
        moves: &[Move],
        (time, limits): (&MoveTime, SearchLimits),
        watch: &mut dyn FnMut(&Info, Elapsed) -> bool,
    ) -> Result<Answer, EngineError> {
        let mut now = playable(start)?;
        let mut position = format!("position fen {}", fen(start));
        for (ply, mv) in moves.iter().enumerate() {
            if !now.is_legal(*mv) {
                return Err(EngineError::new(EngineErrorKind::NotPlayable));
            }
            position += if ply == 0 { " moves " } else { " " };
            position += &if self.plays_chess960() { mv.to_string() } else { san::uci(&now, *mv) };
            now = now.after(*mv);
        }
        let effort = time.effort(now.position().turn(), limits);
        self.go(&now, &position, &effort, watch)
    }
}

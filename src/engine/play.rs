//! Engines that play: moves of a game, by the clock.

use std::time::Duration;

use super::error::{EngineError, EngineErrorKind};
use super::info::Info;
use super::search::{Effort, Moment};
use super::session::{Answer, Engine, fen, go, playable};
use crate::model::rules::Move;
use crate::model::{Color, EpdRecord};

use crate::text::san;

/// What the clocks of a game show.
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug)]
pub struct ClockReading {
    /// The time that White and Black have left.
    pub left: [Duration; 2],
    /// What each gains by a move.
    pub increment: [Duration; 2],
    /// Moves until the player to move gains more time; `None` when what is left is for the whole game.
    pub moves_to_go: Option<u32>,
}

/// How long an engine may think about a move.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum MoveTime {
    /// As it likes, by these clocks.
    Clocks(ClockReading),
    /// So long.
    Fixed(Duration),
}

impl MoveTime {
    /// When the clock of the player to move has run out the engine is told to stop.
    fn effort(&self, turn: Color) -> Effort {
        let milliseconds = |time: Duration| Some(time.as_millis() as u64);
        let (command, time) = match self {
            MoveTime::Fixed(time) => (go(&[("movetime", milliseconds(*time))]), *time),
            MoveTime::Clocks(ClockReading { left, increment, moves_to_go }) => {
                let [white, black] = left.map(milliseconds);
                let increments = increment.map(|time| milliseconds(time).filter(|time| *time > 0));
                let limits = [
                    ("wtime", white),
                    ("btime", black),
                    ("winc", increments[0]),
                    ("binc", increments[1]),
                    ("movestogo", moves_to_go.map(u64::from)),
                ];
                (go(&limits), left[usize::from(turn == Color::Black)])
            }
        };
        Effort { command, nodes: None, depth: None, time: Some(time) }
    }
}

impl Engine {
    /// Searches for the next move of a game that began with `start` and went on with `moves`;
    /// [`Engine::begin_game`] comes before the first. `watch` as in [`Engine::search`].
    ///
    /// # Errors
    /// What the engine did wrong. It should not be asked again then.
    pub fn play(
        &mut self,
        start: &EpdRecord,
        moves: &[Move],
        time: &MoveTime,
        watch: &mut dyn FnMut(&Info, Moment) -> bool,
    ) -> Result<Answer, EngineError> {
        let mut now = playable(start)?;
        let mut position = format!("position fen {}", fen(start));
        for (ply, mv) in moves.iter().enumerate() {
            if !now.is_legal(*mv) {
                return Err(EngineError::new(EngineErrorKind::NotPlayable));
            }
            position += if ply == 0 { " moves " } else { " " };
            position += &match self.plays_chess960() {
                true => mv.to_string(),
                false => san::uci(&now, *mv),
            };
            now = now.after(*mv);
        }
        let effort = time.effort(now.position().turn());
        self.go(&now, &position, &effort, watch)
    }
}

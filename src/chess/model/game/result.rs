//! Results of games.

use std::fmt;
use std::str::FromStr;

use crate::model::Color;

/// Result of a game: its termination marker and the value of its `Result` tag.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug, Default)]
pub enum GameResult {
    /// White won: `1-0`.
    WhiteWins,
    /// Black won: `0-1`.
    BlackWins,
    /// The game was drawn: `1/2-1/2`.
    Draw,
    /// The game is unfinished or was abandoned, or the result is unknown: `*`.
    #[default]
    Unknown,
}

/// The `Result` tag and the termination marker of a game that both players lost by forfeit. The
/// standard has no such result, so as a [`GameResult`] it is [`GameResult::Unknown`].
pub const DOUBLE_FORFEIT: &str = "0-0";

impl GameResult {
    /// All four results.
    pub const ALL: [GameResult; 4] =
        [GameResult::WhiteWins, GameResult::BlackWins, GameResult::Draw, GameResult::Unknown];

    /// The result of a game that this side wins.
    pub const fn win_of(color: Color) -> GameResult {
        match color {
            Color::White => GameResult::WhiteWins,
            Color::Black => GameResult::BlackWins,
        }
    }

    /// Reads exactly one of the four texts.
    pub fn from_text(text: &[u8]) -> Option<GameResult> {
        GameResult::ALL.into_iter().find(|result| result.as_str().as_bytes() == text)
    }

    /// The text of the result, such as `1-0`.
    pub const fn as_str(self) -> &'static str {
        match self {
            GameResult::WhiteWins => "1-0",
            GameResult::BlackWins => "0-1",
            GameResult::Draw => "1/2-1/2",
            GameResult::Unknown => "*",
        }
    }
}

/// Error of a text that is not a result.
#[derive(Copy, Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("a result is `1-0`, `0-1`, `1/2-1/2` or `*`")]
pub struct GameResultError;

impl FromStr for GameResult {
    type Err = GameResultError;

    fn from_str(text: &str) -> Result<GameResult, GameResultError> {
        GameResult::from_text(text.as_bytes()).ok_or(GameResultError)
    }
}

impl fmt::Display for GameResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

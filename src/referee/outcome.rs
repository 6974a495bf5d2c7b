//! Results of games of a tournament.

use std::fmt;

use epdb_chess::model::GameResult;

/// The result of a game, and why it ended.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct Outcome {
    /// The result; unknown if nobody gets points for the game.
    pub result: GameResult,
    /// The reason why the game ended.
    pub termination: Termination,
}

/// The reason why a game ended: the words of the tag `Termination` (PGN standard, 9.8.1).
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum Termination {
    /// The game ended by the rules of chess, by agreement or by resignation.
    Normal,
    /// A rule of adjudication or the supervisor decided.
    Adjudication,
    /// A player used more time than it had.
    TimeForfeit,
    /// A player sent something other than a legal move.
    RulesInfraction,
    /// A player went away and did not come back, or its program crashed.
    Abandoned,
    /// The game was broken off.
    Unterminated,
}

impl Termination {
    /// All terminations.
    pub const ALL: [Termination; 6] = [
        Termination::Normal,
        Termination::Adjudication,
        Termination::TimeForfeit,
        Termination::RulesInfraction,
        Termination::Abandoned,
        Termination::Unterminated,
    ];

    /// Reads the value of a tag.
    ///
    /// ```
    /// use epdb_referee::Termination;
    /// assert_eq!(Termination::from_text("time forfeit"), Some(Termination::TimeForfeit));
    /// assert_eq!(Termination::from_text("bored"), None);
    /// ```
    pub fn from_text(text: &str) -> Option<Termination> {
        Termination::ALL.into_iter().find(|termination| termination.as_str() == text)
    }

    /// The value of the tag.
    pub const fn as_str(self) -> &'static str {
        match self {
            Termination::Normal => "normal",
            Termination::Adjudication => "adjudication",
            Termination::TimeForfeit => "time forfeit",
            Termination::RulesInfraction => "rules infraction",
            Termination::Abandoned => "abandoned",
            Termination::Unterminated => "unterminated",
        }
    }
}

impl fmt::Display for Termination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

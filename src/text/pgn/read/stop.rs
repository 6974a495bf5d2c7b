//! What the reading of a game leads to: findings, and the ends of games.

use std::fmt;

use crate::text::Diagnostic;
use crate::text::pgn::ending::Ending;
use crate::text::pgn::source::Broken;

/// Something that a reader has to say about a game, and where.
///
/// Its text form is `LINE:COLUMN: error[CODE]: message`, with the ply where there is one; who knows
/// the file puts it in front.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub struct Finding {
    /// The line of the stream, from 1.
    pub line: u64,
    /// The number of the move in its line, from 1, when the finding is about a move.
    pub ply: Option<u32>,
    /// What was found, and its column.
    pub diagnostic: Diagnostic,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.diagnostic)?;
        match self.ply {
            Some(ply) => write!(f, " (ply {ply})"),
            None => Ok(()),
        }
    }
}

/// Why the reading of a game stops.
pub(super) enum Stop {
    Broken(Broken),
    Refused(Finding),
}

impl From<Broken> for Stop {
    fn from(broken: Broken) -> Stop {
        Stop::Broken(broken)
    }
}

/// What a step through the movetext leads to.
pub(super) enum Step {
    GoOn,
    /// The game has ended, with a termination marker or without.
    End(Option<Ending>),
}

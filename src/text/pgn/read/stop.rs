//! Findings about games, and the reasons why reading one stops.

use std::fmt;

use crate::text::Diagnostic;
use crate::text::pgn::ending::Ending;
use crate::text::pgn::source::Broken;

/// A diagnostic about a game, and its place.
///
/// Its text is `LINE:COLUMN: error[CODE]: message`, with the ply if there is one. Callers that know the file
/// put its name in front.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub struct Finding {
    /// The line of the stream, from 1.
    pub line: u64,
    /// Number of the move in its line, from 1, if the finding is about a move.
    pub ply: Option<u32>,
    /// The diagnostic, with its column.
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

/// The reason why reading a game stops.
pub(super) enum Stop {
    Broken(Broken),
    Refused(Finding),
}

impl From<Broken> for Stop {
    fn from(broken: Broken) -> Stop {
        Stop::Broken(broken)
    }
}

/// The outcome of one step through the movetext.
pub(super) enum Step {
    GoOn,
    /// The game has ended, with or without a termination marker.
    End(Option<Ending>),
}

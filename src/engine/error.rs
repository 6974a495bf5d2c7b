//! What goes wrong with engines.

use std::fmt;
use std::time::Duration;

use crate::error::error_from;

/// What an engine did wrong, and what it said last.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EngineError {
    /// What happened.
    pub kind: EngineErrorKind,
    /// The last line that the engine said; `None` where it does not matter.
    pub last: Option<String>,
}

/// What an engine did wrong.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineErrorKind {
    /// The program cannot be started.
    #[error("cannot start {path}: {why}")]
    Start {
        /// The program.
        path: String,
        /// What the system says.
        why: String,
    },
    /// It did not begin as an engine does, in so much time.
    #[error("no answer to `{question}` within {} (is it a UCI engine?)", shown(*within))]
    Handshake {
        /// What was said to it.
        question: &'static str,
        /// How long it was waited for.
        within: Duration,
    },
    /// An option that it does not have, or not with this value.
    #[error("{0}")]
    Option(String),
    /// The process ended, or closed its output.
    #[error("the engine ended")]
    Ended,
    /// Nothing came from it any more, not even an answer to `isready`.
    #[error("the engine said nothing for {}", shown(*.0))]
    Silent(Duration),
    /// It went on when it was told to stop.
    #[error("the engine ignored `stop` for {}", shown(*.0))]
    IgnoredStop(Duration),
    /// A line without end.
    #[error("the engine says a line longer than {0} bytes")]
    TooLong(usize),
    /// Output without end.
    #[error("the engine says more than {0} bytes about one position")]
    TooMuch(usize),
    /// Something that cannot be read.
    #[error("{0}")]
    Unreadable(String),
    /// A move that is none here.
    #[error("the engine's move `{0}` is not legal")]
    IllegalMove(String),
    /// A position of Chess960 for an engine that does not play it.
    #[error("the position needs Chess960, which the engine does not know (no option UCI_Chess960)")]
    NoChess960,
    /// A position whose line would be none.
    #[error("the position is not playable")]
    NotPlayable,
}

impl EngineError {
    pub(super) const fn new(kind: EngineErrorKind) -> EngineError {
        EngineError { kind, last: None }
    }
}

impl fmt::Display for EngineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let EngineError { kind, last } = self;
        write!(f, "{kind}")?;
        match last.as_deref() {
            None => Ok(()),
            Some("") => f.write_str("; it said nothing before"),
            Some(last) => write!(f, "; it last said `{last}`"),
        }
    }
}

impl std::error::Error for EngineError {}

error_from!(EngineError);

/// A time in its own words: `60s`, `1500ms`.
fn shown(time: Duration) -> String {
    match time.subsec_millis() {
        0 => format!("{} s", time.as_secs()),
        _ => format!("{} ms", time.as_millis()),
    }
}

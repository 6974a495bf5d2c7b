//! Errors of engines.

use std::fmt;
use std::process::ExitStatus;
use std::time::Duration;

use epdb_chess::error::{ErrorKind, error_from};

/// An error of an engine, and its last output.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EngineError {
    /// The kind of error.
    pub kind: EngineErrorKind,
    /// The last line of output; `None` if it is irrelevant.
    pub last: Option<String>,
}

/// Kinds of engine errors.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineErrorKind {
    /// The program cannot be started.
    #[error("cannot start {path}: {why}")]
    Start {
        /// The program.
        path: String,
        /// The error of the system.
        why: String,
    },
    /// No UCI answer in time.
    #[error("no answer to `{question}` within {} (is it a UCI engine?)", in_units(*within))]
    Handshake {
        /// The command that was sent.
        question: &'static str,
        /// The time-out.
        within: Duration,
    },
    /// An option that the engine does not have, or a value that it does not accept.
    #[error("{0}")]
    Option(String),
    /// The process ended, with this status if it failed, or it closed its output.
    #[error("the engine ended{}", .0.map(|status| format!(" ({status})")).unwrap_or_default())]
    Ended(Option<ExitStatus>),
    /// No output within the time-out, not even an answer to `isready`.
    #[error("the engine sent nothing for {}", in_units(*.0))]
    Silent(Duration),
    /// The engine ignored `stop`.
    #[error("the engine ignored `stop` for {}", in_units(*.0))]
    IgnoredStop(Duration),
    /// A line that is too long.
    #[error("the engine sent a line longer than {0} bytes")]
    TooLong(usize),
    /// Too much output.
    #[error("the engine sent more than {0} bytes about one position")]
    TooMuch(usize),
    /// Output that cannot be parsed.
    #[error("{0}")]
    Unreadable(String),
    /// An illegal move.
    #[error("the engine's move `{0}` is not legal")]
    IllegalMove(String),
    /// A Chess960 position for an engine that does not play Chess960.
    #[error("the position needs Chess960, which the engine does not know (no option UCI_Chess960)")]
    NoChess960,
    /// A position that is not playable.
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
            Some("") => f.write_str("; it had sent nothing"),
            Some(last) => write!(f, "; its last line was `{last}`"),
        }
    }
}

impl std::error::Error for EngineError {}

error_from!(EngineError: |_| ErrorKind::Other);

/// A duration in whole seconds, or else in milliseconds: `60 s`, `1500 ms`.
fn in_units(time: Duration) -> String {
    match time.subsec_millis() {
        0 => format!("{} s", time.as_secs()),
        _ => format!("{} ms", time.as_millis()),
    }
}

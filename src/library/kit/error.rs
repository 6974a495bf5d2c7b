//! Why a command is not carried out.

use super::verb::Verb;
use crate::text::Diagnostic;

/// Why a command was not carried out. Nothing has changed then.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KitError {
    /// A control character at a byte of the line, counted from 1.
    #[error("a control character, and a command is one line of text")]
    ControlCharacter(usize),
    /// The first word is no command, and the line no moves; and the command that the word is like.
    #[error("error[{}]: {}; nor is it a command{}", .0.code, .0.message, advice(*.1))]
    Unknown(Diagnostic, Option<Verb>),
    /// A word is no move of the position.
    #[error("error[{}]: {}", .0.code, .0.message)]
    Move(Diagnostic),
    /// The text is no position.
    #[error("error[{}]: {}", .0.code, .0.message)]
    Position(Diagnostic),
    /// A command lacks what it needs, or has what it cannot use.
    #[error("expected `{}`", .0.usage())]
    Operands(Verb),
    /// An operation cannot be set or removed.
    #[error("{0}")]
    Operation(String),
    /// More moves are to be taken back, or made again, than there are.
    #[error("there are only {0} moves to go")]
    End(usize),
    /// The line has as many moves as it can have.
    #[error("a line has at most {0} moves; `svfe` begins another one")]
    Full(usize),
}

impl KitError {
    /// Where in the line the error is, in bytes from 1, if it is somewhere in particular.
    pub const fn column(&self) -> Option<usize> {
        match self {
            KitError::ControlCharacter(column) => Some(*column),
            KitError::Unknown(found, _) | KitError::Move(found) | KitError::Position(found) => {
                Some(found.column)
            }
            _ => None,
        }
    }

    /// The same error behind so many bytes.
    pub(super) fn behind(mut self, bytes: usize) -> KitError {
        if let KitError::Unknown(found, _) | KitError::Move(found) | KitError::Position(found) =
            &mut self
        {
            found.column += bytes;
        }
        self
    }
}

/// What the word of no command may have been meant for.
fn advice(near: Option<Verb>) -> String {
    match near {
        Some(verb) => format!("; is it `{}`?", verb.name()),
        None => " (`help` lists them)".into(),
    }
}

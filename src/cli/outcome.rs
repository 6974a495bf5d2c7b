//! Outcome of a run, and its exit status.

use std::io;
use std::process::ExitCode;

use epdb_archive::ArchiveError;
use epdb_chess::codec::stream;
use epdb_store::StoreError;

use super::signals::was_interrupted;
use super::terminal::{self, note};

/// Outcome of a command that ran to its end.
#[must_use]
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Outcome {
    /// Everything was done, repairs included: exit status 0.
    Done,
    /// Something was rejected, not found or different: exit status 1.
    Different,
    /// Something could not be done and was reported already: exit status 2.
    Failed,
}

impl Outcome {
    /// The worse of two outcomes.
    pub(crate) fn and(self, other: Outcome) -> Outcome {
        self.max(other)
    }

    pub(crate) fn different_if(condition: bool) -> Outcome {
        if condition { Outcome::Different } else { Outcome::Done }
    }
}

/// An invalid command line, found after parsing.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Usage(pub(crate) String);

pub(crate) fn usage(text: impl Into<String>) -> anyhow::Error {
    Usage(text.into()).into()
}

/// An error with its causes. A cause is left out if the text before already ends with it.
pub(crate) fn message(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if text.is_empty() {
            text = cause;
        } else if !text.ends_with(&cause) {
            text += ": ";
            text += &cause;
        }
    }
    text
}

/// Prints an error. Failure to print it is ignored.
pub(crate) fn print_error(error: &anyhow::Error) {
    terminal::print_error(&message(error));
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> ExitCode {
        ExitCode::from(match outcome {
            Outcome::Done => 0,
            Outcome::Different => 1,
            Outcome::Failed => 2,
        })
    }
}

/// Prints the error of a command, unless the work was interrupted. If the reader of standard output has
/// closed it, this is a success. The hint names `command`.
pub(crate) fn report(result: anyhow::Result<Outcome>, command: &str) -> Outcome {
    match result {
        Ok(outcome) => outcome,
        Err(error) if is_broken_pipe(&error) => Outcome::Done,
        Err(_) if was_interrupted() => Outcome::Failed,
        Err(error) => {
            print_error(&error);
            if error.is::<Usage>() {
                note!("`epdb help {command}` shows the options and an example");
            } else if is_of_a_part(&error) && !["export", "verify"].contains(&command) {
                note!("`epdb export FILE` writes the records that are not damaged");
            }
            Outcome::Failed
        }
    }
}

/// True if a part of a store or an archive is damaged. A store whose whole file is wrong is not exported either.
fn is_of_a_part(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause.downcast_ref().is_some_and(ArchiveError::is_damage)
            || matches!(cause.downcast_ref(), Some(StoreError::Damaged { place, .. }) if place != "the file")
    })
}

/// True if the reader of standard output closed the pipe. Any other pipe that is closed is an error.
pub(crate) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    terminal::is_stdout_closed()
        && error.chain().filter_map(io_error).any(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

/// The error of the system that a cause is or contains.
fn io_error<'e>(cause: &'e (dyn std::error::Error + 'static)) -> Option<&'e io::Error> {
    if let Some(stream::WriteError::Io(error)) = cause.downcast_ref() {
        return Some(error);
    }
    if let Some(ArchiveError::Io(error)) = cause.downcast_ref() {
        return Some(error);
    }
    cause.downcast_ref()
}

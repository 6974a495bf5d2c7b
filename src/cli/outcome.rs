//! How a run ended, and the exit status that says so.

use std::io;
use std::process::ExitCode;

/// What a command that did its work has to say about it.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    /// Everything was done, repairs included: exit status 0.
    Done,
    /// Something was rejected, not found or different: exit status 1.
    Different,
}

impl Outcome {
    /// [`Outcome::Different`] where `condition` holds.
    pub(crate) fn different_if(condition: bool) -> Outcome {
        if condition { Outcome::Different } else { Outcome::Done }
    }
}

/// The one place where results become exit statuses: 0 done, 1 different, 2 not done. A reader
/// that closed our pipe has had what it wanted: that is success.
pub(crate) fn exit_code(result: anyhow::Result<Outcome>) -> ExitCode {
    match result {
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::Different) => ExitCode::from(1),
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("epdb: error: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<io::Error>()
            .is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    })
}

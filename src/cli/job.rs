//! The command line around a job of the library: sources are read with diagnostics and progress bars.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use super::args::ReadArgs;
use super::diagnostics::Diagnostics;
use super::progress::Writing;
use super::source::{self, Reading};
use epdb_chess::error::Result;
use epdb_library::jobs::{JobSink, TakeItem};
use epdb_source::{Encode, Inputs, Slice};

/// Reads the sources of a job by the arguments of a command.
pub(crate) struct CommandSink<'c> {
    read: &'c ReadArgs,
    diagnostics: &'c mut Diagnostics,
    /// The work after all sources were read.
    work: &'static str,
    /// A larger amount of work is shown.
    small: u64,
    writing: Option<Writing>,
}

impl<'c> CommandSink<'c> {
    /// `work` is shown while more than the amount `small` is written.
    pub(crate) fn new(
        read: &'c ReadArgs,
        diagnostics: &'c mut Diagnostics,
        work: &'static str,
        small: u64,
    ) -> CommandSink<'c> {
        CommandSink { read, diagnostics, work, small, writing: None }
    }
}

impl JobSink for CommandSink<'_> {
    type Error = anyhow::Error;

    fn read_games(
        &mut self,
        inputs: &Inputs,
        take: &mut TakeItem<'_, anyhow::Error>,
    ) -> anyhow::Result<()> {
        Reading::of(inputs.clone(), self.read, self.diagnostics).all_games(take)
    }

    fn read_records(
        &mut self,
        inputs: &Inputs,
        encode: Option<Arc<dyn Encode>>,
        take: &mut TakeItem<'_, anyhow::Error>,
    ) -> anyhow::Result<()> {
        let reading = Reading::of(inputs.clone(), self.read, self.diagnostics);
        let reading = match encode {
            Some(encode) => reading.encode(encode),
            None => reading,
        };
        reading.items(|item| take(item).map(ControlFlow::Continue))
    }

    fn begin_writing(&mut self, amount: u64) {
        self.writing = Some(Writing::new(self.work, amount > self.small));
    }

    fn written(&mut self, records: u64, all: Option<u64>) -> Result<()> {
        self.writing.iter().for_each(|writing| writing.records(records, all));
        Ok(())
    }
}

/// The slice, or the files; standard input if there are none.
pub(crate) fn inputs(files: &[PathBuf], slice: Option<Slice>) -> Inputs {
    match slice {
        Some(slice) => Inputs::Slice(slice),
        None => source::or_stdin(files).into(),
    }
}

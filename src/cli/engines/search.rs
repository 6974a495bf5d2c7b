//! Records on their way to an engine and back.

use std::collections::VecDeque;
use std::ops::ControlFlow;

use anyhow::Context;

use super::desk::Desk;
use super::sink::Sink;
use super::suite::shown_files;
use crate::cli::diagnostics::Diagnostics;
use crate::cli::outcome::Outcome;
use crate::cli::pipe::Pipe;
use crate::cli::source;
use epdb::engine::{Finished, RunningSuite, SearchedSuite};
use epdb::error::Place;
use epdb::source::Item;

/// Reads records, searches them and writes them.
pub(super) fn search_records(
    mut run: RunningSuite,
    pipe: &Pipe,
    mut sink: Sink<'_>,
    desk: &mut Desk<'_>,
) -> anyhow::Result<(SearchedSuite, Outcome)> {
    let Pipe { files, read, .. } = pipe;
    let mut diagnostics = Diagnostics::new(&read.form)?;
    sink.carry_comments(diagnostics.comments());
    let mut places: VecDeque<Place> = VecDeque::new();
    let mut emit = |places: &mut VecDeque<Place>, finished: Finished| {
        desk.tell(&places.pop_front().context("a record is from nowhere")?, &finished);
        sink.write(&finished.record)
    };
    source::read_unseen(files, read, &mut diagnostics, &mut |item| {
        match item {
            Item::Record { record, place, .. } => {
                places.push_back(place.clone());
                run.push(record, &mut |_, it| emit(&mut places, it))?;
            }
            Item::Waiting => run.wait(&mut |_, it| emit(&mut places, it))?,
            _ => {}
        }
        Ok(ControlFlow::Continue(()))
    })?;
    let searched = run.finish(shown_files(files), &mut |_, it| emit(&mut places, it))?;
    let outcome = sink.finish()?.and(diagnostics.finish()?);
    Ok((searched, outcome))
}

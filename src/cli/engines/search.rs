//! Records on their way to engines and back.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::path::PathBuf;

use anyhow::Context;

use super::desk::Desk;
use super::sink::Sink;
use super::suite::SuiteHash;
use crate::cli::diagnostics::Diagnostics;
use crate::cli::outcome::Outcome;
use crate::cli::pipe::Pipe;
use crate::cli::source;
use epdb::engine::{Emit, Finished, Journal, Plan, Pool, Recovered, SharedJournal};
use epdb::error::Place;
use epdb::library::run_file::RunSuite;
use epdb::model::EpdRecord;
use epdb::source::Item;

/// Records that are searched, those of an earlier run left out.
pub(super) struct Search {
    pool: Pool,
    journal: SharedJournal,
    recovered: Recovered,
    hash: SuiteHash,
}

/// What a search of all records leaves.
pub(super) struct Searched {
    pub(super) suite: RunSuite,
    pub(super) outcome: Outcome,
    pub(super) journal: Option<Journal>,
}

impl Search {
    pub(super) fn new(plan: Plan, journal: Option<Journal>, recovered: Recovered) -> Search {
        let (pool, journal) = Pool::new(plan, journal);
        Search { pool, journal, recovered, hash: SuiteHash::new() }
    }

    /// The journal that the search writes.
    pub(super) fn journal(&self) -> SharedJournal {
        self.journal.clone()
    }

    /// Reads records, has them searched and writes them.
    pub(super) fn records(
        mut self,
        pipe: &Pipe,
        mut sink: Sink<'_>,
        desk: &mut Desk<'_>,
    ) -> anyhow::Result<Searched> {
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
                    self.push(record, &mut |_, it| emit(&mut places, it))?;
                }
                Item::Waiting => self.pool.wait(&mut |_, it| emit(&mut places, it))?,
                _ => {}
            }
            Ok(ControlFlow::Continue(()))
        })?;
        let searched = self.finish(files, &mut |_, it| emit(&mut places, it))?;
        let outcome = sink.finish()?.and(diagnostics.finish()?);
        Ok(Searched { outcome, ..searched })
    }

    /// Has a record searched, unless that was done before.
    pub(super) fn push(
        &mut self,
        record: EpdRecord,
        emit: &mut Emit<'_, anyhow::Error>,
    ) -> anyhow::Result<()> {
        self.hash.add(&record);
        let Some(done) = self.recovered.take(self.pool.next_number())? else {
            return self.pool.push(record, emit);
        };
        anyhow::ensure!(
            record.position() == done.position(),
            "the journal is of other records: remove it to begin anew"
        );
        self.pool.push_finished(Finished::again(done, &record), emit)
    }

    /// Waits for all records.
    pub(super) fn finish(
        self,
        files: &[PathBuf],
        emit: &mut Emit<'_, anyhow::Error>,
    ) -> anyhow::Result<Searched> {
        let Search { pool, journal, hash, .. } = self;
        pool.finish(emit)?;
        let journal = journal.take();
        Ok(Searched { suite: hash.finish(files), outcome: Outcome::Done, journal })
    }
}

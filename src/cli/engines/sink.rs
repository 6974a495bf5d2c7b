//! Where finished records go: an output, or a store that is there already and takes them as merging
//! does.

use std::path::{Path, PathBuf};

use crate::cli::args::{OutputArgs, WriteArgs};
use crate::cli::comments::{Comments, Way};
use crate::cli::outcome::Outcome;
use crate::cli::places;
use crate::cli::record_output::RecordOutput;
use epdb::model::merge::MergeRules;
use epdb::model::{EpdRecord, Opcode};
use epdb::source::FileFormat;
use epdb::store::{ImportOptions, Importer, OnDuplicate, Store, StoreOptions};

/// The store that an output names, if it is there.
pub(super) fn existing_store(
    path: Option<&Path>,
    inputs: &[PathBuf],
    memory: usize,
) -> anyhow::Result<Option<Store>> {
    let is_store = |path: &&Path| FileFormat::of_name(path) == Some(FileFormat::Epdb);
    let Some(path) = path.filter(is_store).filter(|path| path.exists()) else { return Ok(None) };
    places::refuse_as_input(path, inputs)?;
    Ok(Some(Store::open(path, &StoreOptions::new().memory_bytes(memory))?))
}

/// Takes finished records in order.
pub(super) enum Sink<'s> {
    Output(Box<RecordOutput>),
    Store(Box<Importer<&'s Store>>),
}

impl<'s> Sink<'s> {
    /// The analysis takes the place of an earlier one in the store, as a whole.
    pub(super) fn open(
        store: Option<&'s Store>,
        source: &str,
        output: &OutputArgs,
        write: &WriteArgs,
        memory: usize,
    ) -> anyhow::Result<Sink<'s>> {
        let Some(store) = store else {
            let output = RecordOutput::open_library(output, write, memory)?;
            return Ok(Sink::Output(Box::new(output)));
        };
        let merge = OnDuplicate::Merge(MergeRules::default());
        let options = ImportOptions::new().on_duplicate(merge).restart(true);
        Ok(Sink::Store(Box::new(store.importer(source, &options)?)))
    }

    /// Writes the comments of the records too, where there is a place for them.
    pub(super) fn carry_comments(&mut self, comments: &Comments) {
        match self {
            Sink::Output(output) => output.carry_comments(comments, Way::Queue),
            Sink::Store(_) => comments.follow(Way::Drop),
        }
    }

    /// Writes a record, at once if somebody may be waiting for it.
    pub(super) fn write(&mut self, record: &EpdRecord) -> anyhow::Result<()> {
        match self {
            Sink::Output(output) => {
                output.write(record)?;
                Ok(output.hand_on()?)
            }
            // The analysis that the store has is better than none.
            Sink::Store(_) if record.operands(Opcode::RUN_ERROR).is_some() => Ok(()),
            Sink::Store(importer) => Ok(importer.push(record)?),
        }
    }

    pub(super) fn finish(self) -> anyhow::Result<Outcome> {
        match self {
            Sink::Output(output) => output.finish(),
            Sink::Store(importer) => {
                importer.finish()?;
                Ok(Outcome::Done)
            }
        }
    }
}

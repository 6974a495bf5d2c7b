//! `epdb import`: records into a store.

use std::path::{Path, PathBuf};

use clap::ValueEnum;

use crate::cli::args::{MemoryArgs, MergeArgs, ReadArgs};
use crate::cli::diagnostics::Diagnostics;
use crate::cli::json;
use crate::cli::message::note;
use crate::cli::outcome::Outcome;
use crate::cli::source::{self, Item};
use crate::library::expression::Expression;
use crate::store::{ImportOptions, ImportReport, OnDuplicate, Place, Same, Store, StoreOptions};

/// Add the records of files to a store, which is made if it is not there
///
/// What is committed survives everything. An import that was interrupted goes on where it stood
/// when the same command is run again, and the store becomes the one of an undisturbed run. A
/// file that was imported before is imported once more: a store keeps all records, unless
/// --on-duplicate says otherwise.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Examples:
  epdb import book.epdb UHO_4060_v2.epd
  epdb import suite.epdb wac1.epd wac2.epd --on-duplicate merge --bm union")]
pub(crate) struct Args {
    /// The store
    store: PathBuf,
    /// Files to import, in this order; `-` is standard input
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// What becomes of a record that is in the store already
    #[arg(long, value_enum, default_value_t = OnDuplicateArg::Keep, value_name = "WHAT")]
    on_duplicate: OnDuplicateArg,
    /// Which records are duplicates: those of one position, or only equal ones
    #[arg(long, value_enum, default_value_t = SameArg::Position, value_name = "WHAT")]
    same: SameArg,
    /// Give up what is left of an interrupted import and import its file from the start
    #[arg(long)]
    restart: bool,
    /// Print one JSON object a file
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    merge: MergeArgs,
    #[command(flatten)]
    read: ReadArgs,
    #[command(flatten)]
    memory: MemoryArgs,
}

#[derive(ValueEnum, Copy, Clone, Debug)]
enum OnDuplicateArg {
    /// Both stay
    Keep,
    /// The later one is left out
    Skip,
    /// The later one takes the place of the earlier ones
    Replace,
    /// The later one is merged into the earlier one, unless they contradict each other
    Merge,
}

#[derive(ValueEnum, Copy, Clone, Debug)]
enum SameArg {
    Position,
    Record,
}

impl Args {
    fn options(&self) -> ImportOptions {
        ImportOptions {
            on_duplicate: match self.on_duplicate {
                OnDuplicateArg::Keep => OnDuplicate::Keep,
                OnDuplicateArg::Skip => OnDuplicate::Skip,
                OnDuplicateArg::Replace => OnDuplicate::Replace,
                OnDuplicateArg::Merge => OnDuplicate::Merge(self.merge.rules()),
            },
            same: match self.same {
                SameArg::Position => Same::Position,
                SameArg::Record => Same::Record,
            },
            restart: self.restart,
            ..import_options(&self.read)
        }
    }
}

/// Plain options for what these arguments make of a source.
fn import_options(read: &ReadArgs) -> ImportOptions {
    ImportOptions {
        settings: format!(
            "{:?}, deny warnings {}, where {}, {:?}",
            read.form.options(),
            read.form.deny_warnings,
            read.wanted.filter.as_ref().map_or("", Expression::text),
            read.form.games.position_options()
        ),
        ..ImportOptions::default()
    }
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let mut diagnostics = Diagnostics::new(&args.read.form)?;
    let options = StoreOptions::new().memory_bytes(args.memory.memory);
    let mut store = match args.store.try_exists()? {
        true => Store::open(&args.store, &options)?,
        false => Store::create(&args.store, &options)?,
    };
    for file in &args.files {
        let report = import(&store, file, &args.read, &args.options(), &mut diagnostics)?;
        tell(args, file, &report)?;
    }
    finish(&mut store)?;
    store.close()?;
    diagnostics.finish()
}

/// Makes a store of one source; what is there already is not touched.
pub(crate) fn into_new_store(
    path: &Path,
    source: &Path,
    read: &ReadArgs,
    memory: &MemoryArgs,
) -> anyhow::Result<Outcome> {
    let mut diagnostics = Diagnostics::new(&read.form)?;
    let mut store = Store::create(path, &StoreOptions::new().memory_bytes(memory.memory))?;
    import(&store, source, read, &import_options(read), &mut diagnostics)?;
    finish(&mut store)?;
    store.close()?;
    diagnostics.finish()
}

/// Imports one source, or what an interrupted run left of it. The source is read from its start
/// all the same, so that its diagnostics and rejects are complete.
fn import(
    store: &Store,
    source: &Path,
    read: &ReadArgs,
    options: &ImportOptions,
    diagnostics: &mut Diagnostics,
) -> anyhow::Result<ImportReport> {
    let mut importer = store.importer(&source.to_string_lossy(), options)?;
    let mut place = Place::START;
    let files = [source.to_path_buf()];
    source::read(&files, read, diagnostics, &mut |item| {
        place.advance(item.raw());
        if let Some(earlier) = importer.resume_point() {
            if place.offset() >= earlier.offset() {
                importer.resume_at(place)?;
            }
        } else if let Item::Record { record, .. } = item {
            importer.push_from(&record, place)?;
        }
        Ok(true)
    })?;
    Ok(importer.finish_at(place)?)
}

/// Gives back the space that earlier batches took, where it is much.
fn finish(store: &mut Store) -> anyhow::Result<()> {
    let stats = store.reader()?.stats()?;
    if stats.file_bytes > stats.record_bytes / 2 * 3 + (1 << 20) {
        store.compact()?;
    }
    Ok(())
}

fn tell(args: &Args, file: &Path, report: &ImportReport) -> anyhow::Result<()> {
    let counts = report.counts;
    let (file, store) = (file.display().to_string(), args.store.display());
    if args.json {
        let line = json::Import {
            file,
            read: counts.read,
            stored: counts.stored,
            dropped: counts.dropped,
            replaced: counts.replaced,
            merged: counts.merged,
            conflicts: counts.conflicts,
        };
        json::line(&mut std::io::stdout().lock(), &line)?;
        return Ok(());
    }
    for conflict in &report.conflicts {
        note!(
            "{store}: record {} contradicts record {} of its position; both are kept",
            conflict.import_number,
            conflict.earlier
        );
    }
    let others = [
        (counts.dropped, "left out as duplicates"),
        (counts.replaced, "replaced"),
        (counts.merged, "merged into earlier ones"),
        (counts.conflicts, "in conflict and kept"),
    ];
    let others: String = others
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!(", {count} {what}"))
        .collect();
    note!("{store}: {} records read from {file}, {} stored{others}", counts.read, counts.stored);
    Ok(())
}

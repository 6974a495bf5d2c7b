//! `epdb shard merge`: several libraries or archives into one sharded archive.

use std::path::{Path, PathBuf};

use super::output::{self, ShardArgs};
use crate::cli::args::{AboutArgs, FormArgs, MemoryArgs, ReadArgs, RecordFilter};
use crate::cli::ledgers::{self, LibraryArgs};
use crate::cli::outcome::{Outcome, usage};
use crate::cli::terminal::note;
use epdb_library::delta::{Fold, FoldStep};
use epdb_library::shards::ShardOptions;
use epdb_library::tally::ledger::Allowed;
use epdb_source::{FileFormat, is_stream, name_of};

/// Add libraries, or join archives, into a sharded archive
///
/// The tallies of each position are added as by `epdb union`, so the result is the library of all
/// games. It does not depend on the order of the files, and repeating the command writes the same
/// bytes. Libraries that were built differently, that are pruned, or that count the same games are
/// refused. Files without tallies are joined: all records stay, in the order of the files.
///
/// The tallies are added first. Then --min-games and --where choose the positions to write, so all games of a
/// position are counted.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Examples:
  epdb shard merge 2023.epa 2024.epa --shards 8 -o both
  epdb shard merge runs/*.epa --shards 64 --min-games 2 -o all
  epdb shard merge library/manifest.json --delta today.epdb --shards 8 -o library --force")]
pub(crate) struct Args {
    /// Libraries or archives to add: results of `epdb tally`, sharded archives, other records
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<PathBuf>,
    /// Move the games of this delta into the library RUN; see `epdb help delta`
    #[arg(long, value_name = "DELTA.epdb", conflicts_with_all = ["min_games", "filter",
          "allow_mixed", "allow_overlap"])]
    delta: Option<PathBuf>,
    /// Write only those positions of the sum that have a move played in at least N games
    #[arg(long, value_name = "N")]
    min_games: Option<u64>,
    #[command(flatten)]
    output: ShardArgs,
    #[command(flatten)]
    about: AboutArgs,
    #[command(flatten)]
    wanted: RecordFilter,
    #[command(flatten)]
    form: FormArgs,
    #[command(flatten)]
    libraries: LibraryArgs,
    #[command(flatten)]
    memory: MemoryArgs,
}

/// Folds a delta into the only library of the arguments.
fn fold(args: &Args, delta: &Path, options: ShardOptions) -> anyhow::Result<Outcome> {
    args.output.require_folder()?;
    let [base] = &args.runs[..] else {
        return Err(usage("a delta is folded into one library: name only its base"));
    };
    if is_stream(base) {
        let what = "the base of a delta is read more than once: name a file, not a pipe";
        return Err(usage(format!("{}: {what}", name_of(base))));
    }
    let manifest = args.output.manifest();
    let add = |files: Vec<PathBuf>, fold: Option<&Fold>| {
        let read = ReadArgs::all(&args.form);
        let job = args.output.merging(files, &read, options.clone(), None, Allowed::FOLD)?;
        if let (Some(fold), Some(ledger)) = (fold, &job.ledger) {
            fold.check(&ledger.origin)?;
        }
        output::write(job, &read)
    };
    let fold = match Fold::begin(base, delta, &manifest)? {
        FoldStep::Fold(fold) => fold,
        FoldStep::Nothing if manifest.exists() => {
            note!("{}: has no games: nothing to do", delta.display());
            return Ok(Outcome::Done);
        }
        FoldStep::Nothing => {
            note!("{}: has no games: the base alone is written", delta.display());
            return add(vec![base.clone()], None);
        }
        FoldStep::Completed => {
            note!("{}: has the games of the interrupted fold already", manifest.display());
            return Ok(Outcome::Done);
        }
    };
    let outcome = add(vec![base.clone(), fold.path().to_path_buf()], Some(&fold));
    if outcome.is_err() && !fold.path().exists() && fold.is_in(&manifest)? {
        note!("{}: another command folded the delta meanwhile", manifest.display());
        return Ok(Outcome::Done);
    }
    let outcome = outcome?;
    fold.finish()?;
    Ok(outcome)
}

pub(super) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let read = ReadArgs::all(&args.form);
    // A pipe is opened for its facts and for its records: once.
    let about = args.about.of(FileFormat::Shards, &args.runs, &read.streams)?;
    let options = ShardOptions { about, ..args.output.options(&args.memory, &args.form)? };
    if let Some(delta) = &args.delta {
        return fold(args, delta, options);
    }
    let wanted = match args.min_games {
        Some(games) => args.wanted.with_games(games)?,
        None => args.wanted.clone(),
    };
    let allowed = args.libraries.allowed();
    let job = args.output.merging(args.runs.clone(), &read, options, wanted.filter, allowed)?;
    job.ledger.iter().for_each(ledgers::note_repeated);
    output::write(job, &read)
}

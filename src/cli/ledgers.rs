//! Origin of the tallies that a command writes, computed from its sources.

use std::path::{Path, PathBuf};

use super::args::{ReadArgs, RecordFilter};
use super::source;
use super::terminal::{many, note};
use epdb::library::expression::Expression;
use epdb::library::tally::ledger::{self, Allowed, LedgerSum, Unlike};
use epdb::source::name_of;

/// Libraries that are added up.
#[derive(clap::Args, Copy, Clone, Debug)]
#[command(next_help_heading = "Libraries")]
pub(crate) struct LibraryArgs {
    /// Add libraries even if they were built differently, are pruned, or do not say how they were
    /// built
    #[arg(long)]
    allow_mixed: bool,
    /// Add libraries even if they count the same games, or may count the same games
    #[arg(long)]
    allow_overlap: bool,
}

impl LibraryArgs {
    pub(crate) const fn allowed(self) -> Allowed {
        Allowed::new(self.allow_mixed, self.allow_overlap)
    }
}

/// The error for a library that must not be added, with the option that allows it.
pub(crate) fn refusal(name: &str, unlike: &Unlike) -> anyhow::Error {
    match unlike {
        Unlike::Delta(_) => {
            anyhow::anyhow!("{name}: {unlike}, by `epdb shard merge LIBRARY --delta {name}`")
        }
        Unlike::MissingSlices { .. } => anyhow::anyhow!(
            "{name}: {unlike}: add all slices at once; --allow-mixed adds some of them"
        ),
        unlike if unlike.is_overlap() => anyhow::anyhow!(
            "{name}: {unlike}; to count each game once, add the games themselves with `epdb import \
             STORE GAMES --tally`; --allow-overlap adds it anyway"
        ),
        unlike => anyhow::anyhow!("{name}: {unlike}; --allow-mixed adds it anyway"),
    }
}

/// Error for a library that does not record how it was built.
pub(crate) fn does_not_say(file: impl std::fmt::Display) -> String {
    format!(
        "{file}: does not record how its tallies were made, if it has any; --allow-mixed adds it anyway"
    )
}

/// Origin of the sum of libraries; `None` if no file has one.
pub(crate) fn sum(
    files: &[PathBuf],
    read: &ReadArgs,
    allowed: Allowed,
) -> anyhow::Result<Option<LedgerSum>> {
    let (files, streams) = (source::or_stdin(files), &read.streams);
    let mut ledger = ledger::sum(&files, streams, allowed, &refused, &mut note_repeated)?;
    let filter = read.wanted.filter.as_ref().map(Expression::text);
    ledger.iter_mut().for_each(|all| ledger::mark_pruned(&mut all.origin, filter, false));
    Ok(ledger)
}

/// Origin of libraries that are merged into one; `None` if no file has an origin. The files are sorted. `wanted`
/// chooses the positions that are written.
pub(crate) fn of_merged(
    files: &mut Vec<PathBuf>,
    read: &ReadArgs,
    wanted: &RecordFilter,
    allowed: Allowed,
) -> anyhow::Result<Option<LedgerSum>> {
    let filter = wanted.filter.as_ref().map(Expression::text);
    ledger::of_merged(files, &read.streams, filter, allowed, &refused, &mut note_repeated)
}

/// Origin of a base to which the games of a delta are added.
pub(crate) fn of_folded(
    mut files: Vec<PathBuf>,
    read: &ReadArgs,
) -> anyhow::Result<Option<LedgerSum>> {
    let repeated = &mut |_: &Path, _: u64| {};
    ledger::of_merged(&mut files, &read.streams, None, Allowed::FOLD, &refused, repeated)
}

/// The error for a file that must not be added.
fn refused(file: &Path, unlike: Option<Unlike>) -> anyhow::Error {
    match unlike {
        Some(unlike) => refusal(&name_of(file), &unlike),
        None => anyhow::anyhow!(does_not_say(name_of(file))),
    }
}

fn note_repeated(file: &Path, twice: u64) {
    let (file, games) = (name_of(file), many(twice, "game"));
    note!("{file}: {games} of the libraries before it counted again");
}

/// Origin of records made from files. They are marked as pruned unless they are all records of one
/// library, unchanged.
pub(crate) fn of_records(
    files: &[PathBuf],
    read: &ReadArgs,
    are_whole: bool,
) -> anyhow::Result<Option<LedgerSum>> {
    let mut ledger = sum(files, read, Allowed::new(true, true))?;
    let are_changed = !are_whole || files.len() > 1;
    ledger.iter_mut().for_each(|all| ledger::mark_pruned(&mut all.origin, None, are_changed));
    Ok(ledger)
}

/// Reports data of the libraries among files that an output of plain records cannot hold.
///
/// # Errors
/// A source cannot be opened.
pub(crate) fn note_unwritten(files: &[PathBuf], read: &ReadArgs) -> anyhow::Result<()> {
    for file in source::or_stdin(files) {
        let Some(library) = read.streams.library(file)? else { continue };
        // Damage is reported when the records are read.
        let Ok(Some(library)) = library.opened().and_then(|library| library.summary()) else {
            continue;
        };
        let mut unwritten = vec!["how it was made".to_string()];
        if let Some(games) = library.digests {
            unwritten.push(format!("the digests of its {}", many(games, "game")));
        }
        if library.counts.kept_games > 0 {
            let games = many(library.counts.kept_games, "kept game");
            unwritten.push(format!("{games} (the records still list them)"));
        }
        note!(
            "epdb: {}: only the records of the library are written; only .epa and .epdb also hold {}",
            name_of(file),
            unwritten.join(", ")
        );
    }
    Ok(())
}

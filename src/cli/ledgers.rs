//! Origin of the tallies that a command writes, computed from its sources.

use std::path::{Path, PathBuf};

use super::args::ReadArgs;
use super::outcome::usage;
use super::source;
use super::terminal::{many, note};
use epdb_chess::codec::tally_settings::TallySettings;
use epdb_chess::error::Error;
use epdb_library::jobs::library_files;
use epdb_library::tally::ledger::{self, Allowed, LedgerError, LedgerSum, Unlike};
use epdb_source::{FileFormat, Inputs, name_of};

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

/// The error for files whose ledgers cannot be added, with the option that allows it.
pub(crate) fn explained(error: LedgerError) -> anyhow::Error {
    let advice = match &error {
        LedgerError::Unlike { name, unlike: Unlike::Delta(_) } => {
            format!(", by `epdb shard merge LIBRARY --delta {name}`")
        }
        LedgerError::Unlike { unlike: Unlike::MissingSlices { .. }, .. } => {
            ": add all slices at once; --allow-mixed adds some of them".into()
        }
        LedgerError::Unlike { unlike, .. } if unlike.is_overlap() => {
            "; to count each game once, add the games themselves: with `epdb import STORE GAMES --tally`, or beside \
             an archive with `epdb import NEW.epdb GAMES --tally --base ARCHIVE`; --allow-overlap adds it anyway"
                .into()
        }
        LedgerError::NoOrigin { name } if is_of_games(name) => {
            ": count its games first, with `epdb tally`; --allow-mixed adds its positions anyway".into()
        }
        LedgerError::Unlike { .. } | LedgerError::NoOrigin { .. } => {
            "; --allow-mixed adds it anyway".into()
        }
        LedgerError::Mixture { name, library, settings } if is_of_games(name) => {
            format!(". To add the games, {}", adding(library, name, settings))
        }
        LedgerError::Mixture { name, library, .. } => format!(
            ". `epdb join` copies single operations of {name}; `epdb union {library} {name} --allow-mixed` merges \
             all records"
        ),
        _ => return Error::from(error).into(),
    };
    anyhow::anyhow!("{error}{advice}")
}

fn is_of_games(name: &str) -> bool {
    FileFormat::from_name(Path::new(name)).is_some_and(FileFormat::is_of_games)
}

/// The commands that add games to a library that is not a store.
fn adding(library: &str, games: &str, settings: &TallySettings) -> String {
    format!(
        "run `epdb tally {games} {settings} -o added.epa` and `epdb union {library} added.epa -o NEW.epa`; if it has \
         some of them, `epdb import added.epdb {games} --tally --base {library}` and `epdb pack \
         {library}+added.epdb -o NEW.epa`"
    )
}

/// Refuses a library to which a command cannot add games, and says what can.
///
/// # Errors
/// The file is a library, or cannot be read.
pub(crate) fn refuse_library(
    file: &Path,
    games: &[PathBuf],
    read: &ReadArgs,
) -> anyhow::Result<()> {
    let Some(library) = read.streams.library(file)? else { return Ok(()) };
    let Some(origin) = library.opened()?.tally_origin()? else { return Ok(()) };
    let name = name_of(file);
    let games: Vec<_> =
        games.iter().filter(|path| *path != file).map(|path| name_of(path)).collect();
    let games = if (1..=3).contains(&games.len()) { games.join(" ") } else { "GAMES".into() };
    let advice = adding(&name, &games, &origin.settings);
    Err(usage(format!("{name} is a library, which is not changed. To add games, {advice}")))
}

/// Reports games that several libraries count.
pub(crate) fn note_repeated(ledger: &LedgerSum) {
    for (file, twice) in &ledger.repeated {
        let games = many(*twice, "game");
        note!("{file}: {games} of the libraries before it counted again");
    }
}

fn noted(ledger: Result<Option<LedgerSum>, LedgerError>) -> anyhow::Result<Option<LedgerSum>> {
    let ledger = ledger.map_err(explained)?;
    ledger.iter().for_each(note_repeated);
    Ok(ledger)
}

/// Origin of the sum of libraries; `None` if no file has one.
pub(crate) fn sum(
    files: &[PathBuf],
    read: &ReadArgs,
    allowed: Allowed,
) -> anyhow::Result<Option<LedgerSum>> {
    let mut ledger = noted(ledger::sum(&source::or_stdin(files), &read.streams, allowed))?;
    let filter = read.wanted.filter_text();
    ledger.iter_mut().for_each(|all| ledger::mark_pruned(&mut all.origin, filter, false));
    Ok(ledger)
}

/// Origin of records made from files. They are marked as pruned unless they are all records of one
/// library, unchanged.
pub(crate) fn of_records(
    files: &[PathBuf],
    read: &ReadArgs,
    are_whole: bool,
) -> anyhow::Result<Option<LedgerSum>> {
    of_paths(&source::or_stdin(files), read, are_whole)
}

/// Origin of all records of the inputs of a job.
pub(crate) fn of_inputs(inputs: &Inputs, read: &ReadArgs) -> anyhow::Result<Option<LedgerSum>> {
    of_paths(library_files(inputs), read, true)
}

fn of_paths(
    files: &[impl AsRef<Path>],
    read: &ReadArgs,
    are_whole: bool,
) -> anyhow::Result<Option<LedgerSum>> {
    noted(ledger::of_records(files, &read.streams, read.wanted.filter_text(), are_whole))
}

/// Refuses to write records of libraries together with those of other files.
///
/// # Errors
/// Some files are libraries and others are not, or a file cannot be opened.
pub(crate) fn refuse_mixture(files: &[PathBuf], read: &ReadArgs) -> anyhow::Result<()> {
    ledger::refuse_mixture(&source::or_stdin(files), &read.streams).map_err(explained)
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

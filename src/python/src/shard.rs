//! Work that several machines share: plans of slices, copies of games, and sharded archives.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use epdb_base::new_file::folder_of;
use epdb_chess::error::{Error, ErrorKind, Result};
use epdb_library::expression::Expression;
use epdb_library::jobs::{JobSink, ShardsJob};
use epdb_library::shards::{MANIFEST, ShardOptions};
use epdb_library::tally::ledger::{Allowed, LedgerError};
use epdb_library::tally::{GameList, SliceOfGames, decide_copies};
use epdb_source::{
    CollectionFile, MAX_SHARDS, Output, SlicePlan, SourceOptions, is_address, name_of, open,
};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::{OrRaise, invalid};
use crate::files::{Counting, Input, MEMORY};
use crate::inputs::{Given, set_storage};
use crate::options::{paths, word};
use crate::slices::{Plan, Slice};
use crate::work::{Progress, run};

/// Cuts files into slices of about equal size, which programs can read separately, even on different
/// machines.
///
/// Text is cut at lines, and games at lines that begin with `[Event `. A compressed file is cut if
/// `pzstd` or `bgzip` made it. Other files are in one slice as a whole.
#[pyfunction]
#[pyo3(signature = (paths, slices))]
pub(crate) fn plan(
    py: Python<'_>,
    #[pyo3(from_py_with = paths)] paths: Vec<PathBuf>,
    slices: u32,
) -> PyResult<Plan> {
    let progress = Progress { callback: None, total: None };
    let plan = run(py, &progress, |_| SlicePlan::new(&paths, slices, &SourceOptions::default()))?;
    Ok(Plan(Arc::new(plan)))
}

/// Lists the games of a slice, so that `copies` finds copies in other slices. Give the same options as for
/// `tally`. Returns the number of games.
#[pyfunction]
#[pyo3(signature = (
    slice, output, *, by = None, max_ply = None, players = None, side = None,
    standard_only = false, same_game = "auto", count_repeats = false, keep_games = None,
    on_error = "raise", **options
))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments")]
pub(crate) fn games(
    py: Python<'_>,
    slice: &Bound<'_, Slice>,
    output: PathBuf,
    by: Option<Vec<String>>,
    max_ply: Option<u32>,
    players: Option<Vec<String>>,
    side: Option<String>,
    standard_only: bool,
    same_game: &str,
    count_repeats: bool,
    keep_games: Option<i64>,
    on_error: &str,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<u64> {
    let input = Input::new(slice.as_any(), on_error, options)?;
    let slice = &slice.get().0;
    let counting = Counting {
        by,
        max_ply,
        players,
        side,
        standard_only,
        same_game,
        keep_duplicates: false,
        count_repeats,
        keep_games,
    };
    let counting = counting.options(py)?;
    let settings = input.options.settings(&counting);
    let truncates = input.options.truncate_games;
    let progress = Progress { callback: None, total: None };
    let (games, findings) = run(py, &progress, |ticker| {
        let of_games = SliceOfGames::new(slice, settings);
        let mut list = GameList::new(Output::create(&output)?, &of_games)?;
        let mut sink = input.sink(ticker);
        sink.read_games(&input.inputs, &mut |item| {
            let digest = counting.digest_of_item(&item, truncates);
            digest.map_or(Ok(()), |digest| list.push(&digest))
        })?;
        let (out, games) = list.finish()?;
        out.finish()?;
        Ok((games, sink.findings))
    })?;
    findings.warn(py)?;
    Ok(games)
}

/// Finds copies of games in the lists of all slices, and decides which copy counts. Returns two numbers: of
/// games, and of copies that do not count.
///
/// The first copy of each game counts, with the ratings of the most complete copy.
#[pyfunction]
#[pyo3(signature = (lists, output))]
pub(crate) fn copies(
    py: Python<'_>,
    #[pyo3(from_py_with = paths)] lists: Vec<PathBuf>,
    output: PathBuf,
) -> PyResult<(u64, u64)> {
    let progress = Progress { callback: None, total: None };
    run(py, &progress, |_| {
        let out = Output::create(&output)?;
        let (out, counts) = decide_copies(&lists, &folder_of(&output), MEMORY, out)?;
        out.finish()?;
        Ok((counts.games, counts.copies))
    })
}

/// Adds libraries, or joins archives, into a sharded archive. Returns the number of records.
///
/// `output` is a folder or its address, where `manifest.json` appears last. `min_games` and `where` choose the
/// positions after the tallies were added. `allow_overlap` adds libraries that may count the same games.
#[pyfunction]
#[pyo3(signature = (
    runs, output, *, shards, level = "default", block = None, min_games = None, r#where = None,
    allow_overlap = false, force = false, storage_options = None
))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments")]
pub(crate) fn merge(
    py: Python<'_>,
    #[pyo3(from_py_with = paths)] runs: Vec<PathBuf>,
    output: PathBuf,
    shards: u32,
    level: &str,
    block: Option<u32>,
    min_games: Option<u64>,
    r#where: Option<String>,
    allow_overlap: bool,
    force: bool,
    storage_options: Option<&Bound<'_, PyDict>>,
) -> PyResult<u64> {
    runs.iter().chain([&output]).try_for_each(|path| set_storage(py, path, storage_options))?;
    if !(1..=MAX_SHARDS).contains(&shards) {
        return Err(invalid(py, &format!("shards is a number from 1 to {MAX_SHARDS}")));
    }
    let input = Input::of(py, Given::lasting(runs.clone()), "raise", None)?;
    let filter = filter(r#where.as_deref(), min_games).map_err(|error| invalid(py, &error))?;
    let options = ShardOptions {
        level: word(py, level)?,
        block_records: block,
        memory_bytes: MEMORY,
        ..ShardOptions::new(shards)
    };
    // A slice alone is only written in another form: the result still says which slices it lacks.
    let allowed = Allowed::new(runs.len() == 1, allow_overlap);
    let progress = Progress { callback: None, total: None };
    let (records, findings) = run(py, &progress, |ticker| {
        let options = to_folder(&output, options, force)?;
        let streams = input.streams.clone();
        let job = ShardsJob::merging(runs, output, options, streams, filter, allowed);
        let mut sink = input.sink(ticker);
        let written = job.map_err(advised)?.run(&mut sink)?;
        Ok((written.manifest.records(), sink.findings))
    })?;
    findings.warn(py)?;
    Ok(records)
}

/// Options for a folder or an address. An existing manifest is replaced only with `force`.
fn to_folder(folder: &Path, options: ShardOptions, force: bool) -> Result<ShardOptions> {
    let manifest = folder.join(MANIFEST);
    let options = if is_address(folder) { options.at_address(folder)? } else { options };
    let exists = options.has_manifest() || manifest.exists();
    if exists && !force {
        let error = Error::new("exists: force=True replaces it").in_source(name_of(&manifest));
        return Err(error.with_kind(ErrorKind::AlreadyExists));
    }
    Ok(options)
}

/// The error for libraries that must not be added, with the argument that allows it.
fn advised(error: LedgerError) -> Error {
    match error {
        LedgerError::Unlike { name, unlike } if unlike.is_overlap() => {
            Error::new(format!("{unlike}; allow_overlap=True adds it anyway")).in_source(name)
        }
        error => error.into(),
    }
}

/// The expression of `where` and `min_games`.
fn filter(r#where: Option<&str>, min_games: Option<u64>) -> Result<Option<Expression>, String> {
    let parsed = r#where.map(Expression::parse).transpose();
    let own = parsed.map_err(|error| error.to_string())?;
    let Some(games) = min_games else { return Ok(own) };
    let both = Expression::with_games(own.as_ref(), games);
    both.map(Some).map_err(|error| error.to_string())
}

/// The archives that are read as a whole instead of a file: the archives of a sharded archive, or the file
/// itself if it is an archive or a store. Empty if the file can be cut into slices.
#[pyfunction]
pub(crate) fn archives(py: Python<'_>, path: PathBuf) -> PyResult<Vec<PathBuf>> {
    Ok(match open(&path).or_raise(py)?.library() {
        Some(CollectionFile::Shards(shards)) => {
            let shards = shards.shards().or_raise(py)?;
            shards.iter().map(|shard| path.with_file_name(&shard.file)).collect()
        }
        Some(_) => vec![path],
        None => Vec::new(),
    })
}

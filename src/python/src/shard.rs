//! Work that several machines share: plans of slices, copies of games, and sharded archives.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use epdb::error::{Error, Result};
use epdb::library::expression::Expression;
use epdb::library::shards::{MANIFEST, ShardBuilder, ShardOptions};
use epdb::library::tally::ledger::{self, Allowed, LedgerSum, Unlike};
use epdb::library::tally::{GameList, SliceOfGames, decide_copies};
use epdb::new_file::folder_of;
use epdb::source::{
    CollectionFile, Content, FileFormat, Filter, Item, MAX_SHARDS, Output, SlicePlan,
    SourceOptions, Sources, Streams, format_of_file, open,
};
use epdb::text::pgn::PositionOptions;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::{OrRaise, file_in_the_way, invalid};
use crate::files::{Counting, Input, MEMORY, each_item};
use crate::options::{paths, word};
use crate::report::Findings;
use crate::slices::{Plan, Slice};
use crate::work::{Progress, Ticker, run};

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
    let plan = run(py, &progress, |_| SlicePlan::new(&paths, slices, &SourceOptions::new()))?;
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
    keep_games: Option<u8>,
    on_error: &str,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<u64> {
    let slice = &slice.get().0;
    let input = Input::new(py, slice.clone(), on_error, options)?;
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
    let (truncates, filter) = (input.options.truncate_games, input.options.filter.as_deref());
    let settings = counting.settings(truncates, input.options.deny_warnings, filter);
    let progress = Progress { callback: None, total: None };
    let (games, findings) = run(py, &progress, |ticker| {
        let mut findings = input.findings();
        let of_games = SliceOfGames::new(slice, settings);
        let mut list = GameList::new(Output::create(&output)?, &of_games)?;
        input.each_game(ticker, &mut findings, &mut |item| {
            let digest = counting.digest_of_item(item, truncates);
            digest.map_or(Ok(()), |digest| list.push(&digest))
        })?;
        let (out, games) = list.finish()?;
        out.finish()?;
        Ok((games, findings))
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
/// `output` is a folder, in which `manifest.json` appears last. `min_games` and `where` choose the
/// positions after the tallies were added. `allow_overlap` adds libraries that may count the same games.
#[pyfunction]
#[pyo3(signature = (
    runs, output, *, shards, level = "default", block = None, min_games = None, r#where = None,
    allow_overlap = false, force = false
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
) -> PyResult<u64> {
    if !(1..=MAX_SHARDS).contains(&shards) {
        return Err(invalid(py, &format!("shards is a number from 1 to {MAX_SHARDS}")));
    }
    let manifest = output.join(MANIFEST);
    if !force && manifest.exists() {
        return Err(file_in_the_way(py, &manifest));
    }
    let filter = filter(r#where.as_deref(), min_games).map_err(|error| invalid(py, &error))?;
    let options =
        ShardOptions::new(shards).level(word(py, level)?).block_records(block).memory_bytes(MEMORY);
    // A slice alone is only written in another form: the result still says which slices it lacks.
    let allowed = Allowed::new(runs.len() == 1, allow_overlap);
    let merging = Merging { runs, output, options, filter, allowed };
    let progress = Progress { callback: None, total: None };
    let mut findings = Findings::default();
    let records = run(py, &progress, |ticker| merging.write(ticker, &mut findings))?;
    findings.warn(py)?;
    Ok(records)
}

/// The expression of `where` and `min_games`.
fn filter(r#where: Option<&str>, min_games: Option<u64>) -> Result<Option<Expression>, String> {
    let parsed = r#where.map(Expression::parse).transpose();
    let own = parsed.map_err(|error| error.to_string())?;
    let Some(games) = min_games else { return Ok(own) };
    let both = Expression::with_games(own.as_ref(), games);
    both.map(Some).map_err(|error| error.to_string())
}

/// The arguments of `merge`.
struct Merging {
    runs: Vec<PathBuf>,
    output: PathBuf,
    options: ShardOptions,
    filter: Option<Expression>,
    allowed: Allowed,
}

impl Merging {
    /// Adds up the ledgers of all runs.
    fn ledger(&mut self, streams: &Streams) -> Result<Option<LedgerSum>> {
        let refused = |file: &Path, unlike: Option<Unlike>| {
            let silent = "does not record how its tallies were made, if it has any".to_string();
            let reason = match unlike {
                Some(unlike) if unlike.is_overlap() => {
                    format!("{unlike}; allow_overlap=True adds it anyway")
                }
                unlike => unlike.map_or(silent, |unlike| unlike.to_string()),
            };
            Error::new(reason).in_source(file.display().to_string())
        };
        let text = self.filter.as_ref().map(Expression::text);
        let repeated = &mut |_: &Path, _: u64| {};
        ledger::of_merged(&mut self.runs, streams, text, self.allowed, &refused, repeated)
    }

    /// Writes the shards and the manifest.
    fn write(mut self, ticker: &Ticker, findings: &mut Findings) -> Result<u64> {
        let streams = Streams::default();
        let ledger = self.ledger(&streams)?;
        let filter = self.filter.map(|filter| Arc::new(filter) as Arc<dyn Filter>);
        let options = self.options.add_tallies(ledger.is_some()).filter(filter);
        let mut builder = ShardBuilder::new(options, std::env::temp_dir());
        let reading =
            SourceOptions::new().positions(PositionOptions::new()).streams(streams.clone());
        Sources::new(self.runs.clone(), &reading).each(&mut |source| {
            each_item(source, ticker, findings, &mut |item| match item {
                Item::Record { record, .. } => builder.push(&record),
                _ => Ok(()),
            })?;
            Ok::<_, Error>(ControlFlow::Continue(()))
        })?;
        for run in &self.runs {
            if let Some(library) = streams.library(run)? {
                library.opened()?.each_kept_game(&mut |_, game| builder.keep_game(game))?;
            }
        }
        Ok(builder.finish(&self.output, ledger)?.records())
    }
}

/// The archives that are read as a whole instead of a file: the archives of a sharded archive, or the file
/// itself if it is an archive or a store. Empty if the file can be cut into slices.
#[pyfunction]
pub(crate) fn archives(py: Python<'_>, path: PathBuf) -> PyResult<Vec<PathBuf>> {
    match format_of_file(&path, None).or_raise(py)? {
        FileFormat::Shards => {
            let Content::Collection(CollectionFile::Shards(shards)) =
                open(&path).or_raise(py)?.into_content()
            else {
                return Ok(vec![path]);
            };
            let shards = shards.manifest().shards().iter();
            Ok(shards.map(|shard| path.with_file_name(&shard.file)).collect())
        }
        FileFormat::Epa | FileFormat::Epdb => Ok(vec![path]),
        _ => Ok(Vec::new()),
    }
}

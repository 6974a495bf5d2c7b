//! Functions that write files.

use std::io::Write;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use epdb_archive::{Level, PackOptions};
use epdb_chess::codec::pgc::PgcEncodeOptions;
use epdb_chess::error::{Error, Result};
use epdb_chess::model::Color;
use epdb_engine::report::html::page as page_of_report;
use epdb_engine::report::{Report, Run, RunOutput};
use epdb_library::expression::Expression;
use epdb_library::field::parse_opcode;
use epdb_library::jobs::{JobSink, RecordsJob, TakeItem, TallyJob, library_files};
use epdb_library::run_file::RunFile;
use epdb_library::same_game::SameGame;
use epdb_library::tally::ledger;
use epdb_library::tally::{Split, TallyOptions};
use epdb_source::{
    Encode, FileFormat, Inputs, Item, Output, Slice, Source, SourceOptions, Sources, Streams,
    Target, TargetOptions,
};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::{OrRaise, file_in_the_way, invalid, written_class};
use crate::inputs::Given;
use crate::options::{ReadOptions, Words, word};
use crate::report::Findings;
use crate::work::{Progress, Ticker, run, run_on};

impl Words for Level {
    const WORDS: &'static [(&'static str, Level)] =
        &[("fast", Level::Fast), ("default", Level::Default)];
}

impl Words for Color {
    const WORDS: &'static [(&'static str, Color)] =
        &[("white", Color::White), ("black", Color::Black)];
}

impl Words for SameGame {
    const WORDS: &'static [(&'static str, SameGame)] = &[
        (SameGame::Auto.name(), SameGame::Auto),
        (SameGame::Moves.name(), SameGame::Moves),
        (SameGame::Players.name(), SameGame::Players),
        (SameGame::Exact.name(), SameGame::Exact),
    ];
}

/// Approximate memory of a function, in bytes.
pub(crate) const MEMORY: usize = 256 << 20;

/// Reads a source. A line or game that cannot be read is an error, unless `findings` collects it.
pub(crate) fn each_item(
    source: Source,
    ticker: &Ticker,
    findings: &mut Findings,
    visit: &mut dyn FnMut(Item<'_>) -> Result<()>,
) -> Result<()> {
    let summary = source.read(&mut |item| {
        ticker.check()?;
        let rejection = findings.report.take(&item);
        match item {
            Item::Diagnostic { .. } | Item::Rejected { is_more: true, .. } => {}
            Item::Rejected { raw, .. } => {
                let Some(error) = rejection else { return Ok(ControlFlow::Continue(())) };
                match &mut findings.rejects {
                    Some(rejects) => rejects.push((raw.to_vec(), error)),
                    None => return Err(error),
                }
            }
            Item::Damaged { damage, place } => {
                return Err(Error::new(damage.to_string()).at(place.clone()));
            }
            item => visit(item)?,
        }
        Ok::<_, Error>(ControlFlow::Continue(()))
    })?;
    findings.report.add_summary(&summary);
    Ok(())
}

/// The files or the slice that a function reads, and the treatment of lines that cannot be read.
pub(crate) struct Input {
    pub(crate) inputs: Inputs,
    pub(crate) options: ReadOptions,
    pub(crate) streams: Streams,
    skips: bool,
    /// Keeps temporary files.
    _given: Given,
}

impl Input {
    /// The files of the value of an argument.
    pub(crate) fn new(
        value: &Bound<'_, PyAny>,
        on_error: &str,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Input> {
        Input::of(value.py(), Given::new(value, None, options)?, on_error, options)
    }

    pub(crate) fn of(
        py: Python<'_>,
        given: Given,
        on_error: &str,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Input> {
        let (skips, options) = (skips(py, on_error)?, ReadOptions::new(py, options)?);
        let (inputs, streams) = (given.inputs.clone(), Streams::default());
        Ok(Input { inputs, options, streams, skips, _given: given })
    }

    /// Findings of a function that reads these inputs.
    pub(crate) fn findings(&self) -> Findings {
        let rejects = self.skips.then(Vec::new);
        Findings { rejects, filter: self.options.filter.clone(), ..Findings::default() }
    }

    /// The sink of a job that reads these inputs.
    pub(crate) fn sink<'s>(&'s self, ticker: &'s Ticker) -> Sink<'s> {
        Sink { input: self, ticker, findings: self.findings() }
    }

    /// Writes all records to a target.
    fn write_records(&self, target: Target, ticker: &Ticker) -> Result<Counts> {
        let ledger = if target.keeps_tally_ledger() {
            let filter = self.options.filter.as_ref().map(Expression::text);
            ledger::of_records(library_files(&self.inputs), &self.streams, filter, true)?
        } else {
            None
        };
        let job = RecordsJob { inputs: self.inputs.clone(), streams: self.streams.clone(), ledger };
        let mut sink = self.sink(ticker);
        let written = job.run(target, &mut sink)?;
        Ok(Counts { records: written.records, games: 0, findings: sink.findings })
    }

    /// Writes all games to a target.
    fn write_games(&self, mut target: Target, ticker: &Ticker) -> Result<Counts> {
        let (mut sink, mut games) = (self.sink(ticker), 0);
        sink.read_games(&self.inputs, &mut |item| match item {
            Item::Game { game, place, .. } => {
                games += 1;
                target.write_game(game).map_err(|error| error.at(place.clone()))
            }
            _ => Ok(()),
        })?;
        ticker.check()?;
        target.finish()?;
        Ok(Counts { records: 0, games, findings: sink.findings })
    }
}

/// Reads the sources of a job, and collects what is found there.
pub(crate) struct Sink<'s> {
    input: &'s Input,
    ticker: &'s Ticker,
    pub(crate) findings: Findings,
}

impl Sink<'_> {
    fn read(
        &mut self,
        inputs: &Inputs,
        options: SourceOptions,
        take: &mut TakeItem<'_, Error>,
    ) -> Result<()> {
        let options = SourceOptions {
            streams: Some(self.input.streams.clone()),
            bytes_read: Some(self.ticker.bytes.clone()),
            ..options
        };
        Sources::new(inputs.clone(), &options).each(&mut |source| {
            each_item(source, self.ticker, &mut self.findings, take)?;
            Ok(ControlFlow::Continue(()))
        })
    }
}

impl JobSink for Sink<'_> {
    type Error = Error;

    fn read_games(&mut self, inputs: &Inputs, take: &mut TakeItem<'_, Error>) -> Result<()> {
        self.read(inputs, self.input.options.source.clone(), &mut |item| match item {
            Item::Record { place, .. } => {
                Err(Error::new("a file of positions has no games").at(place.clone()))
            }
            item => take(item),
        })
    }

    fn read_records(
        &mut self,
        inputs: &Inputs,
        encode: Option<Arc<dyn Encode>>,
        take: &mut TakeItem<'_, Error>,
    ) -> Result<()> {
        let options = self.input.options.records();
        self.read(inputs, SourceOptions { encode, ..options }, take)
    }

    fn begin_writing(&mut self, _: u64) {}

    fn written(&mut self, _: u64, _: Option<u64>) -> Result<()> {
        self.ticker.check()
    }
}

/// The value of `on_error`.
pub(crate) fn skips(py: Python<'_>, on_error: &str) -> PyResult<bool> {
    match on_error {
        "raise" => Ok(false),
        "skip" => Ok(true),
        other => Err(invalid(py, &format!("on_error is {other:?}, not \"raise\" or \"skip\""))),
    }
}

/// Counts of a file that was written.
struct Counts {
    records: u64,
    games: u64,
    findings: Findings,
}

impl Counts {
    fn into_python(self, py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        let Counts { records, games, findings } = self;
        findings.warn(py)?;
        let rejected = findings.rejected(py)?;
        let cut_short = findings.report.cut_short;
        written_class(py)?.call1((records, games, rejected, cut_short, findings.warnings(py)?))
    }
}

/// Refuses to replace a store or an archive, and to replace an input by a part of it.
fn check_output(py: Python<'_>, input: &Input, output: &Path, force: bool) -> PyResult<()> {
    if force || !output.exists() {
        return Ok(());
    }
    let format = FileFormat::from_name(output);
    if matches!(format, Some(FileFormat::Epdb | FileFormat::Epa)) {
        return Err(file_in_the_way(py, output));
    }
    let takes_some = input.skips || input.options.filter.is_some();
    let is_input = |file: &PathBuf| file.canonicalize().ok() == output.canonicalize().ok();
    match &input.inputs {
        Inputs::Files(files) if takes_some && files.iter().any(is_input) => {
            let output = output.display();
            let text = format!(
                "{output} is an input, which a part of it would replace: force=True replaces it"
            );
            Err(invalid(py, &text))
        }
        _ => Ok(()),
    }
}

/// Packs the records of files or of a slice into an archive.
///
/// The record of a position of a game has the position and its move `sm`, so `explore` finds no results: `tally` counts
/// them. `game_tags=True` also keeps the tags of the game as the operation `ptp`, with `White`, `Black` and `Result`;
/// `game_evals=True` keeps evaluations as `ce`.
///
/// `level` is fast or default. `progress` is called with the number of bytes that were read so far, and
/// the number of all bytes or None.
#[pyfunction]
#[pyo3(signature = (
    paths, output, *, level = "default", sorted = false, index = true, block = None, force = false,
    on_error = "raise", progress = None, **options
))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments")]
pub(crate) fn pack<'py>(
    py: Python<'py>,
    paths: &Bound<'_, PyAny>,
    output: PathBuf,
    level: &str,
    sorted: bool,
    index: bool,
    block: Option<u32>,
    force: bool,
    on_error: &str,
    progress: Option<Py<PyAny>>,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let input = Input::new(paths, on_error, options)?;
    if block.is_some_and(|block| !(1..=65_535).contains(&block)) {
        return Err(invalid(py, "block is a number of records from 1 to 65535"));
    }
    let pack = PackOptions {
        level: word(py, level)?,
        sorted,
        index,
        block_records: block,
        memory_bytes: MEMORY,
        ..Default::default()
    };
    check_output(py, &input, &output, force)?;
    let target =
        TargetOptions { format: Some(FileFormat::Epa), archive: pack, ..Default::default() };
    let progress = Progress::new(progress, &input.inputs);
    run(py, &progress, |ticker| {
        input.write_records(Target::create_with(&output, &target)?, ticker)
    })?
    .into_python(py)
}

/// Writes the records of an archive to a file of another format, chosen by its name.
#[pyfunction]
#[pyo3(signature = (archive, output, *, force = false, progress = None))]
pub(crate) fn unpack<'py>(
    py: Python<'py>,
    archive: &Bound<'py, PyAny>,
    output: PathBuf,
    force: bool,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let path: PathBuf = archive.extract()?;
    let source = Source::open(&path, &SourceOptions::default()).or_raise(py)?;
    if source.format() != FileFormat::Epa {
        return Err(invalid(py, &format!("{} is not an archive", path.display())));
    }
    convert(py, archive, output, None, None, force, false, "raise", progress, None)
}

impl Words for Schema {
    const WORDS: &'static [(&'static str, Schema)] = &[
        ("records", Schema(FileFormat::Parquet)),
        ("records-all", Schema(FileFormat::ParquetAllRecords)),
        ("games", Schema(FileFormat::ParquetGames)),
        ("moves", Schema(FileFormat::ParquetMoves)),
        ("lichess-evals", Schema(FileFormat::ParquetLichessEvaluations)),
        ("lichess-games", Schema(FileFormat::ParquetLichessGames)),
    ];
}

/// The table that a Parquet file gets.
#[derive(Clone, Copy)]
struct Schema(FileFormat);

/// Converts files, or a table of Arrow, to another format, chosen by the suffixes of both names.
///
/// Games stay games if the output is .pgn or .pgc; otherwise their positions are written. `schema` is the table of
/// a .parquet output: records, records-all with every column, games, moves, lichess-evals or lichess-games. `threads` is the number of threads, by
/// default one per core. Comments in .pgc need `ext=True`.
#[pyfunction]
#[pyo3(signature = (
    input, output, *, schema = None, threads = None, force = false, ext = false, on_error = "raise",
    progress = None, **options
))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments")]
pub(crate) fn convert<'py>(
    py: Python<'py>,
    input: &Bound<'_, PyAny>,
    output: PathBuf,
    schema: Option<&str>,
    threads: Option<NonZeroUsize>,
    force: bool,
    ext: bool,
    on_error: &str,
    progress: Option<Py<PyAny>>,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let mut input = Input::new(input, on_error, options)?;
    check_output(py, &input, &output, force)?;
    let mut target = TargetOptions {
        replace: force,
        store_memory_bytes: Some(MEMORY),
        pgc: PgcEncodeOptions { extended: ext, ..Default::default() },
        ..Default::default()
    };
    let named = FileFormat::from_name(&output);
    let mut is_of_games = named.is_some_and(FileFormat::is_of_games);
    if let Some(schema) = schema {
        let Schema(format) = word(py, schema)?;
        if named != Some(FileFormat::Parquet) {
            return Err(invalid(py, "schema is for an output whose name ends with .parquet"));
        }
        is_of_games = format.is_of_games();
        target.format = Some(format);
    }
    // Tables have columns for evaluations, as those of `scan`.
    input.options.positions.evaluations |= named == Some(FileFormat::Parquet);
    let progress = Progress::new(progress, &input.inputs);
    run_on(py, threads, &progress, |ticker| {
        let target = Target::create_with(&output, &target)?;
        if is_of_games {
            input.write_games(target, ticker)
        } else {
            input.write_records(target, ticker)
        }
    })?
    .into_python(py)
}

/// Writes the records of files as canonical EPD, with the comments between them.
///
/// `str(Record(text))` is the canonical form of one line.
#[pyfunction]
#[pyo3(signature = (paths, output, *, on_error = "raise", progress = None, **options))]
pub(crate) fn normalize<'py>(
    py: Python<'py>,
    paths: &Bound<'_, PyAny>,
    output: PathBuf,
    on_error: &str,
    progress: Option<Py<PyAny>>,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let input = Input::new(paths, on_error, options)?;
    let target = TargetOptions { format: Some(FileFormat::Epd), ..Default::default() };
    let progress = Progress::new(progress, &input.inputs);
    run(py, &progress, |ticker| {
        input.write_records(Target::create_with(&output, &target)?, ticker)
    })?
    .into_python(py)
}

/// The arguments that decide which games count, and how.
pub(crate) struct Counting<'a> {
    pub(crate) by: Option<Vec<String>>,
    pub(crate) max_ply: Option<u32>,
    pub(crate) players: Option<Vec<String>>,
    pub(crate) side: Option<String>,
    pub(crate) standard_only: bool,
    pub(crate) same_game: &'a str,
    pub(crate) keep_duplicates: bool,
    pub(crate) count_repeats: bool,
    pub(crate) keep_games: Option<i64>,
}

impl Counting<'_> {
    pub(crate) fn options(self, py: Python<'_>) -> PyResult<TallyOptions> {
        let same_game = word(py, self.same_game)?;
        let keep_games = self.keep_games.map(u8::try_from).transpose();
        let keep_games = keep_games.map_err(|_| {
            invalid(py, "keep_games is a number of games for each position, at most 255")
        })?;
        let players = self.players.iter().flatten();
        let mut counting = TallyOptions {
            max_ply: self.max_ply.unwrap_or(u32::MAX),
            players: players.map(|name| name.trim().to_string()).collect(),
            color: self.side.map(|side| word(py, &side)).transpose()?,
            standard_only: self.standard_only,
            same_game: (!self.keep_duplicates).then_some(same_game),
            count_repeats: self.count_repeats,
            keep_games,
            ..TallyOptions::default()
        };
        let Split { year, month, speed, rating } = &mut counting.split;
        for what in self.by.iter().flatten() {
            match what.as_str() {
                "year" => *year = true,
                "month" => *month = true,
                "speed" => *speed = true,
                "rating" => *rating = true,
                _ => {
                    let text = format!("by: {what:?} is not year, month, speed or rating");
                    return Err(invalid(py, &text));
                }
            }
        }
        Ok(counting)
    }
}

/// Checks that the arguments say which games of a slice have copies in other slices.
fn check_copies(
    py: Python<'_>,
    slice: Option<&Slice>,
    counting: &TallyOptions,
    copies: Option<&Path>,
) -> PyResult<()> {
    let is_decided = copies.is_some() || counting.unique_games;
    let keeps_duplicates = counting.same_game.is_none();
    let fault = match slice {
        None if is_decided => "copies and unique_games are for a slice",
        Some(_) if copies.is_some() && counting.unique_games => {
            "unique_games says that there are no copies: leave out one of both"
        }
        Some(_) if is_decided && keeps_duplicates => {
            "keep_duplicates counts every copy: leave out copies and unique_games"
        }
        Some(slice) if !is_decided && !keeps_duplicates && slice.plan().len() > 1 => {
            "copies of a game may be in different slices: list the games of each slice by \
             shard.games, decide by shard.copies, and give copies; or give unique_games=True if the \
             files have each game once, or keep_duplicates=True to count every copy"
        }
        _ => return Ok(()),
    };
    Err(invalid(py, fault))
}

/// Counts games into a library: the moves played in each position, and their results.
///
/// For a slice, give `copies`, a file that `shard.copies` wrote, so that each game counts once across slices.
/// If no game occurs twice in the files, give `unique_games=True` instead. `by` splits the counts by year,
/// month, speed or rating. `same_game`, the criterion for repeated games, is auto, moves, players or exact.
/// `keep_games` is the number of games that each position keeps for `Library.games`, at most 255.
/// Returns the counts as a dict.
#[pyfunction]
#[pyo3(signature = (
    paths, output, *, by = None, max_ply = None, players = None, side = None,
    standard_only = false, same_game = "auto", keep_duplicates = false, count_repeats = false,
    keep_games = None, digests = true, copies = None, unique_games = false, force = false,
    on_error = "raise", progress = None, **options
))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments")]
pub(crate) fn tally<'py>(
    py: Python<'py>,
    paths: &Bound<'_, PyAny>,
    output: PathBuf,
    by: Option<Vec<String>>,
    max_ply: Option<u32>,
    players: Option<Vec<String>>,
    side: Option<String>,
    standard_only: bool,
    same_game: &str,
    keep_duplicates: bool,
    count_repeats: bool,
    keep_games: Option<i64>,
    digests: bool,
    copies: Option<PathBuf>,
    unique_games: bool,
    force: bool,
    on_error: &str,
    progress: Option<Py<PyAny>>,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyDict>> {
    let input = Input::new(paths, on_error, options)?;
    let counting = Counting {
        by,
        max_ply,
        players,
        side,
        standard_only,
        same_game,
        keep_duplicates,
        count_repeats,
        keep_games,
    };
    let counting = TallyOptions { unique_games, ..counting.options(py)? };
    let slice = match &input.inputs {
        Inputs::Slice(slice) => Some(slice),
        Inputs::Files(_) => None,
    };
    check_copies(py, slice, &counting, copies.as_deref())?;
    check_output(py, &input, &output, force)?;
    let progress = Progress::new(progress, &input.inputs);
    let job = TallyJob {
        inputs: input.inputs.clone(),
        settings: input.options.settings(&counting),
        counting,
        copies,
        digests,
        memory_bytes: MEMORY,
    };
    job.format(&output).or_raise(py)?;
    let (counts, findings) = run(py, &progress, |ticker| {
        let target = Target::create_with(
            &output,
            &TargetOptions { replace: force, ..job.target_options() },
        )?;
        let mut sink = input.sink(ticker);
        let (counts, _) = job.run(&output, target, &mut sink)?;
        Ok((counts, sink.findings))
    })?;
    findings.warn(py)?;
    let object = PyDict::new(py);
    object.set_item("games", counts.games)?;
    object.set_item("duplicates", counts.duplicates)?;
    object.set_item("left_out", counts.left_out)?;
    object.set_item("cut_short", counts.cut_short)?;
    object.set_item("plies", counts.plies)?;
    object.set_item("positions", counts.positions)?;
    object.set_item("rejected", findings.rejected(py)?)?;
    object.set_item("warnings", findings.warnings(py)?)?;
    Ok(object)
}

/// Results of engines on test suites: a dict with the report, runs, themes, pairs and problems.
///
/// Each file is a run, as `epdb solve` writes it. `html` is the name of a page to write.
#[pyfunction]
#[pyo3(signature = (
    paths, *, names = None, theme = "id", html = None, on_error = "raise", progress = None, **options
))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments")]
pub(crate) fn report<'py>(
    py: Python<'py>,
    paths: &Bound<'_, PyAny>,
    names: Option<Vec<String>>,
    theme: &str,
    html: Option<PathBuf>,
    on_error: &str,
    progress: Option<Py<PyAny>>,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let input = Input::new(paths, on_error, options)?;
    if names.as_ref().is_some_and(|names| names.len() != library_files(&input.inputs).len()) {
        return Err(PyTypeError::new_err("names has one name for each path"));
    }
    if library_files(&input.inputs).len() > Report::MAX_RUNS {
        let most = Report::MAX_RUNS;
        return Err(invalid(py, &format!("at most {most} runs can be compared")));
    }
    let theme = parse_opcode(theme).map_err(|error| invalid(py, &error))?;
    let progress = Progress::new(progress, &input.inputs);
    let page_path = html;
    let (text, findings) = run(py, &progress, |ticker| {
        let mut findings = input.findings();
        let mut memory = MEMORY;
        let mut runs = Vec::new();
        for (place, path) in library_files(&input.inputs).iter().enumerate() {
            let facts = RunFile::beside(path)?;
            let name = names.as_ref().map(|names| names[place].as_str());
            let file = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
            let label = name.or(facts.as_ref().and_then(RunFile::label)).unwrap_or(&file);
            let label = label.to_string();
            let output = RunOutput { file: path.display().to_string(), facts };
            let mut run = Run::new(label, vec![output], theme);
            let source = Source::open(path, &input.options.records())?;
            each_item(source, ticker, &mut findings, &mut |item| match item {
                Item::Record { record, place, .. } => run.add(&record, 0, place, &mut memory),
                _ => Ok(()),
            })?;
            runs.push(run);
        }
        let report = Report::new(&runs);
        if let Some(path) = &page_path {
            let mut page = Output::create(path)?;
            page.write_all(page_of_report(&report)?.as_bytes())?;
            page.finish()?;
        }
        let object = serde_json::json!({
            "report": report.object(),
            "runs": report.run_objects().collect::<Vec<_>>(),
            "themes": report.theme_objects(),
            "pairs": report.pair_objects().collect::<Vec<_>>(),
            "problems": report.problem_objects().collect::<Vec<_>>(),
            "rejected": findings.report.rejected,
        });
        Ok((object.to_string(), findings))
    })?;
    findings.warn(py)?;
    py.import("json")?.call_method1("loads", (text,))
}

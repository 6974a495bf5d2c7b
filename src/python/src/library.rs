//! The class `Library`: records by position.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};

use epdb_chess::codec::packed;
use epdb_chess::codec::query::{Query, SkipTo};
use epdb_chess::error::{Error, Result, caught};
use epdb_chess::model::rules::Playable;
use epdb_chess::model::{EpdRecord, Position};
use epdb_chess::text::ScoreView;
use epdb_chess::text::pgn::{self, PgnFormatOptions};
use epdb_library::column_lookup::{
    LookupOptions, PositionExploration, PositionLookup, PositionQuestion,
};
use epdb_library::explore::{ExploreOptions, Explored, MoveRow, SortBy, explore, performance};
use epdb_library::jobs::{self, TakeItem};
use epdb_library::kept_games::{FoundGame, listed};
use epdb_library::scan::Rows;
use epdb_library::tally::TallyOptions;
use epdb_source::{
    Collection, FileFormat, Lookup, ReadReport, Source, SourceOptions, repeat_if_replaced,
};
use pyo3::exceptions::{PyIndexError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PySlice, PyTuple};
use rayon::ThreadPool;
use rayon::prelude::*;

use crate::answers::{AnswerStream, Answers, Questions};
use crate::arrow_input::is_arrow;
use crate::errors::{
    OrRaise, entry_class, explored_class, explored_move_class, game_class, invalid, move_class,
    with_given_names,
};
use crate::files::each_item;
use crate::inputs::Given;
use crate::options::{ReadOptions, Words, word};
use crate::record::Record;
use crate::report::{Findings, report_object};
use crate::scan::column_names;
use crate::work::{Progress, run, shared_threads};
use crate::{operands, positions};

impl Words for SortBy {
    const WORDS: &'static [(&'static str, SortBy)] = &[
        ("games", SortBy::Games),
        ("score", SortBy::Score),
        ("white", SortBy::White),
        ("draws", SortBy::Draws),
        ("black", SortBy::Black),
        ("elo", SortBy::Elo),
        ("performance", SortBy::Performance),
        ("reached", SortBy::Reached),
        ("ce", SortBy::Ce),
        ("name", SortBy::Name),
    ];
}

/// Number of positions in a part, of which each thread looks up an equal share. Each share decodes the blocks that it
/// needs, so large shares decode less. While the records of a part become objects, the next part is looked up.
const POSITIONS_OF_PART: usize = 1 << 18;
/// Minimum number of positions in a share.
const POSITIONS_OF_SHARE: usize = 1 << 12;
/// Number of records of a slice between two checks for signals.
const RECORDS_BETWEEN_SIGNALS: usize = 1 << 18;

/// An open library: a store, an archive, or any other file of records or games.
#[pyclass(module = "epdb_chess", name = "Library", frozen)]
pub(crate) struct Library {
    path: PathBuf,
    /// The keyword arguments by which another process opens the same library.
    arguments: Py<PyDict>,
    /// Keeps a temporary file.
    given: Given,
    memory: usize,
    is_store: bool,
    /// The report of the reading that opened the library; empty if nothing was read.
    report: ReadReport,
    state: Mutex<State>,
}

struct State {
    /// `None` in a closed library.
    lookup: Option<Arc<Collection>>,
    /// The process that opened it.
    process: u32,
}

/// Opens a file for finding records by position.
///
/// Stores and archives are searched directly. Records of other files are first packed into a temporary
/// archive. Games are counted as by `tally`. `path` is one file, or bytes, a file object or a table of Arrow.
/// `progress` is as in `scan`.
#[pyfunction]
#[pyo3(signature = (path, *, memory = 67_108_864, progress = None, **options))]
pub(crate) fn open(
    py: Python<'_>,
    path: &Bound<'_, PyAny>,
    memory: usize,
    progress: Option<Py<PyAny>>,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<Library> {
    let path = Given::new(path, None, options)?;
    let arguments = options.map_or_else(|| Ok(PyDict::new(py)), PyDictMethods::copy)?;
    arguments.set_item("memory", memory)?;
    let arguments = arguments.unbind();
    let options = ReadOptions::new(py, options)?;
    let progress = Progress::new(progress, &path.inputs);
    let (given, path) = (path.clone(), path.file(py)?.to_path_buf());
    let mut findings = Findings::default();
    let (lookup, is_store) = run(py, &progress, |ticker| {
        let bytes_read = Some(Arc::clone(&ticker.bytes));
        let options = SourceOptions { bytes_read, ..options.source.clone() };
        let source = Source::open(&path, &options)?;
        let is_store = source.format() == FileFormat::Epdb;
        let read =
            |source, take: &mut TakeItem<'_, Error>| each_item(source, ticker, &mut findings, take);
        Ok((jobs::open(source, TallyOptions::default(), memory, read)?, is_store))
    })?;
    findings.filter = options.filter;
    findings.warn(py)?;
    let state = State { lookup: Some(Arc::new(lookup)), process: std::process::id() };
    let (report, state) = (findings.report, Mutex::new(state));
    Ok(Library { path, arguments, given, memory, is_store, report, state })
}

impl Library {
    /// The open file. A store is opened again after each commit of another process. A forked process
    /// opens the file again, because other threads of the parent may have held its locks.
    fn lookup_file(&self, py: Python<'_>) -> PyResult<Arc<Collection>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(lookup) = &state.lookup else { return Err(invalid(py, "the library is closed")) };
        let is_forked = state.process != std::process::id();
        let again = if is_forked {
            lookup.reopened(self.memory)
        } else if lookup.is_current() {
            return Ok(Arc::clone(lookup));
        } else {
            lookup.renewed(self.memory)
        };
        let again = Arc::new(again.or_raise(py)?);
        let before = state.lookup.replace(Arc::clone(&again));
        if is_forked {
            std::mem::forget(before);
            state.process = std::process::id();
        }
        Ok(again)
    }

    fn records(&self, py: Python<'_>, query: Query) -> PyResult<Vec<EpdRecord>> {
        let lookup = self.lookup_file(py)?;
        py.detach(|| records(&lookup, query)).or_raise(py)
    }

    fn explored(
        &self,
        py: Python<'_>,
        position: &Position,
        options: &ExploreOptions,
    ) -> PyResult<Explored> {
        let lookup = self.lookup_file(py)?;
        py.detach(|| {
            explore::<Error>(position, 1, options, &mut |queries| {
                lookup.records(queries, &|_| false)
            })
        })
        .or_raise(py)
    }
}

/// The records of queries, in parts. Threads look up the next parts while the caller takes a part. After an
/// error there are no more parts.
fn found_by(
    threads: &ThreadPool,
    lookup: Arc<Collection>,
    queries: Vec<Query>,
    first: bool,
) -> Receiver<Result<Vec<Vec<Record>>>> {
    // Whoever takes the parts keeps all records, so nothing is gained by waiting for them.
    let (sender, parts) = channel();
    threads.spawn(move || {
        let search = |queries: &[Query]| search(&lookup, queries, first);
        for part in queries.chunks(POSITIONS_OF_PART) {
            let share = part.len().div_ceil(rayon::current_num_threads());
            let found = caught(|| {
                let found = part.par_chunks(share.max(POSITIONS_OF_SHARE)).map(search);
                Ok(found.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
            });
            let is_last = found.is_err();
            if sender.send(found).is_err() || is_last {
                return;
            }
        }
    });
    parts
}

/// The records of each query; with `first`, at most one.
fn search(lookup: &Collection, queries: &[Query], first: bool) -> Result<Vec<Vec<Record>>> {
    repeat_if_replaced(lookup, || {
        let mut records = Vec::new();
        records.resize_with(queries.len(), Vec::new);
        lookup.get_batch(queries, &mut |place, found| {
            records[place].push(Record::found(&found)?);
            Ok(if first {
                ControlFlow::Break(SkipTo::NextQuery)
            } else {
                ControlFlow::Continue(())
            })
        })?;
        Ok(records)
    })
}

fn records(lookup: &Collection, query: Query) -> Result<Vec<EpdRecord>> {
    let found = repeat_if_replaced(lookup, || {
        lookup.matches(&query).map(|found| Ok(found?.1)).collect::<Result<Vec<_>>>()
    });
    found.map_err(|error| lookup.named(error))
}

#[pymethods]
impl Library {
    /// Number of records.
    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        usize::try_from(self.lookup_file(py)?.len()).map_err(Into::into)
    }

    fn __contains__(&self, position: &Bound<'_, PyAny>) -> PyResult<bool> {
        let py = position.py();
        let query = positions::query(position)?;
        let lookup = self.lookup_file(py)?;
        let found = py.detach(|| match lookup.matches(&query).next_match() {
            None => Ok(false),
            Some(found) => found.map(|_| true),
        });
        found.or_raise(py)
    }

    /// The records of a position; the record with a number; the records of a slice of numbers.
    fn __getitem__<'py>(&self, position: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = position.py();
        if let Ok(slice) = position.cast::<PySlice>() {
            return Ok(self.slice(slice)?.into_any());
        }
        if let Ok(number) = position.extract::<i64>() {
            let lookup = self.lookup_file(py)?;
            let number = if number < 0 { number + lookup.len() as i64 } else { number };
            let record = u64::try_from(number).ok();
            let record = record.map(|number| py.detach(|| lookup.record(number)));
            let record = record.transpose().or_raise(py)?.flatten();
            let record =
                record.ok_or_else(|| PyIndexError::new_err("no record has this number"))?;
            return Ok(Bound::new(py, Record::from(record))?.into_any());
        }
        let found = self.records(py, positions::query(position)?)?;
        Ok(Record::list(py, found)?.into_any())
    }

    /// The first record of a position; None if there is none.
    fn one(&self, position: &Bound<'_, PyAny>) -> PyResult<Option<Record>> {
        let py = position.py();
        let query = positions::query(position)?;
        let lookup = self.lookup_file(py)?;
        let found = py.detach(|| match lookup.matches(&query).next_match() {
            None => Ok(None),
            Some(found) => found.and_then(|found| found.record()).map(Some),
        });
        Ok(found.map_err(|error| lookup.named(error)).or_raise(py)?.map(Record::from))
    }

    /// The records of many positions, a list for each. Runs on all threads without the lock of the
    /// interpreter. `positions` is an iterable, or one bytes object of packed boards in sequence.
    #[pyo3(signature = (positions, *, first = false))]
    fn get_many<'py>(
        &self,
        positions: &Bound<'py, PyAny>,
        first: bool,
    ) -> PyResult<Bound<'py, PyList>> {
        let py = positions.py();
        let lookup = self.lookup_file(py)?;
        let threads = shared_threads(py)?;
        let packed = positions.cast::<PyBytes>().ok().map(|bytes| bytes.as_bytes());
        let queries = match packed {
            Some(_) => Vec::new(),
            None => {
                let positions = positions.try_iter()?;
                positions.map(|one| crate::positions::query(&one?)).collect::<PyResult<_>>()?
            }
        };
        let queries = py
            .detach(|| match packed {
                Some(packed) => threads.install(|| packed_queries(packed)),
                None => Ok(queries),
            })
            .or_raise(py)?;
        let all = PyList::empty(py);
        let mut parts = found_by(&threads, lookup, queries, first);
        loop {
            let (part, back) = py.detach(move || (parts.recv(), parts));
            parts = back;
            // The channel is closed after the last part, or after an error.
            let Ok(part) = part else { return Ok(all) };
            for records in part.or_raise(py)? {
                if first {
                    let record = records.into_iter().next();
                    all.append(record.map(|record| record.into_object(py)).transpose()?)?;
                } else {
                    all.append(Record::list(py, records)?)?;
                }
            }
            py.check_signals()?;
        }
    }

    /// The records of a column of positions, as rows for data frames. `table` is a table or a column of Arrow
    /// (pyarrow, polars, pandas, DuckDB), or an iterable of positions. `on` is its column of FENs or packed
    /// boards; without it, the only column, `fen` or `board`.
    ///
    /// Each query has one row with its number `query`, the number of its records `matches`, and `columns` of its
    /// first record; a query without records has `matches` 0 and nulls. With `all`, each record has a row, and
    /// a query without records has none. `columns` are as in `scan`. With `on_error="null"`, a query without a
    /// position has nulls and the reason in the column `error`.
    #[pyo3(signature = (
        table, on = None, *, columns = None, all = false, score_view = "mover", on_error = "raise"
    ))]
    fn lookup(
        &self,
        table: &Bound<'_, PyAny>,
        on: Option<&str>,
        columns: Option<Bound<'_, PyAny>>,
        all: bool,
        score_view: &str,
        on_error: &str,
    ) -> PyResult<Answers> {
        let py = table.py();
        let refuses_faults = match on_error {
            "raise" => true,
            "null" => false,
            _ => return Err(invalid(py, &format!("{on_error:?} is not one of raise, null"))),
        };
        let columns = columns.map(|columns| column_names(&columns, Rows::Records)).transpose()?;
        let white_view = word::<ScoreView>(py, score_view)? == ScoreView::White;
        let options = LookupOptions { columns, all, white_view, refuses_faults };
        let lookup = PositionLookup::new(options).or_raise(py)?;
        self.answers(Box::new(lookup), table, on)
    }

    /// The moves of a position with the results of their games; None if the library lacks the
    /// position. `sort` is games, score, white, draws, black, elo, performance, reached, ce or name.
    ///
    /// `position` can also be a table, a column of Arrow or a list of positions, as for `lookup`. Then the result has a row for each
    /// move, with the number of its query; positions without moves in the library have no rows. `games` are those
    /// with a known result, and `score` is White's share of their points, 0 to 1. The columns `reached` and `ce` need
    /// `children=True`.
    #[pyo3(signature = (
        position, on = None, *, sort = "games", limit = None, min_games = 0, children = false
    ))]
    fn explore<'py>(
        &self,
        position: &Bound<'py, PyAny>,
        on: Option<&str>,
        sort: &str,
        limit: Option<usize>,
        min_games: u64,
        children: bool,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let py = position.py();
        let options = ExploreOptions {
            sort: word::<SortBy>(py, sort)?,
            limit,
            min_games,
            ..Default::default()
        };
        let is_list = position.is_instance_of::<PyList>() || position.is_instance_of::<PyTuple>();
        if on.is_some() || is_list || is_arrow(position)? {
            let exploration = PositionExploration::new(options, children).or_raise(py)?;
            let answers = self.answers(Box::new(exploration), position, on)?;
            return Ok(Some(Bound::new(py, answers)?.into_any()));
        }
        let position = positions::position(position)?;
        let explored = self.explored(py, &position, &options)?;
        if explored.entry.is_none() {
            return Ok(None);
        }
        let playable = Playable::new(&position).ok();
        let moves =
            explored.rows.iter().map(|row| explored_move(py, &explored, playable.as_ref(), row));
        let moves = moves.collect::<PyResult<Vec<_>>>()?;
        let counts = explored.counts();
        let reached = explored.games.as_ref().map(|games| games.reached);
        let fields = (counts.white, counts.draws, counts.black, reached, moves);
        Ok(Some(explored_class(py)?.call1(fields)?))
    }

    /// The games that the library keeps for a position: the best rated games and the latest games.
    fn games<'py>(&self, position: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let py = position.py();
        let position = positions::position(position)?;
        let lookup = self.lookup_file(py)?;
        let found = py.detach(|| {
            let lists = listed(&records(&lookup, Query::from(&position))?);
            let kept: Vec<_> = lists.iter().flat_map(|list| list.games()).collect();
            FoundGame::find(&kept, &position, |id| lookup.kept_game(id))
        });
        let playable = Playable::new(&position).ok();
        found.or_raise(py)?.iter().map(|found| game(py, playable.as_ref(), found)).collect()
    }

    /// The moves of a position with their weights, the largest weight first, as in `chess.polyglot`. The
    /// weights are those of an opening book, or else the numbers of games.
    #[pyo3(signature = (position, *, minimum_weight = 1, exclude_moves = None))]
    fn find_all<'py>(
        &self,
        position: &Bound<'py, PyAny>,
        minimum_weight: u64,
        exclude_moves: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let entries = self.entries(position, minimum_weight, exclude_moves)?;
        Ok(entries.into_iter().map(|(entry, _)| entry).collect())
    }

    /// The entry of the move with the largest weight. Raises IndexError if there is none.
    #[pyo3(signature = (position, *, minimum_weight = 1, exclude_moves = None))]
    fn find<'py>(
        &self,
        position: &Bound<'py, PyAny>,
        minimum_weight: u64,
        exclude_moves: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let entries = self.entries(position, minimum_weight, exclude_moves)?;
        entries.into_iter().next().map(|(entry, _)| entry).ok_or_else(no_entry)
    }

    /// An entry that is chosen at random, in proportion to the weights. Raises IndexError if there
    /// is none. `random` is a `random.Random`.
    #[pyo3(signature = (position, *, exclude_moves = None, random = None))]
    fn weighted_choice<'py>(
        &self,
        position: &Bound<'py, PyAny>,
        exclude_moves: Option<&Bound<'py, PyAny>>,
        random: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = position.py();
        let entries = self.entries(position, 1, exclude_moves)?;
        let total: u64 = entries.iter().map(|(_, weight)| weight).sum();
        if total == 0 {
            return Err(no_entry());
        }
        let random = random.map_or_else(|| py.import("random").map(Bound::into_any), Ok)?;
        let mut place: u64 = random.call_method1("randrange", (total,))?.extract()?;
        for (entry, weight) in entries {
            match place.checked_sub(weight) {
                Some(rest) => place = rest,
                None => return Ok(entry),
            }
        }
        Err(no_entry())
    }

    /// A report of the records that were read when the library was opened, and of everything that was left
    /// out. Stores and archives are not read then, so their report counts only their records.
    fn report<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let rows = self.lookup_file(py)?.len();
        report_object(py, rows, true, &self.report)
    }

    /// The name of the file.
    #[getter]
    fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the library was closed.
    #[getter]
    fn closed(&self) -> bool {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).lookup.is_none()
    }

    /// Closes the file. Later calls raise EpdbError.
    fn close(&self, py: Python<'_>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let lookup = state.lookup.take();
        let is_own = state.process == std::process::id();
        drop(state);
        match is_own {
            // Other threads of Python may still look up positions.
            true => py.detach(move || drop(lookup)),
            false => std::mem::forget(lookup),
        }
    }

    /// Another process opens the same file.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        if !self.given.is_lasting() {
            return Err(PyTypeError::new_err("only a library of a file can be pickled"));
        }
        let open = py
            .import("functools")?
            .getattr("partial")?
            .call((py.import("epdb_chess")?.getattr("open")?,), Some(self.arguments.bind(py)))?;
        (open, (self.path.as_os_str(),)).into_pyobject(py)
    }

    /// The records, by their numbers.
    fn __iter__<'py>(this: &Bound<'py, Library>) -> PyResult<Bound<'py, PyAny>> {
        let py = this.py();
        // A store has no index of numbers.
        if this.get().is_store {
            let read = py.import("epdb_chess")?.getattr("read")?;
            return Ok(read.call1((this.get().path.as_os_str(),))?.try_iter()?.into_any());
        }
        py.import("epdb_chess._values")?.call_method1("records_of", (this,))
    }

    fn __enter__(this: Py<Library>) -> Py<Library> {
        this
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyTuple>) {
        self.close(py);
    }

    fn __repr__(&self) -> String {
        with_given_names(&format!("<epdb_chess.Library {:?}>", self.path))
    }
}

impl Library {
    fn answers(
        &self,
        question: Box<dyn PositionQuestion>,
        table: &Bound<'_, PyAny>,
        on: Option<&str>,
    ) -> PyResult<Answers> {
        let py = table.py();
        Ok(Answers::new(AnswerStream {
            question,
            questions: Questions::new(table, on)?,
            library: self.lookup_file(py)?,
            threads: shared_threads(py)?,
            next_query: 0,
            made: VecDeque::new(),
        }))
    }
}

fn no_entry() -> PyErr {
    PyIndexError::new_err("no move of the position has a weight")
}

impl Library {
    fn slice<'py>(&self, slice: &Bound<'py, PySlice>) -> PyResult<Bound<'py, PyList>> {
        let py = slice.py();
        let lookup = self.lookup_file(py)?;
        let length = isize::try_from(lookup.len())?;
        let range = slice.indices(length)?;
        if range.step != 1 {
            return Err(PyTypeError::new_err("the step of a slice of records is 1"));
        }
        if self.is_store {
            let text = "a store has no index of record numbers: slices are for archives";
            return Err(invalid(py, text));
        }
        let numbers = range.start as u64..(range.start.max(range.stop)) as u64;
        let records = PyList::empty(py);
        for start in numbers.clone().step_by(RECORDS_BETWEEN_SIGNALS) {
            let end = numbers.end.min(start + RECORDS_BETWEEN_SIGNALS as u64);
            let part = py.detach(|| {
                let part = (start..end).filter_map(|number| lookup.record(number).transpose());
                part.collect::<Result<Vec<EpdRecord>>>()
            });
            for record in part.or_raise(py)? {
                records.append(Record::from(record).into_object(py)?)?;
            }
            py.check_signals()?;
        }
        Ok(records)
    }

    fn entries<'py>(
        &self,
        position: &Bound<'py, PyAny>,
        minimum_weight: u64,
        exclude_moves: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Vec<(Bound<'py, PyAny>, u64)>> {
        let py = position.py();
        let position = positions::position(position)?;
        let excluded: Vec<String> = match exclude_moves {
            None => Vec::new(),
            Some(moves) => {
                let moves = moves.try_iter()?;
                moves.map(|mv| Ok(mv?.str()?.to_cow()?.into_owned())).collect::<PyResult<_>>()?
            }
        };
        let explored = self.explored(py, &position, &ExploreOptions::default())?;
        let Ok(playable) = Playable::new(&position) else { return Ok(Vec::new()) };
        let mut entries = Vec::new();
        for row in &explored.rows {
            let weight = row.weight.unwrap_or(row.counts.games());
            let mv = operands::move_value(py, &playable, row.mv)?;
            if weight >= minimum_weight && !excluded.contains(&mv.extract::<String>()?) {
                entries.push((entry_class(py)?.call1((mv, weight))?, weight));
            }
        }
        entries.sort_by_key(|(_, weight)| std::cmp::Reverse(*weight));
        Ok(entries)
    }
}

/// The queries of packed boards in sequence.
fn packed_queries(mut bytes: &[u8]) -> Result<Vec<Query>> {
    let all = bytes.len();
    let mut starts = Vec::with_capacity(all / 16);
    while !bytes.is_empty() {
        let len = packed::len_of(bytes).map_err(|error| not_packed(all - bytes.len(), &error))?;
        let (board, rest) = bytes.split_at(len);
        starts.push((all - bytes.len(), board));
        bytes = rest;
    }
    let query = |&(start, board): &(usize, &[u8])| {
        let decoded = packed::decode(board).map_err(|error| not_packed(start, &error));
        decoded.map(|(position, _)| Query::from(&position))
    };
    starts.par_iter().map(query).collect()
}

fn not_packed(start: usize, error: &dyn std::fmt::Display) -> Error {
    Error::new(format!("not a packed board at byte {start}: {error}"))
}

fn explored_move<'py>(
    py: Python<'py>,
    explored: &Explored,
    playable: Option<&Playable>,
    row: &MoveRow,
) -> PyResult<Bound<'py, PyAny>> {
    let mv = match playable {
        Some(playable) => operands::move_value(py, playable, row.mv)?,
        None => move_class(py)?.call1((row.mv.to_string(), row.san.to_string()))?,
    };
    let counts = &row.counts;
    let fields = (
        mv,
        counts.white,
        counts.draws,
        counts.black,
        counts.elo.mean(),
        counts.opponents.mean(),
        performance(counts, explored.position.turn()),
        counts.years.map(|years| years.0),
        counts.years.map(|years| years.1),
        row.reached,
        row.weight,
        row.ce,
    );
    explored_move_class(py)?.call1(fields)
}

fn game<'py>(
    py: Python<'py>,
    playable: Option<&Playable>,
    found: &FoundGame,
) -> PyResult<Bound<'py, PyAny>> {
    let FoundGame { kept, played, game } = found;
    let mut text = Vec::new();
    pgn::format(game, &PgnFormatOptions::default(), &mut text)
        .map_err(|error| invalid(py, &error.to_string()))?;
    let tags = PyDict::new(py);
    for (name, value) in game.tags() {
        tags.set_item(name, value)?;
    }
    let mv = match (playable, played) {
        (Some(playable), Some((mv, _))) => Some(operands::move_value(py, playable, *mv)?),
        _ => None,
    };
    let text = String::from_utf8_lossy(&text).into_owned();
    game_class(py)?.call1((kept.id.to_string(), mv, game.result().as_str(), tags, text))
}

//! The class `Scan`: files as columns in the memory of Apache Arrow.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::ffi::FFI_ArrowArray;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{Array, RecordBatch, RecordBatchIterator, RecordBatchReader, StructArray};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, SchemaRef};
use epdb_chess::text::ScoreView;
use epdb_library::scan::{Rows, Scan as Batches, ScanOptions, never_met};
use epdb_source::{Inputs, ReadReport};
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList, PyTuple};

use crate::arrow_input::{ARRAY, ArrowInput, SCHEMA, STREAM};
use crate::errors::{OrRaise, invalid, raised, with_given_names};
use crate::files::skips;
use crate::inputs::Given;
use crate::options::{ReadOptions, Words, word};
use crate::record::Record;
use crate::report::{Warned, report_object, warn_of_fields};
use crate::slices::Slice;
use crate::work::{Progress, TICK, Ticker};

impl Words for Rows {
    const WORDS: &'static [(&'static str, Rows)] =
        &[("records", Rows::Records), ("games", Rows::Games), ("moves", Rows::Moves)];
}

/// Files as a table. Nothing is read before the table is used, and it is read again for each use.
#[pyclass(module = "epdb_chess", name = "Scan", frozen)]
#[derive(Clone)]
pub(crate) struct Scan {
    given: Given,
    /// The arguments by which another process makes the same scan.
    arguments: Arc<Py<PyDict>>,
    progress: Option<Arc<Progress>>,
    options: ScanOptions,
    /// The expression of `where`.
    filter: Option<String>,
    /// The number of rows, if it is limited.
    limit: Option<usize>,
    schema: SchemaRef,
    /// The last reading.
    last: Arc<Mutex<Reading>>,
}

/// The progress of a reading of a scan.
#[derive(Clone, Default)]
struct Reading {
    rows: u64,
    is_complete: bool,
    report: ReadReport,
}

/// Files, or a slice, as a table of Apache Arrow, for pyarrow, polars, pandas and DuckDB.
///
/// `rows` is records, games or moves. `columns` are columns of the table, which `help(epdb_chess.columns)` lists, or
/// fields of `where`, which `help(epdb_chess.where)` lists, or "all" for every column of the table. `where` is an
/// expression, such as "pieces <= 7 and has(bm)"; a field that no record has is an `EpdbWarning`. `score_view` is the
/// view of scores: mover or white. `threads` is the number of threads, by default one per core.
///
/// With `on_error="skip"`, lines, games and rows without a position that cannot be read are left out and counted in
/// `report()`; the column `line` is the number of the line or row, from 1.
///
/// `paths` are files, folders, patterns such as `games/**/*.pgn`, addresses, bytes, file objects, or a list of
/// these. It can also be a table or a column of Arrow with FENs or packed boards; `on` is the name of its column of
/// positions. `progress` is called with the number of bytes that were read so far, and of all bytes or None.
#[pyfunction]
#[pyo3(signature = (
    paths, *, rows = "records", columns = None, r#where = None, on = None, score_view = "mover",
    batch_size = 65_536, threads = None, on_error = "raise", progress = None, **options
))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments")]
pub(crate) fn scan(
    py: Python<'_>,
    paths: &Bound<'_, PyAny>,
    rows: &str,
    columns: Option<Bound<'_, PyAny>>,
    r#where: Option<String>,
    on: Option<&str>,
    score_view: &str,
    batch_size: usize,
    threads: Option<NonZeroUsize>,
    on_error: &str,
    progress: Option<Py<PyAny>>,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<Scan> {
    let others =
        ["positions", "variations", "game_tags", "game_openings", "game_evals", "truncate_games"];
    for name in others {
        if options.is_some_and(|options| options.contains(name).unwrap_or(true)) {
            return Err(PyTypeError::new_err(format!("unexpected keyword argument '{name}'")));
        }
    }
    let arguments = options.map_or_else(|| Ok(PyDict::new(py)), PyDictMethods::copy)?;
    arguments.set_item("rows", rows)?;
    arguments.set_item("score_view", score_view)?;
    arguments.set_item("batch_size", batch_size)?;
    arguments.set_item("threads", threads)?;
    arguments.set_item("on_error", on_error)?;
    let given = Given::new(paths, on, options)?;
    let source = ReadOptions::new(py, options)?.source;
    let view: ScoreView = word(py, score_view)?;
    let rows: Rows = word(py, rows)?;
    let options = ScanOptions {
        white_view: view == ScoreView::White,
        batch_rows: batch_size,
        skip_rejected: skips(py, on_error)?,
        source,
        threads,
        ..ScanOptions::new(rows)
    };
    let schema = options.schema().or_raise(py)?;
    let progress = progress.map(|callback| Arc::new(Progress::new(Some(callback), &given.inputs)));
    let mut scan = Scan {
        given,
        arguments: Arc::new(arguments.unbind()),
        progress,
        options,
        filter: None,
        limit: None,
        schema,
        last: Arc::default(),
    };
    if let Some(columns) = columns {
        scan = scan.with_columns(py, column_names(&columns, rows)?)?;
    }
    match r#where {
        Some(filter) => scan.filtered(py, &filter),
        None => Ok(scan),
    }
}

/// Makes a scan of another process again.
#[pyfunction]
pub(crate) fn _restore_scan(
    py: Python<'_>,
    paths: &Bound<'_, PyAny>,
    arguments: &Bound<'_, PyDict>,
    columns: Option<Vec<String>>,
    filter: Option<&str>,
    limit: Option<usize>,
) -> PyResult<Scan> {
    let scan = py.import("epdb_chess")?.getattr("scan")?.call((paths,), Some(arguments))?;
    scan.cast::<Scan>()?.get()._part(py, columns, filter, limit)
}

/// A list of columns, or "all".
pub(crate) fn column_names(columns: &Bound<'_, PyAny>, rows: Rows) -> PyResult<Vec<String>> {
    match columns.extract::<String>() {
        Ok(all) if all == "all" => Ok(rows.all_columns()),
        Ok(one) => {
            let text = format!("columns is a list of names or \"all\", not {one:?}");
            Err(invalid(columns.py(), &text))
        }
        Err(_) => columns.extract(),
    }
}

impl Scan {
    /// Another scan, which has its own report.
    fn derived(&self) -> Scan {
        Scan { last: Arc::default(), ..self.clone() }
    }

    fn with_columns(mut self, py: Python<'_>, columns: Vec<String>) -> PyResult<Scan> {
        self.options.columns = Some(columns);
        self.schema = self.options.schema().or_raise(py)?;
        Ok(self)
    }

    fn filtered(mut self, py: Python<'_>, filter: &str) -> PyResult<Scan> {
        if self.limit.is_some() {
            return Err(invalid(py, "filter the scan before head()"));
        }
        let parsed: Result<epdb_library::expression::Expression, _> = filter.parse();
        parsed.map_err(|error| invalid(py, &format!("{filter:?}: {error}")))?;
        let filter = match &self.filter {
            Some(own) => format!("({own}) && ({filter})"),
            None => filter.to_string(),
        };
        self.options.filter = Some(filter.clone());
        self.filter = Some(filter);
        Ok(self)
    }

    fn limited(mut self, rows: usize) -> Scan {
        self.limit = Some(self.limit.map_or(rows, |limit| limit.min(rows)));
        self
    }

    fn batches(&self, py: Python<'_>) -> PyResult<LimitedScan> {
        let mut options = self.options.clone();
        if let Some(limit) = self.limit {
            options.batch_rows = limit.clamp(1, 65_536);
        }
        let ticker = Ticker::default();
        options.source.bytes_read = Some(Arc::clone(&ticker.bytes));
        let batches = Batches::open(self.given.inputs.clone(), &options).or_raise(py)?;
        let mut scan = LimitedScan {
            batches,
            progress: self.progress.clone(),
            ticker,
            _given: self.given.clone(),
            left: self.limit.unwrap_or(usize::MAX),
            reading: Reading::default(),
            last: Arc::clone(&self.last),
            warned: Warned::default(),
            process: std::process::id(),
        };
        scan.publish();
        Ok(scan)
    }
}

/// The batches of a scan up to its limit.
struct LimitedScan {
    batches: Batches,
    progress: Option<Arc<Progress>>,
    ticker: Ticker,
    /// Keeps temporary files.
    _given: Given,
    left: usize,
    reading: Reading,
    last: Arc<Mutex<Reading>>,
    warned: Warned,
    /// The process whose threads read.
    process: u32,
}

const FORKED: &str =
    "the batches of a scan cannot be used in a forked process: scan the file there";

impl LimitedScan {
    /// Limits a batch, and notes it for the report; `None` is the end.
    fn noted(&mut self, batch: Option<RecordBatch>) -> Option<RecordBatch> {
        self.reading.is_complete = batch.is_none();
        let batch = batch.map(|batch| batch.slice(0, batch.num_rows().min(self.left)));
        let rows = batch.as_ref().map_or(0, RecordBatch::num_rows);
        self.left -= rows;
        self.reading.rows += rows as u64;
        self.publish();
        batch
    }

    /// Sets the report of the scan to that of this reading.
    fn publish(&mut self) {
        self.reading.report = self.batches.report();
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = self.reading.clone();
    }

    /// After the last row of a scan with rows: fields that no record had.
    fn never_met(&self) -> Vec<String> {
        let Reading { rows, is_complete, report } = &self.reading;
        if *is_complete && rows + report.left_out > 0 {
            never_met(&self.batches, *rows > 0)
        } else {
            Vec::new()
        }
    }

    /// Calls the callback, if there is one.
    fn tick(&self, py: Python<'_>) -> PyResult<()> {
        self.progress.as_ref().map_or(Ok(()), |progress| progress.call(py, &self.ticker))
    }

    /// Calls the callback, and issues new warnings of Python. A stream may belong to a thread without the lock of the interpreter.
    /// Streams of Python objects take the lock too, so whoever reads a stream allows it.
    fn warn(&mut self) -> PyResult<()> {
        let unmet = self.never_met();
        if self.progress.is_none() && unmet.is_empty() && !self.warned.has_new(&self.reading.report)
        {
            return Ok(());
        }
        Python::try_attach(|py| {
            self.tick(py)?;
            self.warned.warn(py, &self.reading.report)?;
            warn_of_fields(py, &unmet)
        })
        .unwrap_or(Ok(()))
    }
}

impl Iterator for LimitedScan {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.left == 0 {
            return None;
        }
        if self.process != std::process::id() {
            return Some(Err(ArrowError::ExternalError(FORKED.into())));
        }
        let batch = match self.batches.next().transpose() {
            Ok(batch) => self.noted(batch),
            Err(error) => {
                self.publish();
                let text = with_given_names(&error.to_string());
                return Some(Err(ArrowError::ExternalError(text.into())));
            }
        };
        match self.warn() {
            Ok(()) => batch.map(Ok),
            Err(error) => Some(Err(ArrowError::ExternalError(error.into()))),
        }
    }
}

impl RecordBatchReader for LimitedScan {
    fn schema(&self) -> SchemaRef {
        self.batches.schema()
    }
}

/// The capsule of a stream of batches.
pub(crate) fn stream_capsule<'py>(
    py: Python<'py>,
    reader: Box<dyn RecordBatchReader + Send>,
) -> PyResult<Bound<'py, PyCapsule>> {
    // The stream releases itself when the capsule drops it, unless it was moved out.
    PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(reader), STREAM)
}

pub(crate) fn schema_capsule<'py>(
    py: Python<'py>,
    schema: &SchemaRef,
) -> PyResult<Bound<'py, PyCapsule>> {
    let schema = FFI_ArrowSchema::try_from(&**schema);
    let schema = schema.map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
    PyCapsule::new_with_value(py, schema, SCHEMA)
}

#[pymethods]
impl Scan {
    /// Names and types of the columns; `pyarrow.schema(scan.schema)` converts it.
    #[getter]
    fn schema(&self) -> Schema {
        Schema(Arc::clone(&self.schema))
    }

    /// Number of rows. Reads the files.
    fn count(&self, py: Python<'_>) -> PyResult<u64> {
        let rows_alone = self.clone().with_columns(py, Vec::new())?;
        let reader = BatchReader { batches: Mutex::new(Some(rows_alone.batches(py)?)) };
        let mut rows = 0;
        while let Some(batch) = reader.next_batch(py)? {
            rows += batch.num_rows() as u64;
        }
        Ok(rows)
    }

    /// A report of the rows that the last reading of this scan returned, and of everything that it left out.
    /// Reading goes on a little ahead of the rows that were returned.
    fn report<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner).clone();
        report_object(py, last.rows, last.is_complete, &last.report)
    }

    /// The first rows of the scan, as a scan.
    #[pyo3(signature = (n = 5))]
    fn head(&self, n: usize) -> Scan {
        self.derived().limited(n)
    }

    /// The same rows with other columns.
    fn select(&self, py: Python<'_>, columns: Vec<String>) -> PyResult<Scan> {
        self.derived().with_columns(py, columns)
    }

    /// Only the rows for which an expression of `where` holds. A scan with a limit has no filter.
    fn filter(&self, py: Python<'_>, r#where: &str) -> PyResult<Scan> {
        self.derived().filtered(py, r#where)
    }

    /// A part of the scan, whose report is that of the scan.
    fn _part(
        &self,
        py: Python<'_>,
        columns: Option<Vec<String>>,
        r#where: Option<&str>,
        rows: Option<usize>,
    ) -> PyResult<Scan> {
        let mut part = self.clone();
        if let Some(columns) = columns {
            part = part.with_columns(py, columns)?;
        }
        if let Some(filter) = r#where {
            part = part.filtered(py, filter)?;
        }
        if let Some(rows) = rows {
            part = part.limited(rows);
        }
        Ok(part)
    }

    /// A pyarrow.Table of all rows. Needs the package pyarrow.
    fn to_arrow<'py>(this: &Bound<'py, Scan>) -> PyResult<Bound<'py, PyAny>> {
        let frames = this.py().import("epdb_chess._frames")?;
        frames.call_method1("to_arrow", (this,))
    }

    /// A polars.LazyFrame. Needs the package polars. polars requests only the columns and rows that it needs.
    fn to_polars<'py>(this: &Bound<'py, Scan>) -> PyResult<Bound<'py, PyAny>> {
        let frames = this.py().import("epdb_chess._frames")?;
        frames.call_method1("to_polars", (this,))
    }

    /// A pandas.DataFrame of all rows. Needs the packages pandas and pyarrow.
    fn to_pandas<'py>(this: &Bound<'py, Scan>) -> PyResult<Bound<'py, PyAny>> {
        let frames = this.py().import("epdb_chess._frames")?;
        frames.call_method1("to_pandas", (this,))
    }

    /// A scan is not an array: pandas.DataFrame and numpy would take its batches for values.
    #[pyo3(signature = (*_arguments, **_options))]
    fn __array__(
        &self,
        _arguments: &Bound<'_, PyTuple>,
        _options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        Err(PyTypeError::new_err(
            "a scan is a table: take scan.to_pandas(), or pandas.DataFrame.from_arrow(scan)",
        ))
    }

    /// Another process opens the same files. Tables, bytes and file objects are in this process.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        if !self.given.is_lasting() {
            return Err(PyTypeError::new_err(
                "only a scan of files or of a slice can be pickled: write the table to a file",
            ));
        }
        let paths = match &self.given.inputs {
            Inputs::Files(paths) => {
                // An object of pathlib would change the slashes of an address.
                PyList::new(py, paths.iter().map(|path| path.as_os_str()))?.into_any()
            }
            Inputs::Slice(slice) => Bound::new(py, Slice(slice.clone()))?.into_any(),
        };
        let restore = py.import("epdb_chess._native")?.getattr("_restore_scan")?;
        let arguments = self.arguments.bind(py);
        let state =
            (paths, arguments, self.options.columns.clone(), self.filter.clone(), self.limit);
        (restore, state).into_pyobject(py)
    }

    fn __iter__(&self, py: Python<'_>) -> PyResult<BatchReader> {
        Ok(BatchReader { batches: Mutex::new(Some(self.batches(py)?)) })
    }

    /// A stream of all rows from the beginning, by the C data interface of Arrow.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // A stream may keep its own schema.
        let _ = requested_schema;
        stream_capsule(py, Box::new(self.batches(py)?))
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_capsule(py, &self.schema)
    }

    fn __repr__(&self) -> String {
        let names: Vec<&str> = self.schema.fields().iter().map(|it| it.name().as_str()).collect();
        let of = match &self.given.inputs {
            Inputs::Files(paths) => with_given_names(&format!("{paths:?}")),
            Inputs::Slice(slice) => Slice(slice.clone()).__repr__(),
        };
        format!("<epdb_chess.Scan of {of}: {}>", names.join(", "))
    }
}

/// Names and types of the columns of a scan.
#[pyclass(module = "epdb_chess", name = "Schema", frozen)]
pub(crate) struct Schema(pub(crate) SchemaRef);

#[pymethods]
impl Schema {
    /// The names of the columns.
    #[getter]
    fn names(&self) -> Vec<String> {
        self.0.fields().iter().map(|field| field.name().clone()).collect()
    }

    /// The names of the types of the columns.
    #[getter]
    fn types(&self) -> Vec<String> {
        self.0.fields().iter().map(|field| field.data_type().to_string()).collect()
    }

    fn __len__(&self) -> usize {
        self.0.fields().len()
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_capsule(py, &self.0)
    }

    fn __repr__(&self) -> String {
        let field = |(name, kind): (String, String)| format!("{name}: {kind}");
        let fields: Vec<String> = self.names().into_iter().zip(self.types()).map(field).collect();
        format!("Schema({})", fields.join(", "))
    }
}

/// An iterator over the batches of a scan.
#[pyclass(module = "epdb_chess", name = "BatchReader", frozen)]
pub(crate) struct BatchReader {
    /// `None` after the end.
    batches: Mutex<Option<LimitedScan>>,
}

impl BatchReader {
    /// The next batch. Checks for signals while it waits.
    fn next_batch(&self, py: Python<'_>) -> PyResult<Option<RecordBatch>> {
        let take = || self.batches.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut scan) = take() else { return Ok(None) };
        if scan.process != std::process::id() {
            return Err(PyRuntimeError::new_err(FORKED));
        }
        loop {
            if scan.left == 0 {
                return Ok(None);
            }
            let Some(next) = py.detach(|| scan.batches.next_within(TICK)) else {
                py.check_signals()?;
                scan.tick(py)?;
                continue;
            };
            let batch = match next.transpose() {
                Ok(batch) => scan.noted(batch),
                Err(error) => {
                    scan.publish();
                    return Err(raised(py, &error));
                }
            };
            scan.warn()?;
            if batch.is_some() {
                *self.batches.lock().unwrap_or_else(PoisonError::into_inner) = Some(scan);
            }
            return Ok(batch);
        }
    }
}

#[pymethods]
impl BatchReader {
    fn __iter__(this: Py<BatchReader>) -> Py<BatchReader> {
        this
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Batch>> {
        Ok(self.next_batch(py)?.map(Batch))
    }
}

/// Some rows of a scan, for `pyarrow.record_batch(batch)`, `pyarrow.table(batch)`, `polars.DataFrame(batch)` and
/// `pandas.DataFrame.from_arrow(batch)`.
#[pyclass(module = "epdb_chess", name = "Batch", frozen)]
pub(crate) struct Batch(pub(crate) RecordBatch);

#[pymethods]
impl Batch {
    /// Number of rows.
    fn __len__(&self) -> usize {
        self.0.num_rows()
    }

    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let schema = self.0.schema();
        let reader = RecordBatchIterator::new([Ok(self.0.clone())], schema);
        stream_capsule(py, Box::new(reader))
    }

    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        let _ = requested_schema;
        let array = FFI_ArrowArray::new(&StructArray::from(self.0.clone()).to_data());
        let array = PyCapsule::new_with_value(py, array, ARRAY)?;
        Ok((self.__arrow_c_schema__(py)?, array))
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_capsule(py, &self.0.schema())
    }
}

/// The records of a table with the columns of `rows="records"`.
///
/// The table is of pyarrow, polars, pandas or DuckDB, or anything else with `__arrow_c_stream__`.
/// `label_view` is the view of `cp` and `mate`, "mover" or "white". It is needed if the table has no column
/// `ce`, and neither its column `score_view` nor its metadata name the view.
#[pyfunction]
#[pyo3(signature = (table, *, label_view = None))]
pub(crate) fn from_arrow<'py>(
    table: &Bound<'py, PyAny>,
    label_view: Option<&str>,
) -> PyResult<Bound<'py, PyList>> {
    let py = table.py();
    let view: Option<ScoreView> = label_view.map(|view| word(py, view)).transpose()?;
    let (_, mut reader) = ArrowInput::new(table, None)?.into_batches();
    let mut records = Vec::new();
    loop {
        // The stream may be one of Python, which takes the lock of the interpreter itself.
        let Some(batch) = py.detach(|| reader.next()) else { break };
        let batch = batch.map_err(|error| invalid(py, &error.to_string()))?;
        records.extend(py.detach(|| epdb_source::arrow::records(&batch, view)).or_raise(py)?);
        py.check_signals()?;
    }
    Record::list(py, records)
}

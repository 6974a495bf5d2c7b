//! The class `Scan`: files as columns in the memory of Apache Arrow.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::{RecordBatch, RecordBatchIterator, RecordBatchReader};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, SchemaRef};
use epdb_chess::text::ScoreView;
use epdb_library::scan::{Rows, Scan as Batches, ScanOptions};
use epdb_source::{Inputs, ReadReport};
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList};

use crate::errors::{OrRaise, invalid, raised};
use crate::files::skips;
use crate::options::{ReadOptions, Words, inputs, word};
use crate::record::Record;
use crate::report::{Warned, report_object};
use crate::slices::Slice;
use crate::work::TICK;

impl Words for Rows {
    const WORDS: &'static [(&'static str, Rows)] =
        &[("records", Rows::Records), ("games", Rows::Games), ("moves", Rows::Moves)];
}

/// Names that the C data interface of Arrow gives to capsules.
const STREAM: &std::ffi::CStr = c"arrow_array_stream";
const SCHEMA: &std::ffi::CStr = c"arrow_schema";

/// Files as a table. Nothing is read before the table is used, and it is read again for each use.
#[pyclass(module = "epdb_chess", name = "Scan", frozen)]
#[derive(Clone)]
pub(crate) struct Scan {
    inputs: Inputs,
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
/// `rows` is records, games or moves; `formats/notes/tables.md` lists the columns. `columns` are columns of
/// the table or fields of `where`. `score_view` is the view of scores: mover or white. `threads` is the
/// number of threads, by default one per core.
#[pyfunction]
#[pyo3(signature = (
    paths, *, rows = "records", columns = None, r#where = None, score_view = "mover",
    batch_size = 65_536, threads = None, on_error = "raise", **options
))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments")]
pub(crate) fn scan(
    py: Python<'_>,
    #[pyo3(from_py_with = inputs)] paths: Inputs,
    rows: &str,
    columns: Option<Vec<String>>,
    r#where: Option<String>,
    score_view: &str,
    batch_size: usize,
    threads: Option<NonZeroUsize>,
    on_error: &str,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<Scan> {
    let others =
        ["positions", "variations", "game_tags", "game_openings", "game_evals", "truncate_games"];
    for name in others {
        if options.is_some_and(|options| options.contains(name).unwrap_or(true)) {
            return Err(PyTypeError::new_err(format!("unexpected keyword argument '{name}'")));
        }
    }
    let source = ReadOptions::new(py, options)?.source;
    let view: ScoreView = word(py, score_view)?;
    let options = ScanOptions {
        white_view: view == ScoreView::White,
        batch_rows: batch_size,
        skip_rejected: skips(py, on_error)?,
        source,
        threads,
        columns,
        ..ScanOptions::new(word(py, rows)?)
    };
    let schema = options.schema().or_raise(py)?;
    let last = Arc::default();
    let scan = Scan { inputs: paths, options, filter: None, limit: None, schema, last };
    match r#where {
        Some(filter) => scan.filtered(py, &filter),
        None => Ok(scan),
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
        let batches = Batches::open(self.inputs.clone(), &options).or_raise(py)?;
        let mut scan = LimitedScan {
            batches,
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

    /// Issues new warnings of Python. A stream may belong to a thread without the lock of the interpreter.
    /// Streams of Python objects take the lock too, so whoever reads a stream allows it.
    fn warn(&mut self) -> PyResult<()> {
        if !self.warned.has_new(&self.reading.report) {
            return Ok(());
        }
        let LimitedScan { warned, reading, .. } = self;
        Python::try_attach(|py| warned.warn(py, &reading.report)).unwrap_or(Ok(()))
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
                return Some(Err(error));
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
fn stream_capsule<'py>(
    py: Python<'py>,
    reader: Box<dyn RecordBatchReader + Send>,
) -> PyResult<Bound<'py, PyCapsule>> {
    // The stream releases itself when the capsule drops it, unless it was moved out.
    PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(reader), STREAM)
}

fn schema_capsule<'py>(py: Python<'py>, schema: &SchemaRef) -> PyResult<Bound<'py, PyCapsule>> {
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
        let of = match &self.inputs {
            Inputs::Files(paths) => format!("{paths:?}"),
            Inputs::Slice(slice) => Slice(slice.clone()).__repr__(),
        };
        format!("<epdb_chess.Scan of {of}: {}>", names.join(", "))
    }
}

/// Names and types of the columns of a scan.
#[pyclass(module = "epdb_chess", name = "Schema", frozen)]
pub(crate) struct Schema(SchemaRef);

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

/// Some rows of a scan.
#[pyclass(module = "epdb_chess", name = "Batch", frozen)]
pub(crate) struct Batch(RecordBatch);

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
    let Some(stream) = table.getattr_opt(intern!(py, "__arrow_c_stream__"))? else {
        let name = table.get_type().name()?.to_string();
        let text = format!("expected a table with __arrow_c_stream__, not {name}");
        return Err(PyTypeError::new_err(text));
    };
    let capsule = stream.call0()?;
    let capsule = capsule.cast::<PyCapsule>()?;
    let mut reader = take_stream(py, capsule)?;
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

/// Moves the stream out of a capsule.
#[allow(unsafe_code)]
fn take_stream(
    py: Python<'_>,
    capsule: &Bound<'_, PyCapsule>,
) -> PyResult<RecordBatchStreamReader> {
    let pointer = capsule.pointer_checked(Some(STREAM))?;
    let pointer = pointer.cast::<FFI_ArrowArrayStream>().as_ptr();
    // SAFETY: by the C data interface of Arrow, a capsule of this name points to a valid stream, and
    // the lock of the interpreter is held. The stream that is left behind is marked as released, so
    // it is released once.
    let reader = unsafe { RecordBatchStreamReader::from_raw(pointer) };
    reader.map_err(|error| invalid(py, &error.to_string()))
}

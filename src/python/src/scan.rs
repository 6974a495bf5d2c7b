//! The class `Scan`: files as columns in the memory of Apache Arrow.

use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::{RecordBatch, RecordBatchIterator, RecordBatchReader};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, SchemaRef};
use epdb::library::scan::{Rows, Scan as Batches, ScanOptions};
use epdb::source::Inputs;
use epdb::text::ScoreView;
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList};

use crate::errors::{OrRaise, invalid};
use crate::files::skips;
use crate::options::{ReadOptions, Words, inputs, word};
use crate::record::Record;
use crate::shard::Slice;
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
}

/// Files, or a slice, as a table of Apache Arrow, for pyarrow, polars, pandas and DuckDB.
///
/// `rows` is records, games or moves; `formats/tables.md` lists the columns. `columns` are columns of
/// the table or fields of `where`. `score_view` is the view of scores: mover or white.
#[pyfunction]
#[pyo3(signature = (
    paths, *, rows = "records", columns = None, r#where = None, score_view = "mover",
    batch_size = 65_536, on_error = "raise", **options
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
    let mut options = ScanOptions::new(word(py, rows)?)
        .white_view(view == ScoreView::White)
        .batch_rows(batch_size)
        .skip_rejected(skips(py, on_error)?)
        .source(source);
    if let Some(columns) = columns {
        options = options.columns(columns);
    }
    Scan::new(py, paths, options, r#where, None)
}

impl Scan {
    fn new(
        py: Python<'_>,
        inputs: Inputs,
        mut options: ScanOptions,
        filter: Option<String>,
        limit: Option<usize>,
    ) -> PyResult<Scan> {
        if let Some(filter) = &filter {
            let parsed: Result<epdb::library::expression::Expression, _> = filter.parse();
            parsed.map_err(|error| invalid(py, &format!("{filter:?}: {error}")))?;
            options = options.filter(filter);
        }
        let schema = options.schema().or_raise(py)?;
        Ok(Scan { inputs, options, filter, limit, schema })
    }

    fn batches(&self, py: Python<'_>) -> PyResult<LimitedScan> {
        let mut options = self.options.clone();
        if let Some(limit) = self.limit {
            options = options.batch_rows(limit.clamp(1, 65_536));
        }
        let batches = Batches::open(self.inputs.clone(), &options).or_raise(py)?;
        let left = self.limit.unwrap_or(usize::MAX);
        Ok(LimitedScan { batches, left, process: std::process::id() })
    }
}

/// The batches of a scan up to its limit.
struct LimitedScan {
    batches: Batches,
    left: usize,
    /// The process whose threads read.
    process: u32,
}

const FORKED: &str =
    "the batches of a scan cannot be used in a forked process: scan the file there";

impl LimitedScan {
    fn limited(&mut self, batch: RecordBatch) -> RecordBatch {
        let rows = batch.num_rows().min(self.left);
        self.left -= rows;
        batch.slice(0, rows)
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
        Some(self.batches.next()?.map(|batch| self.limited(batch)))
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
        let reader = BatchReader { batches: Mutex::new(Some(self.batches(py)?)) };
        let mut rows = 0;
        while let Some(batch) = reader.next_batch(py)? {
            rows += batch.num_rows() as u64;
        }
        Ok(rows)
    }

    /// The first rows of the scan, as a scan.
    #[pyo3(signature = (n = 5))]
    fn head(&self, n: usize) -> Scan {
        Scan { limit: Some(self.limit.map_or(n, |limit| limit.min(n))), ..self.clone() }
    }

    /// The same rows with other columns.
    fn select(&self, py: Python<'_>, columns: Vec<String>) -> PyResult<Scan> {
        let options = self.options.clone().columns(columns);
        Scan::new(py, self.inputs.clone(), options, self.filter.clone(), self.limit)
    }

    /// Only the rows for which an expression of `where` holds. A scan with a limit has no filter.
    fn filter(&self, py: Python<'_>, r#where: &str) -> PyResult<Scan> {
        if self.limit.is_some() {
            return Err(invalid(py, "filter the scan before head()"));
        }
        let filter = match &self.filter {
            Some(filter) => format!("({filter}) && ({})", r#where),
            None => r#where.to_string(),
        };
        Scan::new(py, self.inputs.clone(), self.options.clone(), Some(filter), None)
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
            let next = py.detach(|| scan.batches.next_within(TICK));
            match next {
                None => py.check_signals()?,
                Some(None) => return Ok(None),
                Some(Some(batch)) => {
                    let batch = scan.limited(batch.or_raise(py)?);
                    *self.batches.lock().unwrap_or_else(PoisonError::into_inner) = Some(scan);
                    return Ok(Some(batch));
                }
            }
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
#[pyfunction]
pub(crate) fn from_arrow<'py>(table: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
    let py = table.py();
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
        records.extend(py.detach(|| epdb::arrow::records(&batch)).or_raise(py)?);
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

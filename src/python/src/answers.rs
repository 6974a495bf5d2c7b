//! The class `Answers`: rows about a column of positions, which are made while they are read.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use epdb_chess::error::{Error, Result};
use epdb_chess::model::Position;
use epdb_library::column_lookup::{PositionQuestion, QUERIES_AT_ONCE, positions};
use epdb_source::Collection;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use rayon::ThreadPool;

use crate::arrow_input::{ArrowInput, is_arrow};
use crate::errors::{invalid, raised, with_given_names};
use crate::scan::{Batch, Schema, schema_capsule, stream_capsule};

/// The positions of a table, of a column, or of an iterable.
pub(crate) enum Questions {
    Arrow {
        input: ArrowInput,
        /// The rest of a part of the column.
        rest: Option<ArrayRef>,
    },
    Known(Vec<Position>),
}

impl Questions {
    pub(crate) fn new(table: &Bound<'_, PyAny>, on: Option<&str>) -> PyResult<Questions> {
        if on.is_some() || is_arrow(table)? {
            let input = ArrowInput::new(table, on)?;
            return Ok(Questions::Arrow { input, rest: None });
        }
        let positions = table.try_iter()?.map(|one| crate::positions::position(&one?));
        Ok(Questions::Known(positions.collect::<PyResult<_>>()?))
    }

    /// The next positions; none at the end.
    fn next_positions(&mut self, threads: &ThreadPool) -> Result<Vec<Result<Position>>> {
        let (input, rest) = match self {
            Questions::Known(known) => {
                let rest = known.split_off(known.len().min(QUERIES_AT_ONCE));
                return Ok(std::mem::replace(known, rest).into_iter().map(Ok).collect());
            }
            Questions::Arrow { input, rest } => (input, rest),
        };
        let mut found = Vec::new();
        while found.len() < QUERIES_AT_ONCE {
            let Some(column) = rest.take().map(Ok).or_else(|| input.next_column()) else { break };
            let column = column.map_err(|error| Error::new(error.to_string()))?;
            let rows = column.len().min(QUERIES_AT_ONCE - found.len());
            found.extend(threads.install(|| positions(&column.slice(0, rows)))?);
            if rows < column.len() {
                *rest = Some(column.slice(rows, column.len() - rows));
            }
        }
        Ok(found)
    }
}

/// The batches of answers.
pub(crate) struct AnswerStream {
    pub(crate) question: Box<dyn PositionQuestion>,
    pub(crate) questions: Questions,
    pub(crate) library: Arc<Collection>,
    pub(crate) threads: Arc<ThreadPool>,
    pub(crate) next_query: u64,
    pub(crate) made: VecDeque<RecordBatch>,
}

impl AnswerStream {
    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        while self.made.is_empty() {
            let positions = self.questions.next_positions(&self.threads)?;
            if positions.is_empty() {
                return Ok(None);
            }
            let library = &self.library;
            let answers = self.threads.install(|| {
                let answers = self.question.answer(library, &positions, self.next_query);
                answers.map_err(|error| library.named(error))
            })?;
            self.next_query += positions.len() as u64;
            self.made.extend(answers);
        }
        Ok(self.made.pop_front())
    }
}

impl Iterator for AnswerStream {
    type Item = std::result::Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.next_batch().transpose()?;
        let named = |error: Error| with_given_names(&error.to_string());
        Some(next.map_err(|error| ArrowError::ExternalError(named(error).into())))
    }
}

impl RecordBatchReader for AnswerStream {
    fn schema(&self) -> SchemaRef {
        self.question.schema()
    }
}

/// Rows about a column of positions, for pyarrow, polars, pandas and DuckDB. They are made while they are read,
/// so they can be read once.
#[pyclass(module = "epdb_chess", name = "Answers", frozen)]
pub(crate) struct Answers {
    schema: SchemaRef,
    /// `None` after the rows were taken.
    stream: Mutex<Option<AnswerStream>>,
}

impl Answers {
    pub(crate) fn new(stream: AnswerStream) -> Answers {
        Answers { schema: stream.schema(), stream: Mutex::new(Some(stream)) }
    }

    fn take(&self) -> Option<AnswerStream> {
        self.stream.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

#[pymethods]
impl Answers {
    /// Names and types of the columns.
    #[getter]
    fn schema(&self) -> Schema {
        Schema(Arc::clone(&self.schema))
    }

    /// A pyarrow.Table of all rows. Needs the package pyarrow.
    fn to_arrow<'py>(this: &Bound<'py, Answers>) -> PyResult<Bound<'py, PyAny>> {
        this.py().import("epdb_chess._frames")?.call_method1("to_arrow", (this,))
    }

    /// A polars.DataFrame of all rows. Needs the package polars.
    fn to_polars<'py>(this: &Bound<'py, Answers>) -> PyResult<Bound<'py, PyAny>> {
        this.py().import("polars")?.call_method1("DataFrame", (this,))
    }

    /// A pandas.DataFrame of all rows. Needs the packages pandas and pyarrow.
    fn to_pandas<'py>(this: &Bound<'py, Answers>) -> PyResult<Bound<'py, PyAny>> {
        this.py().import("epdb_chess._frames")?.call_method1("to_pandas", (this,))
    }

    fn __iter__(this: Py<Answers>) -> Py<Answers> {
        this
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Batch>> {
        let Some(mut stream) = self.take() else { return Ok(None) };
        let (next, stream) = py.detach(move || (stream.next_batch(), stream));
        py.check_signals()?;
        let batch = next.map_err(|error| raised(py, &error))?;
        if batch.is_some() {
            *self.stream.lock().unwrap_or_else(PoisonError::into_inner) = Some(stream);
        }
        Ok(batch.map(Batch))
    }

    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let Some(stream) = self.take() else {
            return Err(invalid(py, "the rows were read before: ask the library again"));
        };
        stream_capsule(py, Box::new(stream))
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_capsule(py, &self.schema)
    }

    fn __repr__(&self) -> String {
        let names: Vec<&str> = self.schema.fields().iter().map(|it| it.name().as_str()).collect();
        format!("<epdb_chess.Answers: {}>", names.join(", "))
    }
}

//! Tables and columns of other packages, by the C data interface of Arrow.

use std::ffi::CStr;
use std::sync::Arc;

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{ArrayRef, RecordBatch, StructArray, make_array};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use pyo3::exceptions::{PyKeyError, PyTypeError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};

use crate::errors::invalid;

/// Names that the C data interface of Arrow gives to capsules.
pub(crate) const STREAM: &CStr = c"arrow_array_stream";
pub(crate) const SCHEMA: &CStr = c"arrow_schema";
pub(crate) const ARRAY: &CStr = c"arrow_array";

/// Whether a value is a table or a column of Arrow, or a lazy frame of polars, which becomes one.
pub(crate) fn is_arrow(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = value.py();
    Ok(value.hasattr(intern!(py, "__arrow_c_stream__"))?
        || value.hasattr(intern!(py, "__arrow_c_array__"))?
        || is_lazy(value)?)
}

fn is_lazy(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    value.hasattr(intern!(value.py(), "collect_schema"))
}

/// The batches of a table, or the parts of a column. A column is a struct of columns if it is a table.
pub(crate) struct ArrowInput {
    field: Field,
    /// The name of the only column that is wanted.
    wanted: Option<String>,
    parts: Parts,
}

enum Parts {
    Stream(FFI_ArrowArrayStream),
    Array(Option<ArrayRef>),
}

impl ArrowInput {
    /// Takes the data of a value. `on` is the column of a table that is wanted; a value that is a column is
    /// wanted itself.
    pub(crate) fn new(value: &Bound<'_, PyAny>, on: Option<&str>) -> PyResult<ArrowInput> {
        let py = value.py();
        if !value.hasattr(intern!(py, "__arrow_c_stream__"))? && is_lazy(value)? {
            return ArrowInput::new(&value.call_method0("collect")?, on);
        }
        let input = if let Some(stream) = value.getattr_opt(intern!(py, "__arrow_c_stream__"))? {
            ArrowInput::from_stream(py, stream.call0()?.cast()?)?
        } else if let Some(array) = value.getattr_opt(intern!(py, "__arrow_c_array__"))? {
            ArrowInput::from_array(py, array.call0()?.cast()?)?
        } else {
            let name = value.get_type().name()?.to_string();
            let text = format!("expected a table or a column with __arrow_c_stream__, not {name}");
            return Err(PyTypeError::new_err(text));
        };
        let Some(on) = on else { return Ok(input) };
        if input.fields().is_none_or(|fields| fields.find(on).is_none()) {
            return Err(PyKeyError::new_err(format!("the table has no column {on:?}")));
        }
        Ok(ArrowInput { wanted: Some(on.to_string()), ..input })
    }

    #[allow(unsafe_code)]
    fn from_stream(py: Python<'_>, capsule: &Bound<'_, PyCapsule>) -> PyResult<ArrowInput> {
        let pointer = capsule.pointer_checked(Some(STREAM))?.cast::<FFI_ArrowArrayStream>();
        // SAFETY: by the C data interface of Arrow, a capsule of this name points to a valid stream, and
        // the lock of the interpreter is held. The stream that is left behind is marked as released, so
        // it is released once.
        let mut stream = unsafe { FFI_ArrowArrayStream::from_raw(pointer.as_ptr()) };
        let mut schema = FFI_ArrowSchema::empty();
        let Some(get_schema) = stream.get_schema() else {
            return Err(invalid(py, "the stream was used before: a stream can be read once"));
        };
        // SAFETY: the stream is valid and not released, because it has the function, and the schema is empty.
        let code = unsafe { get_schema(&raw mut stream, &raw mut schema) };
        if code != 0 {
            return Err(invalid(py, "the stream has no schema"));
        }
        let field = Field::try_from(&schema).map_err(|error| invalid(py, &error.to_string()))?;
        Ok(ArrowInput { field, wanted: None, parts: Parts::Stream(stream) })
    }

    #[allow(unsafe_code)]
    fn from_array(py: Python<'_>, capsules: &Bound<'_, PyTuple>) -> PyResult<ArrowInput> {
        let (schema, array) = (capsules.get_item(0)?, capsules.get_item(1)?);
        let schema = schema.cast::<PyCapsule>()?.pointer_checked(Some(SCHEMA))?;
        let array = array.cast::<PyCapsule>()?.pointer_checked(Some(ARRAY))?;
        // SAFETY: by the C data interface of Arrow, capsules of these names point to a valid schema and a
        // valid array of this schema. The array that is left behind is marked as released.
        let (field, array) = unsafe {
            let schema = schema.cast::<FFI_ArrowSchema>().as_ref();
            let array = FFI_ArrowArray::from_raw(array.cast::<FFI_ArrowArray>().as_ptr());
            (Field::try_from(schema), from_ffi(array, schema))
        };
        let fault = |error: ArrowError| invalid(py, &error.to_string());
        let parts = Parts::Array(Some(make_array(array.map_err(fault)?)));
        Ok(ArrowInput { field: field.map_err(fault)?, wanted: None, parts })
    }

    /// The columns of a table; `None` if the value is a column.
    pub(crate) fn fields(&self) -> Option<&arrow_schema::Fields> {
        match self.field.data_type() {
            DataType::Struct(fields) => Some(fields),
            _ => None,
        }
    }

    /// The type of the column that is wanted.
    fn column_type(&self) -> &DataType {
        let wanted = self.wanted.as_ref().zip(self.fields());
        let wanted = wanted.and_then(|(name, fields)| fields.find(name));
        wanted.map_or(self.field.data_type(), |(_, field)| field.data_type())
    }

    /// The next part of the column that is wanted. A table that has neither `on` nor a single column has
    /// the column `fen` or `board`.
    pub(crate) fn next_column(&mut self) -> Option<Result<ArrayRef, ArrowError>> {
        let part = match self.next_part()? {
            Ok(part) => part,
            Err(error) => return Some(Err(error)),
        };
        let DataType::Struct(_) = part.data_type() else { return Some(Ok(part)) };
        let batch = RecordBatch::from(StructArray::from(part.to_data()));
        let column = match &self.wanted {
            Some(name) => batch.column_by_name(name),
            None if batch.num_columns() == 1 => Some(batch.column(0)),
            None => batch.column_by_name("fen").or_else(|| batch.column_by_name("board")),
        };
        let column = column.cloned();
        Some(column.ok_or_else(|| {
            let text = "the table has neither a column `fen` nor `board`: name the column of positions by on=";
            ArrowError::InvalidArgumentError(text.into())
        }))
    }

    #[allow(unsafe_code)]
    fn next_part(&mut self) -> Option<Result<ArrayRef, ArrowError>> {
        let stream = match &mut self.parts {
            Parts::Array(array) => return array.take().map(Ok),
            Parts::Stream(stream) => stream,
        };
        let get_next = stream.get_next()?;
        let mut array = FFI_ArrowArray::empty();
        // SAFETY: the stream is valid and not released, and the array is empty.
        let code = unsafe { get_next(&raw mut *stream, &raw mut array) };
        if code != 0 {
            return Some(Err(ArrowError::CDataInterface(last_error(stream))));
        }
        if array.is_released() {
            return None;
        }
        let schema = match FFI_ArrowSchema::try_from(&self.field) {
            Ok(schema) => schema,
            Err(error) => return Some(Err(error)),
        };
        // SAFETY: the stream made the array by the schema of `field`.
        Some(unsafe { from_ffi(array, &schema) }.map(make_array))
    }

    /// The columns from which records are made, as batches: those of a table, or the column that is wanted as
    /// `fen` or `board`.
    pub(crate) fn into_batches(mut self) -> (Arc<Schema>, Batches) {
        if let (None, Some(fields)) = (&self.wanted, self.fields()) {
            let schema = Arc::new(Schema::new(fields.clone()));
            let table = std::iter::from_fn(move || self.next_part());
            let batches =
                table.map(|part| Ok(RecordBatch::from(StructArray::from(part?.to_data()))));
            return (schema, Box::new(batches));
        }
        let kind = match self.column_type() {
            DataType::Dictionary(_, value) => value,
            other => other,
        };
        let is_binary = matches!(
            kind,
            DataType::Binary
                | DataType::LargeBinary
                | DataType::BinaryView
                | DataType::FixedSizeBinary(_)
        );
        let name = if is_binary { "board" } else { "fen" };
        let field = Field::new(name, self.column_type().clone(), true);
        let schema = Arc::new(Schema::new(vec![field]));
        let made = Arc::clone(&schema);
        let columns = std::iter::from_fn(move || self.next_column());
        let batches =
            columns.map(move |column| RecordBatch::try_new(Arc::clone(&made), vec![column?]));
        (schema, Box::new(batches))
    }
}

pub(crate) type Batches = Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>> + Send>;

#[allow(unsafe_code)]
fn last_error(stream: &mut FFI_ArrowArrayStream) -> String {
    let Some(get_last_error) = stream.get_last_error() else { return "unknown error".into() };
    // SAFETY: the stream is valid; the text is valid until the next call of one of its functions.
    let text = unsafe {
        let text = get_last_error(&raw mut *stream);
        (!text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy().into_owned())
    };
    text.unwrap_or_else(|| "unknown error".into())
}

//! The class `Record`.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::OnceLock;

use epdb_chess::codec::{key, packed, record};
use epdb_chess::model::{Color, EpdRecord, Opcode};
use epdb_chess::text::{
    CastlingForm, CounterForm, Format, FormatOptions, ParseOptions, Profile, epd,
};
use epdb_source::Match;
use pyo3::exceptions::{PyImportError, PyKeyError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString};

use crate::boards;
use crate::errors::{OrRaise, invalid};
use crate::operands;
use crate::options::word;

/// A position with its operations: one line of EPD or FEN.
#[pyclass(module = "epdb_chess", name = "Record", mapping)]
#[derive(Clone)]
pub(crate) struct Record {
    /// The bytes in which the record was found; empty if it was read otherwise.
    encoded: Box<[u8]>,
    /// The decoded record. The bytes are decoded at first use, because most records of a large search are
    /// used late or never.
    decoded: OnceLock<Box<EpdRecord>>,
}

fn line(record: &EpdRecord, options: &FormatOptions) -> String {
    let mut text = Vec::new();
    epd::format(record, options, &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

#[pymethods]
impl Record {
    #[new]
    #[pyo3(signature = (position, *, profile = "lenient"))]
    fn new(position: &Bound<'_, PyAny>, profile: &str) -> PyResult<Record> {
        let py = position.py();
        let Ok(text) = position.cast::<PyString>() else {
            let position = match position.cast::<Record>() {
                Ok(record) => *record.borrow().get_record(py)?.position(),
                Err(_) => boards::position(position)?,
            };
            return Ok(EpdRecord::new(position).into());
        };
        let options = ParseOptions::new(word::<Profile>(py, profile)?);
        let text: Vec<u8> = text.call_method1("encode", ("utf-8", "surrogateescape"))?.extract()?;
        match epd::parse_line(&text, &options, &mut Vec::new()).or_raise(py)? {
            epd::Line::Record(record) => Ok(record.into()),
            _ => Err(invalid(py, "no position in a blank line or a comment")),
        }
    }

    /// The position as FEN with six fields.
    #[getter]
    fn fen(&self, py: Python<'_>) -> PyResult<String> {
        Ok(line(self.get_record(py)?, &FormatOptions { format: Format::Fen, ..Default::default() }))
    }

    /// The record as EPD: four fields, then the operations.
    #[getter]
    fn epd(&self, py: Python<'_>) -> PyResult<String> {
        Ok(line(
            self.get_record(py)?,
            &FormatOptions { counters: CounterForm::Ops, ..Default::default() },
        ))
    }

    /// The 64-bit key of the position: Polyglot's, but an en passant square counts only if a capture
    /// is legal.
    #[getter]
    fn key(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(key::position_key(self.get_record(py)?.position()))
    }

    /// The packed board of the position.
    #[getter]
    fn packed<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let identity = self.get_record(py)?.position().identity();
        Ok(PyBytes::new(py, packed::encode(&identity).as_bytes()))
    }

    /// The side to move: True for White, as in python-chess.
    #[getter]
    fn turn(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.get_record(py)?.position().turn() == Color::White)
    }

    /// Plies since the last pawn move or capture; None if unknown.
    #[getter]
    fn halfmove_clock(&self, py: Python<'_>) -> PyResult<Option<u32>> {
        Ok(self.get_record(py)?.counters().0)
    }

    /// Number of the move; None if unknown.
    #[getter]
    fn fullmove_number(&self, py: Python<'_>) -> PyResult<Option<u32>> {
        Ok(self.get_record(py)?.counters().1)
    }

    /// A chess.Board of the position. Needs the package python-chess.
    fn board<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let chess = py.import("chess").map_err(|error| {
            let text = "Record.board() needs python-chess: pip install chess";
            let missing = PyImportError::new_err(text);
            missing.set_cause(py, Some(error));
            missing
        })?;
        let options = PyDict::new(py);
        options.set_item("chess960", self.get_record(py)?.position().is_chess960())?;
        chess.getattr("Board")?.call((self.fen(py)?,), Some(&options))
    }

    /// A copy, which can be changed without changing this record.
    fn copy(&self) -> Record {
        self.clone()
    }

    fn __copy__(&self) -> Record {
        self.clone()
    }

    fn __deepcopy__(&self, _memo: &Bound<'_, PyAny>) -> Record {
        self.clone()
    }

    fn __getitem__<'py>(&self, py: Python<'py>, opcode: &str) -> PyResult<Bound<'py, PyAny>> {
        match self.find(py, opcode)? {
            Some(value) => Ok(value),
            None => Err(PyKeyError::new_err(opcode.to_string())),
        }
    }

    /// The value of an opcode, or a default.
    #[pyo3(signature = (opcode, default = None))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        opcode: &str,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        Ok(self.find(py, opcode)?.or(default))
    }

    fn __setitem__(&mut self, opcode: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let opcode = operands::opcode(value.py(), opcode)?;
        operands::set(self.get_record_mut(value.py())?, opcode, value)
    }

    fn __delitem__(&mut self, py: Python<'_>, opcode: &str) -> PyResult<()> {
        let record = self.get_record_mut(py)?;
        let removed = Opcode::new(opcode.as_bytes()).ok().and_then(|it| record.remove(it));
        removed.map(drop).ok_or_else(|| PyKeyError::new_err(opcode.to_string()))
    }

    fn __contains__(&self, py: Python<'_>, opcode: &str) -> PyResult<bool> {
        let record = self.get_record(py)?;
        Ok(Opcode::new(opcode.as_bytes()).is_ok_and(|it| record.operands(it).is_some()))
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.get_record(py)?.operations().len())
    }

    /// The opcodes, in alphabetical order.
    fn keys(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let operations = self.get_record(py)?.operations();
        Ok(operations.iter().map(|operation| operation.opcode.to_string()).collect())
    }

    /// The opcodes with their values.
    fn items<'py>(&self, py: Python<'py>) -> PyResult<Vec<(String, Bound<'py, PyAny>)>> {
        let record = self.get_record(py)?;
        let item = |operation: &epdb_chess::model::Operation| {
            let value = operands::value(py, record.position(), operation)?;
            Ok((operation.opcode.to_string(), value))
        };
        record.operations().iter().map(item).collect()
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(PyList::new(py, self.keys(py)?)?.try_iter()?.into_any())
    }

    fn __str__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(line(
            self.get_record(py)?,
            &FormatOptions { castling: CastlingForm::Keep, ..Default::default() },
        ))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("Record({})", PyString::new(py, &self.__str__(py)?).repr()?))
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        let other = other.cast::<Record>().ok().and_then(|other| other.try_borrow().ok());
        let Some(other) = other else { return Ok(false) };
        let py = other.py();
        Ok(self.get_record(py)? == other.get_record(py)?)
    }

    /// The hash of the position, which edits do not change.
    fn __hash__(&self, py: Python<'_>) -> PyResult<u64> {
        let mut hasher = DefaultHasher::new();
        self.get_record(py)?.position().hash(&mut hasher);
        Ok(hasher.finish())
    }

    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        let mut bytes = Vec::new();
        record::encode(self.get_record(py)?, &mut bytes)
            .map_err(|error| invalid(py, &format!("cannot pickle the record: {error}")))?;
        let decode = py.get_type::<Record>().getattr("_from_bytes")?;
        Ok((decode, (PyBytes::new(py, &bytes),)))
    }

    /// The record of the bytes that pickle keeps.
    #[staticmethod]
    fn _from_bytes(py: Python<'_>, data: &[u8]) -> PyResult<Record> {
        let decoded = record::decode(data);
        decoded.map(|it| it.0.into()).map_err(|error| invalid(py, &error.to_string()))
    }
}

impl From<EpdRecord> for Record {
    fn from(record: EpdRecord) -> Record {
        Record { encoded: Box::default(), decoded: Box::new(record).into() }
    }
}

impl Record {
    /// The record that was found.
    pub(crate) fn found(found: &Match<'_>) -> epdb_chess::error::Result<Record> {
        Ok(match found.bytes()? {
            Some(bytes) => Record { encoded: bytes.into(), decoded: OnceLock::new() },
            None => found.record()?.into(),
        })
    }

    /// The object of Python.
    ///
    /// The garbage collector does not visit it, because a record holds no objects. So collections stay fast,
    /// even if a program keeps many records.
    #[allow(unsafe_code)]
    pub(crate) fn into_object(self, py: Python<'_>) -> PyResult<Bound<'_, Record>> {
        let object = Bound::new(py, self)?;
        // SAFETY: the object is alive, and its type supports garbage collection as all classes here
        // do. An object may be untracked at any time, and again when it is freed.
        unsafe { pyo3::ffi::PyObject_GC_UnTrack(object.as_ptr().cast()) };
        Ok(object)
    }

    /// A list of records.
    pub(crate) fn list<'py, T: Into<Record>>(
        py: Python<'py>,
        records: impl IntoIterator<Item = T>,
    ) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for record in records {
            list.append(record.into().into_object(py)?)?;
        }
        Ok(list)
    }

    pub(crate) fn get_record(&self, py: Python<'_>) -> PyResult<&EpdRecord> {
        if let Some(record) = self.decoded.get() {
            return Ok(record);
        }
        let (record, _) = record::decode(&self.encoded).map_err(|error| {
            invalid(py, &format!("the record that was found is damaged: {error}"))
        })?;
        Ok(self.decoded.get_or_init(|| Box::new(record)))
    }

    fn get_record_mut(&mut self, py: Python<'_>) -> PyResult<&mut EpdRecord> {
        self.get_record(py)?;
        let record = self.decoded.get_mut().map(|record| &mut **record);
        record.ok_or_else(|| invalid(py, "the record is not decoded"))
    }

    fn find<'py>(&self, py: Python<'py>, opcode: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Ok(opcode) = Opcode::new(opcode.as_bytes()) else { return Ok(None) };
        let record = self.get_record(py)?;
        let operation = record.operations().iter().find(|it| it.opcode == opcode);
        operation.map(|operation| operands::value(py, record.position(), operation)).transpose()
    }
}

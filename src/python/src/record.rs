//! The class `Record`.

use std::hash::{DefaultHasher, Hash, Hasher};

use epdb::codec::{key, packed, record};
use epdb::model::{Color, EpdRecord, Opcode};
use epdb::text::{CastlingForm, CounterForm, Format, FormatOptions, ParseOptions, Profile, epd};
use pyo3::exceptions::{PyImportError, PyKeyError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString};

use crate::errors::{OrRaise, invalid};
use crate::operands;
use crate::options::word;
use crate::positions;

/// A position with its operations: one line of EPD or FEN.
#[pyclass(module = "epdb_chess", name = "Record", mapping)]
#[derive(Clone)]
pub(crate) struct Record(pub(crate) EpdRecord);

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
            return positions::position(position).map(|position| Record(EpdRecord::new(position)));
        };
        let options = ParseOptions::new(word::<Profile>(py, profile)?);
        let text: Vec<u8> = text.call_method1("encode", ("utf-8", "surrogateescape"))?.extract()?;
        match epd::parse_line(&text, &options, &mut Vec::new()).or_raise(py)? {
            epd::Line::Record(record) => Ok(Record(record)),
            _ => Err(invalid(py, "no position in a blank line or a comment")),
        }
    }

    /// The position as FEN with six fields.
    #[getter]
    fn fen(&self) -> String {
        line(&self.0, &FormatOptions::new().format(Format::Fen))
    }

    /// The record as EPD: four fields, then the operations.
    #[getter]
    fn epd(&self) -> String {
        line(&self.0, &FormatOptions::new().counters(CounterForm::Ops))
    }

    /// The 64-bit key of the position: Polyglot's, but an en passant square counts only if a capture
    /// is legal.
    #[getter]
    fn key(&self) -> u64 {
        key::position_key(self.0.position())
    }

    /// The packed board of the position.
    #[getter]
    fn packed<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, packed::encode(&self.0.position().identity()).as_bytes())
    }

    /// The side to move: True for White, as in python-chess.
    #[getter]
    fn turn(&self) -> bool {
        self.0.position().turn() == Color::White
    }

    /// Plies since the last pawn move or capture; None if unknown.
    #[getter]
    fn halfmove_clock(&self) -> Option<u32> {
        self.0.counters().0
    }

    /// Number of the move; None if unknown.
    #[getter]
    fn fullmove_number(&self) -> Option<u32> {
        self.0.counters().1
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
        options.set_item("chess960", self.0.position().is_chess960())?;
        chess.getattr("Board")?.call((self.fen(),), Some(&options))
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
        operands::set(&mut self.0, operands::opcode(value.py(), opcode)?, value)
    }

    fn __delitem__(&mut self, opcode: &str) -> PyResult<()> {
        let removed = Opcode::new(opcode.as_bytes()).ok().and_then(|it| self.0.remove(it));
        removed.map(drop).ok_or_else(|| PyKeyError::new_err(opcode.to_string()))
    }

    fn __contains__(&self, opcode: &str) -> bool {
        Opcode::new(opcode.as_bytes()).is_ok_and(|it| self.0.operands(it).is_some())
    }

    fn __len__(&self) -> usize {
        self.0.operations().len()
    }

    /// The opcodes, in alphabetical order.
    fn keys(&self) -> Vec<String> {
        self.0.operations().iter().map(|operation| operation.opcode.to_string()).collect()
    }

    /// The opcodes with their values.
    fn items<'py>(&self, py: Python<'py>) -> PyResult<Vec<(String, Bound<'py, PyAny>)>> {
        let operations = self.0.operations().iter();
        let item = |operation: &epdb::model::Operation| {
            let value = operands::value(py, self.0.position(), operation)?;
            Ok((operation.opcode.to_string(), value))
        };
        operations.map(item).collect()
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(PyList::new(py, self.keys())?.try_iter()?.into_any())
    }

    fn __str__(&self) -> String {
        line(&self.0, &FormatOptions::new().castling(CastlingForm::Keep))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("Record({})", PyString::new(py, &self.__str__()).repr()?))
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Record>().is_ok_and(|other| {
            // A record is equal to itself, which is borrowed already.
            other.try_borrow().is_ok_and(|other| other.0 == self.0)
        })
    }

    /// The hash of the position, which edits do not change.
    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.0.position().hash(&mut hasher);
        hasher.finish()
    }

    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        let mut bytes = Vec::new();
        record::encode(&self.0, &mut bytes)
            .map_err(|error| invalid(py, &format!("cannot pickle the record: {error}")))?;
        let decode = py.get_type::<Record>().getattr("_from_bytes")?;
        Ok((decode, (PyBytes::new(py, &bytes),)))
    }

    /// The record of the bytes that pickle keeps.
    #[staticmethod]
    fn _from_bytes(py: Python<'_>, data: &[u8]) -> PyResult<Record> {
        let decoded = record::decode(data);
        decoded.map(|it| Record(it.0)).map_err(|error| invalid(py, &error.to_string()))
    }
}

impl Record {
    fn find<'py>(&self, py: Python<'py>, opcode: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Ok(opcode) = Opcode::new(opcode.as_bytes()) else { return Ok(None) };
        let operation = self.0.operations().iter().find(|it| it.opcode == opcode);
        operation.map(|operation| operands::value(py, self.0.position(), operation)).transpose()
    }
}

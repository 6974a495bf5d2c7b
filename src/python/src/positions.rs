//! Positions from values of Python, and functions of one position.

use epdb_chess::codec::query::Query;
use epdb_chess::codec::{key as keys, ordinal};
use epdb_chess::model::Position;
use epdb_chess::model::rules::Playable;
use epdb_chess::text::ParseOptions;
use epdb_library::question;
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::boards;
use crate::errors::{OrRaise, invalid};
use crate::operands::move_value;
use crate::record::Record;

/// The 64-bit key of a position.
///
/// It is the key of Polyglot, except that an en passant square counts only if a capture is legal. With
/// `polyglot=True`, the key is exactly that of Polyglot's books.
#[pyfunction]
#[pyo3(signature = (position, *, polyglot = false))]
pub(crate) fn key(position: &Bound<'_, PyAny>, polyglot: bool) -> PyResult<u64> {
    if polyglot {
        Ok(keys::polyglot_key(&crate::positions::position(position)?))
    } else {
        Ok(query(position)?.key())
    }
}

/// The legal moves of a position, in alphabetical order of their SAN.
#[pyfunction]
pub(crate) fn moves<'py>(position: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let py = position.py();
    let playable = Playable::new(&crate::positions::position(position)?)
        .map_err(|error| invalid(py, &format!("the position has no moves: {error}")))?;
    let moves = ordinal::list(&playable).into_iter();
    moves.map(|mv| move_value(py, &playable, mv)).collect()
}

/// The query of a position: a `chess.Board`, a text, a packed board, or a record.
pub(crate) fn query(value: &Bound<'_, PyAny>) -> PyResult<Query> {
    if let Ok(text) = value.cast::<PyString>() {
        let py = value.py();
        let query = question::parse_query(text.to_cow()?.as_bytes(), &ParseOptions::default());
        return query.or_raise(py)?.ok_or_else(|| invalid(py, "no position in the text"));
    }
    position(value).map(|position| Query::from(&position))
}

/// The position of a value as [`query`] takes it.
pub(crate) fn position(value: &Bound<'_, PyAny>) -> PyResult<Position> {
    let py = value.py();
    if let Ok(record) = value.cast::<Record>() {
        return Ok(*record.borrow().get_record(record.py())?.position());
    }
    if let Ok(text) = value.cast::<PyString>() {
        let position = question::parse(text.to_cow()?.as_bytes(), &ParseOptions::default());
        return position.or_raise(py)?.ok_or_else(|| invalid(py, "no position in the text"));
    }
    boards::position(value)
}

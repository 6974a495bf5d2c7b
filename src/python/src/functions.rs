//! Functions of positions.

use epdb::codec::{key as keys, ordinal};
use epdb::model::rules::Playable;
use pyo3::prelude::*;

use crate::errors::invalid;
use crate::{operands, positions};

/// The 64-bit key of a position.
///
/// It is Polyglot's, but an en passant square counts only if a capture is legal. With
/// `polyglot=True` it is the key of Polyglot's books.
#[pyfunction]
#[pyo3(signature = (position, *, polyglot = false))]
pub(crate) fn key(position: &Bound<'_, PyAny>, polyglot: bool) -> PyResult<u64> {
    match polyglot {
        true => Ok(keys::polyglot_key(&positions::position(position)?)),
        false => Ok(positions::query(position)?.key()),
    }
}

/// The legal moves of a position, in alphabetical order of their SAN.
#[pyfunction]
pub(crate) fn moves<'py>(position: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let py = position.py();
    let playable = Playable::new(&positions::position(position)?)
        .map_err(|error| invalid(py, &format!("the position has no moves: {error}")))?;
    let moves = ordinal::list(&playable).into_iter();
    moves.map(|mv| operands::move_value(py, &playable, mv)).collect()
}

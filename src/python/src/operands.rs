//! Operands of operations as values of Python, and back.

use epdb_chess::model::rules::Playable;
use epdb_chess::model::{EpdRecord, Opcode, Operand, Operands, Operation, Position};
use epdb_chess::text::epd::{Line, parse_line};
use epdb_chess::text::{ParseOptions, san};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyInt, PyList, PyString, PyTuple};

use crate::errors::{OrRaise, invalid, move_class, token_class};

/// An opcode by its name.
pub(crate) fn opcode(py: Python<'_>, name: &str) -> PyResult<Opcode> {
    Opcode::new(name.as_bytes()).map_err(|error| invalid(py, &format!("{name:?}: {error}")))
}

fn kind(opcode: Opcode) -> Operands {
    match opcode.standard() {
        Some(entry) => entry.operands,
        None if opcode.is_line() => Operands::MoveLine,
        None => Operands::Any,
    }
}

/// A text of a record, whose bytes need not be UTF-8.
fn text<'py>(py: Python<'py>, bytes: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(PyString::new(py, text).into_any()),
        Err(_) => pyo3::types::PyBytes::new(py, bytes)
            .call_method1("decode", ("utf-8", "surrogateescape")),
    }
}

/// The move of a position as Python sees it.
pub(crate) fn move_value<'py>(
    py: Python<'py>,
    playable: &Playable,
    mv: epdb_chess::model::rules::Move,
) -> PyResult<Bound<'py, PyAny>> {
    let san = san::format(playable, mv);
    move_class(py)?.call1((san::uci(playable, mv), san.to_string()))
}

/// Values of the operands of an operation.
pub(crate) fn value<'py>(
    py: Python<'py>,
    position: &Position,
    operation: &Operation,
) -> PyResult<Bound<'py, PyAny>> {
    let kind = kind(operation.opcode);
    let mut values = Vec::with_capacity(operation.operands.len());
    let mut playable = None;
    for operand in &operation.operands {
        values.push(match operand {
            Operand::Move { mv, san } => {
                let at = playable.take().or_else(|| Playable::new(position).ok());
                let uci = at.as_ref().map_or_else(|| mv.to_string(), |at| san::uci(at, *mv));
                playable = match kind {
                    Operands::MoveLine => at.map(|at| at.after(*mv)),
                    _ => at,
                };
                move_class(py)?.call1((uci, san.to_string()))?
            }
            Operand::Integer(value) => value.into_pyobject(py)?.into_any(),
            Operand::Token(token) if kind == Operands::Any => match integer(token) {
                Some(value) => value.into_pyobject(py)?.into_any(),
                None => token_class(py)?.call1((text(py, token)?,))?,
            },
            Operand::Token(token) if is_null_move(token) => py.None().into_bound(py),
            Operand::Token(bytes) | Operand::Str(bytes) => text(py, bytes)?,
            Operand::Tally(tally) => text(py, &tally.to_text())?,
        });
    }
    match kind {
        Operands::MoveSet | Operands::MoveLine | Operands::TwoStrings => {}
        Operands::Clocks | Operands::Timestamp => {}
        Operands::TagPairs => {
            let pairs = PyDict::new(py);
            for pair in values.chunks_exact(2) {
                pairs.set_item(&pair[0], &pair[1])?;
            }
            return Ok(pairs.into_any());
        }
        _ if values.is_empty() => return Ok(PyBool::new(py, true).to_owned().into_any()),
        _ if values.len() == 1 => return Ok(values.swap_remove(0)),
        _ => {}
    }
    Ok(PyList::new(py, values)?.into_any())
}

/// The integer that a token spells.
fn integer(token: &[u8]) -> Option<i64> {
    let text = std::str::from_utf8(token).ok()?;
    text.parse().ok().filter(|value: &i64| value.to_string() == text)
}

fn is_null_move(token: &[u8]) -> bool {
    [&b"--"[..], b"0000", b"Z0", b"@@@@", b"null"].contains(&token)
}

/// Sets an operation of a record to a value.
pub(crate) fn set(
    record: &mut EpdRecord,
    opcode: Opcode,
    value: &Bound<'_, PyAny>,
) -> PyResult<()> {
    let py = value.py();
    let mut line = record.position().to_string().into_bytes();
    line.push(b' ');
    line.extend_from_slice(opcode.as_bytes());
    let kind = kind(opcode);
    let mut operands = Vec::new();
    if let Ok(pairs) = value.cast::<PyDict>() {
        for (name, value) in pairs {
            operands.extend([name, value]);
        }
    } else if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        operands = value.try_iter()?.collect::<PyResult<_>>()?;
    } else if !value.is_instance_of::<PyBool>() {
        operands.push(value.clone());
    } else if !value.is_truthy()? {
        return Err(PyTypeError::new_err("an operation is removed by `del`, not by False"));
    }
    for (place, operand) in operands.iter().enumerate() {
        line.push(b' ');
        write(&mut line, kind, place, operand)?;
    }
    line.push(b';');
    let Line::Record(parsed) =
        parse_line(&line, &ParseOptions::default(), &mut Vec::new()).or_raise(py)?
    else {
        return Err(PyValueError::new_err("not an operation"));
    };
    let operation = parsed.operations().iter().find(|it| it.opcode == opcode);
    let Some(operation) = operation else {
        return Err(invalid(py, &format!("{opcode} does not take this value")));
    };
    // Reading keeps words that are not legal moves.
    let is_wrong = |operand: &&Operand| match operand {
        Operand::Token(token) => !is_null_move(token),
        _ => false,
    };
    let wrong = operation.operands.iter().find(is_wrong).filter(|_| takes_moves(kind));
    if let Some(wrong) = wrong {
        let word = String::from_utf8_lossy(&wrong.text()).into_owned();
        return Err(invalid(py, &format!("{opcode}: {word} is not a legal move")));
    }
    record.set(operation.clone());
    Ok(())
}

const fn takes_moves(kind: Operands) -> bool {
    matches!(kind, Operands::Move | Operands::MoveSet | Operands::MoveLine)
}

fn write(
    line: &mut Vec<u8>,
    kind: Operands,
    place: usize,
    operand: &Bound<'_, PyAny>,
) -> PyResult<()> {
    let py = operand.py();
    if operand.is_none() && takes_moves(kind) {
        line.extend_from_slice(b"--");
        return Ok(());
    }
    if operand.is_instance_of::<PyInt>() {
        line.extend_from_slice(operand.str()?.to_cow()?.as_bytes());
        return Ok(());
    }
    // A move of python-chess.
    if !operand.is_instance_of::<PyString>() && operand.hasattr("from_square")? {
        let uci = operand.call_method0("uci")?;
        line.extend_from_slice(uci.str()?.to_cow()?.as_bytes());
        return Ok(());
    }
    let Ok(text) = operand.cast::<PyString>() else {
        let name = operand.get_type().name()?.to_string();
        return Err(PyTypeError::new_err(format!("an operand cannot be of type {name}")));
    };
    let bytes: Vec<u8> = text.call_method1("encode", ("utf-8", "surrogateescape"))?.extract()?;
    if bytes.iter().any(|byte| byte.is_ascii_control() || *byte == b'"') {
        return Err(invalid(py, "a text cannot have quotes or control characters"));
    }
    let is_quoted = match kind {
        Operands::Str { .. } | Operands::TwoStrings | Operands::Tally | Operands::KeptGames => true,
        Operands::TagPairs => place % 2 == 1,
        Operands::Any => {
            !operand.is_instance(token_class(py)?)? && !operand.is_instance(move_class(py)?)?
        }
        _ => false,
    };
    if is_quoted {
        line.push(b'"');
        line.extend_from_slice(&bytes);
        line.push(b'"');
    } else if bytes.is_empty()
        || bytes.iter().any(|byte| byte.is_ascii_whitespace() || *byte == b';')
    {
        return Err(invalid(py, "this operand is one word"));
    } else {
        line.extend_from_slice(&bytes);
    }
    Ok(())
}

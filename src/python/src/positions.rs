//! Positions from values of Python, and functions of one position.

use epdb::codec::query::Query;
use epdb::codec::{key as keys, ordinal, packed};
use epdb::library::question;
use epdb::model::rules::Playable;
use epdb::model::{
    Bitboard, Board, Castling, Color, Piece, Position, Role, Side, Square, en_passant_rank,
    may_hold_right,
};
use epdb::text::ParseOptions;
use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

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
    match polyglot {
        true => Ok(keys::polyglot_key(&crate::positions::position(position)?)),
        false => Ok(query(position)?.key()),
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
    if let Ok(bytes) = value.cast::<PyBytes>() {
        return packed_position(py, bytes.as_bytes());
    }
    if let Ok(text) = value.cast::<PyString>() {
        let position = question::parse(text.to_cow()?.as_bytes(), &ParseOptions::default());
        return position.or_raise(py)?.ok_or_else(|| invalid(py, "no position in the text"));
    }
    if let Some(occupied) = value.getattr_opt(intern!(py, "occupied_co"))? {
        return board(value, &occupied);
    }
    let name = value.get_type().name()?.to_string();
    Err(PyTypeError::new_err(format!(
        "expected a chess.Board, a str, packed bytes or a Record, not {name}"
    )))
}

fn packed_position(py: Python<'_>, bytes: &[u8]) -> PyResult<Position> {
    let (position, len) = packed::decode(bytes)
        .map_err(|error| invalid(py, &format!("not a packed board: {error}")))?;
    match bytes.len() - len {
        0 => Ok(position),
        rest => Err(invalid(py, &format!("{rest} bytes follow the packed board"))),
    }
}

/// Reads the bitboards of a `chess.Board`.
fn board(value: &Bound<'_, PyAny>, occupied: &Bound<'_, PyAny>) -> PyResult<Position> {
    let py = value.py();
    let colors: [u64; 2] =
        [occupied.get_item(true)?.extract()?, occupied.get_item(false)?.extract()?];
    let names = [
        (intern!(py, "pawns"), Role::Pawn),
        (intern!(py, "knights"), Role::Knight),
        (intern!(py, "bishops"), Role::Bishop),
        (intern!(py, "rooks"), Role::Rook),
        (intern!(py, "queens"), Role::Queen),
        (intern!(py, "kings"), Role::King),
    ];
    let mut placement = Board::EMPTY;
    for (name, role) in names {
        let pieces: u64 = value.getattr(name)?.extract()?;
        for (color, own) in [Color::White, Color::Black].into_iter().zip(colors) {
            for square in Bitboard(pieces & own) {
                placement.put(square, Some(Piece { color, role }));
            }
        }
    }
    let turn = match value.getattr(intern!(py, "turn"))?.is_truthy()? {
        true => Color::White,
        false => Color::Black,
    };
    let rights: u64 = value.getattr(intern!(py, "castling_rights"))?.extract()?;
    let castling = match rights {
        0 => Castling::NONE,
        rights => {
            let is_chess960 = value.getattr(intern!(py, "chess960"))?.is_truthy()?;
            castling(&placement, rights, is_chess960)
        }
    };
    let en_passant = value.getattr(intern!(py, "ep_square"))?;
    let en_passant: Option<u8> = en_passant.extract()?;
    let en_passant =
        en_passant.and_then(Square::new).filter(|it| it.rank() == en_passant_rank(turn));
    Position::new(placement, turn, castling, en_passant)
        .map_err(|error| invalid(py, &error.to_string()))
}

/// The castling rights of a board of python-chess, which may name rooks that are gone.
fn castling(board: &Board, rights: u64, is_chess960: bool) -> Castling {
    let mut castling = Castling::NONE;
    for color in Color::ALL {
        let Some(king) = board.king(color) else { continue };
        let rooks = board.pieces(color, Role::Rook).0 & rights;
        for square in Bitboard(rooks) {
            let side = if square.file() > king.file() { Side::King } else { Side::Queen };
            let is_usual = king.file() == 4 && [0, 7].contains(&square.file());
            // Of two rooks on one side, the outer one has the right.
            let is_inner = side == Side::Queen && castling.rook(color, side).is_some();
            if square.rank() == color.back_rank()
                && (is_chess960 || is_usual)
                && !is_inner
                && may_hold_right(board, color, side, square.file())
            {
                castling.set(color, side, Some(square.file()));
            }
        }
    }
    castling
}

//! Positions from boards of python-chess and packed boards.

use epdb_chess::codec::packed;
use epdb_chess::model::{
    Bitboard, Board, Castling, Color, Piece, Position, Role, Side, Square, en_passant_rank,
    may_hold_right,
};
use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::invalid;

/// The position of a `chess.Board` or a packed board.
pub(crate) fn position(value: &Bound<'_, PyAny>) -> PyResult<Position> {
    let py = value.py();
    if let Ok(bytes) = value.cast::<PyBytes>() {
        return packed_position(py, bytes.as_bytes());
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
    let turn =
        if value.getattr(intern!(py, "turn"))?.is_truthy()? { Color::White } else { Color::Black };
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

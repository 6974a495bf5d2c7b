//! The fields of a row; each is coded as one symbol.

use std::ops::Range;

use crate::archive::row::{EN_PASSANT, FORM, FULLMOVE, HALFMOVE, RANKS, Row, STATE};

/// Number of fields of a row: form, state, the squares in order of the columns of ranks, en passant
/// file and counters.
pub(super) const FIELDS: usize = 69;
pub(super) const FORM_FIELD: usize = 0;
pub(super) const STATE_FIELD: usize = 1;
/// The fields of squares.
pub(super) const SQUARES: Range<usize> = 2..66;
pub(super) const HALFMOVE_FIELD: usize = 68;

/// Codes of the two kings.
pub(super) const KINGS: [u32; 2] = [6, 12];
/// Highest code of a piece.
pub(super) const LAST_PIECE: u32 = 12;

/// The column of a field, and its first bit there.
const fn place(field: usize) -> (usize, u32) {
    match field {
        FORM_FIELD => (FORM, 0),
        STATE_FIELD => (STATE, 0),
        66 => (EN_PASSANT, 0),
        67 => (FULLMOVE, 0),
        HALFMOVE_FIELD => (HALFMOVE, 0),
        _ => (RANKS + (field - SQUARES.start) / 8, 4 * ((field - SQUARES.start) % 8) as u32),
    }
}

/// The column of a field.
pub(super) const fn column(field: usize) -> usize {
    place(field).0
}

/// Value of a field of a row.
pub(super) fn get(row: &Row, field: usize) -> u32 {
    let (column, shift) = place(field);
    let value = row.0[column];
    if SQUARES.contains(&field) { value >> shift & 15 } else { value }
}

/// Sets a field that is 0.
pub(super) fn set(row: &mut Row, field: usize, value: u32) {
    let (column, shift) = place(field);
    row.0[column] |= value << shift;
}

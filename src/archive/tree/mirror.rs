//! The last rank by its difference to the first: in most positions of games pieces of both colours
//! face each other.

use crate::archive::row::{RANK_ORDER, RANKS, Row};

/// The column of the last rank.
pub(super) const LAST_RANK: usize = {
    assert!(RANK_ORDER[2] == 7);
    RANKS + 2
};

/// The code of an empty square that faces a piece.
pub(super) const VACATED: u32 = 13;

/// The code of the piece of the other colour and the same kind; 0 for none.
const fn facing(code: u32) -> u32 {
    match code {
        1..=6 => code + 6,
        7..=12 => code - 6,
        _ => 0,
    }
}

/// What is coded for a column of a row.
pub(super) fn coded_value(mirrors: bool, row: &Row, column: usize) -> u32 {
    let value = row.0[column];
    if mirrors && column == LAST_RANK { mirrored(row.0[RANKS], value) } else { value }
}

/// Codes the last rank by the first: 0 where the same pieces face each other.
fn mirrored(first: u32, last: u32) -> u32 {
    each_square(first, last, |white, black| match black {
        _ if black == facing(white) => 0,
        0 => VACATED,
        _ => black,
    })
}

/// The last rank that [`mirrored`] codes.
pub(super) fn unmirrored(first: u32, coded: u32) -> u32 {
    each_square(first, coded, |white, coded| match coded {
        0 => facing(white),
        VACATED => 0,
        _ => coded,
    })
}

fn each_square(first: u32, last: u32, code: impl Fn(u32, u32) -> u32) -> u32 {
    (0..8).fold(0, |rank, file| {
        rank | code(first >> (4 * file) & 15, last >> (4 * file) & 15) << (4 * file)
    })
}

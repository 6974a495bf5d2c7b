//! Coding of the last rank by its difference from the first rank. This saves bits, because in most
//! positions the same pieces of both colours face each other on these ranks.

use crate::columns::{RANK_ORDER, RANKS, Row, no_pieces, with_other_colors};

/// The column of the last rank.
pub(super) const LAST_RANK: usize = {
    assert!(RANK_ORDER[2] == 7);
    RANKS + 2
};

/// Returns the column of the rank on the other side of the board, if that column is coded earlier;
/// `None` otherwise.
pub(super) const fn faced_column(column: usize) -> Option<usize> {
    match column {
        LAST_RANK => Some(RANKS),
        5 => Some(3),
        7 => Some(6),
        9 => Some(8),
        _ => None,
    }
}

/// The code of an empty square that faces a piece.
pub(super) const VACATED: u32 = 13;

/// Returns the mirror image of a rank: the same pieces on the same files, in the other colour.
/// Codes that are not pieces face empty squares.
pub(super) fn facing(rank: u32) -> u32 {
    with_other_colors(rank & !no_pieces(rank))
}

/// Sets all bits of each code that is not 0.
const fn mask(codes: u32) -> u32 {
    ((codes | codes >> 1 | codes >> 2 | codes >> 3) & 0x1111_1111) * 15
}

/// The same code on every square.
const fn everywhere(code: u32) -> u32 {
    code * 0x1111_1111
}

#[inline]
pub(super) fn coded_value(mirrors: bool, row: &Row, column: usize) -> u32 {
    let value = row.0[column];
    if mirrors && column == LAST_RANK { mirrored(row.0[RANKS], value) } else { value }
}

/// Codes the last rank, given the first rank. The code is 0 on a file where both ranks have the
/// same piece in different colours.
fn mirrored(first: u32, last: u32) -> u32 {
    let vacated = everywhere(VACATED) & !mask(last);
    (last | vacated) & mask(last ^ facing(first))
}

/// Decodes a last rank that [`mirrored`] coded.
pub(super) fn unmirrored(first: u32, coded: u32) -> u32 {
    let coded_or_vacated = coded & mask(coded ^ everywhere(VACATED));
    facing(first) & !mask(coded) | coded_or_vacated
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_pair_of_codes_round_trips() {
        for first in 0..=15 {
            for last in (0..=15).filter(|&code| code != VACATED) {
                let ranks = everywhere(first) ^ 0x21;
                let others = everywhere(last) & 0xffff_ff0f;
                assert_eq!(unmirrored(ranks, mirrored(ranks, others)), others, "{first} {last}");
            }
            let own = everywhere(first);
            assert_eq!(mirrored(own, facing(own)), 0);
            assert_eq!(unmirrored(own, everywhere(VACATED)), 0);
        }
    }
}

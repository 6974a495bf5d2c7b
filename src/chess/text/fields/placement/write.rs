//! Writer of placements.

use super::tables::{Letters, RANKS, ROOM, RankText};
use crate::model::{Board, Color, Piece, Role};
use crate::simd::{InstructionSet, with_instructions};

/// Writes the placement of at most 32 pieces to the start of the text. Returns its length. The
/// codes are in the order of squares. Each byte has two codes; after the last piece the codes are
/// 0.
#[inline]
#[allow(unsafe_code)]
pub(crate) fn write_pieces(
    occupied: u64,
    codes: &[u8; 16],
    letters: &Letters,
    instructions: InstructionSet,
    text: &mut [u8; ROOM],
) -> usize {
    let len = with_instructions!(
        instructions,
        // SAFETY: a set of this level is made only where its instructions are detected.
        avx512(_GATHERS) => unsafe { super::avx512::write_pieces(occupied, codes, letters, text) },
        // SAFETY: as above.
        lanes => Some(unsafe { super::lanes::write_packed(occupied, codes, letters, text) }),
        portable => None,
    );
    len.unwrap_or_else(|| pieces_bytewise(occupied, codes, letters, text))
}

/// Writes a placement, given by the letter on each square (0 if it is empty), to the start of the
/// text. Returns its length.
#[inline]
#[allow(unsafe_code)]
pub(crate) fn write_letters(
    occupied: u64,
    letters: &[u8; 64],
    instructions: InstructionSet,
    text: &mut [u8; ROOM],
) -> usize {
    let len = with_instructions!(
        instructions,
        // SAFETY: a set of this level is made only where its instructions are detected.
        avx512(_GATHERS) => unsafe { super::avx512::write_letters(occupied, letters, text) },
        // SAFETY: as above.
        lanes => Some(unsafe { super::lanes::write_letters(occupied, letters, text) }),
        portable => None,
    );
    len.unwrap_or_else(|| letters_bytewise(occupied, letters, text))
}

/// Writes the placement of eight ranks of codes to the start of the text. Returns its length. The
/// a-file is in the lowest bits of a rank; 0 is an empty square.
#[inline]
#[allow(unsafe_code)]
pub(crate) fn write_ranks(
    occupied: u64,
    ranks: &[u32; 8],
    letters: &Letters,
    instructions: InstructionSet,
    text: &mut [u8; ROOM],
) -> usize {
    let [a, b, c, d, e, f, g, h] = ranks.map(u32::to_le_bytes);
    let halves: [[[u8; 4]; 4]; 2] = [[a, b, c, d], [e, f, g, h]];
    let codes = halves.map(|ranks| std::array::from_fn(|at| ranks[at / 4][at % 4]));
    let len = with_instructions!(
        instructions,
        // SAFETY: a set of this level is made only where its instructions are detected.
        avx512(_GATHERS) => unsafe { super::avx512::write_ranks(occupied, &codes, letters, text) },
        // SAFETY: as above.
        lanes => Some(unsafe { super::lanes::write_ranks(occupied, &codes, letters, text) }),
        portable => None,
    );
    len.unwrap_or_else(|| letters_bytewise(occupied, &letters.by_square(&codes), text))
}

/// Returns the letter on each square of a board; 0 for an empty square.
pub(crate) fn letters_of(board: &Board) -> [u8; 64] {
    let mut letters = [0; 64];
    for color in Color::ALL {
        for role in Role::ALL {
            let letter = Piece { color, role }.letter();
            for square in board.pieces(color, role) {
                letters[square.index()] = letter;
            }
        }
    }
    letters
}

/// The portable implementation of [`write_pieces`].
fn pieces_bytewise(
    occupied: u64,
    codes: &[u8; 16],
    letters: &Letters,
    text: &mut [u8; ROOM],
) -> usize {
    let mut of_codes = [[0; 2]; 20];
    for (pair, &byte) in of_codes.iter_mut().zip(codes) {
        *pair = letters.pairs[usize::from(byte)];
    }
    let letters = of_codes.as_flattened();
    let mut at = 0;
    let mut before = occupied.count_ones() as usize;
    for rank in occupied.to_be_bytes() {
        let RankText { by_piece, len, .. } = RANKS[usize::from(rank)];
        before -= rank.count_ones() as usize;
        at = put_rank(eight(&letters[before..]), by_piece, len, at, text);
    }
    at - 1
}

fn letters_bytewise(occupied: u64, letters: &[u8; 64], text: &mut [u8; ROOM]) -> usize {
    let mut at = 0;
    for (letters, rank) in letters.chunks_exact(8).rev().zip(occupied.to_be_bytes()) {
        let RankText { by_file, len, .. } = RANKS[usize::from(rank)];
        at = put_rank(eight(letters), by_file, len, at, text);
    }
    at - 1
}

#[inline]
fn eight(letters: &[u8]) -> [u8; 8] {
    let mut first = [0; 8];
    first.copy_from_slice(&letters[..8]);
    first
}

/// Writes a rank and the solidus after it. Returns the place after the solidus. Letters and digits
/// come from one array, so there are no branches.
#[inline]
fn put_rank(letters: [u8; 8], signs: [u8; 8], len: u8, at: usize, text: &mut [u8; ROOM]) -> usize {
    let mut source = *b"........12345678";
    source[..8].copy_from_slice(&letters);
    text[at..at + 8].copy_from_slice(&signs.map(|sign| source[usize::from(sign & 15)]));
    let end = at + usize::from(len);
    text[end] = b'/';
    end + 1
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    static LETTERS: Letters = Letters::new(*b"pPnNbBrRqQkKpRrk");
    static BY_CODE: Letters = Letters::new(*b"\0PNBRQKpnbrqkpRr");

    type Write<'a> = &'a dyn Fn(InstructionSet, &mut [u8; ROOM]) -> usize;

    fn assert_same(write: Write) {
        let written = |set| {
            let mut text = [0; ROOM];
            let len = write(set, &mut text);
            text[..len].escape_ascii().to_string()
        };
        for &set in InstructionSet::supported() {
            assert_eq!(written(set), written(InstructionSet::PORTABLE), "{}", set.name());
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        #[test]
        fn all_ways_write_the_same_pieces(
            (a, b, few) in any::<(u64, u64, bool)>(),
            codes in any::<[u8; 16]>(),
        ) {
            let mut occupied = if few { a & b } else { a };
            while occupied.count_ones() > 32 {
                occupied &= occupied - 1;
            }
            let count = occupied.count_ones();
            let there = u128::MAX.checked_shr(128 - count * 4).unwrap_or(0);
            let codes = (u128::from_le_bytes(codes) & there).to_le_bytes();
            assert_same(&|set, text| write_pieces(occupied, &codes, &LETTERS, set, text));
        }

        #[test]
        fn all_ways_write_the_same_ranks(ranks in any::<([u32; 8], [u32; 8])>()) {
            let ranks: [u32; 8] = std::array::from_fn(|rank| ranks.0[rank] & ranks.1[rank]);
            let is_there = |square: &u8| ranks[usize::from(square / 8)] >> (4 * (square % 8)) & 15 != 0;
            let occupied = (0..64).filter(is_there).fold(0, |set, square| set | 1 << square);
            assert_same(&|set, text| write_ranks(occupied, &ranks, &BY_CODE, set, text));
        }

        #[test]
        fn all_ways_write_the_same_letters(
            (a, b, few) in any::<(u64, u64, bool)>(),
            letters in prop::collection::vec(prop::sample::select(b"pPnNbBrRqQkK".to_vec()), 64),
        ) {
            let occupied = if few { a & b } else { a };
            let mut board = [0; 64];
            for square in crate::model::Bitboard(occupied) {
                board[square.index()] = letters[square.index()];
            }
            assert_same(&|set, text| write_letters(occupied, &board, set, text));
        }
    }
}

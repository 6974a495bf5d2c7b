//! The hash of a board that is not text.

use super::instructions::{InstructionSet, Set, with_instructions};
use super::tables::{CodeBits, MOST_PIECES, PieceNumbers, place};

/// The numbers of all pieces, combined by exclusive or.
#[inline]
pub(crate) fn hash_of_board(
    board: &CodeBits,
    numbers: &PieceNumbers,
    InstructionSet(set): InstructionSet,
) -> u64 {
    let count = board.occupied.count_ones();
    if count == 0 || count > MOST_PIECES {
        return hash_squares(board, numbers);
    }
    with_instructions!(
        set,
        avx512(GATHERS) => super::avx512::hash_of_board::<GATHERS>(board, numbers),
        lanes => super::lanes::hash_of_board(board, numbers),
        portable => hash_squares(board, numbers),
    )
}

/// The way that every machine can go, through all squares: those with a piece would have to be
/// found first, and the number of the others is 0.
fn hash_squares(board: &CodeBits, numbers: &PieceNumbers) -> u64 {
    let mut hashes = [0; 2];
    for (rank, codes) in board.ranks().into_iter().enumerate() {
        for file in 0..8 {
            let code = (codes >> (8 * file)) as u8;
            hashes[file % 2] ^= numbers[place(rank * 8 + file, code)];
        }
    }
    hashes[0] ^ hashes[1]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(5_000))]

        #[test]
        fn all_ways_make_the_same_hash(
            (a, b, few) in any::<(u64, u64, bool)>(),
            codes in prop::collection::vec(0..12_u8, 64),
        ) {
            let occupied = if few { a & b } else { a };
            let mut numbers = [0; 1024];
            let mut board = CodeBits { occupied, bits: [0; 4] };
            let mut expected = 0;
            for square in 0..64 {
                for code in 0..12 {
                    let at = place(square, code);
                    numbers[at] = (at as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                }
                let is_there = occupied >> square & 1 == 1;
                let code = if is_there { codes[square] } else { 12 };
                for (bit, squares) in board.bits.iter_mut().enumerate() {
                    *squares |= u64::from(code >> bit & 1) << square;
                }
                expected ^= numbers[place(square, code)];
            }
            for &set in InstructionSet::supported() {
                prop_assert_eq!(hash_of_board(&board, &numbers, set), expected, "{}", set.name());
            }
        }
    }
}

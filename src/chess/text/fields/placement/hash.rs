//! The hash of a board whose piece codes are stored as sets of squares ([`CodeBits`]).

use super::tables::{CodeBits, PieceNumbers, place};

/// A table for each of 32 pairs of squares. For each pair of codes on these squares, it has the
/// combined number of both pieces. With pairs, a hash takes half as many loads as with single
/// squares, and the pieces need not be searched. The codes come from [`CodeBits::words`]: byte
/// `rank` of word `file` has the codes of the squares `file` and `file + 4` of that rank. This byte
/// is the index into the table of the pair.
///
/// Each table is one cache line longer than necessary. Without that line, the entries of all tables
/// for a frequent pair (such as two empty squares) would fall into two sets of the cache. Two sets
/// cannot hold them.
pub(crate) type PairNumbers = [[u64; PAIRS + LINE]; 32];

const PAIRS: usize = 256;
/// Numbers in a cache line.
const LINE: usize = 8;

/// Makes the table of pairs from the numbers of single pieces.
pub(crate) const fn pair_numbers(numbers: &PieceNumbers) -> PairNumbers {
    let mut pairs = [[0; PAIRS + LINE]; 32];
    let mut nth = 0;
    while nth < 32 {
        let square = nth / 4 * 8 + nth % 4;
        let mut codes = 0;
        while codes < PAIRS {
            pairs[nth][codes] = numbers[place(square, codes as u8 & 15)]
                ^ numbers[place(square + 4, codes as u8 >> 4)];
            codes += 1;
        }
        nth += 1;
    }
    pairs
}

/// Combines the numbers of all pieces of a board by exclusive or.
#[inline]
pub(crate) fn hash_of_board(board: &CodeBits, numbers: &PairNumbers) -> u64 {
    let words = board.words();
    let mut hashes = [0; 4];
    for (rank, pairs) in numbers.chunks_exact(4).enumerate() {
        for (file, hash) in hashes.iter_mut().enumerate() {
            *hash ^= pairs[file][usize::from((words[file] >> (8 * rank)) as u8)];
        }
    }
    hashes[0] ^ hashes[1] ^ hashes[2] ^ hashes[3]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(5_000))]

        #[test]
        fn the_hash_is_that_of_the_pieces_one_by_one(
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
            prop_assert_eq!(hash_of_board(&board, &pair_numbers(&numbers)), expected);
        }
    }
}

//! The hash of a board that is not text.

use super::instructions::{InstructionSet, Set};
use super::tables::{MOST_PIECES, PieceNumbers, place};

/// The codes of the pieces on a board, as sets of squares.
pub(crate) struct CodeBits {
    /// The squares with a piece.
    pub(crate) occupied: u64,
    /// For each bit of a code the squares that have it, the lowest bit first. A square without a
    /// piece has a code that is none.
    pub(crate) bits: [u64; 4],
}

/// The numbers of all pieces, combined by exclusive or.
#[inline]
#[allow(unsafe_code)]
pub(crate) fn hash_of_board(
    board: &CodeBits,
    numbers: &PieceNumbers,
    InstructionSet(set): InstructionSet,
) -> u64 {
    let count = board.occupied.count_ones();
    if count == 0 || count > MOST_PIECES {
        return hash_squares(board, numbers);
    }
    match set {
        // SAFETY: there is no value of this set but on machines that have what it is called after.
        #[cfg(target_arch = "x86_64")]
        Set::Avx512Gathers => unsafe { super::avx512::hash_of_board::<true>(board, numbers) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Set::Avx512 => unsafe { super::avx512::hash_of_board::<false>(board, numbers) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Set::Avx2 => unsafe { super::lanes::hash_of_board(board, numbers) },
        // SAFETY: as above.
        #[cfg(all(target_arch = "aarch64", target_feature = "neon", target_endian = "little"))]
        Set::Neon => unsafe { super::lanes::hash_of_board(board, numbers) },
        Set::Portable => hash_squares(board, numbers),
    }
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

impl CodeBits {
    /// The codes of each rank in a byte for each file, the a-file lowest.
    #[inline]
    pub(crate) fn ranks(&self) -> [u64; 8] {
        [0, 1, 2, 3, 4, 5, 6, 7].map(|rank| {
            let spread = |bit: usize| SPREAD[usize::from((self.bits[bit] >> (8 * rank)) as u8)];
            let codes = spread(0) | spread(1) << 1 | spread(2) << 2 | spread(3) << 3;
            codes & u64::MAX / 255 * 15
        })
    }
}

/// For each set of eight squares a byte of 1 or 0 for each of them.
static SPREAD: [u64; 256] = {
    let mut table = [0; 256];
    let mut set = 0;
    while set < 256 {
        let mut file = 0;
        while file < 8 {
            table[set] |= (set as u64 >> file & 1) << (8 * file);
            file += 1;
        }
        set += 1;
    }
    table
};

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

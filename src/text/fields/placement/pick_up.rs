//! The codes of the pieces on a board in the order of their squares.

use super::instructions::{InstructionSet, Set, with_instructions};
use super::tables::CodeBits;

/// The codes of the pieces, of which there are at most 32, the first at the bottom.
#[inline(always)]
pub(crate) fn pick_up(board: &CodeBits, InstructionSet(set): InstructionSet) -> u128 {
    with_instructions!(
        set,
        avx512(_GATHERS) => super::bits::pick_up(board),
        bits => super::bits::pick_up(board),
        lanes => super::lanes::pick_up(board),
        portable => board.each(),
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn all_ways_pick_up_the_same((a, b) in any::<(u64, u64)>(), bits in any::<[u64; 4]>()) {
            let mut occupied = a & b;
            while occupied.count_ones() > 32 {
                occupied &= occupied - 1;
            }
            let board = CodeBits { occupied, bits };
            let codes = board.each();
            for (nth, square) in (0..64).filter(|square| occupied >> square & 1 == 1).enumerate() {
                let code = bits.iter().rev().fold(0, |code, bit| code << 1 | bit >> square & 1);
                prop_assert_eq!(codes >> (4 * nth) & 15, u128::from(code));
            }
            prop_assert_eq!(codes.checked_shr(4 * occupied.count_ones()).unwrap_or(0), 0);
            for &set in InstructionSet::supported() {
                prop_assert_eq!(pick_up(&board, set), codes, "{}", set.name());
            }
        }
    }
}

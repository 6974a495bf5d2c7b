//! The codes of pieces laid out on their squares.

use super::instructions::{InstructionSet, Set, with_instructions};
use super::tables::CodeBits;

/// Lays out codes that are given in the order of squares, the first at the bottom.
#[inline]
pub(crate) fn lay_out(occupied: u64, codes: u128, InstructionSet(set): InstructionSet) -> CodeBits {
    with_instructions!(
        set,
        avx512(_GATHERS) => super::bits::lay_out(occupied, codes),
        bits => super::bits::lay_out(occupied, codes),
        lanes => super::lanes::lay_out(occupied, codes),
        portable => CodeBits::of_each(occupied, codes),
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn all_ways_lay_out_the_same((a, b, few) in any::<(u64, u64, bool)>(), codes in any::<u128>()) {
            let occupied = if few { a & b } else { a };
            let expected = CodeBits::of_each(occupied, codes);
            for (nth, square) in (0..64).filter(|square| occupied >> square & 1 == 1).enumerate() {
                let code = codes.checked_shr(4 * nth as u32).unwrap_or(0) & 15;
                let found = expected.bits.iter().rev().fold(0, |code, bit| code << 1 | bit >> square & 1);
                prop_assert_eq!(u128::from(found), code);
            }
            for &set in InstructionSet::supported() {
                prop_assert_eq!(&lay_out(occupied, codes, set), &expected, "{}", set.name());
            }
        }
    }
}

//! Conversions between a board and the list of its piece codes in the order of squares. With BMI2,
//! `pext` gathers the codes and `pdep` scatters them. The safe implementations are methods of
//! [`CodeBits`].

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{_pdep_u64, _pext_u64};

use super::tables::CodeBits;
use crate::simd::{InstructionSet, with_instructions};

/// Gathers the codes of at most 32 pieces, in the order of their squares, the first in the lowest
/// bits.
#[inline(always)]
#[allow(unsafe_code)]
pub(crate) fn gather_codes(board: &CodeBits, instructions: InstructionSet) -> u128 {
    with_instructions!(
        instructions,
        // SAFETY: a set of this level is made only where its instructions are detected.
        avx512(_GATHERS) => unsafe { gather_by_pext(board) },
        // SAFETY: as above.
        bits => unsafe { gather_by_pext(board) },
        // SAFETY: as above.
        lanes => unsafe { super::lanes::gather_codes(board) },
        portable => board.each(),
    )
}

/// Puts codes on the occupied squares and returns that board. The codes are in the order of the
/// squares, the first in the lowest bits.
#[inline]
#[allow(unsafe_code)]
pub(crate) fn scatter_codes(occupied: u64, codes: u128, instructions: InstructionSet) -> CodeBits {
    with_instructions!(
        instructions,
        // SAFETY: a set of this level is made only where its instructions are detected.
        avx512(_GATHERS) => unsafe { scatter_by_pdep(occupied, codes) },
        // SAFETY: as above.
        bits => unsafe { scatter_by_pdep(occupied, codes) },
        // SAFETY: as above.
        lanes => unsafe { super::lanes::scatter_codes(occupied, codes) },
        portable => CodeBits::from_codes(occupied, codes),
    )
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "bmi1,bmi2,popcnt")]
fn gather_by_pext(board: &CodeBits) -> u128 {
    let [mut low, mut high] = [0; 2];
    for (bit, squares) in board.bits.into_iter().enumerate() {
        let ones = (u64::MAX / 15) << bit;
        let of_pieces = _pext_u64(squares, board.occupied);
        low |= _pdep_u64(of_pieces, ones);
        high |= _pdep_u64(of_pieces >> 16, ones);
    }
    u128::from(high) << 64 | u128::from(low)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "bmi1,bmi2,popcnt")]
fn scatter_by_pdep(occupied: u64, codes: u128) -> CodeBits {
    let [low, high] = [codes as u64, (codes >> 64) as u64];
    let squares = |bit: u32| {
        let ones = (u64::MAX / 15) << bit;
        _pdep_u64(_pext_u64(low, ones) | _pext_u64(high, ones) << 16, occupied)
    };
    CodeBits { occupied, bits: [squares(0), squares(1), squares(2), squares(3)] }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn all_instruction_sets_gather_the_same((a, b) in any::<(u64, u64)>(), bits in any::<[u64; 4]>()) {
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
                prop_assert_eq!(gather_codes(&board, set), codes, "{}", set.name());
            }
        }

        #[test]
        fn all_instruction_sets_scatter_the_same((a, b, few) in any::<(u64, u64, bool)>(), codes in any::<u128>()) {
            let occupied = if few { a & b } else { a };
            let expected = CodeBits::from_codes(occupied, codes);
            for (nth, square) in (0..64).filter(|square| occupied >> square & 1 == 1).enumerate() {
                let code = codes.checked_shr(4 * nth as u32).unwrap_or(0) & 15;
                let found = expected.bits.iter().rev().fold(0, |code, bit| code << 1 | bit >> square & 1);
                prop_assert_eq!(u128::from(found), code);
            }
            for &set in InstructionSet::supported() {
                prop_assert_eq!(&scatter_codes(occupied, codes, set), &expected, "{}", set.name());
            }
        }
    }
}

//! The codes of pieces moved between the order of squares and the board by the instructions that move
//! bits together and apart (BMI2). The safe twins are in [`CodeBits`].

use std::arch::x86_64::*;

use super::tables::CodeBits;

/// Lays out codes that are given in the order of squares.
#[target_feature(enable = "bmi1,bmi2,popcnt")]
pub(super) fn lay_out(occupied: u64, codes: u128) -> CodeBits {
    let [low, high] = [codes as u64, (codes >> 64) as u64];
    let squares = |bit: u32| {
        let ones = (u64::MAX / 15) << bit;
        _pdep_u64(_pext_u64(low, ones) | _pext_u64(high, ones) << 16, occupied)
    };
    CodeBits { occupied, bits: [squares(0), squares(1), squares(2), squares(3)] }
}

/// The codes of at most 32 pieces in the order of their squares.
#[target_feature(enable = "bmi1,bmi2,popcnt")]
pub(super) fn pick_up(board: &CodeBits) -> u128 {
    let [mut low, mut high] = [0; 2];
    for (bit, squares) in board.bits.into_iter().enumerate() {
        let ones = (u64::MAX / 15) << bit;
        let of_pieces = _pext_u64(squares, board.occupied);
        low |= _pdep_u64(of_pieces, ones);
        high |= _pdep_u64(of_pieces >> 16, ones);
    }
    u128::from(high) << 64 | u128::from(low)
}

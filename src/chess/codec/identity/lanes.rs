//! Reading and writing of an identity with vectors of 32 bytes. The parts without vectors are in
//! `read` and `write`.

use super::read::{Identity, identify_line, read_bytewise};
use super::write::{Beside, KingCounts, LETTERS, Specials, codes_end, plain};
use crate::codec::key::NUMBERS;
use crate::codec::packed::{BLACK_KING, CASTLING_ROOK, DOUBLE_STEP, KING_TO_MOVE, WHITE_KING};
use crate::model::Color;
use crate::text::fields::lanes::{self, Codes};
use crate::text::fields::room_behind;

#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,bmi1,bmi2,popcnt"))]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
pub(super) fn read(line: &[u8]) -> Option<Identity> {
    match &mut lanes::read(line, &NUMBERS.pieces) {
        Some(pieces) => identify_line(line, pieces),
        None => read_bytewise(line),
    }
}

/// Appends the text of a usual board. `None` for other boards, and for bytes that are not a packed
/// board.
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,bmi1,bmi2,popcnt"))]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
pub(super) fn write(board: &[u8], beside: &Beside, out: &mut Vec<u8>) -> Option<()> {
    let (occupied, count, codes) = plain(board)?;
    let pieces = Codes::new(codes);
    let specials = match classic(occupied, count, codes, pieces) {
        Some(specials) => specials,
        None => find_apart(occupied, count, codes)?,
    };
    let start = out.len();
    let room = room_behind(out)?;
    let len = lanes::write_pieces(occupied, pieces, &LETTERS[specials.turn as usize], room);
    let len = specials.write_behind(room, len, beside);
    out.truncate(start + len);
    Some(())
}

/// Calls [`Specials::find`]. This function is not inlined, because the call is rare and its code
/// would slow down the usual path.
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,bmi1,bmi2,popcnt"))]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
#[inline(never)]
fn find_apart(occupied: u64, count: u32, codes: u128) -> Option<Specials> {
    Specials::find(occupied, count, codes)
}

/// Finds the facts that the special codes (12 and above) give. `None` if a pawn just made a double step.
/// `None` if a king or a rook with a castling right is not on its usual square. Also `None` if the codes
/// do not describe a valid board.
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,bmi1,bmi2,popcnt"))]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
#[inline]
fn classic(occupied: u64, count: u32, codes: u128, pieces: Codes) -> Option<Specials> {
    // Places after the last piece do not belong to a square.
    let there = u64::MAX >> (64 - count);
    let places = |code: u8| u64::from(pieces.places(code)) & there;
    let [white, waiting, to_move] = [WHITE_KING, BLACK_KING, KING_TO_MOVE].map(places);
    let rooks = [places(CASTLING_ROOK), places(CASTLING_ROOK + 1)];
    let castling = classic_rights(occupied, [white, waiting | to_move], rooks)?;
    let turn = if to_move == 0 { Color::White } else { Color::Black };
    let [white, waiting, to_move] = [white, waiting, to_move].map(u64::count_ones);
    let is_board = places(DOUBLE_STEP) == 0
        && codes_end(codes, count)
        && KingCounts { white, waiting, to_move }.fit(castling);
    is_board.then_some(Specials { turn, castling })
}

/// Returns the set of castling rights, as in [`Specials`]. `kings` has a mask of White's kings, and then
/// one of Black's. `rooks` has the same for the rooks with a castling right. Bit *n* of a mask stands for
/// piece *n* in the order of squares, counted from 0. `None` if a rook in `rooks` or its king is not on
/// its usual square.
#[inline(always)]
fn classic_rights(occupied: u64, kings: [u64; 2], rooks: [u64; 2]) -> Option<u8> {
    // The place of the piece on a square, as one bit; 0 if the square is empty.
    let place = |square: u32| {
        let before = (occupied & ((1 << square) - 1)).count_ones();
        (occupied >> square & 1) << (before & 63)
    };
    let mut castling = 0;
    let mut is_classic = true;
    for (nth, [a, e, h]) in [[0, 4, 7], [56, 60, 63]].into_iter().enumerate() {
        let [a, e, h] = [a, e, h].map(place);
        let of_side = u8::from(rooks[nth] & h != 0) | u8::from(rooks[nth] & a != 0) << 1;
        castling |= of_side << (2 * nth);
        is_classic &= (rooks[nth] & !(a | h) == 0) & ((of_side == 0) | (kings[nth] & e != 0));
    }
    is_classic.then_some(castling)
}

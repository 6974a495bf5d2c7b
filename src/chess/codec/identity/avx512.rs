//! Reading and writing of an identity (a packed board with its key) with vectors of 64 bytes. If a
//! side does not have exactly one king, or if there is an en passant square, `identify` in `read`
//! does the work.

use std::arch::x86_64::*;

use super::back_ranks::{edges, with_rights};
use super::read::{HOMES, Identity, identify, read_bytewise};
use super::write::{Beside, KingCounts, LETTERS, write_anywhere};
use crate::codec::key::NUMBERS;
use crate::codec::packed::{
    BLACK_KING, BLACK_ROOK, CASTLING_ROOK, DOUBLE_STEP, KING_TO_MOVE, WHITE_KING, WHITE_ROOK,
    plain_len,
};
use crate::model::Color;
use crate::simd::InstructionSet;
use crate::text::fields::avx512::{self, PiecesInVectors};
use crate::text::fields::{CLASSIC, Pieces, UsualFields, read_usual, room_behind, write_behind};

/// The codes of kings and rooks on their usual squares.
static HOME_CODES: [u8; 64] = {
    let mut codes = [0; 64];
    [codes[0], codes[4], codes[7]] = [WHITE_ROOK, WHITE_KING, WHITE_ROOK];
    [codes[56], codes[60], codes[63]] = [BLACK_ROOK, BLACK_KING, BLACK_ROOK];
    codes
};

/// The squares of the kings in [`HOMES`].
const KINGS: u64 = 1 << 4 | 1 << 60;

/// Sum of two codes: a rook with a castling right, and a rook without one. The sum is the same for
/// both sides. So one code subtracted from the sum gives the other code.
const ROOKS: u8 = WHITE_ROOK + CASTLING_ROOK;
const _: () = assert!(ROOKS == BLACK_ROOK + CASTLING_ROOK + 1);

static HOME_LETTERS: [u8; 64] = {
    let mut letters = [0; 64];
    let mut at = 0;
    while at < 64 {
        letters[at] = LETTERS[0].of(HOME_CODES[at]);
        at += 1;
    }
    letters
};

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2")]
#[target_feature(enable = "bmi1,bmi2,popcnt")]
pub(super) fn read<const GATHERS: bool, const HAS_KEY: bool>(line: &[u8]) -> Option<Identity> {
    let numbers = if HAS_KEY { Some(&NUMBERS.pieces) } else { None };
    let Some(pieces) = avx512::read::<GATHERS>(line, numbers) else {
        return read_bytewise(line);
    };
    let fields = read_usual(line, pieces.len)?;
    let homes = HOMES[usize::from(fields.castling & 15)];
    let occupied = _mm_cvtsi128_si64(pieces.occupied) as u64;
    let board = _mm512_maskz_expand_epi8(occupied, _mm512_castsi256_si512(pieces.codes));
    let elsewhere = _mm512_mask_cmpneq_epi8_mask(homes, board, avx512::load(&HOME_CODES));
    let kings = [places(pieces.codes, WHITE_KING), places(pieces.codes, BLACK_KING)];
    // `&` and not `&&`, which would be three branches.
    let is_usual =
        (kings[0].count_ones() == 1) & (kings[1].count_ones() == 1) & fields.en_passant.is_none();
    if !is_usual {
        return identify_apart(pieces.packed(), fields);
    }
    let rooks = match elsewhere {
        0 => _pext_u64(homes & !KINGS, occupied) as u32,
        _ => outermost_rooks(&pieces, occupied, fields.castling, kings)?,
    };
    let to_move = if fields.turn == Color::Black { kings[1] } else { 0 };
    let codes = pieces.codes;
    let codes = _mm256_mask_sub_epi8(codes, rooks, _mm256_set1_epi8(ROOKS as i8), codes);
    let codes = _mm256_mask_mov_epi8(codes, to_move, _mm256_set1_epi8(KING_TO_MOVE as i8));
    Some(in_one_piece(&pieces, codes, fields))
}

/// Finds the rooks with castling rights if kings and rooks are not on their usual squares. `None`
/// if a castling right is impossible.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,bmi1,bmi2,popcnt")]
#[inline]
fn outermost_rooks(
    pieces: &PiecesInVectors,
    occupied: u64,
    castling: u8,
    kings: [u32; 2],
) -> Option<u32> {
    // The pieces are in the order of squares: White's back rank comes first, Black's last.
    let [rank_1, rank_8] = [occupied as u8, (occupied >> 56) as u8];
    let before_rank_8 = pieces.count - rank_8.count_ones();
    let on_rank_1 = _bzhi_u32(u32::MAX, rank_1.count_ones());
    let on_rank_8 = !_bzhi_u32(u32::MAX, before_rank_8);
    let white_rooks = places(pieces.codes, WHITE_ROOK) & on_rank_1;
    let black_rooks = places(pieces.codes, BLACK_ROOK) & on_rank_8;
    let white_edges = edges(rank_1, 1);
    let black_edges = edges(rank_8, 1) << before_rank_8;
    let white = with_rights(castling & 3, white_rooks, kings[0] & on_rank_1, white_edges)?;
    let black = with_rights(castling >> 2, black_rooks, kings[1] & on_rank_8, black_edges)?;
    Some(white | black)
}

/// The set of the pieces that have this code, one bit for each, in the order of the pieces.
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
#[inline]
fn places(codes: __m256i, code: u8) -> u32 {
    _mm256_cmpeq_epi8_mask(codes, _mm256_set1_epi8(code as i8))
}

/// Calls [`identify`]. This function is not inlined, because the call is rare and its code would
/// slow down the usual path.
#[target_feature(enable = "bmi1,bmi2,popcnt")]
#[inline(never)]
fn identify_apart(mut pieces: Pieces, fields: UsualFields) -> Option<Identity> {
    identify(&mut pieces, fields)
}

/// Makes the identity from few large parts, so that the processor can copy it without a stall.
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
#[inline]
fn in_one_piece(pieces: &PiecesInVectors, codes: __m256i, fields: UsualFields) -> Identity {
    let UsualFields { turn, castling, end, .. } = fields;
    let to_move = u64::from(turn == Color::White).wrapping_neg() & NUMBERS.white_to_move;
    let key = pieces.hash ^ NUMBERS.castling[usize::from(castling & 15)] ^ to_move;
    // Bytes 0 to 7 are the occupied squares, 8 to 23 the codes, 47 is the length of the board, 48 to 55 are the key,
    // and 56 to 63 the end. The instructions take their arguments from high to low.
    let codes = avx512::pack(codes);
    let occupied_and_first_codes = _mm_unpacklo_epi64(pieces.occupied, codes);
    let other_codes = _mm_bsrli_si128::<8>(codes);
    let low = _mm256_set_m128i(other_codes, occupied_and_first_codes);
    let len = (plain_len(pieces.count) as u64) << 56;
    let high = _mm256_set_epi64x(end as i64, key as i64, len as i64, 0);
    zerocopy::transmute!([avx512::bytes(low), avx512::bytes(high)])
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2")]
#[target_feature(enable = "bmi1,bmi2,popcnt")]
pub(super) fn write(
    instructions: InstructionSet,
    board: &[u8],
    beside: &Beside,
    out: &mut Vec<u8>,
) -> Option<()> {
    write_classic(board, beside, out).or_else(|| write_apart(instructions, board, beside, out))
}

/// Calls [`write_anywhere`]. This function is not inlined, because the call is rare and its code
/// would slow down the usual path.
#[target_feature(enable = "bmi1,bmi2,popcnt")]
#[inline(never)]
fn write_apart(
    instructions: InstructionSet,
    board: &[u8],
    beside: &Beside,
    out: &mut Vec<u8>,
) -> Option<()> {
    write_anywhere(instructions, board, beside, out)
}

/// Appends the text of a packed board. `None` if a pawn just made a double step. `None` if a king
/// or a rook with a castling right is not on its usual square. Also `None` if the codes are not
/// those of a board.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2")]
#[target_feature(enable = "bmi1,bmi2,popcnt")]
#[inline]
fn write_classic(board: &[u8], beside: &Beside, out: &mut Vec<u8>) -> Option<()> {
    let (occupied, codes) = board.split_first_chunk()?;
    let occupied = u64::from_le_bytes(*occupied);
    let count = occupied.count_ones() as usize;
    if count == 0 || count > 32 {
        return None;
    }
    let codes = avx512::apart(avx512::load_at_most_16(codes.get(..count.div_ceil(2))?));
    let white_rooks = _pdep_u64(places(codes, CASTLING_ROOK).into(), occupied);
    let black_rooks = _pdep_u64(places(codes, CASTLING_ROOK + 1).into(), occupied);
    let on_corners = _pext_u64(white_rooks | black_rooks, 0x81 << 56 | 0x81);
    // On a rank, the bit of the a-file's corner is below that of the h-file's corner. In a set of
    // rights it is above.
    let castling = ((on_corners >> 1 & 0b0101) | (on_corners << 1 & 0b1010)) as usize & 15;
    let letters = avx512::board_of(occupied, codes, &LETTERS[Color::White as usize]);
    let homes = HOMES[castling];
    let elsewhere = _mm512_mask_cmpneq_epi8_mask(homes, letters, avx512::load(&HOME_LETTERS))
        | (white_rooks & !0x81)
        | (black_rooks & !(0x81 << 56));
    // Places after the last piece do not belong to a square.
    let there = _bzhi_u32(u32::MAX, count as u32);
    let behind = _mm256_test_epi8_mask(codes, codes) & !there;
    let [white, waiting, to_move] = [WHITE_KING, BLACK_KING, KING_TO_MOVE]
        .map(|code| (places(codes, code) & there).count_ones());
    let is_board = behind == 0 && KingCounts { white, waiting, to_move }.fit(castling as u8);
    if elsewhere != 0 || places(codes, DOUBLE_STEP) & there != 0 || !is_board {
        return None;
    }
    let turn = if to_move == 0 { Color::White } else { Color::Black };
    let start = out.len();
    let room = room_behind(out)?;
    let Some(len) = avx512::write_board(letters, occupied, room) else {
        out.truncate(start);
        return None;
    };
    let len =
        write_behind(room, len, turn, &CLASSIC[castling], beside.target(turn), &beside.counters);
    out.truncate(start + len);
    Some(())
}

//! The placement field read and written in vectors of 64 bytes (AVX-512 with VBMI and VBMI2).
//!
//! `unsafe` stands here because a lookup from text spends most of its time in these loops:
//! `cargo bench --bench codec` shows what they gain. The safe twins are `read_bytewise` in `read`
//! and `pieces_bytewise` and `letters_bytewise` in `write`.
//!
//! Reading: each of the eight ranks gets a lane of eight bytes, the first rank lowest, so that the
//! order of squares is the order of bytes. In a lane the widths of the characters are summed up,
//! which gives the file of each piece. Writing: pieces and runs are put where they stand on the
//! board, and what is empty is squeezed out.

#![allow(unsafe_code)]

use std::arch::x86_64::*;

use super::tables::{
    DIGIT, FIRST_RUN, Letters, NO_PIECE, PLACES, PieceNumbers, Pieces, ROOM, hash_of_places, ranks,
    signs,
};

const PIECE: u8 = 0x40;
const RUN: u8 = 0x10;
const SOLIDUS: u8 = 0x20;
const OTHER: u8 = 0x80;
const VALUE: u8 = 0x0f;

/// What each ASCII character is: [`PIECE`] with its code, [`RUN`] with its length, [`SOLIDUS`] or
/// [`OTHER`].
static KINDS: [u8; 128] = {
    let signs = signs();
    let mut kinds = [OTHER; 128];
    let mut byte = 0;
    while byte < 128 {
        let sign = signs[byte];
        if sign.code != NO_PIECE {
            kinds[byte] = PIECE | sign.code;
        } else if sign.doubt == DIGIT {
            kinds[byte] = RUN | sign.squares;
        } else if sign.solidus != 0 {
            kinds[byte] = SOLIDUS;
        }
        byte += 1;
    }
    kinds
};

/// 0 to 63.
static IOTA: [u8; 64] = {
    let mut bytes = [0; 64];
    let mut at = 0;
    while at < 64 {
        bytes[at] = at as u8;
        at += 1;
    }
    bytes
};
/// Which rank of the text, counted from the eighth, belongs in a lane.
static RANKS_AS_READ: [u8; 64] = {
    let mut bytes = [0; 64];
    let mut at = 0;
    while at < 64 {
        bytes[at] = 7 - at as u8 / 8;
        at += 1;
    }
    bytes
};

/// Reads up to the first blank. `None` when the blank is not among the first 64 bytes, or when the
/// field is not a usual one.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2")]
#[target_feature(enable = "bmi1,bmi2,popcnt")]
pub(super) fn read<const GATHERS: bool>(line: &[u8], numbers: &PieceNumbers) -> Option<Pieces> {
    let text = load_at_most_64(line);
    let blanks = _mm512_cmpeq_epi8_mask(text, _mm512_set1_epi8(b' ' as i8));
    let len = blanks.trailing_zeros();
    if len == 64 {
        return None;
    }
    let field = (1u64 << len) - 1;

    let kinds =
        _mm512_permutex2var_epi8(load(KINDS.first_chunk()?), text, load(KINDS.last_chunk()?));
    let is = |kind: u8| _mm512_test_epi8_mask(kinds, _mm512_set1_epi8(kind as i8)) & field;
    let (runs, solidi) = (is(RUN), is(SOLIDUS));
    let others = _mm512_movepi8_mask(_mm512_or_si512(kinds, text)) & field;
    if others != 0 || runs & runs << 1 != 0 || solidi.count_ones() != 7 {
        return None;
    }

    // Where each rank ends and begins in the text, and its characters in a lane of their own.
    let ends = _mm512_maskz_compress_epi8(solidi | 1 << len, load(&IOTA));
    let ends = _mm512_castsi512_si128(ends);
    let behind_solidus = _mm_set_epi64x(0, 0x0101_0101_0101_0100);
    let starts = _mm_add_epi8(_mm_slli_si128::<1>(ends), behind_solidus);
    let in_lanes = |eight: __m128i| {
        _mm512_permutexvar_epi8(load(&RANKS_AS_READ), _mm512_castsi128_si512(eight))
    };
    let (starts, lens) = (in_lanes(starts), in_lanes(_mm_sub_epi8(ends, starts)));
    let places = _mm512_and_si512(load(&IOTA), _mm512_set1_epi8(7));
    let is_there = _mm512_cmplt_epu8_mask(places, lens);
    let kinds = _mm512_maskz_permutexvar_epi8(is_there, _mm512_add_epi8(starts, places), kinds);
    let pieces = _mm512_test_epi8_mask(kinds, _mm512_set1_epi8(PIECE as i8));
    let values = _mm512_and_si512(kinds, _mm512_set1_epi8(VALUE as i8));

    // Sums of the widths: behind the last character of each rank there must be eight.
    let one = _mm512_set1_epi8(1);
    let mut sums = _mm512_mask_mov_epi8(values, pieces, one);
    sums = _mm512_add_epi8(sums, _mm512_slli_epi64::<8>(sums));
    sums = _mm512_add_epi8(sums, _mm512_slli_epi64::<16>(sums));
    sums = _mm512_add_epi8(sums, _mm512_slli_epi64::<32>(sums));
    let full = _mm512_cmpeq_epi8_mask(sums, _mm512_set1_epi8(8));
    let too_long = _mm512_cmpgt_epu8_mask(lens, _mm512_set1_epi8(8));
    let last = 0x8080_8080_8080_8080;
    let count = pieces.count_ones();
    if full & last != last || too_long != 0 || count == 0 || count > 32 {
        return None;
    }

    let files = _mm512_sub_epi8(sums, one);
    let bits = _mm512_set1_epi64(i64::from_le_bytes([1, 2, 4, 8, 16, 32, 64, 128]));
    let bits = _mm512_maskz_shuffle_epi8(pieces, bits, files);
    // The bits of a lane differ, so their sum is their union.
    let occupied = _mm512_cvtepi64_epi8(_mm512_sad_epu8(bits, _mm512_setzero_si512()));
    let occupied = _mm_cvtsi128_si64(occupied) as u64;

    let codes = _mm512_castsi512_si256(_mm512_maskz_compress_epi8(pieces, values));
    let first_squares = _mm512_sub_epi8(load(&IOTA), places);
    let squares = _mm512_or_si512(files, first_squares);
    let squares = _mm512_castsi512_si256(_mm512_maskz_compress_epi8(pieces, squares));
    let pairs = _mm256_maddubs_epi16(codes, _mm256_set1_epi16(0x1001));
    let packed = _mm256_cvtepi16_epi8(pairs);
    let halves =
        [_mm_cvtsi128_si64(packed), _mm_extract_epi64::<1>(packed)].map(|half| half as u64);
    Some(Pieces {
        occupied,
        count,
        codes: u128::from(halves[1]) << 64 | u128::from(halves[0]),
        hash: hash::<GATHERS>(numbers, codes, squares, count),
        len: len as usize,
    })
}

/// For each set of occupied files the digits of the runs, each at the first file of its run.
static RUNS: [u64; 256] = {
    let ranks = ranks();
    let mut runs = [0; 256];
    let mut occupied = 0;
    while occupied < 256 {
        let rank = ranks[occupied];
        let mut digits = [0; 8];
        let (mut place, mut file) = (0, 0);
        while place < rank.len as usize {
            let sign = rank.by_file[place];
            if sign < FIRST_RUN {
                file += 1;
            } else {
                let run = sign - FIRST_RUN + 1;
                digits[file] = b'0' + run;
                file += run as usize;
            }
            place += 1;
        }
        runs[occupied] = u64::from_le_bytes(digits);
        occupied += 1;
    }
    runs
};

/// Four ranks of eight squares, each with a place behind it for the solidus, which is taken from a
/// second vector.
static FOUR_RANKS: [u8; 64] = {
    let mut places = [0; 64];
    let mut at = 0;
    while at < FOUR_RANKS_LEN {
        places[at] = if at % 9 == 8 { 64 } else { (at / 9 * 8 + at % 9) as u8 };
        at += 1;
    }
    places
};
const FOUR_RANKS_LEN: usize = 36;

/// Writes the placement of at most 32 pieces to the start of the text and gives its length.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2")]
#[target_feature(enable = "bmi1,bmi2,popcnt")]
pub(super) fn write_pieces(
    occupied: u64,
    codes: &[u8; 16],
    letters: &Letters,
    text: &mut [u8; ROOM],
) -> Option<usize> {
    let pairs = _mm256_cvtepu8_epi16(load_16(codes));
    let codes = _mm256_or_si256(pairs, _mm256_slli_epi16::<4>(pairs));
    let codes = _mm256_and_si256(codes, _mm256_set1_epi8(VALUE as i8));
    let pieces = _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(load_16(&letters.codes)), codes);
    let board = _mm512_maskz_expand_epi8(occupied, _mm512_castsi256_si512(pieces));
    write_board(board, occupied, text)
}

/// Writes the placement of letters by square, 0 where no piece stands, to the start of the text and
/// gives its length.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2")]
#[target_feature(enable = "bmi1,bmi2,popcnt")]
pub(super) fn write_letters(
    occupied: u64,
    letters: &[u8; 64],
    text: &mut [u8; ROOM],
) -> Option<usize> {
    write_board(load(letters), occupied, text)
}

/// Writes the placement of the codes of eight ranks, two a byte, to the start of the text and gives
/// its length.
#[cfg(feature = "archive")]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2")]
#[target_feature(enable = "bmi1,bmi2,popcnt")]
pub(super) fn write_ranks(
    occupied: u64,
    [low, high]: &[[u8; 16]; 2],
    letters: &Letters,
    text: &mut [u8; ROOM],
) -> Option<usize> {
    let pairs = _mm512_cvtepu8_epi16(_mm256_set_m128i(load_16(high), load_16(low)));
    let codes = _mm512_or_si512(pairs, _mm512_slli_epi16::<4>(pairs));
    let codes = _mm512_and_si512(codes, _mm512_set1_epi8(VALUE as i8));
    let board = _mm512_shuffle_epi8(_mm512_broadcast_i32x4(load_16(&letters.codes)), codes);
    write_board(board, occupied, text)
}

/// Writes the letters of a board, which stand on the occupied squares.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2")]
#[target_feature(enable = "bmi1,bmi2,popcnt")]
fn write_board(board: __m512i, occupied: u64, text: &mut [u8; ROOM]) -> Option<usize> {
    let eighth_rank_first = _mm512_set_epi64(0, 1, 2, 3, 4, 5, 6, 7);
    let board = _mm512_permutexvar_epi64(eighth_rank_first, board);
    let ranks = _mm_cvtsi64_si128(occupied.swap_bytes() as i64);
    let runs = gather(&RUNS, _mm_cvtepu8_epi16(ranks), 0xff);
    let signs = _mm512_or_si512(board, runs);

    let mut len = 0;
    for first in [0, 32] {
        let places = _mm512_add_epi8(load(&FOUR_RANKS), _mm512_set1_epi8(first));
        let solidus = _mm512_set1_epi8(b'/' as i8);
        let four = (1 << FOUR_RANKS_LEN) - 1;
        let ranks = _mm512_maskz_permutex2var_epi8(four, signs, places, solidus);
        let there = _mm512_test_epi8_mask(ranks, ranks);
        let ranks = _mm512_maskz_compress_epi8(there, ranks);
        store(text.get_mut(len..)?.first_chunk_mut()?, ranks);
        len += there.count_ones() as usize;
    }
    // Without the solidus behind the last rank.
    Some(len - 1)
}

/// The numbers of the first `count` pieces.
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
#[target_feature(enable = "bmi1,bmi2,popcnt")]
fn hash<const GATHERS: bool>(
    numbers: &PieceNumbers,
    codes: __m256i,
    squares: __m256i,
    count: u32,
) -> u64 {
    let squares = _mm512_slli_epi16::<4>(_mm512_cvtepu8_epi16(squares));
    let places = _mm512_or_si512(squares, _mm512_cvtepu8_epi16(codes));
    if !GATHERS {
        let mut stored = [0; PLACES];
        store_places(&mut stored, places);
        return hash_of_places(numbers, &stored, count);
    }
    let there = u32::MAX >> (32 - count.clamp(1, 32));
    let eight = |places: __m128i, there: u32| gather(numbers, places, there as u8);
    let keys = _mm512_xor_si512(
        _mm512_xor_si512(
            eight(_mm512_castsi512_si128(places), there),
            eight(_mm512_extracti32x4_epi32::<1>(places), there >> 8),
        ),
        _mm512_xor_si512(
            eight(_mm512_extracti32x4_epi32::<2>(places), there >> 16),
            eight(_mm512_extracti32x4_epi32::<3>(places), there >> 24),
        ),
    );
    let keys = _mm256_xor_si256(_mm512_castsi512_si256(keys), _mm512_extracti64x4_epi64::<1>(keys));
    let keys = _mm_xor_si128(_mm256_castsi256_si128(keys), _mm256_extracti128_si256::<1>(keys));
    (_mm_cvtsi128_si64(keys) ^ _mm_extract_epi64::<1>(keys)) as u64
}

#[target_feature(enable = "avx512f")]
fn store_places(room: &mut [u16; PLACES], places: __m512i) {
    // SAFETY: the array has room for the 64 bytes that are written; they need not be aligned.
    unsafe { _mm512_storeu_si512(room.as_mut_ptr().cast(), places) }
}

/// The numbers at those of eight places whose bit is set, zero at the others.
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
fn gather(numbers: &[u64], places: __m128i, there: u8) -> __m512i {
    let places = _mm512_cvtepu16_epi64(places);
    let len = _mm512_set1_epi64(numbers.len() as i64);
    let there = there & _mm512_cmplt_epu64_mask(places, len);
    let zero = _mm512_setzero_si512();
    // SAFETY: only the places whose bit is set are read, and each of those is below the length of
    // `numbers`.
    unsafe { _mm512_mask_i64gather_epi64::<8>(zero, there, places, numbers.as_ptr().cast()) }
}

/// The first 64 bytes of a slice, zero behind its end.
#[target_feature(enable = "avx512f,avx512bw")]
fn load_at_most_64(bytes: &[u8]) -> __m512i {
    let there = match bytes.len() {
        0 => 0,
        len => u64::MAX >> (64 - len.min(64)),
    };
    // SAFETY: bytes whose bit is not set are not read, and those whose bit is set are within the
    // slice.
    unsafe { _mm512_maskz_loadu_epi8(there, bytes.as_ptr().cast()) }
}

#[target_feature(enable = "avx512f")]
fn load(bytes: &[u8; 64]) -> __m512i {
    // SAFETY: the array has the 64 bytes that are read; they need not be aligned.
    unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
}

#[target_feature(enable = "sse2")]
fn load_16(bytes: &[u8; 16]) -> __m128i {
    // SAFETY: the array has the 16 bytes that are read; they need not be aligned.
    unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) }
}

#[target_feature(enable = "avx512f")]
fn store(bytes: &mut [u8; 64], vector: __m512i) {
    // SAFETY: the array has room for the 64 bytes that are written; they need not be aligned.
    unsafe { _mm512_storeu_si512(bytes.as_mut_ptr().cast(), vector) }
}

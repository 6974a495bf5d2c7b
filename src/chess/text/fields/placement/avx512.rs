//! Parser and writer of the placement field in vectors of 64 bytes (AVX-512 with VBMI and VBMI2).
//!
//! `unsafe` is used because a lookup from text spends most of its time in these loops; `cargo bench
//! --bench codec` shows the gain. Three safe functions do the same: `read_pieces` in `read`,
//! `pieces_bytewise` in `write`, and `letters_bytewise` in `write`.
//!
//! Reading: each of the eight ranks gets a lane of eight bytes, the first rank lowest, so bytes are
//! in the order of squares. Each character has a width in squares. The prefix sums of the widths in
//! a lane give the file of each piece. Only a few steps depend on each other up to the hash. The
//! checks of the form do not delay these steps. So the processor can work on several lines at the
//! same time.
//!
//! Writing: the letters of pieces, and the digits for empty squares, are put on a board of 64
//! bytes. Then a compress instruction removes the bytes without a letter or a digit.

#![allow(unsafe_code)]

use std::arch::x86_64::*;

use super::tables::{
    DIGIT, Letters, MAX_PIECES, NO_PIECE, PieceNumbers, Pieces, ROOM, hash_of_places, signs,
};

const VALUE: u8 = 0x0f;

/// The meaning of each ASCII character. The high four bits are the code of the piece plus 1, or 0;
/// the low four bits are the number of squares. A solidus and all other characters are 0.
static KINDS: [u8; 128] = {
    let signs = signs();
    let mut kinds = [0; 128];
    let mut byte = 0;
    while byte < 128 {
        let sign = signs[byte];
        if sign.code != NO_PIECE {
            kinds[byte] = (sign.code + 1) << 4 | 1;
        } else if sign.doubt == DIGIT {
            kinds[byte] = sign.squares;
        }
        byte += 1;
    }
    kinds
};

/// The numbers 0 to 63.
static IOTA: [u8; 64] = {
    let mut bytes = [0; 64];
    let mut at = 0;
    while at < 64 {
        bytes[at] = at as u8;
        at += 1;
    }
    bytes
};
/// The index of the rank end before each rank, in the order of the text. The indices fill the bytes
/// of the rank's lane. The eighth rank has no rank end before it.
static ENDS_BEFORE: [u8; 64] = {
    let mut bytes = [0; 64];
    let mut at = 0;
    while at < 64 {
        bytes[at] = (6 - at as i8 / 8) as u8 & 63;
        at += 1;
    }
    bytes
};
/// The number of each square's file, from 1.
static FILES: [u8; 64] = {
    let mut bytes = [0; 64];
    let mut at = 0;
    while at < 64 {
        bytes[at] = at as u8 % 8 + 1;
        at += 1;
    }
    bytes
};

/// The lowest bit of each square's rank number, moved to its bit in the low byte of a place. A
/// place is an index as in [`place`](super::tables::place).
static ODD_RANKS: [u8; 64] = {
    let mut bytes = [0; 64];
    let mut at = 0;
    while at < 64 {
        bytes[at] = (at as u8 / 8 % 2) << 7;
        at += 1;
    }
    bytes
};
/// The bits of each square's rank number except the lowest bit. They are the high byte of a place
/// (an index as in [`place`](super::tables::place)).
static PAIRS_OF_RANKS: [u8; 64] = {
    let mut bytes = [0; 64];
    let mut at = 0;
    while at < 64 {
        bytes[at] = at as u8 / 16;
        at += 1;
    }
    bytes
};

/// The pieces of a placement, as in [`Pieces`], but still in vectors.
pub(crate) struct PiecesInVectors {
    /// The occupied squares, in the lowest eight bytes.
    pub occupied: __m128i,
    pub(crate) count: u32,
    /// A byte with the code of each piece, in the order of squares; zero after the last piece.
    pub codes: __m256i,
    pub hash: u64,
    pub(crate) len: usize,
}

impl PiecesInVectors {
    #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
    #[inline]
    pub(crate) fn packed(&self) -> Pieces {
        let codes = pack(self.codes);
        let [low, high] = [_mm_cvtsi128_si64(codes), _mm_extract_epi64::<1>(codes)];
        Pieces {
            occupied: _mm_cvtsi128_si64(self.occupied) as u64,
            count: self.count,
            codes: u128::from(high as u64) << 64 | u128::from(low as u64),
            hash: self.hash,
            len: self.len,
        }
    }
}

/// Packs codes that take a byte each, so that a byte has two codes.
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
#[inline]
pub(crate) fn pack(codes: __m256i) -> __m128i {
    _mm256_cvtepi16_epi8(_mm256_maddubs_epi16(codes, _mm256_set1_epi16(0x1001)))
}

/// Reads the placement up to the first blank. Without `numbers`, no hash is computed. `None` if the
/// blank is not among the first 65 bytes, or if the field does not have the usual form. If the
/// field has 64 bytes, the caller must check that a blank follows.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2")]
#[target_feature(enable = "bmi1,bmi2,popcnt")]
#[inline]
pub(crate) fn read<const GATHERS: bool>(
    line: &[u8],
    numbers: Option<&PieceNumbers>,
) -> Option<PiecesInVectors> {
    let text = load_at_most_64(line);
    // A solidus or a blank ends a rank; no other character of a usual line is as low. Bytes after
    // the first blank do not count.
    let ends = _mm512_cmple_epu8_mask(text, splat(b'/'));
    let ends = _mm512_maskz_compress_epi8(ends, load(&IOTA));
    let before = _mm512_mask_permutexvar_epi8(splat(!0), !0 >> 8, load(&ENDS_BEFORE), ends);
    let low = load(KINDS.first_chunk()?);
    let high = load(KINDS.last_chunk()?);
    let kinds = _mm512_permutex2var_epi8(low, text, high);
    let kinds = _mm512_permutexvar_epi8(_mm512_add_epi8(before, load(&FILES)), kinds);
    let kinds = before_first_zero(kinds);
    let signs = _mm512_test_epi8_mask(kinds, kinds);
    let pieces = _mm512_cmpgt_epu8_mask(kinds, splat(VALUE));

    let sums = sums_in_lanes(_mm512_and_si512(kinds, splat(VALUE)));
    let files = _mm512_sub_epi8(sums, splat(1));
    // The code plus 1, as in places, so that 0 means no piece.
    let codes = _mm512_and_si512(_mm512_srli_epi16::<4>(kinds), splat(VALUE));
    let places = _mm512_or_si512(_mm512_slli_epi16::<4>(files), codes);
    let places = _mm512_or_si512(places, load(&ODD_RANKS));
    let low = _mm512_castsi512_si256(_mm512_maskz_compress_epi8(pieces, places));
    let high = _mm512_castsi512_si256(_mm512_maskz_compress_epi8(pieces, load(&PAIRS_OF_RANKS)));
    let hash = match numbers {
        Some(numbers) => hash::<GATHERS>(numbers, low, high),
        None => 0,
    };

    // Each rank must have eight squares, no adjacent digits, and no bytes other than pieces and
    // digits.
    let off = _mm512_cmpneq_epi64_mask(_mm512_srli_epi64::<56>(sums), _mm512_set1_epi64(8));
    let runs = signs & !pieces;
    let len = _mm512_cmpeq_epi8_mask(text, splat(b' ')).trailing_zeros();
    let solidi = _bzhi_u64(_mm512_cmpeq_epi8_mask(text, splat(b'/')), len).count_ones();
    let count = pieces.count_ones();
    let is_usual = (off == 0)
        & (runs & runs >> 1 & (u64::MAX / 255 * 0x7f) == 0)
        & (_bzhi_u64(_mm512_movepi8_mask(text), len) == 0)
        & (solidi == 7)
        & (signs.count_ones() + 7 == len)
        & (count.wrapping_sub(1) < MAX_PIECES);
    if !is_usual {
        return None;
    }

    let bits = _mm512_set1_epi64(i64::from_le_bytes([1, 2, 4, 8, 16, 32, 64, 128]));
    let bits = _mm512_maskz_shuffle_epi8(pieces, bits, files);
    // The bits of a lane are different, so their sum is their union.
    let occupied = _mm512_cvtepi64_epi8(_mm512_sad_epu8(bits, _mm512_setzero_si512()));
    let codes = _mm256_and_si256(low, _mm256_set1_epi8(VALUE as i8));
    let codes = _mm256_subs_epu8(codes, _mm256_set1_epi8(1));
    Some(PiecesInVectors { occupied, count, codes, hash, len: len as usize })
}

/// Does the same as [`read`], for tests.
#[cfg(test)]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2")]
#[target_feature(enable = "bmi1,bmi2,popcnt")]
pub(super) fn read_packed<const GATHERS: bool>(
    line: &[u8],
    numbers: &PieceNumbers,
) -> Option<Pieces> {
    let pieces = read::<GATHERS>(line, Some(numbers))?.packed();
    (line.get(pieces.len) == Some(&b' ')).then_some(pieces)
}

/// Keeps the bytes before the first zero byte of each lane; the other bytes become zero.
#[target_feature(enable = "avx512f")]
#[inline]
fn before_first_zero(lanes: __m512i) -> __m512i {
    // In `zero`, the byte of the first zero has only its highest bit set, and lower bytes are 0.
    // Higher bytes may be wrong, but they do not matter.
    let less = _mm512_sub_epi64(lanes, splat(1));
    let zero = _mm512_and_si512(_mm512_andnot_si512(lanes, less), splat(0x80));
    let below = _mm512_add_epi64(zero, splat(!0));
    _mm512_and_si512(_mm512_andnot_si512(zero, below), lanes)
}

/// Replaces each byte by the sum of it and all lower bytes of its lane.
#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
fn sums_in_lanes(lanes: __m512i) -> __m512i {
    let twos = _mm512_add_epi8(lanes, _mm512_slli_epi64::<8>(lanes));
    let fours = _mm512_add_epi8(twos, _mm512_slli_epi64::<16>(twos));
    _mm512_add_epi8(fours, _mm512_slli_epi64::<32>(fours))
}

#[target_feature(enable = "avx512f")]
#[inline]
fn splat(byte: u8) -> __m512i {
    _mm512_set1_epi8(byte as i8)
}

/// Writes the placement of at most 32 pieces to the start of the text. Returns its length; `None`
/// if the text is longer than a vector (64 bytes).
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2")]
#[target_feature(enable = "bmi1,bmi2,popcnt")]
pub(super) fn write_pieces(
    occupied: u64,
    codes: &[u8; 16],
    letters: &Letters,
    text: &mut [u8; ROOM],
) -> Option<usize> {
    write_board(board_of(occupied, apart(load_16(codes)), letters), occupied, text)
}

/// Unpacks bytes with two codes each into bytes with one code each.
#[target_feature(enable = "avx2")]
#[inline]
pub(crate) fn apart(pairs: __m128i) -> __m256i {
    let pairs = _mm256_cvtepu8_epi16(pairs);
    let codes = _mm256_or_si256(pairs, _mm256_slli_epi16::<4>(pairs));
    _mm256_and_si256(codes, _mm256_set1_epi8(VALUE as i8))
}

/// Puts the letters of codes on the occupied squares. The codes are in the order of squares.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2")]
#[inline]
pub(crate) fn board_of(occupied: u64, codes: __m256i, letters: &Letters) -> __m512i {
    let letters = _mm256_broadcastsi128_si256(load_16(&letters.codes));
    let pieces = _mm256_shuffle_epi8(letters, codes);
    _mm512_maskz_expand_epi8(occupied, _mm512_castsi256_si512(pieces))
}

/// Writes a placement, given by the letter on each square (0 if it is empty), to the start of the
/// text. Returns its length; `None` if the text is longer than a vector (64 bytes).
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2")]
#[target_feature(enable = "bmi1,bmi2,popcnt")]
pub(super) fn write_letters(
    occupied: u64,
    letters: &[u8; 64],
    text: &mut [u8; ROOM],
) -> Option<usize> {
    write_board(load(letters), occupied, text)
}

/// Writes the placement of eight ranks of codes to the start of the text. A byte of `ranks` has two
/// codes. Returns its length; `None` if the text is longer than a vector (64 bytes).
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

/// Writes the placement of a board that has letters on the occupied squares. Returns its length;
/// `None` if the text is longer than a vector (64 bytes).
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2")]
#[target_feature(enable = "bmi1,bmi2,popcnt")]
#[inline]
pub(crate) fn write_board(board: __m512i, occupied: u64, text: &mut [u8; ROOM]) -> Option<usize> {
    // A run of empty squares is written at its last square. Its length is the distance from the
    // last piece before it in its rank.
    let on_h = u64::MAX / 255 * 0x80;
    let written = occupied | occupied >> 1 | on_h;
    let files = load(&FILES);
    let last_pieces = maxima_in_lanes(_mm512_maskz_mov_epi8(occupied, files));
    let runs = _mm512_sub_epi8(_mm512_or_si512(files, splat(b'0')), last_pieces);
    let signs = _mm512_mask_mov_epi8(runs, occupied, board);
    let eighth_rank_first = _mm512_set_epi64(0, 1, 2, 3, 4, 5, 6, 7);
    let signs = _mm512_permutexvar_epi64(eighth_rank_first, signs);
    let signs = _mm512_maskz_compress_epi8(written.swap_bytes(), signs);
    let (solidi, len) = solidi(written.swap_bytes());
    store(text.first_chunk_mut()?, _mm512_mask_expand_epi8(splat(b'/'), !solidi, signs));
    (len <= 64).then_some(len as usize)
}

/// Returns the places of the solidi in the text, and its total length. `written` is the set of
/// squares that have a byte of text; the eighth rank comes first.
#[target_feature(enable = "bmi2,popcnt")]
#[inline]
fn solidi(written: u64) -> (u64, u32) {
    // Four ranks of nine bits; the ninth bit is for the solidus.
    const SOLIDI: u64 = 1 << 8 | 1 << 17 | 1 << 26 | 1 << 35;
    const SQUARES: u64 = (1 << 36) - 1 - SOLIDI;
    let [first, second] = [written & u64::from(u32::MAX), written >> 32]
        .map(|ranks| _pdep_u64(ranks, SQUARES) | SOLIDI);
    let len = first.count_ones();
    let solidi = _pext_u64(SOLIDI, first) | _pext_u64(SOLIDI, second).wrapping_shl(len);
    // The solidus after the last rank is left out.
    (solidi, len + second.count_ones() - 1)
}

/// Replaces each byte by the maximum of this byte and all lower bytes of its lane.
#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
fn maxima_in_lanes(lanes: __m512i) -> __m512i {
    let twos = _mm512_max_epu8(lanes, _mm512_slli_epi64::<8>(lanes));
    let fours = _mm512_max_epu8(twos, _mm512_slli_epi64::<16>(twos));
    _mm512_max_epu8(fours, _mm512_slli_epi64::<32>(fours))
}

/// Combines the numbers at the places by exclusive or. `low` and `high` are the low and the high
/// bytes of the places.
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
#[inline]
fn hash<const GATHERS: bool>(numbers: &PieceNumbers, low: __m256i, high: __m256i) -> u64 {
    let [even, odd] = [_mm256_unpacklo_epi8(low, high), _mm256_unpackhi_epi8(low, high)];
    let [a, b] = [_mm256_castsi256_si128(even), _mm256_extracti128_si256::<1>(even)];
    let [c, d] = [_mm256_castsi256_si128(odd), _mm256_extracti128_si256::<1>(odd)];
    if !GATHERS {
        return hash_of_places(numbers, [words(a), words(b), words(c), words(d)].as_flattened());
    }
    let [a, b] = [gather(numbers, a, !0), gather(numbers, b, !0)];
    let [c, d] = [gather(numbers, c, !0), gather(numbers, d, !0)];
    let keys = _mm512_xor_si512(_mm512_xor_si512(a, b), _mm512_xor_si512(c, d));
    let keys = _mm256_xor_si256(_mm512_castsi512_si256(keys), _mm512_extracti64x4_epi64::<1>(keys));
    let keys = _mm_xor_si128(_mm256_castsi256_si128(keys), _mm256_extracti128_si256::<1>(keys));
    (_mm_cvtsi128_si64(keys) ^ _mm_extract_epi64::<1>(keys)) as u64
}

#[target_feature(enable = "avx")]
#[inline]
pub(crate) fn bytes(vector: __m256i) -> [u8; 32] {
    let mut bytes = [0; 32];
    // SAFETY: the array has room for the 32 bytes that are written; they need not be aligned.
    unsafe { _mm256_storeu_si256(bytes.as_mut_ptr().cast(), vector) };
    bytes
}

#[target_feature(enable = "sse2")]
#[inline]
fn words(vector: __m128i) -> [u16; 8] {
    let mut words = [0; 8];
    // SAFETY: the array has room for the 16 bytes that are written; they need not be aligned.
    unsafe { _mm_storeu_si128(words.as_mut_ptr().cast(), vector) };
    words
}

/// Loads the numbers at eight places. If the bit of a place is not set in `there`, its number is
/// zero.
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
#[inline]
fn gather(numbers: &[u64], places: __m128i, there: u8) -> __m512i {
    let places = _mm512_cvtepu16_epi64(places);
    let len = _mm512_set1_epi64(numbers.len() as i64);
    let there = there & _mm512_cmplt_epu64_mask(places, len);
    let zero = _mm512_setzero_si512();
    // SAFETY: only places whose bit is set are read, and each of these places is below the length
    // of `numbers`.
    unsafe { _mm512_mask_i64gather_epi64::<8>(zero, there, places, numbers.as_ptr().cast()) }
}

/// Loads the first 64 bytes of a slice, with zeros after its end.
#[target_feature(enable = "avx512f,avx512bw,bmi2")]
#[inline]
fn load_at_most_64(bytes: &[u8]) -> __m512i {
    let there = _bzhi_u64(u64::MAX, bytes.len().min(64) as u32);
    // SAFETY: bytes whose bit is 0 are not read; bytes whose bit is 1 are within the slice.
    unsafe { _mm512_maskz_loadu_epi8(there, bytes.as_ptr().cast()) }
}

/// Loads the first 16 bytes of a slice, with zeros after its end.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,bmi2")]
#[inline]
pub(crate) fn load_at_most_16(bytes: &[u8]) -> __m128i {
    let there = _bzhi_u32(0xffff, bytes.len().min(16) as u32);
    // SAFETY: bytes whose bit is 0 are not read; bytes whose bit is 1 are within the slice.
    unsafe { _mm_maskz_loadu_epi8(there as u16, bytes.as_ptr().cast()) }
}

#[target_feature(enable = "avx512f")]
#[inline]
pub(crate) fn load(bytes: &[u8; 64]) -> __m512i {
    // SAFETY: the array has the 64 bytes that are read; they need not be aligned.
    unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
}

#[target_feature(enable = "sse2")]
#[inline]
fn load_16(bytes: &[u8; 16]) -> __m128i {
    // SAFETY: the array has the 16 bytes that are read; they need not be aligned.
    unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) }
}

#[target_feature(enable = "avx512f")]
#[inline]
fn store(bytes: &mut [u8; 64], vector: __m512i) {
    // SAFETY: the array has room for the 64 bytes that are written; they need not be aligned.
    unsafe { _mm512_storeu_si512(bytes.as_mut_ptr().cast(), vector) }
}

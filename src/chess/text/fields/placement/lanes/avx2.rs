//! The operations of [`lanes`](super) in AVX2.

#![allow(unsafe_code)]

use std::arch::x86_64::*;

use super::super::tables::PLACES;

pub(super) type Vector = __m256i;
pub(super) type Half = __m128i;

#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn from_words([a, b, c, d]: [u64; 4]) -> Vector {
    _mm256_set_epi64x(d as i64, c as i64, b as i64, a as i64)
}

#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn load(bytes: &[u8; 32]) -> Vector {
    // SAFETY: the array has the 32 bytes that are read; they need not be aligned.
    unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
}

#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn load_half(bytes: &[u8; 16]) -> Half {
    // SAFETY: the array has the 16 bytes that are read; they need not be aligned.
    unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) }
}

#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn half_of(low: u64, high: u64) -> Half {
    _mm_set_epi64x(high as i64, low as i64)
}

#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn low_word(half: Half) -> u64 {
    _mm_cvtsi128_si64(half) as u64
}

#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn bytes_of(half: Half) -> [u8; 16] {
    let mut bytes = [0; 16];
    // SAFETY: the array has room for the 16 bytes that are written; they need not be aligned.
    unsafe { _mm_storeu_si128(bytes.as_mut_ptr().cast(), half) };
    bytes
}

/// Writes the vector to the start of a buffer.
#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn store(room: &mut [u8; 40], bytes: Vector) {
    // SAFETY: the array has room for the 32 bytes that are written; they need not be aligned.
    unsafe { _mm256_storeu_si256(room.as_mut_ptr().cast(), bytes) }
}

/// Spreads the two nibbles of each byte over two bytes, the low nibble first.
#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn nibbles(pairs: Half) -> Vector {
    let pairs = _mm256_cvtepu8_epi16(pairs);
    let apart = _mm256_or_si256(pairs, _mm256_slli_epi16::<4>(pairs));
    _mm256_and_si256(apart, _mm256_set1_epi8(15))
}

#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn store_places(room: &mut [u16; 8], places: Half) {
    // SAFETY: the array has room for the 16 bytes that are written; they need not be aligned.
    unsafe { _mm_storeu_si128(room.as_mut_ptr().cast(), places) }
}

#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn splat(byte: u8) -> Vector {
    _mm256_set1_epi8(byte as i8)
}

#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn and(a: Vector, b: Vector) -> Vector {
    _mm256_and_si256(a, b)
}

#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn or(a: Vector, b: Vector) -> Vector {
    _mm256_or_si256(a, b)
}

#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn or_half(a: Half, b: Half) -> Half {
    _mm_or_si128(a, b)
}

#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn xor(a: Vector, b: Vector) -> Vector {
    _mm256_xor_si256(a, b)
}

#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn add(a: Vector, b: Vector) -> Vector {
    _mm256_add_epi8(a, b)
}

#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn sub(a: Vector, b: Vector) -> Vector {
    _mm256_sub_epi8(a, b)
}

/// Sets all bits of each byte that is equal in `a` and `b`; the other bytes are 0.
#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn equal(a: Vector, b: Vector) -> Vector {
    _mm256_cmpeq_epi8(a, b)
}

/// Compares `a` and `b` byte by byte: 0xff where the byte of `a` is at most that of `b`, 0
/// elsewhere.
#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn at_most(a: Vector, b: Vector) -> Vector {
    _mm256_cmpeq_epi8(_mm256_min_epu8(a, b), a)
}

/// Sets, in each lane, all bits below the lowest bit that is set in `a`; the other bits are 0.
#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn below_lowest(a: Vector) -> Vector {
    _mm256_andnot_si256(a, _mm256_add_epi64(a, _mm256_set1_epi64x(-1)))
}

#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn high_nibbles(a: Vector) -> Vector {
    _mm256_and_si256(_mm256_srli_epi16::<4>(a), _mm256_set1_epi8(15))
}

/// Multiplies each byte, which is at most 15, by 16.
#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn times_16(a: Vector) -> Vector {
    _mm256_slli_epi16::<4>(a)
}

/// Returns 1 for each byte with the bit of lower-case letters, and 0 for the others.
#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn case_bit(a: Vector) -> Vector {
    _mm256_srli_epi16::<5>(_mm256_and_si256(a, _mm256_set1_epi8(0x20)))
}

/// Looks up each byte in a table; indexes are at most 15.
#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn lookup(table: &[u8; 16], places: Vector) -> Vector {
    _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(load_half(table)), places)
}

/// Looks up each byte in a table; the index `0x80` gives zero.
#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn lookup_half(table: Half, places: Half) -> Half {
    _mm_shuffle_epi8(table, places)
}

/// Moves each byte up by one place within its lane.
#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn above(a: Vector) -> Vector {
    _mm256_slli_epi64::<8>(a)
}

/// Adds to each byte the byte two places lower in its lane.
#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn add_2(a: Vector) -> Vector {
    _mm256_add_epi8(a, _mm256_slli_epi64::<16>(a))
}

/// Adds to each byte the byte four places lower in its lane.
#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn add_4(a: Vector) -> Vector {
    _mm256_add_epi8(a, _mm256_slli_epi64::<32>(a))
}

/// Collects the highest bit of each byte. The bit of the first byte is the lowest.
#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn mask(a: Vector) -> u32 {
    _mm256_movemask_epi8(a) as u32
}

/// Sums the bytes of each of the eight lanes. Returns the sums, at most 255 each, with that of the
/// first lane in the lowest byte.
#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn sums_of_lanes(low: Vector, high: Vector) -> u64 {
    let zero = _mm256_setzero_si256();
    let low = _mm256_sad_epu8(low, zero);
    let high = _mm256_sad_epu8(high, zero);
    let pairs = _mm256_or_si256(low, _mm256_slli_epi64::<32>(high));
    let in_place = _mm256_sllv_epi64(pairs, _mm256_set_epi64x(24, 16, 8, 0));
    let [low, high] = [_mm256_castsi256_si128(in_place), _mm256_extracti128_si256::<1>(in_place)];
    let two = _mm_or_si128(low, high);
    (_mm_cvtsi128_si64(two) | _mm_extract_epi64::<1>(two)) as u64
}

/// Widens the bytes of each lane to 16 bits. The high bytes are `first` for the lower two lanes and
/// `second` for the upper two.
#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn with_high_bytes(low: Vector, [first, second]: [u8; 2]) -> [Half; 4] {
    let high = _mm256_set_m128i(_mm_set1_epi8(second as i8), _mm_set1_epi8(first as i8));
    let even = _mm256_unpacklo_epi8(low, high);
    let odd = _mm256_unpackhi_epi8(low, high);
    [
        _mm256_castsi256_si128(even),
        _mm256_castsi256_si128(odd),
        _mm256_extracti128_si256::<1>(even),
        _mm256_extracti128_si256::<1>(odd),
    ]
}

/// Packs the codes of the first 32 places, the first in the lowest bits.
#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn codes_of(places: &[u16; PLACES]) -> u128 {
    // SAFETY: the array has the 64 bytes that are read, 32 from each start; they need not be
    // aligned.
    let (low, high) = unsafe {
        let start = places.as_ptr().cast::<__m256i>();
        (_mm256_loadu_si256(start), _mm256_loadu_si256(start.add(1)))
    };
    let words = _mm256_packus_epi32(pairs_of_codes(low), pairs_of_codes(high));
    let bytes = _mm256_packus_epi16(words, words);
    // Each half of the vector has four bytes for the first sixteen places, then four for the last
    // sixteen.
    let in_order = _mm256_setr_epi32(0, 4, 1, 5, 0, 0, 0, 0);
    let codes = _mm256_castsi256_si128(_mm256_permutevar8x32_epi32(bytes, in_order));
    let [low, high] = [_mm_cvtsi128_si64(codes), _mm_extract_epi64::<1>(codes)];
    u128::from(high as u64) << 64 | u128::from(low as u64)
}

/// Packs the codes of two neighbouring places into one byte. The two places take four bytes; the
/// result is in the lowest of them.
#[target_feature(enable = "avx2")]
#[inline]
fn pairs_of_codes(places: Vector) -> Vector {
    let codes = _mm256_and_si256(places, _mm256_set1_epi16(15));
    let codes = _mm256_subs_epu8(codes, _mm256_set1_epi16(1));
    _mm256_madd_epi16(codes, _mm256_set1_epi32(0x0010_0001))
}

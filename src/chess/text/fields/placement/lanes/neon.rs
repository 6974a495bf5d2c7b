//! The operations of [`lanes`](super) in NEON, which every 64-bit ARM processor has. Each operation
//! works on two halves.

#![allow(unsafe_code)]

use std::arch::aarch64::*;

use super::super::tables::PLACES;

#[derive(Copy, Clone)]
pub(super) struct Vector(Half, Half);
pub(super) type Half = uint8x16_t;

impl Vector {
    #[inline]
    fn map(self, f: impl Fn(Half) -> Half) -> Vector {
        Vector(f(self.0), f(self.1))
    }

    #[inline]
    fn with(self, other: Vector, f: impl Fn(Half, Half) -> Half) -> Vector {
        Vector(f(self.0, other.0), f(self.1, other.1))
    }
}

#[target_feature(enable = "neon")]
#[inline]
pub(super) fn from_words([a, b, c, d]: [u64; 4]) -> Vector {
    Vector(half_of(a, b), half_of(c, d))
}

#[target_feature(enable = "neon")]
#[inline]
pub(super) fn load(bytes: &[u8; 32]) -> Vector {
    // SAFETY: the array has the 32 bytes that are read, 16 from each start; they need not be
    // aligned.
    unsafe { Vector(vld1q_u8(bytes.as_ptr()), vld1q_u8(bytes.as_ptr().add(16))) }
}

#[target_feature(enable = "neon")]
#[inline]
pub(super) fn load_half(bytes: &[u8; 16]) -> Half {
    // SAFETY: the array has the 16 bytes that are read; they need not be aligned.
    unsafe { vld1q_u8(bytes.as_ptr()) }
}

#[target_feature(enable = "neon")]
#[inline]
pub(super) fn half_of(low: u64, high: u64) -> Half {
    vcombine_u8(vcreate_u8(low), vcreate_u8(high))
}

#[target_feature(enable = "neon")]
#[inline]
pub(super) fn low_word(half: Half) -> u64 {
    vgetq_lane_u64::<0>(vreinterpretq_u64_u8(half))
}

#[target_feature(enable = "neon")]
#[inline]
pub(super) fn bytes_of(half: Half) -> [u8; 16] {
    let mut bytes = [0; 16];
    // SAFETY: the array has room for the 16 bytes that are written.
    unsafe { vst1q_u8(bytes.as_mut_ptr(), half) };
    bytes
}

/// Writes the vector to the start of a buffer.
#[target_feature(enable = "neon")]
#[inline]
pub(super) fn store(room: &mut [u8; 40], Vector(low, high): Vector) {
    // SAFETY: the array has room for the 32 bytes that are written, 16 from each start.
    unsafe {
        vst1q_u8(room.as_mut_ptr(), low);
        vst1q_u8(room.as_mut_ptr().add(16), high);
    }
}

/// Spreads the two nibbles of each byte over two bytes, the low nibble first.
#[target_feature(enable = "neon")]
#[inline]
pub(super) fn nibbles(pairs: Half) -> Vector {
    let low = vandq_u8(pairs, vdupq_n_u8(15));
    let high = vshrq_n_u8::<4>(pairs);
    Vector(vzip1q_u8(low, high), vzip2q_u8(low, high))
}

#[target_feature(enable = "neon")]
#[inline]
pub(super) fn store_places(room: &mut [u16; 8], places: Half) {
    // SAFETY: the array has room for the 16 bytes that are written.
    unsafe { vst1q_u16(room.as_mut_ptr(), vreinterpretq_u16_u8(places)) }
}

#[target_feature(enable = "neon")]
#[inline]
pub(super) fn splat(byte: u8) -> Vector {
    Vector(vdupq_n_u8(byte), vdupq_n_u8(byte))
}

#[target_feature(enable = "neon")]
#[inline]
pub(super) fn and(a: Vector, b: Vector) -> Vector {
    a.with(b, |a, b| vandq_u8(a, b))
}

#[target_feature(enable = "neon")]
#[inline]
pub(super) fn or(a: Vector, b: Vector) -> Vector {
    a.with(b, |a, b| vorrq_u8(a, b))
}

#[target_feature(enable = "neon")]
#[inline]
pub(super) fn or_half(a: Half, b: Half) -> Half {
    vorrq_u8(a, b)
}

#[target_feature(enable = "neon")]
#[inline]
pub(super) fn xor(a: Vector, b: Vector) -> Vector {
    a.with(b, |a, b| veorq_u8(a, b))
}

#[target_feature(enable = "neon")]
#[inline]
pub(super) fn add(a: Vector, b: Vector) -> Vector {
    a.with(b, |a, b| vaddq_u8(a, b))
}

#[target_feature(enable = "neon")]
#[inline]
pub(super) fn sub(a: Vector, b: Vector) -> Vector {
    a.with(b, |a, b| vsubq_u8(a, b))
}

/// Sets all bits of each byte that is equal in `a` and `b`; the other bytes are 0.
#[target_feature(enable = "neon")]
#[inline]
pub(super) fn equal(a: Vector, b: Vector) -> Vector {
    a.with(b, |a, b| vceqq_u8(a, b))
}

/// Compares `a` and `b` byte by byte: 0xff where the byte of `a` is at most that of `b`, 0
/// elsewhere.
#[target_feature(enable = "neon")]
#[inline]
pub(super) fn at_most(a: Vector, b: Vector) -> Vector {
    a.with(b, |a, b| vcleq_u8(a, b))
}

/// Sets, in each lane, all bits below the lowest bit that is set in `a`; the other bits are 0.
#[target_feature(enable = "neon")]
#[inline]
pub(super) fn below_lowest(a: Vector) -> Vector {
    a.map(|a| {
        let one_less = vsubq_u64(vreinterpretq_u64_u8(a), vdupq_n_u64(1));
        vbicq_u8(vreinterpretq_u8_u64(one_less), a)
    })
}

#[target_feature(enable = "neon")]
#[inline]
pub(super) fn high_nibbles(a: Vector) -> Vector {
    a.map(|a| vshrq_n_u8::<4>(a))
}

/// Multiplies each byte, which is at most 15, by 16.
#[target_feature(enable = "neon")]
#[inline]
pub(super) fn times_16(a: Vector) -> Vector {
    a.map(|a| vshlq_n_u8::<4>(a))
}

/// Returns 1 for each byte with the bit of lower-case letters, and 0 for the others.
#[target_feature(enable = "neon")]
#[inline]
pub(super) fn case_bit(a: Vector) -> Vector {
    a.map(|a| vandq_u8(vshrq_n_u8::<5>(a), vdupq_n_u8(1)))
}

/// Looks up each byte in a table; indexes are at most 15.
#[target_feature(enable = "neon")]
#[inline]
pub(super) fn lookup(table: &[u8; 16], places: Vector) -> Vector {
    let table = load_half(table);
    places.map(|places| vqtbl1q_u8(table, places))
}

/// Looks up each byte in a table; the index `0x80` gives zero.
#[target_feature(enable = "neon")]
#[inline]
pub(super) fn lookup_half(table: Half, places: Half) -> Half {
    vqtbl1q_u8(table, places)
}

/// Moves each byte up by one place within its lane.
#[target_feature(enable = "neon")]
#[inline]
pub(super) fn above(a: Vector) -> Vector {
    a.map(|a| vreinterpretq_u8_u64(vshlq_n_u64::<8>(vreinterpretq_u64_u8(a))))
}

/// Adds to each byte the byte two places lower in its lane.
#[target_feature(enable = "neon")]
#[inline]
pub(super) fn add_2(a: Vector) -> Vector {
    let lower = a.map(|a| vreinterpretq_u8_u64(vshlq_n_u64::<16>(vreinterpretq_u64_u8(a))));
    add(a, lower)
}

/// Adds to each byte the byte four places lower in its lane.
#[target_feature(enable = "neon")]
#[inline]
pub(super) fn add_4(a: Vector) -> Vector {
    let lower = a.map(|a| vreinterpretq_u8_u64(vshlq_n_u64::<32>(vreinterpretq_u64_u8(a))));
    add(a, lower)
}

/// Collects the highest bit of each byte. The bit of the first byte is the lowest. All bits of a
/// byte must be the same.
#[target_feature(enable = "neon")]
#[inline]
pub(super) fn mask(a: Vector) -> u32 {
    let bits = load_half(&[1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128]);
    let eights = vpaddq_u8(vandq_u8(a.0, bits), vandq_u8(a.1, bits));
    let fours = vpaddq_u8(eights, eights);
    let sums = vpaddq_u8(fours, fours);
    vgetq_lane_u32::<0>(vreinterpretq_u32_u8(sums))
}

/// Sums the bytes of each of the eight lanes. Returns the sums, at most 255 each, with that of the
/// first lane in the lowest byte.
#[target_feature(enable = "neon")]
#[inline]
pub(super) fn sums_of_lanes(low: Vector, high: Vector) -> u64 {
    let quarters = vpaddq_u8(vpaddq_u8(low.0, low.1), vpaddq_u8(high.0, high.1));
    let sums = vpaddq_u8(quarters, quarters);
    vgetq_lane_u64::<0>(vreinterpretq_u64_u8(sums))
}

/// Widens the bytes of each lane to 16 bits. The high bytes are `first` for the lower two lanes and
/// `second` for the upper two.
#[target_feature(enable = "neon")]
#[inline]
pub(super) fn with_high_bytes(low: Vector, [first, second]: [u8; 2]) -> [Half; 4] {
    let first = vdupq_n_u8(first);
    let second = vdupq_n_u8(second);
    [
        vzip1q_u8(low.0, first),
        vzip2q_u8(low.0, first),
        vzip1q_u8(low.1, second),
        vzip2q_u8(low.1, second),
    ]
}

/// Packs the codes of the first 32 places, the first in the lowest bits.
#[target_feature(enable = "neon")]
#[inline]
pub(super) fn codes_of(places: &[u16; PLACES]) -> u128 {
    // SAFETY: the array has the 64 bytes that are read, 16 from each start.
    let eights = unsafe {
        let at = |at| vreinterpretq_u8_u16(vld1q_u16(places.as_ptr().add(at)));
        [at(0), at(8), at(16), at(24)]
    };
    // The low four bits of a place are its code plus 1; those of an unused place are 0, and stay 0.
    let codes = |low, high| {
        let codes_plus_1 = vandq_u8(vuzp1q_u8(low, high), vdupq_n_u8(15));
        vqsubq_u8(codes_plus_1, vdupq_n_u8(1))
    };
    // Packs two neighbouring codes into a byte, the first in its low four bits.
    let packed = |codes| {
        let pairs = vreinterpretq_u16_u8(codes);
        vmovn_u16(vorrq_u16(pairs, vshrq_n_u16::<4>(pairs)))
    };
    let [low, high] = [codes(eights[0], eights[1]), codes(eights[2], eights[3])].map(packed);
    let [low, high] = [low, high].map(|half| vget_lane_u64::<0>(vreinterpret_u64_u8(half)));
    u128::from(high) << 64 | u128::from(low)
}

//! Looking for a byte in sixteen at once.
//!
//! `unsafe` stands here because compilers find the instructions for it only when they are named:
//! without them, to look up many positions that are not there takes a sixth longer.

#![allow(unsafe_code)]

/// Bit n is 1 where byte n is this one: no jump that has to be guessed.
#[inline]
pub(crate) fn equal_bytes(bytes: u128, byte: u8) -> u32 {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_mm_cmpeq_epi8, _mm_movemask_epi8, _mm_set_epi64x, _mm_set1_epi8};
        // SAFETY: every x86-64 processor has the instructions, and they touch no memory.
        unsafe {
            let bytes = _mm_set_epi64x((bytes >> 64) as i64, bytes as i64);
            _mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(byte as i8))) as u32
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        in_words(bytes, byte)
    }
}

/// The same without vectors.
#[cfg(any(test, not(target_arch = "x86_64")))]
fn in_words(bytes: u128, byte: u8) -> u32 {
    const LOW_BITS: u128 = u128::MAX / 255 * 0x7f;
    /// Brings the highest bits of eight bytes together.
    const TOGETHER: u64 = 0x0002_0408_1020_4081;
    let differ = bytes ^ (u128::MAX / 255 * u128::from(byte));
    let equal = !(((differ & LOW_BITS) + LOW_BITS) | differ | LOW_BITS);
    let together = |word: u64| (word >> 7).wrapping_mul(TOGETHER << 7) >> 56;
    (together(equal as u64) | together((equal >> 64) as u64) << 8) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_bytes_are_found() {
        let bytes = [0, 1, 0x80, 0x7f, 0x81, 0, 255, 1, 0, 254, 0, 1, 0x80, 0, 255, 0x7f];
        for byte in 0..=255 {
            let expected =
                (0..).zip(bytes).map(|(nth, own)| u32::from(own == byte) << nth).sum::<u32>();
            assert_eq!(equal_bytes(u128::from_le_bytes(bytes), byte), expected, "{byte}");
            assert_eq!(in_words(u128::from_le_bytes(bytes), byte), expected, "{byte}");
        }
    }

    #[test]
    fn each_byte_has_its_bit() {
        for set in 0..1 << 16 {
            let bytes: [u8; 16] = std::array::from_fn(|nth| 6 + (set >> nth & 1) as u8);
            assert_eq!(equal_bytes(u128::from_le_bytes(bytes), 7), set);
            assert_eq!(in_words(u128::from_le_bytes(bytes), 7), set);
        }
    }
}

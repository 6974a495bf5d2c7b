//! Checksums that cover the bytes and their place.

use zerocopy::IntoBytes;
use zerocopy::little_endian::U64;

use super::crc_words::crc_words;

/// True if a checksum matches; always true while fuzzing, to reach the code after the check.
#[inline]
pub(in crate::archive) fn holds(found: u32, expected: u32) -> bool {
    cfg!(fuzzing) || found == expected
}

/// The place of a part: its number within the structure with this identity. Checksums begin with
/// it, so that sound bytes in another place, or from another archive, are refused.
#[inline]
pub(in crate::archive) fn place(identity: u32, number: u64) -> U64 {
    number.wrapping_add(u64::from(identity) << 32).into()
}

/// CRC32C of a place and the bytes that belong there.
#[inline]
pub(in crate::archive) fn placed(identity: u32, number: u64, bytes: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(place(identity, number).as_bytes()), bytes)
}

/// Appends the checksum of bytes in a place.
pub(in crate::archive) fn append_placed(identity: u32, number: u64, bytes: &mut Vec<u8>) {
    let check = placed(identity, number, bytes);
    bytes.extend_from_slice(&check.to_le_bytes());
}

/// Removes the checksum at the end of bytes; `None` if it does not match in this place.
#[inline]
pub(in crate::archive) fn strip_placed(identity: u32, number: u64, bytes: &[u8]) -> Option<&[u8]> {
    let (bytes, check) = bytes.split_last_chunk()?;
    holds(placed(identity, number, bytes), u32::from_le_bytes(*check)).then_some(bytes)
}

/// [`placed`] for a fixed number of words.
#[inline(always)]
pub(in crate::archive) fn placed_words<const WORDS: usize>(
    identity: u32,
    number: u64,
    words: [U64; WORDS],
) -> u32 {
    crc_words(place(identity, number).get(), &words.map(|word| word.get()))
}

/// Tests of the checksums of fixed structures.
#[cfg(test)]
pub(in crate::archive) mod worth {
    use zerocopy::{FromBytes, IntoBytes};

    /// Every change of one byte is detected. CRCs are linear, so this does not depend on the other
    /// bytes.
    pub(in crate::archive) fn assert_every_byte_counts<T>(right: T, is_whole: impl Fn(&T) -> bool)
    where
        T: Copy + FromBytes + IntoBytes,
    {
        assert!(is_whole(&right));
        for place in 0..size_of::<T>() {
            for change in 1..=255 {
                let mut changed = right;
                changed.as_mut_bytes()[place] ^= change;
                assert!(!is_whole(&changed), "byte {place} by {change}");
            }
        }
    }

    /// A structure made for identity 7 and number 0 is refused with another identity, and with any
    /// number that differs in the lowest twenty bits. CRCs are linear, so this does not depend on the
    /// bytes.
    pub(in crate::archive) fn assert_place_counts(is_whole: impl Fn(u32, u64) -> bool) {
        assert!(is_whole(7, 0));
        for number in 1..1 << 20 {
            assert!(!is_whole(7, number), "{number}");
        }
        for identity in [6, 8, 1 << 31] {
            assert!(!is_whole(identity, 0));
        }
    }
}

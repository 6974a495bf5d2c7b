//! Checks of what is read.

use zerocopy::IntoBytes;
use zerocopy::little_endian::U64;

use super::crc_words::crc_words;

/// Whether the check of some bytes is the one that stands beside them. Fuzzing goes on in any
/// case, to reach what lies behind.
#[inline]
pub(in crate::archive) fn holds(found: u32, expected: u32) -> bool {
    cfg!(fuzzing) || found == expected
}

/// Where something belongs: its number, in what has this identity. Right bytes in another place, or
/// from another archive, do not pass a check that begins with it.
#[inline]
pub(in crate::archive) fn place(identity: u32, number: u64) -> U64 {
    number.wrapping_add(u64::from(identity) << 32).into()
}

/// The CRC32C of a place and the bytes that belong there.
#[inline]
pub(in crate::archive) fn placed(identity: u32, number: u64, bytes: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(place(identity, number).as_bytes()), bytes)
}

/// Appends to some bytes their check in a place.
pub(in crate::archive) fn append_placed(identity: u32, number: u64, bytes: &mut Vec<u8>) {
    let check = placed(identity, number, bytes);
    bytes.extend_from_slice(&check.to_le_bytes());
}

/// Bytes without the check behind them; `None` where it is not theirs in this place.
#[inline]
pub(in crate::archive) fn strip_placed(identity: u32, number: u64, bytes: &[u8]) -> Option<&[u8]> {
    let (bytes, check) = bytes.split_last_chunk()?;
    holds(placed(identity, number, bytes), u32::from_le_bytes(*check)).then_some(bytes)
}

/// The same as [`placed`] for the bytes of a fixed number of words.
#[inline(always)]
pub(in crate::archive) fn placed_words<const WORDS: usize>(
    identity: u32,
    number: u64,
    words: [U64; WORDS],
) -> u32 {
    crc_words(place(identity, number).get(), &words.map(|word| word.get()))
}

/// What the checks of fixed structures are worth.
#[cfg(test)]
pub(in crate::archive) mod worth {
    use zerocopy::{FromBytes, IntoBytes};

    /// Every change of one byte is seen. CRCs are linear: a change shows or not whatever the other
    /// bytes are.
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

    /// What was made for identity 7 and number 0 passes with no other identity, and with no number
    /// that differs in the lowest twenty bits. Whatever the bytes are: what a check makes of two
    /// numbers differs by what it makes of the bits in which they differ.
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

//! Checksums that cover the bytes and their place.

use zerocopy::IntoBytes;
use zerocopy::little_endian::U64;

#[cfg(target_arch = "x86_64")]
use epdb_chess::simd::Sse42;

/// True if a checksum matches; always true while fuzzing, to reach the code after the check.
#[inline]
pub(crate) fn holds(found: u32, expected: u32) -> bool {
    cfg!(fuzzing) || found == expected
}

/// Returns the place of a part: its number, and the identity of the segment or file that has the
/// part. Checksums begin with the place, so that sound bytes in another place, or from another
/// archive, are refused.
#[inline]
pub(crate) fn place(identity: u32, number: u64) -> U64 {
    number.wrapping_add(u64::from(identity) << 32).into()
}

/// CRC32C of a place and the bytes that belong there.
#[inline]
pub(crate) fn placed(identity: u32, number: u64, bytes: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(place(identity, number).as_bytes()), bytes)
}

/// Appends the checksum of a place and `bytes` to `bytes`.
pub(crate) fn append_placed(identity: u32, number: u64, bytes: &mut Vec<u8>) {
    let check = placed(identity, number, bytes);
    bytes.extend_from_slice(&check.to_le_bytes());
}

/// Removes the checksum at the end. `None` if it is wrong for these bytes in this place.
#[inline]
pub(crate) fn strip_placed(identity: u32, number: u64, bytes: &[u8]) -> Option<&[u8]> {
    let (bytes, check) = bytes.split_last_chunk()?;
    holds(placed(identity, number, bytes), u32::from_le_bytes(*check)).then_some(bytes)
}

/// Does the same as [`placed`], for a fixed number of words.
#[inline(always)]
pub(crate) fn placed_words<const WORDS: usize>(
    identity: u32,
    number: u64,
    words: [U64; WORDS],
) -> u32 {
    crc_words(place(identity, number).get(), &words.map(|word| word.get()))
}

/// Tests of the checksums of fixed structures.
#[cfg(test)]
pub(crate) mod worth {
    use zerocopy::{FromBytes, IntoBytes};

    /// Asserts that every change of one byte is detected. CRCs are linear, so the result does not
    /// depend on the other bytes.
    pub(crate) fn assert_every_byte_counts<T>(right: T, is_whole: impl Fn(&T) -> bool)
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

    /// Asserts that a structure made for identity 7 and number 0 is refused with another identity.
    /// Also asserts that it is refused with any number that differs only in the lowest twenty bits.
    /// CRCs are linear, so this does not depend on the bytes.
    pub(crate) fn assert_place_counts(is_whole: impl Fn(u32, u64) -> bool) {
        assert!(is_whole(7, 0));
        for number in 1..1 << 20 {
            assert!(!is_whole(7, number), "{number}");
        }
        for identity in [6, 8, 1 << 31] {
            assert!(!is_whole(identity, 0));
        }
    }
}

/// CRC32C of `first` and then `words`, each with its lowest byte first.
// `unsafe` is used because the `crc32c` crate first looks for alignment and for long runs. Its
// function takes 220 instructions for nine words; this one takes 30.
#[inline(always)]
#[allow(unsafe_code)]
fn crc_words<const WORDS: usize>(first: u64, words: &[u64; WORDS]) -> u32 {
    #[cfg(target_arch = "x86_64")]
    if Sse42::detect().is_some() {
        // SAFETY: a value of `Sse42` is made only where the instruction is detected.
        return unsafe { crc_words_by_instruction(first, words) };
    }
    crc_words_by_bytes(first, words)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "sse4.2")]
fn crc_words_by_instruction<const WORDS: usize>(first: u64, words: &[u64; WORDS]) -> u32 {
    let step = |crc, &word: &u64| std::arch::x86_64::_mm_crc32_u64(crc, word);
    !(words.iter().fold(step(u32::MAX.into(), &first), step) as u32)
}

/// Portable version of [`crc_words`].
fn crc_words_by_bytes<const WORDS: usize>(first: u64, words: &[u64; WORDS]) -> u32 {
    let crc = crc32c::crc32c(&first.to_le_bytes());
    crc32c::crc32c_append(crc, words.map(u64::to_le).as_bytes())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn both_ways_give_one_checksum(first: u64, words: [u64; 8]) {
            prop_assert_eq!(crc_words(first, &words), crc_words_by_bytes(first, &words));
            let few = [words[0], words[5]];
            prop_assert_eq!(crc_words(first, &few), crc_words_by_bytes(first, &few));
        }
    }

    #[test]
    fn the_checksum_is_that_of_castagnoli() {
        let bytes = *b"123456789abcdef0";
        let [first, second] =
            [0, 8].map(|at| bytes[at..].first_chunk().map_or(0, |word| u64::from_le_bytes(*word)));
        assert_eq!(crc_words(first, &[second]), crc32c::crc32c(&bytes));
    }
}

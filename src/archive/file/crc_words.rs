//! The CRC32C of a few words, which a lookup at level fast computes twice.
//!
//! `unsafe` is used because the `crc32c` crate first looks for alignment and for long runs. For nine
//! words that takes 220 instructions; the words themselves take 30.

#![allow(unsafe_code)]

use zerocopy::IntoBytes;

#[cfg(target_arch = "x86_64")]
use crate::simd::Sse42;

/// CRC32C of the bytes of a word and further words, the lowest byte of each first.
#[inline(always)]
pub(super) fn crc_words<const WORDS: usize>(first: u64, words: &[u64; WORDS]) -> u32 {
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

/// The portable version.
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

//! Numbers in bytes, and the word for bytes that are not what they should be.

use std::ops::Range;

/// Bytes of a checksum, and of an offset in the directory.
pub(super) const WORD: usize = 4;

/// What is wrong with bytes that should be a block or a bucket.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(in crate::store) struct Damage(pub(in crate::store) &'static str);

/// Whether bytes hold what was written.
pub(super) type Result<T> = std::result::Result<T, Damage>;

/// Where a slice lies in the one that it was cut from; nowhere, if it is empty.
pub(in crate::store) fn range_in(whole: &[u8], part: &[u8]) -> Range<usize> {
    let start = part.first().and_then(|first| whole.element_offset(first)).unwrap_or_default();
    start..start + part.len()
}

/// A little-endian word; 0 where the bytes end, which callers have excluded.
pub(super) fn word(bytes: &[u8], at: usize) -> u32 {
    let word = bytes.get(at..).and_then(|rest| rest.first_chunk());
    word.copied().map_or(0, u32::from_le_bytes)
}

pub(super) fn put_word(bytes: &mut [u8], at: usize, value: u32) {
    bytes[at..at + WORD].copy_from_slice(&value.to_le_bytes());
}

/// A little-endian number of at most eight bytes.
pub(super) fn read_number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte))
}

/// A count in groups of seven bits, the lowest first, all but the last with the high bit.
pub(super) fn write_count(mut count: u32, out: &mut Vec<u8>) {
    while count >= 0x80 {
        out.push(count as u8 | 0x80);
        count >>= 7;
    }
    out.push(count as u8);
}

pub(super) fn read_count(bytes: &[u8]) -> Result<(usize, &[u8])> {
    let mut count = 0;
    for (place, &byte) in bytes.iter().enumerate().take(5) {
        count |= usize::from(byte & 0x7f) << (7 * place);
        if byte < 0x80 {
            return match count {
                _ if place > 0 && byte == 0 => Err(Damage("a count has a needless byte")),
                _ => Ok((count, &bytes[place + 1..])),
            };
        }
    }
    Err(Damage("a count does not end"))
}

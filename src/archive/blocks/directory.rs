//! The block directory of a segment. It has an offset for each group of blocks, and the length of
//! each block as a number of one to four bytes.
// An offset for each block would take eight bytes. A length with a shared offset takes one or two
// bytes and little more. A lookup adds at most 31 lengths, which lie in one or two cache lines.

use crate::error::ArchiveError;

/// Number of blocks of a group.
const GROUP: usize = 32;
/// Size in bytes of a group's offset.
const PLACE: usize = 8;
const PART: &str = "block directory";

/// Returns the bytes of the directory of blocks with these lengths.
pub(super) fn write(lens: &[u32]) -> Vec<u8> {
    let longest = lens.iter().copied().max().unwrap_or(0);
    let width = (4 - longest.leading_zeros() as usize / 8).max(1);
    let mut out = vec![width as u8];
    let mut place = 0u64;
    for group in lens.chunks(GROUP) {
        out.extend_from_slice(&place.to_le_bytes());
        for &len in group {
            out.extend_from_slice(&len.to_le_bytes()[..width]);
            place += u64::from(len);
        }
    }
    out
}

/// True if the directory of `blocks` blocks can have the length `len`.
pub(super) fn fits(len: u64, blocks: u32) -> bool {
    (1..=4).any(|width| len == self::len(width, blocks.into()))
}

/// The length of a directory whose lengths of blocks have `width` bytes.
const fn len(width: u64, blocks: u64) -> u64 {
    1 + blocks.div_ceil(GROUP as u64) * PLACE as u64 + width * blocks
}

/// Checks that the blocks follow each other and take `bytes` bytes in all.
pub(super) fn check(directory: &[u8], blocks: u32, bytes: usize) -> Result<(), ArchiveError> {
    let mut end = 0;
    for block in 0..blocks {
        let (place, len) = find(directory, block)?;
        if place != end {
            return Err(ArchiveError::corrupt_at(PART, block.into()));
        }
        end = place.saturating_add(len);
    }
    let width = directory.first().map_or(0, |&width| u64::from(width));
    let is_whole = directory.len() as u64 == len(width, blocks.into());
    if end == bytes && is_whole { Ok(()) } else { Err(ArchiveError::corrupt(PART)) }
}

/// Returns offset and length of a block.
pub(super) fn find(directory: &[u8], block: u32) -> Result<(usize, usize), ArchiveError> {
    let corrupt = ArchiveError::corrupt_at(PART, block.into());
    let Some((&width, groups)) = directory.split_first() else { return Err(corrupt) };
    let width = usize::from(width);
    if !(1..=4).contains(&width) {
        return Err(corrupt);
    }
    let start = block as usize / GROUP * (PLACE + GROUP * width);
    let nth = block as usize % GROUP;
    let group = groups.get(start..).unwrap_or_default();
    let Some((place, lens)) = group.split_first_chunk::<PLACE>() else { return Err(corrupt) };
    let mut place = u64::from_le_bytes(*place);
    let mut lens = lens.chunks_exact(width).map(|len| {
        let mut bytes = [0; 4];
        bytes[..width].copy_from_slice(len);
        u64::from(u32::from_le_bytes(bytes))
    });
    for _ in 0..nth {
        let Some(len) = lens.next() else { return Err(corrupt) };
        place = place.saturating_add(len);
    }
    match (usize::try_from(place), lens.next()) {
        (Ok(place), Some(len)) => Ok((place, len as usize)),
        _ => Err(corrupt),
    }
}

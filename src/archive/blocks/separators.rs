//! Separators of a segment with sorted rows. Each index block (a group of consecutive records) has
//! a separator. A separator is not below the last board of the previous index block. It is not
//! above the first board of its own index block. The separators are in groups. After the groups come
//! a separator above all boards of the segment, and the first separator of each group. In this module, blocks are
//! index blocks.
// Sorted rows need no index by key: a binary search over the separators finds the block. To tell
// the two boards apart, the first columns are enough, and of the last of these columns the first
// bytes. A separator has nothing else.

use std::ops::Range;

use zerocopy::IntoBytes;
use zerocopy::little_endian::U32;

use super::bits::{BitReader, BitWriter};
use crate::columns::{EN_PASSANT, Row, STATE};
use crate::error::ArchiveError;
use crate::file::check;

/// Number of columns by which rows are sorted.
const KEY_COLUMNS: usize = EN_PASSANT - STATE;
/// Key by which rows are sorted: side to move, castling rights and pieces.
pub(super) type BoardKey = [u32; KEY_COLUMNS];

/// Number of columns of the separator at the end of a segment.
const END_COLUMNS: usize = 2;
/// Number of separators of a group.
const GROUP: usize = 64;
/// Size in bytes of the end of a group.
const END: usize = 4;
const PART: &str = "separators";

/// Key by which a row is sorted.
pub(super) fn board_key(row: &Row) -> BoardKey {
    let mut key = BoardKey::default();
    key.copy_from_slice(&row.0[STATE..EN_PASSANT]);
    key
}

/// A separator. It has the first columns of a board; all other columns are 0. In its last column,
/// the lowest bytes may be 0 too.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
struct Separator {
    /// Number of columns that the separator has.
    columns: usize,
    key: BoardKey,
}

impl Separator {
    /// Returns the shortest separator from `before`, the last board of the previous block, to
    /// `first`, the first board of this block, both included.
    fn between(before: &BoardKey, first: &BoardKey) -> Separator {
        let common = before.iter().zip(first).take_while(|(a, b)| a == b).count();
        let mut key = *first;
        let Some(&lower) = before.get(common) else {
            return Separator { columns: KEY_COLUMNS, key };
        };
        key[common + 1..].fill(0);
        let masks = [0xff00_0000, 0xffff_0000, 0xffff_ff00, u32::MAX];
        let shortened =
            masks.map(|mask| key[common] & mask).into_iter().find(|&value| value > lower);
        key[common] = shortened.unwrap_or(key[common]);
        Separator { columns: common + 1, key }
    }

    /// Returns a short separator above the last board of a segment.
    fn above(last: &BoardKey) -> Separator {
        let mut key = BoardKey::default();
        key[..END_COLUMNS].copy_from_slice(&last[..END_COLUMNS]);
        // The codes of pieces leave room in each column.
        key[END_COLUMNS - 1] += 1;
        Separator { columns: END_COLUMNS, key }
    }

    /// Number of leading columns that two separators have in common.
    fn shared(&self, other: &Separator) -> usize {
        let pairs = self.key[..self.columns].iter().zip(&other.key);
        pairs.take_while(|(a, b)| a == b).count()
    }

    fn put(&self, shared: usize, bits: &mut BitWriter) {
        bits.put(shared as u64, 4);
        bits.put((self.columns - shared) as u64, 4);
        let Some((&last, whole)) = self.key[shared..self.columns].split_last() else { return };
        whole.iter().for_each(|&value| bits.put(value.into(), 32));
        let bytes = (4 - last.trailing_zeros() / 8).max(1);
        bits.put(u64::from(bytes) - 1, 2);
        bits.put(u64::from(last) >> (32 - 8 * bytes), 8 * bytes);
    }

    /// Takes the separator that follows `before`.
    fn take(before: &BoardKey, bits: &mut BitReader) -> Option<BoardKey> {
        let shared = bits.take(4)? as usize;
        let end = shared + bits.take(4)? as usize;
        let mut key = *before;
        let rest = key.get_mut(shared..)?;
        rest.fill(0);
        let Some((last, whole)) = rest.get_mut(..end - shared)?.split_last_mut() else {
            return Some(key);
        };
        for value in whole {
            *value = bits.take(32)? as u32;
        }
        let bytes = bits.take(2)? as u32 + 1;
        *last = (bits.take(8 * bytes)? << (32 - 8 * bytes)) as u32;
        Some(key)
    }
}

/// Returns the bytes of the separators of blocks. Each block is given by its first and last board.
pub(super) fn write(blocks: impl Iterator<Item = (BoardKey, BoardKey)>, identity: u32) -> Vec<u8> {
    let mut separators = Vec::new();
    let mut before = BoardKey::default();
    for (first, last) in blocks {
        separators.push(Separator::between(&before, &first));
        before = last;
    }
    let mut out = Vec::new();
    let mut ends = Vec::new();
    for (number, group) in (0..).zip(separators.chunks(GROUP)) {
        let mut bytes = coded(group.iter().skip(1), group.first());
        check::append_placed(identity, number, &mut bytes);
        out.append(&mut bytes);
        ends.push(U32::from(out.len() as u32));
    }
    let mut top = coded(
        [&Separator::above(&before)].into_iter().chain(separators.iter().step_by(GROUP)),
        None,
    );
    check::append_placed(identity, ends.len() as u64, &mut top);
    out.append(&mut top);
    out.extend_from_slice(ends.as_bytes());
    out
}

/// The bits of separators, which follow a separator that is known.
fn coded<'a>(
    separators: impl Iterator<Item = &'a Separator>,
    mut before: Option<&'a Separator>,
) -> Vec<u8> {
    let mut bits = BitWriter::default();
    for separator in separators {
        separator.put(before.map_or(0, |before| separator.shared(before)), &mut bits);
        before = Some(separator);
    }
    bits.finish()
}

/// Reader of the separators of a segment.
pub(super) struct Separators<'a> {
    bytes: &'a [u8],
    blocks: u64,
    identity: u32,
}

impl<'a> Separators<'a> {
    /// Makes a reader of the separators of `blocks` blocks, at least one.
    pub(super) const fn new(bytes: &'a [u8], blocks: u64, identity: u32) -> Separators<'a> {
        Separators { bytes, blocks, identity }
    }

    const fn groups(&self) -> u64 {
        self.blocks.div_ceil(GROUP as u64)
    }

    /// Reads the separators of all blocks, and the one above the last board.
    pub(super) fn all(&self) -> Result<(Vec<BoardKey>, BoardKey), ArchiveError> {
        let (end, firsts) = self.top()?;
        let groups = (0..).zip(firsts).map(|(number, first)| self.group(number, first?));
        let separators = groups.collect::<Result<Vec<_>, ArchiveError>>()?.concat();
        Ok((separators, end))
    }

    /// Reads the separator above all boards, and prepares to read the first of each group, after checking the
    /// checksum.
    fn top(&self) -> Result<(BoardKey, FirstSeparators<'a>), ArchiveError> {
        let corrupt = || ArchiveError::corrupt(PART);
        let mut bits = self.open(self.groups()).ok_or_else(corrupt)?;
        let end = Separator::take(&BoardKey::default(), &mut bits).ok_or_else(corrupt)?;
        Ok((end, FirstSeparators { bits, before: end, left: self.groups() }))
    }

    /// Reads the separators of a group, of which the first is known, after checking the checksum.
    fn group(&self, number: u64, first: BoardKey) -> Result<Vec<BoardKey>, ArchiveError> {
        let keys = self.open(number).and_then(|mut bits| {
            let len = (self.blocks - number * GROUP as u64).min(GROUP as u64);
            let mut keys = vec![first];
            for _ in 1..len {
                keys.push(Separator::take(keys.last()?, &mut bits)?);
            }
            bits.is_at_end().then_some(keys)
        });
        keys.ok_or(ArchiveError::corrupt_at(PART, number))
    }

    /// Opens a group, or what follows the last one.
    fn open(&self, number: u64) -> Option<BitReader<'a>> {
        let parts = self.bytes.len().checked_sub((self.groups() as usize).checked_mul(END)?)?;
        let (parts, ends) = self.bytes.split_at(parts);
        let end = |number: u64| {
            let end = ends.get(number as usize * END..)?.first_chunk()?;
            Some(u32::from_le_bytes(*end) as usize)
        };
        let start = number.checked_sub(1).map_or(Some(0), end)?;
        let end = if number == self.groups() { parts.len() } else { end(number)? };
        check::strip_placed(self.identity, number, parts.get(start..end)?).map(BitReader::new)
    }

    pub(super) fn search(self) -> Result<SeparatorSearch<'a>, ArchiveError> {
        let (end, unread) = self.top()?;
        Ok(SeparatorSearch { separators: self, end, firsts: Vec::new(), unread, group: None })
    }
}

/// The first separators of the groups, which are read one after the other.
struct FirstSeparators<'a> {
    bits: BitReader<'a>,
    before: BoardKey,
    /// Number of separators that were not read yet.
    left: u64,
}

impl Iterator for FirstSeparators<'_> {
    type Item = Result<BoardKey, ArchiveError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let taken = Separator::take(&self.before, &mut self.bits);
        self.before = taken.unwrap_or_default();
        Some(match taken {
            Some(key) if self.left > 0 || self.bits.is_at_end() => Ok(key),
            _ => Err(ArchiveError::corrupt(PART)),
        })
    }
}

/// A search for boards. If they ascend, each group is read once.
pub(super) struct SeparatorSearch<'a> {
    separators: Separators<'a>,
    /// The separator above all boards.
    end: BoardKey,
    /// The first separators of the groups, as far as they were read.
    firsts: Vec<BoardKey>,
    unread: FirstSeparators<'a>,
    /// The group that was read last, and its number.
    group: Option<(usize, Vec<BoardKey>)>,
}

impl SeparatorSearch<'_> {
    /// Finds the blocks that may have a board.
    pub(super) fn find(&mut self, key: &BoardKey) -> Result<Range<u64>, ArchiveError> {
        if *key >= self.end {
            return Ok(0..0);
        }
        while self.firsts.last().is_none_or(|first| first <= key)
            && let Some(first) = self.unread.next()
        {
            self.firsts.push(first?);
        }
        let start = self.count(|separator| separator < key)?;
        Ok(start.saturating_sub(1)..self.count(|separator| separator <= key)?)
    }

    /// Number of separators for which a condition holds: those before all others.
    fn count(&mut self, holds: impl Fn(&BoardKey) -> bool) -> Result<u64, ArchiveError> {
        let Some(number) = self.firsts.partition_point(&holds).checked_sub(1) else { return Ok(0) };
        let group = match self.group.take().filter(|(last, _)| *last == number) {
            Some((_, group)) => group,
            None => self.separators.group(number as u64, self.firsts[number])?,
        };
        let found = number * GROUP + group.partition_point(holds);
        self.group = Some((number, group));
        Ok(found as u64)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    /// Sorted boards, some of them in many blocks.
    fn boards() -> Vec<BoardKey> {
        let mut boards: Vec<BoardKey> = (0..3000u32)
            .map(|number| {
                let mut key = BoardKey::default();
                let mixed = number.wrapping_mul(0x9e37_79b9);
                key[usize::from(number % 5 == 0)] = mixed >> 28;
                key[3] = mixed & 0x00f0_0fff;
                key[8] = if number % 3 == 0 { number } else { 0 };
                key
            })
            .chain([[7; KEY_COLUMNS]; 40])
            .chain([[0; KEY_COLUMNS]; 9])
            .collect();
        boards.sort_unstable();
        boards
    }

    fn written(boards: &[BoardKey], block: usize) -> Vec<u8> {
        write(boards.chunks(block).map(|block| (block[0], block[block.len() - 1])), 7)
    }

    #[test]
    fn blocks_with_a_board_are_found() {
        let boards = boards();
        for block in [1, 3, 8, 4000] {
            let bytes = written(&boards, block);
            let blocks = boards.len().div_ceil(block) as u64;
            let separators = Separators::new(&bytes, blocks, 7);
            let (all, end) = separators.all().unwrap();
            assert!(all.len() as u64 == blocks && end > boards[boards.len() - 1]);
            let mut separators = separators.search().unwrap();
            for (place, board) in boards.iter().enumerate() {
                let found = separators.find(board).unwrap();
                assert!(found.contains(&((place / block) as u64)), "{place} in {block}: {found:?}");
                let first = boards.partition_point(|other| other < board) / block;
                let last = (boards.partition_point(|other| other <= board) - 1) / block;
                assert!(found.end - found.start <= (last - first) as u64 + 2);
            }
            let absent = separators.find(&[u32::MAX; KEY_COLUMNS]).unwrap();
            assert_eq!(absent, 0..0);
        }
    }

    #[test]
    fn each_changed_byte_is_seen_by_whoever_reads_it() {
        let boards = boards();
        let bytes = written(&boards, 3);
        let blocks = boards.len().div_ceil(3) as u64;
        let find = |bytes: &[u8], board| {
            Separators::new(bytes, blocks, 7).search().and_then(|mut search| search.find(board))
        };
        for place in (0..bytes.len()).step_by(3) {
            let mut changed = bytes.clone();
            changed[place] ^= 0x10;
            for board in boards.iter().step_by(611) {
                let found = find(&changed, board);
                let expected = find(&bytes, board).unwrap();
                assert!(found.map_or(true, |found| found == expected), "{place}");
            }
            assert!(find(&bytes[..place], &boards[0]).is_err());
        }
        assert!(Separators::new(&bytes, blocks, 8).search().is_err());
    }
}

//! The position index, which leads from position keys to index blocks. An index block is a group of
//! consecutive records; see [`super::BlockSegment`].
//!
//! Only the high bits of a key are stored: one bit more than are needed to number all entries.
//! Their highest bits choose a bucket. In a bucket, the remaining bits of the keys ascend and are
//! coded as differences. After each key come the numbers of its blocks, which ascend too. The
//! result of a lookup is a list of blocks to search. It is possible that a block of the list does
//! not have the position.
// Why this way: blocks must be decoded anyway to compare positions. So full keys would only save
// the decoding of a block for the few cut keys that collide. With cut keys and Rice codes an entry
// takes little more than the number of its block. An index of records instead of blocks would need
// the number of a record, about seven bits more.

use std::io::{self, Write};
use std::ops::Range;

use zerocopy::little_endian::U32;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::bits::{BitReader, BitWriter};
use super::part_entries::PartEntries;
use crate::error::ArchiveError;
use crate::file::check;
use crate::file::ranges::ArchiveBytes;
use crate::file::sections::Section;
use crate::file::sink::Sink;
use crate::index_entries::IndexEntries;

/// Approximate number of entries in a bucket.
const BUCKET: u64 = 256;
/// Number of additional bits of a stored key, after the bits that are needed to number the entries.
const SPARE_BITS: u32 = 1;

const PART: &str = "position index";

/// The last bytes of the index.
#[derive(Copy, Clone, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Tail {
    /// Number of bits of a key that choose the bucket.
    bucket_bits: u8,
    /// Number of bits of a key that are stored in the bucket.
    rest_bits: u8,
    /// Rice parameter of the differences of keys: number of low bits that are written as they are.
    plain_bits: u8,
    /// Width in bytes of the end of a bucket in the directory: four, or eight if necessary.
    end_bytes: u8,
    /// Number of index blocks.
    blocks: U32,
    check: U32,
}

impl Tail {
    /// The value of the field `check`: CRC32C of the fields before it, as if they stood in a further bucket after
    /// the last one.
    fn check(&self, identity: u32) -> u32 {
        let after_last_bucket = 1u64.checked_shl(self.bucket_bits.into()).unwrap_or(0);
        let bytes = self.as_bytes();
        let before_check = &bytes[..bytes.len() - size_of::<U32>()];
        check::placed(identity, after_last_bucket, before_check)
    }
}

/// Writes the index of these entries. Numbers of index blocks are below `blocks`.
pub(crate) fn write_index<W: Write>(
    entries: PartEntries,
    blocks: u32,
    identity: u32,
    out: &mut Sink<W>,
) -> Result<(), ArchiveError> {
    write_entries(entries.finish(|key| key)?, blocks, identity, out)
}

fn write_entries<W: Write>(
    sorter: IndexEntries,
    blocks: u32,
    identity: u32,
    out: &mut Sink<W>,
) -> Result<(), ArchiveError> {
    let entries = sorter.len().max(1);
    let bucket_bits = (entries / BUCKET).max(1).ilog2();
    let key_bits = entries.ilog2() + 1 + SPARE_BITS;
    let mut tail = Tail {
        bucket_bits: bucket_bits as u8,
        rest_bits: (key_bits - bucket_bits) as u8,
        plain_bits: SPARE_BITS as u8,
        end_bytes: 4,
        blocks: blocks.into(),
        check: 0.into(),
    };
    let start = out.offset();
    let mut ends: Vec<u64> = Vec::new();
    let mut bucket = Bucket::default();
    let mut close = |bucket: &mut Bucket, out: &mut Sink<W>| -> io::Result<()> {
        out.put(&std::mem::take(bucket).finish(&tail, identity, ends.len() as u64))?;
        ends.push(out.offset() - start);
        Ok(())
    };
    let mut number = 0;
    sorter.finish::<ArchiveError>(|(key, block)| {
        let cut = key >> (64 - key_bits);
        while number < cut >> tail.rest_bits {
            close(&mut bucket, out)?;
            number += 1;
        }
        bucket.push(cut & mask(tail.rest_bits.into()), block, &tail);
        Ok(())
    })?;
    while number < 1 << bucket_bits {
        close(&mut bucket, out)?;
        number += 1;
    }
    if out.offset() - start > u32::MAX.into() {
        tail.end_bytes = 8;
    }
    for end in ends {
        out.put(&end.to_le_bytes()[..tail.end_bytes.into()])?;
    }
    tail.check = tail.check(identity).into();
    out.put(tail.as_bytes())?;
    Ok(())
}

const fn mask(bits: u32) -> u64 {
    if bits < 64 { (1 << bits) - 1 } else { u64::MAX }
}

/// A bucket that is being written.
#[derive(Default)]
struct Bucket {
    keys: u32,
    /// The lowest value that the next key can have.
    next: u64,
    bits: BitWriter,
    /// The current key.
    open: u64,
    blocks: Vec<u32>,
}

impl Bucket {
    fn push(&mut self, rest: u64, block: u32, tail: &Tail) {
        if rest != self.open {
            self.close_key(tail);
        }
        self.open = rest;
        self.blocks.push(block);
    }

    /// Writes the current key and its blocks.
    fn close_key(&mut self, tail: &Tail) {
        if self.blocks.is_empty() {
            return;
        }
        self.bits.put_rice(self.open - self.next, tail.plain_bits.into());
        self.next = self.open + 1;
        self.blocks.sort_unstable();
        self.blocks.dedup();
        put_blocks(&self.blocks, tail.blocks.get(), &mut self.bits);
        self.blocks.clear();
        self.keys += 1;
    }

    /// Ends the bucket with this number, and returns its bytes.
    fn finish(mut self, tail: &Tail, identity: u32, number: u64) -> Vec<u8> {
        self.close_key(tail);
        let mut out = self.keys.to_le_bytes().to_vec();
        out.extend(self.bits.finish());
        check::append_placed(identity, number, &mut out);
        out
    }
}

/// Rice parameter of the differences between the block numbers of a key. The key has `count` of all
/// `blocks` blocks.
fn plain_bits(count: u32, blocks: u32) -> u32 {
    (blocks / count).checked_ilog2().unwrap_or(0)
}

/// Writes the ascending block numbers of a key: their count, and the first number. For each further
/// number, a bit tells if it is the previous number plus 1. If it is not, the difference follows.
fn put_blocks(list: &[u32], blocks: u32, bits: &mut BitWriter) {
    let Some(&first) = list.first() else { return };
    let count = list.len() as u32;
    bits.put_gamma(count);
    bits.put_below(first, blocks);
    let plain = plain_bits(count, blocks);
    for pair in list.windows(2) {
        let skipped = pair[1] - pair[0] - 1;
        bits.put(u64::from(skipped == 0), 1);
        if let Some(more) = skipped.checked_sub(1) {
            bits.put_rice(more.into(), plain);
        }
    }
}

pub(super) struct BlockIndex<'a> {
    file: &'a ArchiveBytes,
    /// Range of the buckets in the file.
    buckets: Range<u64>,
    /// End of each bucket.
    ends: &'a [u8],
    tail: Tail,
    identity: u32,
}

impl<'a> BlockIndex<'a> {
    /// Makes a reader of a section. Only the tail is checked here.
    pub(super) fn new(
        file: &'a ArchiveBytes,
        section: Section,
        identity: u32,
    ) -> Result<BlockIndex<'a>, ArchiveError> {
        let corrupt = || ArchiveError::corrupt(PART);
        let Range { start, end } = section.range();
        let rest = end.checked_sub(size_of::<Tail>() as u64).filter(|rest| *rest >= start);
        let rest = rest.ok_or_else(corrupt)?;
        let tail = Tail::read_from_bytes(file.get(rest..end, PART)?).map_err(|_| corrupt())?;
        if !check::holds(tail.check(identity), tail.check.get()) {
            return Err(corrupt());
        }
        let key_bits = u32::from(tail.bucket_bits) + u32::from(tail.rest_bits);
        if key_bits > 64 || tail.plain_bits > 32 || ![4, 8].contains(&tail.end_bytes) {
            return Err(corrupt());
        }
        let split = 1u64
            .checked_shl(tail.bucket_bits.into())
            .and_then(|buckets| buckets.checked_mul(tail.end_bytes.into()))
            .and_then(|len| rest.checked_sub(len))
            .filter(|split| *split >= start)
            .ok_or_else(corrupt)?;
        let ends = file.get(split..rest, PART)?;
        Ok(BlockIndex { file, buckets: start..split, ends, tail, identity })
    }

    pub(super) const fn buckets(&self) -> u64 {
        1 << self.tail.bucket_bits
    }

    /// Range of a bucket in the file.
    fn range(&self, number: u64) -> Result<Range<u64>, ArchiveError> {
        let width = usize::from(self.tail.end_bytes);
        let end = |number: usize| {
            let bytes = self.ends.get(number * width..(number + 1) * width)?;
            let end = bytes.iter().rev().fold(0u64, |end, &byte| end << 8 | u64::from(byte));
            self.buckets.start.checked_add(end).filter(|end| *end <= self.buckets.end)
        };
        let before = number.checked_sub(1);
        let start = before.map_or(Some(self.buckets.start), |before| end(before as usize));
        let range = start.zip(end(number as usize)).filter(|(start, end)| start <= end);
        let (start, end) = range.ok_or(ArchiveError::corrupt_at(PART, number))?;
        Ok(start..end)
    }

    fn bucket_of(&self, key: u64) -> u64 {
        self.cut(key).checked_shr(self.tail.rest_bits.into()).unwrap_or(0)
    }

    pub(super) fn range_of(&self, key: u64) -> Result<Range<u64>, ArchiveError> {
        self.range(self.bucket_of(key))
    }

    /// Opens a bucket. An archive that is read by ranges keeps its bytes.
    fn bucket(&self, number: u64) -> Result<BucketReader<'a>, ArchiveError> {
        self.bucket_in(number, self.file.get(self.range(number)?, PART)?)
    }

    /// Opens a bucket in its bytes after checking its checksum.
    fn bucket_in<'b>(
        &self,
        number: u64,
        bucket: &'b [u8],
    ) -> Result<BucketReader<'b>, ArchiveError> {
        let corrupt = || ArchiveError::corrupt_at(PART, number);
        let body = check::strip_placed(self.identity, number, bucket);
        let (keys, bits) = body.and_then(|body| body.split_first_chunk()).ok_or_else(corrupt)?;
        let bits = BitReader::new(bits);
        let keys = u32::from_le_bytes(*keys);
        Ok(BucketReader {
            number,
            tail: self.tail,
            keys,
            next: 0,
            blocks: Blocks { number, bits, ..Blocks::default() },
        })
    }

    /// Calls `visit` with the cut key (the stored high bits of a key) and the block number of each
    /// entry of a bucket. The bytes of the bucket are not kept.
    pub(super) fn each(
        &self,
        number: u64,
        mut visit: impl FnMut(u64, u32) -> Result<(), ArchiveError>,
    ) -> Result<(), ArchiveError> {
        let bytes = self.file.read(self.range(number)?, PART)?;
        let mut bucket = self.bucket_in(number, &bytes)?;
        while let Some(cut) = bucket.next_key()? {
            for block in bucket.blocks.by_ref() {
                visit(cut, block?)?;
            }
        }
        if bucket.blocks.bits.is_at_end() {
            Ok(())
        } else {
            Err(ArchiveError::corrupt_at(PART, number))
        }
    }

    /// Returns a key in which the bits that this index does not keep are 0.
    pub(super) fn high_bits(&self, key: u64) -> u64 {
        self.aligned(self.cut(key))
    }

    /// Converts a cut key (the stored high bits of a key) to the form of [`BlockIndex::high_bits`].
    pub(super) fn aligned(&self, cut: u64) -> u64 {
        cut.checked_shl(64 - self.key_bits()).unwrap_or(0)
    }

    fn key_bits(&self) -> u32 {
        u32::from(self.tail.bucket_bits) + u32::from(self.tail.rest_bits)
    }

    /// Returns the high bits of a key that this index keeps.
    fn cut(&self, key: u64) -> u64 {
        key.checked_shr(64 - self.key_bits()).unwrap_or(0)
    }

    pub(super) const fn search(&self) -> KeySearch<'_, 'a> {
        KeySearch { index: self, bucket: None, wanted: 0 }
    }
}

/// A search for keys. If they ascend, each bucket is read once.
pub(super) struct KeySearch<'i, 'a> {
    index: &'i BlockIndex<'a>,
    /// The bucket that was read last, and the cut key in it that was read last.
    bucket: Option<(BucketReader<'a>, Option<u64>)>,
    /// The cut key that was searched last. The key that was read last may be above it.
    wanted: u64,
}

impl<'a> KeySearch<'_, 'a> {
    /// Finds the blocks that may have the position with this key. Their numbers ascend.
    pub(super) fn find(&mut self, key: u64) -> Result<Blocks<'a>, ArchiveError> {
        let wanted = self.index.cut(key);
        let number = self.index.bucket_of(key);
        let ascends = std::mem::replace(&mut self.wanted, wanted) <= wanted;
        let (mut bucket, mut last) = match self.bucket.take() {
            Some((bucket, last)) if bucket.number == number && ascends => (bucket, last),
            _ => (self.index.bucket(number)?, None),
        };
        while last.is_none_or(|last| last < wanted) {
            bucket.blocks.skip_all()?;
            // After the last key, no blocks are left.
            last = Some(bucket.next_key()?.unwrap_or(u64::MAX));
        }
        let is_found = last == Some(wanted);
        let blocks = if is_found { bucket.blocks.clone() } else { Blocks::default() };
        self.bucket = Some((bucket, last));
        Ok(blocks)
    }
}

/// Reader of a bucket, key by key.
struct BucketReader<'a> {
    number: u64,
    tail: Tail,
    /// Number of keys that were not read yet.
    keys: u32,
    /// The lowest value that the next key can have.
    next: u64,
    /// Blocks of the key that was read last. The bits of the next key come after them.
    blocks: Blocks<'a>,
}

impl BucketReader<'_> {
    /// Reads the next key, or `None` after the last. The blocks of the previous one must be taken.
    fn next_key(&mut self) -> Result<Option<u64>, ArchiveError> {
        let Some(keys) = self.keys.checked_sub(1) else { return Ok(None) };
        self.keys = keys;
        let rest_bits = self.tail.rest_bits.into();
        let corrupt = ArchiveError::corrupt_at(PART, self.number);
        let difference = self.blocks.bits.take_rice(self.tail.plain_bits.into());
        let rest = match difference.and_then(|difference| self.next.checked_add(difference)) {
            Some(rest) if rest <= mask(rest_bits) => rest,
            _ => return Err(corrupt),
        };
        self.blocks.begin(self.tail.blocks.get()).ok_or(corrupt)?;
        self.next = rest.saturating_add(1);
        Ok(Some(self.number.checked_shl(rest_bits).unwrap_or(0) | rest))
    }
}

/// The blocks of a key, read one after the other.
#[derive(Clone, Default)]
pub(super) struct Blocks<'a> {
    /// Number of the bucket, for errors.
    number: u64,
    bits: BitReader<'a>,
    /// Number of index blocks of the archive.
    all: u32,
    /// Number of blocks that were not taken yet.
    left: u32,
    /// Rice parameter of the differences: number of low bits that are written as they are.
    plain_bits: u32,
    /// The lowest number that the next block can have; `None` before the first block.
    next: Option<u64>,
}

impl Blocks<'_> {
    /// Number of blocks that were not taken yet.
    pub(super) const fn left(&self) -> u32 {
        self.left
    }

    /// Reads the number of blocks of the key. `all` is the number of blocks of the index.
    fn begin(&mut self, all: u32) -> Option<()> {
        let left = self.bits.take_gamma().filter(|&count| count <= all)?;
        (self.all, self.left, self.next) = (all, left, None);
        self.plain_bits = plain_bits(left, all);
        Some(())
    }

    fn take(&mut self) -> Option<u32> {
        let block = match self.next {
            None => self.bits.take_below(self.all)?.into(),
            Some(next) if self.bits.take(1)? == 1 => next,
            Some(next) => {
                next.checked_add(1)?.checked_add(self.bits.take_rice(self.plain_bits)?)?
            }
        };
        self.next = Some(block.checked_add(1).filter(|&next| next <= self.all.into())?);
        Some(block as u32)
    }

    fn skip_all(&mut self) -> Result<(), ArchiveError> {
        self.try_for_each(|block| block.map(drop))
    }
}

impl Iterator for Blocks<'_> {
    type Item = Result<u32, ArchiveError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let block = self.take().ok_or(ArchiveError::corrupt_at(PART, self.number));
        if block.is_err() {
            self.left = 0;
        }
        Some(block)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::collections::BTreeMap;
    use std::sync::Arc;

    use super::*;
    use crate::file::bytes::FileBytes;

    const BLOCKS: u32 = 700;

    /// Keys with one block, keys with some blocks, and one key with nearly all blocks. Some keys
    /// are equal when they are cut.
    fn entries() -> Vec<(u64, u32)> {
        let key = |number: u64| number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let single = (0..1500).map(|number| (key(number), (number * 7) as u32 % BLOCKS));
        let some = (0..500).map(|number| (key(number / 5), (number * 11) as u32 % BLOCKS));
        let all = (0..BLOCKS).filter(|block| block % 7 != 3).map(|block| (u64::MAX, block));
        single.chain(some).chain(all).chain([(0, 0), (0, BLOCKS - 1)]).collect()
    }

    fn in_memory(bytes: &[u8]) -> ArchiveBytes {
        ArchiveBytes::Local(Arc::new(FileBytes::Owned(bytes.to_vec())))
    }

    fn open(file: &ArchiveBytes, identity: u32) -> Result<BlockIndex<'_>, ArchiveError> {
        let section = Section { offset: 0, len: file.size(), check: 0 };
        BlockIndex::new(file, section, identity)
    }

    fn written(entries: &[(u64, u32)]) -> Vec<u8> {
        let mut sorter = IndexEntries::new(1 << 20);
        entries.iter().for_each(|&entry| sorter.push(entry).unwrap());
        let mut out = Sink::new(Vec::new());
        write_entries(sorter, BLOCKS, 7, &mut out).unwrap();
        out.finish().unwrap()
    }

    fn found(index: &BlockIndex, key: u64) -> Result<Vec<u32>, ArchiveError> {
        index.search().find(key)?.collect()
    }

    #[test]
    fn the_blocks_of_a_key_are_found_in_order() {
        let entries = entries();
        let bytes = in_memory(&written(&entries));
        let index = open(&bytes, 7).unwrap();
        let mut expected: BTreeMap<u64, Vec<u32>> = BTreeMap::new();
        entries
            .iter()
            .for_each(|&(key, block)| expected.entry(index.cut(key)).or_default().push(block));
        let mut listed: BTreeMap<u64, Vec<u32>> = BTreeMap::new();
        for bucket in 0..index.buckets() {
            index
                .each(bucket, |cut, block| {
                    listed.entry(cut).or_default().push(block);
                    Ok(())
                })
                .unwrap();
        }
        for blocks in expected.values_mut() {
            blocks.sort_unstable();
            blocks.dedup();
        }
        assert_eq!(listed, expected);
        let mut keys: Vec<u64> = entries.iter().map(|&(key, _)| key).collect();
        for is_sorted in [false, true] {
            let mut search = index.search();
            for &key in &keys {
                let blocks: Result<Vec<u32>, _> = search.find(key).unwrap().collect();
                assert_eq!(blocks.unwrap(), expected[&index.cut(key)], "{is_sorted}");
            }
            keys.sort_unstable();
        }
        let absent = (0..1 << 12)
            .map(|high| high << 52 | 1)
            .filter(|&key| !expected.contains_key(&index.cut(key)));
        assert!(
            absent.inspect(|&key| assert_eq!(found(&index, key).unwrap(), [0; 0])).count() > 100
        );
    }

    /// A damaged index is an error and never a missing position.
    #[test]
    fn each_changed_byte_is_seen_by_whoever_reads_it() {
        let entries = entries();
        let bytes = written(&entries);
        let expected: Vec<Vec<u32>> = {
            let file = in_memory(&bytes);
            let index = open(&file, 7).unwrap();
            entries.iter().step_by(253).map(|&(key, _)| found(&index, key).unwrap()).collect()
        };
        for place in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[place] ^= 0x10;
            let changed = in_memory(&changed);
            let Ok(index) = open(&changed, 7) else { continue };
            for (&(key, _), expected) in entries.iter().step_by(253).zip(&expected) {
                assert!(found(&index, key).map_or(true, |found| found == *expected), "{place}");
            }
        }
        for len in (0..bytes.len()).step_by(7) {
            assert!(open(&in_memory(&bytes[..len]), 7).is_err(), "{len}");
        }
        assert!(open(&in_memory(&bytes), 8).is_err());
    }

    #[test]
    fn a_key_of_most_blocks_takes_two_bits_each() {
        let entries: Vec<(u64, u32)> = (0..BLOCKS).map(|block| (u64::MAX, block)).collect();
        assert!(written(&entries).len() < BLOCKS as usize / 4 + 100);
    }
}

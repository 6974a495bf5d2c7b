//! From position keys to the blocks that may hold the position, in about 18 bits a record.
//!
//! Keys are cut to a few more bits than it takes to number the entries. The highest of them
//! choose a bucket; in a bucket the others ascend and are coded by their differences, each with
//! the number of its block. What is found is where to look, not what is there.

use std::io::{self, Write};

use zerocopy::little_endian::U32;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::archive::error::ArchiveError;
use crate::archive::file::check;
use crate::archive::file::sink::Sink;
use crate::archive::index_entries::IndexEntries;

/// Entries in a bucket, about.
const BUCKET: u64 = 256;
/// Bits of a key beyond those that number the entries: of this many powers of two one lookup
/// looks into a block in vain.
const SPARE_BITS: u32 = 2;

const PART: &str = "position index";

/// The last bytes of the index.
#[derive(Copy, Clone, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Tail {
    /// Bits of a key that choose the bucket.
    bucket_bits: u8,
    /// Bits of a key that stand in the bucket.
    rest_bits: u8,
    /// Bits of a difference that are written plainly.
    plain_bits: u8,
    block_bits: u8,
    /// Bytes of a bucket's end in the directory: four, or eight where that does not suffice.
    end_bytes: u8,
    check: U32,
}

impl Tail {
    /// The CRC32C of the place behind the last bucket and of what stands before the check.
    fn check(&self, identity: u32) -> u32 {
        let Tail { bucket_bits, rest_bits, plain_bits, block_bits, end_bytes, .. } = *self;
        let buckets = 1u64.checked_shl(bucket_bits.into()).unwrap_or(0);
        check::placed(
            identity,
            buckets,
            &[bucket_bits, rest_bits, plain_bits, block_bits, end_bytes],
        )
    }
}

/// Writes the index of sorted keys and blocks numbered below `blocks`.
pub(in crate::archive) fn write_index<W: Write>(
    sorter: IndexEntries,
    blocks: u64,
    identity: u32,
    out: &mut Sink<W>,
) -> Result<(), ArchiveError> {
    let entries = sorter.len().max(1);
    let bucket_bits = (entries / BUCKET).max(1).ilog2();
    let key_bits = bits_of(entries) + SPARE_BITS;
    let mut tail = Tail {
        bucket_bits: bucket_bits as u8,
        rest_bits: (key_bits - bucket_bits) as u8,
        plain_bits: SPARE_BITS as u8,
        block_bits: bits_of(blocks.max(1) - 1) as u8,
        end_bytes: 4,
        check: 0.into(),
    };
    let start = out.offset();
    let mut ends: Vec<u64> = Vec::new();
    let mut bucket = Bucket::default();
    let mut close = |bucket: &mut Bucket, out: &mut Sink<W>| -> io::Result<()> {
        out.put(&bucket.take(identity, ends.len() as u64))?;
        ends.push(out.offset() - start);
        Ok(())
    };
    let mut number = 0;
    sorter.finish::<ArchiveError>(|(key, block)| {
        let cut = key >> (64 - key_bits);
        let (of, rest) = (cut >> tail.rest_bits, cut & mask(tail.rest_bits.into()));
        while number < of {
            close(&mut bucket, out)?;
            number += 1;
        }
        bucket.push(rest, block, &tail);
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

/// How many bits the largest number takes.
const fn bits_of(largest: u64) -> u32 {
    64 - largest.leading_zeros()
}

const fn mask(bits: u32) -> u64 {
    if bits < 64 { (1 << bits) - 1 } else { u64::MAX }
}

#[derive(Default)]
struct Bucket {
    entries: u32,
    before: u64,
    bytes: Vec<u8>,
    /// Bits that do not make up a byte yet, the first lowest.
    bits: u64,
    len: u32,
}

impl Bucket {
    fn push(&mut self, rest: u64, block: u32, tail: &Tail) {
        let difference = rest - self.before;
        for _ in 0..difference >> tail.plain_bits {
            self.put(1, 1);
        }
        self.put(0, 1);
        self.put(difference & mask(tail.plain_bits.into()), tail.plain_bits.into());
        self.put(block.into(), tail.block_bits.into());
        self.before = rest;
        self.entries += 1;
    }

    fn put(&mut self, value: u64, bits: u32) {
        self.bits |= value << self.len;
        self.len += bits;
        while self.len >= 8 {
            self.bytes.push(self.bits as u8);
            self.bits >>= 8;
            self.len -= 8;
        }
    }

    /// The bytes of the bucket with this number; the next one is begun.
    fn take(&mut self, identity: u32, number: u64) -> Vec<u8> {
        if self.len > 0 {
            self.bytes.push(self.bits as u8);
        }
        let mut out = self.entries.to_le_bytes().to_vec();
        out.append(&mut self.bytes);
        let check = check::placed(identity, number, &out);
        out.extend_from_slice(&check.to_le_bytes());
        *self = Bucket::default();
        out
    }
}

/// The index, read.
pub(super) struct BlockIndex<'a> {
    buckets: &'a [u8],
    /// Where each bucket ends.
    ends: &'a [u8],
    tail: Tail,
    identity: u32,
}

impl<'a> BlockIndex<'a> {
    /// Takes the bytes of the section; only the last few are looked at.
    pub(super) fn new(bytes: &'a [u8], identity: u32) -> Result<BlockIndex<'a>, ArchiveError> {
        let (rest, tail) =
            Tail::read_from_suffix(bytes).map_err(|_| ArchiveError::corrupt(PART))?;
        if !check::holds(tail.check(identity), tail.check.get()) {
            return Err(ArchiveError::corrupt(PART));
        }
        let key_bits = u32::from(tail.bucket_bits) + u32::from(tail.rest_bits);
        let whole = key_bits <= 64
            && tail.plain_bits <= 32
            && tail.block_bits <= 32
            && [4, 8].contains(&tail.end_bytes);
        let buckets = 1usize.checked_shl(tail.bucket_bits.into()).filter(|_| whole);
        let split = buckets
            .and_then(|buckets| buckets.checked_mul(tail.end_bytes.into()))
            .and_then(|len| rest.len().checked_sub(len))
            .ok_or(ArchiveError::corrupt(PART))?;
        let (buckets, ends) = rest.split_at(split);
        Ok(BlockIndex { buckets, ends, tail, identity })
    }

    /// How many buckets there are.
    pub(super) const fn buckets(&self) -> u64 {
        1 << self.tail.bucket_bits
    }

    fn bucket(&self, number: u64) -> Result<&'a [u8], ArchiveError> {
        let width = usize::from(self.tail.end_bytes);
        let end = |number: usize| {
            let bytes = self.ends.get(number * width..(number + 1) * width)?;
            let end = bytes.iter().rev().fold(0u64, |end, &byte| end << 8 | u64::from(byte));
            usize::try_from(end).ok()
        };
        let start = number.checked_sub(1).map_or(Some(0), |before| end(before as usize));
        let range = start.zip(end(number as usize)).map(|(start, end)| start..end);
        let bucket = range.and_then(|range| self.buckets.get(range));
        let (body, check) = bucket
            .and_then(|bucket| bucket.split_last_chunk())
            .ok_or(ArchiveError::corrupt_at(PART, number))?;
        if !check::holds(check::placed(self.identity, number, body), u32::from_le_bytes(*check)) {
            return Err(ArchiveError::corrupt_at(PART, number));
        }
        Ok(body)
    }

    /// Calls `visit` with the cut key and the block of each entry of a bucket, until it returns
    /// false.
    pub(super) fn each(
        &self,
        number: u64,
        mut visit: impl FnMut(u64, u32) -> bool,
    ) -> Result<(), ArchiveError> {
        let corrupt = ArchiveError::corrupt_at(PART, number);
        let bucket = self.bucket(number)?;
        let Some((entries, bits)) = bucket.split_first_chunk() else { return Err(corrupt) };
        let mut bits = Bits { bytes: bits, at: 0 };
        let mut rest: u64 = 0;
        for _ in 0..u32::from_le_bytes(*entries) {
            let Some((difference, block)) = self.entry(&mut bits) else { return Err(corrupt) };
            rest = match rest.checked_add(difference) {
                Some(rest) if rest <= mask(self.tail.rest_bits.into()) => rest,
                _ => return Err(corrupt),
            };
            if !visit(number.checked_shl(self.tail.rest_bits.into()).unwrap_or(0) | rest, block) {
                return Ok(());
            }
        }
        if bits.is_at_end() { Ok(()) } else { Err(corrupt) }
    }

    fn entry(&self, bits: &mut Bits) -> Option<(u64, u32)> {
        let mut high = 0u64;
        while bits.take(1)? == 1 {
            high += 1;
        }
        let low = bits.take(self.tail.plain_bits.into())?;
        let block = bits.take(self.tail.block_bits.into())?;
        Some((high.checked_mul(1 << self.tail.plain_bits)? | low, block as u32))
    }

    /// What is left of a key in this index, in its place, with zeros behind it.
    pub(super) fn high_bits(&self, key: u64) -> u64 {
        self.aligned(self.cut(key))
    }

    /// A cut key as [`BlockIndex::high_bits`] has it.
    pub(super) fn aligned(&self, cut: u64) -> u64 {
        let key_bits = u32::from(self.tail.bucket_bits) + u32::from(self.tail.rest_bits);
        cut.checked_shl(64 - key_bits).unwrap_or(0)
    }

    /// What is left of a key in this index.
    pub(super) fn cut(&self, key: u64) -> u64 {
        let key_bits = u32::from(self.tail.bucket_bits) + u32::from(self.tail.rest_bits);
        key.checked_shr(64 - key_bits).unwrap_or(0)
    }

    /// The blocks that may hold the position with this key, ascending.
    pub(super) fn find(&self, key: u64) -> Result<Vec<u32>, ArchiveError> {
        let wanted = self.cut(key);
        let mut blocks = Vec::new();
        self.each(wanted.checked_shr(self.tail.rest_bits.into()).unwrap_or(0), |cut, block| {
            if cut == wanted {
                blocks.push(block);
            }
            cut <= wanted
        })?;
        blocks.sort_unstable();
        blocks.dedup();
        Ok(blocks)
    }
}

struct Bits<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Bits<'_> {
    fn take(&mut self, count: u32) -> Option<u64> {
        let mut value = 0;
        let mut got = 0;
        while got < count {
            let byte = *self.bytes.get(self.at / 8)?;
            let skip = (self.at % 8) as u32;
            let step = (8 - skip).min(count - got);
            value |= (u64::from(byte >> skip) & mask(step)) << got;
            got += step;
            self.at += step as usize;
        }
        Some(value)
    }

    fn is_at_end(&self) -> bool {
        self.at.div_ceil(8) == self.bytes.len()
    }
}

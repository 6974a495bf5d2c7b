//! Blocks. A block has the entries of all positions whose keys fall into one part of the key space,
//! sorted by key. The format is `formats/store.md`.
//!
//! A block is divided into buckets of about
//! [`ENTRIES_PER_BUCKET`](super::schema::ENTRIES_PER_BUCKET) entries. The key of an entry gives the
//! number of its bucket, and a directory has the place of each bucket. So no search is needed. A
//! bucket has one byte of each entry's key, and one checksum. So a lookup touches one cache line of
//! the directory and one bucket. The checksum costs a third of a byte for each entry.
// Blocks are better than a row of the database for each record. With 10 million positions, such
// rows took 40.6 bytes a record and gave 0.69 million hits a second. Blocks of about 1,800 records
// took 36.5 bytes a record and gave 1.39 million hits a second. Merging 100,000 records was also
// three times faster.

mod bucket;

use std::ops::Range;

use super::schema::{Digest, ENTRIES_PER_BUCKET, holds};
pub(super) use bucket::{
    Bucket, BucketCursor, BucketEntry, BucketId, BucketWriter, Damage, Payload, Stub, range_in,
    width_of,
};
use bucket::{Result, WORD, put_word, read_number, word};
use epdb_chess::codec::key::fast_range;
use epdb_chess::simd::{prefetch, prefetch_bytes};

/// Offset of the number of entries in the header of a block. The constants after this one are the
/// other offsets in the header, and its length.
const ENTRY_COUNT: usize = 0;
const BUCKET_COUNT: usize = 4;
const WIDTH: usize = 8;
const ZEROS: usize = 9;
const HEADER_CRC: usize = 12;
const COMMIT: usize = 16;
const HEADER: usize = 24;

/// The bucket of the entries of a key, and the fingerprint that finds them in the bucket.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct KeySlot {
    pub bucket: u32,
    /// The eight bits of the key that follow the bits that select the bucket.
    pub fingerprint: u8,
}

impl KeySlot {
    /// Computes the slot of a key in a block that has `buckets` buckets. `fraction` is the place of
    /// the key within the key range of the block, as a fraction of 2^64 (see [`fast_range`]).
    pub(crate) fn from_fraction(fraction: u64, buckets: u32) -> KeySlot {
        let (bucket, rest) = fast_range(fraction, buckets.into());
        KeySlot { bucket: bucket as u32, fingerprint: (rest >> 56) as u8 }
    }
}

/// The parts of a block's header that a lookup needs.
#[derive(Copy, Clone)]
pub(crate) struct BlockShape {
    pub buckets: u32,
    pub width: u8,
    pub commit: u64,
}

impl BlockShape {
    /// Reads the shape of a block of this length from its start, which has the whole directory.
    pub(crate) fn parse(bytes: &[u8], len: usize) -> Result<BlockShape> {
        let header = bytes.get(..HEADER).ok_or(Damage("the block is shorter than its header"))?;
        let buckets = word(header, BUCKET_COUNT);
        let width = header[WIDTH];
        let commit = read_number(&header[COMMIT..]);
        if buckets == 0 {
            return Err(Damage("the block counts no buckets"));
        }
        if !(1..=8).contains(&width) {
            return Err(Damage("the block has an unknown width of import numbers"));
        }
        let shape = BlockShape { buckets, width, commit };
        if len < shape.data_start() {
            return Err(Damage("the block is shorter than its directory"));
        }
        Ok(shape)
    }

    /// Length of header and directory.
    pub(crate) fn data_start(self) -> usize {
        HEADER + self.buckets as usize * WORD
    }
}

pub(crate) const PAST_THE_END: Damage = Damage("the directory points past the end of the block");

/// View of a block. Each part is checked before it is used.
#[derive(Copy, Clone)]
pub(crate) struct Block<'a> {
    number: u64,
    shape: BlockShape,
    /// Header and directory.
    head: &'a [u8],
    /// All buckets, or a part of them.
    data: &'a [u8],
    /// Length of the buckets before `data`.
    skipped: usize,
}

impl<'a> Block<'a> {
    /// Makes a view of the block with this number. Only the header is read.
    pub(crate) fn new(number: u64, bytes: &'a [u8]) -> Result<Block<'a>> {
        let shape = BlockShape::parse(bytes, bytes.len())?;
        let (head, data) = bytes.split_at(shape.data_start());
        Ok(Block::of_parts(number, shape, head, data))
    }

    /// Makes a view of a block whose shape is known, so that its header is not read.
    #[inline]
    pub(crate) fn of_parts(
        number: u64,
        shape: BlockShape,
        head: &'a [u8],
        data: &'a [u8],
    ) -> Block<'a> {
        Block { number, shape, head, data, skipped: 0 }
    }

    /// The same block with only these bytes of its buckets, behind `skipped` bytes of others.
    pub(crate) fn with_part(self, skipped: usize, data: &'a [u8]) -> Block<'a> {
        Block { data, skipped, ..self }
    }

    #[inline]
    pub(crate) fn data(&self) -> &'a [u8] {
        self.data
    }

    /// The parts of the header that a lookup needs.
    pub(crate) fn shape(&self) -> BlockShape {
        self.shape
    }

    pub(crate) fn len(&self) -> usize {
        self.head.len() + self.data.len()
    }

    pub(crate) fn digest(&self) -> Digest {
        Digest::from_block(self.number, &[self.head, self.data])
    }

    /// Number of entries according to the header.
    pub(crate) fn entry_count(&self) -> u32 {
        word(self.head, ENTRY_COUNT)
    }

    #[inline]
    pub(crate) fn buckets(&self) -> u32 {
        self.shape.buckets
    }

    /// The checksum over header and directory.
    pub(crate) fn header_crc(&self) -> u32 {
        word(self.head, HEADER_CRC)
    }

    /// Checks header and directory. `announced` is the checksum of the header that the meta table
    /// of the store has.
    pub(crate) fn check(&self, announced: u32) -> Result<()> {
        self.check_head(announced, self.data.len())
    }

    /// Checks header and directory of a block with this length of all buckets.
    pub(crate) fn check_head(&self, announced: u32, data_len: usize) -> Result<()> {
        if self.head[ZEROS..HEADER_CRC].iter().any(|&byte| byte != 0) {
            return Err(Damage("reserved bytes of the header are not 0"));
        }
        if !holds(header_crc(self.number, self.head), self.header_crc()) {
            return Err(Damage("the checksum of the header does not match"));
        }
        if self.header_crc() != announced {
            return Err(Damage("it is not the block of this number that the store records"));
        }
        match self.head[HEADER..].last_chunk() {
            Some(last) if u32::from_le_bytes(*last) as usize == data_len => Ok(()),
            _ => Err(Damage("the directory does not end where the block does")),
        }
    }

    #[inline]
    pub(crate) fn prefetch_directory(&self, bucket: u32) {
        if let Some(byte) = self.head.get(end_at(bucket)) {
            prefetch(byte);
        }
    }

    /// Prefetches all of a bucket at once, because its parts are read one after the other.
    #[inline]
    pub(crate) fn prefetch_bucket(&self, bucket: u32) {
        if let Some(bytes) = self.bucket_bytes(bucket) {
            prefetch_bytes(bytes);
        }
    }

    /// Range of a bucket in the bytes of all buckets, according to the directory.
    #[inline]
    pub(crate) fn bucket_range(&self, bucket: u32) -> Range<usize> {
        let end_at = end_at(bucket);
        let start = if bucket == 0 { 0 } else { word(self.head, end_at - WORD) as usize };
        start..word(self.head, end_at) as usize
    }

    #[inline]
    fn bucket_bytes(&self, bucket: u32) -> Option<&'a [u8]> {
        let Range { start, end } = self.bucket_range(bucket);
        self.data.get(start.checked_sub(self.skipped)?..end.checked_sub(self.skipped)?)
    }

    /// Returns a bucket without checking it.
    pub(crate) fn bucket(&self, bucket: u32) -> Result<Bucket<'a>> {
        let bytes = self.bucket_bytes(bucket).ok_or(PAST_THE_END)?;
        let (owner, BlockShape { width, commit, .. }) = (self.number, self.shape);
        Bucket::new(BucketId { owner, bucket, width, commit }, bytes)
    }

    /// Visits all entries in order of their keys, with their buckets, and checks every checksum.
    pub(crate) fn each_entry(
        &self,
        announced: u32,
        mut visit: impl FnMut(u32, BucketEntry<'a>),
    ) -> Result<()> {
        self.check(announced)?;
        let mut found = 0;
        for number in 0..self.buckets() {
            let bucket = self.bucket(number)?;
            bucket.check()?;
            for entry in bucket.entries() {
                visit(number, entry?);
                found += 1;
            }
        }
        if found != self.entry_count() {
            return Err(Damage("the block counts another number of entries"));
        }
        Ok(())
    }
}

/// Offset of the directory entry of a bucket, which holds the end of the bucket.
fn end_at(bucket: u32) -> usize {
    HEADER + bucket as usize * WORD
}

fn header_crc(number: u64, header_and_directory: &[u8]) -> u32 {
    let start = crc32c::crc32c(&number.to_le_bytes());
    let start = crc32c::crc32c_append(start, &header_and_directory[..HEADER_CRC]);
    crc32c::crc32c_append(start, &header_and_directory[COMMIT..])
}

/// Writer of a block; entries are pushed in order of their keys.
pub(crate) struct BlockWriter {
    number: u64,
    commit: u64,
    width: u8,
    buckets: u32,
    entries: u32,
    bucket: u32,
    open: BucketWriter,
    /// Header and directory, then the buckets.
    bytes: Vec<u8>,
}

impl BlockWriter {
    /// Makes a writer of the block with this number in this commit. The block will have about
    /// `entries` entries, with import numbers of `width` bytes.
    pub(crate) fn new(number: u64, commit: u64, width: u8, entries: usize) -> BlockWriter {
        let buckets = (entries / ENTRIES_PER_BUCKET).clamp(1, u32::MAX as usize) as u32;
        let bytes = vec![0; HEADER + buckets as usize * WORD];
        let open = BucketWriter::default();
        BlockWriter { number, commit, width, buckets, entries: 0, bucket: 0, open, bytes }
    }

    /// Appends the entry of a key. `fraction` is the place of the key within the key range of the
    /// block, as a fraction of 2^64.
    pub(crate) fn push(&mut self, fraction: u64, import_number: u64, payload: Payload) {
        let slot = KeySlot::from_fraction(fraction, self.buckets);
        while self.bucket < slot.bucket {
            self.close_bucket();
        }
        self.entries += 1;
        let entry = BucketEntry { fingerprint: slot.fingerprint, import_number, payload };
        self.open.push(self.width, entry);
    }

    fn close_bucket(&mut self) {
        let BlockWriter { number: owner, commit, width, bucket, .. } = *self;
        self.open.finish(BucketId { owner, bucket, width, commit }, &mut self.bytes);
        let data_start = HEADER + self.buckets as usize * WORD;
        let end = (self.bytes.len() - data_start) as u32;
        put_word(&mut self.bytes, HEADER + self.bucket as usize * WORD, end);
        self.bucket += 1;
    }

    /// The bytes of the block, and the checksum of its header.
    pub(crate) fn finish(mut self) -> (Vec<u8>, u32) {
        while self.bucket < self.buckets {
            self.close_bucket();
        }
        let data_start = HEADER + self.buckets as usize * WORD;
        put_word(&mut self.bytes, ENTRY_COUNT, self.entries);
        put_word(&mut self.bytes, BUCKET_COUNT, self.buckets);
        self.bytes[WIDTH] = self.width;
        self.bytes[COMMIT..HEADER].copy_from_slice(&self.commit.to_le_bytes());
        let crc = header_crc(self.number, &self.bytes[..data_start]);
        put_word(&mut self.bytes, HEADER_CRC, crc);
        (self.bytes, crc)
    }
}

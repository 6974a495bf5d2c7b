//! Chunks: records of one crowded position. A chunk is the width of import numbers, then a bucket
//! that belongs to the position's key and fills fingerprints with zeros.

use crate::store::block::{Bucket, BucketEntry, BucketId, BucketWriter, Damage, Payload};
use crate::store::schema::CHUNK_BYTES;

type Result<T> = std::result::Result<T, Damage>;

/// What the buckets of chunks have for a number.
const BUCKET_NUMBER: u32 = u32::MAX;

/// The bucket of a chunk, its checksum checked.
pub(in crate::store) fn open_chunk(key: u64, bytes: &[u8]) -> Result<Bucket<'_>> {
    let bucket = view_chunk(key, bytes)?;
    bucket.check()?;
    Ok(bucket)
}

/// The bucket of a chunk that [`open_chunk`] accepted before.
pub(super) fn reopen_chunk(bytes: &[u8]) -> Result<Bucket<'_>> {
    view_chunk(0, bytes)
}

fn view_chunk(key: u64, bytes: &[u8]) -> Result<Bucket<'_>> {
    let (&width, bucket) = bytes.split_first().ok_or(Damage("a chunk is empty"))?;
    if !(1..=8).contains(&width) {
        return Err(Damage("a chunk has an unknown width of import numbers"));
    }
    let bucket = Bucket::new(bucket_id(key, width), bucket)?;
    if bucket.is_empty() {
        return Err(Damage("a chunk holds no record"));
    }
    Ok(bucket)
}

/// Chunks differ by their keys and by the digest that their stub keeps, not by a commit.
fn bucket_id(key: u64, width: u8) -> BucketId {
    BucketId { owner: key, bucket: BUCKET_NUMBER, width, commit: 0 }
}

/// The record of an entry of a chunk.
pub(super) fn record_of<'a>(entry: &BucketEntry<'a>) -> Result<&'a [u8]> {
    match entry.payload {
        Payload::Record(record) => Ok(record),
        Payload::Stub(_) => Err(Damage("a chunk holds a stub")),
    }
}

/// Writes the chunks of one position.
pub(super) struct ChunkWriter {
    key: u64,
    width: u8,
    bucket: BucketWriter,
}

impl ChunkWriter {
    /// Writes chunks of the position with this key, with import numbers of `width` bytes.
    pub(super) fn new(key: u64, width: u8) -> ChunkWriter {
        ChunkWriter { key, width, bucket: BucketWriter::default() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.bucket.is_empty()
    }

    /// Whether the chunk would grow too long with another record.
    pub(super) fn is_full(&self, record: &[u8]) -> bool {
        !self.is_empty() && self.bucket.len() + record.len() + 16 > CHUNK_BYTES
    }

    /// Appends a record to the chunk.
    pub(super) fn push(&mut self, import_number: u64, record: &[u8]) {
        let payload = Payload::Record(record);
        self.bucket.push(self.width, BucketEntry { fingerprint: 0, import_number, payload });
    }

    /// The bytes of the chunk; the next one is begun.
    pub(super) fn finish(&mut self) -> Vec<u8> {
        let mut bytes = vec![self.width];
        self.bucket.finish(bucket_id(self.key, self.width), &mut bytes);
        bytes
    }
}

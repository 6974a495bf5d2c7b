//! Overflow positions, which have more records than fit into a block. Their records are in chunks,
//! the rows of another table. The block keeps a stub, which has counts and digests of the chunks.
//! The format is `formats/store.md`.
// Without this table, a position that occurs in thousands of games would make its block grow
// without bound. Every lookup of a neighbouring key would read all of the block, and every import
// would rewrite it. Chunks are keyed by the first import number, so an import rewrites only the
// last one.

mod check;
mod read;
mod write;

pub(super) use check::OverflowCheck;
pub(super) use read::OverflowRecords;
pub(super) use write::{Action, OverflowTable};

use super::block::{Bucket, BucketEntry, BucketId, BucketWriter, Damage, Payload, Stub};
use super::schema::{CHUNK_BYTES, Digest};

/// A position as the tables identify it.
#[derive(Copy, Clone)]
pub(crate) struct PositionId<'a> {
    pub key: u64,
    /// The packed identity board.
    pub board: &'a [u8],
}

impl PositionId<'_> {
    /// Key of the chunk that begins with this import number.
    fn chunk_key(&self, import_number: u64) -> Vec<u8> {
        [&self.key.to_be_bytes(), self.board, &import_number.to_be_bytes()].concat()
    }

    /// First and last possible key of the chunks of a position.
    fn chunk_keys(&self) -> (Vec<u8>, Vec<u8>) {
        (self.chunk_key(0), self.chunk_key(u64::MAX))
    }
}

/// Splits the key of a chunk into the position and its first import number.
pub(crate) fn split_chunk_key(bytes: &[u8]) -> Option<(PositionId<'_>, u64)> {
    let (key, rest) = bytes.split_first_chunk()?;
    let (board, number) = rest.split_last_chunk()?;
    let key = u64::from_be_bytes(*key);
    Some((PositionId { key, board }, u64::from_be_bytes(*number)))
}

type Result<T> = std::result::Result<T, Damage>;

/// Bucket number of all chunks.
const BUCKET_NUMBER: u32 = u32::MAX;

/// Checks the checksum of a chunk and returns its bucket.
pub(crate) fn open_chunk(key: u64, bytes: &[u8]) -> Result<Bucket<'_>> {
    let bucket = view_chunk(key, bytes)?;
    bucket.check()?;
    Ok(bucket)
}

/// Returns the bucket of a chunk. [`open_chunk`] must have checked the checksum before.
fn reopen_chunk(bytes: &[u8]) -> Result<Bucket<'_>> {
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

/// Identity of the bucket of a chunk, without a commit: the stub has a digest of the chunks.
fn bucket_id(key: u64, width: u8) -> BucketId {
    BucketId { owner: key, bucket: BUCKET_NUMBER, width, commit: 0 }
}

fn record_of<'a>(entry: &BucketEntry<'a>) -> Result<&'a [u8]> {
    match entry.payload {
        Payload::Record(record) => Ok(record),
        Payload::Stub(_) => Err(Damage("a chunk holds a stub")),
    }
}

struct ChunkWriter {
    key: u64,
    width: u8,
    bucket: BucketWriter,
}

impl ChunkWriter {
    /// Makes a writer of chunks for the position with this key. Import numbers take `width` bytes.
    fn new(key: u64, width: u8) -> ChunkWriter {
        ChunkWriter { key, width, bucket: BucketWriter::default() }
    }

    fn is_empty(&self) -> bool {
        self.bucket.is_empty()
    }

    /// True if the chunk would become too long with another record.
    fn is_full(&self, record: &[u8]) -> bool {
        !self.is_empty() && self.bucket.len() + record.len() + 16 > CHUNK_BYTES
    }

    fn push(&mut self, import_number: u64, record: &[u8]) {
        let payload = Payload::Record(record);
        self.bucket.push(self.width, BucketEntry { fingerprint: 0, import_number, payload });
    }

    /// The bytes of the chunk; the writer then begins the next one.
    fn finish(&mut self) -> Vec<u8> {
        let mut bytes = vec![self.width];
        self.bucket.finish(bucket_id(self.key, self.width), &mut bytes);
        bytes
    }
}

/// Message for chunks that differ from their stub.
const OTHER_RECORDS: &str = "its records are not those that its block records";

/// Totals over the chunks of an overflow position, as its stub has them or as found.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct OverflowContents {
    /// Number of chunks. It is 0 in totals from a stub, because a stub does not have this number.
    pub chunks: u64,
    records: u64,
    bytes: u64,
    first_crc: u32,
    /// Sum of the digests of the rows.
    pub digest: Digest,
}

impl OverflowContents {
    fn from_stub(stub: &Stub) -> OverflowContents {
        let Stub { records, bytes, first_crc, digest, .. } = *stub;
        OverflowContents { chunks: 0, records, bytes, first_crc, digest }
    }

    /// Counts a chunk, without its records.
    fn add_chunk(&mut self, row_key: &[u8], bytes: &[u8], bucket: &Bucket) {
        if self.chunks == 0 {
            self.first_crc = bucket.crc();
        }
        self.chunks += 1;
        self.digest.add(Digest::from_chunk(row_key, bytes));
    }

    fn add_record(&mut self, record: &[u8]) {
        self.records += 1;
        self.bytes += record.len() as u64;
    }

    /// True if the first chunk has the checksum that the stub records.
    fn begins_as(&self, announced: &OverflowContents) -> bool {
        self.first_crc == announced.first_crc
    }

    /// True if these totals equal the totals of the stub.
    fn agrees_with(&self, announced: &OverflowContents) -> bool {
        OverflowContents { chunks: announced.chunks, ..*self } == *announced
    }

    /// Compares these totals with the totals of the stub.
    fn compare(&self, announced: &OverflowContents) -> Result<()> {
        if self.agrees_with(announced) { Ok(()) } else { Err(Damage(OTHER_RECORDS)) }
    }
}

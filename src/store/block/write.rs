//! Writing blocks.

use super::bucket::{BucketId, BucketWriter};
use super::bytes::{WORD, put_word};
use super::entry::{BucketEntry, Payload};
use super::view::{
    BUCKET_COUNT, COMMIT, ENTRY_COUNT, HEADER, HEADER_CRC, KeySlot, WIDTH, header_crc,
};
use crate::store::schema::ENTRIES_PER_BUCKET;

/// Writes a block: entries in order of their keys.
pub(in crate::store) struct BlockWriter {
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
    /// Begins the block with this number, written by this commit, for about `entries` entries with
    /// import numbers of `width` bytes.
    pub(in crate::store) fn new(
        number: u64,
        commit: u64,
        width: u8,
        entries: usize,
    ) -> BlockWriter {
        let buckets = (entries / ENTRIES_PER_BUCKET).clamp(1, u32::MAX as usize) as u32;
        let bytes = vec![0; HEADER + buckets as usize * WORD];
        let open = BucketWriter::default();
        BlockWriter { number, commit, width, buckets, entries: 0, bucket: 0, open, bytes }
    }

    /// Appends the entry of a key, given as its fraction of the block.
    pub(in crate::store) fn push(&mut self, fraction: u64, import_number: u64, payload: Payload) {
        let slot = KeySlot::of(fraction, self.buckets);
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
    pub(in crate::store) fn finish(mut self) -> (Vec<u8>, u32) {
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

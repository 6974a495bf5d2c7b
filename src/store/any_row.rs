//! Entry point of the fuzz target: arbitrary bytes as rows of each table, without a file.

use super::block::{Block, Damage, KeySlot, Payload};
use super::journal::ImportInfo;
use super::overflow::{open_chunk, split_chunk_key};
use super::schema::{Access, Meta};

/// Reads bytes as a row of each table, in every way that a reader does. Nothing panics, and an
/// accepted meta row or journal line is written back unchanged.
///
/// # Panics
/// If one of these does not hold.
pub fn any_row(bytes: &[u8]) {
    if let Ok(meta) = Meta::from_bytes(bytes, Access::Write) {
        assert_unchanged(&meta.to_bytes(), bytes, 12..16);
    }
    if let Ok(line) = ImportInfo::from_bytes(0, bytes) {
        assert_unchanged(&line.to_bytes(), bytes, 4..8);
        assert!(!line.to_string().is_empty());
    }
    split_chunk_key(bytes);
    block(bytes).ok();
    if let Ok(bucket) = open_chunk(0, bytes) {
        bucket.entries().for_each(drop);
    }
}

/// Compares rows except for their checksums, which match any bytes while fuzzing.
fn assert_unchanged(written: &[u8], read: &[u8], checksum: std::ops::Range<usize>) {
    assert_eq!(written[..checksum.start], read[..checksum.start]);
    assert_eq!(written[checksum.end..], read[checksum.end..]);
}

fn block(bytes: &[u8]) -> Result<(), Damage> {
    let block = Block::new(0, bytes)?;
    for fraction in [0, u64::MAX / 3, u64::MAX] {
        let slot = KeySlot::from_fraction(fraction, block.buckets());
        if let Ok(bucket) = block.bucket(slot.bucket) {
            let mut entries = bucket.entries();
            while let Some(Ok(_)) = entries.next_with(slot.fingerprint) {}
        }
    }
    block.each_entry(block.header_crc(), |_, entry| {
        if let Payload::Stub(stub) = entry.payload {
            assert!(stub.board.len() <= 255);
        }
    })
}

//! Verifying the records and the index of an archive of level default.

use std::collections::BTreeSet;

use super::index::BlockIndex;
use super::reader::BlockReader;
use crate::archive::error::ArchiveError;
use crate::archive::index_entries::IndexEntries;
use crate::codec::key::position_key;

impl BlockReader {
    /// Reads all records. Where there is an index it has an entry for each of them and no more.
    pub(in crate::archive) fn verify(&self) -> Result<(), ArchiveError> {
        let Some(index) = self.index()? else { return self.each_key(|_, _| Ok(())) };
        let mut expected = IndexEntries::new(self.memory() / 8);
        // Of the index block that is being read, the keys: each is expected once.
        let (mut current, mut keys) = (0, BTreeSet::new());
        self.each_key(|block, key| {
            if block != current {
                (current, keys) = (block, BTreeSet::new());
            }
            let key = index.high_bits(key);
            if keys.insert(key) {
                expected.push((key, block as u32))?;
            }
            Ok(())
        })?;
        if digest(self.entries(&index)?)? == digest(expected)? {
            Ok(())
        } else {
            Err(ArchiveError::corrupt("position index"))
        }
    }

    /// Calls `visit` with the position key of each record, and its block as the index counts them.
    fn each_key(
        &self,
        mut visit: impl FnMut(u64, u64) -> Result<(), ArchiveError>,
    ) -> Result<(), ArchiveError> {
        for (place, segment) in self.segments().iter().enumerate() {
            let mut number = 0;
            for block in 0..segment.blocks() {
                for record in self.block(place, block)?.records_from(0)? {
                    let index_block = number / u64::from(segment.index_records);
                    visit(
                        segment.first_index_block + index_block,
                        position_key(record.position()),
                    )?;
                    number += 1;
                }
            }
        }
        Ok(())
    }

    /// All entries of the index.
    fn entries(&self, index: &BlockIndex) -> Result<IndexEntries, ArchiveError> {
        let mut entries = IndexEntries::new(self.memory() / 8);
        for bucket in 0..index.buckets() {
            index.each(bucket, |cut, block| Ok(entries.push((index.aligned(cut), block))?))?;
        }
        Ok(entries)
    }
}

/// Stands for all entries of an index, in whatever order and however often each came.
fn digest(entries: IndexEntries) -> Result<blake3::Hash, ArchiveError> {
    let mut hasher = blake3::Hasher::new();
    entries.finish(|(key, block)| {
        hasher.update(&key.to_le_bytes());
        hasher.update(&block.to_le_bytes());
        Ok::<(), ArchiveError>(())
    })?;
    Ok(hasher.finalize())
}

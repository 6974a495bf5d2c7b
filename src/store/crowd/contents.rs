//! What the chunks of a position hold all together.

use crate::store::block::{Bucket, Damage, Stub};
use crate::store::schema::Digest;

/// What is wrong when chunks hold something else than was announced.
pub(super) const OTHER_RECORDS: &str = "its block announces other records than there are";

/// What the chunks of a position hold: as its stub announces it, or as it was found.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub(in crate::store) struct CrowdContents {
    /// Rows; a stub does not announce their number.
    pub(in crate::store) chunks: u64,
    records: u64,
    bytes: u64,
    first_crc: u32,
    /// Sum of the digests of the rows.
    pub(in crate::store) digest: Digest,
}

impl CrowdContents {
    /// What a stub announces.
    pub(super) fn of_stub(stub: &Stub) -> CrowdContents {
        let Stub { records, bytes, first_crc, digest, .. } = *stub;
        CrowdContents { chunks: 0, records, bytes, first_crc, digest }
    }

    /// Counts a chunk, its records apart.
    pub(super) fn add_chunk(&mut self, row_key: &[u8], bytes: &[u8], bucket: &Bucket) {
        if self.chunks == 0 {
            self.first_crc = bucket.crc();
        }
        self.chunks += 1;
        self.digest.add(Digest::of_chunk(row_key, bytes));
    }

    /// Counts a record.
    pub(super) fn add_record(&mut self, record: &[u8]) {
        self.records += 1;
        self.bytes += record.len() as u64;
    }

    /// Whether the first chunk is the announced one.
    pub(super) fn begins_as(&self, announced: &CrowdContents) -> bool {
        self.first_crc == announced.first_crc
    }

    /// Whether what was found is what is announced.
    pub(super) fn agrees_with(&self, announced: &CrowdContents) -> bool {
        CrowdContents { chunks: announced.chunks, ..*self } == *announced
    }

    /// Holds what was found against what is announced.
    pub(super) fn compare(&self, announced: &CrowdContents) -> Result<(), Damage> {
        if self.agrees_with(announced) { Ok(()) } else { Err(Damage(OTHER_RECORDS)) }
    }
}

//! What a bucket holds: records, and stubs of crowded positions.

use super::bytes::WORD;
use crate::store::schema::Digest;

/// What an entry holds.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(in crate::store) enum Payload<'a> {
    /// An encoded record.
    Record(&'a [u8]),
    /// The records of this position are in the table of crowded positions.
    Stub(Stub<'a>),
}

/// What a block keeps of a crowded position.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(in crate::store) struct Stub<'a> {
    /// The packed identity board.
    pub(in crate::store) board: &'a [u8],
    pub(in crate::store) records: u64,
    /// Sum of the lengths of the encoded records.
    pub(in crate::store) bytes: u64,
    /// The checksum that the first chunk carries.
    pub(in crate::store) first_crc: u32,
    /// Sum of the digests of the chunks.
    pub(in crate::store) digest: Digest,
}

impl Stub<'_> {
    /// That of a position without a board or a record.
    pub(in crate::store) const EMPTY: Stub<'static> =
        Stub { board: &[], records: 0, bytes: 0, first_crc: 0, digest: Digest(0) };
}

/// What follows the board of a stub.
const STUB_TAIL: usize = 8 + 8 + 4 + 16;

/// One entry of a bucket.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(in crate::store) struct BucketEntry<'a> {
    pub(in crate::store) fingerprint: u8,
    /// 0 for a stub.
    pub(in crate::store) import_number: u64,
    pub(in crate::store) payload: Payload<'a>,
}

impl Payload<'_> {
    /// How many bytes the entry takes in a bucket, its share of the bucket's frame included.
    pub(in crate::store) fn entry_len(&self, width: u8) -> usize {
        let own = match self {
            Payload::Record(record) => record.len() + if record.len() < 255 { 0 } else { WORD },
            Payload::Stub(stub) => 1 + stub.board.len() + STUB_TAIL,
        };
        2 + usize::from(width) + own
    }
}

/// The bytes that an import number below `next` takes, at least one.
pub(in crate::store) fn width_of(next: u64) -> u8 {
    (u64::BITS - next.saturating_sub(1).leading_zeros()).div_ceil(8).max(1) as u8
}

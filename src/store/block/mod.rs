//! Blocks: the entries of all positions whose keys fall into one part of the key space, sorted by
//! key. The format is `formats/store.md`.
//!
//! A block is divided once more into buckets of about [`ENTRIES_PER_BUCKET`](super::schema::ENTRIES_PER_BUCKET) entries, which a
//! directory finds without a search. A bucket carries one byte of every entry's key and one
//! checksum over all it holds; so a lookup touches a directory line and one bucket, and a checksum
//! costs a third of a byte an entry.

mod bucket;
mod bytes;
mod entry;
mod view;
mod write;

pub(super) use bucket::{Bucket, BucketCursor, BucketId, BucketWriter};
pub(super) use bytes::{Damage, range_in};
pub(super) use entry::{BucketEntry, Payload, Stub, width_of};
pub(super) use view::{Block, BlockShape, KeySlot};
pub(super) use write::BlockWriter;

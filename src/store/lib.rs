//! The store: a multiset of EPD records in one file, found by position.
//!
//! This crate may change with every version: programs rely on the crate `epdb`, or on `epdb-chess`.
//!
//! A [`Store`] holds records in the order of their import. It finds the records of a position
//! regardless of counters, castling dialect and superfluous en passant squares. It compares packed
//! boards, because two positions can have equal keys. Nothing that fails its checksum is returned.
//! The file format is `formats/store.md`.
//!
//! - One process may have a store open for writing. A second writer gets [`StoreError::InUse`] at
//!   once. On Linux and macOS, any number of processes may have the store open for reading at the
//!   same time; elsewhere, one process writes or others read.
//! - A [`Reader`] sees the last commit before it was made. A writer does not reuse the space of a
//!   commit that a reader sees. So a reader that is kept while another process imports much makes the
//!   file grow: replace it when it is no longer current ([`Reader::is_current`]).
//! - A process that reads never changes the file. A store whose writer died is repaired by the next
//!   writer; until then, readers use a temporary copy.
//! - A process that opens a store for reading only maps the file. A forked child may use the readers
//!   of its parent while the parent has them. To make a reader, it must open the store itself.
//! - An [`Importer`] collects records in batches. What does not fit into memory waits in sorted runs, in a
//!   file beside the store, until a merge at the end writes each block once. Records in runs survive the
//!   death of the process, and an interrupted import can be continued.
//! - [`StoreOptions::memory_bytes`] bounds the memory of a store.
//!
//! The store uses the database redb, which panics if a damaged file breaks its invariants. Such a
//! panic is caught and becomes [`StoreError::Damaged`]. The first use of a store replaces the panic
//! hook. The new hook does not print such panics, and passes all other panics to the previous hook.

mod block;
mod error;
mod file;
mod findings;
mod import;
mod journal;
mod kept_games;
mod ledger;
mod open;
mod options;
mod overflow;
mod overlay;
mod pages;
mod read;
mod recognise;
mod runs;
mod schema;
mod settings;
mod verify;

use block::{Block, Damage, KeySlot, Payload};
use overflow::{open_chunk, split_chunk_key};
use runs::WaitingRuns;
use schema::{Access, Meta};

pub use error::StoreError;
pub use file::MAGIC;
pub use findings::VerifyFinding;
pub use import::{
    AnalysisCounts, ImportConflict, ImportOptions, ImportReport, Importer, OnDuplicate, Same,
};
pub use journal::{Checkpoint, ImportCounts, ImportInfo, ImportState, SourceDigest};
pub use open::Store;
pub use options::StoreOptions;
pub use pages::{CommitId, last_commit};
pub use read::{ByImport, ByKey, EncodedRecord, Matches, Reader, StoreStats, StoredRecord};
pub use recognise::Recognised;
pub use settings::{difference, settings_of};
pub use verify::{verify, waiting_records};

/// For fuzzing: reads bytes as a row of each table, in every way that a reader does. An accepted
/// row of the meta table or of the journal must be written back unchanged.
///
/// # Panics
/// If a row is written back changed.
#[doc(hidden)]
pub fn any_row(bytes: &[u8]) {
    if let Ok(meta) = Meta::from_bytes(bytes, Access::Write) {
        assert_unchanged(&meta.to_bytes(), bytes, 12..16);
    }
    if let Ok(line) = ImportInfo::from_bytes(0, bytes) {
        assert_unchanged(&line.to_bytes(), bytes, 4..8);
        assert!(!line.to_string().is_empty());
    }
    let commit = bytes.get(16..).and_then(|rest| rest.first_chunk());
    let commit = commit.map_or(0, |commit| u64::from_le_bytes(*commit));
    let meta = Meta { imports: u64::MAX, commit, ..Meta::EMPTY };
    if let Ok(waiting) = WaitingRuns::from_bytes(bytes, &meta) {
        assert_unchanged(&waiting.to_bytes(&meta), bytes, 0..4);
    }
    split_chunk_key(bytes);
    read_block(bytes).ok();
    if let Ok(bucket) = open_chunk(0, bytes) {
        bucket.entries().for_each(drop);
    }
}

/// Compares rows except for their checksums, which match any bytes while fuzzing.
fn assert_unchanged(written: &[u8], read: &[u8], checksum: std::ops::Range<usize>) {
    assert_eq!(written[..checksum.start], read[..checksum.start]);
    assert_eq!(written[checksum.end..], read[checksum.end..]);
}

fn read_block(bytes: &[u8]) -> Result<(), Damage> {
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

//! The store: a multiset of EPD records in one file, found by position.
//!
//! A [`Store`] holds records in the order of their import. It finds the records of a position
//! regardless of counters, castling dialect and superfluous en passant squares. It compares packed
//! boards, because two positions can have equal keys. Nothing that fails its checksum is returned.
//! The file format is `formats/store.md`.
//!
//! - One process may have a store open for writing, or many for reading only; any other gets
//!   [`StoreError::InUse`] at once. In the writing process, any number of [`Reader`]s each see the
//!   state that was committed when they were made.
//! - To read for a long time while other processes write, read a copy of the store ([`copy_snapshot`]).
//! - An [`Importer`] writes and commits in batches. Committed records survive the death of the
//!   process, and an interrupted import can be continued.
//! - [`StoreOptions::memory_bytes`] bounds the memory of a store.
//!
//! redb, the database underneath, asserts the invariants of a sound file. A panic that a damaged
//! file causes there is caught and becomes [`StoreError::Damaged`]. The first use of a store wraps
//! the panic hook, so that such a panic is not printed; all other panics are passed on.

mod any_row;
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
mod schema;
mod snapshot;
mod verify;

#[doc(hidden)]
pub use any_row::any_row;
pub use error::StoreError;
pub use file::MAGIC;
pub use findings::VerifyFinding;
pub use import::{ImportConflict, ImportOptions, ImportReport, Importer, OnDuplicate, Same};
pub use journal::{Checkpoint, ImportCounts, ImportInfo, ImportState, SourceDigest};
pub use open::Store;
pub use options::StoreOptions;
pub use read::{ByImport, ByKey, EncodedRecord, Matches, Reader, StoreStats, StoredRecord};
pub use recognise::Recognised;
#[cfg(feature = "source")]
pub(crate) use snapshot::close_copy;
pub use snapshot::{copy_snapshot, is_being_written};
pub use verify::verify;

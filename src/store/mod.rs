//! The store: a multiset of EPD records in one file, found by position.
//!
//! A [`Store`] holds records in the order in which they were imported and finds those of a
//! position without regard to counters, castling dialect and superfluous en passant squares. Equal
//! keys are never taken for equal positions: packed boards are compared. Nothing that fails its
//! checksum is returned. The file format is `formats/store.md`.
//!
//! - One process may have a store open for writing, or many for reading only; any other gets
//!   [`StoreError::InUse`] at once. In the process that writes, any number of [`Reader`]s see what
//!   was committed when they were made.
//! - Who reads for long beside writers of other processes reads a copy of the store ([`copy_snapshot`]).
//! - Writing goes through an [`Importer`], which commits in batches. What was committed survives
//!   the death of the process, and an import that was interrupted can be continued.
//! - [`StoreOptions::memory_bytes`] bounds the memory that a store takes.
//!
//! redb, the database underneath, asserts what a sound file guarantees. A panic that a damaged
//! file causes there is caught and becomes [`StoreError::Damaged`]; so that it is not printed,
//! the first use of a store wraps the panic hook, which passes all other panics on.

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

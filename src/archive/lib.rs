//! The archive: an immutable file of millions of records, in about a tenth of the space of their
//! text. To read any record, only one block is decoded. The format is `formats/archive.md`.
//!
//! This crate may change with every version: programs rely on the crate `epdb`, or on `epdb-chess`.
//!
//! [`ArchiveWriter`] packs records; [`Archive`] reads them by number, by position, or all in order.
//!
//! Modules. Each imports only modules that are below it in this list:
//!
//! - `reader` and `writer`: the whole file, at any level; `verbatim`: the data from which verbatim
//!   archives restore their input; `kept_games`: the games that positions list; `coded_blocks`: a
//!   segment that other threads code while the writer goes on; `options`: those of writing;
//! - `rows`: level fast, with rows of fixed size; `blocks`: level default, with blocks that are
//!   coded by a model;
//! - `tree`: the model of positions; `operations`: the model of operations; `columns`: a record's
//!   position as the columns that are coded; `move_links`: the moves between rows;
//! - `rans` and `adaptive`: the two entropy coders;
//! - `damage`: the records that are lost because a part is damaged;
//! - `file`: header, sections, checksums and bytes of a file.

mod about;
mod adaptive;
mod blocks;
mod coded_blocks;
mod columns;
mod damage;
mod error;
mod file;
mod game_digests;
mod index_entries;
mod kept_games;
mod move_links;
mod numbered_column;
mod operations;
mod options;
mod rans;
mod reader;
mod rows;
mod tree;
mod verbatim;
mod writer;

pub use about::About;
pub use damage::{Damage, DamagedPart, Salvaged};
pub use epdb_chess::codec::query::{Select, Selected};
pub use error::ArchiveError;
pub use file::HEADER_MAGIC as MAGIC;
pub use file::ranges::ReadRanges;
pub use file::ranges::pages;
pub use options::{Level, PackOptions, SortedSizes};
pub use reader::{Archive, ArchivePart, ArchiveRecords, Match, Matches};

#[cfg(not(target_family = "wasm"))]
pub use tree::SHIPPED_MODEL;
pub use tree::position_model;
#[cfg(target_family = "wasm")]
pub use tree::{lacks_shipped_model, set_shipped_model};
pub use verbatim::{Restored, SalvagedFile};
pub use writer::{ArchiveWriter, Packed};

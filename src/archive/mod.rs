//! The archive: an immutable file of millions of records in a tenth of the space of their text,
//! each of them one block away. The format is `formats/archive.md`.
//!
//! [`ArchiveWriter`] packs records; [`Archive`] reads them by number, by position, or all in order.

mod adaptive;
mod blocks;
mod error;
mod file;
mod index_entries;
mod operations;
mod rans;
mod reader;
mod row;
mod rows;
mod scan;
mod side;
mod training;
mod tree;
mod writer;

pub use error::ArchiveError;
pub use file::layout::HEADER_MAGIC as MAGIC;
pub use reader::{Archive, ArchivePart, ArchiveRecords, Match, Matches};
pub use side::Restored;
pub use training::position_model;
pub use writer::{ArchiveWriter, Level, PackOptions};

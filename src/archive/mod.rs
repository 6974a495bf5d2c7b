//! The archive: an immutable file of millions of records in a tenth of the space of their text,
//! each of them one block away. The format is `formats/archive.md`.
//!
//! [`ArchiveWriter`] packs records; [`Archive`] reads them by number, by position, or all in order.
//!
//! The rooms, each of which imports only those below it:
//!
//! - `reader` and `writer`: the whole file, whatever its level; `side`, what verbatim archives keep;
//!   `kept_games`, the games that positions list;
//! - `rows`: level fast, rows of fixed size; `blocks`: level default, blocks under a model;
//! - `tree`: the model of positions; `mixing`: that of level max; `operations`: the model of operations;
//!   `row`: a record's position as the columns that are coded; `chain`: rows that follow each other by
//!   moves;
//! - `rans` and `adaptive`: the two entropy coders;
//! - `file`: headers, sections, checks and the bytes of a file.

mod adaptive;
mod blocks;
mod chain;
mod error;
mod file;
mod index_entries;
mod kept_games;
mod mixing;
mod numbered_column;
mod operations;
mod rans;
mod reader;
mod rounded_count;
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

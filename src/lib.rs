//! epdb turns EPD and FEN lines into compact binary records, keeps them in an index keyed by
//! position, finds them by position, and writes them back as canonical text.
//!
//! # The rooms
//!
//! Each imports only those below it, store and archive not each other, and the feature in parentheses adds it with what it stands on.
//! Who writes `default-features = false` has positions, text and codec, and builds neither a database
//! nor a compressor.
//!
//! - `cli`, the program of this package and no part of the library: arguments, printing, exit statuses; a
//!   file a command (`cli`, on by default).
//! - [`server`]: libraries over HTTP: the dialects of explorers and a page, within limits for who asks
//!   (`server`, on by default).
//! - [`referee`]: tournaments: settings, pairings, openings, adjudication, standings; the messages of
//!   referee and clients ([`referee::wire`]), the arbiter and its log, servers and clients (`referee`).
//! - [`engine`]: UCI engines as child processes: options, searches with limits and time-outs, scores and
//!   moves as records say them; several at once over many records, with a journal (`engine`).
//! - [`report`]: what a finished suite says: runs of engines counted, tested against each other, and
//!   shown (`library`).
//! - [`library`]: what keepers of openings and suites do with positions: [`library::field`], what a
//!   record says under a name, for tables, sorting and [`library::expression`]; sets, joins,
//!   differences, samples, edits, counts; [`library::lookup`], questions in batches;
//!   [`library::names`], names of openings; [`library::repertoire`], lines by position;
//!   [`library::kit`], commands on a position, line by line (`library`).
//! - [`source`]: any file or stream as records and games in order, and the way back: formats and
//!   compressions (`source/format.rs`, `source/input.rs`, `source/output.rs`), [`source::Source`] and
//!   [`source::Target`]; [`source::Lookup`], which stores and archives answer alike (`source`).
//! - [`store`]: a file of records found by position, which grows: blocks, overflow positions, imports
//!   and their journal, reading, verifying (`store`).
//! - [`archive`]: an immutable, memory-mapped file of records, smaller than any other: its sections,
//!   the levels, the models, the entropy coders, the indexes of positions (`archive`).
//! - [`codec`]: bytes: packed boards, position keys, move ordinals, binary records and streams of
//!   them, games in PGC, Polyglot's opening books.
//! - [`text`]: FEN, EPD, SAN and PGN: grammar to model and back, profiles, diagnostics with places;
//!   the rules for the tags of games (`text/pgn/tags.rs`).
//! - [`model`]: values and their invariants: positions, moves, records, the table of opcodes, games;
//!   the rules of chess, and those of merging two records.
//! - Without chess: [`spill`], sorting more than memory holds; [`new_file`], files that appear
//!   complete or not at all; [`error`], the one error of the crate.
//!
//! Two features add no module: `serde`, values as serde's data, and `shakmaty`, conversions from and to
//! the types of shakmaty, which `syzygy` needs too (tablebases for the referee, on by default).
//!
//! Where a new opcode, column, format or section goes stands in `.github/CONTRIBUTING.md`; the bytes
//! of each format, in `formats/`.
//!
//! # Words
//!
//! - *Record*: a position with its operations, as a line of EPD has them. *Operation*: an opcode with
//!   its operands.
//! - *Identity* of a position: placement, side to move, castling rights and the en passant square where
//!   a capture is legal; what positions are compared and found by. *Key*: its 64-bit Polyglot hash;
//!   two positions may share one.
//! - *Move ordinal*: the place of a move in the list of legal moves in ASCII order of their SAN.
//! - *Stream*: records in checksummed *frames* (`.epb`). *Store*: records in *blocks* by key (`.epdb`);
//!   an *overflow* position has more records than a block takes; the *journal* says what was imported and
//!   how far. *Archive*: records in *segments* (`.epa`), each of *rows* (level fast) or of *blocks*
//!   under a *model* (levels default and max).
//! - *Import number*, *record number*: the place of a record in the order in which records came.

/// The examples of the README run as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(feature = "archive")]
pub mod archive;
pub mod codec;
#[cfg(feature = "engine")]
pub mod engine;
#[cfg(any(feature = "store", feature = "archive"))]
mod equal_bytes;
pub mod error;
#[cfg(feature = "library")]
pub mod library;
pub mod model;
#[cfg(any(feature = "store", feature = "archive"))]
pub mod new_file;
#[cfg(any(feature = "store", feature = "archive"))]
mod prefetch;
#[cfg(feature = "referee")]
pub mod referee;
#[cfg(feature = "library")]
pub mod report;
#[cfg(feature = "server")]
pub mod server;
#[cfg(test)]
#[path = "../tests/support/skipped.rs"]
mod skipped;
#[cfg(feature = "source")]
pub mod source;
#[cfg(any(feature = "store", feature = "archive"))]
pub mod spill;
#[cfg(any(feature = "store", feature = "archive"))]
mod spread;
#[cfg(feature = "store")]
pub mod store;
pub mod text;

pub use error::Error;

/// Reads one EPD or FEN line in the lenient profile; warnings are dropped
/// ([`text::epd::parse_line`] gives them).
///
/// # Errors
/// Why the line is no record. A blank line or a comment is none.
///
/// ```
/// let record = epdb::parse_epd(b"8/8/8/4k3/8/1K6/8/8 b - - bm Ke6 Ke4;")?;
/// assert_eq!(epdb::format_epd(&record), b"8/8/8/4k3/8/1K6/8/8 b - - bm Ke4 Ke6;");
/// # Ok::<(), epdb::text::Diagnostic>(())
/// ```
pub fn parse_epd(line: &[u8]) -> Result<model::EpdRecord, text::Diagnostic> {
    text::fen::parse(line, text::Profile::Lenient)
}

/// Writes a record in canonical form, without line end.
pub fn format_epd(record: &model::EpdRecord) -> Vec<u8> {
    let mut line = Vec::new();
    text::epd::format(record, &text::FormatOptions::default(), &mut line);
    line
}

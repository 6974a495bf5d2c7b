//! epdb turns EPD and FEN lines into compact binary records, keeps them in an index keyed by
//! position, finds them by position, and writes them back as canonical text.
//!
//! The rooms, each of which imports only those below it, and the feature that adds them:
//!
//! - `cli`: the command line tool (`cli`, the default);
//! - [`library`]: what keepers of openings and suites do with positions (`library`);
//! - [`source`]: any file or stream, of any format and compression, as records and games in order,
//!   and the way back (`source`);
//! - [`store`]: a file of records found by position (`store`);
//! - [`archive`]: an immutable, memory-mapped file of records, smaller than any other (`archive`);
//! - [`codec`]: bytes; packed boards, position keys, move ordinals, binary records, games in PGC;
//! - [`text`]: FEN, EPD, SAN and PGN; grammar to model and back, diagnostics with places;
//! - [`model`]: positions, moves, records, games and the rules of chess.
//!
//! Below all of them, and without chess: [`error`], the one error of the crate; [`spill`], sorting
//! more than memory holds; and [`new_file`], files that appear complete or not at all.
//!
//! A user of positions, text and codec writes `default-features = false` and builds neither a
//! database nor a compressor; each feature brings those that it stands on.

/// The examples of the README run as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(feature = "archive")]
pub mod archive;
#[cfg(feature = "cli")]
pub mod cli;
pub mod codec;
pub mod error;
#[cfg(feature = "library")]
pub mod library;
pub mod model;
#[cfg(any(feature = "store", feature = "archive"))]
pub mod new_file;
#[cfg(feature = "source")]
pub mod source;
#[cfg(any(feature = "store", feature = "archive"))]
pub mod spill;
#[cfg(feature = "store")]
pub mod store;
pub mod text;

pub use error::Error;

/// Reads one EPD or FEN line in the lenient profile; warnings are dropped
/// ([`text::epd::read_line`] gives them).
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
    text::fen::read(line, text::Profile::Lenient)
}

/// Writes a record in canonical form, without line end.
pub fn format_epd(record: &model::EpdRecord) -> Vec<u8> {
    let mut line = Vec::new();
    text::epd::write(record, &text::WriteOptions::default(), &mut line);
    line
}

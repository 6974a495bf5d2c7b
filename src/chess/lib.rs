//! Chess positions with annotations (EPD, FEN) and games (PGN): values, text, and compact bytes.
//!
//! - [`model`]: positions, moves, records, opcodes, tallies, games; the rules of chess.
//! - [`text`]: FEN, EPD, SAN and PGN: parsers, writers, profiles, diagnostics with line and column.
//! - [`codec`]: packed boards, position keys, move ordinals, records, streams, games (PGC), books of
//!   Polyglot.
//! - [`error`]: the error of functions that work with files, and places in sources.
//!
//! A module imports only modules above it in this list, and `error`. Start with [`parse_epd`] and
//! [`format_epd`].
//!
//! ```
//! use epdb_chess::codec::key::position_key;
//!
//! let record = epdb_chess::parse_epd(b"8/8/8/4k3/8/1K6/8/8 b - - bm Ke6 Ke4;")?;
//! let position = epdb_chess::parse_epd(b"8/8/8/4k3/8/1K6/8/8 b - -")?;
//! assert_eq!(position_key(record.position()), position_key(position.position()));
//! assert_eq!(epdb_chess::format_epd(&record), b"8/8/8/4k3/8/1K6/8/8 b - - bm Ke4 Ke6;");
//! # Ok::<(), epdb_chess::text::Diagnostic>(())
//! ```

pub mod codec;
pub mod error;
pub mod model;
#[doc(hidden)]
pub mod simd;
#[cfg(test)]
#[path = "../../tests/support/skipped.rs"]
mod skipped;
pub mod text;

pub use error::Error;

/// Parses one line of EPD or FEN in the lenient profile and drops warnings.
/// [`text::epd::parse_line`] returns the warnings too.
///
/// # Errors
/// The first error of the line. A blank line or a comment is an error too.
///
/// ```
/// let record = epdb_chess::parse_epd(b"8/8/8/4k3/8/1K6/8/8 b - - bm Ke6 Ke4;")?;
/// assert_eq!(epdb_chess::format_epd(&record), b"8/8/8/4k3/8/1K6/8/8 b - - bm Ke4 Ke6;");
/// # Ok::<(), epdb_chess::text::Diagnostic>(())
/// ```
pub fn parse_epd(line: &[u8]) -> Result<model::EpdRecord, text::Diagnostic> {
    text::fen::parse(line, text::Profile::Lenient)
}

/// Formats a record in canonical form, without a line end.
pub fn format_epd(record: &model::EpdRecord) -> Vec<u8> {
    let mut line = Vec::new();
    text::epd::format(record, &text::FormatOptions::default(), &mut line);
    line
}

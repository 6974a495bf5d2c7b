//! epdb turns EPD and FEN lines into compact binary records, keeps them in an index keyed by
//! position, finds them by position, and writes them back as canonical text.
//!
//! The rooms, each of which imports only those below it:
//!
//! - [`library`]: what keepers of openings and suites do with positions;
//! - [`codec`]: bytes; packed boards, position keys, move ordinals, binary records;
//! - [`text`]: FEN, EPD and SAN; grammar to model and back, diagnostics with places;
//! - [`model`]: positions, moves, records and the rules of chess.

pub mod codec;
pub mod library;
pub mod model;
pub mod text;

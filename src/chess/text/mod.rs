//! Text formats: parsers and writers of FEN, EPD, SAN and PGN; profiles (the tolerance of parsers);
//! and diagnostics with their places.
//!
//! This module reads no files and no binary formats.

mod charset;
pub mod codes;
mod diagnostic;
pub mod epd;
pub mod fen;
pub mod fields;
mod line;
pub mod lines;
mod options;
pub mod pgn;
pub mod purge;
pub mod san;
mod scan;
#[cfg(feature = "serde")]
mod serialize;
mod typography;

pub use diagnostic::{Diagnostic, Repair, Severity};
pub use line::{PositionLine, parse_moves};
pub use options::{
    CastlingForm, Compat, CounterForm, EnPassantForm, Format, FormatOptions, MateTargets,
    ParseOptions, Profile, ScoreView, Setting,
};

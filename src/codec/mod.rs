//! Bytes: packed boards, position keys, move ordinals, binary EPD records and streams of them, games
//! in PGC, opening books of Polyglot.
//!
//! The pages under `formats/` are the law for what is written here. Nothing in this module knows
//! a store; no length read from bytes is believed before it is checked against the bytes that are
//! there.

pub mod error;
pub mod identity;
pub mod item;
#[cfg(any(feature = "store", feature = "archive"))]
pub mod kept_game;
pub mod key;
pub mod ordinal;
pub mod packed;
pub mod pgc;
pub mod polyglot;
pub mod query;
pub mod record;
pub mod stream;
pub mod tally_origin;

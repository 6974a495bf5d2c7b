//! Binary formats: packed boards, position keys, move ordinals, binary EPD records and streams of
//! them, games in PGC, and opening books of Polyglot.
//!
//! The pages under `formats/` define what is written here. This module does not depend on stores. A
//! length that is read from bytes is checked against the bytes that follow before it is used.

pub mod error;
pub mod identity;
pub mod item;
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
pub mod tally_settings;

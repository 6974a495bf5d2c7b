//! The operations of a block of records, coded one after the other by an adaptive model. Each block
//! starts with the initial model of the segment, or with the default one.
//!
//! Moves are coded as ordinals among the legal moves. Integers and names are coded in the context
//! of the previous record's integers and names. Texts that can be derived from other texts of the
//! record take nearly no bytes.
// Coded as one of the legal moves, a move takes 5.2 bits before adaptation; a byte-oriented model
// of ordinals took 6.0. Columns of opcodes and integers, each with its own adaptive models, brought
// test suites to a quarter of what xz takes.

mod block;
mod cost;
mod field;
mod initial_model;
mod integers;
mod lanes;
mod lazy_text;
mod lists;
mod opcodes;
mod record;
mod tallies;
mod text;
mod text_kinds;

pub(super) use block::{MAX_BLOCK, decode, encode};
pub(super) use initial_model::InitialModel;
pub(super) use lazy_text::PositionOf;
pub(super) use record::Subject;

//! The operations of a block of records, coded one after the other by a model that starts anew in
//! each block.
//!
//! Moves are ordinals under the number of legal moves, integers and names are coded by those of
//! the record before, and texts that follow from other texts of the record cost next to nothing.

mod block;
mod cost;
mod field;
mod form;
mod lists;
mod opcodes;
mod record;
mod text;
mod text_forms;

pub(super) use block::{MAX_BLOCK, decode, encode};

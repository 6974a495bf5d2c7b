//! The operations of a block of records, coded one after the other by a model that starts in
//! each block as the segment says, or anew.
//!
//! Moves are ordinals under the number of legal moves, integers and names are coded by those of
//! the record before, and texts that follow from other texts of the record cost next to nothing.

mod block;
mod cost;
mod field;
mod form;
mod integers;
mod lanes;
mod late;
mod lists;
mod opcodes;
mod record;
mod root;
mod start;
mod tallies;
mod text;
mod text_forms;

pub(super) use block::{MAX_BLOCK, decode, encode};
pub(super) use record::Subject;
pub(super) use root::PositionOf;
pub(super) use start::OperationStart;

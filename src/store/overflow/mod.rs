//! Overflow positions: those with so many records that they leave their block. Their records stand
//! in chunks, the rows of a table of their own, and the block keeps a stub, which announces what
//! the chunks hold. The format is `formats/store.md`.

mod check;
mod chunk;
mod read;
mod write;

pub(super) use check::OverflowCheck;
pub(super) use chunk::{PositionId, open_chunk, split_chunk_key};
pub(super) use read::OverflowRecords;
pub(super) use write::{Action, OverflowTable};

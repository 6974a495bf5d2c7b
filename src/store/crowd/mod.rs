//! Crowded positions: those with so many records that they leave their block. Their records stand
//! in chunks, the rows of a table of their own, and the block keeps a stub, which announces what
//! the chunks hold. The format is `formats/store.md`.

mod check;
mod chunk;
mod contents;
mod position;
mod read;
mod write;

pub(super) use check::CrowdCheck;
pub(super) use chunk::open_chunk;
pub(super) use position::{PositionId, split_chunk_key};
pub(super) use read::CrowdRecords;
pub(super) use write::{Action, CrowdTable};

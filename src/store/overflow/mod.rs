//! Overflow positions, which have more records than fit into a block. Their records are in chunks,
//! the rows of another table. The block keeps a stub, which has counts and digests of the chunks. The
//! format is `formats/store.md`.
// Without this table a frequent position, such as that of a thousand games, would make its block grow
// without bound, and every lookup of a neighbouring key and every import would read and rewrite all of
// it. Chunks are keyed by the first import number, so an import rewrites only the last one.

mod check;
mod chunk;
mod read;
mod write;

pub(super) use check::OverflowCheck;
pub(super) use chunk::{PositionId, open_chunk, split_chunk_key};
pub(super) use read::OverflowRecords;
pub(super) use write::{Action, OverflowTable};

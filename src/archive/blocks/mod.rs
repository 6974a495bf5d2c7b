//! Level default: blocks of records under a model of their positions, and the index that leads from
//! position keys to blocks.

mod bits;
mod block;
mod build;
mod coder;
mod coder_cache;
mod directory;
mod index;
mod lookup;
mod reader;
mod segment;
mod text;
mod verify;

pub(super) use build::BlockSegmentBuilder;
pub(super) use index::write_index;
pub(super) use lookup::{BlockMatch, BlockMatches};
pub(super) use reader::BlockReader;
pub(super) use segment::BlockSegment;

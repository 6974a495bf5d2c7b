//! Level default: blocks of records under a model of their positions, and the index that leads from
//! position keys to blocks.

mod bits;
mod block;
mod build;
mod coder;
mod directory;
mod encoder;
mod index;
mod lookup;
mod order;
mod ordered;
mod pawn_entries;
mod reader;
mod segment;
mod segment_cache;
mod separators;
mod sort;
mod text;
mod verify;
mod window;

pub(super) use build::{BlockSegmentBuilder, MOST_MIXED_RECORDS, Mixing};
pub(super) use index::write_index;
pub(super) use lookup::{BlockMatch, BlockMatches};
pub(super) use pawn_entries::PawnEntries;
pub(super) use reader::BlockReader;
pub(super) use segment::BlockSegment;
pub(super) use sort::Arrangement;

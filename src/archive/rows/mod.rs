//! Level fast: records as rows of fixed size, and what finds them by position key: the `index` of rows
//! in any order, the `directory` of sorted ones with a `guide` to them.

mod build;
mod directory;
mod guide;
mod index;
mod reader;
mod row;
mod segment;
mod verify;

pub(super) use build::RowSegmentBuilder;
pub(super) use directory::{BuiltDirectory, DirectoryBuilder, DirectoryLines, Further};
pub(super) use index::{MAX_RECORDS, write_index};
pub(super) use reader::{IndexSections, RowMatches, RowReader};
pub(super) use segment::{RowRef, RowSegment};

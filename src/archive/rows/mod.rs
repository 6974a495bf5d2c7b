//! Level fast: records as rows of fixed size, and their position indexes: the `index` of rows in any
//! order, and the `directory` of sorted rows with its guide.

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

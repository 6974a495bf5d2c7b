//! Level fast: records as rows of fixed size, and the table that finds them by position key.

mod build;
mod index;
mod reader;
mod row;
mod segment;
mod verify;

pub(super) use build::RowSegmentBuilder;
pub(super) use index::{MAX_RECORDS, write_index};
pub(super) use reader::{IndexSections, RowMatches, RowReader};
pub(super) use segment::{RowRef, RowSegment};

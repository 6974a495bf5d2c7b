//! Which records of a file a segment has.

use super::layout::SegmentEntry;
use crate::archive::error::ArchiveError;

/// The records of a segment.
#[derive(Copy, Clone, Debug)]
pub(in crate::archive) struct Span {
    /// The number of the first.
    pub(in crate::archive) first: u64,
    pub(in crate::archive) records: u32,
    /// What the checks of the rows or blocks of the segment begin with.
    pub(in crate::archive) identity: u32,
}

impl Span {
    /// The records of an entry of the segment table.
    pub(in crate::archive) const fn of(entry: &SegmentEntry) -> Span {
        Span {
            first: entry.first_record.get(),
            records: entry.records.get(),
            identity: entry.identity.get(),
        }
    }

    /// The number behind the last.
    pub(in crate::archive) fn end(&self) -> u64 {
        self.first + u64::from(self.records)
    }
}

/// The place of the segment that has a record, among segments in their order.
///
/// # Errors
/// There are not so many records.
#[inline]
pub(in crate::archive) fn place_of<S>(
    segments: &[S],
    span: impl Fn(&S) -> &Span,
    number: u64,
) -> Result<usize, ArchiveError> {
    let records = segments.last().map_or(0, |segment| span(segment).end());
    if number >= records {
        return Err(ArchiveError::NoRecord { number, records });
    }
    Ok(segments.partition_point(|segment| span(segment).first <= number) - 1)
}

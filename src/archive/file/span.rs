//! The range of records of a segment.

use super::layout::SegmentEntry;
use crate::archive::error::ArchiveError;

/// The records of a segment.
#[derive(Copy, Clone, Debug)]
pub(in crate::archive) struct Span {
    /// Number of the first record.
    pub(in crate::archive) first: u64,
    pub(in crate::archive) records: u32,
    /// Identity that the checksums of the segment's rows or blocks cover.
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

    /// Number after the last record.
    pub(in crate::archive) fn end(&self) -> u64 {
        self.first + u64::from(self.records)
    }
}

/// The place of the segment that has a record, among segments in their order.
///
/// # Errors
/// [`ArchiveError::NoRecord`] if the number is too high.
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

//! Reading an archive of level fast: by number, in order, and by position.

use std::ops::Range;
use std::sync::Arc;

use super::index::{Candidates, RecordIndex};
use super::segment::{RowRef, RowSegment, SegmentRows};
use crate::archive::error::ArchiveError;
use crate::archive::file::bytes::FileBytes;
use crate::archive::file::sections::Section;
use crate::archive::file::span::place_of;
use crate::archive::scan::BoardMap;
use crate::codec::packed::PackedBoard;
use crate::codec::query::{Query, Visit};
use crate::model::EpdRecord;

/// Records whose text makes a piece.
const TEXT_STEP: u64 = 4096;
/// Records that are read at once by whoever reads on.
const READ_STEP: u64 = 64;
/// Queries that are looked up side by side.
const BATCH: usize = 64;

/// The records of an archive of level fast.
pub(in crate::archive) struct RowReader {
    bytes: Arc<FileBytes>,
    segments: Vec<RowSegment>,
    index: Option<IndexSections>,
    /// The homes of the index, which are checked once; `None` where they are damaged.
    homes: Option<u64>,
    /// What the checks of the index begin with.
    identity: u32,
}

/// Where the position index is.
#[derive(Copy, Clone, Debug)]
pub(in crate::archive) struct IndexSections {
    /// From positions to records.
    pub(in crate::archive) lines: Section,
    /// Lists of records of one key.
    pub(in crate::archive) lists: Section,
}

impl RowReader {
    pub(in crate::archive) fn new(
        bytes: Arc<FileBytes>,
        segments: Vec<RowSegment>,
        index: Option<IndexSections>,
        identity: u32,
    ) -> RowReader {
        let homes = index.and_then(|index| {
            RecordIndex::homes(index.lines.of(&bytes, "position index").ok()?, identity)
        });
        RowReader { bytes, segments, index, homes, identity }
    }

    pub(in crate::archive) fn has_index(&self) -> bool {
        self.index.is_some()
    }

    /// How many records there are.
    pub(super) fn len(&self) -> u64 {
        self.segments.last().map_or(0, |segment| segment.span.end())
    }

    /// The rows of the segment that has a record, and the number behind its last one.
    #[inline(always)]
    fn segment(&self, number: u64) -> Result<(SegmentRows<'_>, u64), ArchiveError> {
        let place = place_of(&self.segments, |segment| &segment.span, number)?;
        let segment = &self.segments[place];
        Ok((segment.open(&self.bytes, place)?, segment.span.end()))
    }

    #[inline(always)]
    fn row(&self, number: u64) -> Result<RowRef<'_>, ArchiveError> {
        self.segment(number)?.0.at(number)
    }

    pub(in crate::archive) fn record(&self, number: u64) -> Result<EpdRecord, ArchiveError> {
        self.row(number)?.record()
    }

    /// The first records of a range, at least one.
    pub(in crate::archive) fn records(
        &self,
        range: Range<u64>,
    ) -> Result<Vec<EpdRecord>, ArchiveError> {
        let (segment, end) = self.segment(range.start)?;
        let end = end.min(range.end).min(range.start + READ_STEP);
        let mut records = Vec::with_capacity((end - range.start) as usize);
        for number in range.start..end {
            match segment.at(number).and_then(|row| row.record()) {
                Ok(record) => records.push(record),
                Err(error) if records.is_empty() => return Err(error),
                Err(_) => break,
            }
        }
        Ok(records)
    }

    /// Appends the canonical text of a range, a line a record, and calls `visit` after each piece.
    pub(in crate::archive) fn each_text<E: From<ArchiveError>>(
        &self,
        range: Range<u64>,
        out: &mut Vec<u8>,
        visit: &mut impl FnMut(&mut Vec<u8>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut next = range.start;
        while next < range.end {
            let (segment, end) = self.segment(next)?;
            let end = end.min(range.end).min(next + TEXT_STEP);
            for number in next..end {
                segment.at(number)?.write_text(out)?;
                out.push(b'\n');
            }
            next = end;
            visit(out)?;
        }
        Ok(())
    }

    /// The index, if there is one.
    #[inline]
    pub(super) fn index(&self) -> Result<Option<RecordIndex<'_>>, ArchiveError> {
        let Some(IndexSections { lines, lists }) = self.index else { return Ok(None) };
        let lines = lines.of(&self.bytes, "position index")?;
        let lists = lists.of(&self.bytes, "lists of equal keys")?;
        let Some(homes) = self.homes else { return Err(ArchiveError::corrupt("position index")) };
        RecordIndex::new(lines, lists, homes, self.identity).map(Some)
    }

    /// The records of a position, one after the other.
    #[inline]
    pub(in crate::archive) fn matches(
        &self,
        query: &Query,
    ) -> Result<RowMatches<'_>, ArchiveError> {
        Ok(match self.index()? {
            Some(index) => self.matches_in(&index, query),
            None => {
                RowMatches { reader: self, rows: Rows::All(0..self.len()), board: *query.board() }
            }
        })
    }

    #[inline(always)]
    fn matches_in<'a>(&'a self, index: &RecordIndex<'a>, query: &Query) -> RowMatches<'a> {
        let rows = Rows::Candidates(index.candidates(query.key()));
        RowMatches { reader: self, rows, board: *query.board() }
    }

    /// Calls `visit` with the place of a query and each record of it.
    ///
    /// Queries are taken in batches. Their lines are brought near while the queries are made, then
    /// all their rows: what is asked for at once arrives at once, the translations of addresses
    /// included.
    pub(in crate::archive) fn get_batch<E: From<ArchiveError>>(
        &self,
        mut queries: impl Iterator<Item = Query>,
        visit: &mut impl FnMut(usize, RowRef<'_>) -> Result<Visit, E>,
    ) -> Result<(), E> {
        let Some(index) = self.index()? else { return self.scan(queries, visit) };
        let mut batch = Vec::with_capacity(BATCH);
        for first in (0..).step_by(BATCH) {
            batch.clear();
            let near = |query: &Query| index.prefetch_line(query.key());
            batch.extend(queries.by_ref().take(BATCH).inspect(near));
            batch.iter().for_each(|query| self.prefetch_row(&index, query));
            for (place, query) in (first..).zip(&batch) {
                let mut matches = self.matches_in(&index, query);
                if matches.visit(|row| visit(place, row))? == Visit::Stop {
                    return Ok(());
                }
            }
            if batch.len() < BATCH {
                break;
            }
        }
        Ok(())
    }

    /// Brings near the row that a query most likely leads to.
    #[inline(always)]
    fn prefetch_row(&self, index: &RecordIndex<'_>, query: &Query) {
        if let Some(number) = index.prefetch_likely(query.key())
            && let Ok(row) = self.row(number.into())
        {
            row.prefetch();
        }
    }

    /// As [`RowReader::get_batch`], where there is no index: goes through all records.
    fn scan<E: From<ArchiveError>>(
        &self,
        queries: impl Iterator<Item = Query>,
        visit: &mut impl FnMut(usize, RowRef<'_>) -> Result<Visit, E>,
    ) -> Result<(), E> {
        let mut wanted = BoardMap::of(queries);
        for number in 0..self.len() {
            let row = self.row(number)?;
            if wanted.is_empty() || !wanted.visit(&row.board()?, |place| visit(place, row))? {
                break;
            }
        }
        Ok(())
    }
}

/// The rows among which the records of a position are looked for.
enum Rows<'a> {
    /// Those whose key may be that of the position.
    Candidates(Candidates<'a>),
    /// All.
    All(Range<u64>),
}

/// The records of a position, found one after the other.
pub(in crate::archive) struct RowMatches<'a> {
    reader: &'a RowReader,
    rows: Rows<'a>,
    board: PackedBoard,
}

impl<'a> RowMatches<'a> {
    /// The next row that may be of the position. The one behind it is brought near where it is
    /// known.
    #[inline(always)]
    fn next_candidate(&mut self) -> Option<Result<RowRef<'a>, ArchiveError>> {
        let number = match &mut self.rows {
            Rows::Candidates(candidates) => {
                let number = candidates.next()?.map(u64::from);
                if let Some(Ok(row)) = candidates.next_of_list().map(|next| self.reader.row(next)) {
                    row.prefetch();
                }
                number
            }
            Rows::All(numbers) => Ok(numbers.next()?),
        };
        Some(number.and_then(|number| self.reader.row(number)))
    }

    /// Calls `visit` with each record.
    #[inline(always)]
    fn visit<E: From<ArchiveError>>(
        &mut self,
        mut visit: impl FnMut(RowRef<'a>) -> Result<Visit, E>,
    ) -> Result<Visit, E> {
        for row in self.by_ref() {
            match visit(row?)? {
                Visit::Continue => {}
                Visit::SkipQuery => break,
                Visit::Stop => return Ok(Visit::Stop),
            }
        }
        Ok(Visit::Continue)
    }
}

impl<'a> Iterator for RowMatches<'a> {
    type Item = Result<RowRef<'a>, ArchiveError>;

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let row = match self.next_candidate()? {
                Ok(row) => row,
                Err(error) => return Some(Err(error)),
            };
            match row.is_of(&self.board) {
                Ok(true) => {
                    if let Rows::Candidates(candidates) = &mut self.rows {
                        candidates.has_key();
                    }
                    return Some(Ok(row));
                }
                Ok(false) => {}
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

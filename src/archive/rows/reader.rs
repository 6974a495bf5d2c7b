//! Reading an archive of level fast: by number, in order, and by position.

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

use super::directory::{Bucket, RowDirectory};
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
/// Rows of a bucket that are looked at one after the other; of more the rest is bisected.
const SCANNED_ROWS: u64 = 16;

/// The records of an archive of level fast.
pub(in crate::archive) struct RowReader {
    bytes: Arc<FileBytes>,
    segments: Vec<RowSegment>,
    index: Option<IndexSections>,
    /// Whether the records are in the order of their keys.
    pub(super) is_sorted: bool,
    /// The homes of the index, which are checked once; `None` where they are damaged.
    homes: Option<u64>,
    /// What the checks of the index begin with.
    identity: u32,
}

/// Where the position index is.
#[derive(Copy, Clone, Debug)]
pub(in crate::archive) enum IndexSections {
    /// Of records in any order.
    Lines {
        /// From positions to records.
        lines: Section,
        /// Lists of records of one key.
        lists: Section,
    },
    /// Of records in the order of their keys.
    Directory {
        /// From positions to runs of records.
        lines: Section,
        /// Lines that need more bits.
        wide: Section,
    },
}

/// The position index, open for reading.
pub(super) enum RowIndex<'a> {
    Lines(RecordIndex<'a>),
    Directory(RowDirectory<'a>),
}

impl RowReader {
    pub(in crate::archive) fn new(
        bytes: Arc<FileBytes>,
        segments: Vec<RowSegment>,
        index: Option<IndexSections>,
        is_sorted: bool,
        identity: u32,
    ) -> RowReader {
        let homes = match index {
            Some(IndexSections::Lines { lines, .. }) => {
                let lines = lines.of(&bytes, "position index").ok();
                lines.and_then(|lines| RecordIndex::homes(lines, identity))
            }
            _ => None,
        };
        RowReader { bytes, segments, index, is_sorted, homes, identity }
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
    pub(super) fn row(&self, number: u64) -> Result<RowRef<'_>, ArchiveError> {
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
    pub(super) fn index(&self) -> Result<Option<RowIndex<'_>>, ArchiveError> {
        let index = match self.index {
            None => return Ok(None),
            Some(IndexSections::Lines { lines, lists }) => {
                let lines = lines.of(&self.bytes, "position index")?;
                let lists = lists.of(&self.bytes, "lists of equal keys")?;
                let homes = self.homes.ok_or(ArchiveError::corrupt("position index"))?;
                RowIndex::Lines(RecordIndex::new(lines, lists, homes, self.identity)?)
            }
            Some(IndexSections::Directory { lines, wide }) => {
                let lines = lines.of(&self.bytes, "row directory")?;
                let wide = wide.of(&self.bytes, "wide lines")?;
                RowIndex::Directory(RowDirectory::new(lines, wide, self.identity)?)
            }
        };
        Ok(Some(index))
    }

    /// The records of a position, one after the other.
    #[inline]
    pub(in crate::archive) fn matches(
        &self,
        query: &Query,
    ) -> Result<RowMatches<'_>, ArchiveError> {
        let rows = match self.index()? {
            Some(RowIndex::Lines(index)) => Rows::Candidates(index.candidates(query.key())),
            Some(RowIndex::Directory(directory)) => {
                let bucket = directory.bucket(query.key())?;
                Rows::Sorted(self.run(&bucket, query)?)
            }
            None => Rows::All(0..self.len()),
        };
        Ok(RowMatches { reader: self, rows, board: *query.board() })
    }

    /// Calls `visit` with the place of a query and each record of it.
    pub(in crate::archive) fn get_batch<E: From<ArchiveError>>(
        &self,
        queries: impl Iterator<Item = Query>,
        visit: &mut impl FnMut(usize, RowRef<'_>) -> Result<Visit, E>,
    ) -> Result<(), E> {
        match self.index()? {
            Some(RowIndex::Lines(index)) => self.in_batches(
                queries,
                |query| index.prefetch_line(query.key()),
                |query| {
                    self.prefetch_row(&index, query);
                    Ok(())
                },
                |query, ()| Ok(Rows::Candidates(index.candidates(query.key()))),
                visit,
            ),
            Some(RowIndex::Directory(directory)) => self.in_batches(
                queries,
                |query| directory.prefetch_line(query.key()),
                |query| {
                    let bucket = directory.bucket(query.key())?;
                    self.prefetch_bucket(&bucket);
                    Ok(bucket)
                },
                |query, bucket| Ok(Rows::Sorted(self.run(&bucket, query)?)),
                visit,
            ),
            None => self.scan(queries, visit),
        }
    }

    /// Takes queries in batches. `begin` brings near the line of each while they are made, then
    /// `prepare` its row: what is asked for at once arrives at once, the translations of addresses
    /// included. Last come the rows themselves.
    #[inline(always)]
    fn in_batches<'a, P, E: From<ArchiveError>>(
        &'a self,
        mut queries: impl Iterator<Item = Query>,
        begin: impl Fn(&Query),
        prepare: impl Fn(&Query) -> Result<P, ArchiveError>,
        rows: impl Fn(&Query, P) -> Result<Rows<'a>, ArchiveError>,
        visit: &mut impl FnMut(usize, RowRef<'_>) -> Result<Visit, E>,
    ) -> Result<(), E> {
        let mut batch = Vec::with_capacity(BATCH);
        let mut prepared = Vec::with_capacity(BATCH);
        for first in (0..).step_by(BATCH) {
            batch.clear();
            batch.extend(queries.by_ref().take(BATCH).inspect(&begin));
            for query in &batch {
                prepared.push(prepare(query)?);
            }
            for ((place, query), prepared) in (first..).zip(&batch).zip(prepared.drain(..)) {
                let rows = rows(query, prepared)?;
                let mut matches = RowMatches { reader: self, rows, board: *query.board() };
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

    /// Brings near the rows of a bucket.
    #[inline(always)]
    fn prefetch_bucket(&self, bucket: &Bucket) {
        if let Ok((segment, _)) = self.segment(bucket.likely) {
            segment.prefetch(&bucket.numbers);
        }
    }

    /// The records of a position, which are in its bucket.
    #[inline(always)]
    fn run(&self, bucket: &Bucket, query: &Query) -> Result<Run<'_>, ArchiveError> {
        let Range { start, end } = bucket.numbers;
        let near = start..end.min(start + SCANNED_ROWS);
        let far = near.end..end;
        let found = match self.scan_bucket(near, bucket.likely, query.board())? {
            None if !far.is_empty() => self.bisect(far, query)?,
            found => found,
        };
        let mut first = found;
        while let Some(row) = first.filter(RowRef::has_more_before) {
            let before = row.number().checked_sub(1).ok_or_else(|| row.corrupt())?;
            first = Some(self.row_of(before, query.board())?);
        }
        Ok(Run { first, behind: None })
    }

    /// A record of a position among so few that each can be looked at.
    #[inline(always)]
    fn scan_bucket(
        &self,
        mut numbers: Range<u64>,
        likely: u64,
        board: &PackedBoard,
    ) -> Result<Option<RowRef<'_>>, ArchiveError> {
        while !numbers.is_empty() {
            let (segment, end) = self.segment(numbers.start)?;
            let end = end.min(numbers.end);
            if let Some(row) =
                segment.find(numbers.start..end, likely.clamp(numbers.start, end), board)?
            {
                return Ok(Some(row));
            }
            numbers.start = end;
        }
        Ok(None)
    }

    /// The record with a number, which a neighbour says is of a position.
    fn row_of(&self, number: u64, board: &PackedBoard) -> Result<RowRef<'_>, ArchiveError> {
        let row = self.row(number)?;
        if row.is_of(board)? { Ok(row) } else { Err(row.corrupt()) }
    }

    /// A record of a position among any number, which are in their order.
    #[cold]
    fn bisect(
        &self,
        bucket: Range<u64>,
        query: &Query,
    ) -> Result<Option<RowRef<'_>>, ArchiveError> {
        let Range { mut start, mut end } = bucket;
        while start < end {
            let middle = start + (end - start) / 2;
            let found = Query::from(self.record(middle)?.position());
            match order(&found).cmp(&order(query)) {
                Ordering::Less => start = middle + 1,
                _ => end = middle,
            }
        }
        if start == bucket.end {
            return Ok(None);
        }
        let row = self.row(start)?;
        Ok(row.is_of(query.board())?.then_some(row))
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
    /// Those of the position, where rows are sorted.
    Sorted(Run<'a>),
    /// All.
    All(Range<u64>),
}

/// The records of a position where they follow each other.
struct Run<'a> {
    /// The first, until it was given.
    first: Option<RowRef<'a>>,
    /// The number of the one behind the last that was given.
    behind: Option<u64>,
}

impl<'a> Run<'a> {
    #[inline(always)]
    fn next(
        &mut self,
        reader: &'a RowReader,
        board: &PackedBoard,
    ) -> Result<Option<RowRef<'a>>, ArchiveError> {
        let row = match (self.first.take(), self.behind.take()) {
            (Some(first), _) => first,
            (None, Some(number)) => reader.row_of(number, board)?,
            (None, None) => return Ok(None),
        };
        self.behind = row.has_more_behind().then_some(row.number() + 1);
        Ok(Some(row))
    }
}

/// The order of sorted records: by key, those of one key by their boards.
pub(super) fn order(query: &Query) -> (u64, &[u8]) {
    (query.key(), query.board().as_bytes())
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
            Rows::Sorted(_) => return None,
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
        if let Rows::Sorted(run) = &mut self.rows {
            return run.next(self.reader, &self.board).transpose();
        }
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

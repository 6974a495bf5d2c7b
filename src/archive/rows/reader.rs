//! Reading of an archive of level fast: by number, in order, and by position.

use std::cmp::Ordering;
use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use super::directory::RowDirectory;
use super::hint_table::HintTable;
use super::index::{Candidates, RecordIndex};
use super::row::ROW_BYTES;
use super::{RowRef, RowSegment, SegmentRows};
use crate::damage::{Damage, FirstDamage};
use crate::error::ArchiveError;
use crate::file::bytes::FileBytes;
use crate::file::place_of;
use crate::file::sections::Section;
use crate::index_entries::BoardMap;
use epdb_chess::codec::packed::PackedBoard;
use epdb_chess::codec::query::{Query, Select, Selected, SkipTo};
use epdb_chess::model::EpdRecord;

/// Number of records in a piece of text.
const TEXT_STEP: u64 = 1024;
/// Number of records from which one thread selects. A piece takes long compared with waking a thread.
const SELECT_STEP: u64 = 4096;
/// Number of records that are read at once in sequence.
const READ_STEP: u64 = 64;
/// Number of records that are read for a check before the first answer, at least one for each
/// segment. If the index and the tables fit into one disk sector, each sector of the rows has one
/// of these records.
const SAMPLED_RECORDS: usize = 16;
/// Size in bytes of the smallest part of a disk that is written as a whole.
const SECTOR: u64 = 512;
/// Number of queries that are looked up together.
const BATCH: usize = 32;
/// Maximum number of candidate rows that are compared one by one. More rows are bisected.
const FEW_ROWS: u64 = 16;

/// The records of an archive of level fast.
pub(crate) struct RowReader {
    bytes: Arc<FileBytes>,
    segments: Vec<RowSegment>,
    index: Option<IndexSections>,
    /// Number of homes (lines to which keys are mapped) of the index, or number of first records in
    /// the directory. `None` if the number is damaged or there is no index. It is checked once.
    extent: Option<u64>,
    /// Identity that the checksums of the index cover.
    identity: u32,
}

/// The sections of the position index.
#[derive(Copy, Clone, Debug)]
pub(crate) enum IndexSections {
    /// Index of records in any order.
    Lines {
        /// Lines that lead from positions to records.
        lines: Section,
        /// Lists of records of one key.
        lists: Section,
    },
    /// Directory of records in the order of their keys.
    Directory {
        /// Lines that lead from keys to records.
        lines: Section,
        guide: Option<Section>,
    },
}

/// The position index, open for reading.
pub(super) enum RowIndex<'a> {
    Lines(RecordIndex<'a>),
    Directory(RowDirectory<'a>, Option<HintTable<'a>>),
}

impl RowReader {
    pub(crate) fn new(
        bytes: Arc<FileBytes>,
        segments: Vec<RowSegment>,
        index: Option<IndexSections>,
        identity: u32,
    ) -> Result<RowReader, ArchiveError> {
        let extent = index.and_then(|index| match index {
            IndexSections::Lines { lines, .. } => {
                RecordIndex::homes(lines.bytes(&bytes, "position index").ok()?, identity)
            }
            IndexSections::Directory { lines, .. } => {
                RowDirectory::firsts(lines.bytes(&bytes, "row directory").ok()?, identity)
            }
        });
        let reader = RowReader { bytes, segments, index, extent, identity };
        let has_guide = matches!(index, Some(IndexSections::Directory { guide: Some(_), .. }));
        if has_guide && let Ok(Some(RowIndex::Directory(_, None))) = reader.index() {
            return Err(ArchiveError::corrupt("row guide"));
        }
        Ok(reader)
    }

    pub(crate) fn has_index(&self) -> bool {
        self.index.is_some()
    }

    /// Number of records.
    pub(super) fn len(&self) -> u64 {
        self.segments.last().map_or(0, |segment| segment.span.end())
    }

    /// Number of records that are the first of their keys.
    pub(super) fn firsts(&self) -> u64 {
        self.extent.unwrap_or_default()
    }

    /// Returns the rows of the segment that has a record, and the number after the last record of
    /// the segment.
    #[inline(always)]
    fn segment(&self, number: u64) -> Result<(SegmentRows<'_>, u64), ArchiveError> {
        let place = place_of(&self.segments, |segment| &segment.span, number)?;
        let segment = &self.segments[place];
        Ok((segment.open(&self.bytes, place)?, segment.span.end()))
    }

    /// The segment that has a record.
    pub(super) fn segment_with(&self, number: u64) -> Result<&RowSegment, ArchiveError> {
        Ok(&self.segments[place_of(&self.segments, |segment| &segment.span, number)?])
    }

    #[inline(always)]
    pub(super) fn row(&self, number: u64) -> Result<RowRef<'_>, ArchiveError> {
        self.segment(number)?.0.at(number)
    }

    pub(crate) fn record(&self, number: u64) -> Result<EpdRecord, ArchiveError> {
        self.row(number)?.record()
    }

    /// Reads some records of each segment, at even distances from the first. Unless `is_strict`, a row
    /// whose check fails is passed over if its neighbours prove that the segment belongs to the file.
    pub(crate) fn verify_segments(&self, is_strict: bool) -> Result<(), ArchiveError> {
        let of_segment = (SAMPLED_RECORDS / self.segments.len().max(1)).max(1) as u32;
        for RowSegment { span, .. } in &self.segments {
            let step = span.records.div_ceil(of_segment).max(1) as usize;
            for number in (span.first..span.end()).step_by(step) {
                if let Err(error) = self.record(number)
                    && (is_strict || !error.is_damage() || !self.is_in_own_sector(number)?)
                {
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// True if a damaged record shares its disk sector with a sound record of this file. A sector
    /// that is left from an older file has none.
    fn is_in_own_sector(&self, number: u64) -> Result<bool, ArchiveError> {
        // A writer made a row whose check holds, so its fault is not damage of the disk.
        if self.row(number).and_then(RowRef::checked).is_ok() {
            return Ok(false);
        }
        let segment = self.segment_with(number)?;
        let first = segment.span.first;
        let sector = (segment.rows.offset + (number - first) * ROW_BYTES) / SECTOR;
        let in_sector = |number: &u64| {
            let row = segment.rows.offset + (number - first) * ROW_BYTES;
            row / SECTOR == sector && (row + ROW_BYTES - 1) / SECTOR == sector
        };
        let near = number.saturating_sub(SECTOR / ROW_BYTES)..number + SECTOR / ROW_BYTES;
        let near = near.start.max(first)..near.end.min(segment.span.end());
        for number in near.filter(in_sector) {
            if Damage::or_none(self.record(number))?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Reads records, beginning with the first of a range. Returns at least one.
    pub(crate) fn records(&self, range: Range<u64>) -> Result<Vec<EpdRecord>, ArchiveError> {
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

    /// Adds the selected records of a range, beginning with its first record. Looks at one record at least.
    /// Returns the number after the last one.
    pub(crate) fn select(
        &self,
        range: Range<u64>,
        select: &dyn Select,
        selected: &mut Selected,
    ) -> Result<u64, ArchiveError> {
        let (segment, end) = self.segment(range.start)?;
        let end = end.min(range.end);
        for number in range.start..end {
            let row = segment.at(number)?;
            if select.may_take(&row.setup()?) {
                selected.put(number, row.record()?, select);
            }
        }
        Ok(end)
    }

    /// The number after the records that one thread reads from record `start` on.
    pub(crate) fn piece_end(&self, start: u64) -> Result<u64, ArchiveError> {
        Ok(self.segment_with(start)?.span.end().min(start + TEXT_STEP))
    }

    /// The number after the records from which one thread selects from record `start` on.
    pub(crate) fn select_end(&self, start: u64) -> Result<u64, ArchiveError> {
        Ok(self.segment_with(start)?.span.end().min(start + SELECT_STEP))
    }

    /// Appends the canonical text of records, each on a line, beginning with the first record of a
    /// range. Appends at least one record. Returns the number after the last record that was
    /// appended.
    pub(crate) fn write_texts(
        &self,
        range: Range<u64>,
        out: &mut Vec<u8>,
    ) -> Result<u64, ArchiveError> {
        let (segment, end) = self.segment(range.start)?;
        let end = end.min(range.end).min(range.start + TEXT_STEP);
        for number in range.start..end {
            segment.at(number)?.write_text(out)?;
            out.push(b'\n');
        }
        Ok(end)
    }

    /// The index, if there is one.
    #[inline]
    pub(super) fn index(&self) -> Result<Option<RowIndex<'_>>, ArchiveError> {
        let index = match self.index {
            None => return Ok(None),
            Some(IndexSections::Lines { lines, lists }) => {
                let lines = lines.bytes(&self.bytes, "position index")?;
                let lists = lists.bytes(&self.bytes, "lists of equal keys")?;
                let homes = self.extent.ok_or(ArchiveError::corrupt("position index"))?;
                RowIndex::Lines(RecordIndex::new(lines, lists, homes, self.identity)?)
            }
            Some(IndexSections::Directory { lines, guide }) => {
                let lines = lines.bytes(&self.bytes, "row directory")?;
                self.extent.ok_or(ArchiveError::corrupt("row directory"))?;
                let directory = RowDirectory::new(lines, self.identity)?;
                let guide = guide.and_then(|guide| guide.bytes(&self.bytes, "row guide").ok());
                let guide = guide.and_then(|guide| HintTable::new(guide, directory.lines()));
                RowIndex::Directory(directory, guide)
            }
        };
        Ok(Some(index))
    }

    /// The records of a position, one after the other.
    #[inline]
    pub(crate) fn matches(&self, query: &Query) -> Result<RowMatches<'_>, ArchiveError> {
        let rows = match self.index()? {
            Some(RowIndex::Lines(index)) => Rows::Candidates(index.candidates(query.key())),
            Some(RowIndex::Directory(directory, guide)) => {
                directory.prefetch_line(query.key());
                self.prefetch_guessed(guide, query.key());
                let near = self.near(directory, query.key());
                Rows::Group(self.group(directory, near, query)?)
            }
            None => Rows::All(0..self.len()),
        };
        Ok(RowMatches { reader: self, rows, board: *query.board() })
    }

    /// Calls `visit` with each record of each query, and with the place of the query among all
    /// queries. A query that meets damage ends there; the first damage is the error at the end.
    pub(crate) fn get_batch<E: From<ArchiveError>>(
        &self,
        queries: impl Iterator<Item = Query>,
        visit: &mut impl FnMut(usize, RowRef<'_>) -> Result<ControlFlow<SkipTo>, E>,
    ) -> Result<(), E> {
        let mut damage = FirstDamage::default();
        match self.index()? {
            Some(RowIndex::Lines(index)) => self.in_batches(
                queries,
                |query| index.prefetch_line(query.key()),
                |query| self.prefetch_row(index.prefetch_likely(query.key()).map(u64::from)),
                |place, query, ()| {
                    let rows = Rows::Candidates(index.candidates(query.key()));
                    self.visit_rows(rows, query, &mut damage, |row| visit(place, row))
                },
            )?,
            Some(RowIndex::Directory(directory, _)) => self.in_batches(
                queries,
                |query| directory.prefetch_line(query.key()),
                |query| self.near(directory, query.key()),
                |place, query, near| {
                    let group = damage.skip(self.group(directory, near, query))?;
                    let group = group.unwrap_or(Group::NONE);
                    self.visit_group(group, query, &mut damage, |row| visit(place, row))
                },
            )?,
            None => self.scan(queries, &mut damage, visit)?,
        }
        Ok(damage.report()?)
    }

    /// Processes queries in batches. For all queries of a batch, `near` first prefetches the line;
    /// then `near_row` prefetches the row. So the cache misses and address translations overlap.
    /// Last comes `look_up`, which gets the result of `near_row`.
    #[inline(always)]
    fn in_batches<N, E: From<ArchiveError>>(
        &self,
        mut queries: impl Iterator<Item = Query>,
        near: impl Fn(&Query),
        near_row: impl Fn(&Query) -> N,
        mut look_up: impl FnMut(usize, &Query, N) -> Result<ControlFlow<SkipTo>, E>,
    ) -> Result<(), E> {
        let mut batch = Vec::with_capacity(BATCH);
        let mut found = Vec::with_capacity(BATCH);
        for first in (0..).step_by(BATCH) {
            batch.clear();
            for query in queries.by_ref().take(BATCH) {
                near(&query);
                batch.push(query);
            }
            for query in &batch {
                found.push(near_row(query));
            }
            for ((place, query), found) in (first..).zip(&batch).zip(found.drain(..)) {
                if look_up(place, query, found)? == ControlFlow::Break(SkipTo::End) {
                    return Ok(());
                }
            }
            if batch.len() < BATCH {
                break;
            }
        }
        Ok(())
    }

    /// Calls `visit` with each row of `rows` whose position is that of a query.
    #[inline(always)]
    fn visit_rows<'a, E: From<ArchiveError>>(
        &'a self,
        rows: Rows<'a>,
        query: &Query,
        damage: &mut FirstDamage,
        visit: impl FnMut(RowRef<'a>) -> Result<ControlFlow<SkipTo>, E>,
    ) -> Result<ControlFlow<SkipTo>, E> {
        RowMatches { reader: self, rows, board: *query.board() }.visit(damage, visit)
    }

    /// Calls `visit` with each record of a group that has the position of a query. A group usually
    /// has one record.
    #[inline(always)]
    fn visit_group<'a, E: From<ArchiveError>>(
        &'a self,
        mut group: Group<'a>,
        query: &Query,
        damage: &mut FirstDamage,
        mut visit: impl FnMut(RowRef<'a>) -> Result<ControlFlow<SkipTo>, E>,
    ) -> Result<ControlFlow<SkipTo>, E> {
        let Some(first) = group.first else { return Ok(ControlFlow::Continue(())) };
        if std::mem::take(&mut group.is_of_position) {
            match visit(first)? {
                ControlFlow::Continue(()) if first.has_further() => {}
                ControlFlow::Continue(()) | ControlFlow::Break(SkipTo::NextQuery) => {
                    return Ok(ControlFlow::Continue(()));
                }
                ControlFlow::Break(SkipTo::End) => return Ok(ControlFlow::Break(SkipTo::End)),
            }
        }
        self.visit_rows(Rows::Group(group), query, damage, visit)
    }

    /// Prefetches the most likely row of a query.
    #[inline(always)]
    fn prefetch_row(&self, number: Option<u64>) {
        if let Some(Ok(row)) = number.map(|number| self.row(number)) {
            row.prefetch();
        }
    }

    /// Prefetches the rows around the approximate place that the row guide gives.
    #[inline(always)]
    fn prefetch_guessed(&self, guide: Option<HintTable<'_>>, key: u64) {
        let Some(guide) = guide else { return };
        let guess = guide.guess(key, self.firsts());
        if let Ok((segment, _)) = self.segment(guess) {
            segment.prefetch_around(guess);
        }
    }

    /// Looks up a key in the row directory. Finds and prefetches the rows to which the line of the key
    /// leads. The line is not checked.
    #[inline(always)]
    fn near<'a>(&'a self, directory: RowDirectory<'_>, key: u64) -> Near<'a> {
        let numbers = directory.candidates(key);
        if numbers.is_empty() {
            return Near::Nothing;
        }
        match self.row(numbers.start) {
            Ok(row) if numbers.end - numbers.start <= FEW_ROWS => {
                row.prefetch();
                Near::Row(row)
            }
            _ => Near::Unknown,
        }
    }

    /// Returns the records that have the key of a query.
    #[inline(always)]
    fn group<'a>(
        &'a self,
        directory: RowDirectory<'_>,
        near: Near<'a>,
        query: &Query,
    ) -> Result<Group<'a>, ArchiveError> {
        match near {
            Near::Nothing => directory.check_line(query.key()).map(|()| Group::NONE),
            Near::Row(row) if row.has_board(query.board()) && self.is_first(row) => {
                Ok(Group { first: Some(row.checked()?), is_of_position: true, further: 0..0 })
            }
            _ => self.group_of_key(directory, query),
        }
    }

    /// True if a row is among the first records of keys. A damaged line may lead to a further
    /// record instead; earlier records of the same key would then be missed.
    #[inline(always)]
    fn is_first(&self, row: RowRef<'_>) -> bool {
        row.number() < self.firsts()
    }

    /// Returns the records that have the key of a query. Compares the candidates of the line of the
    /// key.
    #[cold]
    fn group_of_key(
        &self,
        directory: RowDirectory<'_>,
        query: &Query,
    ) -> Result<Group<'_>, ArchiveError> {
        let key = query.key();
        // Only a sound line and sound rows prove that a position is absent.
        directory.check_line(key)?;
        let mut numbers = directory.candidates(key);
        if numbers.end > self.firsts() {
            return Err(ArchiveError::corrupt("row directory"));
        }
        if numbers.end - numbers.start > FEW_ROWS {
            numbers = self.bisect(numbers, key)?;
        }
        for number in numbers {
            let row = self.row(number)?;
            let is_of_position = row.is_of(query.board())?;
            // Two positions may have one key.
            if is_of_position || row.has_further() && row.key()? == key {
                return Ok(Group { first: Some(row), is_of_position, further: 0..0 });
            }
        }
        Ok(Group::NONE)
    }

    /// Searches for a key among records that ascend by their keys. Returns the range of the only
    /// record with the key, or an empty range.
    #[cold]
    fn bisect(&self, numbers: Range<u64>, key: u64) -> Result<Range<u64>, ArchiveError> {
        let Range { mut start, mut end } = numbers;
        while start < end {
            let middle = start + (end - start) / 2;
            match self.row(middle)?.key()?.cmp(&key) {
                Ordering::Less => start = middle + 1,
                Ordering::Equal => return Ok(middle..middle + 1),
                Ordering::Greater => end = middle,
            }
        }
        Ok(0..0)
    }

    /// Numbers of the further records that have the key of a first record.
    #[cold]
    pub(super) fn further(&self, first: RowRef<'_>) -> Result<Range<u64>, ArchiveError> {
        let Some(further) = first.further()? else { return Ok(0..0) };
        let numbers = further.numbers(self.firsts());
        let are_there = !numbers.is_empty() && numbers.end <= self.len();
        if are_there { Ok(numbers) } else { Err(first.corrupt()) }
    }

    /// Does the same as [`RowReader::get_batch`] without an index, by comparing all records.
    fn scan<E: From<ArchiveError>>(
        &self,
        queries: impl Iterator<Item = Query>,
        damage: &mut FirstDamage,
        visit: &mut impl FnMut(usize, RowRef<'_>) -> Result<ControlFlow<SkipTo>, E>,
    ) -> Result<(), E> {
        let mut wanted = BoardMap::new(queries);
        for number in 0..self.len() {
            let read = self.row(number).and_then(|row| Ok((row, row.board()?)));
            let Some((row, board)) = damage.skip(read)? else { continue };
            if wanted.is_empty() || !wanted.visit(&board, |place| visit(place, row))? {
                break;
            }
        }
        Ok(())
    }
}

/// The rows to which a line of the row directory leads.
enum Near<'a> {
    Nothing,
    /// The first of a few rows.
    Row(RowRef<'a>),
    /// Many rows, or rows outside of the archive.
    Unknown,
}

/// The rows to search for the records of a position.
enum Rows<'a> {
    /// Rows that may have the key of the position.
    Candidates(Candidates<'a>),
    /// Rows of the key of the position, from a directory.
    Group(Group<'a>),
    /// All rows.
    All(Range<u64>),
}

/// The records that have a key, from a directory.
struct Group<'a> {
    /// The first record, until the further records are read.
    first: Option<RowRef<'a>>,
    /// True if the first record has the position and was not returned yet.
    is_of_position: bool,
    /// Numbers of the further records.
    further: Range<u64>,
}

impl<'a> Group<'a> {
    const NONE: Group<'a> = Group { first: None, is_of_position: false, further: 0..0 };

    /// The next record of a position.
    #[inline(always)]
    fn next(
        &mut self,
        reader: &'a RowReader,
        board: &PackedBoard,
    ) -> Result<Option<RowRef<'a>>, ArchiveError> {
        if std::mem::take(&mut self.is_of_position) {
            return Ok(self.first);
        }
        if let Some(first) = self.first.take().filter(RowRef::has_further) {
            self.further = reader.further(first)?;
        }
        for number in &mut self.further {
            let row = reader.row(number)?;
            if row.is_of(board)? {
                return Ok(Some(row));
            }
        }
        Ok(None)
    }
}

/// Iterator over the records of a position.
pub(crate) struct RowMatches<'a> {
    reader: &'a RowReader,
    rows: Rows<'a>,
    board: PackedBoard,
}

impl<'a> RowMatches<'a> {
    /// The next row that may have the position. If the row after it is known, that row is
    /// prefetched.
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
            Rows::Group(_) => return None,
            Rows::All(numbers) => Ok(numbers.next()?),
        };
        Some(number.and_then(|number| self.reader.row(number)))
    }

    /// Calls `visit` with each record, up to the first that is damaged.
    #[inline(always)]
    fn visit<E: From<ArchiveError>>(
        &mut self,
        damage: &mut FirstDamage,
        mut visit: impl FnMut(RowRef<'a>) -> Result<ControlFlow<SkipTo>, E>,
    ) -> Result<ControlFlow<SkipTo>, E> {
        for row in self.by_ref() {
            let Some(row) = damage.skip(row)? else { break };
            match visit(row)? {
                ControlFlow::Continue(()) => {}
                ControlFlow::Break(SkipTo::NextQuery) => break,
                ControlFlow::Break(SkipTo::End) => return Ok(ControlFlow::Break(SkipTo::End)),
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}

impl<'a> Iterator for RowMatches<'a> {
    type Item = Result<RowRef<'a>, ArchiveError>;

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        if let Rows::Group(group) = &mut self.rows {
            return group.next(self.reader, &self.board).transpose();
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

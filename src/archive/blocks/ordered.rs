//! Reading of segments with sorted rows, in the original order of the records. All rows that fit
//! into memory are put into that order at once. They are called a window.

use std::ops::Range;
use std::sync::Arc;

use super::BlockSegment;
use super::cache::Window;
use super::order::{Order, Places};
use super::reader::BlockReader;
use crate::columns::Row;
use crate::error::ArchiveError;
use epdb_chess::codec::query::{Select, Selected};
use epdb_chess::model::{EpdRecord, Setup};

/// Maximum number of records that are made from rows at once.
const STEP: u64 = 4096;
/// Number of blocks that are decoded together.
const TOGETHER: usize = 256;
const PART: &str = "order of records";

impl BlockReader {
    /// Opens the original order of a segment whose rows are sorted.
    fn order(&self, segment: &BlockSegment) -> Result<Order<'_>, ArchiveError> {
        let bytes = segment.order.kept(self.bytes(), PART)?;
        Ok(Order::new(bytes, segment.span.records, segment.span.identity))
    }

    /// Numbers of the records at a range of places of a segment. Places and numbers count from the
    /// start of the file.
    pub(super) fn numbers(
        &self,
        segment: &BlockSegment,
        places: Range<u64>,
    ) -> Result<Vec<u64>, ArchiveError> {
        if !segment.is_ordered() {
            return Ok(places.collect());
        }
        let first = segment.span.first;
        let places = (places.start - first) as usize..(places.end - first) as usize;
        let numbers = self.order(segment)?.numbers(places)?;
        Ok(numbers.into_iter().map(|number| first + u64::from(number)).collect())
    }

    /// Place of a record. Place and number count from the start of the file. The argument `place`
    /// is the index of the segment.
    pub(super) fn place_of(&self, place: usize, number: u64) -> Result<u64, ArchiveError> {
        let segment = &self.segments()[place];
        if !segment.is_ordered() {
            return Ok(number);
        }
        let order = self.order(segment)?;
        let places =
            self.places().get(place, || Places::from_order(&order, self.memory_bytes() / 4))?;
        let nth = places.get()?.get((number - segment.span.first) as u32);
        let nth = nth.ok_or(ArchiveError::corrupt_at(PART, place as u64))?;
        Ok(segment.span.first + u64::from(nth))
    }

    /// True if the records of a range are read one by one: the range is short, and the current
    /// window does not have its first record.
    fn are_few(&self, place: usize, range: &Range<u64>) -> bool {
        let blocks = self.segments()[place].blocks();
        (range.end - range.start) * 4 < blocks.into()
            && self.last_window().with(place, range.start).is_none()
    }

    /// Returns a window of rows of a segment that has the row with a number.
    fn window(&self, place: usize, number: u64) -> Result<Arc<Window>, ArchiveError> {
        if let Some(window) = self.last_window().with(place, number) {
            return Ok(window);
        }
        self.last_window().set(None);
        let window = Arc::new(self.read_window(place, number)?);
        self.last_window().set(Some(Arc::clone(&window)));
        Ok(window)
    }

    /// Returns the numbers of the first records of a range that are made at once, and a window that
    /// has them. When the end of the range is reached, the window is not kept.
    fn next_window(
        &self,
        place: usize,
        range: &Range<u64>,
    ) -> Result<(Range<u64>, Arc<Window>), ArchiveError> {
        let window = self.window(place, range.start)?;
        let end = range.end.min(window.end()).min(range.start + STEP);
        if end == range.end {
            self.last_window().set(None);
        }
        Ok((range.start..end, window))
    }

    fn read_window(&self, place: usize, first: u64) -> Result<Window, ArchiveError> {
        let segment = &self.segments()[place];
        let len = self.rows_in_memory().min(segment.span.end() - first);
        let mut rows = vec![Row::default(); len as usize];
        let mut is_read = vec![false; len as usize];
        let together = self.blocks_in_memory(place).min(TOGETHER);
        let blocks: Vec<u32> = (0..segment.blocks()).collect();
        for blocks in blocks.chunks(together) {
            for block in self.map_blocks(place, blocks, |&number| number, |_, block| block)? {
                let len = segment.block_len(block.first());
                let numbers = self.numbers(segment, block.first()..block.first() + len)?;
                let read = block.rows_in(0..len as usize)?;
                for (row, number) in read.iter().zip(numbers) {
                    let nth = number.wrapping_sub(first) as usize;
                    if let (Some(slot), Some(is_read)) = (rows.get_mut(nth), is_read.get_mut(nth)) {
                        *slot = *row;
                        *is_read = true;
                    }
                }
            }
        }
        let is_whole =
            is_read.iter().all(|&is_read| is_read) && !rows.iter().any(Row::has_operations);
        let window = Window { segment: place, first, rows };
        is_whole.then_some(window).ok_or(ArchiveError::corrupt_at(PART, place as u64))
    }

    /// Reads one or more records from the start of a range. The segment has sorted rows.
    pub(super) fn ordered_records(
        &self,
        place: usize,
        range: Range<u64>,
    ) -> Result<Vec<EpdRecord>, ArchiveError> {
        let segment = &self.segments()[place];
        let range = range.start..range.end.min(segment.span.end());
        if self.are_few(place, &range) {
            return Ok(vec![self.record(range.start)?]);
        }
        let (numbers, window) = self.next_window(place, &range)?;
        let rows = window.rows(&numbers);
        let records: Option<Vec<EpdRecord>> = rows.iter().map(Row::record).collect();
        records.ok_or(ArchiveError::corrupt_at("record", range.start))
    }

    /// Does the same as [`BlockReader::select`]. The segment has sorted rows.
    pub(super) fn select_ordered(
        &self,
        place: usize,
        range: Range<u64>,
        select: &dyn Select,
        selected: &mut Selected,
    ) -> Result<u64, ArchiveError> {
        let segment = &self.segments()[place];
        let range = range.start..range.end.min(segment.span.end());
        let (numbers, window) = self.next_window(place, &range)?;
        for (number, row) in numbers.clone().zip(window.rows(&numbers)) {
            let corrupt = || ArchiveError::corrupt_at("record", number);
            let position = row.position().ok_or_else(corrupt)?;
            if select.may_take(&Setup::from(&position)) {
                selected.put(number, row.record().ok_or_else(corrupt)?, select);
            }
        }
        Ok(numbers.end)
    }

    /// Appends the canonical text of records, beginning with the first record of a range. Appends
    /// at least one record. The segment has sorted rows. Returns the number after the last record
    /// that was appended.
    pub(super) fn write_ordered_text(
        &self,
        place: usize,
        range: Range<u64>,
        out: &mut Vec<u8>,
    ) -> Result<u64, ArchiveError> {
        let segment = &self.segments()[place];
        let range = range.start..range.end.min(segment.span.end());
        let corrupt = || ArchiveError::corrupt_at("record", range.start);
        if self.are_few(place, &range) {
            self.write_text(range.start, out)?;
            out.push(b'\n');
            return Ok(range.start + 1);
        }
        let (numbers, window) = self.next_window(place, &range)?;
        for row in window.rows(&numbers) {
            row.write_text(out).ok_or_else(corrupt)?;
            out.push(b'\n');
        }
        Ok(numbers.end)
    }
}

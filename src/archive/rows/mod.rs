//! Level fast: records as rows of fixed size, and their position indexes. The index in `index` is
//! for rows in any order. The one in `directory`, with the row guide, is for sorted rows.

mod build;
mod directory;
mod hint_table;
mod index;
mod reader;
mod row;
mod salvage;
mod verify;

pub(super) use build::RowSegmentBuilder;
pub(super) use directory::{BuiltDirectory, DirectoryBuilder, DirectoryLines, Further};
pub(super) use index::{MAX_RECORDS, write_index};
pub(super) use reader::{IndexSections, RowMatches, RowReader};

use zerocopy::FromBytes;

use super::error::ArchiveError;
use super::file::bytes::FileBytes;
use super::file::sections::Section;
use super::file::{Span, check};
use epdb_chess::codec::key::position_key;
use epdb_chess::codec::packed::{self, PackedBoard};
use epdb_chess::codec::record;
use epdb_chess::model::{EpdRecord, Setup};
use epdb_chess::simd::prefetch;
use epdb_chess::text::{FormatOptions, epd};
use row::{BOARD, FastRow, ROW_BYTES, RowRest};

const ROW: &str = "record";
/// Number of rows in a cache line.
const ROWS_OF_LINE: usize = 64 / ROW_BYTES as usize;
/// Cache lines to prefetch, relative to the line of the row that the guide names. The right row is
/// nearly always in one of them.
const GUESSED_LINES: [isize; 6] = [0, 1, -1, 2, -2, 3];

/// The sections of a segment of rows.
#[derive(Copy, Clone, Debug)]
pub(crate) struct RowSegment {
    pub span: Span,
    pub rows: Section,
    pub heap: Section,
}

impl RowSegment {
    /// True if the section of the rows can hold the records.
    pub(crate) fn fits(&self) -> bool {
        self.rows.len == u64::from(self.span.records) * ROW_BYTES
    }

    /// Leaves the rows that are in the first bytes of their section. Returns true if there are none.
    pub(crate) fn cut(&mut self, present: u64) -> bool {
        self.span.records = (present / ROW_BYTES) as u32;
        self.rows.len = u64::from(self.span.records) * ROW_BYTES;
        self.span.records == 0
    }

    /// Returns the rows in the bytes of the file. `place` is the index of the segment, for errors.
    #[inline(always)]
    fn open<'a>(
        &'a self,
        file: &'a FileBytes,
        place: usize,
    ) -> Result<SegmentRows<'a>, ArchiveError> {
        let rows = self.rows.bytes(file, "rows")?;
        let rows = <[FastRow]>::ref_from_bytes(rows)
            .map_err(|_| ArchiveError::corrupt_at("rows", place as u64))?;
        Ok(SegmentRows { segment: self, file, rows })
    }
}

/// The rows of a segment.
#[derive(Copy, Clone)]
struct SegmentRows<'a> {
    segment: &'a RowSegment,
    file: &'a FileBytes,
    rows: &'a [FastRow],
}

impl<'a> SegmentRows<'a> {
    /// The record with this number, which the segment must have.
    #[inline(always)]
    fn at(self, number: u64) -> Result<RowRef<'a>, ArchiveError> {
        let SegmentRows { segment, file, rows } = self;
        let row = rows.get((number - segment.span.first) as usize);
        let row = row.ok_or(ArchiveError::corrupt_at(ROW, number))?;
        Ok(RowRef { segment, file, row, number })
    }

    /// Prefetches the rows around a number, the nearest first.
    #[inline(always)]
    fn prefetch_around(self, number: u64) {
        let (lines, _) = self.rows.as_chunks::<ROWS_OF_LINE>();
        let own = (number - self.segment.span.first) as usize / ROWS_OF_LINE;
        for step in GUESSED_LINES {
            lines.get(own.wrapping_add_signed(step)).into_iter().for_each(prefetch);
        }
    }
}

/// A record of a segment. It is checked when it is used.
#[derive(Copy, Clone)]
pub(crate) struct RowRef<'a> {
    segment: &'a RowSegment,
    file: &'a FileBytes,
    row: &'a FastRow,
    number: u64,
}

impl<'a> RowRef<'a> {
    /// Number of the record.
    #[inline]
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Prefetches the row.
    #[inline]
    fn prefetch(&self) {
        prefetch(self.row);
    }

    /// The row, after checking its checksum.
    #[inline(always)]
    fn row(&self) -> Result<&'a FastRow, ArchiveError> {
        if self.row.is_whole(self.segment.span.identity, self.number) {
            Ok(self.row)
        } else {
            Err(self.corrupt())
        }
    }

    #[cold]
    fn corrupt(&self) -> ArchiveError {
        ArchiveError::corrupt_at(ROW, self.number)
    }

    /// True if the row has this board; false for every board that does not fit into a row. The row
    /// is not checked.
    #[inline(always)]
    fn has_board(&self, board: &PackedBoard) -> bool {
        board.as_plain() == Some(&self.row.board)
    }

    /// Returns the record itself, after checking the checksum of its row.
    #[inline(always)]
    fn checked(self) -> Result<RowRef<'a>, ArchiveError> {
        self.row().map(|_| self)
    }

    /// True if the record has the position of this packed identity board.
    #[inline(always)]
    fn is_of(&self, board: &PackedBoard) -> Result<bool, ArchiveError> {
        let row = self.row()?;
        if let Some(board) = board.as_plain() {
            return Ok(row.board == *board);
        }
        Ok(row.board == [0; BOARD] && self.board()? == *board)
    }

    /// True if other records have the same key. Their range is then in the heap. The row is not
    /// checked.
    #[inline]
    fn has_further(&self) -> bool {
        self.row.has_further()
    }

    /// The range of the further records with the key of this record; `None` if there are none.
    fn further(&self) -> Result<Option<Further>, ArchiveError> {
        let row = self.row()?;
        let Some(place) = row.place().filter(|_| row.has_further()) else { return Ok(None) };
        let (further, _) = self.in_heap(place).ok_or_else(|| self.corrupt())?;
        Ok(further)
    }

    /// The position key.
    fn key(&self) -> Result<u64, ArchiveError> {
        Ok(position_key(self.record()?.position()))
    }

    /// The packed identity board.
    fn board(&self) -> Result<PackedBoard, ArchiveError> {
        Ok(packed::encode(&self.record()?.position().identity()))
    }

    /// The pieces, the side to move and the castling rights.
    #[inline]
    fn setup(&self) -> Result<Setup, ArchiveError> {
        let row = self.row()?;
        // All zero in place of a board in the escape form.
        if row.board == [0; BOARD] {
            return Ok(Setup::from(self.record()?.position()));
        }
        packed::setup_of(&row.board).map_err(|_| self.corrupt())
    }

    /// The record.
    pub(crate) fn record(&self) -> Result<EpdRecord, ArchiveError> {
        self.file.intact(self.decode())
    }

    fn decode(&self) -> Result<EpdRecord, ArchiveError> {
        let row = self.row()?;
        let record = match row.place() {
            None => RowRest::parse(row).and_then(|rest| rest.record(row)),
            Some(place) => self.in_heap(place).and_then(|(_, bytes)| {
                let (record, _) = record::decode(bytes).ok()?;
                let board = packed::encode(&record.position().identity());
                (*board.as_plain().unwrap_or(&[0; BOARD]) == row.board).then_some(record)
            }),
        };
        record.ok_or_else(|| self.corrupt())
    }

    /// The bytes of the record, not decoded; `None` if the row alone is the record.
    pub(crate) fn bytes(&self) -> Result<Option<Vec<u8>>, ArchiveError> {
        // The copy is complete before the file is examined.
        self.file.intact(self.mapped_bytes().map(|bytes| bytes.map(<[u8]>::to_vec)))
    }

    fn mapped_bytes(&self) -> Result<Option<&'a [u8]>, ArchiveError> {
        let row = self.row()?;
        let Some(place) = row.place() else { return Ok(None) };
        let bytes = self.in_heap(place).map(|(_, bytes)| bytes);
        let has_board = |bytes: &&[u8]| {
            let board = record::board_of(bytes).unwrap_or_default();
            // A board in the escape form is longer than a row.
            let (own, padding) =
                row.board.split_at(if board.len() > BOARD { 0 } else { board.len() });
            padding.iter().all(|byte| *byte == 0) && board.starts_with(own)
        };
        bytes.filter(has_board).map(Some).ok_or_else(|| self.corrupt())
    }

    /// Appends the canonical text of the record, without line end.
    #[inline]
    pub(crate) fn write_text(&self, out: &mut Vec<u8>) -> Result<(), ArchiveError> {
        let row = self.row()?;
        let is_row_alone = row.place().is_none();
        let rest = if is_row_alone { RowRest::parse(row) } else { None };
        // It appends nothing if the row is unusual.
        let is_written = rest.and_then(|rest| rest.write_text(row, out)).is_some();
        if !is_written {
            epd::format(&self.record()?, &FormatOptions::default(), out);
        }
        // If the file was cut meanwhile, the text is wrong.
        self.file.intact(Ok(()))
    }

    /// Checks the checksum of the entry of the heap at a place, and returns the entry. It has the
    /// range of further records (if there are any), and the bytes of the record.
    fn in_heap(&self, place: u64) -> Option<(Option<Further>, &'a [u8])> {
        let heap = self.segment.heap.bytes(self.file, "heap").ok()?;
        let bytes = heap.get(usize::try_from(place).ok()?..)?;
        let (check, bytes) = bytes.split_first_chunk()?;
        let before = if self.has_further() { size_of::<Further>() } else { 0 };
        let (further, rest) = bytes.split_at_checked(before)?;
        let bytes = &bytes[..before + record::len_of(rest).ok()?];
        if !self.row.is_in_heap(place, size_of_val(check) + bytes.len()) {
            return None;
        }
        let found = check::placed(self.segment.span.identity, self.number, bytes);
        let further = Further::read_from_bytes(further).ok();
        check::holds(found, u32::from_le_bytes(*check)).then_some((further, &bytes[before..]))
    }
}

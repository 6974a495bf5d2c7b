//! The reader of records at any level.

use std::ops::{ControlFlow, Range};

use crate::Level;
use crate::blocks::BlockReader;
use crate::damage::Salvaged;
use crate::error::ArchiveError;
use crate::rows::RowReader;
use epdb_chess::codec::query::{Select, Selected};
use epdb_chess::model::EpdRecord;

/// Reader of the records, made when the file is opened. All code that depends on the level is here.
pub(super) enum LevelReader {
    /// Reader of an archive of level fast.
    Rows(RowReader),
    /// Reader of an archive of level default.
    Blocks(BlockReader),
}

impl LevelReader {
    pub(super) fn level(&self) -> Level {
        match self {
            LevelReader::Rows(_) => Level::Fast,
            LevelReader::Blocks(_) => Level::Default,
        }
    }

    /// Sets another memory limit, in bytes.
    pub(super) fn with_memory(self, memory_bytes: usize) -> LevelReader {
        match self {
            LevelReader::Rows(_) => self,
            LevelReader::Blocks(blocks) => LevelReader::Blocks(blocks.with_memory(memory_bytes)),
        }
    }

    pub(super) fn has_index(&self) -> bool {
        match self {
            LevelReader::Rows(rows) => rows.has_index(),
            LevelReader::Blocks(blocks) => blocks.has_index(),
        }
    }

    pub(super) fn record(&self, number: u64) -> Result<EpdRecord, ArchiveError> {
        match self {
            LevelReader::Rows(rows) => rows.record(number),
            LevelReader::Blocks(blocks) => blocks.record(number),
        }
    }

    /// Reads records, beginning with the first of a range. Returns at least one. The result may
    /// also have records after the end of the range.
    pub(super) fn records(&self, range: Range<u64>) -> Result<Vec<EpdRecord>, ArchiveError> {
        match self {
            LevelReader::Rows(rows) => rows.records(range),
            LevelReader::Blocks(blocks) => blocks.records(range),
        }
    }

    /// Adds the selected records of a range, beginning with its first record. Looks at one record at least.
    /// Returns the number after the last one.
    pub(super) fn select(
        &self,
        range: Range<u64>,
        select: &dyn Select,
        selected: &mut Selected,
    ) -> Result<u64, ArchiveError> {
        match self {
            LevelReader::Rows(rows) => rows.select(range, select, selected),
            LevelReader::Blocks(blocks) => blocks.select(range, select, selected),
        }
    }

    /// Passes the records of a range to `visit`, and the damaged parts that have some of them.
    pub(super) fn salvage<E: From<ArchiveError>>(
        &self,
        range: &Range<u64>,
        visit: &mut dyn FnMut(Salvaged) -> Result<ControlFlow<()>, E>,
    ) -> Result<(), E> {
        match self {
            LevelReader::Rows(rows) => rows.salvage(range, visit),
            LevelReader::Blocks(blocks) => blocks.salvage(range, visit),
        }
    }

    /// Appends the canonical text of records, each on a line, beginning with the first record of a range.
    /// Appends at least one record. Returns the number after the last one.
    pub(super) fn write_texts(
        &self,
        range: Range<u64>,
        out: &mut Vec<u8>,
    ) -> Result<u64, ArchiveError> {
        match self {
            LevelReader::Rows(rows) => rows.write_texts(range, out),
            LevelReader::Blocks(blocks) => blocks.write_texts(range, out),
        }
    }

    /// True if each record can be read without the others of its segment. Records that are stored in
    /// another order are read in windows, whose sizes depend on the memory.
    pub(super) fn is_in_order(&self) -> bool {
        match self {
            LevelReader::Rows(_) => true,
            LevelReader::Blocks(blocks) => blocks.is_in_order(),
        }
    }

    /// The number after the records that are read together from record `start` on.
    pub(super) fn piece_end(&self, start: u64) -> Result<u64, ArchiveError> {
        match self {
            LevelReader::Rows(rows) => rows.piece_end(start),
            LevelReader::Blocks(blocks) => blocks.piece_end(start),
        }
    }

    /// The number after the records from which one thread selects from record `start` on.
    pub(super) fn select_end(&self, start: u64) -> Result<u64, ArchiveError> {
        match self {
            LevelReader::Rows(rows) => rows.select_end(start),
            LevelReader::Blocks(blocks) => blocks.piece_end(start),
        }
    }

    /// Returns the size in bytes of each column of the positions, and of the operations. Empty if nothing is
    /// coded by columns.
    pub(super) fn column_bytes(&self) -> Result<Vec<(&'static str, f64)>, ArchiveError> {
        match self {
            LevelReader::Rows(_) => Ok(Vec::new()),
            LevelReader::Blocks(blocks) => blocks.column_bytes(),
        }
    }

    /// Reads some records of each segment. Unless `is_strict`, damage is passed over if other parts of
    /// the segment prove that it belongs to the file.
    pub(super) fn verify_segments(&self, is_strict: bool) -> Result<(), ArchiveError> {
        match self {
            LevelReader::Rows(rows) => rows.verify_segments(is_strict),
            LevelReader::Blocks(blocks) => blocks.verify_segments(is_strict),
        }
    }

    /// Checks that the blocks of each section follow each other.
    pub(super) fn verify_layout(&self) -> Result<(), ArchiveError> {
        match self {
            LevelReader::Rows(_) => Ok(()),
            LevelReader::Blocks(blocks) => blocks.verify_directories(),
        }
    }

    /// Reads all records, and checks that the index leads to each of them and to nothing else.
    pub(super) fn verify_records(&self) -> Result<(), ArchiveError> {
        match self {
            LevelReader::Rows(rows) => rows.verify(),
            LevelReader::Blocks(blocks) => blocks.verify(),
        }
    }
}

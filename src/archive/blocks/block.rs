//! The decoded records of a block: rows (positions as numbers) with their operations, or canonical
//! text.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;
use zerocopy::IntoBytes;
use zerocopy::little_endian::U64;

use crate::columns::Row;
use crate::error::{ArchiveError, Refusal};
use crate::file::bytes::is_one_frame;
use crate::move_links::{MoveLinks, ReadRows};
use crate::operations as coded_operations;
use crate::operations::{InitialModel, PositionOf};
use epdb_base::threads;
use epdb_chess::codec::query::{Select, Selected};
use epdb_chess::codec::record;
use epdb_chess::model::{EpdRecord, Operand, Operands, Operation, Setup};
use epdb_chess::text::{FormatOptions, ParseOptions, Profile, epd, fen};

/// Checksum of a block: CRC32C of its place, its rows, and the bytes of its operations.
pub(super) fn check(place: U64, rows: &[Row], operations: &[u8]) -> u32 {
    let mut bytes = Vec::with_capacity(size_of::<U64>() + size_of_val(rows));
    bytes.extend_from_slice(place.as_bytes());
    Row::put_bytes(rows, &mut bytes);
    crc32c::crc32c_append(crc32c::crc32c(&bytes), operations)
}

/// A block whose checksum was checked. The place of a record is its index in the block, from 0.
pub(super) struct Block {
    /// Number of the first record of the block.
    first: u64,
    records: BlockRecords,
}

/// The records of a block in the form that was decoded.
pub(super) enum BlockRecords {
    /// Rows, and the operations of those rows that have any.
    Rows {
        /// The rows, one for each record.
        read: ReadRows,
        /// The operations of all rows, still coded.
        operations: Vec<u8>,
        /// Initial model of the operations.
        start: Arc<InitialModel>,
        /// Memory limit for decoding the operations, in bytes.
        memory_bytes: usize,
    },
    /// Canonical text, one line for each record.
    Text(Vec<u8>),
}

impl Block {
    pub(super) const fn new(first: u64, records: BlockRecords) -> Block {
        Block { first, records }
    }

    /// Number of the first record.
    pub(super) const fn first(&self) -> u64 {
        self.first
    }

    /// Size in bytes of the operations.
    pub(super) fn operation_bytes(&self) -> usize {
        match &self.records {
            BlockRecords::Rows { operations, .. } => operations.len(),
            BlockRecords::Text(_) => 0,
        }
    }

    /// The rows; empty for a block of text.
    pub(super) fn rows(&self) -> &[Row] {
        match &self.records {
            BlockRecords::Rows { read, .. } => &read.rows,
            BlockRecords::Text(_) => &[],
        }
    }

    /// The rows of a range of records: positions as numbers, which can be compared as they are.
    pub(super) fn rows_in(&self, range: Range<usize>) -> Result<Cow<'_, [Row]>, ArchiveError> {
        let rows = match &self.records {
            BlockRecords::Rows { read, .. } => read.rows.get(range).map(Cow::Borrowed),
            BlockRecords::Text(text) => {
                let row = |line: &&[u8]| read_line(line).as_ref().map(Row::from_record);
                lines_in(text, range).iter().map(row).collect()
            }
        };
        rows.ok_or_else(|| self.damaged())
    }

    /// True if the record at a place is only a row, without operations.
    pub(super) fn is_row_alone(&self, place: usize) -> bool {
        self.rows().get(place).is_some_and(|row| !row.has_operations())
    }

    /// Error for a block that has a matching checksum, but that no writer produces.
    pub(super) fn damaged(&self) -> ArchiveError {
        Refusal::Damaged.at(PART, self.first)
    }

    pub(super) fn record(&self, place: usize) -> Result<EpdRecord, ArchiveError> {
        let record = match &self.records {
            BlockRecords::Rows { read, .. } => match read.rows.get(place) {
                Some(row) if row.has_operations() => {
                    return self.records_in(place..place + 1)?.pop().ok_or_else(|| self.damaged());
                }
                row => row.and_then(Row::record),
            },
            BlockRecords::Text(text) => {
                text.split(|&byte| byte == b'\n').nth(place).and_then(read_line)
            }
        };
        record.ok_or_else(|| self.damaged())
    }

    pub(super) fn records_from(&self, place: usize) -> Result<Vec<EpdRecord>, ArchiveError> {
        self.records_in(place..usize::MAX)
    }

    /// Decodes a range of records. Records after the range are not decoded.
    pub(super) fn records_in(&self, range: Range<usize>) -> Result<Vec<EpdRecord>, ArchiveError> {
        match &self.records {
            BlockRecords::Text(text) => {
                let lines = lines_in(text, range);
                let lines = lines.into_par_iter().with_min_len(threads::at_least(LINES_TOGETHER));
                let records: Option<_> = lines.map(read_line).collect();
                records.ok_or_else(|| self.damaged())
            }
            BlockRecords::Rows { read, .. } => {
                let places: Vec<usize> = (range.start..read.rows.len().min(range.end)).collect();
                self.records_at(&places, usize::MAX)
            }
        }
    }

    /// Adds the selected records with these numbers. Only those whose positions may match are decoded.
    pub(super) fn select(
        &self,
        numbers: Range<u64>,
        select: &dyn Select,
        selected: &mut Selected,
    ) -> Result<(), ArchiveError> {
        let places = (numbers.start - self.first) as usize..(numbers.end - self.first) as usize;
        let BlockRecords::Rows { read, .. } = &self.records else {
            for (number, record) in numbers.zip(self.records_in(places)?) {
                if select.may_take(&Setup::from(record.position())) {
                    selected.put(number, record, select);
                }
            }
            return Ok(());
        };
        let rows = read.rows.get(places.clone()).ok_or_else(|| self.damaged())?;
        let mut wanted = Vec::new();
        for (place, row) in places.zip(rows) {
            let position = row.position().ok_or_else(|| self.damaged())?;
            if select.may_take(&Setup::from(&position)) {
                wanted.push(place);
            }
        }
        for (place, record) in wanted.iter().zip(self.records_at(&wanted, usize::MAX)?) {
            selected.put(self.first + *place as u64, record, select);
        }
        Ok(())
    }

    /// Decodes the records at ascending places, with at most about `max_memory` bytes for their
    /// operations. An earlier record is decoded only as far as one of these records depends on it.
    /// No record after the last place is decoded.
    pub(super) fn records_at(
        &self,
        places: &[usize],
        max_memory: usize,
    ) -> Result<Vec<EpdRecord>, ArchiveError> {
        match &self.records {
            BlockRecords::Text(_) => places.iter().map(|&place| self.record(place)).collect(),
            BlockRecords::Rows { read, operations, start, memory_bytes } => {
                records_of(read, places, operations, start, max_memory.min(*memory_bytes))
                    .map_err(|refusal| refusal.at(PART, self.first))
            }
        }
    }

    /// Appends the canonical text of the record at a place, without line end. If the row of the
    /// record is not enough, `record` is called to decode the record.
    pub(super) fn write_record(
        &self,
        place: usize,
        record: impl FnOnce() -> Result<EpdRecord, ArchiveError>,
        out: &mut Vec<u8>,
    ) -> Result<(), ArchiveError> {
        match self.rows().get(place) {
            Some(row) if !row.has_operations() => row.write_text(out).ok_or_else(|| self.damaged()),
            _ => {
                epd::format(&record()?, &FormatOptions::default(), out);
                Ok(())
            }
        }
    }

    /// Appends the canonical text of a range of records, each on a line.
    pub(super) fn write_text(
        &self,
        range: Range<usize>,
        out: &mut Vec<u8>,
    ) -> Result<(), ArchiveError> {
        match &self.records {
            BlockRecords::Text(text) => {
                let lines = lines_in(text, range);
                let is_right = |line: &&[u8]| read_line(line).is_some();
                if !lines.par_iter().with_min_len(threads::at_least(LINES_TOGETHER)).all(is_right) {
                    return Err(self.damaged());
                }
                for line in lines {
                    out.extend_from_slice(line);
                    out.push(b'\n');
                }
            }
            BlockRecords::Rows { read, operations, .. } if operations.is_empty() => {
                for row in read.rows.iter().skip(range.start).take(range.len()) {
                    row.write_text(out).ok_or_else(|| self.damaged())?;
                    out.push(b'\n');
                }
            }
            BlockRecords::Rows { .. } => {
                for record in &self.records_in(range)? {
                    epd::format(record, &FormatOptions::default(), out);
                    out.push(b'\n');
                }
            }
        }
        Ok(())
    }
}

const PART: &str = "block of record";

/// Minimum number of lines for each thread, if several threads parse the lines of a block.
const LINES_TOGETHER: usize = 512;

/// Decodes the records at ascending places of rows, with their operations.
fn records_of(
    read: &ReadRows,
    places: &[usize],
    operations: &[u8],
    start: &InitialModel,
    memory_bytes: usize,
) -> Result<Vec<EpdRecord>, Refusal> {
    let rows = &read.rows;
    let records = places.iter().map(|&place| rows.get(place)?.record());
    let mut records: Vec<EpdRecord> = records.collect::<Option<_>>().ok_or(Refusal::Damaged)?;
    let has_operations = |&place: &usize| rows[place].has_operations();
    let Some(last) = places.iter().copied().rfind(has_operations) else { return Ok(records) };
    let subjects = (0..=last).filter(has_operations);
    let subjects = subjects.map(|place| (place, PositionOf::Row(rows[place])));
    let mut wanted = places.iter().zip(&mut records).filter(|(place, _)| has_operations(place));
    let mut next = wanted.next();
    let mut scratch = Vec::new();
    let mut are_right = true;
    let visit = |place, operations| {
        if let Some((_, record)) = next.take_if(|(wanted, _)| **wanted == place) {
            are_right &= put_operations(record, operations, &rows[place], &mut scratch);
            next = wanted.next();
        }
    };
    let links = &mut MoveLinks::from_read(read);
    let is_wanted = |place| places.binary_search(&place).is_ok();
    coded_operations::decode(operations, start, links, subjects, is_wanted, memory_bytes, visit)?;
    if are_right { Ok(records) } else { Err(Refusal::Damaged) }
}

/// True if a writer can produce this operation. A set of moves must ascend, and only opcodes that take moves or
/// integers may have them.
fn is_written(operation: &Operation) -> bool {
    let kind = operation.opcode.standard().map(|entry| entry.operands);
    let takes_moves = matches!(kind, Some(Operands::Move | Operands::MoveLine | Operands::MoveSet));
    let takes_integers = matches!(kind, Some(Operands::Integer(..)));
    let is_taken = |operand: &Operand| match operand {
        Operand::Move { .. } => takes_moves,
        Operand::Integer(_) => takes_integers,
        _ => true,
    };
    let operands = &operation.operands;
    let ascends = kind != Some(Operands::MoveSet)
        || operands.is_sorted_by(|one, next| one.text() < next.text());
    ascends && operands.iter().all(is_taken)
}

/// Puts operations into the record of a row. Returns false if no record has both.
fn put_operations(
    record: &mut EpdRecord,
    operations: Vec<Operation>,
    row: &Row,
    scratch: &mut Vec<u8>,
) -> bool {
    let is_new = |operation| is_written(&operation) && record.set(operation).is_none();
    scratch.clear();
    operations.into_iter().all(is_new)
        && record::encode(record, scratch).is_ok()
        && Row::from_record(record) == *row
}

/// Maximum length of a block's text in bytes.
pub(super) const MAX_BLOCK: usize = 4 << 20;

/// Decompresses a frame of `lines` lines; `None` if it is damaged, or if there is more than one frame.
pub(super) fn unpack(frame: &[u8], lines: u64) -> Option<Vec<u8>> {
    if !is_one_frame(frame) {
        return None;
    }
    let len = zstd::zstd_safe::get_frame_content_size(frame).ok()??;
    let len = usize::try_from(len).ok().filter(|&len| len <= MAX_BLOCK)?;
    let text = zstd::bulk::decompress(frame, len).ok()?;
    let found = text.iter().filter(|&&byte| byte == b'\n').count();
    let is_whole = found as u64 == lines && text.last() == Some(&b'\n') && text.len() == len;
    is_whole.then_some(text)
}

/// Parses a line without its line feed; `None` if it is not the canonical text of the record.
fn read_line(line: &[u8]) -> Option<EpdRecord> {
    let record = parse_line(line)?;
    let mut canonical = Vec::with_capacity(line.len());
    epd::format(&record, &FormatOptions::default(), &mut canonical);
    (canonical == line).then_some(record)
}

/// Parses a line of text in an archive: FEN if it has six fields, otherwise EPD, both standard.
pub(super) fn parse_line(line: &[u8]) -> Option<EpdRecord> {
    let is_fen = !line.ends_with(b";") && line.iter().filter(|&&byte| byte == b' ').count() == 5;
    if is_fen {
        return fen::parse(line, Profile::Standard).ok();
    }
    match epd::parse_line(line, &ParseOptions::new(Profile::Standard), &mut Vec::new()) {
        Ok(epd::Line::Record(record)) => Some(record),
        _ => None,
    }
}

/// The lines of text that are in a range, without their line feeds.
fn lines_in(text: &[u8], range: Range<usize>) -> Vec<&[u8]> {
    let text = text.strip_suffix(b"\n").unwrap_or(text);
    text.split(|&byte| byte == b'\n').skip(range.start).take(range.len()).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use epdb_chess::model::Opcode;

    #[test]
    fn integers_and_moves_are_operands_of_their_opcodes_only() {
        for (opcode, integers, moves) in [
            ("acn", true, false),
            ("bm", false, true),
            ("pv", false, true),
            ("sm", false, true),
            ("id", false, false),
            ("noop", false, false),
            ("depth", false, false),
        ] {
            let is_written = |line: &[u8]| {
                let record = epdb_chess::parse_epd(line).unwrap();
                let operands = record.operations()[0].operands.clone();
                is_written(&Operation { opcode: Opcode::new(opcode.as_bytes()).unwrap(), operands })
            };
            assert_eq!(is_written(b"4k3/8/8/8/8/8/4P3/4K3 w - - ce 5;"), integers, "{opcode}");
            assert_eq!(is_written(b"4k3/8/8/8/8/8/4P3/4K3 w - - pm e4;"), moves, "{opcode}");
        }
    }
}

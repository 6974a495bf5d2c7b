//! The segments of a file. They consist of the entries of the segment table and their sections, and
//! are checked when the file is opened.

use zerocopy::FromBytes;

use crate::blocks::BlockSegment;
use crate::error::ArchiveError;
use crate::file::heads::{self, Heads};
use crate::file::ranges::ArchiveBytes;
use crate::file::sections::{Section, SectionKind, SectionTable, at_most};
use crate::file::{
    CODER_ROWS, CODER_SHIPPED, CODER_TEXT, CODER_TREE, FLIPPED, HAS_OPERATIONS, SegmentEntry, Span,
};
use crate::rows::RowSegment;

/// Maximum number of records of a block that a reader accepts.
const MAX_BLOCK_RECORDS: u32 = 65_535;
/// Maximum number of segments of a file that this reader opens.
const MAX_SEGMENTS: u64 = 1 << 16;
const TABLE: &str = "segment table";

/// The segments of a file, all of one level.
pub(super) enum Segments {
    /// Segments of an archive of level fast.
    Rows(Vec<RowSegment>),
    /// Segments of an archive of level default.
    Blocks(Vec<BlockSegment>),
}

impl Segments {
    /// Reads the segment table and assigns the sections to segments. If there is no segment,
    /// `is_fast` determines the level.
    pub(super) fn read(
        file: &ArchiveBytes,
        table: &SectionTable,
        is_fast: bool,
    ) -> Result<Segments, ArchiveError> {
        let section = table.file_section(SectionKind::SegmentTable);
        let section = section.ok_or(ArchiveError::corrupt(TABLE))?;
        let bytes = section.checked(file, TABLE)?;
        let entries =
            <[SegmentEntry]>::ref_from_bytes(&bytes).map_err(|_| ArchiveError::corrupt(TABLE))?;
        Segments::new(entries, table, is_fast)
    }

    fn new(
        entries: &[SegmentEntry],
        table: &SectionTable,
        is_fast: bool,
    ) -> Result<Segments, ArchiveError> {
        at_most("segments", entries.len() as u64, MAX_SEGMENTS)?;
        verify_entries(entries)?;
        let sections = sections_of(entries, table)?;
        let is_fast = entries.first().map_or(is_fast, |entry| entry.coder == CODER_ROWS);
        let pairs = entries.iter().zip(sections);
        if is_fast {
            let segments: Vec<RowSegment> =
                pairs.map(|(entry, sections)| sections.rows(entry)).collect();
            all_fit(segments.iter().map(RowSegment::fits))?;
            return Ok(Segments::Rows(segments));
        }
        let segments: Vec<BlockSegment> =
            pairs.map(|(entry, sections)| sections.blocks(entry)).collect();
        all_fit(segments.iter().map(BlockSegment::fits))?;
        Ok(Segments::Blocks(segments))
    }

    /// The segments that heads describe. The last one may be cut off; then it has the records of its whole
    /// blocks or rows.
    pub(super) fn of_heads(file: &ArchiveBytes, heads: &Heads) -> Result<Segments, ArchiveError> {
        let mut segments = Segments::new(&heads.segments, &heads.table()?, false)?;
        if heads.end > file.size() {
            segments.cut(file)?;
        }
        Ok(segments)
    }

    fn cut(&mut self, file: &ArchiveBytes) -> Result<(), ArchiveError> {
        match self {
            Segments::Rows(segments) => {
                let Some(last) = segments.last_mut() else { return Ok(()) };
                let is_empty = last.cut(heads::present(file, last.rows));
                if is_empty {
                    segments.pop();
                }
            }
            Segments::Blocks(segments) => {
                let Some(last) = segments.last_mut() else { return Ok(()) };
                let is_empty = last.cut(file, heads::present(file, last.blocks))?;
                if is_empty {
                    segments.pop();
                }
            }
        }
        Ok(())
    }

    pub(super) fn records(&self) -> u64 {
        let last = match self {
            Segments::Rows(segments) => segments.last().map(|segment| segment.span),
            Segments::Blocks(segments) => segments.last().map(|segment| segment.span),
        };
        last.map_or(0, |span| span.end())
    }
}

/// Checks that the entries follow each other and that a writer may produce them.
fn verify_entries(entries: &[SegmentEntry]) -> Result<(), ArchiveError> {
    let mut next_record = 0;
    let mut next_block = 0;
    for (number, entry) in (0..).zip(entries) {
        let unknown = entry.flags & !(HAS_OPERATIONS | FLIPPED);
        if unknown != 0 {
            let flags = unknown.into();
            return Err(ArchiveError::UnknownFlags { part: TABLE, flags });
        }
        if entry.coder > CODER_TEXT {
            return Err(ArchiveError::UnknownCoder { coder: entry.coder });
        }
        let is_fast = entry.coder == CODER_ROWS;
        let records = entry.records.get();
        let block_records = entry.block_records.get();
        let index_records = u32::from(entry.index_records.get());
        let has_columns = ![CODER_ROWS, CODER_TEXT].contains(&entry.coder);
        let is_whole = entry.first_record.get() == next_record
            && entry.first_block.get() == next_block
            && records > 0
            && (1..=MAX_BLOCK_RECORDS).contains(&block_records)
            && index_records > 0
            && (is_fast || block_records.is_multiple_of(index_records))
            && (entry.flags == 0 || has_columns && entry.flags != HAS_OPERATIONS | FLIPPED)
            && (entries[0].coder == CODER_ROWS) == is_fast;
        if !is_whole {
            return Err(ArchiveError::corrupt_at("segment", number));
        }
        next_record += u64::from(records);
        next_block += u64::from(if is_fast { records } else { records.div_ceil(index_records) });
    }
    Ok(())
}

/// The sections of a segment. A missing section is empty.
#[derive(Copy, Clone, Default)]
struct SegmentSections {
    rows: Section,
    heap: Section,
    model: Section,
    operation_start: Section,
    directory: Section,
    blocks: Section,
    order: Section,
    separators: Section,
}

fn sections_of(
    entries: &[SegmentEntry],
    table: &SectionTable,
) -> Result<Vec<SegmentSections>, ArchiveError> {
    let mut sections = vec![SegmentSections::default(); entries.len()];
    for listed in table.each() {
        let (Some(kind), Some(number)) = (listed.kind, listed.segment) else { continue };
        let entry = entries.get(number as usize).zip(sections.get_mut(number as usize));
        if !entry.is_some_and(|(entry, own)| own.take(entry.coder, kind, listed.section)) {
            return Err(ArchiveError::corrupt("section table"));
        }
    }
    Ok(sections)
}

impl SegmentSections {
    /// Adds a section. Returns false if the coder has no section of this kind.
    fn take(&mut self, coder: u8, kind: SectionKind, section: Section) -> bool {
        let place = match (kind, coder) {
            (SectionKind::Rows, CODER_ROWS) => &mut self.rows,
            (SectionKind::Heap, CODER_ROWS) => &mut self.heap,
            (SectionKind::Model, CODER_TREE) => &mut self.model,
            (SectionKind::OperationStart, CODER_TREE | CODER_SHIPPED) => &mut self.operation_start,
            (SectionKind::BlockDirectory, 1..) => &mut self.directory,
            (SectionKind::Blocks, 1..) => &mut self.blocks,
            (SectionKind::Order, 1..) => &mut self.order,
            (SectionKind::Separators, 1..) => &mut self.separators,
            (SectionKind::SegmentHead, _) => return true,
            _ => return false,
        };
        *place = section;
        true
    }

    fn rows(self, entry: &SegmentEntry) -> RowSegment {
        RowSegment { span: Span::new(entry), rows: self.rows, heap: self.heap }
    }

    fn blocks(self, entry: &SegmentEntry) -> BlockSegment {
        BlockSegment {
            span: Span::new(entry),
            block_records: entry.block_records.get(),
            first_index_block: entry.first_block.get(),
            index_records: entry.index_records.get().into(),
            coder: entry.coder,
            has_operations: entry.flags & HAS_OPERATIONS != 0,
            is_flipped: entry.flags & FLIPPED != 0,
            model: self.model,
            operation_start: self.operation_start,
            directory: self.directory,
            blocks: self.blocks,
            order: self.order,
            separators: self.separators,
        }
    }
}

/// Reports the first segment whose sections are too short or too long for its records.
fn all_fit(mut fits: impl Iterator<Item = bool>) -> Result<(), ArchiveError> {
    match fits.position(|fits| !fits) {
        None => Ok(()),
        Some(number) => Err(ArchiveError::corrupt_at("segment", number as u64)),
    }
}

//! The segments of a file as a reader has them: each entry of the table with its sections.

use zerocopy::FromBytes;

use super::directory;
use super::error::ArchiveError;
use super::fast;
use super::layout::{CODER_ROWS, CODER_TEXT, CODER_TREE, HAS_OPERATIONS, SegmentEntry};
use super::sections::{Section, SectionKind, SectionTable};

/// The most records of a block that a reader takes.
const MAX_BLOCK_RECORDS: u32 = 65_535;
/// The fewest bytes of a block: the state of its coder.
const MIN_BLOCK: u64 = 4;

/// A run of records that are coded in one way.
#[derive(Copy, Clone, Debug)]
pub(super) struct Segment {
    /// The number of its first record.
    pub(super) first_record: u64,
    /// The number of its first block as the position index counts blocks.
    pub(super) first_block: u64,
    pub(super) records: u32,
    /// Records in each block but the last.
    pub(super) block_records: u32,
    /// Records in each block as the position index counts blocks.
    pub(super) index_records: u32,
    /// What the checks of its rows or blocks begin with.
    pub(super) identity: u32,
    pub(super) coder: u8,
    pub(super) has_operations: bool,
    /// Model of a coder by blocks; rows of level fast.
    pub(super) model: Section,
    /// Where blocks end; nothing at level fast.
    pub(super) directory: Section,
    /// Blocks; records of level fast that are no rows.
    pub(super) blocks: Section,
}

impl Segment {
    fn of(entry: &SegmentEntry) -> Segment {
        Segment {
            first_record: entry.first_record.get(),
            first_block: entry.first_block.get(),
            records: entry.records.get(),
            block_records: entry.block_records.get(),
            index_records: entry.index_records.get().into(),
            identity: entry.identity.get(),
            coder: entry.coder,
            has_operations: entry.flags & HAS_OPERATIONS != 0,
            model: Section::default(),
            directory: Section::default(),
            blocks: Section::default(),
        }
    }

    pub(super) const fn is_fast(&self) -> bool {
        self.coder == CODER_ROWS
    }

    /// The number behind the last record.
    pub(super) fn end(&self) -> u64 {
        self.first_record + u64::from(self.records)
    }

    /// How many blocks there are.
    pub(super) const fn blocks(&self) -> u32 {
        self.records.div_ceil(self.block_records)
    }

    /// How many blocks the position index counts.
    pub(super) fn index_blocks(&self) -> u64 {
        let records = if self.is_fast() { 1 } else { self.index_records };
        self.records.div_ceil(records).into()
    }

    /// The records of the block that begins with this one.
    pub(super) fn block_len(&self, first: u64) -> u64 {
        self.end().saturating_sub(first).min(self.block_records.into())
    }

    /// The number of the first record of a block.
    pub(super) fn first_of(&self, block: u32) -> u64 {
        self.first_record + u64::from(block) * u64::from(self.block_records)
    }

    /// Takes a section of this segment; false when its coder has none of this kind.
    fn take(&mut self, kind: SectionKind, section: Section) -> bool {
        let place = match (kind, self.coder) {
            (SectionKind::Rows, CODER_ROWS) | (SectionKind::Model, CODER_TREE) => &mut self.model,
            (SectionKind::Heap, CODER_ROWS) => &mut self.blocks,
            (SectionKind::BlockDirectory, 1..) => &mut self.directory,
            (SectionKind::Blocks, 1..) => &mut self.blocks,
            _ => return false,
        };
        *place = section;
        true
    }

    /// Whether the sections can hold what the entry says.
    fn fits(&self) -> bool {
        match self.is_fast() {
            true => self.model.len == u64::from(self.records) * fast::ROW_BYTES,
            false => {
                directory::fits(self.directory.len, self.blocks())
                    && self.blocks.len >= u64::from(self.blocks()) * MIN_BLOCK
            }
        }
    }
}

/// Reads the segment table and gives each segment its sections.
pub(super) fn read(file: &[u8], table: &SectionTable) -> Result<Vec<Segment>, ArchiveError> {
    const PART: &str = "segment table";
    let section = table.of_file(SectionKind::SegmentTable).ok_or(ArchiveError::corrupt(PART))?;
    let entries = <[SegmentEntry]>::ref_from_bytes(section.checked(file, PART)?)
        .map_err(|_| ArchiveError::corrupt(PART))?;
    let mut segments: Vec<Segment> = Vec::with_capacity(entries.len());
    for (number, entry) in (0..).zip(entries) {
        let segment = Segment::of(entry);
        let (record, block) = segments
            .last()
            .map_or((0, 0), |last| (last.end(), last.first_block + last.index_blocks()));
        if entry.flags & !HAS_OPERATIONS != 0 {
            let flags = (entry.flags & !HAS_OPERATIONS).into();
            return Err(ArchiveError::UnknownFlags { part: PART, flags });
        }
        if segment.coder > CODER_TEXT {
            return Err(ArchiveError::UnknownCoder { coder: segment.coder });
        }
        let is_whole = segment.first_record == record
            && segment.first_block == block
            && segment.records > 0
            && (1..=MAX_BLOCK_RECORDS).contains(&segment.block_records)
            && segment.index_records > 0
            && (segment.is_fast() || segment.block_records.is_multiple_of(segment.index_records))
            && (!segment.has_operations || (1..CODER_TEXT).contains(&segment.coder))
            && segments.first().is_none_or(|first| first.is_fast() == segment.is_fast());
        if !is_whole {
            return Err(ArchiveError::corrupt_at("segment", number));
        }
        segments.push(segment);
    }
    for listed in table.each() {
        if let (Some(kind), Some(number)) = (listed.kind, listed.segment) {
            let segment = segments.get_mut(number as usize);
            if !segment.is_some_and(|segment| segment.take(kind, listed.section)) {
                return Err(ArchiveError::corrupt("section table"));
            }
        }
    }
    match segments.iter().position(|segment| !segment.fits()) {
        None => Ok(segments),
        Some(number) => Err(ArchiveError::corrupt_at("segment", number as u64)),
    }
}

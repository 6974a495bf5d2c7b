//! The section table. It has the parts of the file and their places, and a flag for parts that a
//! reader may ignore.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::ranges::ArchiveBytes;
use super::{FileId, Footer, Header, check, id_of};
use crate::error::ArchiveError;

/// Kind of a section. The numbers are part of the format.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[repr(u32)]
pub(crate) enum SectionKind {
    SegmentTable = 1,
    Model = 2,
    BlockDirectory = 3,
    Blocks = 4,
    Rows = 5,
    Heap = 6,
    BlockIndex = 7,
    RecordIndex = 8,
    Lists = 9,
    FileNames = 10,
    SideData = 11,
    Order = 12,
    Separators = 13,
    OperationStart = 14,
    TallyOrigin = 15,
    GameDigests = 16,
    KeptGames = 17,
    RowDirectory = 18,
    RowGuide = 19,
    About = 20,
    SegmentHead = 21,
}

impl SectionKind {
    const ALL: [SectionKind; 21] = [
        SectionKind::SegmentTable,
        SectionKind::Model,
        SectionKind::BlockDirectory,
        SectionKind::Blocks,
        SectionKind::Rows,
        SectionKind::Heap,
        SectionKind::BlockIndex,
        SectionKind::RecordIndex,
        SectionKind::Lists,
        SectionKind::FileNames,
        SectionKind::SideData,
        SectionKind::Order,
        SectionKind::Separators,
        SectionKind::OperationStart,
        SectionKind::TallyOrigin,
        SectionKind::GameDigests,
        SectionKind::KeptGames,
        SectionKind::RowDirectory,
        SectionKind::RowGuide,
        SectionKind::About,
        SectionKind::SegmentHead,
    ];

    fn from_number(number: u32) -> Option<SectionKind> {
        SectionKind::ALL.into_iter().find(|&kind| kind as u32 == number)
    }

    /// Name in errors and listings.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            SectionKind::SegmentTable => "segment table",
            SectionKind::Model => "model",
            SectionKind::BlockDirectory => "block directory",
            SectionKind::Blocks => "blocks",
            SectionKind::Rows => "rows",
            SectionKind::Heap => "heap",
            SectionKind::BlockIndex | SectionKind::RecordIndex => "position index",
            SectionKind::Lists => "lists of equal keys",
            SectionKind::FileNames => "file names",
            SectionKind::SideData => "side data",
            SectionKind::Order => "order of records",
            SectionKind::Separators => "separators",
            SectionKind::OperationStart => "start of operations",
            SectionKind::TallyOrigin => "origin of tallies",
            SectionKind::GameDigests => "digests of games",
            SectionKind::KeptGames => "kept games",
            SectionKind::RowDirectory => "row directory",
            SectionKind::RowGuide => "row guide",
            SectionKind::About => "facts about the data",
            SectionKind::SegmentHead => "segment head",
        }
    }

    /// True if the section belongs to a segment, false if it belongs to the whole file.
    const fn is_of_segment(self) -> bool {
        matches!(
            self,
            SectionKind::Model
                | SectionKind::BlockDirectory
                | SectionKind::Blocks
                | SectionKind::Rows
                | SectionKind::Heap
                | SectionKind::Order
                | SectionKind::Separators
                | SectionKind::OperationStart
                | SectionKind::SegmentHead
        )
    }

    /// True if the section may be empty. Empty sections of other kinds are left out.
    const fn may_be_empty(self) -> bool {
        matches!(
            self,
            SectionKind::SegmentTable | SectionKind::SideData | SectionKind::OperationStart
        )
    }

    /// True if the records can be read without the section.
    const fn may_be_ignored(self) -> bool {
        matches!(
            self,
            SectionKind::BlockIndex
                | SectionKind::RecordIndex
                | SectionKind::Lists
                | SectionKind::FileNames
                | SectionKind::SideData
                | SectionKind::Separators
                | SectionKind::TallyOrigin
                | SectionKind::GameDigests
                | SectionKind::KeptGames
                | SectionKind::RowDirectory
                | SectionKind::RowGuide
                | SectionKind::About
                | SectionKind::SegmentHead
        )
    }
}

/// Number of bytes of a part that are in memory at once while the part is verified.
const VERIFIED_AT_ONCE: u64 = 4 << 20;

/// A part of the file: its place, and the CRC32C of its bytes.
#[derive(Copy, Clone, Debug, Default)]
pub(crate) struct Section {
    pub offset: u64,
    pub(crate) len: u64,
    pub check: u32,
}

impl Section {
    /// The bytes of the part in a file on this machine, unchecked.
    pub(crate) fn bytes<'a>(
        &self,
        file: &'a [u8],
        part: &'static str,
    ) -> Result<&'a [u8], ArchiveError> {
        let range = usize::try_from(self.offset)
            .ok()
            .zip(usize::try_from(self.len).ok())
            .and_then(|(offset, len)| Some(offset..offset.checked_add(len)?));
        range.and_then(|range| file.get(range)).ok_or(ArchiveError::corrupt(part))
    }

    /// The range of the part in the archive. A damaged table can make it end after the archive.
    pub(crate) const fn range(&self) -> Range<u64> {
        self.offset..self.offset.saturating_add(self.len)
    }

    /// The bytes of the part, unchecked. They stay in memory.
    pub(crate) fn kept<'a>(
        &self,
        file: &'a ArchiveBytes,
        part: &'static str,
    ) -> Result<&'a [u8], ArchiveError> {
        file.get(self.range(), part)
    }

    /// The bytes of the part, after checking their checksum.
    pub(crate) fn checked<'a>(
        &self,
        file: &'a ArchiveBytes,
        part: &'static str,
    ) -> Result<Cow<'a, [u8]>, ArchiveError> {
        let bytes = file.read(self.range(), part)?;
        if self.holds(&bytes) { Ok(bytes) } else { Err(ArchiveError::corrupt(part)) }
    }

    /// True if bytes have the checksum of the part.
    pub(crate) fn holds(&self, bytes: &[u8]) -> bool {
        check::holds(crc32c::crc32c(bytes), self.check)
    }

    /// Checks the checksum of the bytes of the part, which need not fit into memory.
    pub(crate) fn verify(
        &self,
        file: &ArchiveBytes,
        part: &'static str,
    ) -> Result<(), ArchiveError> {
        let Range { mut start, end } = self.range();
        let mut found = 0;
        while start < end {
            let next = end.min(start + VERIFIED_AT_ONCE);
            found = crc32c::crc32c_append(found, &file.read(start..next, part)?);
            start = next;
        }
        if check::holds(found, self.check) { Ok(()) } else { Err(ArchiveError::corrupt(part)) }
    }
}

#[derive(Copy, Clone, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(crate) struct SectionEntry {
    kind: U32,
    flags: U32,
    /// The number of the segment, or [`NO_SEGMENT`].
    segment: U32,
    check: U32,
    offset: U64,
    len: U64,
}

const ENTRY: usize = size_of::<SectionEntry>();
const _: () = assert!(ENTRY == 32);
/// Length of kind, flags and segment of an entry.
const FIRST_FIELDS: usize = 3 * size_of::<U32>();

/// The segment of a section that belongs to the whole file.
const NO_SEGMENT: u32 = u32::MAX;
/// Entry flag: a reader that does not know the kind ignores the section and reads the rest.
const MAY_BE_IGNORED: u32 = 1;
/// Maximum number of sections of a file that this reader opens.
const MAX_SECTIONS: u64 = 1 << 20;

/// Refuses a file that needs more of something than this reader allows.
pub(crate) fn at_most(what: &'static str, found: u64, limit: u64) -> Result<(), ArchiveError> {
    if found <= limit { Ok(()) } else { Err(ArchiveError::LimitExceeded { what, found, limit }) }
}

/// Between two sections there are fewer zeros than this number.
const MAX_GAP: u64 = 64;

impl SectionEntry {
    pub(crate) fn new(kind: SectionKind, segment: Option<u32>, section: Section) -> SectionEntry {
        SectionEntry {
            kind: (kind as u32).into(),
            flags: if kind.may_be_ignored() { MAY_BE_IGNORED } else { 0 }.into(),
            segment: segment.unwrap_or(NO_SEGMENT).into(),
            check: section.check.into(),
            offset: section.offset.into(),
            len: section.len.into(),
        }
    }

    pub(crate) fn section(&self) -> Section {
        Section { offset: self.offset.get(), len: self.len.get(), check: self.check.get() }
    }

    /// Kind of the section; `None` if this reader does not know it and may ignore it.
    fn kind(&self) -> Result<Option<SectionKind>, ArchiveError> {
        let kind = self.kind.get();
        let flags = self.flags.get();
        if flags & !MAY_BE_IGNORED != 0 {
            let flags = flags & !MAY_BE_IGNORED;
            return Err(ArchiveError::UnknownFlags { part: "section table", flags });
        }
        let known = SectionKind::from_number(kind);
        let Some(known) = known else {
            let ignored = flags & MAY_BE_IGNORED != 0;
            return if ignored { Ok(None) } else { Err(ArchiveError::UnknownSection { kind }) };
        };
        let is_right = (self.len.get() > 0 || known.may_be_empty())
            && (flags & MAY_BE_IGNORED != 0) == known.may_be_ignored()
            && (self.segment.get() != NO_SEGMENT) == known.is_of_segment();
        if is_right { Ok(Some(known)) } else { Err(ArchiveError::corrupt(TABLE)) }
    }
}

const TABLE: &str = "section table";

#[derive(Copy, Clone, Debug)]
pub(crate) struct SectionRef {
    /// Kind; `None` if this reader does not know it.
    pub kind: Option<SectionKind>,
    /// Number of the segment; `None` for a section of the whole file.
    pub segment: Option<u32>,
    pub section: Section,
}

/// The sections of a file, in order of their offsets.
#[derive(Debug)]
pub(crate) struct SectionTable(Vec<SectionRef>);

impl SectionTable {
    /// The sections that segment heads list.
    pub(crate) fn of_heads(entries: &[SectionEntry]) -> Result<SectionTable, ArchiveError> {
        let listed = entries.iter().map(|entry| {
            let kind = entry.kind()?;
            let segment = Some(entry.segment.get());
            Ok(SectionRef { kind, segment, section: entry.section() })
        });
        listed.collect::<Result<_, _>>().map(SectionTable)
    }

    /// Reads the table, which precedes the footer. Checks that the sections follow each other, that
    /// none occurs twice, and that this reader knows all required ones.
    pub(crate) fn read(file: &ArchiveBytes, footer: &Footer) -> Result<SectionTable, ArchiveError> {
        let corrupt = || ArchiveError::corrupt(TABLE);
        at_most("sections", footer.sections.get().into(), MAX_SECTIONS)?;
        let end = file.size() - size_of::<Footer>() as u64;
        let start = u64::from(footer.sections.get())
            .checked_mul(size_of::<SectionEntry>() as u64)
            .and_then(|len| end.checked_sub(len))
            .filter(|&start| start >= size_of::<Header>() as u64);
        let bytes = file.read(start.ok_or_else(corrupt)?..end, TABLE)?;
        let bytes = &*bytes;
        if !footer.is_of(bytes) {
            return Err(corrupt());
        }
        SectionTable::parse(bytes, end - bytes.len() as u64)
    }

    /// Finds the table with this id in the end of a file whose footer is damaged. Returns it with its place.
    pub(crate) fn find(
        file: &ArchiveBytes,
        end: Range<u64>,
        id: FileId,
    ) -> Result<Option<(SectionTable, Range<u64>)>, ArchiveError> {
        // The head of the first segment is the first section that epdb writes.
        let head = SectionEntry::new(SectionKind::SegmentHead, Some(0), Section::default());
        let first = &head.as_bytes()[..FIRST_FIELDS];
        let bytes = file.read(end.clone(), TABLE)?;
        let Some(start) = bytes.windows(first.len()).rposition(|it| it == first) else {
            return Ok(None);
        };
        let mut hasher = blake3::Hasher::new();
        let mut table_end = start;
        for entry in bytes[start..].chunks_exact(ENTRY).take(MAX_SECTIONS as usize) {
            table_end += ENTRY;
            if id_of(hasher.update(entry)) == id {
                let place = end.start + start as u64..end.start + table_end as u64;
                let table = SectionTable::parse(&bytes[start..table_end], place.start);
                return Ok(table.ok().map(|table| (table, place)));
            }
        }
        Ok(None)
    }

    /// Reads the table with these bytes, which begins at `start`.
    fn parse(bytes: &[u8], start: u64) -> Result<SectionTable, ArchiveError> {
        let corrupt = || ArchiveError::corrupt(TABLE);
        let entries = <[SectionEntry]>::ref_from_bytes(bytes).map_err(|_| corrupt())?;
        let mut listed = Vec::with_capacity(entries.len());
        let mut seen = HashSet::new();
        let mut before = size_of::<Header>() as u64;
        for entry in entries {
            let kind = entry.kind()?;
            let section = entry.section();
            follows(before, section.offset)?;
            before = section.offset.checked_add(section.len).ok_or_else(corrupt)?;
            if kind.is_some_and(|kind| !seen.insert((kind, entry.segment))) {
                return Err(corrupt());
            }
            let segment = Some(entry.segment.get()).filter(|&number| number != NO_SEGMENT);
            listed.push(SectionRef { kind, segment, section });
        }
        follows(before, start)?;
        Ok(SectionTable(listed))
    }

    pub(crate) fn each(&self) -> impl Iterator<Item = &SectionRef> {
        self.0.iter()
    }

    /// A section of the whole file, if present.
    pub(crate) fn file_section(&self, kind: SectionKind) -> Option<Section> {
        let mut sections = self.0.iter();
        sections.find(|listed| listed.kind == Some(kind)).map(|listed| listed.section)
    }
}

/// Checks that a section may begin at `offset` if the previous one ends at `end`.
fn follows(end: u64, offset: u64) -> Result<(), ArchiveError> {
    match offset.checked_sub(end) {
        Some(0..MAX_GAP) => Ok(()),
        _ => Err(ArchiveError::corrupt(TABLE)),
    }
}

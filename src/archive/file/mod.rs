//! The container format: the fixed structures and sections of a file. Their bytes are read, checked
//! and written here.

pub(super) mod bytes;
pub(super) mod check;
pub(super) mod heads;
pub(super) mod ranges;
pub(super) mod sections;
pub(super) mod sink;

use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use self::ranges::ArchiveBytes;
use super::error::ArchiveError;

/// Version that is written, and the newest version that is read.
pub(super) const VERSION: u16 = 1;
/// The first bytes of every archive.
pub const HEADER_MAGIC: [u8; 8] = *b"\x89EPA\r\n\x1a\n";
const FOOTER_MAGIC: [u8; 8] = *b"\nEPA-END";

/// A structure whose last four bytes are the CRC32C of the preceding bytes.
pub(super) trait Checked:
    Sized + FromBytes + IntoBytes + KnownLayout + Immutable + Unaligned
{
    /// Name of the structure in errors.
    const PART: &'static str;

    /// Sets the checksum.
    fn sealed(mut self) -> Self {
        let bytes = self.as_mut_bytes();
        if let Some((body, check)) = bytes.split_last_chunk_mut::<4>() {
            *check = crc32c::crc32c(body).to_le_bytes();
        }
        self
    }

    /// Checks the checksum of the structure at the start of these bytes, and returns the structure.
    fn read(bytes: &[u8]) -> Result<&Self, ArchiveError> {
        let (value, _) =
            Self::ref_from_prefix(bytes).map_err(|_| ArchiveError::Truncated(Self::PART))?;
        let holds = value.as_bytes().split_last_chunk::<4>().is_some_and(|(body, check)| {
            check::holds(crc32c::crc32c(body), u32::from_le_bytes(*check))
        });
        if holds { Ok(value) } else { Err(ArchiveError::corrupt(Self::PART)) }
    }
}

/// The first bytes of the file.
#[derive(Copy, Clone, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(super) struct Header {
    magic: [u8; 8],
    version: U16,
    /// A reader refuses flags that it does not know, and there are none yet.
    flags: U16,
    /// The id in the footer. Zeros if the writer could not write here again after the table.
    id: FileId,
    /// Zeros, which readers ignore.
    spare: [u8; 8],
    check: U32,
}

/// Shows that the header and the footer belong to one file: the first bytes of the BLAKE3 hash of the
/// section table.
pub(super) type FileId = [u8; 8];

/// The id of the file that has this section table.
pub(super) fn file_id(table: &[u8]) -> FileId {
    id_of(blake3::Hasher::new().update(table))
}

/// The id of the file whose section table was hashed.
fn id_of(hasher: &blake3::Hasher) -> FileId {
    let mut id = FileId::default();
    hasher.finalize_xof().fill(&mut id);
    id
}

/// The last bytes of the file, written last. The section table precedes them.
#[derive(Copy, Clone, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(super) struct Footer {
    /// Length of the whole file.
    pub(super) file_len: U64,
    pub(super) records: U64,
    pub(super) id: FileId,
    /// Zeros, which readers ignore.
    spare: [u8; 4],
    /// Number of entries of the section table.
    pub(super) sections: U32,
    /// CRC32C of the section table.
    table_check: U32,
    pub(super) flags: U16,
    version: U16,
    magic: [u8; 8],
    check: U32,
}

/// Footer flag: the records are not in the order of the input.
pub(super) const SORTED: u16 = 1;

/// An entry of the segment table. A segment has consecutive records, all coded in the same way.
#[derive(Copy, Clone, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(super) struct SegmentEntry {
    pub(super) first_record: U64,
    /// Number of the first index block of the segment. An index block is a group of `index_records`
    /// consecutive records. The position index leads to index blocks.
    pub(super) first_block: U64,
    pub(super) records: U32,
    /// Records in each block but the last.
    pub(super) block_records: U32,
    /// Identity of the segment. The checksum of each row or block covers this identity and the
    /// number of the row, or of the first record of the block.
    pub(super) identity: U32,
    pub(super) coder: u8,
    pub(super) flags: u8,
    /// Records in each index block but the last.
    pub(super) index_records: U16,
}

/// Segment coder: rows of level fast.
pub(super) const CODER_ROWS: u8 = 0;
/// Segment coder: the position model of the segment.
pub(super) const CODER_TREE: u8 = 1;
/// Segment coder: the position model that is built into epdb.
pub(super) const CODER_SHIPPED: u8 = 2;
/// Segment coder: canonical text under zstd.
pub(super) const CODER_TEXT: u8 = 3;
// Number 4 is reserved. The next coder gets number 5.

/// Segment flag: blocks have operations after their positions.
pub(super) const HAS_OPERATIONS: u8 = 1;

/// Segment flag: rows are coded with the board turned and the colours exchanged.
pub(super) const FLIPPED: u8 = 2;

const _: () = assert!(size_of::<Header>() == 32);
const _: () = assert!(size_of::<Footer>() == 52);
const _: () = assert!(size_of::<SegmentEntry>() == 32);

impl Checked for Header {
    const PART: &'static str = "header";
}

impl Checked for Footer {
    const PART: &'static str = "footer";
}

impl Header {
    /// The header of a file. The id is zeros until the section table is known.
    pub(super) fn new(id: FileId) -> Header {
        Header {
            magic: HEADER_MAGIC,
            version: VERSION.into(),
            flags: 0.into(),
            id,
            spare: [0; 8],
            check: 0.into(),
        }
        .sealed()
    }

    /// Checks the first bytes of a file. Returns the id, unless it is zeros.
    pub(super) fn check(file: &ArchiveBytes) -> Result<Option<FileId>, ArchiveError> {
        let file = file.get(0..file.size().min(size_of::<Header>() as u64), Header::PART)?;
        let seen = file.len().min(HEADER_MAGIC.len());
        if file.is_empty() || file[..seen] != HEADER_MAGIC[..seen] {
            return Err(ArchiveError::NotAnArchive);
        }
        let (header, _) =
            Header::ref_from_prefix(file).map_err(|_| ArchiveError::Truncated("header"))?;
        check_version(header.version, Header::PART)?;
        let header = Header::read(file)?;
        check_flags(header.flags.get(), Header::PART)?;
        Ok(Some(header.id).filter(|id| *id != FileId::default()))
    }
}

/// Checks the version, which is in the header and in the footer.
fn check_version(version: U16, part: &'static str) -> Result<(), ArchiveError> {
    match version.get() {
        0 => Err(ArchiveError::corrupt(part)),
        VERSION => Ok(()),
        found => Err(ArchiveError::UnsupportedVersion { found, supported: VERSION }),
    }
}

/// Refuses flags, of which this reader knows none.
fn check_flags(unknown: u16, part: &'static str) -> Result<(), ArchiveError> {
    match unknown {
        0 => Ok(()),
        _ => Err(ArchiveError::UnknownFlags { part, flags: unknown.into() }),
    }
}

impl Footer {
    /// Makes the footer of a file that has `before` bytes before the footer.
    pub(super) fn new(
        before: u64,
        records: u64,
        flags: u16,
        table: &[u8],
        sections: u32,
    ) -> Footer {
        Footer {
            file_len: (before + size_of::<Footer>() as u64).into(),
            records: records.into(),
            id: file_id(table),
            spare: [0; 4],
            sections: sections.into(),
            table_check: crc32c::crc32c(table).into(),
            flags: flags.into(),
            version: VERSION.into(),
            magic: FOOTER_MAGIC,
            check: 0.into(),
        }
        .sealed()
    }

    /// Checksum of the footer.
    pub(super) const fn check(&self) -> u32 {
        self.check.get()
    }

    /// True if this is the footer of a file with this section table.
    pub(super) fn is_of(&self, table: &[u8]) -> bool {
        check::holds(crc32c::crc32c(table), self.table_check.get())
            && (cfg!(fuzzing) || self.id == file_id(table))
    }

    pub(super) fn parse(file: &ArchiveBytes) -> Result<&Footer, ArchiveError> {
        let len = file.size();
        let start = len
            .checked_sub(size_of::<Footer>() as u64)
            .filter(|&start| start >= size_of::<Header>() as u64)
            .ok_or(ArchiveError::Truncated("there is no footer"))?;
        let bytes = file.get(start..len, Footer::PART)?;
        let (footer, _) = Footer::ref_from_prefix(bytes)
            .map_err(|_| ArchiveError::Truncated("there is no footer"))?;
        if footer.magic != FOOTER_MAGIC {
            return Err(ArchiveError::Truncated("there is no footer"));
        }
        check_version(footer.version, Footer::PART)?;
        let footer = Footer::read(bytes)?;
        if footer.file_len.get() != len {
            return Err(ArchiveError::corrupt(Footer::PART));
        }
        check_flags(footer.flags.get() & !SORTED, Footer::PART)?;
        Ok(footer)
    }
}

/// The records of a segment.
#[derive(Copy, Clone, Debug)]
pub(super) struct Span {
    /// Number of the first record.
    pub(super) first: u64,
    pub(super) records: u32,
    /// Identity that the checksums of the segment's rows or blocks cover.
    pub(super) identity: u32,
}

impl Span {
    /// The records of a segment, from its entry in the segment table.
    pub(super) const fn new(entry: &SegmentEntry) -> Span {
        Span {
            first: entry.first_record.get(),
            records: entry.records.get(),
            identity: entry.identity.get(),
        }
    }

    /// Number after the last record.
    pub(super) fn end(&self) -> u64 {
        self.first + u64::from(self.records)
    }
}

/// Returns the index of the segment that has a record. Segments are in the order of their records.
///
/// # Errors
/// [`ArchiveError::NoRecord`] if the number is too high.
#[inline]
pub(super) fn place_of<S>(
    segments: &[S],
    span: impl Fn(&S) -> &Span,
    number: u64,
) -> Result<usize, ArchiveError> {
    let records = segments.last().map_or(0, |segment| span(segment).end());
    if number >= records {
        return Err(ArchiveError::NoRecord { number, records });
    }
    Ok(segments.partition_point(|segment| span(segment).first <= number) - 1)
}

//! The container format: the fixed structures and sections of a file. Their bytes are read, checked
//! and written here.

pub(super) mod bytes;
pub(super) mod check;
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
    unused: [u8; 18],
    check: U32,
}

/// The last bytes of the file, written after everything else. The section table precedes the
/// footer.
#[derive(Copy, Clone, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(super) struct Footer {
    /// Length of the whole file.
    pub(super) file_len: U64,
    pub(super) records: U64,
    pub(super) flags: U32,
    /// Number of entries of the section table.
    pub(super) sections: U32,
    /// CRC32C of the section table.
    pub(super) table_check: U32,
    magic: [u8; 8],
    check: U32,
}

/// Footer flag: the records are not in the order of the input.
pub(super) const SORTED: u32 = 1;

/// An entry of the segment table. A segment has consecutive records, all coded in the same way.
#[derive(Copy, Clone, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(super) struct SegmentEntry {
    /// Number of the first record of the segment.
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
const _: () = assert!(size_of::<Footer>() == 40);
const _: () = assert!(size_of::<SegmentEntry>() == 32);

impl Checked for Header {
    const PART: &'static str = "header";
}

impl Checked for Footer {
    const PART: &'static str = "footer";
}

impl Header {
    pub(super) fn new() -> Header {
        Header { magic: HEADER_MAGIC, version: VERSION.into(), unused: [0; 18], check: 0.into() }
            .sealed()
    }

    /// Checks magic, version and checksum of the first bytes of a file.
    pub(super) fn check(file: &ArchiveBytes) -> Result<(), ArchiveError> {
        let file = file.get(0..file.size().min(size_of::<Header>() as u64), Header::PART)?;
        let seen = file.len().min(HEADER_MAGIC.len());
        if file.is_empty() || file[..seen] != HEADER_MAGIC[..seen] {
            return Err(ArchiveError::NotAnArchive);
        }
        let (header, _) =
            Header::ref_from_prefix(file).map_err(|_| ArchiveError::Truncated("header"))?;
        let found = header.version.get();
        if found > VERSION {
            return Err(ArchiveError::UnsupportedVersion { found, supported: VERSION });
        }
        let header = Header::read(file)?;
        if found == 0 || header.unused != [0; 18] {
            return Err(ArchiveError::corrupt("header"));
        }
        Ok(())
    }
}

impl Footer {
    /// Makes the footer of a file that has `before` bytes before the footer.
    pub(super) fn new(
        before: u64,
        records: u64,
        flags: u32,
        table: &[u8],
        sections: u32,
    ) -> Footer {
        Footer {
            file_len: (before + size_of::<Footer>() as u64).into(),
            records: records.into(),
            flags: flags.into(),
            sections: sections.into(),
            table_check: crc32c::crc32c(table).into(),
            magic: FOOTER_MAGIC,
            check: 0.into(),
        }
        .sealed()
    }

    /// Checksum of the footer.
    pub(super) const fn check(&self) -> u32 {
        self.check.get()
    }

    /// Reads the footer of a file.
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
        let footer = Footer::read(bytes)?;
        if footer.file_len.get() != len {
            return Err(ArchiveError::corrupt("footer"));
        }
        match footer.flags.get() & !SORTED {
            0 => Ok(footer),
            unknown => Err(ArchiveError::UnknownFlags { part: "footer", flags: unknown }),
        }
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

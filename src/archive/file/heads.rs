//! Segment heads. A head stands before the sections of its segment and repeats their entries of the tables, so
//! that the segment is found if the end of the file is missing.

use std::ops::Range;

use zerocopy::{FromBytes, IntoBytes};

use super::ranges::ArchiveBytes;
use super::sections::{Section, SectionEntry, SectionKind, SectionTable};
use super::{Header, SegmentEntry, check};
use crate::error::ArchiveError;

const MAGIC: [u8; 8] = *b"\nEPA-SEG";
const CHECK: usize = 4;
/// Maximum number of sections that a head lists.
const MAX_SECTIONS: usize = 5;
/// A head, or the rows after it, may begin this number of bytes later.
const MAX_GAP: u64 = 64;

/// Length in bytes of a head that lists this number of sections.
pub(crate) const fn len(sections: usize) -> usize {
    MAGIC.len() + size_of::<SegmentEntry>() + sections * size_of::<SectionEntry>() + CHECK
}

pub(crate) fn bytes(segment: &SegmentEntry, sections: &[SectionEntry]) -> Vec<u8> {
    let mut head = [&MAGIC[..], segment.as_bytes(), sections.as_bytes()].concat();
    head.extend_from_slice(&crc32c::crc32c(&head).to_le_bytes());
    head
}

/// True if a head lists a section of its segment. Separators stand elsewhere in the file.
pub(crate) fn lists(kind: SectionKind) -> bool {
    !matches!(kind, SectionKind::SegmentHead | SectionKind::Separators)
}

/// The segments that follow each other from the start of a file.
#[derive(Default)]
pub(crate) struct Heads {
    pub(crate) segments: Vec<SegmentEntry>,
    sections: Vec<SectionEntry>,
    /// The end of the last section that a head lists. It may be after the end of the file.
    pub(crate) end: u64,
}

impl Heads {
    /// Finds the heads of a file, up to the first that is missing or damaged.
    pub(crate) fn find(file: &ArchiveBytes) -> Result<Heads, ArchiveError> {
        let mut heads = Heads { end: size_of::<Header>() as u64, ..Heads::default() };
        while let Some((segment, sections)) = head_at(file, heads.end)? {
            let Some(last) = sections.last().map(SectionEntry::section) else { break };
            heads.end = last.range().end;
            heads.segments.push(segment);
            heads.sections.extend(sections);
        }
        Ok(heads)
    }

    /// The bytes of a file that do not belong to these segments.
    pub(crate) fn lost(&self, file: &ArchiveBytes) -> Range<u64> {
        self.end.min(file.size())..file.size()
    }

    pub(crate) fn table(&self) -> Result<SectionTable, ArchiveError> {
        SectionTable::of_heads(&self.sections)
    }
}

/// The head that begins at a place or shortly after it.
fn head_at(
    file: &ArchiveBytes,
    place: u64,
) -> Result<Option<(SegmentEntry, Vec<SectionEntry>)>, ArchiveError> {
    let end = file.size().min(place.saturating_add(MAX_GAP + len(MAX_SECTIONS) as u64));
    if place >= end {
        return Ok(None);
    }
    let bytes = file.read(place..end, SectionKind::SegmentHead.name())?;
    let gap = bytes.iter().take_while(|byte| **byte == 0).count();
    let head = bytes[gap..].strip_prefix(&MAGIC);
    let Some(Ok((segment, rest))) = head.map(SegmentEntry::read_from_prefix) else {
        return Ok(None);
    };
    for count in 1..=MAX_SECTIONS {
        let Ok((sections, check)) = <[SectionEntry]>::ref_from_prefix_with_elems(rest, count)
        else {
            break;
        };
        let found = crc32c::crc32c(&bytes[gap..gap + len(count) - CHECK]);
        let expected = check.first_chunk().map(|check| u32::from_le_bytes(*check));
        if expected.is_some_and(|expected| check::holds(found, expected)) {
            return Ok(Some((segment, sections.to_vec())));
        }
    }
    Ok(None)
}

/// A section, or as much of it as the file has.
pub(crate) fn present(file: &ArchiveBytes, section: Section) -> u64 {
    file.size().saturating_sub(section.offset).min(section.len)
}

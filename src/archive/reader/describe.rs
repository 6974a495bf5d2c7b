//! The parts of an archive file and their sizes.

use super::archive::Archive;
use crate::archive::error::ArchiveError;
use crate::archive::file::layout::{Footer, Header};
use crate::archive::file::sections::{SectionEntry, SectionKind};

/// A part of the file, with its place and size.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ArchivePart {
    /// Name of the part.
    pub name: &'static str,
    /// Number of its segment.
    pub segment: Option<u64>,
    /// Offset in the file.
    pub offset: u64,
    /// Length in bytes.
    pub len: u64,
}

impl Archive {
    /// The parts of the file in their order.
    pub fn parts(&self) -> Vec<ArchivePart> {
        let whole =
            |name, offset, len| ArchivePart { name, segment: None, offset, len: len as u64 };
        let sections = self.sections.each().map(|listed| ArchivePart {
            name: listed.kind.map_or("part that is not known", SectionKind::name),
            segment: listed.segment.map(u64::from),
            offset: listed.section.offset,
            len: listed.section.len,
        });
        let footer = self.bytes.len() - size_of::<Footer>();
        let table = self.footer.sections.get() as usize * size_of::<SectionEntry>();
        let ends = [
            whole("section table", (footer - table) as u64, table),
            whole("footer", footer as u64, size_of::<Footer>()),
        ];
        let header = [whole("header", 0, size_of::<Header>())];
        header.into_iter().chain(sections).chain(ends).collect()
    }

    /// Number of bytes in the blocks for each column of the positions, and for the operations. Empty if
    /// nothing is coded by columns. All blocks are read.
    ///
    /// # Errors
    /// [`ArchiveError::Corrupt`] for damage.
    pub fn column_bytes(&self) -> Result<Vec<(&'static str, f64)>, ArchiveError> {
        self.level.column_bytes()
    }
}

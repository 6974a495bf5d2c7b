//! Where the bytes of an archive are.

use super::archive::Archive;
use crate::archive::error::ArchiveError;
use crate::archive::file::layout::{Footer, Header};
use crate::archive::file::sections::{SectionEntry, SectionKind};

/// A part of the file, for those who want to know where the bytes are.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ArchivePart {
    /// What it is.
    pub name: &'static str,
    /// The number of its segment.
    pub segment: Option<u64>,
    /// Where it begins in the file.
    pub offset: u64,
    /// Its bytes.
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

    /// How many bytes each column of the positions takes in the blocks, and the operations; empty
    /// when nothing is coded by columns. All blocks are read.
    ///
    /// # Errors
    /// [`ArchiveError::Corrupt`] for damage.
    pub fn column_bytes(&self) -> Result<Vec<(&'static str, f64)>, ArchiveError> {
        self.level.column_bytes()
    }
}

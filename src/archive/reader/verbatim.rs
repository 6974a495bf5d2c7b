//! The input of verbatim archives.

use super::archive::Archive;
use crate::archive::error::{ArchiveError, Refusal};
use crate::archive::file::sections::SectionKind;
use crate::archive::side::{self, Restored};

impl Archive {
    /// True if the input can be restored byte for byte.
    pub fn is_verbatim(&self) -> bool {
        self.sections.of_file(SectionKind::SideData).is_some()
    }

    /// The names of the files of a verbatim archive, in their order.
    ///
    /// # Errors
    /// [`ArchiveError::NotVerbatim`], and [`ArchiveError::Corrupt`] for damage.
    pub fn file_names(&self) -> Result<Vec<String>, ArchiveError> {
        let kind = SectionKind::FileNames;
        let section = self.sections.of_file(kind).ok_or(ArchiveError::NotVerbatim)?;
        side::names(section.checked(&self.bytes, kind.name())?)
    }

    /// Restores the input of a verbatim archive, piece by piece: the name of each file, then its bytes.
    ///
    /// # Errors
    /// [`ArchiveError::NotVerbatim`], [`ArchiveError::Corrupt`] for damage, and errors of `visit`.
    pub fn restore<E: From<ArchiveError>>(
        &self,
        visit: impl FnMut(Restored<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let Some(side) = self.sections.of_file(SectionKind::SideData) else {
            return Err(ArchiveError::NotVerbatim.into());
        };
        let side = side.of(&self.bytes, "side data")?;
        let names = self.file_names()?;
        let mut next = 0;
        let records = side::restore(
            side,
            self.identity,
            &names,
            self.memory / 4,
            |records, out| {
                let end = next + records;
                if end > self.len() {
                    return Err(ArchiveError::corrupt("side data"));
                }
                self.each_text(next..end, out, |text| match text.len() <= self.memory / 4 {
                    true => Ok(()),
                    false => Err(Refusal::Memory.at("text of the record", next)),
                })?;
                next = end;
                Ok(())
            },
            visit,
        )?;
        if records == self.len() { Ok(()) } else { Err(ArchiveError::corrupt("side data").into()) }
    }
}

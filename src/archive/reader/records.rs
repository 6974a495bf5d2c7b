//! Reading the records of an archive in order, as such and as text.

use std::fmt;
use std::ops::Range;

use super::archive::Archive;
use crate::archive::error::ArchiveError;
use crate::model::EpdRecord;

impl Archive {
    /// The records with these numbers, in order.
    ///
    /// ```
    /// use epdb::archive::{Archive, ArchiveWriter, PackOptions};
    /// # let mut writer = ArchiveWriter::new(Vec::new(), PackOptions::default())?;
    /// # for number in 1..5 {
    /// #     let line = format!("4k3/8/8/8/8/8/4P3/4K3 w - - 0 {number}");
    /// #     writer.push(&epdb::parse_epd(line.as_bytes())?)?;
    /// # }
    /// let archive = Archive::from_bytes(writer.finish()?)?;
    /// for record in archive.iter(1..3) {
    ///     println!("{}", String::from_utf8_lossy(&epdb::format_epd(&record?)));
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn iter(&self, range: Range<u64>) -> ArchiveRecords<'_> {
        let end = range.end.min(self.len());
        ArchiveRecords { archive: self, next: range.start, end, read: Vec::new().into_iter() }
    }

    /// Appends the canonical text of records, a line each, without making records of them where
    /// that can be avoided.
    ///
    /// # Errors
    /// [`ArchiveError::Corrupt`] for damage.
    pub fn write_text(&self, range: Range<u64>, out: &mut Vec<u8>) -> Result<(), ArchiveError> {
        self.each_text(range, out, |_| Ok(()))
    }

    /// As [`Archive::write_text`], in pieces of whole lines: calls `visit` with what there is, from
    /// which it may take what it likes, so that memory need not hold all of it.
    ///
    /// # Errors
    /// [`ArchiveError::Corrupt`] for damage, and what `visit` returns.
    pub fn each_text<E: From<ArchiveError>>(
        &self,
        range: Range<u64>,
        out: &mut Vec<u8>,
        mut visit: impl FnMut(&mut Vec<u8>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.level.each_text(range.start..range.end.min(self.len()), out, &mut visit)
    }
}

/// Records in order; see [`Archive::iter`].
pub struct ArchiveRecords<'a> {
    archive: &'a Archive,
    next: u64,
    end: u64,
    /// Those that were read and not given yet.
    read: std::vec::IntoIter<EpdRecord>,
}

impl fmt::Debug for ArchiveRecords<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ArchiveRecords")
            .field("next", &self.next)
            .field("end", &self.end)
            .finish_non_exhaustive()
    }
}

impl ArchiveRecords<'_> {
    fn read(&mut self) -> Result<(), ArchiveError> {
        self.read = self.archive.level.records(self.next..self.end)?.into_iter();
        Ok(())
    }
}

impl Iterator for ArchiveRecords<'_> {
    type Item = Result<EpdRecord, ArchiveError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.next >= self.end {
            return None;
        }
        if self.read.len() == 0
            && let Err(error) = self.read()
        {
            self.next = self.end;
            return Some(Err(error));
        }
        self.next += 1;
        self.read.next().map(Ok)
    }
}

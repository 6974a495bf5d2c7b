//! Reading the records of an archive in order, decoded or as text.

use std::fmt;
use std::ops::{ControlFlow, Range};

use super::Archive;
use crate::archive::damage::Salvaged;
use crate::archive::error::ArchiveError;
use crate::model::EpdRecord;
use crate::threads::make_in_order;

impl Archive {
    /// Returns the records with these numbers, in order.
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

    /// Appends the canonical text of records, each on a line. Usually the records need not be
    /// decoded as a whole.
    ///
    /// # Errors
    /// [`ArchiveError::Corrupt`] for damage.
    pub fn write_text(&self, range: Range<u64>, out: &mut Vec<u8>) -> Result<(), ArchiveError> {
        self.each_text(range, out, |_| Ok(()))
    }

    /// Does the same as [`Archive::write_text`] in pieces of whole lines. After each piece it calls
    /// `visit` with the text so far. `visit` may take the text and clear the buffer, so that memory
    /// need not hold all text.
    ///
    /// # Errors
    /// [`ArchiveError::Corrupt`] for damage. Errors of `visit` are passed on.
    pub fn each_text<E: From<ArchiveError>>(
        &self,
        range: Range<u64>,
        out: &mut Vec<u8>,
        mut visit: impl FnMut(&mut Vec<u8>) -> Result<(), E>,
    ) -> Result<(), E> {
        let end = range.end.min(self.len());
        let mut next = range.start;
        while !self.level.is_in_order() && next < end {
            next = self.bytes.intact(self.level.write_texts(next..end, out))?;
            visit(out)?;
        }
        let text_of = |piece: Range<u64>| {
            let mut text = Vec::new();
            let mut next = piece.start;
            while next < piece.end {
                next = self.level.write_texts(next..piece.end, &mut text)?;
            }
            self.bytes.intact::<_, ArchiveError>(Ok(text))
        };
        let take = |text: Result<Vec<u8>, ArchiveError>| {
            out.append(&mut text?);
            visit(out)?;
            Ok(ControlFlow::Continue(()))
        };
        self.bytes.intact(self.each_piece(next..end, text_of, take)).map(drop)
    }

    /// Passes the records with these numbers to `visit`, in order, until it breaks.
    ///
    /// # Errors
    /// [`ArchiveError::Corrupt`] for damage. Errors of `visit` are passed on.
    pub fn each_record<E: From<ArchiveError>>(
        &self,
        range: Range<u64>,
        mut visit: impl FnMut(EpdRecord) -> Result<ControlFlow<()>, E>,
    ) -> Result<ControlFlow<()>, E> {
        let end = range.end.min(self.len());
        let mut next = range.start;
        while !self.level.is_in_order() && next < end {
            for record in self.bytes.intact(self.level.records(next..end))? {
                next += 1;
                if visit(record)?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
        }
        let records_of = |piece: Range<u64>| self.iter(piece).collect::<Result<Vec<_>, _>>();
        let take = |records: Result<Vec<EpdRecord>, ArchiveError>| {
            for record in records? {
                if visit(record)?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
            Ok(ControlFlow::Continue(()))
        };
        self.each_piece(next..end, records_of, take)
    }

    /// Makes a value of each piece of a range on the threads of the pool, and passes the values on in order.
    /// A piece has records that are decoded together.
    fn each_piece<T: Send, E: From<ArchiveError>>(
        &self,
        range: Range<u64>,
        make: impl Fn(Range<u64>) -> T + Sync,
        take: impl FnMut(T) -> Result<ControlFlow<()>, E>,
    ) -> Result<ControlFlow<()>, E> {
        let Range { start: mut next, end } = range;
        let pieces = std::iter::from_fn(|| {
            let start = next;
            // Reading a piece that has no end says what is wrong.
            next = self.level.piece_end(start).map_or(end, |piece_end| piece_end.min(end));
            (start < end).then_some(start..next)
        });
        make_in_order(pieces, make, take)
    }
}

impl Archive {
    /// Passes the records with these numbers to `visit`, in order, and continues after damage. A
    /// damaged part is passed before the records that follow it.
    ///
    /// # Errors
    /// [`ArchiveError::MemoryExceeded`]. Errors of `visit` end the reading and are passed on.
    pub fn salvage<E: From<ArchiveError>>(
        &self,
        range: Range<u64>,
        visit: &mut dyn FnMut(Salvaged) -> Result<ControlFlow<()>, E>,
    ) -> Result<(), E> {
        let range = range.start..range.end.min(self.len());
        self.bytes.intact(self.level.salvage(&range, visit))
    }
}

/// Records in order; see [`Archive::iter`].
pub struct ArchiveRecords<'a> {
    archive: &'a Archive,
    next: u64,
    end: u64,
    /// Records that were read and not returned yet.
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
        let records = self.archive.level.records(self.next..self.end);
        self.read = self.archive.bytes.intact(records)?.into_iter();
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::archive::{ArchiveWriter, PackOptions};

    const KINGS: &str = include_str!("../../../formats/golden/archive/kings.epd");

    /// Works with any memory limit: rows are put into the order of their numbers in windows that
    /// fit into it.
    #[test]
    fn sorted_rows_come_in_the_order_of_their_numbers() {
        let mut writer = ArchiveWriter::new(Vec::new(), PackOptions::new()).unwrap();
        for line in KINGS.lines() {
            writer.push(&crate::parse_epd(line.as_bytes()).unwrap()).unwrap();
        }
        let bytes = writer.finish().unwrap();
        for memory_bytes in [1 << 20, 80_000] {
            let archive = Archive::from_bytes(bytes.clone()).unwrap();
            assert!(archive.parts().iter().any(|part| part.name == "order of records"));
            let archive = Archive { level: archive.level.with_memory(memory_bytes), ..archive };
            let mut text = Vec::new();
            archive.write_text(0..archive.len(), &mut text).unwrap();
            assert_eq!(String::from_utf8(text).unwrap(), KINGS);
            let (mut some, lines) = (Vec::new(), KINGS.lines().collect::<Vec<_>>());
            archive.write_text(77..80, &mut some).unwrap();
            assert_eq!(some, (lines[77..80].join("\n") + "\n").into_bytes());
            for (record, line) in archive.iter(100..480).zip(&lines[100..]) {
                assert_eq!(crate::format_epd(&record.unwrap()), line.as_bytes());
            }
            let last = archive.record(479).unwrap();
            assert_eq!(crate::format_epd(&last), lines[479].as_bytes());
        }
    }
}

//! Reading the records of an archive in order, decoded or as text.

use std::fmt;
use std::ops::{ControlFlow, Range};

use super::{Archive, LostPart};
use crate::damage::{Damage, Salvaged};
use crate::error::ArchiveError;
use epdb_base::threads::make_in_order;
use epdb_chess::codec::query::{Select, Selected};
use epdb_chess::model::EpdRecord;

impl Archive {
    /// Returns the records with these numbers, in order.
    ///
    /// ```
    /// use epdb_archive::{Archive, ArchiveWriter, PackOptions};
    /// # let mut writer = ArchiveWriter::new(Vec::new(), PackOptions::default())?;
    /// # for number in 1..5 {
    /// #     let line = format!("4k3/8/8/8/8/8/4P3/4K3 w - - 0 {number}");
    /// #     writer.push(&epdb_chess::parse_epd(line.as_bytes())?)?;
    /// # }
    /// let archive = Archive::from_bytes(writer.finish()?)?;
    /// for record in archive.iter(1..3) {
    ///     println!("{}", String::from_utf8_lossy(&epdb_chess::format_epd(&record?)));
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
        visit: impl FnMut(&mut Vec<u8>) -> Result<(), E>,
    ) -> Result<(), E> {
        let end = range.end;
        self.each_text_left(range, out, visit)?;
        Ok(self.whole_after(end)?)
    }

    /// Does the same as [`Archive::each_text`], but does not report the header or the end of the file if it is lost.
    pub(super) fn each_text_left<E: From<ArchiveError>>(
        &self,
        range: Range<u64>,
        out: &mut Vec<u8>,
        mut visit: impl FnMut(&mut Vec<u8>) -> Result<(), E>,
    ) -> Result<(), E> {
        let read = |range, text: &mut Vec<u8>| self.level.write_texts(range, text);
        let take = |mut text: Vec<u8>| {
            out.append(&mut text);
            visit(out)?;
            Ok(ControlFlow::Continue(()))
        };
        self.each_piece(range, |start| self.level.piece_end(start), read, take).map(drop)
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
        let read = |range: Range<u64>, records: &mut Vec<EpdRecord>| {
            let before = records.len() as u64;
            let wanted = (range.end - range.start) as usize;
            records.extend(self.level.records(range.clone())?.into_iter().take(wanted));
            Ok(range.start + records.len() as u64 - before)
        };
        let take = |records: Vec<EpdRecord>| -> Result<ControlFlow<()>, E> {
            for record in records {
                if visit(record)?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
            Ok(ControlFlow::Continue(()))
        };
        let end = range.end;
        let flow = self.each_piece(range, |start| self.level.piece_end(start), read, take)?;
        if flow.is_continue() {
            self.whole_after(end)?;
        }
        Ok(flow)
    }

    /// Passes the selected ones of the records with these numbers to `visit`, in order and many at a time, until it
    /// breaks. The selection is asked on the threads of the pool. Records whose positions exclude them are
    /// not decoded.
    ///
    /// # Errors
    /// [`ArchiveError::Corrupt`] for damage. Errors of `visit` are passed on.
    pub fn each_selected<E: From<ArchiveError>>(
        &self,
        range: Range<u64>,
        select: &dyn Select,
        visit: impl FnMut(Selected) -> Result<ControlFlow<()>, E>,
    ) -> Result<ControlFlow<()>, E> {
        let read = |range: Range<u64>, selected: &mut Selected| {
            selected.end = self.level.select(range, select, selected)?;
            Ok(selected.end)
        };
        let end = range.end;
        let flow = self.each_piece(range, |start| self.level.select_end(start), read, visit)?;
        if flow.is_continue() {
            self.whole_after(end)?;
        }
        Ok(flow)
    }

    /// Reports that the header or the end of the file is lost, after records up to this number were read.
    fn whole_after(&self, end: u64) -> Result<(), ArchiveError> {
        if end < self.len() { Ok(()) } else { self.whole() }
    }

    /// Reads a range in pieces of records that are decoded together, on the threads of the pool, and passes the
    /// pieces to `take` in order. `piece_end` returns the number after the piece that begins with a record; `read`
    /// adds the first records of a range to a piece, and returns the number after the last one.
    fn each_piece<T: Default + Send, E: From<ArchiveError>>(
        &self,
        range: Range<u64>,
        piece_end: impl Fn(u64) -> Result<u64, ArchiveError>,
        read: impl Fn(Range<u64>, &mut T) -> Result<u64, ArchiveError> + Sync,
        mut take: impl FnMut(T) -> Result<ControlFlow<()>, E>,
    ) -> Result<ControlFlow<()>, E> {
        let mut next = range.start;
        let end = range.end.min(self.len());
        // The pieces of records that are stored in another order end where the memory does.
        while !self.level.is_in_order() && next < end {
            let mut piece = T::default();
            next = self.bytes.intact(read(next..end, &mut piece))?;
            if self.bytes.intact(take(piece))?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        let pieces = std::iter::from_fn(|| {
            let start = next;
            // Reading a piece that has no end says what is wrong.
            next = piece_end(start).map_or(end, |piece_end| piece_end.min(end));
            (start < end).then_some(start..next)
        });
        let make = |records: Range<u64>| {
            let mut piece = T::default();
            let mut next = records.start;
            while next < records.end {
                next = self.bytes.intact(read(next..records.end, &mut piece))?;
            }
            Ok(piece)
        };
        let take = |piece: Result<T, ArchiveError>| take(piece?);
        self.bytes.intact(make_in_order(pieces, make, take))
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
        let mut flow = ControlFlow::Continue(());
        let salvaged = self.level.salvage::<E>(&range, &mut |next| {
            flow = visit(next)?;
            Ok(flow)
        });
        self.bytes.intact(salvaged)?;
        let is_end = flow.is_continue() && range.end == self.len();
        if is_end && let Some(LostPart { part, bytes, .. }) = &self.lost {
            let part = *part;
            let bytes = bytes.clone();
            let first = self.len();
            let damage = Damage { part, number: 0, bytes, first, records: 0, in_sequence: true };
            return visit(Salvaged::Damage(damage)).map(drop);
        }
        Ok(())
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
    use crate::{ArchiveWriter, PackOptions};

    const KINGS: &str = include_str!("../../../formats/golden/archive/kings.epd");

    /// Works with any memory limit: rows are put into the order of their numbers in windows that
    /// fit into it.
    #[test]
    fn sorted_rows_come_in_the_order_of_their_numbers() {
        let mut writer = ArchiveWriter::new(Vec::new(), PackOptions::default()).unwrap();
        for line in KINGS.lines() {
            writer.push(&epdb_chess::parse_epd(line.as_bytes()).unwrap()).unwrap();
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
                assert_eq!(epdb_chess::format_epd(&record.unwrap()), line.as_bytes());
            }
            let mut passed = Vec::new();
            let pass = |record: EpdRecord| {
                passed.push(epdb_chess::format_epd(&record));
                Ok::<_, ArchiveError>(ControlFlow::Continue(()))
            };
            assert!(archive.each_record(77..480, pass).unwrap().is_continue());
            let wanted: Vec<_> =
                lines[77..480].iter().map(|line| line.as_bytes().to_vec()).collect();
            assert_eq!(passed, wanted);
            let last = archive.record(479).unwrap();
            assert_eq!(epdb_chess::format_epd(&last), lines[479].as_bytes());
        }
    }
}

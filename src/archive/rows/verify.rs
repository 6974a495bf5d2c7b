//! Verification of the records and the index of an archive of level fast.

use std::ops::ControlFlow;

use super::directory::RowDirectory;
use super::hint_table::HintTable;
use super::index::RecordIndex;
use super::reader::{RowIndex, RowReader};
use crate::error::ArchiveError;
use epdb_chess::codec::key::position_key;
use epdb_chess::codec::query::{Query, SkipTo};
use epdb_chess::model::EpdRecord;

/// Number of records that are looked up at once.
const STEP: u64 = 1 << 12;

impl RowReader {
    /// Reads all records. If there is an index, it must lead to each record and to nothing else.
    pub(crate) fn verify(&self) -> Result<(), ArchiveError> {
        match self.index()? {
            Some(RowIndex::Directory(directory, guide)) => {
                self.verify_groups(&directory)?;
                guide.map_or(Ok(()), |guide| self.verify_guide(&directory, guide))
            }
            Some(RowIndex::Lines(index)) => self.verify_found(&index),
            None => (0..self.len()).try_for_each(|number| self.alone(number).map(|_| ())),
        }
    }

    /// Reads a record that must not lead to further records of its key.
    fn alone(&self, number: u64) -> Result<EpdRecord, ArchiveError> {
        let row = self.row(number)?;
        let record = row.record()?;
        if row.has_further() { Err(row.corrupt()) } else { Ok(record) }
    }

    /// Checks that an index leads to each record and to nothing else.
    fn verify_found(&self, index: &RecordIndex<'_>) -> Result<(), ArchiveError> {
        let mut found = 0;
        let mut queries = Vec::with_capacity(STEP as usize);
        for from in (0..self.len()).step_by(STEP as usize) {
            queries.clear();
            for number in from..self.len().min(from + STEP) {
                queries.push(Query::from(self.alone(number)?.position()));
            }
            found += self.count_found(from, &queries)?;
        }
        let is_right = found == self.len() && index.count()? == found;
        if is_right { Ok(()) } else { Err(ArchiveError::corrupt("position index")) }
    }

    /// Checks that a directory leads to the first record of each key, and that these records lead
    /// to all other records. No two first records have the same key, so each further record belongs
    /// to one first record.
    fn verify_groups(&self, directory: &RowDirectory<'_>) -> Result<(), ArchiveError> {
        let mut led_to = 0;
        directory.verify(|number| {
            let first = self.row(number)?;
            let key = first.key()?;
            let further = self.further(first)?;
            led_to += 1 + further.end - further.start;
            for number in further {
                if position_key(self.alone(number)?.position()) != key {
                    return Err(first.corrupt());
                }
            }
            Ok(key)
        })?;
        if led_to == self.len() { Ok(()) } else { Err(ArchiveError::corrupt("row directory")) }
    }

    /// Checks that a row guide matches a row directory that has been verified.
    fn verify_guide(
        &self,
        directory: &RowDirectory<'_>,
        guide: HintTable<'_>,
    ) -> Result<(), ArchiveError> {
        if guide.is_of(self.firsts(), directory.first_numbers()) {
            Ok(())
        } else {
            Err(ArchiveError::corrupt("row guide"))
        }
    }

    /// Counts the queries that find the record from which they were made. The records have the
    /// numbers from `from` on.
    fn count_found(&self, from: u64, queries: &[Query]) -> Result<u64, ArchiveError> {
        let mut own = vec![false; queries.len()];
        self.get_batch(queries.iter().copied(), &mut |place, row| {
            own[place] |= row.number() == from + place as u64;
            Ok::<ControlFlow<SkipTo>, ArchiveError>(if own[place] {
                ControlFlow::Break(SkipTo::NextQuery)
            } else {
                ControlFlow::Continue(())
            })
        })?;
        Ok(own.iter().filter(|&&own| own).count() as u64)
    }
}

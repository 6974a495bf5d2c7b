//! Verifying the records and the index of an archive of level fast.

use super::reader::{RowIndex, RowReader, order};
use crate::archive::error::ArchiveError;
use crate::codec::query::{Query, Visit};

/// Records that are looked up at once.
const STEP: u64 = 1 << 12;

impl RowReader {
    /// Reads all records. Where they are sorted they ascend. Where there is an index it leads to each
    /// of them and to no more.
    pub(in crate::archive) fn verify(&self) -> Result<(), ArchiveError> {
        let index = self.index()?;
        let mut found = 0;
        let mut queries = Vec::with_capacity(STEP as usize);
        let mut last = None;
        for from in (0..self.len()).step_by(STEP as usize) {
            queries.clear();
            for number in from..self.len().min(from + STEP) {
                let query = Query::from(self.record(number)?.position());
                self.verify_order(number, last.replace(query).as_ref(), &query)?;
                queries.push(query);
            }
            match index {
                None => {}
                Some(RowIndex::Lines(_)) => found += self.count_found(from, &queries)?,
                Some(RowIndex::Directory(_)) => self.verify_found(from, &queries)?,
            }
        }
        match index {
            Some(RowIndex::Lines(index)) if found != self.len() || index.count()? != found => {
                Err(ArchiveError::corrupt("position index"))
            }
            Some(RowIndex::Directory(directory)) => directory.verify(self.len()),
            _ => Ok(()),
        }
    }

    /// Whether a record may stand behind another, and both say rightly whether they are of one
    /// position.
    fn verify_order(
        &self,
        number: u64,
        last: Option<&Query>,
        query: &Query,
    ) -> Result<(), ArchiveError> {
        let row = self.row(number)?;
        let has_more = last == Some(query) && self.is_sorted;
        let is_right = row.has_more_before() == has_more
            && match number.checked_sub(1) {
                Some(before) => self.row(before)?.has_more_behind() == has_more,
                None => true,
            }
            && (number + 1 < self.len() || !row.has_more_behind());
        let ascends = last.is_none_or(|last| order(last) <= order(query));
        if is_right && (ascends || !self.is_sorted) { Ok(()) } else { Err(row.corrupt()) }
    }

    /// Whether the directory leads to the first record of each position among those from a number
    /// on; the others follow it.
    fn verify_found(&self, from: u64, queries: &[Query]) -> Result<(), ArchiveError> {
        for (number, query) in (from..).zip(queries) {
            let row = self.row(number)?;
            let first = self.matches(query)?.next().transpose()?;
            if !row.has_more_before() && first.is_none_or(|first| first.number() != number) {
                return Err(ArchiveError::corrupt("row directory"));
            }
        }
        Ok(())
    }

    /// To how many of the records from a number on the queries lead that were made of them.
    fn count_found(&self, from: u64, queries: &[Query]) -> Result<u64, ArchiveError> {
        let mut own = vec![false; queries.len()];
        self.get_batch(queries.iter().copied(), &mut |place, row| {
            own[place] |= row.number() == from + place as u64;
            Ok::<Visit, ArchiveError>(if own[place] { Visit::SkipQuery } else { Visit::Continue })
        })?;
        Ok(own.iter().filter(|&&own| own).count() as u64)
    }
}

//! Verifying the records and the index of an archive of level fast.

use super::reader::RowReader;
use crate::archive::error::ArchiveError;
use crate::codec::query::{Query, Visit};

/// Records that are looked up at once.
const STEP: u64 = 1 << 12;

impl RowReader {
    /// Reads all records. Where there is an index it leads to each of them and to no more.
    pub(in crate::archive) fn verify(&self) -> Result<(), ArchiveError> {
        let index = self.index()?;
        let mut found = 0;
        let mut queries = Vec::with_capacity(STEP as usize);
        for from in (0..self.len()).step_by(STEP as usize) {
            queries.clear();
            for number in from..self.len().min(from + STEP) {
                queries.push(Query::from(self.record(number)?.position()));
            }
            if index.is_some() {
                found += self.count_found(from, &queries)?;
            }
        }
        match index {
            Some(index) if found != self.len() || index.count()? != found => {
                Err(ArchiveError::corrupt("position index"))
            }
            _ => Ok(()),
        }
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

//! What a source knows of a position, of the games that are asked for.

use super::answer::Refusal;
use super::filter::Applied;
use super::sources::Served;
use crate::codec::query::Query;
use crate::error::Error;
use crate::library::explore::{CellFilter, Entry, ExploreOptions, Explored, explore_from};
use crate::model::{EpdRecord, Position};

/// What a source knows of a position.
pub(super) struct Found {
    /// Its records.
    pub(super) records: Vec<EpdRecord>,
    /// Their numbers.
    pub(super) numbers: Vec<u64>,
    /// There are more records, which are not looked at.
    pub(super) is_cut: bool,
    pub(super) applied: Applied,
    pub(super) explored: Explored,
}

impl Found {
    /// Looks a position up, and those that its moves lead to. `not_split` are words of the query that no library
    /// can do; with `strict` there must be none.
    pub(super) fn new(
        served: &Served,
        position: &Position,
        asked: CellFilter,
        not_split: &[&'static str],
        strict: bool,
        options: ExploreOptions,
    ) -> Result<Found, Refusal> {
        let (records, is_cut) = served.numbered_records(position)?;
        let (numbers, records): (Vec<u64>, Vec<EpdRecord>) = records.into_iter().unzip();
        let tally = Entry::of(&records)?.and_then(|entry| entry.tally);
        let mut applied = Applied::new(asked, &served.splits(), tally.as_ref());
        applied.not_split.extend(not_split);
        applied.check(strict)?;
        let options = options.cells(applied.filter.clone());
        let ask = &mut |queries: &[Query]| served.records(queries);
        let explored = explore_from::<Error>(position, &records, 1, &options, ask)?;
        Ok(Found { records, numbers, is_cut, applied, explored })
    }
}

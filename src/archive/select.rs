//! Selection of records by their positions, before the records are decoded.

use crate::model::{EpdRecord, Setup};

/// A selection of records. Several threads ask it at once.
pub trait Select: Sync {
    /// False if no record with this position is selected. It may be true if some are.
    fn may_take(&self, setup: &Setup) -> bool;

    /// True if a record is selected. `number` is its number in the archive, from 0.
    fn takes(&self, number: u64, record: &EpdRecord) -> bool;
}

/// The selected records of consecutive records.
#[derive(Default, Debug)]
pub struct Selected {
    /// The selected records with their numbers.
    pub records: Vec<(u64, EpdRecord)>,
    /// Number of records that were decoded.
    pub decoded: u64,
    /// Number after the last record that was looked at.
    pub end: u64,
}

impl Selected {
    /// Adds a decoded record if it is selected.
    pub(super) fn put(&mut self, number: u64, record: EpdRecord, select: &dyn Select) {
        self.decoded += 1;
        if select.takes(number, &record) {
            self.records.push((number, record));
        }
    }
}

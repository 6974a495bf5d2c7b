//! Findings of [`verify`](super::verify()), and the checks of each record and its import number.

use super::error::{Fault, Result, StoreError};
use epdb_chess::codec::record;

/// A damaged part of a store: its bytes are not the bytes that were written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VerifyFinding {
    /// Place: the table, and in it the block or key.
    pub place: String,
    /// Description of the damage.
    pub what: String,
}

impl std::fmt::Display for VerifyFinding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.place, self.what)
    }
}

/// Maximum number of findings that are listed.
const MAX_FINDINGS: usize = 1000;

/// Findings, at most [`MAX_FINDINGS`].
#[derive(Default)]
pub(super) struct VerifyFindings {
    pub(super) list: Vec<VerifyFinding>,
}

impl VerifyFindings {
    pub(super) fn add(&mut self, place: impl Into<String>, what: impl Into<String>) {
        if self.list.len() < MAX_FINDINGS {
            self.list.push(VerifyFinding { place: place.into(), what: what.into() });
        }
    }

    /// Adds the fault that stopped a check to the findings, if the fault is damage. Any other fault
    /// is returned as an error.
    pub(super) fn add_fault(&mut self, fault: Fault) -> Result<()> {
        match fault {
            Fault::Damaged { place, what } => {
                self.add(place, what);
                Ok(())
            }
            other => Err(other),
        }
    }

    /// Adds the findings of a check, or the damage that stopped it.
    pub(super) fn absorb(
        &mut self,
        checked: std::result::Result<VerifyFindings, StoreError>,
    ) -> std::result::Result<(), StoreError> {
        match checked {
            Ok(findings) => {
                findings.list.into_iter().for_each(|found| self.add(found.place, found.what));
                Ok(())
            }
            Err(StoreError::Damaged { place, what, .. }) => {
                self.add(place, what);
                Ok(())
            }
            Err(error) => Err(error),
        }
    }
}

/// Totals over all records.
pub(super) struct RecordCheck {
    next_import_number: u64,
    pub(super) records: u64,
    pub(super) record_bytes: u64,
    numbers: NumberSet,
}

/// A set of import numbers, one bit each.
#[derive(Default)]
struct NumberSet(Vec<u64>);

impl NumberSet {
    /// Adds a number; true if it is new.
    fn insert(&mut self, number: u64) -> bool {
        let word = (number / 64) as usize;
        let bit = 1 << (number % 64);
        if word >= self.0.len() {
            self.0.resize(word + 1, 0);
        }
        let is_new = self.0[word] & bit == 0;
        self.0[word] |= bit;
        is_new
    }
}

impl RecordCheck {
    /// Starts the checks of a store in which the next record would get the number
    /// `next_import_number`.
    pub(super) fn new(next_import_number: u64) -> RecordCheck {
        let numbers = NumberSet::default();
        RecordCheck { next_import_number, records: 0, record_bytes: 0, numbers }
    }

    /// Checks that a record can be decoded, that its import number was assigned, and that the
    /// number occurs only once.
    pub(super) fn check(
        &mut self,
        place: &str,
        number: u64,
        bytes: &[u8],
        findings: &mut VerifyFindings,
    ) {
        self.records += 1;
        self.record_bytes += bytes.len() as u64;
        match record::decode(bytes) {
            Ok((_, len)) if len == bytes.len() => {}
            Ok(_) => findings.add(place, format!("bytes follow record {number}")),
            Err(error) => findings.add(place, format!("record {number}: {error}")),
        }
        if number >= self.next_import_number {
            findings.add(place, format!("record {number} has a number that was not assigned yet"));
        } else if !self.numbers.insert(number) {
            findings.add(place, format!("record {number} occurs twice"));
        }
    }
}

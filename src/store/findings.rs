//! What verifying finds.

use super::error::{Fault, Result, StoreError};
use crate::codec::record;

/// Something that is not as it was written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VerifyFinding {
    /// Where: the table, and in it the block or key.
    pub place: String,
    /// What is wrong there.
    pub what: String,
}

impl std::fmt::Display for VerifyFinding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.place, self.what)
    }
}

/// So many findings are enough to know.
const MAX_FINDINGS: usize = 1000;

/// Findings, up to a number that is enough.
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

    /// Takes damage that kept a check from going on; any other fault is an error.
    pub(super) fn add_fault(&mut self, fault: Fault) -> Result<()> {
        match fault {
            Fault::Damaged { place, what } => {
                self.add(place, what);
                Ok(())
            }
            other => Err(other),
        }
    }

    /// Takes what a check found, and damage that kept it from finding more.
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

/// What was found of all records.
pub(super) struct RecordCheck {
    next_import_number: u64,
    pub(super) records: u64,
    pub(super) record_bytes: u64,
    numbers: NumberSet,
}

/// A set of import numbers: one bit each, as far as records can reach.
#[derive(Default)]
struct NumberSet(Vec<u64>);

impl NumberSet {
    /// Whether the number is new.
    fn insert(&mut self, number: u64) -> bool {
        let (word, bit) = ((number / 64) as usize, 1 << (number % 64));
        if word >= self.0.len() {
            self.0.resize(word + 1, 0);
        }
        let is_new = self.0[word] & bit == 0;
        self.0[word] |= bit;
        is_new
    }
}

impl RecordCheck {
    /// For a store whose next record would have this number.
    pub(super) fn new(next_import_number: u64) -> RecordCheck {
        let numbers = NumberSet::default();
        RecordCheck { next_import_number, records: 0, record_bytes: 0, numbers }
    }

    /// Decodes a record, and counts it and its number.
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
            findings.add(place, format!("record {number} has a number not yet given"));
        } else if !self.numbers.insert(number) {
            findings.add(place, format!("record {number} is there twice"));
        }
    }
}

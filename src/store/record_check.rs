//! Looking for damage: records by themselves, and their numbers all together.

use super::findings::VerifyFindings;
use crate::codec::record;

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

//! Finished records.

use super::choices::verdict_of;
use crate::model::answer::Verdict;
use crate::model::{EpdRecord, Opcode};

/// A finished record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finished {
    /// The record with the result.
    pub record: EpdRecord,
    /// Notes for the user.
    pub notes: Vec<String>,
    /// The first field of the engine's output that could not be read, or whose score was clamped.
    pub unreadable: Option<String>,
    /// The reason why the search failed; also in the record, as `run_error`.
    pub error: Option<String>,
    /// Whether a mate was looked for and found.
    pub found_mate: bool,
}

impl Finished {
    pub(super) const fn new(record: EpdRecord) -> Finished {
        Finished { record, notes: Vec::new(), unreadable: None, error: None, found_mate: false }
    }

    pub(super) fn noted(record: EpdRecord, note: &str) -> Finished {
        Finished { notes: vec![note.into()], ..Finished::new(record) }
    }

    /// A record that an earlier run finished; `before` is the record before the search.
    pub fn again(record: EpdRecord, before: &EpdRecord) -> Finished {
        let error = record
            .text_of(Opcode::RUN_ERROR)
            .map(|text| String::from_utf8_lossy(&text).into_owned());
        let mut unsearched = before.clone();
        unsearched.remove(Opcode::RUN_ERROR);
        let has_mate = record.operands(Opcode::DM).is_some() && record != unsearched;
        let found_mate = error.is_none() && has_mate;
        Finished { error, found_mate, ..Finished::new(record) }
    }

    /// The verdict on the record as a problem.
    pub fn verdict(&self) -> Verdict {
        verdict_of(&self.record)
    }
}

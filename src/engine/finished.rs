//! Records that are done.

use super::choices::verdict_of;
use crate::model::answer::Verdict;
use crate::model::{EpdRecord, Opcode};

/// A record that is done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finished {
    /// The record with what was found.
    pub record: EpdRecord,
    /// What there is to say about it.
    pub notes: Vec<String>,
    /// Why its search failed; the record says it too, as `run_error`.
    pub error: Option<String>,
    /// Whether a mate was looked for and found.
    pub found_mate: bool,
}

impl Finished {
    pub(super) const fn of(record: EpdRecord) -> Finished {
        Finished { record, notes: Vec::new(), error: None, found_mate: false }
    }

    pub(super) fn noted(record: EpdRecord, note: &str) -> Finished {
        Finished { notes: vec![note.into()], ..Finished::of(record) }
    }

    /// A record that was finished by an earlier run.
    pub fn again(record: EpdRecord) -> Finished {
        let error = record
            .text_of(Opcode::RUN_ERROR)
            .map(|text| String::from_utf8_lossy(&text).into_owned());
        let found_mate = error.is_none() && record.operands(Opcode::ACMS).is_some();
        Finished { error, found_mate, ..Finished::of(record) }
    }

    /// What becomes of the record as a problem.
    pub fn verdict(&self) -> Verdict {
        verdict_of(&self.record)
    }
}

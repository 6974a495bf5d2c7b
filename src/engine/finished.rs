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
}

impl Finished {
    pub(super) const fn of(record: EpdRecord) -> Finished {
        Finished { record, notes: Vec::new(), error: None }
    }

    pub(super) fn noted(record: EpdRecord, note: &str) -> Finished {
        Finished { notes: vec![note.into()], ..Finished::of(record) }
    }

    /// A record that was finished by an earlier run.
    pub fn again(record: EpdRecord) -> Finished {
        let error = record
            .text_of(Opcode::RUN_ERROR)
            .map(|text| String::from_utf8_lossy(&text).into_owned());
        Finished { error, ..Finished::of(record) }
    }

    /// What becomes of the record as a problem.
    pub fn verdict(&self) -> Verdict {
        verdict_of(&self.record)
    }
}

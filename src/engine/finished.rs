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
    /// The first field of the engine's output that could not be read, or whose score was clamped.
    pub unreadable: Option<String>,
    /// Why its search failed; the record says it too, as `run_error`.
    pub error: Option<String>,
    /// Whether a mate was looked for and found.
    pub found_mate: bool,
}

impl Finished {
    pub(super) const fn of(record: EpdRecord) -> Finished {
        Finished { record, notes: Vec::new(), unreadable: None, error: None, found_mate: false }
    }

    pub(super) fn noted(record: EpdRecord, note: &str) -> Finished {
        Finished { notes: vec![note.into()], ..Finished::of(record) }
    }

    /// A record that an earlier run made of another one.
    pub fn again(record: EpdRecord, before: &EpdRecord) -> Finished {
        let error = record
            .text_of(Opcode::RUN_ERROR)
            .map(|text| String::from_utf8_lossy(&text).into_owned());
        let mut as_it_was = before.clone();
        as_it_was.remove(Opcode::RUN_ERROR);
        let has_mate = record.operands(Opcode::DM).is_some() && record != as_it_was;
        let found_mate = error.is_none() && has_mate;
        Finished { error, found_mate, ..Finished::of(record) }
    }

    /// What becomes of the record as a problem.
    pub fn verdict(&self) -> Verdict {
        verdict_of(&self.record)
    }
}

//! Observes when an engine first chose a solution of a problem, and when it began to choose only solutions.
//! Also makes the finished record.

use super::info::{Bound, Info};
use super::moves::read_move;
use super::opcodes::{clear, put, put_integer, put_numbers};
use super::search::Elapsed;
use epdb_chess::model::answer::Verdict;
pub(super) use epdb_chess::model::answer::verdict as verdict_of;
use epdb_chess::model::rules::Playable;
use epdb_chess::model::{EpdRecord, Opcode};

/// The engine's choices during the search of a problem.
pub(super) struct Choices {
    /// The problem without its answer.
    problem: EpdRecord,
    start: Option<Playable>,
    first: Option<Elapsed>,
    held: Option<Elapsed>,
    /// The last depth that was completed.
    depth: u32,
    /// The number of completed depths in a row, up to the last, at which the solution was chosen.
    depths_held: u32,
    stop_held: Option<u32>,
}

impl Choices {
    pub(super) fn new(record: &EpdRecord, stop_held: Option<u32>) -> Choices {
        let mut problem = record.clone();
        clear(&mut problem);
        let start = Playable::new(record.position()).ok();
        Choices { problem, start, first: None, held: None, depth: 0, depths_held: 0, stop_held }
    }

    /// Processes an `info` line. Returns true if a solution was chosen at enough depths to end the search.
    pub(super) fn see(&mut self, info: &Info, at: Elapsed) -> bool {
        let bound = info.score.map(|(_, bound)| bound);
        if bound == Some(Bound::Upper) || info.multipv != 1 {
            return false;
        }
        let solves = self.solves(info);
        if solves {
            self.first.get_or_insert(at);
            self.held.get_or_insert(at);
        } else {
            self.held = None
        }
        if bound != Some(Bound::Lower) && at.depth > self.depth {
            self.depth = at.depth;
            self.depths_held = if solves { self.depths_held + 1 } else { 0 };
        } else if !solves {
            self.depths_held = 0;
        }
        self.stop_held.is_some_and(|depths| self.depths_held >= depths)
    }

    fn solves(&self, info: &Info) -> bool {
        let choice = info.pv.first().zip(self.start.as_ref());
        let Some(choice) = choice.and_then(|(word, start)| read_move(start, word)) else {
            return false;
        };
        let mut answered = self.problem.clone();
        put(&mut answered, Opcode::PM, vec![choice.operand]);
        if let Some(ce) = info.ce() {
            put_integer(&mut answered, Opcode::CE, ce);
        }
        verdict_of(&answered) == Verdict::Solved
    }

    /// Stores two points of the search in the finished record: the first choice of a solution, and the choice
    /// after which only solutions were chosen.
    pub(super) fn finish(self, record: &mut EpdRecord, end: Elapsed) {
        let is_solved = verdict_of(record) == Verdict::Solved;
        let mut put_moment = |opcode, moment: Option<Elapsed>| {
            if let Some(Elapsed { nodes, time, depth }) = moment {
                let milliseconds = time.as_millis() as u64;
                put_numbers(record, opcode, &[nodes, milliseconds, depth.into()]);
            }
        };
        // If no `info` line contained the solution, it was chosen at the end.
        let at_end = is_solved.then_some(end);
        put_moment(Opcode::SOLVE_FIRST, self.first.or(at_end));
        put_moment(Opcode::SOLVE_HELD, at_end.and(self.held.or(at_end)));
    }
}

/// A finished record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finished {
    /// The record with the result.
    pub record: EpdRecord,
    /// Notes for the user.
    pub notes: Vec<String>,
    /// The first field of the engine's output that could not be read, or the first score that was clamped.
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

    /// The result for a record that an earlier run finished. `before` is the record before the search.
    pub fn from_earlier_run(record: EpdRecord, before: &EpdRecord) -> Finished {
        let error = record
            .text_of(Opcode::RUN_ERROR)
            .map(|text| String::from_utf8_lossy(&text).into_owned());
        let mut unsearched = before.clone();
        unsearched.remove(Opcode::RUN_ERROR);
        // A search without a mate leaves the record as it was, perhaps with a `dm` of its own.
        let found_mate =
            error.is_none() && record.operands(Opcode::DM).is_some() && record != unsearched;
        Finished { error, found_mate, ..Finished::new(record) }
    }

    /// The verdict on the record as a problem.
    pub fn verdict(&self) -> Verdict {
        verdict_of(&self.record)
    }
}

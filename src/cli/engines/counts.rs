//! What a run has come to so far.

use epdb::engine::Finished;
use epdb::model::answer::Verdict;
use epdb::model::{EpdRecord, Opcode};

/// Records that are done, by what became of them.
#[derive(Copy, Clone, Default, Debug)]
pub(super) struct Counts {
    pub(super) records: u64,
    pub(super) failed: u64,
    solved: u64,
    problems: u64,
    defective: u64,
    mates: u64,
    /// Records whose supplied move is another one than the engine's.
    other_moves: u64,
}

/// What is counted of a run beside its records.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Counted {
    /// Nothing.
    Records,
    /// Problems and solutions.
    Problems,
    /// Mates that were found.
    Mates,
}

impl Counts {
    pub(super) fn add(&mut self, finished: &Finished) {
        let verdict = finished.verdict();
        self.records += 1;
        self.failed += u64::from(finished.error.is_some());
        self.solved += u64::from(verdict == Verdict::Solved);
        self.problems += u64::from(matches!(verdict, Verdict::Solved | Verdict::Missed));
        self.defective += u64::from(verdict == Verdict::Defective);
        self.mates += u64::from(finished.found_mate);
        self.other_moves += u64::from(finished.error.is_none() && has_other_move(&finished.record));
    }

    /// What was reached.
    pub(super) fn shown(&self, counted: Counted) -> String {
        let Counts { records, failed, solved, problems, defective, mates, other_moves } = self;
        let mut text = match counted {
            Counted::Problems => format!("{solved} of {problems} solved"),
            Counted::Mates => format!("{mates} mates found in {records} records"),
            Counted::Records => format!("{records} done"),
        };
        for (count, what) in [(defective, "defective"), (failed, "failed")] {
            if *count > 0 && (counted == Counted::Problems || what == "failed") {
                text += &format!(", {count} {what}");
            }
        }
        if counted == Counted::Records && *other_moves > 0 {
            text += &format!(", {other_moves} with an sm that is not the first move of pv");
        }
        text
    }
}

/// True if the supplied move is not the one that analysis found.
fn has_other_move(record: &EpdRecord) -> bool {
    let first = |opcode| record.operands(opcode).and_then(<[_]>::first);
    first(Opcode::SM).is_some_and(|supplied| first(Opcode::PV) != Some(supplied))
}

//! What a run has come to so far.

use crate::engine::Finished;
use crate::model::answer::Verdict;

/// Records that are done, by what became of them.
#[derive(Copy, Clone, Default, Debug)]
pub(super) struct Counts {
    pub(super) records: u64,
    pub(super) failed: u64,
    solved: u64,
    problems: u64,
    defective: u64,
}

impl Counts {
    pub(super) fn add(&mut self, finished: &Finished) {
        let verdict = finished.verdict();
        self.records += 1;
        self.failed += u64::from(finished.error.is_some());
        self.solved += u64::from(verdict == Verdict::Solved);
        self.problems += u64::from(matches!(verdict, Verdict::Solved | Verdict::Missed));
        self.defective += u64::from(verdict == Verdict::Defective);
    }

    /// What was reached, for a run of problems or of other records.
    pub(super) fn shown(&self, are_problems: bool) -> String {
        let Counts { records, failed, solved, problems, defective } = self;
        let mut text = match are_problems {
            true => format!("{solved} of {problems} solved"),
            false => format!("{records} done"),
        };
        for (count, what) in [(defective, "defective"), (failed, "failed")] {
            if *count > 0 && (are_problems || what == "failed") {
                text += &format!(", {count} {what}");
            }
        }
        text
    }
}

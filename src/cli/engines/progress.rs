//! Counts of finished records, and the progress that is shown during a run.

use std::path::PathBuf;

use crate::cli::outcome::Outcome;
use crate::cli::progress::Searches;
use crate::cli::source;
use crate::cli::terminal::{many, note, print_line};
use epdb_chess::error::Place;
use epdb_chess::model::answer::Verdict;
use epdb_chess::model::{EpdRecord, Opcode, Operand};
use epdb_engine::{Finished, MateOptions, Plan, Task, stated_mates};
use epdb_library::run_file::NodeExcess;
use epdb_source::name_of;

/// Counts finished records, and reports each of them and the totals.
pub(super) struct ProgressReporter<'d> {
    label: &'d str,
    counted: Counted,
    counts: Counts,
    /// True after unreadable engine output was reported.
    has_reported_unreadable: bool,
    /// Number of notes about records, and the maximum number that is printed.
    notes: u64,
    shown: u64,
    excess: NodeExcess,
    bar: Searches,
}

impl<'d> ProgressReporter<'d> {
    /// Starts the progress of a run; `records` is the number of records, if known. `shown` is the maximum number of
    /// notes about records that are printed.
    pub(super) fn new(plan: &'d Plan, records: Option<u64>, shown: u64) -> ProgressReporter<'d> {
        ProgressReporter {
            label: &plan.engine.label,
            counted: match plan.task {
                Task::Analyze => Counted::Records,
                Task::Solve { .. } => Counted::Problems,
                Task::Mate(MateOptions { length: None, of_record: true, .. }) => {
                    Counted::StatedMates
                }
                Task::Mate(_) => Counted::Mates,
            },
            counts: Counts::default(),
            has_reported_unreadable: false,
            notes: 0,
            shown,
            excess: NodeExcess::new(plan.limits.nodes),
            bar: Searches::new(records),
        }
    }

    pub(super) fn tell(&mut self, place: &Place, finished: &Finished) {
        self.counts.add(finished);
        if let Some([Operand::Integer(nodes)]) = finished.record.operands(Opcode::ACN) {
            self.excess.add((*nodes).try_into().unwrap_or(u64::MAX));
        }
        let label = self.label;
        let unreadable =
            if self.has_reported_unreadable { None } else { finished.unreadable.as_ref() };
        self.has_reported_unreadable |= unreadable.is_some();
        self.bar.suspend(|| {
            if let Some(what) = unreadable {
                note!("{place}: {label}: the engine wrote {what} (reported once)");
            }
            for text in &finished.notes {
                self.notes += 1;
                if self.notes <= self.shown {
                    note!("{place}: {label}: {text}");
                }
            }
            if let Some(error) = &finished.error {
                print_line(&format!("{place}: {label}: {error}"));
            }
        });
        let counts = &self.counts;
        self.bar.show(counts.records, || counts.shown(self.counted));
    }

    /// Prints the summary. Returns [`Outcome::Different`] if searches failed, or if there was no problem to solve.
    pub(super) fn finish(self) -> Outcome {
        let ProgressReporter { label, counted, counts, notes, shown, excess, .. } = self;
        if notes > shown {
            note!("epdb: {label}: {} more like these (--all-warnings)", notes - shown);
        }
        note!("epdb: {label}: {}", counts.shown(counted));
        excess.message(label).into_iter().for_each(|text| note!("epdb: {text}"));
        let has_problems = counts.problems + counts.defective + counts.failed > 0;
        if counted == Counted::Problems && !has_problems {
            print_line(
                "epdb: nothing to solve: no record has bm or am; `epdb analyze` searches all records",
            );
            return Outcome::Different;
        }
        if counted == Counted::StatedMates && counts.without_number == counts.records {
            print_line(
                "epdb: nothing to search: no record has dm or bm #N; --length gives the number of moves",
            );
            return Outcome::Different;
        }
        Outcome::different_if(counts.failed > 0)
    }
}

/// Finished records by result.
#[derive(Copy, Clone, Default, Debug)]
pub(super) struct Counts {
    pub(super) records: u64,
    pub(super) failed: u64,
    solved: u64,
    problems: u64,
    defective: u64,
    mates: u64,
    /// Records that ask for a mate against the side to move.
    against_mover: u64,
    /// Records that state no number of moves until mate.
    without_number: u64,
    /// Records whose supplied move differs from the engine's.
    other_moves: u64,
}

/// Items that are counted in addition to records.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Counted {
    Records,
    Problems,
    Mates,
    /// Mates in the number of moves that each record states.
    StatedMates,
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
        let mates = stated_mates(&finished.record);
        self.against_mover += u64::from(mates.iter().any(|moves| *moves < 0));
        self.without_number += u64::from(mates.is_empty());
        self.other_moves += u64::from(finished.error.is_none() && has_other_move(&finished.record));
    }

    pub(super) fn shown(&self, counted: Counted) -> String {
        let Counts { records, failed, solved, problems, defective, mates, .. } = self;
        let mut text = match counted {
            Counted::Problems => format!("{solved} of {problems} solved"),
            Counted::Mates | Counted::StatedMates => {
                format!("{} found in {}", many(*mates, "mate"), many(*records, "record"))
            }
            Counted::Records => format!("{records} done"),
        };
        if counted == Counted::Problems && *defective > 0 {
            text += &format!(", {defective} defective");
        }
        if *failed > 0 {
            text += &format!(", {failed} failed");
        }
        if counted == Counted::StatedMates && self.without_number > 0 {
            let without = self.without_number;
            text += &format!(", {without} without a number of moves (--length gives one)");
        }
        let are_mates = matches!(counted, Counted::Mates | Counted::StatedMates);
        if are_mates && self.against_mover > 0 {
            let against = many(self.against_mover, "record");
            text +=
                &format!(", {against} with a mate against the mover (`epdb solve` searches them)");
        }
        if counted == Counted::Records && self.other_moves > 0 {
            text += &format!(", {} with an sm that is not the first move of pv", self.other_moves);
        }
        text
    }
}

/// True if the supplied move is not the one that analysis found.
fn has_other_move(record: &EpdRecord) -> bool {
    let first = |opcode| record.operands(opcode).and_then(<[_]>::first);
    first(Opcode::SM).is_some_and(|supplied| first(Opcode::PV) != Some(supplied))
}

/// File names as a run documents them.
pub(super) fn shown_files(files: &[PathBuf]) -> String {
    let names = source::or_stdin(files).into_iter().map(|path| name_of(path).into_owned());
    names.collect::<Vec<_>>().join(" ")
}

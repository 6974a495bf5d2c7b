//! Where finished records are counted and told of.

use super::counts::{Counted, Counts};
use crate::cli::message::{note, print_line};
use crate::cli::progress::Searches;
use epdb::engine::{Finished, Plan, Task};
use epdb::error::Place;

/// Counts finished records, and says what there is to say about each and about all of them.
pub(super) struct Desk<'d> {
    /// The engine.
    label: &'d str,
    counted: Counted,
    counts: Counts,
    /// True once the user knows that the engine writes what cannot be read.
    has_reported_unreadable: bool,
    bar: Searches,
}

impl<'d> Desk<'d> {
    /// `records` is how many there are, where it is known.
    pub(super) fn new(plan: &'d Plan, records: Option<u64>) -> Desk<'d> {
        Desk {
            label: &plan.engine.label,
            counted: match plan.task {
                Task::Analyze => Counted::Records,
                Task::Solve { .. } => Counted::Problems,
                Task::Mate(_) => Counted::Mates,
            },
            counts: Counts::default(),
            has_reported_unreadable: false,
            bar: Searches::new(records),
        }
    }

    /// Tells of a record that came from this place.
    pub(super) fn tell(&mut self, place: &Place, finished: &Finished) {
        self.counts.add(finished);
        let label = self.label;
        let is_first = !self.has_reported_unreadable;
        let unreadable = finished.unreadable.as_ref().filter(|_| is_first);
        self.has_reported_unreadable |= unreadable.is_some();
        self.bar.suspend(|| {
            if let Some(what) = unreadable {
                note!("{place}: {label}: the engine wrote {what} (reported once)");
            }
            for text in &finished.notes {
                note!("{place}: {label}: {text}");
            }
            if let Some(error) = &finished.error {
                print_line(&format!("{place}: {label}: {error}"));
            }
        });
        let counts = &self.counts;
        self.bar.show(counts.records, || counts.shown(self.counted));
    }

    /// How many searches failed, and what was reached.
    pub(super) fn finish(self) -> (u64, String) {
        let Desk { label, counted, counts, .. } = self;
        (counts.failed, format!("{label}: {}", counts.shown(counted)))
    }
}

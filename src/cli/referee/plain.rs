//! A tournament in lines.

use crate::cli::message::note;
use epdb::referee::server::Watch;
use epdb::referee::{Snapshot, Standings};

/// Tells what happens on standard error, a line each.
#[derive(Debug, Default)]
pub(crate) struct Plain {
    /// The table of a tournament that is over.
    pub(crate) last: Option<Standings>,
}

impl Watch for Plain {
    fn message(&mut self, text: &str) {
        note!("{text}");
    }

    fn show(&mut self, snapshot: &Snapshot<'_>) {
        if snapshot.has_ended {
            self.last = Some(snapshot.standings());
        }
    }

    fn standings(&mut self, snapshot: &Snapshot<'_>) {
        snapshot.standings().to_string().lines().for_each(|line| note!("{line}"));
    }
}

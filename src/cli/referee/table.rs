//! The table of a tournament that is played.

use crate::referee::{Snapshot, Standings};

/// The table, as people read it.
pub(super) fn table(snapshot: &Snapshot<'_>) -> String {
    let done: Vec<_> = snapshot.finished.iter().map(|game| (game.pairing, game.outcome)).collect();
    Standings::new(snapshot.tournament, &done).to_string()
}

//! What is not played because players have signed off.

use std::collections::{BTreeMap, BTreeSet};

/// What is not played because players have signed off.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Absences {
    /// By round of a Swiss tournament: the players who are not paired in it.
    pub rounds: BTreeMap<u32, BTreeSet<usize>>,
    /// The games that are left out, by number, each with the player who was ready for it, if one was.
    pub games: BTreeMap<u32, Option<usize>>,
}

impl Absences {
    /// True if a player is not paired in a round.
    pub(super) fn is_absent(&self, round: u32, player: usize) -> bool {
        self.rounds.get(&round).is_some_and(|absent| absent.contains(&player))
    }
}

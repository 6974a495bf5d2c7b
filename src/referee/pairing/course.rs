//! What is to be played by now.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::GameResult;

/// One game that is to be played.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct Pairing {
    /// Its number in the tournament, from 1; no other game has it.
    pub game: u32,
    /// Its round, from 1.
    pub round: u32,
    /// Its encounter, from 1: the games of two players in one round.
    pub encounter: u32,
    /// Who has White, by place among the players from 0.
    pub white: usize,
    /// Who has Black.
    pub black: usize,
    /// The place of its opening, from 0. Where there are fewer openings, they begin again.
    pub opening: usize,
}

impl Pairing {
    /// The value of the tag `Round`: the round and the number of the game, `2.17`.
    pub fn round_tag(&self) -> String {
        format!("{}.{}", self.round, self.game)
    }

    /// What its two players have of it in half points, White first.
    pub(in crate::referee) const fn half_points(result: GameResult) -> [u32; 2] {
        match result {
            GameResult::WhiteWins => [2, 0],
            GameResult::BlackWins => [0, 2],
            GameResult::Draw => [1, 1],
            GameResult::Unknown => [0, 0],
        }
    }
}

/// A tournament as far as it can be said by now.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Course {
    /// All games that can be said and are not over, in the order in which they are to begin.
    pub next: Vec<Pairing>,
    /// What players have for rounds in which nobody was left for them, in half points.
    pub byes: Vec<u32>,
    /// The last round that each player survived, where players go out; 0 is none.
    pub survived: Vec<u32>,
    /// Who is not beaten, where players go out.
    pub champion: Option<usize>,
}

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

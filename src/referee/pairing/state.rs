//! The state of a pairing.

use std::collections::{BTreeMap, BTreeSet};

use epdb_chess::model::GameResult;

/// One game that is to be played.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct Pairing {
    /// The unique number of the game in the tournament, from 1.
    pub game: u32,
    /// The round of the game, from 1.
    pub round: u32,
    /// The number, from 1, of the encounter (all games of two players in one round) to which the
    /// game belongs.
    pub encounter: u32,
    /// The player with White, as an index among the players from 0.
    pub white: usize,
    /// The index of the player with Black among the players.
    pub black: usize,
    /// The index of the game's opening, from 0. If there are not enough openings, they are used
    /// again from the first.
    pub opening: usize,
}

impl Pairing {
    /// The value of the tag `Round`: the round and the number of the game, `2.17`.
    pub(crate) fn round_tag(&self) -> String {
        format!("{}.{}", self.round, self.game)
    }

    /// The half points of both players for a result, White first.
    pub const fn half_points(result: GameResult) -> [u32; 2] {
        match result {
            GameResult::WhiteWins => [2, 0],
            GameResult::BlackWins => [0, 2],
            GameResult::Draw => [1, 1],
            GameResult::Unknown => [0, 0],
        }
    }
}

/// The pairings of a tournament that are known now.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct PairingState {
    /// All games whose players are known and that are not over, in the order in which they are to
    /// begin.
    pub next: Vec<Pairing>,
    /// The half points of each player for byes.
    pub byes: Vec<u32>,
    /// The last round that each player of a knockout survived; 0 for none.
    pub survived: Vec<u32>,
    /// The winner of a knockout, once it is over.
    pub champion: Option<usize>,
}

/// Pairings that are not played because players have signed off.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Absences {
    /// For each round of a Swiss tournament: the players who are not paired in it.
    pub rounds: BTreeMap<u32, BTreeSet<usize>>,
    /// The games that are left out, by number. The value is the player who was ready for the game,
    /// if one of its players was ready.
    pub games: BTreeMap<u32, Option<usize>>,
}

impl Absences {
    pub(super) fn is_absent(&self, round: u32, player: usize) -> bool {
        self.rounds.get(&round).is_some_and(|absent| absent.contains(&player))
    }
}

//! Who meets whom.

use super::outcome::Outcome;

/// Who meets whom in a tournament.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum PairingRule {
    /// Everybody meets everybody, so many times.
    RoundRobin {
        /// How many times; 2 is a double round robin.
        cycles: u32,
    },
    /// The first players meet all others.
    Gauntlet {
        /// How many of the first players, at least 1.
        challengers: u32,
        /// How many times.
        cycles: u32,
    },
    /// Players of like points meet.
    Swiss {
        /// How many rounds.
        rounds: u32,
    },
    /// Who loses an encounter is out.
    Knockout {
        /// How many pairs of further games a level encounter gets before the higher seed goes on.
        tie_breaks: u32,
    },
}

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

/// All games that can be said by now and are not over, in the order in which they are to begin.
pub fn next_games(
    rule: &PairingRule,
    players: usize,
    games_per_encounter: u32,
    done: &[(Pairing, Outcome)],
) -> Vec<Pairing> {
    let _ = (rule, players, games_per_encounter, done);
    todo!("being written")
}

//! Pairing systems.
//!
//! A tournament is played from its beginning in thought, each time: games that are over have their
//! outcome, and what cannot be said for want of one is not said. So the same outcomes always give the same
//! games, whatever was asked before.

mod knockout;
mod schedule;
mod state;
mod swiss;
mod table;

use std::collections::HashMap;

use super::outcome::Outcome;
use crate::model::GameResult;
use schedule::Schedule;
pub use state::Absences;
pub use state::{Pairing, PairingState};

/// The pairing system of a tournament.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum PairingRule {
    /// Everybody plays everybody.
    RoundRobin {
        /// Number of cycles; 2 is a double round robin.
        cycles: u32,
    },
    /// The first players meet all others.
    Gauntlet {
        /// Number of players, from the first, who play all others; at least 1.
        challengers: u32,
        /// Number of cycles.
        cycles: u32,
    },
    /// Players of like points meet.
    Swiss {
        /// Number of rounds.
        rounds: u32,
    },
    /// The loser of an encounter is out.
    Knockout {
        /// Number of additional pairs of games of a level encounter, before the higher seed advances.
        tie_breaks: u32,
    },
}

/// All games that can be said by now and are not over, in the order in which they are to begin.
///
/// In every encounter colours alternate, and two games begin from the same opening. What two players
/// have over several encounters goes on where it was. Numbers of games are given by the rule and do
/// not depend on the order in which games end.
///
/// ```
/// use epdb::referee::{PairingRule, next_games};
/// let games = next_games(&PairingRule::RoundRobin { cycles: 1 }, 3, 2, &[]);
/// let seen: Vec<_> = games.iter().map(|game| (game.white, game.black, game.opening)).collect();
/// assert_eq!(seen, [(1, 2, 0), (2, 1, 0), (0, 1, 1), (1, 0, 1), (2, 0, 2), (0, 2, 2)]);
/// ```
pub fn next_games(
    rule: &PairingRule,
    players: usize,
    games_per_encounter: u32,
    done: &[(Pairing, Outcome)],
) -> Vec<Pairing> {
    pairing_state(rule, players, games_per_encounter, done, &Absences::default()).next
}

/// [`next_games`] with what else follows from the rule, where some games are left out and some players absent.
pub fn pairing_state(
    rule: &PairingRule,
    players: usize,
    games_per_encounter: u32,
    done: &[(Pairing, Outcome)],
    absences: &Absences,
) -> PairingState {
    let played = done.iter().map(|(pairing, outcome)| (pairing.game, outcome.result));
    let left_out = absences.games.keys().map(|game| (*game, GameResult::Unknown));
    let outcomes: HashMap<u32, GameResult> = left_out.chain(played).collect();
    let schedule = Schedule::new(&outcomes, games_per_encounter);
    match *rule {
        PairingRule::RoundRobin { cycles } => {
            table::pairing_state(schedule, players, table::round_robin(players), cycles)
        }
        PairingRule::Gauntlet { challengers, cycles } => table::pairing_state(
            schedule,
            players,
            table::gauntlet(players, challengers as usize),
            cycles,
        ),
        PairingRule::Swiss { rounds } => swiss::pairing_state(schedule, players, rounds, absences),
        PairingRule::Knockout { tie_breaks } => {
            knockout::pairing_state(schedule, players, tie_breaks)
        }
    }
}

impl PairingRule {
    /// Default number of additional pairs of games of level encounters in a knockout.
    pub const TIE_BREAKS: u32 = 4;

    /// As many openings are used at most.
    pub fn most_openings(&self, players: usize, games_per_encounter: u32) -> usize {
        let for_games = |games: u32| games.div_ceil(2) as usize;
        match *self {
            PairingRule::RoundRobin { cycles } => {
                let pairs = players * players.saturating_sub(1) / 2;
                pairs.saturating_mul(for_games(games_per_encounter.saturating_mul(cycles)))
            }
            PairingRule::Gauntlet { challengers, cycles } => {
                let challengers = challengers as usize;
                let pairs = challengers.saturating_mul(players.saturating_sub(challengers));
                pairs.saturating_mul(for_games(games_per_encounter.saturating_mul(cycles)))
            }
            PairingRule::Swiss { rounds } => {
                (players / 2).saturating_mul(rounds as usize * for_games(games_per_encounter))
            }
            PairingRule::Knockout { tie_breaks } => {
                let of_one = for_games(games_per_encounter).saturating_add(tie_breaks as usize);
                players.saturating_sub(1).saturating_mul(of_one)
            }
        }
    }

    /// As many games are played at most, further games of level encounters not counted.
    pub fn game_count(&self, players: usize, games_per_encounter: u32) -> u32 {
        let players = u32::try_from(players).unwrap_or(u32::MAX);
        let encounters = match *self {
            PairingRule::RoundRobin { cycles } => {
                (players.saturating_mul(players.saturating_sub(1)) / 2).saturating_mul(cycles)
            }
            PairingRule::Gauntlet { challengers, cycles } => {
                let pairs = challengers.saturating_mul(players.saturating_sub(challengers));
                pairs.saturating_mul(cycles)
            }
            PairingRule::Swiss { rounds } => (players / 2).saturating_mul(rounds),
            PairingRule::Knockout { .. } => players.saturating_sub(1),
        };
        encounters.saturating_mul(games_per_encounter)
    }
}

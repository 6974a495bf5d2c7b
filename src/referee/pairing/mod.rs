//! Pairing systems.
//!
//! Each call replays the tournament from its beginning. Games that are over have their outcomes;
//! pairings that depend on a missing outcome are left out. So the same outcomes always give the
//! same games, whatever was called before.

mod knockout;
mod schedule;
mod state;
mod swiss;
mod table;

use std::collections::HashMap;

use super::outcome::Outcome;
use epdb_chess::model::GameResult;
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
        /// Number of challengers, at least 1. The challengers are the first players in the settings.
        challengers: u32,
        /// Number of cycles.
        cycles: u32,
    },
    /// Players with equal or similar points meet.
    Swiss {
        /// Number of rounds.
        rounds: u32,
    },
    /// The loser of an encounter is out.
    Knockout {
        /// Maximum number of additional pairs of games in a level encounter, after which the better
        /// seed advances.
        tie_breaks: u32,
    },
}

/// Returns the games whose players are known by now and that are not over, in the order in which
/// they are to begin.
///
/// In every encounter, colours alternate, and games 1 and 2, games 3 and 4, and so on begin from the same
/// opening. If two players have several encounters, colours and openings continue from one encounter to the
/// next. The numbers of games follow from the rule and do not depend on the order in which games end.
///
/// ```
/// use epdb_referee::{PairingRule, next_games};
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

/// Like [`next_games`], but returns the whole state, and takes left-out games and absent players
/// into account.
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
    pub(crate) const TIE_BREAKS: u32 = 4;

    /// Maximum number of openings that are used.
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

    /// Maximum number of games, not counting additional games of level encounters.
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

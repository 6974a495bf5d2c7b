//! JSON objects of a table for other programs, one per player. Fields are only ever added.

use serde::Serialize;

use super::{Row, Standings};
use crate::strength::Estimate;
use epdb_library::forfeits::Forfeits;

/// Results of a player.
#[derive(Serialize, Clone, PartialEq, Debug)]
pub struct StandingsObject<'s> {
    /// The place in the table, from 1.
    pub rank: usize,
    /// The name of the player.
    pub player: &'s str,
    /// Points, byes included.
    pub points: f64,
    /// Number of games.
    pub games: u32,
    /// Games won.
    pub wins: u32,
    /// Games drawn.
    pub draws: u32,
    /// Games lost.
    pub losses: u32,
    /// Games without a result.
    pub unknown: u32,
    /// Games with White.
    pub white: u32,
    /// Games with Black.
    pub black: u32,
    /// Points for byes, and for games to which the opponent did not come.
    pub byes: f64,
    /// The sum, over all games, of the player's points in the game times the final points of the opponent.
    pub sonneborn_berger: f64,
    /// Games lost for another reason than the rules of chess.
    pub forfeits: Forfeits,
    /// Numbers of pairs of games from one opening, by the points of a pair: 0, ½, 1, 1½, 2.
    pub pairs: [u64; 5],
    /// The difference in Elo to the opponents; null if it is unbounded.
    pub elo: Option<f64>,
    /// Half the width of the 95 % interval of `elo`.
    pub elo_error: Option<f64>,
    /// The difference in normalized Elo.
    pub nelo: Option<f64>,
    /// Half the width of the 95 % interval of `nelo`.
    pub nelo_error: Option<f64>,
    /// Probability that the player is stronger than the opponents; null without a game.
    pub los: Option<f64>,
    /// The share of drawn games.
    pub draw_ratio: Option<f64>,
    /// Results against each opponent, in the order of the settings.
    pub against: Vec<AgainstObject<'s>>,
}

/// Results of a player against another one.
#[derive(Serialize, Clone, PartialEq, Debug)]
pub struct AgainstObject<'s> {
    /// The name of the other player.
    pub player: &'s str,
    /// Number of games.
    pub games: usize,
    /// Own points.
    pub points: f64,
}

impl Standings {
    /// An object for each row.
    pub fn objects(&self) -> impl Iterator<Item = StandingsObject<'_>> {
        self.rows.iter().map(|row| self.object(row))
    }

    pub(super) fn object(&self, row: &Row) -> StandingsObject<'_> {
        let [wins, draws, losses] = row.results;
        let known = wins + draws + losses;
        let elo = row.strength.map_or(Estimate::default(), |strength| strength.elo);
        let nelo = row.strength.map_or(Estimate::default(), |strength| strength.normalized);
        let others = self.names.iter().zip(&row.against).filter(|(_, games)| !games.is_empty());
        let against = others.map(|(name, games)| AgainstObject {
            player: name,
            games: games.len(),
            points: f64::from(games.iter().flatten().sum::<u32>()) / 2.0,
        });
        StandingsObject {
            rank: row.rank,
            player: &self.names[row.player],
            points: f64::from(row.half_points) / 2.0,
            games: row.games(),
            wins,
            draws,
            losses,
            unknown: row.unknown,
            white: row.colors[0],
            black: row.colors[1],
            byes: f64::from(row.bye_half_points) / 2.0,
            sonneborn_berger: row.sonneborn_berger as f64 / 4.0,
            forfeits: row.forfeits,
            pairs: row.pairs,
            elo: elo.value,
            elo_error: elo.error,
            nelo: nelo.value,
            nelo_error: nelo.error,
            los: row.strength.map(|strength| strength.superiority),
            draw_ratio: (known > 0).then(|| f64::from(draws) / f64::from(known)),
            against: against.collect(),
        }
    }
}

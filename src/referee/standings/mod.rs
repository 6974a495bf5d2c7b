//! The table of a tournament.

mod text;

use std::cmp::Reverse;
use std::collections::HashMap;

use serde::Serialize;

use super::outcome::Outcome;
use super::pairing::{Absences, Pairing, pairing_state};
use super::settings::Tournament;
use super::sprt::SprtState;
use super::strength::{Estimate, Strength, strength};
use epdb_chess::model::GameResult;
use epdb_library::forfeits::Forfeits;

/// The table of a tournament. Players are sorted by points, then by Sonneborn-Berger score, then by wins,
/// then as in the settings.
///
/// ```
/// use epdb_chess::model::GameResult;
/// use epdb_referee::{Outcome, Standings, Termination, Tournament, next_games};
/// let text = "[[player]]\nname = 'A'\n[[player]]\nname = 'B'\n";
/// let tournament = Tournament::from_toml(text, "cup.toml")?;
/// let outcome = Outcome { result: GameResult::BlackWins, termination: Termination::Normal };
/// let games = next_games(&tournament.pairing, 2, 2, &[]);
/// let standings = Standings::new(&tournament, &[(games[0], outcome)]);
/// assert_eq!(standings.rows[0].player, 1);
/// assert_eq!(standings.rows[0].half_points, 2);
/// # Ok::<(), epdb_chess::Error>(())
/// ```
#[derive(Clone, PartialEq, Debug)]
pub struct Standings {
    /// The players, in the order of the settings.
    pub names: Vec<String>,
    /// A row for each player, the best player first.
    pub rows: Vec<Row>,
    /// The state of the sequential test, if there is one.
    pub sprt: Option<SprtState>,
}

/// Results of a player.
#[derive(Clone, PartialEq, Debug)]
pub struct Row {
    /// The place in the table, from 1; players who are equal in everything share a place.
    pub rank: usize,
    /// The player, by place in the settings.
    pub player: usize,
    /// The last round that the player survived in a knockout, otherwise 0. The table is sorted by
    /// this number before the points.
    pub survived: u32,
    /// Half points, byes included.
    pub half_points: u32,
    /// Half points for byes, and for games to which the opponent did not come.
    pub bye_half_points: u32,
    /// The sum, over all games, of the player's points in the game times the final points of the opponent, in
    /// quarters of a point.
    pub sonneborn_berger: u64,
    /// Games won, drawn and lost.
    pub results: [u32; 3],
    /// Games without a result.
    pub unknown: u32,
    /// Games with White and with Black.
    pub colors: [u32; 2],
    /// Games lost for another reason than the rules of chess.
    pub forfeits: Forfeits,
    /// Numbers of pairs of games from one opening, by the points of a pair: 0, ½, 1, 1½, 2.
    pub pairs: [u64; 5],
    /// The strength against all opponents together. It is computed from pairs of games or, if there
    /// are no pairs, from single games.
    pub strength: Option<Strength>,
    /// For each player in the order of the settings: the half points of each game against that
    /// player; `None` for a game without a result.
    pub against: Vec<Vec<Option<u32>>>,
}

impl Standings {
    /// The table after these games.
    pub fn new(tournament: &Tournament, done: &[(Pairing, Outcome)]) -> Standings {
        Standings::with_absences(tournament, done, &Absences::default())
    }

    /// The table after these games. `absences` has the games that are not played because players
    /// have signed off.
    pub(crate) fn with_absences(
        tournament: &Tournament,
        done: &[(Pairing, Outcome)],
        absences: &Absences,
    ) -> Standings {
        let players = tournament.players.len();
        let games = tournament.games_per_encounter;
        let state = pairing_state(&tournament.pairing, players, games, done, absences);
        let row = |player| Row {
            survived: state.survived[player],
            ..Row::new(player, players, state.byes[player])
        };
        let mut rows: Vec<Row> = (0..players).map(row).collect();
        for (pairing, outcome) in done {
            let [white, black] = halves(outcome.result);
            rows[pairing.white].add(0, pairing.black, white);
            rows[pairing.black].add(1, pairing.white, black);
            let loser = match outcome.result {
                GameResult::WhiteWins => pairing.black,
                GameResult::BlackWins => pairing.white,
                GameResult::Draw | GameResult::Unknown => continue,
            };
            rows[loser].forfeits.add(outcome.termination.as_str());
        }
        count_pairs(&mut rows, done);
        let points: Vec<u32> = rows.iter().map(|row| row.half_points).collect();
        rows.iter_mut().for_each(|row| row.conclude(&points));
        let sprt = tournament.sprt.as_ref().zip(rows.first());
        let sprt = sprt.map(|(test, first)| SprtState::new(test, &first.counts()));
        rows.sort_by_key(Row::order);
        for place in 0..rows.len() {
            let is_equal = place > 0 && rows[place - 1].order().0 == rows[place].order().0;
            rows[place].rank = if is_equal { rows[place - 1].rank } else { place + 1 };
        }
        let names = tournament.players.iter().map(|player| player.name.clone()).collect();
        Standings { names, rows, sprt }
    }
}

/// The half points of both players, White first; `None` without a result.
const fn halves(result: GameResult) -> [Option<u32>; 2] {
    match result {
        GameResult::Unknown => [None, None],
        known => {
            let [white, black] = Pairing::half_points(known);
            [Some(white), Some(black)]
        }
    }
}

/// Counts pairs of games that the same players played from the same opening. A pair counts for both
/// players.
fn count_pairs(rows: &mut [Row], done: &[(Pairing, Outcome)]) {
    let mut firsts: HashMap<(usize, usize, usize), u32> = HashMap::new();
    for (pairing, outcome) in done {
        let Pairing { white, black, opening, .. } = *pairing;
        let one = white.min(black);
        let other = white.max(black);
        let [white_has, black_has] = halves(outcome.result);
        let Some(one_has) = (if one == white { white_has } else { black_has }) else { continue };
        match firsts.remove(&(one, other, opening)) {
            None => drop(firsts.insert((one, other, opening), one_has)),
            Some(before) => {
                let both = (before + one_has) as usize;
                rows[one].pairs[both] += 1;
                rows[other].pairs[4 - both] += 1;
            }
        }
    }
}

/// The sort key of rows: the values that decide, then the place in the settings.
type Order = ((Reverse<u32>, Reverse<u32>, Reverse<u64>, Reverse<u32>), usize);

impl Row {
    fn new(player: usize, players: usize, bye_half_points: u32) -> Row {
        Row {
            rank: 0,
            player,
            survived: 0,
            half_points: bye_half_points,
            bye_half_points,
            sonneborn_berger: 0,
            results: [0; 3],
            unknown: 0,
            colors: [0; 2],
            forfeits: Forfeits::default(),
            pairs: [0; 5],
            strength: None,
            against: vec![Vec::new(); players],
        }
    }

    /// Number of games that the player has played.
    pub fn games(&self) -> u32 {
        self.results.iter().sum::<u32>() + self.unknown
    }

    /// Counts for [`strength`](super::strength): for each score, the lowest first, the number of
    /// pairs of games with this score. If there are no pairs, the numbers of single games.
    pub fn counts(&self) -> Vec<u64> {
        if self.pairs != [0; 5] {
            return self.pairs.to_vec();
        }
        self.results.iter().rev().copied().map(u64::from).collect()
    }

    fn add(&mut self, color: usize, opponent: usize, has: Option<u32>) {
        self.colors[color] += 1;
        self.against[opponent].push(has);
        match has {
            Some(half_points) => {
                self.half_points += half_points;
                self.results[2 - half_points as usize] += 1;
            }
            None => self.unknown += 1,
        }
    }

    /// Computes the values that depend on the points of all players.
    fn conclude(&mut self, points: &[u32]) {
        let of_games = |(games, points): (&Vec<Option<u32>>, &u32)| {
            u64::from(games.iter().flatten().sum::<u32>()) * u64::from(*points)
        };
        self.sonneborn_berger = self.against.iter().zip(points).map(of_games).sum();
        self.strength = strength(&self.counts());
    }

    fn order(&self) -> Order {
        let [wins, ..] = self.results;
        let points = (Reverse(self.half_points), Reverse(self.sonneborn_berger));
        ((Reverse(self.survived), points.0, points.1, Reverse(wins)), self.player)
    }
}

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

    fn object(&self, row: &Row) -> StandingsObject<'_> {
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

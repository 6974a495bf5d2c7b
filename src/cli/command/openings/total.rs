//! The total of a match of two players (`openings --total`).

use std::fmt;

use serde::Serialize;

use crate::cli::terminal::many;
use epdb_library::openings::MatchResults;
use epdb_referee::Sprt;
use epdb_referee::sprt::SprtState;
use epdb_referee::strength::strength;

/// The total of a match; an object of `openings --total --json`.
#[derive(Serialize)]
pub(super) struct Total<'a> {
    player: &'a str,
    opponent: &'a str,
    games: u64,
    wins: u64,
    draws: u64,
    losses: u64,
    pentanomial: [u64; 5],
    score: f64,
    elo: Option<f64>,
    elo_error: Option<f64>,
    nelo: Option<f64>,
    nelo_error: Option<f64>,
    los: f64,
    llr: Option<f64>,
    llr_lower: Option<f64>,
    llr_upper: Option<f64>,
    #[serde(skip)]
    test: Option<SprtState>,
}

impl<'a> Total<'a> {
    /// The total, with the state of a test; `None` if no game has a result.
    pub(super) fn new(results: &'a MatchResults, test: Option<&Sprt>) -> Option<Total<'a>> {
        let [player, opponent] = &results.players;
        let [losses, draws, wins] = results.games;
        let strength = strength(results.counts())?;
        let test = test.map(|test| SprtState::new(test, results.counts()));
        Some(Total {
            player,
            opponent,
            games: wins + draws + losses,
            wins,
            draws,
            losses,
            pentanomial: results.pairs,
            score: strength.score,
            elo: strength.elo.value,
            elo_error: strength.elo.error,
            nelo: strength.normalized.value,
            nelo_error: strength.normalized.error,
            los: strength.superiority,
            llr: test.map(|test| test.llr),
            llr_lower: test.map(|test| test.lower),
            llr_upper: test.map(|test| test.upper),
            test,
        })
    }
}

impl fmt::Display for Total<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Total { player, opponent, games, wins, draws, losses, score, los, .. } = self;
        let pairs: u64 = self.pentanomial.iter().sum();
        let basis = if pairs > 0 { many(pairs, "pair") } else { many(*games, "game") };
        writeln!(
            f,
            "{player} against {opponent}: {}, +{wins} ={draws} -{losses}",
            many(*games, "game")
        )?;
        writeln!(
            f,
            "Elo {}, nElo {}, LOS {:.1} %, score {:.1} % of {basis}",
            shown(self.elo, self.elo_error),
            shown(self.nelo, self.nelo_error),
            los * 100.0,
            score * 100.0
        )?;
        match &self.test {
            Some(test) => writeln!(f, "{test}"),
            None => Ok(()),
        }
    }
}

fn shown(value: Option<f64>, error: Option<f64>) -> String {
    let number = |number: Option<f64>| number.map_or_else(|| "-".into(), |it| format!("{it:.1}"));
    format!("{} ± {}", number(value), number(error))
}

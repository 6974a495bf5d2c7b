//! The running score.

use crate::referee::arbiter::{Arbiter, FinishedGame};
use crate::referee::pairing::Pairing;
use crate::referee::settings::Tournament;

/// What two players have won so far; where there are more the table says it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Score {
    /// Twice the points, by player.
    halves: [u32; 2],
    games: usize,
}

impl Score {
    pub(super) fn of(games: &[FinishedGame]) -> Score {
        let mut score = Score::default();
        games.iter().for_each(|game| score.add(game));
        score
    }

    pub(super) fn add(&mut self, game: &FinishedGame) {
        let [white, black] = Pairing::half_points(game.outcome.result);
        for (player, halves) in [(game.pairing.white, white), (game.pairing.black, black)] {
            if let Some(sum) = self.halves.get_mut(player) {
                *sum += halves;
            }
        }
        self.games += 1;
    }

    /// The score and how much is played, in a line.
    pub(super) fn line(&self, arbiter: &Arbiter) -> String {
        let Tournament { players, .. } = arbiter.tournament();
        let all = arbiter.finished().len() + arbiter.to_come().size_hint().0;
        let played = format!("{} of {all} games", self.games);
        let [one, other] = self.halves.map(|halves| f64::from(halves) / 2.0);
        match players.as_slice() {
            [first, second] => {
                format!("{} {one} - {other} {}, {played}", first.name, second.name)
            }
            _ => played,
        }
    }
}

//! The games of a tournament in their order.

use std::collections::HashMap;

use super::state::{Pairing, PairingState};
use epdb_chess::model::GameResult;

/// A replay of the games of a tournament, in their order.
pub(super) struct Schedule<'o> {
    outcomes: &'o HashMap<u32, GameResult>,
    pub(super) games_per_encounter: u32,
    /// The number of the next game; the next field is the number of the next encounter.
    game: u32,
    encounter: u32,
    /// The games that are not over.
    next: Vec<Pairing>,
}

/// An encounter that takes place.
#[derive(Copy, Clone)]
pub(super) struct Encounter {
    pub(super) round: u32,
    pub(super) number: u32,
    /// The two players. The first one has White in their first game.
    pub(super) players: [usize; 2],
    /// Number of earlier games of these players.
    pub(super) games_before: u32,
}

/// The half points of an encounter, in the order of its players.
pub(super) type Points = [u32; 2];

impl<'o> Schedule<'o> {
    pub(super) const fn new(
        outcomes: &'o HashMap<u32, GameResult>,
        games_per_encounter: u32,
    ) -> Schedule<'o> {
        Schedule { outcomes, games_per_encounter, game: 1, encounter: 1, next: Vec::new() }
    }

    /// The next encounter, of two players; the first of them begins with White.
    pub(super) fn encounter(&mut self, round: u32, players: [usize; 2]) -> Encounter {
        let number = self.encounter;
        self.encounter += 1;
        Encounter { round, number, players, games_before: 0 }
    }

    pub(super) const fn next_game(&self) -> u32 {
        self.game
    }

    /// Leaves out an encounter of players who are not known yet.
    pub(super) const fn skip_encounter(&mut self) {
        self.encounter += 1;
        self.game += self.games_per_encounter;
    }

    /// Replays all games of an encounter and returns its points; `None` if some games are not over.
    /// `opening` gives the opening of each pair of games, by the number of the pair from 0.
    pub(super) fn play(
        &mut self,
        encounter: Encounter,
        opening: impl Fn(u32) -> usize,
    ) -> Option<Points> {
        let mut points = Some([0; 2]);
        for place in 0..self.games_per_encounter {
            let game = self.game;
            self.game += 1;
            let had = self.play_game(encounter, encounter.games_before + place, game, &opening);
            points = added(points, had);
        }
        points
    }

    /// Replays the game with the number `game` and returns its points; `None` if it is not over.
    /// `place` is its place among the games of these players, from 0.
    pub(super) fn play_game(
        &mut self,
        encounter: Encounter,
        place: u32,
        game: u32,
        opening: impl Fn(u32) -> usize,
    ) -> Option<Points> {
        let Encounter { round, number, players: [first, second], .. } = encounter;
        let is_turned = place % 2 == 1;
        let [white, black] = if is_turned { [second, first] } else { [first, second] };
        let Some(result) = self.outcomes.get(&game) else {
            let opening = opening(place / 2);
            self.next.push(Pairing { game, round, encounter: number, white, black, opening });
            return None;
        };
        let [white, black] = Pairing::half_points(*result);
        Some(if is_turned { [black, white] } else { [white, black] })
    }

    /// Ends the replay and returns the games that are not over, with the half points for byes.
    pub(super) fn end(self, byes: Vec<u32>) -> PairingState {
        let survived = vec![0; byes.len()];
        PairingState { next: self.next, byes, survived, champion: None }
    }
}

/// The sum of points; `None` if one of them is not known.
pub(super) fn added(sum: Option<Points>, more: Option<Points>) -> Option<Points> {
    let ([first, second], [more_first, more_second]) = (sum?, more?);
    Some([first + more_first, second + more_second])
}

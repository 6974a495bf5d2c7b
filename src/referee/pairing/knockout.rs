//! Knockout pairing.

use super::schedule::{Encounter, Points, Schedule, added};
use super::state::PairingState;

/// Plays a bracket in which the best seeds can meet only in the last rounds. If the number of
/// players is not a power of two, the best seeds have a bye in the first round.
///
/// If an encounter is level after its games, pairs of games follow until the encounter is no longer level.
/// The two games of a pair have the same opening, with the colours swapped. If the encounter is still level
/// after `tie_breaks` pairs, the better seed advances.
pub(super) fn pairing_state(
    mut schedule: Schedule<'_>,
    players: usize,
    tie_breaks: u32,
) -> PairingState {
    let mut bracket: Vec<Slot> = order_of_seeds(players.next_power_of_two())
        .into_iter()
        .map(|seed| if seed < players { Slot::Player(seed) } else { Slot::Free })
        .collect();
    let tie_breaks = TieBreaks {
        max_pairs: tie_breaks,
        encounters: players.saturating_sub(1) as u32,
        games: schedule.games_per_encounter,
    };
    let mut round = 0;
    let mut survived = vec![0; players];
    while bracket.len() > 1 {
        round += 1;
        let winner = |pair: &[Slot]| match *pair {
            [Slot::Player(one), Slot::Player(other)] => {
                // The better seed begins with White.
                let players = [one.min(other), one.max(other)];
                let encounter = schedule.encounter(round, players);
                tie_breaks.winner(&mut schedule, encounter).map_or(Slot::Unknown, Slot::Player)
            }
            [Slot::Free, other] | [other, Slot::Free] => other,
            _ => {
                schedule.skip_encounter();
                Slot::Unknown
            }
        };
        bracket = bracket.chunks(2).map(winner).collect();
        for slot in &bracket {
            if let Slot::Player(player) = slot {
                survived[*player] = round;
            }
        }
    }
    let champion = match bracket.first() {
        Some(Slot::Player(player)) => Some(*player),
        _ => None,
    };
    PairingState { survived, champion, ..schedule.end(vec![0; players]) }
}

/// A place in the bracket.
#[derive(Copy, Clone)]
enum Slot {
    Player(usize),
    /// No player: the opponent has a bye.
    Free,
    /// A player who is not known yet.
    Unknown,
}

/// The seeds, from 0, in the order of a bracket; the number of places is a power of two. The first
/// seed meets the last one; the same holds within each half of the bracket.
fn order_of_seeds(places: usize) -> Vec<usize> {
    let mut order = vec![0];
    while order.len() < places {
        let last = 2 * order.len() - 1;
        order = order.into_iter().flat_map(|seed| [seed, last - seed]).collect();
    }
    order
}

/// Additional pairs of games for level encounters.
struct TieBreaks {
    max_pairs: u32,
    /// Number of encounters of the whole tournament.
    encounters: u32,
    games: u32,
}

impl TieBreaks {
    /// The player who advances; `None` if not known yet.
    fn winner(&self, schedule: &mut Schedule<'_>, encounter: Encounter) -> Option<usize> {
        let first_opening = (encounter.number as usize - 1) * self.games.div_ceil(2) as usize;
        let mut points = schedule.play(encounter, |pair| first_opening + pair as usize)?;
        for number in 0..self.max_pairs {
            if points[0] != points[1] {
                break;
            }
            points = added(Some(points), self.two_games(schedule, encounter, number))?;
        }
        Some(encounter.players[usize::from(points[1] > points[0])])
    }

    /// Plays one additional pair of games. These games get numbers after all regular games. So the numbers do
    /// not depend on the order in which encounters become level.
    fn two_games(
        &self,
        schedule: &mut Schedule<'_>,
        encounter: Encounter,
        number: u32,
    ) -> Option<Points> {
        let place = number * self.encounters + encounter.number - 1;
        let first_game = self.encounters * self.games + 2 * place + 1;
        let openings = self.encounters as usize * self.games.div_ceil(2) as usize;
        // Colours alternate after the last regular game.
        let turned = self.games % 2;
        let mut play = |game: u32| {
            schedule.play_game(encounter, turned + game, first_game + game, |_| {
                openings + place as usize
            })
        };
        let [first, second] = [play(0), play(1)];
        added(first, second)
    }
}

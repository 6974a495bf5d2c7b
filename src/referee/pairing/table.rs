//! Tournaments whose pairings are known beforehand.

use super::schedule::{Encounter, Schedule};
use super::state::PairingState;

/// The encounters of each round of one cycle; the first player of an encounter begins with White.
type Rounds = Vec<Vec<[usize; 2]>>;

/// Pairs all cycles of a tournament in which all players meet. If there are only two players, colours
/// continue to alternate from cycle to cycle, and the two games with the same opening may be in different
/// cycles.
pub(super) fn pairing_state(
    mut schedule: Schedule<'_>,
    players: usize,
    rounds: Rounds,
    cycles: u32,
) -> PairingState {
    let encounters_per_cycle: usize = rounds.iter().map(Vec::len).sum();
    let mut round_number = 0;
    for cycle in 0..cycles {
        let games_before = cycle.saturating_mul(schedule.games_per_encounter);
        let mut place = 0;
        for round in &rounds {
            round_number += 1;
            for players in round {
                let encounter = schedule.encounter(round_number, *players);
                schedule.play(Encounter { games_before, ..encounter }, |pair| {
                    (pair as usize).saturating_mul(encounters_per_cycle).saturating_add(place)
                });
                place += 1;
            }
        }
    }
    schedule.end(vec![0; players])
}

/// The Berger tables (FIDE Handbook, C.05, annex 1). With an odd number of players, one has a bye
/// in each round.
pub(super) fn round_robin(players: usize) -> Rounds {
    let even = players + players % 2;
    let last = even - 1;
    let round = |round: usize| {
        // The opponent of the last player, whose place in the table is fixed.
        let lead = round * (even / 2) % last;
        let still = if round.is_multiple_of(2) { [lead, last] } else { [last, lead] };
        let others = (1..even / 2).map(|step| [(lead + step) % last, (lead + last - step) % last]);
        let all = std::iter::once(still).chain(others);
        all.filter(|encounter| encounter.iter().all(|player| *player < players)).collect()
    };
    (0..last).map(round).collect()
}

/// The challengers meet all other players. In each round the challengers meet different players, if
/// there are enough other players.
pub(super) fn gauntlet(players: usize, challengers: usize) -> Rounds {
    let challengers = challengers.min(players);
    let others = players - challengers;
    let round = |round: usize| {
        let encounter = |challenger: usize| {
            let other = challengers + (round + challenger) % others;
            if round.is_multiple_of(2) { [challenger, other] } else { [other, challenger] }
        };
        (0..challengers).map(encounter).collect()
    };
    (0..others).map(round).collect()
}

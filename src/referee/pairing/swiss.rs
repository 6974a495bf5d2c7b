//! Swiss pairing: players with equal or similar points meet.

use std::cmp::Reverse;

use petgraph::algo::matching::maximum_matching;
use petgraph::graph::UnGraph;

use super::schedule::Schedule;
use super::state::Absences;
use super::state::PairingState;

/// Plays round by round; a round begins when the round before is over. The main rules are those of
/// the Dutch system (FIDE Handbook, C.04.3):
///
/// - No two players meet twice, and no player has two byes, if that can be avoided.
/// - Players with equal points meet, the first half of them against the second half, if an opponent
///   remains for every other player.
/// - The player who has begun with White less often begins with White. If it can be avoided, the difference
///   between the numbers of encounters that a player begins with White and with Black stays below three.
///
/// A player who is absent in a round is not paired in it. If an opponent does not come to a game of
/// a round that is already paired, the player gets the points of the game.
pub(super) fn pairing_state(
    mut schedule: Schedule<'_>,
    players: usize,
    rounds: u32,
    absences: &Absences,
) -> PairingState {
    let mut all = vec![Standing::default(); players];
    let games = schedule.games_per_encounter;
    let openings = games.div_ceil(2) as usize;
    for round in 1..=rounds {
        let pairs = pairs(&mut all, games, &present(players, round, absences));
        let mut is_over = true;
        for [first, second] in pairs {
            let [white, black] = by_color(&all, first, second);
            all[white].begin(1, black);
            all[black].begin(-1, white);
            let encounter = schedule.encounter(round, [white, black]);
            let first_opening = (encounter.number as usize - 1) * openings;
            let first_game = schedule.next_game();
            match schedule.play(encounter, |pair| first_opening + pair as usize) {
                Some(points) => {
                    let left_out = absences.games.range(first_game..schedule.next_game());
                    for (player, points) in [white, black].into_iter().zip(points) {
                        let free =
                            left_out.clone().filter(|(_, ready)| **ready == Some(player)).count();
                        all[player].free_points += 2 * free as u32;
                        all[player].points += points + 2 * free as u32;
                    }
                }
                None => is_over = false,
            }
        }
        if !is_over {
            break;
        }
    }
    let byes = all.iter().map(|standing| standing.byes * 2 * games + standing.free_points);
    schedule.end(byes.collect())
}

/// The players who can be paired in a round. If fewer than two players can be paired, all players
/// are paired, and their games wait.
fn present(players: usize, round: u32, absences: &Absences) -> Vec<usize> {
    let present = (0..players).filter(|player| !absences.is_absent(round, *player));
    let present: Vec<usize> = present.collect();
    if present.len() < 2 { (0..players).collect() } else { present }
}

/// The state of a player before a round.
#[derive(Clone, Default)]
struct Standing {
    /// Half points, including those for byes.
    points: u32,
    opponents: Vec<usize>,
    byes: u32,
    /// Half points for games to which the opponent did not come.
    free_points: u32,
    /// Encounters begun with White, minus those begun with Black.
    balance: i32,
    /// Colour of the last encounter: 1 for White, -1 for Black, 0 before the first.
    last: i32,
}

impl Standing {
    fn begin(&mut self, color: i32, opponent: usize) {
        self.balance += color;
        self.last = color;
        self.opponents.push(opponent);
    }
}

/// Pairs the players who are present. A player without an opponent gets the points of a won encounter.
fn pairs(all: &mut [Standing], games: u32, present: &[usize]) -> Vec<[usize; 2]> {
    let mut order = present.to_vec();
    order.sort_by_key(|&player| (Reverse(all[player].points), player));
    let pairs = CAUTION
        .into_iter()
        .find_map(|caution| bye_and_pairs(all, &order, caution))
        .unwrap_or_default();
    let paired: Vec<usize> = pairs.iter().flatten().copied().collect();
    for player in order.into_iter().filter(|player| !paired.contains(player)) {
        all[player].byes += 1;
        all[player].points += 2 * games;
    }
    pairs
}

/// Whether two players may meet.
type MayMeet = fn(&Standing, &Standing, usize) -> bool;

#[derive(Copy, Clone)]
struct PairingConstraint {
    may_meet: MayMeet,
    /// Whether a player may have a bye while others have had fewer.
    may_rest_again: bool,
}

/// Sets of constraints, the strictest first. They are dropped in this order: on colours, on byes,
/// on meeting twice.
const CAUTION: [PairingConstraint; 4] = [
    PairingConstraint {
        may_meet: |one, other, place| {
            !one.opponents.contains(&place) && !need_same_color(one, other)
        },
        may_rest_again: false,
    },
    PairingConstraint { may_meet: meet_first, may_rest_again: false },
    PairingConstraint { may_meet: meet_first, may_rest_again: true },
    PairingConstraint { may_meet: |_, _, _| true, may_rest_again: true },
];

fn meet_first(one: &Standing, _: &Standing, place: usize) -> bool {
    !one.opponents.contains(&place)
}

/// True if both players have begun at least two times more often with the same colour.
const fn need_same_color(one: &Standing, other: &Standing) -> bool {
    one.balance.abs() >= 2 && one.balance == other.balance
}

/// Pairs all players. If their number is odd, the lowest player who may have the bye is left out.
/// `None` if there are no such pairs.
fn bye_and_pairs(
    all: &[Standing],
    order: &[usize],
    caution: PairingConstraint,
) -> Option<Vec<[usize; 2]>> {
    let PairingConstraint { may_meet, may_rest_again } = caution;
    if order.len().is_multiple_of(2) {
        return best_pairs(all, order, may_meet);
    }
    let fewest = order.iter().map(|&player| all[player].byes).min()?;
    let mut free: Vec<usize> = order.iter().rev().copied().collect();
    free.sort_by_key(|&player| all[player].byes);
    free.retain(|&player| may_rest_again || all[player].byes == fewest);
    free.into_iter().find_map(|bye| {
        let others: Vec<usize> = order.iter().copied().filter(|player| *player != bye).collect();
        best_pairs(all, &others, may_meet)
    })
}

/// Gives each player, from the first on, the best opponent for whom all other players can still be
/// paired.
fn best_pairs(all: &[Standing], order: &[usize], may_meet: MayMeet) -> Option<Vec<[usize; 2]>> {
    if !can_be_paired(all, order, may_meet) {
        return None;
    }
    let mut left = order.to_vec();
    let mut pairs = Vec::new();
    while let [player, rest @ ..] = &left[..] {
        let player = *player;
        let mut candidates: Vec<usize> = (0..rest.len()).collect();
        candidates.sort_by_key(|&place| preference(all, player, rest, place));
        let (opponent, others) = candidates.into_iter().find_map(|place| {
            let mut others = rest.to_vec();
            let opponent = others.remove(place);
            let fits = may_meet(&all[player], &all[opponent], opponent)
                && can_be_paired(all, &others, may_meet);
            fits.then_some((opponent, others))
        })?;
        pairs.push([player, opponent]);
        left = others;
    }
    Some(pairs)
}

/// The cost of pairing a player with the player at index `place` of `rest`. Preferred are a player with equal
/// points, then a player who is due the other colour, then a player who is half the size of the group of
/// equal points further down.
fn preference(
    all: &[Standing],
    player: usize,
    rest: &[usize],
    place: usize,
) -> (u32, bool, usize, usize) {
    let own = &all[player];
    let other = &all[rest[place]];
    let group = rest.iter().filter(|&&below| all[below].points == own.points).count();
    let wants_same = own.balance.signum() * other.balance.signum() > 0;
    let ideal = group.div_ceil(2).saturating_sub(1);
    (own.points - other.points, wants_same, place.abs_diff(ideal), place)
}

fn can_be_paired(all: &[Standing], players: &[usize], may_meet: MayMeet) -> bool {
    let mut graph = UnGraph::<(), ()>::default();
    let nodes: Vec<_> = players.iter().map(|_| graph.add_node(())).collect();
    for (place, &one) in players.iter().enumerate() {
        for (later, &other) in players.iter().enumerate().skip(place + 1) {
            if may_meet(&all[one], &all[other], other) {
                graph.add_edge(nodes[place], nodes[later], ());
            }
        }
    }
    let is_dense = |node| graph.neighbors(node).count() * 2 >= players.len();
    // Dirac (1952): if each player may meet at least half of all players, one cycle connects them
    // all. Every second edge of the cycle is a pair.
    nodes.iter().all(|node| is_dense(*node)) || maximum_matching(&graph).is_perfect()
}

/// Returns the two players; the first of them begins with White. It is the player who has begun with White
/// less often, or else the player who began with Black last, or else `first`. There is one other case: in the
/// first round, a player `first` with an odd index begins with Black.
fn by_color(all: &[Standing], first: usize, second: usize) -> [usize; 2] {
    let one = &all[first];
    let other = &all[second];
    let due = (one.balance, one.last).cmp(&(other.balance, other.last));
    let is_turned = due.then_with(|| match one.last {
        0 if first % 2 == 1 => std::cmp::Ordering::Greater,
        _ => std::cmp::Ordering::Less,
    });
    if is_turned.is_gt() { [second, first] } else { [first, second] }
}

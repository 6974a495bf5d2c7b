//! Pairings.

use std::collections::{BTreeMap, BTreeSet};

use epdb_chess::model::GameResult;
use epdb_referee::{
    Absences, Outcome, Pairing, PairingRule, Termination, next_games, pairing_state,
};
use proptest::prelude::*;

type Done = Vec<(Pairing, Outcome)>;

fn outcome(result: GameResult) -> Outcome {
    Outcome { result, termination: Termination::Normal }
}

/// Plays a whole tournament; each time one of the games that can begin is over.
fn play(
    rule: PairingRule,
    players: usize,
    games: u32,
    mut choose: impl FnMut(&[Pairing]) -> (usize, GameResult),
) -> Done {
    let mut done = Done::new();
    loop {
        let next = next_games(&rule, players, games, &done);
        if next.is_empty() {
            return done;
        }
        let (place, result) = choose(&next);
        done.push((next[place], outcome(result)));
        assert!(done.len() < 100_000, "no end");
    }
}

/// Choices made by numbers, one after the other.
fn by_numbers(numbers: &[u8]) -> impl FnMut(&[Pairing]) -> (usize, GameResult) + '_ {
    let mut numbers = numbers.iter().copied().cycle();
    move |next| {
        let number = usize::from(numbers.next().unwrap_or(0));
        (number / 4 % next.len(), GameResult::ALL[number % 3])
    }
}

/// For each player, games with White minus games with Black.
fn balances(players: usize, done: &Done) -> Vec<i32> {
    let mut balances = vec![0; players];
    for (pairing, _) in done {
        balances[pairing.white] += 1;
        balances[pairing.black] -= 1;
    }
    balances
}

fn pair(pairing: &Pairing) -> (usize, usize) {
    (pairing.white.min(pairing.black), pairing.white.max(pairing.black))
}

fn meetings(done: &Done) -> BTreeMap<(usize, usize), u32> {
    let mut meetings = BTreeMap::new();
    done.iter().for_each(|(pairing, _)| *meetings.entry(pair(pairing)).or_default() += 1);
    meetings
}

/// Numbers are given once, and each two games from the same opening have the colours turned.
fn check_numbers_and_openings(done: &Done) {
    let numbers: BTreeSet<u32> = done.iter().map(|(pairing, _)| pairing.game).collect();
    assert_eq!(numbers.len(), done.len());
    assert!(!numbers.contains(&0));
    let mut by_opening: BTreeMap<usize, Vec<Pairing>> = BTreeMap::new();
    done.iter().for_each(|(game, _)| by_opening.entry(game.opening).or_default().push(*game));
    for games in by_opening.values() {
        match games[..] {
            [_] => {}
            [one, other] => {
                assert_eq!((one.white, one.black), (other.black, other.white), "{one:?} {other:?}");
            }
            _ => panic!("{games:?}"),
        }
    }
}

#[test]
fn a_round_robin_has_the_berger_tables() {
    let games = next_games(&PairingRule::RoundRobin { cycles: 1 }, 4, 1, &[]);
    let seen: Vec<_> =
        games.iter().map(|game| (game.round, game.white + 1, game.black + 1)).collect();
    assert_eq!(seen, [(1, 1, 4), (1, 2, 3), (2, 4, 3), (2, 1, 2), (3, 2, 4), (3, 3, 1)]);
    let six = next_games(&PairingRule::RoundRobin { cycles: 1 }, 6, 1, &[]);
    let fourth: Vec<_> =
        six.iter().filter(|game| game.round == 4).map(|g| (g.white + 1, g.black + 1)).collect();
    assert_eq!(fourth, [(6, 5), (1, 4), (2, 3)]);
}

#[test]
fn a_double_round_robin_turns_colours_and_keeps_openings() {
    let games = next_games(&PairingRule::RoundRobin { cycles: 2 }, 4, 1, &[]);
    let (first, second) = games.split_at(6);
    for (one, other) in first.iter().zip(second) {
        assert_eq!((one.white, one.black, one.opening), (other.black, other.white, other.opening));
        assert_eq!(one.round + 3, other.round);
    }
}

#[test]
fn a_swiss_round_waits_for_the_one_before() {
    let rule = PairingRule::Swiss { rounds: 3 };
    let first = next_games(&rule, 8, 1, &[]);
    let pairs: Vec<_> = first.iter().map(|game| (game.white, game.black)).collect();
    assert_eq!(pairs, [(0, 4), (5, 1), (2, 6), (7, 3)]);
    let mut done: Done = first.iter().map(|game| (*game, outcome(GameResult::WhiteWins))).collect();
    let last = done.pop().unwrap();
    assert_eq!(next_games(&rule, 8, 1, &done), [last.0]);
    done.push(last);
    let second = next_games(&rule, 8, 1, &done);
    let of_winners: BTreeSet<_> = second.iter().take(2).flat_map(|g| [g.white, g.black]).collect();
    assert_eq!(of_winners, BTreeSet::from([0, 2, 5, 7]));
    assert!(second.iter().all(|game| game.round == 2));
}

#[test]
fn in_a_swiss_of_an_odd_number_somebody_is_free() {
    let rule = PairingRule::Swiss { rounds: 5 };
    let done = play(rule, 5, 2, |_| (0, GameResult::Draw));
    assert_eq!(pairing_state(&rule, 5, 2, &done, &Absences::default()).byes, [4; 5]);
    assert_eq!(meetings(&done).values().copied().collect::<Vec<_>>(), [2; 10]);
}

#[test]
fn a_bracket_lets_the_first_seeds_meet_last() {
    let rule = PairingRule::Knockout { tie_breaks: 0 };
    // Level encounters are won by the higher seed.
    let done = play(rule, 6, 2, |_| (0, GameResult::Draw));
    let pairs: Vec<_> = done.iter().map(|(game, _)| pair(game)).collect();
    assert_eq!(
        pairs,
        [(3, 4), (3, 4), (2, 5), (2, 5), (0, 3), (0, 3), (1, 2), (1, 2), (0, 1), (0, 1)]
    );
    assert_eq!(pairing_state(&rule, 6, 2, &done, &Absences::default()).champion, Some(0));
    assert_eq!(pairing_state(&rule, 6, 2, &done[..9], &Absences::default()).champion, None);
}

#[test]
fn a_level_encounter_continues_by_two_games() {
    let rule = PairingRule::Knockout { tie_breaks: 3 };
    let mut done = Done::new();
    for result in [GameResult::Draw, GameResult::Draw, GameResult::Draw, GameResult::BlackWins] {
        let next = next_games(&rule, 2, 2, &done);
        done.push((next[0], outcome(result)));
    }
    assert_eq!(next_games(&rule, 2, 2, &done), []);
    let (third, fourth) = (done[2].0, done[3].0);
    assert_eq!((third.white, fourth.white, third.opening, fourth.opening), (0, 1, 1, 1));
    assert_eq!(pairing_state(&rule, 2, 2, &done, &Absences::default()).champion, Some(0));
    // Three times two games more are level.
    assert_eq!(play(rule, 2, 1, |_| (0, GameResult::Draw)).len(), 7);
}

/// Whether all players can be paired, at most one left over, each two of them for the first time.
fn can_be_paired(left: &[usize], met: &BTreeSet<(usize, usize)>, may_rest: bool) -> bool {
    let [player, rest @ ..] = left else { return true };
    let meets = (0..rest.len()).any(|place| {
        let mut others = rest.to_vec();
        let other = others.remove(place);
        !met.contains(&(*player, other)) && can_be_paired(&others, met, may_rest)
    });
    meets || (may_rest && can_be_paired(rest, met, false))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn in_a_round_robin_all_meet_as_often(
        players in 2usize..9, cycles in 1u32..4, games in 1u32..4, numbers: [u8; 7],
    ) {
        let rule = PairingRule::RoundRobin { cycles };
        let done = play(rule, players, games, by_numbers(&numbers));
        prop_assert_eq!(meetings(&done).len(), players * (players - 1) / 2);
        prop_assert!(meetings(&done).values().all(|count| *count == cycles * games));
        prop_assert_eq!(done.len(), rule.game_count(players, games) as usize);
        prop_assert!(balances(players, &done).iter().all(|balance| balance.abs() <= 1));
        check_numbers_and_openings(&done);
        let openings = done.iter().map(|(game, _)| game.opening).max().unwrap() + 1;
        prop_assert_eq!(openings, rule.most_openings(players, games));
    }

    #[test]
    fn in_a_gauntlet_the_first_meet_the_others(
        players in 2usize..9, some in 1u32..8, cycles in 1u32..3, games in 1u32..4,
    ) {
        let challengers = some.min(players as u32 - 1);
        let rule = PairingRule::Gauntlet { challengers, cycles };
        let done = play(rule, players, games, by_numbers(&[1]));
        let challengers = challengers as usize;
        prop_assert_eq!(meetings(&done).len(), challengers * (players - challengers));
        let is_wanted =
            |(one, other): &(usize, usize)| *one < challengers && *other >= challengers;
        prop_assert!(meetings(&done).keys().all(is_wanted));
        prop_assert!(meetings(&done).values().all(|count| *count == cycles * games));
        let balances = balances(players, &done);
        prop_assert!(balances[..challengers].iter().all(|balance| balance.abs() <= 1));
        check_numbers_and_openings(&done);
    }

    #[test]
    fn in_a_swiss_nobody_meets_another_twice_where_that_can_be_avoided(
        players in 2usize..10, rounds in 1u32..8, games in 1u32..3, numbers: [u8; 11],
    ) {
        let rule = PairingRule::Swiss { rounds };
        let done = play(rule, players, games, by_numbers(&numbers));
        let everybody: Vec<usize> = (0..players).collect();
        let mut met = BTreeSet::new();
        for round in 1..=rounds {
            let pairs: BTreeSet<_> =
                done.iter().filter(|(g, _)| g.round == round).map(|(g, _)| pair(g)).collect();
            prop_assert_eq!(pairs.len(), players / 2);
            let all_seen: BTreeSet<_> = pairs.iter().flat_map(|(one, other)| [one, other]).collect();
            prop_assert_eq!(all_seen.len(), players / 2 * 2);
            let is_avoidable = can_be_paired(&everybody, &met, players % 2 == 1);
            prop_assert!(!is_avoidable || pairs.is_disjoint(&met), "round {}", round);
            met.extend(pairs);
        }
        if games == 2 {
            prop_assert!(balances(players, &done).iter().all(|balance| *balance == 0));
        } else if (rounds as usize) < players / 2 {
            prop_assert!(balances(players, &done).iter().all(|balance| balance.abs() <= 2));
        }
        let byes = pairing_state(&rule, players, games, &done, &Absences::default()).byes;
        let (fewest, most) = (byes.iter().min().unwrap(), byes.iter().max().unwrap());
        prop_assert!(rounds as usize > players / 2 || most - fewest <= 2 * games);
        check_numbers_and_openings(&done);
        prop_assert!(done.iter().all(|(g, _)| g.opening < rule.most_openings(players, games)));
    }

    #[test]
    fn a_knockout_leaves_one(
        players in 2usize..12, tie_breaks in 0u32..3, games in 1u32..4, numbers: [u8; 13],
    ) {
        let rule = PairingRule::Knockout { tie_breaks };
        let done = play(rule, players, games, by_numbers(&numbers));
        let rounds = players.next_power_of_two().trailing_zeros();
        prop_assert_eq!(done.iter().map(|(game, _)| game.round).max(), Some(rounds));
        prop_assert_eq!(meetings(&done).len(), players - 1);
        let champion = pairing_state(&rule, players, games, &done, &Absences::default()).champion.unwrap();
        let mut losers = BTreeSet::new();
        for round in 1..=rounds {
            let mut points: BTreeMap<(usize, usize), [i32; 2]> = BTreeMap::new();
            for (game, outcome) in done.iter().filter(|(game, _)| game.round == round) {
                let for_white = match outcome.result {
                    GameResult::WhiteWins => 1,
                    GameResult::BlackWins => -1,
                    _ => 0,
                };
                let points = points.entry(pair(game)).or_default();
                points[usize::from(game.white > game.black)] += for_white;
                points[usize::from(game.white < game.black)] -= for_white;
            }
            for ((one, other), points) in points {
                prop_assert!(!losers.contains(&one) && !losers.contains(&other));
                losers.insert(if points[1] > points[0] { one } else { other });
            }
        }
        prop_assert_eq!(losers.len(), players - 1);
        prop_assert!(!losers.contains(&champion));
        check_numbers_and_openings(&done);
        prop_assert!(done.iter().all(|(g, _)| g.opening < rule.most_openings(players, games)));
    }

    /// The order in which games end changes nothing but the order.
    #[test]
    fn games_do_not_depend_on_when_others_end(
        rule in prop_oneof![
            Just(PairingRule::RoundRobin { cycles: 2 }),
            Just(PairingRule::Swiss { rounds: 4 }),
            Just(PairingRule::Knockout { tie_breaks: 2 }),
        ],
        players in 2usize..8, numbers: [u8; 9], results: [u8; 5],
    ) {
        let by_game = |game: &Pairing| GameResult::ALL[usize::from(results[game.game as usize % 5]) % 3];
        let sorted = |mut done: Done| {
            done.sort_by_key(|(game, _)| game.game);
            done
        };
        let in_order = play(rule, players, 2, |next| (0, by_game(&next[0])));
        let mut numbers = numbers.iter().cycle();
        let in_disorder = play(rule, players, 2, |next| {
            let place = usize::from(*numbers.next().unwrap()) % next.len();
            (place, by_game(&next[place]))
        });
        prop_assert_eq!(sorted(in_order), sorted(in_disorder));
    }
}

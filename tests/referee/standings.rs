//! The table and its statistics, compared with independent values.
//!
//! Means and variances follow their definitions. Likelihoods are maximized under each hypothesis by SciPy.
//! The counts of the last two lines of strength are from tests of fastchess, with the same values.

use epdb_chess::model::GameResult::{self, BlackWins, Draw, Unknown, WhiteWins};
use epdb_referee::sprt::{SprtState, Verdict};
use epdb_referee::strength::strength;
use epdb_referee::{
    EloModel, Outcome, Pairing, PairingRule, Player, Sprt, Standings, Termination, Tournament,
    next_games,
};

/// The lines of a table without its head, as fields.
fn lines(table: &str) -> impl Iterator<Item = Vec<&str>> {
    table.lines().skip(1).map(|line| line.split('\t').collect())
}

fn counts(field: &str) -> Vec<u64> {
    field.split(' ').map(|count| count.parse().unwrap()).collect()
}

fn is_near(found: Option<f64>, expected: &str, tolerance: f64) -> bool {
    match expected.parse::<f64>() {
        Ok(expected) => {
            found.is_some_and(|it| (it - expected).abs() <= tolerance * expected.abs().max(1.0))
        }
        Err(_) => expected.is_empty() && found.is_none(),
    }
}

#[test]
fn strength_is_as_others_compute_it() {
    let table = include_str!("../vectors/strength.tsv");
    for line in lines(table) {
        let found = strength(&counts(line[0])).unwrap();
        let values = [
            Some(found.score),
            found.elo.value,
            found.elo.error,
            found.normalized.value,
            found.normalized.error,
            Some(found.superiority),
        ];
        for (value, expected) in values.into_iter().zip(&line[1..]) {
            assert!(is_near(value, expected, 1e-6), "{line:?}\n{found:?}");
        }
    }
    assert_eq!(lines(table).count(), 17);
}

#[test]
fn likelihood_ratios_are_as_others_compute_them() {
    let table = include_str!("../vectors/sprt.tsv");
    for line in lines(table) {
        let test = Sprt {
            elo0: line[1].parse().unwrap(),
            elo1: line[2].parse().unwrap(),
            model: line[3].parse().unwrap(),
            ..Sprt::default()
        };
        let found = SprtState::new(&test, &counts(line[0]));
        assert!(is_near(Some(found.llr), line[4], 3e-5), "{line:?}\n{found:?}");
    }
    assert_eq!(lines(table).count(), 78);
}

#[test]
fn a_test_ends_at_its_bounds() {
    let test = Sprt { alpha: 0.05, beta: 0.1, ..Sprt::default() };
    let state = SprtState::new(&test, &[0; 5]);
    assert_eq!((state.llr, state.verdict()), (0.0, None));
    assert!((state.lower - (0.1f64 / 0.95).ln()).abs() < 1e-12);
    assert!((state.upper - (0.9f64 / 0.05).ln()).abs() < 1e-12);
    for (llr, expected) in [
        (state.upper, Some(Verdict::Second)),
        (state.upper - 1e-9, None),
        (state.lower + 1e-9, None),
        (state.lower, Some(Verdict::First)),
    ] {
        assert_eq!(SprtState { llr, ..state }.verdict(), expected);
    }
    // No distribution of scores is so far above one half.
    let extreme = Sprt { elo0: 900.0, elo1: 1000.0, model: EloModel::Normalized, ..test };
    assert_eq!(SprtState::new(&extreme, &[1, 1, 1]).llr, 0.0);
}

fn tournament(names: &[&str], pairing: PairingRule, games_per_encounter: u32) -> Tournament {
    let player =
        |name: &&str| Player { name: name.to_string(), launch: None, token_file: None, time: None };
    let players = names.iter().map(player).collect();
    Tournament { players, pairing, games_per_encounter, ..Tournament::new("t") }
}

/// Plays the games of a tournament that are known beforehand with these results.
fn played(tournament: &Tournament, results: &[GameResult]) -> Vec<(Pairing, Outcome)> {
    let games = tournament.games_per_encounter;
    let mut done = Vec::new();
    for result in results {
        let next = next_games(&tournament.pairing, tournament.players.len(), games, &done);
        done.push((next[0], Outcome { result: *result, termination: Termination::Normal }));
    }
    done
}

/// A line for each player that lost by something else than chess.
#[test]
fn a_table_names_crashes() {
    let cup = tournament(&["Ann", "Bob"], PairingRule::RoundRobin { cycles: 1 }, 5);
    let mut done = played(&cup, &[WhiteWins, BlackWins, BlackWins, WhiteWins, Draw]);
    let terminations = [
        Termination::Abandoned,
        Termination::Abandoned,
        Termination::TimeForfeit,
        Termination::Adjudication,
        Termination::TimeForfeit,
    ];
    for ((_, outcome), termination) in done.iter_mut().zip(terminations) {
        outcome.termination = termination;
    }
    let table = Standings::new(&cup, &done).to_string();
    assert!(table.ends_with("\nAnn lost 1 on time\nBob lost 2 crashed\n"), "{table}");
}

#[test]
fn a_table_is_sorted_and_crossed() {
    let cup = tournament(&["Ann", "Bob", "Cyd"], PairingRule::RoundRobin { cycles: 1 }, 2);
    // Bob-Cyd, Cyd-Bob, Ann-Bob, Bob-Ann, Cyd-Ann, Ann-Cyd.
    let results = [WhiteWins, Draw, Draw, WhiteWins, BlackWins, Unknown];
    let standings = Standings::new(&cup, &played(&cup, &results));
    assert_eq!(
        standings.to_string(),
        "\
#  player  points  games  +  =  -    SB     Elo  ±  LOS %  1   2   3
1  Bob        3.0      4  2  2  0  3.00   190.8  -   92.1  x   =1  1=
2  Ann        1.5      4  1  1  1  2.00  -190.8  -   15.9  =0  x   1*
3  Cyd        0.5      4  0  1  2  1.50  -190.8  -   15.9  0=  0*  x
"
    );
    assert_eq!(standings.tsv(), include_str!("standings.tsv"));
    let objects: Vec<String> =
        standings.objects().map(|object| serde_json::to_string(&object).unwrap()).collect();
    assert_eq!(
        objects[1],
        concat!(
            r#"{"rank":2,"player":"Ann","points":1.5,"games":4,"wins":1,"draws":1,"losses":1,"#,
            r#""unknown":1,"white":2,"black":2,"byes":0.0,"sonneborn_berger":2.0,"#,
            r#""forfeits":{"crashed":0,"stalled":0,"on_time":0,"illegal":0},"#,
            r#""pairs":[0,1,0,0,0],"elo":-190.84850188786498,"elo_error":null,"nelo":null,"#,
            r#""nelo_error":null,"los":0.15865525393145707,"draw_ratio":0.3333333333333333,"#,
            r#""against":[{"player":"Bob","games":2,"points":0.5},"#,
            r#"{"player":"Cyd","games":2,"points":1.0}]}"#
        )
    );
}

#[test]
fn equal_players_share_a_rank() {
    let cup = tournament(&["A", "B", "C", "D"], PairingRule::RoundRobin { cycles: 1 }, 1);
    let standings = Standings::new(&cup, &played(&cup, &[Draw; 6]));
    let ranks: Vec<_> = standings.rows.iter().map(|row| (row.rank, row.player)).collect();
    assert_eq!(ranks, [(1, 0), (1, 1), (1, 2), (1, 3)]);
}

#[test]
fn points_of_opponents_decide_before_wins() {
    let cup = tournament(&["A", "B", "C", "D"], PairingRule::RoundRobin { cycles: 1 }, 1);
    // A-D, B-C, D-C, A-B, B-D, C-A: A and C have two points, and C won against A.
    let results = [WhiteWins, BlackWins, WhiteWins, WhiteWins, WhiteWins, WhiteWins];
    let standings = Standings::new(&cup, &played(&cup, &results));
    let order: Vec<_> = standings
        .rows
        .iter()
        .map(|row| (row.player, row.half_points, row.sonneborn_berger))
        .collect();
    assert_eq!(order, [(2, 4, 12), (0, 4, 8), (3, 2, 8), (1, 2, 4)]);
}

#[test]
fn a_bye_is_worth_an_encounter() {
    let swiss = tournament(&["A", "B", "C"], PairingRule::Swiss { rounds: 1 }, 2);
    let standings = Standings::new(&swiss, &played(&swiss, &[Draw, Draw]));
    let rows: Vec<_> =
        standings.rows.iter().map(|row| (row.player, row.half_points, row.games())).collect();
    assert_eq!(rows, [(2, 4, 0), (0, 2, 2), (1, 2, 2)]);
}

#[test]
fn a_test_counts_pairs_for_the_first_player() {
    let test = Sprt::default();
    let mut pair = tournament(&["A", "B"], PairingRule::RoundRobin { cycles: 2 }, 2);
    pair.sprt = Some(test);
    // A wins both games of a pair, then one of the next.
    let done = played(&pair, &[WhiteWins, BlackWins, WhiteWins, WhiteWins]);
    let standings = Standings::new(&pair, &done);
    assert_eq!(standings.rows[0].pairs, [0, 0, 1, 0, 1]);
    assert_eq!(standings.sprt, Some(SprtState::new(&test, &[0, 0, 1, 0, 1])));
    assert!(
        standings.to_string().ends_with("LLR 0.03 (-2.94 to 2.94), undecided\n"),
        "{standings}"
    );
    let shown = |llr| SprtState { llr, lower: -2.94, upper: 2.94 }.to_string();
    assert_eq!(shown(3.0), "LLR 3.00 (-2.94 to 2.94), H1 is accepted");
    assert_eq!(shown(-3.0), "LLR -3.00 (-2.94 to 2.94), H0 is accepted");
}

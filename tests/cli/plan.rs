//! `plan`: the costs of a large library, predicted from a small sample.

use serde_json::Value;

use crate::scratch::Scratch;

const LINES: [&str; 4] = [
    "1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 4. Ba4 Nf6 5. O-O Be7",
    "1. d4 d5 2. c4 e6 3. Nc3 Nf6 4. Bg5 Be7 5. e3 O-O",
    "1. e4 c5 2. Nf3 d6 3. d4 cxd4 4. Nxd4 Nf6 5. Nc3 a6",
    "1. e4 c6 2. d4 d5 3. Nc3 dxe4 4. Nxe4 Bf5 5. Ng3 Bg6",
];

fn games(count: usize) -> String {
    let game = |nth: usize| {
        let day = format!("{}.{:02}.01", 1900 + nth / 12, 1 + nth % 12);
        let line = LINES[nth % LINES.len()];
        format!("[Event \"{nth}\"]\n[Date \"{day}\"]\n[Result \"1-0\"]\n\n{line} 1-0\n\n")
    };
    (0..count).map(game).collect()
}

#[test]
fn all_routes_are_predicted_from_a_sample() {
    let scratch = Scratch::with("games.pgn", games(90));
    let done = scratch.run(&["plan", "--games", "7e9", "--plies", "70", "games.pgn", "--json"]);
    assert_eq!(done.status, 0, "{}", done.err);
    assert!(done.err.contains("measured with 90 games of 10.0 plies"), "{}", done.err);
    let routes: Vec<Value> =
        done.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let names: Vec<&str> = routes.iter().map(|route| route["route"].as_str().unwrap()).collect();
    let expected = [
        "tally into a store",
        "tally into an archive",
        "tally in slices, shard merge",
        "pack by number",
    ];
    assert_eq!(names, expected);
    for route in &routes {
        let costs = ["bytes", "cpu_seconds", "peak_bytes", "records", "shards", "slices"];
        costs.iter().for_each(|cost| assert!(route[cost].as_f64().unwrap() > 0.0, "{route}"));
    }
    let requests: Vec<Option<f64>> =
        routes.iter().map(|route| route["requests"].as_f64()).collect();
    let [None, Some(whole), Some(sharded), None] = requests[..] else { panic!("{requests:?}") };
    assert!(whole > 1000.0 && sharded > 1000.0, "a lookup takes a request: {requests:?}");
    // Every position is packed: a game has one more than it has plies.
    let packed = routes[3]["records"].as_f64().unwrap() / 7e9;
    assert!((packed - 71.0).abs() < 1e-6, "{packed}");
    assert_eq!(scratch.names(), ["games.pgn"]);

    let table = scratch.run(&["plan", "--games", "300000", "games.pgn"]);
    assert_eq!(table.status, 0, "{}", table.err);
    expected.iter().for_each(|route| assert!(table.out.contains(route), "{}", table.out));
}

#[test]
fn numbers_of_games_and_samples_are_checked() {
    let scratch = Scratch::with("games.pgn", games(3));
    for amount in ["0", "-1", "many", "inf", "nan"] {
        let done = scratch.run(&["plan", &format!("--games={amount}"), "games.pgn"]);
        assert_eq!(done.status, 2, "{amount}: {}", done.err);
        assert!(done.err.contains("expected a number from 1 to 1e15"), "{}", done.err);
    }
    let done = scratch.run(&["plan", "--games", "1e6", "games.pgn"]);
    assert_eq!(done.status, 2, "{}", done.err);
    let said = "too few games for a sample: 3; give files with at least 33 games";
    assert!(done.err.contains(said), "{}", done.err);
}

//! `explore`: the moves of a position in a library.

use std::collections::{BTreeMap, BTreeSet};

use assert_cmd::cargo::cargo_bin;
use epdb_chess::model::rules::{Playable, after};
use epdb_chess::model::{EpdRecord, Position};
use serde_json::Value;

use crate::scratch::{Done, Scratch};
use crate::terminal::Terminal;

const START: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -";

/// Games with transpositions, castling, en passant and a promotion.
const GAMES: &str = r#"[Event "a"]
[Result "1-0"]
[Date "2019.05.01"]
[WhiteElo "2400"]
[BlackElo "2200"]
[TimeControl "180"]

1. Nf3 Nf6 2. g3 g6 3. Bg2 Bg7 4. O-O O-O 1-0

[Event "b"]
[Result "1/2-1/2"]
[Date "2020.07.02"]
[WhiteElo "2500"]
[BlackElo "2300"]
[TimeControl "600"]

1. g3 g6 2. Bg2 Bg7 3. Nf3 Nf6 4. O-O O-O 5. c4 1/2-1/2

[Event "c"]
[Result "0-1"]
[Date "2021.??.??"]

1. e4 d5 2. e5 f5 3. exf6 Nh6 4. fxg7 Nf7 5. gxh8=Q 0-1

[Event "d"]
[Result "*"]

1. e4 f5 2. e5 d5 *
"#;

/// A library in every form.
fn library() -> Scratch {
    let scratch = Scratch::with("games.pgn", GAMES);
    for name in ["lib.epdb", "lib.epa", "lib.epb", "lib.epd"] {
        let done = scratch.run(&["tally", "games.pgn", "-o", name]);
        assert_eq!(done.status, 0, "{}", done.err);
    }
    scratch
}

fn explore(scratch: &Scratch, args: &[&str]) -> Done {
    scratch.run(&[&["explore"], args].concat())
}

/// The rows of a table with tabs, by the names of its columns.
fn rows(done: &Done) -> Vec<BTreeMap<String, String>> {
    let mut lines = done.out.lines();
    let names: Vec<&str> = lines.next().expect("a header").split('\t').collect();
    let row = |line: &str| {
        let cells = line.split('\t').map(String::from);
        let row: BTreeMap<String, String> =
            names.iter().map(ToString::to_string).zip(cells).collect();
        assert_eq!(row.len(), names.len(), "{line}");
        row
    };
    lines.map(row).collect()
}

fn column(done: &Done, name: &str) -> Vec<String> {
    rows(done).iter().map(|row| row[name].clone()).collect()
}

#[test]
fn moves_have_their_games_and_those_that_reached_the_next_position() {
    let scratch = library();
    let expected = explore(&scratch, &["lib.epdb", "--tsv"]);
    assert_eq!(expected.status, 0, "{}", expected.err);
    assert_eq!(column(&expected, "move"), ["e4", "Nf3", "g3"]);
    assert_eq!(column(&expected, "games"), ["2", "1", "1"]);
    assert_eq!(column(&expected, "share"), ["0.5000", "0.2500", "0.2500"]);
    assert_eq!(column(&expected, "mover_score"), ["0.0000", "1.0000", "0.5000"]);
    assert_eq!(column(&expected, "unknown"), ["1", "", ""]);
    assert_eq!(column(&expected, "elo"), ["", "2400", "2500"]);
    assert_eq!(column(&expected, "perf"), ["", "3000", "2300"]);
    assert_eq!(column(&expected, "years"), ["2021", "2019", "2020"]);
    assert_eq!(column(&expected, "reached"), ["2", "1", "1"]);
    for name in ["lib.epa", "lib.epb", "lib.epd"] {
        assert_eq!(explore(&scratch, &[name, "--tsv"]).out, expected.out, "{name}");
    }
    let piped =
        scratch.run_with(&["explore", "-", "--tsv", "--from", "epd"], scratch.read("lib.epd"));
    assert_eq!(piped.out, expected.out, "{}", piped.err);
    // Both games castle in the same position, which each reached its own way.
    let moves = ["lib.epa", "g3", "g6", "Bg2", "Bg7", "Nf3", "--tsv"];
    let row = &rows(&explore(&scratch, &moves))[0];
    let expected = ["Nf6", "1", "2"].map(String::from);
    assert_eq!([row["move"].clone(), row["games"].clone(), row["reached"].clone()], expected);
}

#[test]
fn a_position_is_read_in_any_form() {
    let scratch = library();
    let expected = explore(
        &scratch,
        &["lib.epa", "rnbqkbnr/ppp1p1pp/8/3pPp2/8/8/PPPP1PPP/RNBQKBNR w KQkq f6"],
    );
    assert!(expected.out.contains("exf6"), "{}{}", expected.out, expected.err);
    for position in [
        &["e4", "d5", "e5", "f5"][..],
        &["1. e4 d5 2. e5 f5"],
        &["startpos moves e2e4 d7d5 e4e5 f7f5"],
        &["rnbqkbnr/ppp1p1pp/8/3pPp2/8/8/PPPP1PPP/RNBQKBNR", "w", "KQkq", "f6", "0", "3"],
    ] {
        let done = explore(&scratch, &[&["lib.epa"], position].concat());
        assert_eq!(done.out, expected.out, "{position:?}: {}", done.err);
    }
    assert_eq!(explore(&scratch, &["lib.epa"]).out, explore(&scratch, &["lib.epa", START]).out);
    let wrong = explore(&scratch, &["lib.epa", "e4", "Ke3"]);
    assert_eq!((wrong.status, wrong.out.as_str()), (2, ""));
    assert!(wrong.err.contains("Ke3"), "{}", wrong.err);
    let got = scratch.run(&["get", "lib.epa", "1. e4 d5"]);
    assert!(
        got.out.starts_with("rnbqkbnr/ppp1pppp/8/3p4/4P3/8/PPPP1PPP/RNBQKBNR w"),
        "{}",
        got.err
    );
    assert!(scratch.run(&["moves", "e4"]).out.contains("\tNf6\tg8f6\n"));
    assert_eq!(scratch.run(&["count", "e4 c5"]).out, "1\n");
}

#[test]
fn missing_positions_are_reported_with_the_nearest_known_one() {
    let scratch = library();
    for source in ["lib.epdb", "lib.epa", "lib.epb"] {
        let done = explore(&scratch, &[source, "1. e4 d5 2. exd5 Qxd5"]);
        assert_eq!((done.status, done.out.as_str()), (1, ""), "{}", done.err);
        assert!(done.err.contains("position not found"), "{}", done.err);
        assert!(done.err.contains("after e4 d5: rnbqkbnr/ppp1pppp/8/3p4/"), "{}", done.err);
        let done = explore(&scratch, &[source, "h4"]);
        assert!(done.err.contains(&format!("in it is {START}")), "{}", done.err);
        let done = explore(&scratch, &[source, "8/8/8/4k3/8/1K6/8/8 b - -"]);
        assert_eq!((done.status, done.out.as_str()), (1, ""));
        assert!(!done.err.contains("nearest"), "{}", done.err);
    }
}

#[test]
fn rows_are_sorted_and_filtered() {
    let scratch = library();
    let moves = |args: &[&str]| {
        let done = explore(&scratch, &[&["lib.epa", "--tsv"], args].concat());
        column(&done, "move").join(" ")
    };
    assert_eq!(moves(&["--sort", "name"]), "Nf3 e4 g3");
    assert_eq!(moves(&["--sort", "score"]), "Nf3 g3 e4");
    assert_eq!(moves(&["--sort", "black"]), "e4 Nf3 g3");
    assert_eq!(moves(&["--sort", "elo"]), "g3 Nf3 e4");
    // Of Black's moves the best for Black comes first.
    assert_eq!(moves(&["--sort", "score", "e4"]), "d5 f5");
    assert_eq!(moves(&["-n", "2"]), "e4 Nf3");
    assert_eq!(moves(&["--min-games", "2"]), "e4");
    let text = explore(&scratch, &["lib.epa", "-n", "1"]).out;
    assert!(text.contains("2 more moves"), "{text}");
    assert!(text.starts_with(&format!("{START}\nreached by 4 games, 4 moves played\n")), "{text}");
    assert!(text.lines().any(|line| line.starts_with("Σ") && line.contains("100.0%")), "{text}");
}

#[test]
fn a_tree_continues_from_the_moves() {
    let scratch = library();
    let done = explore(&scratch, &["lib.epdb", "--depth", "3", "--tsv", "e4", "d5"]);
    assert_eq!(column(&done, "move"), ["e5", "e5 f5", "e5 f5 exf6"]);
    let text = explore(&scratch, &["lib.epdb", "--depth", "2", "e4", "d5"]).out;
    assert!(text.contains("\n  f5 "), "{text}");
    for source in ["lib.epb", "lib.epd"] {
        let scanned = explore(&scratch, &[source, "--depth", "3", "--tsv", "e4", "d5"]);
        assert_eq!(scanned.out, done.out);
    }
    let piped = ["explore", "-", "--depth", "2"];
    let piped = scratch.run_with(&piped, scratch.read("lib.epb"));
    assert_eq!(piped.status, 2);
    assert!(piped.err.contains("name a file"), "{}", piped.err);
    assert_eq!(explore(&scratch, &["lib.epa", "--depth", "0"]).status, 2);
}

#[test]
fn children_are_known_without_a_tally_and_evaluations_are_seen_by_the_mover() {
    let scratch = Scratch::with(
        "a.epd",
        "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - ce 30; id \"start\";\n\
         rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - ce -25;\n\
         rnbqkbnr/pppppppp/8/8/3P4/8/PPP1PPPP/RNBQKBNR b KQkq - ce 32766;\n",
    );
    let none = explore(&scratch, &["a.epd", "--tsv"]);
    assert_eq!((column(&none, "move"), none.status), (Vec::<String>::new(), 0));
    let done = explore(&scratch, &["a.epd", "--children", "--tsv", "--sort", "ce"]);
    assert_eq!(column(&done, "move"), ["e4", "d4"]);
    assert_eq!(column(&done, "ce"), ["25", "-32765"]);
    assert_eq!(column(&done, "operations"), ["ce -25;", "ce 32766;"]);
    let text = explore(&scratch, &["a.epd"]).out;
    assert!(text.ends_with("\nce 30;\nid \"start\";\n"), "{text}");
    // The position itself is not there.
    let text = scratch.text("a.epd");
    scratch.write("b.epd", text.split_once('\n').unwrap().1);
    let done = explore(&scratch, &["b.epd", "--children", "--tsv"]);
    assert_eq!((column(&done, "move"), done.status), (["d4", "e4"].map(String::from).to_vec(), 1));
}

#[test]
fn json_has_the_shape_of_the_explorer_of_lichess() {
    let scratch = library();
    let object = |args: &[&str]| -> Value {
        let done = explore(&scratch, &[&["lib.epa", "--json"], args].concat());
        assert_eq!(done.out.lines().count(), 1, "{}", done.err);
        serde_json::from_str(&done.out).unwrap()
    };
    let start = object(&[]);
    assert_eq!(
        (&start["white"], &start["draws"], &start["black"], &start["unknown"]),
        (&1.into(), &1.into(), &1.into(), &1.into())
    );
    assert_eq!(start["opening"], Value::Null);
    assert!(start.get("opening").is_some() && start.get("parents").is_none());
    let first = &start["moves"][0];
    assert_eq!((&first["uci"], &first["san"]), (&"e2e4".into(), &"e4".into()));
    assert!(first.get("averageRating").is_none(), "what is not known is left out");
    assert_eq!(start["moves"][1]["averageRating"], 2400);
    let castles = object(&["1. g3 g6 2. Bg2 Bg7 3. Nf3 Nf6"]);
    assert_eq!(castles["moves"][0]["uci"], "e1h1");
    assert_eq!(castles["moves"][0]["san"], "O-O");
    let tree = object(&["e4", "--depth", "2"]);
    assert_eq!(tree["moves"][0]["moves"][0]["san"], "e5");
    let parents = object(&["e4", "--parents"]);
    assert_eq!(parents["parents"][0]["fen"], START);
    assert_eq!(parents["parents"][0]["uci"], "e2e4");
}

#[test]
fn games_are_chosen_where_the_library_tells_them_apart() {
    let scratch = library();
    let by = ["tally", "games.pgn", "-o", "by.epa", "--by", "year,month,speed,rating"];
    assert_eq!(scratch.run(&by).status, 0);
    let moves = |args: &[&str]| {
        let done = explore(&scratch, &[&["by.epa", "--tsv"], args].concat());
        assert_eq!(done.status, 0, "{}", done.err);
        column(&done, "move").join(" ")
    };
    assert_eq!(moves(&[]), "e4 Nf3 g3");
    assert_eq!(moves(&["--since", "2020"]), "e4 g3");
    assert_eq!(moves(&["--until", "2020-06"]), "Nf3");
    assert_eq!(moves(&["--since", "2021-01"]), "", "the month is not known");
    assert_eq!(moves(&["--speeds", "rapid,classical"]), "g3");
    assert_eq!(moves(&["--ratings", "2200"]), "Nf3 g3");
    let done = explore(&scratch, &["by.epa", "--since", "2030", "--ratings", "2200"]);
    let says = done.err.contains("of this position passes the filter by year and rating");
    assert!(says, "{}", done.err);
    for (source, args, word) in [
        ("lib.epa", ["--since", "2020"], "year"),
        ("lib.epdb", ["--speeds", "blitz"], "speed"),
        ("lib.epd", ["--ratings", "2200"], "rating"),
    ] {
        let done = explore(&scratch, &[source, args[0], args[1]]);
        assert_eq!((done.status, done.out.as_str()), (2, ""));
        assert!(done.err.contains(&format!("apart by {word}")), "{}", done.err);
    }
    for wrong in [["--since", "May"], ["--speeds", "fast"], ["--ratings", "2300"]] {
        assert_eq!(explore(&scratch, &["by.epa", wrong[0], wrong[1]]).status, 2);
    }
}

/// The parents of every position of a library are those that playing all moves of all its
/// positions finds.
#[test]
fn parents_are_those_of_a_search_through_all_positions() {
    let scratch = library();
    let text = scratch.text("lib.epd");
    let records: Vec<EpdRecord> =
        text.lines().map(|line| epdb_chess::parse_epd(line.as_bytes()).unwrap()).collect();
    let mut expected: BTreeMap<String, BTreeSet<(String, String)>> = BTreeMap::new();
    for record in &records {
        let before = record.position();
        for mv in Playable::new(before).unwrap().legal_moves() {
            let san = epdb_chess::text::san::format(&Playable::new(before).unwrap(), mv);
            let led_to: Position = after(before, mv).identity();
            let parents = expected.entry(led_to.to_string()).or_default();
            parents.insert((before.to_string(), san.to_string()));
        }
    }
    let some = records.iter().map(|record| record.position().to_string());
    let mut most = 0;
    for position in some {
        let done = explore(&scratch, &["lib.epa", &position, "--parents", "--tsv"]);
        assert_eq!(done.status, 0, "{}", done.err);
        let found: BTreeSet<(String, String)> =
            rows(&done).iter().map(|row| (row["position"].clone(), row["move"].clone())).collect();
        let wanted = expected.get(&position).cloned().unwrap_or_default();
        assert_eq!(found, wanted, "{position}");
        most = most.max(found.len());
    }
    assert!(most > 1, "transpositions");
    // A position that is not there has parents that are.
    let done = explore(&scratch, &["lib.epb", "h4", "--parents", "--tsv"]);
    assert_eq!((column(&done, "position"), done.status), (vec![START.to_string()], 1));
    assert_eq!(column(&done, "games"), ["0"]);
}

const NAMES: &str =
    "eco\tname\tpgn\nB00\tKing's Pawn Game\t1. e4\nC20\tKing's Pawn: Open\t1. e4 e5\n";

#[test]
fn positions_and_moves_have_names() {
    let scratch = Scratch::with("g.pgn", "1. e4 e5 2. Nf3 1-0\n\n1. Nf3 e5 2. e4 0-1\n");
    scratch.write("names.tsv", NAMES);
    scratch.run(&["tally", "g.pgn", "-o", "l.epa"]);
    let explore = |more: &[&str]| {
        let done = scratch.run(&[&["explore", "l.epa", "--openings", "names.tsv"], more].concat());
        assert_eq!(done.status, 0, "{more:?}: {}", done.err);
        done.out
    };
    let start = explore(&[]);
    assert!(start.contains("B00 King's Pawn Game") && !start.contains("C20"), "{start}");
    // The last named position on the line, then the nearest from which a move leads here.
    assert!(explore(&["e4", "e5", "Nf3"]).contains("\nC20 King's Pawn: Open\n"));
    let met = "rnbqkbnr/pppp1ppp/8/4p3/4P3/5N2/PPPP1PPP/RNBQKB1R b KQkq -";
    assert!(explore(&[met]).contains("\nC20 King's Pawn: Open\n"));
    let json = explore(&[met, "--json"]);
    assert!(
        json.contains("\"opening\":{\"eco\":\"C20\",\"name\":\"King's Pawn: Open\"}"),
        "{json}"
    );
    let json = explore(&["--json"]);
    assert!(
        json.contains("\"opening\":{\"eco\":\"B00\",") && json.contains("\"opening\":null"),
        "{json}"
    );
}

#[test]
fn another_library_is_compared() {
    let scratch = Scratch::with("g.pgn", "1. e4 e5 1-0\n\n1. d4 0-1\n");
    scratch.write("h.pgn", "1. e4 0-1\n\n1. c4 1/2-1/2\n\n1. e4 c5 1-0\n");
    scratch.run(&["tally", "g.pgn", "-o", "g.epdb"]);
    scratch.run(&["tally", "h.pgn", "-o", "h.epa"]);
    let tsv = scratch.run(&["explore", "g.epdb", "--vs", "h.epa", "--tsv"]).out;
    let cells = |line: &str| line.split('\t').map(str::to_owned).collect::<Vec<_>>();
    let names = cells(tsv.lines().next().unwrap());
    let column = |name: &str| names.iter().position(|own| own == name).unwrap();
    let picked: Vec<Vec<String>> = tsv
        .lines()
        .skip(1)
        .map(|line| {
            let cells = cells(line);
            ["move", "games", "vs", "vs_share", "vs_mover_score"]
                .map(|it| cells[column(it)].clone())
                .to_vec()
        })
        .collect();
    assert_eq!(
        picked,
        [
            ["d4", "1", "0", "0.0000", ""],
            ["e4", "1", "2", "0.6667", "0.5000"],
            ["c4", "", "1", "0.3333", "0.5000"],
        ]
    );
    let json = scratch.run(&["explore", "g.epdb", "--vs", "h.epa", "--json"]).out;
    assert!(json.contains("\"vs\":{\"white\":1,\"draws\":1,\"black\":1,\"reached\":3}"), "{json}");
    assert!(
        json.contains(
            "\"san\":\"c4\",\"white\":0,\"draws\":0,\"black\":0,\"game\":null,\"opening\":{\"eco\":\"A10\",\"name\":\"English Opening\"},\"vs\":{\"white\":0,"
        ),
        "{json}"
    );
}

#[test]
fn games_are_counted_at_once() {
    let scratch = library();
    let expected = explore(&scratch, &["lib.epdb", "--tsv"]);
    let counted = explore(&scratch, &["games.pgn", "--tsv"]);
    assert_eq!((counted.status, counted.out), (0, expected.out), "{}", counted.err);
    let piped = scratch
        .run_with(&["explore", "-", "e4", "--tsv", "--from", "pgn"], scratch.read("games.pgn"));
    assert_eq!(column(&piped, "move"), ["d5", "f5"], "{}", piped.err);
    let some = explore(&scratch, &["games.pgn", "--tsv", "--where", "WhiteElo == 2400"]);
    assert_eq!(column(&some, "move"), ["Nf3"], "{}", some.err);
    assert_eq!(explore(&scratch, &["games.pgn", "--tsv", "--since", "2020"]).status, 0);
    let done = scratch.run(&["games", "games.pgn", "g3", "--json"]);
    assert!(done.out.contains("\"san\":\"g6\"") && done.status == 0, "{}{}", done.out, done.err);
    scratch.write("many.pgn", "1. e4 *\n\n".repeat(100_001));
    let done = scratch.run(&["explore", "many.pgn"]);
    assert_eq!((done.status, done.out.as_str()), (2, ""));
    let advice = "many.pgn contains more than 100000 games: make a library with `epdb tally";
    assert!(done.err.contains(advice), "{}", done.err);
    // A search for games has no such limit.
    let done = scratch.run(&["games", "many.pgn", "e4"]);
    assert!(done.status == 0 && done.out.contains("\nall"), "{}", done.err);
}

#[test]
fn a_move_that_is_not_legal_is_named() {
    let scratch = library();
    for (moves, told) in [
        (&["e5"][..], "`e5` is not legal in the start position"),
        (&["Ke2"], "`Ke2` is not legal in the start position"),
        (&["e4", "Ke3"], "`Ke3` is not legal in rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b"),
        (&["xyz"], "`xyz` is neither a FEN nor moves"),
    ] {
        let done = explore(&scratch, &[&["lib.epa"], moves].concat());
        assert_eq!((done.status, done.out.as_str()), (2, ""));
        assert!(done.err.contains(told), "{}", done.err);
    }
}

/// The score is the mover's wherever it is shown, and by it moves are sorted.
#[test]
fn the_score_is_that_of_the_mover() {
    let scratch = Scratch::with("g.pgn", "1. e4 e5 1-0\n\n1. e4 c5 0-1\n\n1. e4 c5 1/2-1/2\n");
    let tsv = explore(&scratch, &["g.pgn", "e4", "--sort", "score", "--tsv"]);
    assert_eq!(column(&tsv, "move"), ["c5", "e5"]);
    assert_eq!(column(&tsv, "mover_score"), ["0.7500", "0.0000"]);
    let text = explore(&scratch, &["g.pgn", "e4"]).out;
    assert!(text.contains(" mover%"), "{text}");
    let row = text.lines().find(|line| line.starts_with("c5")).unwrap();
    assert!(row.contains("75.0%"), "{text}");
    let parents = ["g.pgn", "e4", "c5", "--parents", "--tsv"];
    assert_eq!(column(&explore(&scratch, &parents), "mover_score"), ["0.7500"]);
}

#[test]
fn a_rating_is_rounded_as_in_json() {
    let game =
        |elo: u16| format!("[WhiteElo \"{elo}\"]\n[BlackElo \"{elo}\"]\n\n1. e4 e5 1/2-1/2\n\n");
    let scratch = Scratch::with("g.pgn", game(2400) + &game(2401));
    let two = explore(&scratch, &["g.pgn", "--tsv"]);
    let json = explore(&scratch, &["g.pgn", "--json"]).out;
    for (name, member) in [("elo", "averageRating"), ("perf", "performance")] {
        assert!(
            json.contains(&format!("\"{member}\":{}", column(&two, name)[0])),
            "{name}: {json}"
        );
    }
}

#[test]
fn a_book_has_weights_and_shares() {
    let scratch = library();
    let done = scratch.run(&["book", "make", "games.pgn", "-o", "book.bin", "--min-games", "1"]);
    assert_eq!(done.status, 0, "{}", done.err);
    let tsv = explore(&scratch, &["book.bin", "--tsv"]);
    assert_eq!(tsv.status, 0, "{}", tsv.err);
    let weights: Vec<u64> = column(&tsv, "weight").iter().map(|it| it.parse().unwrap()).collect();
    assert!(weights.len() > 1 && weights.is_sorted_by(|one, next| one >= next), "{weights:?}");
    let shares: f64 = column(&tsv, "share").iter().map(|it| it.parse::<f64>().unwrap()).sum();
    assert!((shares - 1.0).abs() < 0.001);
    assert!(column(&tsv, "games").iter().all(String::is_empty));
    let text = explore(&scratch, &["book.bin"]).out;
    let all: u64 = weights.iter().sum();
    assert!(text.contains(&format!("of an opening book, all weights {all}\n")), "{text}");
    assert!(!text.contains("games"), "{text}");
    let json = explore(&scratch, &["book.bin", "--json"]).out;
    assert!(json.contains(&format!("\"weight\":{all},\"moves\":[{{\"uci\"")), "{json}");
    // A comment that is no list of weights is none.
    scratch.write("c.epd", format!("{START} c0 \"e4 is best\";\n"));
    assert!(!explore(&scratch, &["c.epd", "--json"]).out.contains("weight"));
}

#[test]
fn a_terminal_has_colours_and_gets_what_has_room() {
    let scratch = library();
    for (columns, has_elo) in [(200, true), (60, false)] {
        let args = ["explore", "lib.epdb"];
        let (program, folder) = (cargo_bin("epdb"), scratch.path(""));
        let shown = Terminal::start_wide(columns, &program, &args, &folder, "").expect("Σ");
        assert!(shown.contains("\x1b[48;5;180m"), "{shown}");
        assert_eq!(shown.contains("\x1b[38;5;231m█"), has_elo, "{shown}");
        assert_eq!(shown.contains(" elo"), has_elo, "{shown}");
        assert!(shown.contains("mover%") && shown.contains("games"), "{shown}");
        let rows = shown.lines().filter(|line| line.contains('%') || line.contains('█'));
        for row in rows {
            let plain = row.split('\x1b').enumerate().map(|(place, part)| match place {
                0 => part,
                _ => part.split_once('m').map_or("", |(_, text)| text),
            });
            let plain: String = plain.collect();
            assert!(plain.trim_end().chars().count() <= columns.into(), "{plain}");
        }
    }
    assert!(explore(&scratch, &["lib.epdb", "--color", "always"]).out.contains("\x1b[38;5;231m█"));
    assert!(!explore(&scratch, &["lib.epdb"]).out.contains('\x1b'));
}

#[test]
fn books_are_compared_by_weight() {
    let scratch = Scratch::with("g.pgn", "1. e4 e5 1-0\n\n1. d4 1-0\n\n1. c4 1-0\n");
    scratch.write("h.pgn", "1. e4 0-1\n\n1. Nf3 1-0\n\n1. e4 c5 1-0\n\n1. f4 1-0\n");
    for (games, book) in [("g.pgn", "g.bin"), ("h.pgn", "h.bin")] {
        scratch.run(&["book", "make", games, "-o", book, "--min-games", "1"]);
    }
    scratch.run(&["tally", "g.pgn", "-o", "g.epdb"]);
    for source in ["g.bin", "g.epdb"] {
        let tsv = scratch.run(&["explore", source, "--vs", "h.bin", "--tsv"]).out;
        let (names, rows) = tsv.split_once('\n').unwrap();
        assert!(names.ends_with("\tvs_weight\tvs_share"), "{names}");
        let e4 = rows.lines().find(|row| row.starts_with("e4\t")).unwrap();
        assert!(!e4.contains("\t0\t0.0000") && !e4.ends_with('\t'), "{e4}");
        let json = scratch.run(&["explore", source, "--vs", "h.bin", "--json"]).out;
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert!(json["vs"]["weight"].as_u64() > json["moves"][0]["vs"]["weight"].as_u64());
        assert_eq!(rows.lines().count(), 5, "{rows}");
        for limit in ["0", "2", "4"] {
            let tsv = scratch.run(&["explore", source, "--vs", "h.bin", "--tsv", "-n", limit]).out;
            assert_eq!(
                tsv.lines().count().to_string(),
                (limit.parse::<usize>().unwrap() + 1).to_string()
            );
        }
    }
    let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -";
    scratch.write("plain.epd", format!("{start} id \"a\";\n"));
    for (source, other) in [("g.epdb", "plain.epd"), ("plain.epd", "g.bin")] {
        let refused = scratch.run(&["explore", source, "--vs", other]);
        assert_eq!(refused.status, 2, "{}", refused.out);
        assert!(refused.err.contains("plain.epd: the position has no tally"), "{}", refused.err);
    }
    // Without a tally, no empty table.
    let plain = scratch.run(&["explore", "plain.epd"]);
    assert_eq!(plain.out, format!("{start}\nno tally\n\n\nid \"a\";\n"));
}

#[test]
fn a_table_of_openings_is_not_a_move() {
    let scratch = Scratch::with("g.pgn", "1. e4 e5 1-0\n");
    for table in ["a.tsv", "b.tsv"] {
        scratch.write(table, "eco\tname\tpgn\nC20\tKing's Pawn\t1. e4 e5\n");
    }
    let done = scratch.run(&["explore", "g.pgn", "--openings", "a.tsv", "b.tsv"]);
    assert_eq!(done.status, 2);
    assert!(done.err.contains("b.tsv is a table, not a move: write --openings"), "{}", done.err);
}

/// Positions on web pages often lack castling rights. The answer names those of the source.
#[test]
fn a_position_with_other_castling_rights_is_named() {
    let scratch = Scratch::with("g.pgn", "[Event \"?\"]\n\n1. e4 c5 2. Nf3 *\n");
    assert_eq!(scratch.run(&["tally", "g.pgn", "-o", "l.epa"]).status, 0);
    let board = "rnbqkbnr/pp1ppppp/8/2p5/4P3/8/PPPP1PPP/RNBQKBNR w";
    for source in ["l.epa", "g.pgn"] {
        for rights in ["-", "KQ", "Kkq"] {
            let done = scratch.run(&["explore", source, &format!("{board} {rights} -")]);
            assert_eq!(done.status, 1, "{}", done.err);
            let named = format!("; with other castling rights it has {board} KQkq -");
            assert!(done.err.contains(&named), "{}", done.err);
        }
    }
    let none = scratch.run(&["explore", "l.epa", "8/8/8/4k3/8/8/8/R3K3 w Q -"]);
    assert!(!none.err.contains("castling rights"), "{}", none.err);
}

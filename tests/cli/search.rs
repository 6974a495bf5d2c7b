//! `epdb search --where`: games and their first matches, totals, and libraries with and without games.

use serde_json::Value;

use crate::scratch::{Done, Scratch};

/// Ann wins two games, one with each colour; the third is a draw of others.
const GAMES: &str = "[Event \"Cup\"]\n[Date \"1992.11.04\"]\n[White \"Ann\"]\n[Black \"Eve\"]\n[WhiteElo \"2400\"]\n[BlackElo \"2500\"]\n[ECO \"C20\"]\n[Result \"1-0\"]\n\n1. e4 e5 2. Qh5 Nc6 3. Bc4 Nf6 4. Qxf7# 1-0\n\n\
[Event \"Cup\"]\n[Date \"2001.??.??\"]\n[White \"Bob\"]\n[Black \"Ann\"]\n[WhiteElo \"2600\"]\n[BlackElo \"2500\"]\n[ECO \"A00\"]\n[Result \"0-1\"]\n\n1. f3 e5 2. g4 Qh4# 0-1\n\n\
[Event \"Open\"]\n[White \"Cy\"]\n[Black \"Dan\"]\n[Result \"1/2-1/2\"]\n\n1. e4 {[%clk 0:01:00]} c5 (1... e5) 2. Nf3 d6 3. Bb5+ Bd7 1/2-1/2\n\n";

fn scratch() -> Scratch {
    Scratch::with("g.pgn", GAMES)
}

fn objects(done: &Done) -> Vec<Value> {
    done.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Plies and moves of the games that are found.
fn found(scratch: &Scratch, args: &[&str]) -> Vec<String> {
    let done = scratch.run(&[&["search"], args, &["--tsv"]].concat());
    assert!(done.status < 2, "{args:?}: {}", done.err);
    let rows = done.out.lines().skip(1).map(|line| line.split('\t').take(3));
    rows.map(|row| row.collect::<Vec<_>>().join(" ")).collect()
}

#[test]
fn games_are_found_at_their_first_matches() {
    let scratch = scratch();
    assert_eq!(scratch.run(&["convert", "g.pgn", "g.pgc", "--ext"]).status, 0);
    for (expression, wanted) in [
        ("check", "7  Ann, 4  Bob, 5 3... Bd7 Cy"),
        ("check and not Event == 'Open'", "7  Ann, 4  Bob"),
        ("last(mate) and on('p', 'e5')", "2 2. Qh5 Ann, 2 2. g4 Bob"),
        ("line('Nf3 d6')", "2 2. Nf3 Cy"),
        ("captured('p')", "6 4. Qxf7# Ann"),
        ("lasts(stm == 'w', 2)", ""),
        ("Black == 'Ann'", "0 1. f3 Bob"),
        ("line >= 1 and check", "7  Ann, 4  Bob, 5 3... Bd7 Cy"),
    ] {
        for source in ["g.pgn", "g.pgc"] {
            let found = found(&scratch, &[source, "--where", expression]).join(", ");
            assert_eq!(found, wanted, "{source}: {expression}");
        }
    }
    let by_date = found(&scratch, &["g.pgn", "--where", "check", "--sort", "date", "-n", "2"]);
    assert_eq!(by_date, ["4  Bob", "7  Ann"]);
}

#[test]
fn totals_are_over_all_matches() {
    let scratch = scratch();
    let done = scratch.run(&["search", "g.pgn", "--where", "on('P', 'e4')", "--json", "-n", "1"]);
    let [first, totals] = &objects(&done)[..] else { panic!("{}", done.out) };
    assert_eq!((&first["ply"], &first["move"]), (&1.into(), &"1... e5".into()));
    assert_eq!(first["fen"], "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq e3 0 1");
    assert_eq!((&first["white"]["name"], &first["winner"]), (&"Ann".into(), &"white".into()));
    for (name, value) in [("games", 2), ("wins", 1), ("draws", 1), ("losses", 0)] {
        assert_eq!(totals[name], value, "{name}");
    }
    assert_eq!((&totals["of"], &totals["side"]), (&"games".into(), &"white".into()));
    assert_eq!((&totals["points"], &totals["score"]), (&1.5.into(), &0.75.into()));
    let names = |group: &str| -> Vec<&str> {
        totals[group].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect()
    };
    assert_eq!(names("moves"), ["c5", "e5"]);
    assert_eq!(
        (names("openings"), names("years"), names("ratings")),
        (vec!["C20"], vec!["1992", "undated"], vec!["2400", "unrated"])
    );
    assert!(done.err.contains("2 of 3 games match"), "{}", done.err);
    let done = scratch.run(&["search", "g.pgn", "--where", "plies > 3", "--player", "Ann"]);
    let all = done.out.lines().find(|line| line.starts_with("all")).unwrap();
    assert_eq!(all.split_whitespace().collect::<Vec<_>>(), ["all", "2", "2", "0", "0", "1.000"]);
    let black =
        ["search", "g.pgn", "--where", "plies > 3", "--player", "Eve; Ann ", "--side", "black"];
    let rows = found(&scratch, &black[1..]);
    assert_eq!(rows, ["0 1. e4 Ann", "0 1. f3 Bob"]);
}

#[test]
fn games_that_match_are_written() {
    let scratch = scratch();
    let done = scratch.run(&["search", "g.pgn", "--where", "line('Nf3')", "-o", "hits.pgn"]);
    assert_eq!(done.status, 0, "{}", done.err);
    assert!(done.out.starts_with("  "), "totals are printed: {}", done.out);
    let hits = scratch.text("hits.pgn");
    assert!(hits.contains("[%clk 0:01:00]") && hits.contains("(1... e5)"), "{hits}");
    assert!(!hits.contains("Ann"));
    let piped = scratch
        .run(&["search", "g.pgn", "--where", "check", "-o", "-", "--sort", "rating", "-n", "1"]);
    assert!(piped.out.starts_with("[Event \"Cup\"]") && piped.out.contains("[White \"Bob\"]"));
    assert_eq!(piped.out.matches("[Event ").count(), 1);
    scratch.write("lines.pgn", "[White \"Ann\"]\n\n1. e4 e5\n% kept\n2. Nf3 *\n");
    for how in [&["--where", "plies > 1"][..], &["--where", "plies > 1", "--sort", "date"], &["e4"]]
    {
        let args = [&["search", "lines.pgn"], how, &["-o", "-", "--escapes"]].concat();
        assert!(scratch.run(&args).out.contains("% kept\n"), "{how:?}");
    }
}

#[test]
fn libraries_have_games_or_visits() {
    let scratch = scratch();
    scratch.run(&["tally", "g.pgn", "-o", "kept.epa", "--keep-games", "3", "--by", "year"]);
    scratch.run(&["tally", "g.pgn", "-o", "bare.epdb", "--by", "year"]);
    let kept = scratch.run(&["search", "kept.epa", "--where", "never(on('p', 'c5'))", "--json"]);
    let kept = objects(&kept);
    assert_eq!((kept.len(), &kept[2]["games"]), (3, &2.into()));
    // In the fifth position White is mated, so no move was played there.
    let done =
        scratch.run(&["search", "bare.epdb", "--where", "on('p', 'e5') and stm == 'w'", "--json"]);
    let [visits] = &objects(&done)[..] else { panic!("{}", done.out) };
    assert_eq!((&visits["of"], &visits["games"]), (&"visits".into(), &4.into()));
    assert_eq!((&visits["wins"], &visits["losses"]), (&3.into(), &1.into()));
    assert_eq!(visits["years"][0]["games"], 3);
    assert!(
        done.err.contains("5 positions match in sources without games: 5 visits"),
        "{}",
        done.err
    );
    // Games and visits are never added up.
    let both =
        scratch.run(&["search", "bare.epdb", "kept.epa", "g.pgn", "--where", "check", "--json"]);
    let both = objects(&both);
    assert_eq!(
        (both.len(), &both[6]["of"], &both[7]["of"]),
        (8, &"games".into(), &"visits".into())
    );
    assert_eq!(both[6]["games"], 6);
}

/// A position, a player, or both select games without an expression.
#[test]
fn positions_and_players_select_games() {
    let scratch = scratch();
    scratch.run(&["tally", "g.pgn", "-o", "kept.epa", "--keep-games", "3"]);
    for (words, rows, totals) in [
        (&["e4", "--player", "Ann"][..], &["1 1... e5 Ann"][..], "all 1 1 0 0 1.000"),
        (&["e4", "e5", "--player", "Eve;Bob"], &["2 2. Qh5 Ann"], "all 1 0 0 1 0.000"),
        (&["--player", "Ann"], &["0 1. f3 Bob", "0 1. e4 Ann"], "all 2 2 0 0 1.000"),
        (&["--player", "Ann", "--side", "black"], &["0 1. f3 Bob"], "all 1 1 0 0 1.000"),
        (&["e4"], &[], "all 2 1 1 0 0.750"),
    ] {
        for source in ["g.pgn", "kept.epa"] {
            let args = [&[source], words].concat();
            assert!(rows.is_empty() || found(&scratch, &args) == rows, "{args:?}");
            let done = scratch.run(&[&["search"], &args[..]].concat());
            let all = done.out.lines().find(|line| line.starts_with("all")).unwrap();
            assert_eq!(all.split_whitespace().collect::<Vec<_>>().join(" "), totals, "{args:?}");
        }
    }
    let done = scratch.run(&["search", "g.pgn", "e4"]);
    assert!(done.err.contains("2 games reach the position"), "{}", done.err);
    assert!(done.out.contains("White wins  draws  Black wins"), "{}", done.out);
    let done = scratch.run(&["search", "g.pgn", "--where", "White == 'An'"]);
    assert!(done.status == 1 && done.err.contains("White ~ '^An' finds"), "{}", done.err);
    let done = scratch.run(&["search", "g.pgn", "--where", "White == 'Ann'", "--tsv"]);
    assert!(!done.err.contains("finds") && done.out.contains("\tfen\n"), "{}", done.err);
    assert!(done.out.ends_with("KQkq - 0 1\n"), "{}", done.out);
}

/// Four games reach each position, and a library of one game by rating and one by date keeps two of them.
#[test]
fn totals_of_a_library_say_that_it_keeps_some_games_only() {
    let games = [(1990, 2300), (1991, 2500), (1992, 2400), (1993, 2200)].map(|(year, elo)| {
        format!(
            "[White \"Ann\"]\n[Date \"{year}.01.01\"]\n[WhiteElo \"{elo}\"]\n[BlackElo \"2400\"]\n\n1. e4 e5 1-0\n\n"
        )
    });
    let scratch = Scratch::with("g.pgn", games.concat());
    for (keep, kept) in [("1", 2), ("4", 4)] {
        let tally = ["tally", "g.pgn", "-o", "kept.epa", "--keep-games", keep, "--force"];
        assert_eq!(scratch.run(&tally).status, 0);
        for how in [&["--where", "plies == 2"][..], &["--player", "Ann"]] {
            let search = [&["search", "kept.epa"], how].concat();
            let done = scratch.run(&[&search[..], &["--json"]].concat());
            let totals = objects(&done).pop().unwrap();
            let numbers = ["games", "searched", "counted"].map(|name| totals[name].clone());
            assert_eq!(numbers, [kept, kept, 4].map(Value::from), "{how:?}");
            let done = scratch.run(&[&search[..], &["-q"]].concat());
            let says_so = done.out.contains("2 of 2 kept games match; 4 games were counted\n");
            assert_eq!(says_so, kept == 2, "{}", done.out);
        }
    }
}

/// A library has the results of next moves alone, so those of games that end in the position are not in its totals.
#[test]
fn games_that_end_in_a_position_are_named() {
    let scratch = scratch();
    scratch.run(&["tally", "g.pgn", "-o", "kept.epa", "--keep-games", "3"]);
    let line = "1. f3 e5 2. g4 Qh4";
    for (source, games) in [("g.pgn", 1), ("kept.epa", 0)] {
        let done = scratch.run(&["search", source, line, "--json"]);
        let totals = objects(&done).pop().unwrap();
        assert_eq!(totals["games"], games, "{source}");
        assert_eq!(totals["counted"] == 1, games == 0, "{source}");
        let note = "1 game without a next move, whose results a library does not have";
        assert_eq!(done.err.contains(note), games == 0, "{}", done.err);
    }
}

/// A position is one beside a folder of its name, too; `e4/` is the folder.
#[test]
fn a_folder_with_the_name_of_a_move_hides_no_position() {
    let scratch = scratch();
    std::fs::create_dir(scratch.path("e4")).unwrap();
    scratch.write("e4/h.pgn", GAMES);
    let done = scratch.run(&["search", "g.pgn", "e4", "e5"]);
    assert!(done.status == 0 && done.err.contains("1 game reaches"), "{}", done.err);
    assert_eq!(scratch.run(&["count", "e4"]).out, "3\n");
    let both = scratch.run(&["search", "g.pgn", "e4/", "--where", "mate", "--json"]);
    assert_eq!(objects(&both).pop().unwrap()["searched"], 6, "{}", both.err);
}

/// Names that differ in given names, accents or punctuation may be those of the player.
#[test]
fn other_names_of_a_player_and_copies_of_games_are_reported() {
    let names =
        ["Réti,R", "Reti, Richard", "Reti, Richard", "RETI, R.", "Reti, Paul", "Retinger, R"];
    let games = names.map(|name| format!("[White \"{name}\"]\n\n1. Nf3 d5 2. c4 1-0\n\n"));
    let scratch = Scratch::with("g.pgn", games.concat());
    scratch.run(&["tally", "g.pgn", "-o", "kept.epa", "--keep-games", "9"]);
    for source in ["g.pgn", "kept.epa"] {
        let done = scratch.run(&["search", source, "--player", "Réti,R", "-q"]);
        let others = if source == "g.pgn" {
            "epdb: also in these games: `Reti, Richard` (2), `RETI, R.` (1)\n"
        } else {
            "epdb: also in these games: `RETI, R.` (1), `Reti, Richard` (1)\n"
        };
        assert_eq!((done.status, done.err.as_str()), (0, others), "{source}");
    }
    let tally = ["tally", "g.pgn", "-o", "x.epa", "--player", "Réti,R"];
    assert!(scratch.run(&tally).err.contains("also in these games: `Reti, Richard` (2)"));
    let done = scratch.run(&["search", "g.pgn", "--where", "White ~ 'Richard'", "--json"]);
    assert!(done.err.contains("2 of 6 games match, 1 of them copies of others"), "{}", done.err);
    let found = objects(&done);
    assert_eq!((&found[0]["white"]["rating"], &found[2]["copies"]), (&Value::Null, &1.into()));
    let done = scratch.run(&["search", "g.pgn", "Nf3"]);
    let says = done.err.contains("5 games reach") && done.err.contains("1 other game is a copy");
    assert!(says, "{}", done.err);
}

#[test]
fn groups_without_a_row_are_added_up() {
    let years = (0..13)
        .map(|year| format!("[Date \"{}.01.01\"]\n[Result \"1-0\"]\n\n1. e4 1-0\n\n", 1990 + year));
    let scratch =
        Scratch::with("g.pgn", years.collect::<String>() + "[Date \"1990.01.01\"]\n\n1. d4 *\n");
    let done = scratch.run(&["search", "g.pgn", "--where", "plies > 0"]);
    assert!(done.out.contains("\nyear 1990 "), "{}", done.out);
    let others = done.out.lines().find(|line| line.starts_with("year (3 more)")).unwrap();
    assert_eq!(
        others.split_whitespace().skip(3).collect::<Vec<_>>(),
        ["3", "3", "0", "0", "1.000"]
    );
}

/// With an expression, each argument is a source: a position would change nothing.
#[test]
fn a_position_beside_an_expression_is_refused() {
    let scratch = scratch();
    for position in ["e4", "e4 e5", "8/8/8/8/8/8/8/K1k5 w - - 0 1"] {
        let done = scratch.run(&["search", "g.pgn", position, "--where", "check"]);
        assert_eq!(done.status, 2, "{position}");
        assert!(done.err.contains("is a position, not a source"), "{}", done.err);
    }
}

#[test]
fn queries_of_scoutfish_are_translated() {
    let scratch = scratch();
    for (query, wanted) in [
        (
            r#"{ "sub-fen": "8/8/8/8/4P3/8/8/8", "captured": "" }"#,
            vec!["1 1... e5 Ann", "1 1... c5 Cy"],
        ),
        (r#"{ "result-type": "mate", "result": "0-1" }"#, vec!["4  Bob"]),
        (
            r#"{ "streak": [ { "white-move": "Nf3" }, { "black-move": "d6" } ] }"#,
            vec!["2 2. Nf3 Cy"],
        ),
        (r#"{ "sequence": [ { "moved": "Q" }, { "white-move": "Qxf7" } ] }"#, vec!["2 2. Qh5 Ann"]),
    ] {
        scratch.write("query.json", query);
        assert_eq!(found(&scratch, &["g.pgn", "--scoutfish", "query.json"]), wanted, "{query}");
    }
    scratch.write("query.json", "{ \"eco\": \"A00\" }");
    let done = scratch.run(&["search", "g.pgn", "--scoutfish", "query.json"]);
    assert_eq!(done.status, 2);
    assert!(done.err.contains("query.json: unknown rule `eco`"), "{}", done.err);
}

#[test]
fn what_cannot_be_searched_is_refused() {
    let scratch = scratch();
    scratch.write("a.epd", "4k3/8/8/8/8/8/8/4K3 w - -\n");
    for (args, message) in [
        (&["g.pgn", "--where", "!check"][..], "write never(...)"),
        (&["a.epd", "--where", "last(check)"], "here are only records"),
        (&["g.pgn", "--where", "check", "--positions", "all"], "--positions"),
        (&["g.pgn", "--side", "white"], "--side needs --player"),
        (&["g.pgn", "--where", "stm == 'w' and then(check, mate)"], "put them into that term"),
        (
            &["g.pgn", "--where", "check", "-o", "hits.epd"],
            "games can be written as .pgn or .pgc only",
        ),
    ] {
        let done = scratch.run(&[&["search"], args].concat());
        assert_eq!(done.status, 2, "{args:?}: {}", done.err);
        assert!(done.err.contains(message), "{args:?}: {}", done.err);
    }
    let none = scratch.run(&["search", "g.pgn", "--where", "pieces == 2"]);
    assert_eq!((none.status, &none.out[..]), (1, ""));
}

/// If no game has the player, the message names the nearest players. If some have, it does not.
#[test]
fn the_nearest_players_are_named() {
    let game = |(white, moves): (&str, &str)| {
        format!("[White \"{white}\"]\n[Black \"Bogoljubov, E\"]\n\n{moves} 1-0\n\n")
    };
    let games = [
        ("Alekhine, Alexander", "1. e4 e5"),
        ("ALÉKHINE, A", "1. e4 e5"),
        ("Alekhine, Alexander", "1. d4 d5"),
        ("Aljechin, A", "1. e4 e5"),
    ];
    let scratch = Scratch::with("g.pgn", games.map(game).concat());
    scratch.run(&["tally", "g.pgn", "-o", "kept.epa", "--keep-games", "9"]);
    let near = "`Alekhine, Alexander` (2 games), `ALÉKHINE, A` (1 game)";
    for (player, side, near) in [
        ("Alekhine", None, near),
        ("Alexei Alekhine", None, near),
        ("e bogoljubow", None, "`Bogoljubov, E` (4 games)"),
        ("Alekhine, Alexander", Some("black"), "`ALÉKHINE, A` (1 game)"),
        ("Zukertort", None, ""),
    ] {
        for source in ["g.pgn", "kept.epa"] {
            for expression in ["plies > 1", "plies > 9"] {
                let args = ["search", source, "--player", player, "--where", expression];
                let side = side.map_or(vec![], |side| vec!["--side", side]);
                let done = scratch.run(&[&args[..], &side].concat());
                let said = done.err.lines().find(|line| line.contains("no game of"));
                let said = said.unwrap_or_default();
                assert!(done.status == 1 && said.contains(near), "{args:?}: {}", done.err);
                assert_eq!(near.is_empty(), !said.contains("nearest"), "{said}");
            }
        }
    }
    let met = scratch.run(&["search", "g.pgn", "--player", "Aljechin, A", "--where", "plies > 9"]);
    assert!(met.status == 1 && !met.err.contains("no game of"), "{}", met.err);
    let done = scratch.run(&["search", "g.pgn", "--player", "alekhine"]);
    assert!(done.err.ends_with("spell it: --player 'Alekhine, Alexander'\n"), "{}", done.err);
    scratch.run(&["tally", "g.pgn", "-o", "tallies.epa"]);
    let done = scratch.run(&["search", "tallies.epa", "--player", "Alekhine, Alexander"]);
    assert!(done.status == 1 && done.err.contains("no games, so no players"), "{}", done.err);
}

/// The totals are those of the side that has White's part in the pattern, whichever colour it has.
#[test]
fn totals_of_swapped_colours_are_of_one_side() {
    let games = "1. Nf3 a6 2. Ne5 a5 1-0\n\n1. a3 Nf6 2. a4 Ne4 0-1\n\n1. a3 Nf6 2. a4 Ne4 1-0\n\n";
    let scratch = Scratch::with("n.pgn", games);
    scratch.run(&["tally", "n.pgn", "-o", "kept.epa", "--keep-games", "9"]);
    for source in ["n.pgn", "kept.epa"] {
        for (expression, side, wins, losses) in [
            ("flipcolor(on('N', 'e5'))", "pattern", 2, 1),
            ("flipcolor(on('n', 'e4'))", "pattern", 1, 2),
            ("on('N', 'e5') or on('n', 'e4')", "white", 2, 1),
        ] {
            let done = scratch.run(&["search", source, "--where", expression, "--json"]);
            let totals = objects(&done).pop().unwrap();
            let found = ["side", "wins", "losses"].map(|name| totals[name].to_string());
            let expected = [format!("{side:?}"), wins.to_string(), losses.to_string()];
            assert_eq!(found, expected, "{expression}");
            let is_said = done.err.contains("wins are those of White where");
            assert_eq!(is_said, side == "pattern", "{}", done.err);
        }
    }
}

/// `filter --first-match` writes one position of each game.
#[test]
fn filter_takes_one_position_of_a_game() {
    let scratch = scratch();
    let count = |args: &[&str]| {
        let done = scratch.run(&[&["filter", "g.pgn", "--count", "--where"], args].concat());
        (done.status, done.out, done.err)
    };
    let first = ["ply > 2", "--positions", "--first-match"];
    assert_eq!(count(&first).1, "3\n");
    assert_eq!(count(&[&first[..], &["--invert"]].concat()).1, "3\n");
    assert_eq!(count(&["on('p', 'c5')", "--positions", "--first-match"]).1, "1\n");
    let (status, _, message) = count(&["ply > 2", "--first-match"]);
    assert!(status == 2 && message.contains("--positions"), "{message}");
    let args =
        [&["filter", "g.pgn", "-o", "one.epd", "--where"], &first[..1], &first[2..]].concat();
    assert_eq!(scratch.run(&args).status, 0);
    assert_eq!(scratch.run(&["count", "one.epd", "--where", "fmvn == 2"]).out, "3\n");
    let records = scratch.run(&["filter", "one.epd", "--where", "check", "--first-match"]);
    assert!(records.status == 2 && records.err.contains("is for"), "{}", records.err);
}

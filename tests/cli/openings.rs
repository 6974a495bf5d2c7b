//! `epdb openings`: rows, pairs, books and filters.

use crate::scratch::Scratch;

const E4: &str = "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq -";
const D4: &str = "rnbqkbnr/pppppppp/8/8/3P4/8/PPP1PPPP/RNBQKBNR b KQkq -";
const C4: &str = "rnbqkbnr/pppppppp/8/8/2P5/8/PP1PPPPP/RNBQKBNR b KQkq -";
const START: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -";

fn game(white: &str, black: &str, result: &str, fen: Option<&str>, moves: &str) -> String {
    let fen = fen.map(|fen| format!("[SetUp \"1\"]\n[FEN \"{fen} 0 1\"]\n")).unwrap_or_default();
    format!(
        "[White \"{white}\"]\n[Black \"{black}\"]\n[Result \"{result}\"]\n{fen}\n{moves} {result}\n\n"
    )
}

/// A match with FEN tags. Of e4, one pair is 2 points of A, one is 1, and a game is left.
fn scratch() -> Scratch {
    let scratch = Scratch::new();
    let games = [
        game("A", "B", "1-0", Some(E4), "1... e5"),
        game("B", "A", "0-1", Some(E4), "1... e5"),
        game("B", "A", "1/2-1/2", Some(E4), "1... c5"),
        // Not a counterpart: other players.
        game("A", "C", "1-0", Some(E4), "1... c5"),
        game("A", "B", "1/2-1/2", Some(E4), "1... c5"),
        game("A", "B", "0-1", Some(D4), "1... d5"),
        game("B", "A", "*", Some(D4), "1... d5"),
        game("B", "A", "1/2-1/2", Some(D4), "1... d5"),
    ];
    scratch.write("match.pgn", games.concat());
    scratch.write("book.epd", format!("{D4} id \"d4\";\n{C4} id \"c4\";\n{E4} id \"e4\";\n"));
    scratch
}

// README: `openings GAMES…`
#[test]
fn each_opening_has_a_row_with_its_pairs() {
    let scratch = scratch();
    let done = scratch.run(&["openings", "match.pgn", "--tsv"]);
    let expected = format!(
        "fen\tgames\tpairs\twins\tdraws\tlosses\tunknown\tscore\tdraw_rate\tpentanomial\tplayer\topponent\n\
         {E4}\t5\t2\t2\t2\t1\t0\t0.6000\t0.4000\t0 0 1 0 1\t\t\n\
         {D4}\t3\t1\t0\t1\t1\t1\t0.2500\t0.5000\t0 1 0 0 0\t\t\n"
    );
    assert_eq!((done.status, done.out.as_str()), (0, expected.as_str()), "{}", done.err);
    assert!(done.err.contains("epdb: 8 games, 3 pairs of 2 openings\n"), "{}", done.err);
    let lines = scratch.run(&["openings", "match.pgn", "--where", "games == 3"]);
    assert_eq!(lines.out.lines().count(), 2, "{}", lines.out);
    let json = scratch.run(&["openings", "match.pgn", "--json", "--where", "p4 > 0 && stm == 'b'"]);
    let expected = format!(
        "{{\"fen\":\"{E4}\",\"games\":5,\"pairs\":2,\"wins\":2,\"draws\":2,\"losses\":1,\"unknown\":0,\
         \"score\":0.6,\"draw_rate\":0.4,\"pentanomial\":[0,0,1,0,1],\"players\":null}}\n"
    );
    assert_eq!(json.out, expected, "{}", json.err);
    let wrong = scratch.run(&["openings", "match.pgn", "--where", "pears > 1"]);
    assert_eq!(wrong.status, 2);
    assert!(wrong.err.contains("columns: games, pairs, wins"), "{}", wrong.err);
}

/// The total is that of the referee for the same pairs.
#[test]
fn a_match_has_a_total() {
    let pair = |first: &str, second: &str| {
        game("A", "B", first, Some(E4), "1... e5") + &game("B", "A", second, Some(E4), "1... e5")
    };
    let games = [pair("1-0", "0-1"), pair("1/2-1/2", "1/2-1/2"), pair("1-0", "1-0")].concat();
    let scratch = Scratch::with("match.pgn", &games);
    scratch.write("three.pgn", games + &game("A", "C", "1-0", Some(E4), "1... e5"));
    let expected = "A against B: 6 games, +3 =2 -1\n\
                    Elo 120.4 ± 264.5, nElo 173.7 ± 278.0, LOS 89.0 %, score 66.7 % of 3 pairs\n";
    let total = scratch.run(&["elo", "match.pgn"]);
    assert_eq!((total.status, total.out.as_str()), (0, expected), "{}", total.err);
    let table = scratch.run(&["openings", "match.pgn"]).out;
    assert!(table.ends_with(&format!("\n\n{expected}")), "{table}");
    let tested = scratch.run(&["openings", "match.pgn", "--sprt", "elo0=0", "elo1=5"]).out;
    assert_eq!(tested, format!("{expected}LLR 0.04 (-2.94 to 2.94), undecided\n"));
    let json = scratch.run(&["sprt", "match.pgn", "--sprt", "elo1=5", "--json"]).out;
    assert!(json.contains("\"pentanomial\":[0,0,2,0,1],\"score\":0.66"), "{json}");
    for (args, advice) in [
        (&["elo", "three.pgn"][..], "`epdb filter` selects the games of two players"),
        (&["elo", "--sprt", "elo1=5", "match.pgn"], "files come before --sprt"),
        (&["report", "match.pgn"], "`epdb openings FILE` gives the Elo of a match"),
    ] {
        let refused = scratch.run(args);
        assert!(refused.status == 2 && refused.err.contains(advice), "{}", refused.err);
    }
}

/// The first player is White of the game with the lowest round, or the requested one. The order of the games does
/// not matter, and pairs are made by rounds.
#[test]
fn a_match_has_the_same_total_in_any_order_of_its_games() {
    let game = |round: &str, white: &str, black: &str, result: &str, ending: &str| {
        format!("[Round \"{round}\"]\n[Termination \"{ending}\"]\n")
            + &game(white, black, result, Some(E4), "1... e5")
    };
    let games = [
        game("1.2", "Zoe", "Ann", "1-0", "abandoned"),
        game("1.10", "Ann", "Zoe", "0-1", "normal"),
        game("2.1", "Ann", "Zoe", "1-0", "Time forfeit"),
        game("10.1", "Zoe", "Ann", "1/2-1/2", "normal"),
        game("11", "Ann", "Zoe", "1/2-1/2", "time forfeit"),
        game("12", "Zoe", "Ann", "1-0", "illegal move"),
    ];
    let call = |order: &[usize], extra: &[&str]| {
        let scratch = Scratch::new();
        scratch.write("m.pgn", order.iter().map(|at| games[*at].as_str()).collect::<String>());
        scratch.run(&[&["openings", "m.pgn"], extra].concat())
    };
    let first = call(&[0, 1, 2, 3, 4, 5], &["--sprt", "elo1=5"]);
    assert!(first.out.starts_with("Zoe against Ann: 6 games, +3 =2 -1\n"), "{}", first.out);
    assert!(first.err.contains("; --player 'Ann' counts those of Ann\n"), "{}", first.err);
    assert!(
        first.err.ends_with("Ann lost 1 crashed, 1 by an illegal move\nepdb: Zoe lost 1 on time\n"),
        "{}",
        first.err
    );
    let rows = call(&[0, 1, 2, 3, 4, 5], &["--tsv"]).out;
    assert!(rows.contains("\t0 1 0 1 1\tZoe\tAnn\n"), "{rows}");
    for order in [[5, 4, 3, 2, 1, 0], [1, 4, 2, 0, 5, 3], [4, 5, 1, 3, 0, 2]] {
        assert_eq!(call(&order, &["--sprt", "elo1=5"]).out, first.out, "{order:?}");
        assert_eq!(call(&order, &["--tsv"]).out, rows, "{order:?}");
        let other = call(&order, &["--total", "--player", "Ann"]);
        assert!(other.out.starts_with("Ann against Zoe: 6 games, +1 =2 -3\n"), "{}", other.out);
    }
    let copied = call(&[0, 1, 0, 2, 0], &["--total"]);
    assert!(copied.err.contains("2 games with the tags and moves of another"), "{}", copied.err);
    let scratch = Scratch::with("m.pgn", &games[0]);
    let twice = scratch.run(&["openings", "m.pgn", "./m.pgn", "--total"]);
    assert!(twice.status == 2 && twice.err.contains("./m.pgn is named twice"), "{}", twice.err);
    let missing = call(&[0], &["--player", "Zo"]);
    assert_eq!((missing.status, missing.out.as_str()), (1, ""), "{}", missing.err);
    assert!(
        missing.err.contains("no game of `Zo`; the nearest: `Zoe` (1 game)"),
        "{}",
        missing.err
    );
}

/// Without rounds, the first player is White of the first game, and every format names both.
#[test]
fn the_players_of_a_match_are_named() {
    let games = [
        game("Zoe", "Ann", "1-0", Some(E4), "1... e5"),
        game("Ann", "Zoe", "0-1", Some(E4), "1... e5"),
        game("Ann", "Zoe", "1/2-1/2", Some(E4), "1... e5"),
        game("Zoe", "Ann", "1/2-1/2", Some(E4), "1... e5"),
    ];
    let unfinished = game("Ann", "Zoe", "*", Some(E4), "1... e5");
    for (text, pairs, first, second) in [
        (games.concat(), [0, 0, 1, 0, 1], "Zoe", "Ann"),
        (games[2..].concat() + &games[..2].concat(), [1, 0, 1, 0, 0], "Ann", "Zoe"),
        (unfinished + &games.concat(), [1, 0, 1, 0, 0], "Ann", "Zoe"),
    ] {
        let scratch = Scratch::with("match.pgn", text);
        let done = scratch.run(&["openings", "match.pgn"]);
        let said = format!("the points are those of {first} against {second}; --player");
        assert!(done.err.contains(&said), "{}", done.err);
        let spaced = pairs.map(|count| count.to_string()).join(" ");
        assert!(
            done.out.lines().next().unwrap().ends_with("  pentanomial  player  opponent"),
            "{}",
            done.out
        );
        assert!(done.out.contains(&format!("{spaced}  {first}     {second}")), "{}", done.out);
        let table = scratch.run(&["openings", "match.pgn", "--tsv"]).out;
        assert!(table.ends_with(&format!("\t{spaced}\t{first}\t{second}\n")), "{table}");
        let json = scratch.run(&["openings", "match.pgn", "--json"]).out;
        let listed = spaced.replace(' ', ",");
        let object =
            format!("\"pentanomial\":[{listed}],\"players\":[\"{first}\",\"{second}\"]}}\n");
        assert!(json.ends_with(&object), "{json}");
    }
}

#[test]
fn a_book_is_written_in_its_order_without_the_openings_that_the_expression_excludes() {
    let scratch = scratch();
    let call = |extra: &[&str]| {
        scratch.run(&[&["openings", "match.pgn", "--book", "book.epd"], extra].concat())
    };
    let rows = call(&["--tsv"]).out;
    let fens: Vec<&str> = rows.lines().skip(1).map(|row| row.split('\t').next().unwrap()).collect();
    assert_eq!(fens, [D4, E4]);
    let done = call(&["-o", "played.epd", "--where", "pairs >= 1 && draw_rate <= 0.9"]);
    assert_eq!((done.status, done.out.as_str()), (0, ""), "{}", done.err);
    assert!(done.err.contains("epdb: 1 opening of the book without games\n"), "{}", done.err);
    assert!(done.err.contains("epdb: 2 of 3 openings written\n"), "{}", done.err);
    let written = format!("{D4} id \"d4\";\n{E4} id \"e4\";\n");
    assert_eq!(scratch.text("played.epd"), written);
    call(&["-o", "played.epd", "--where", "2 <= pairs || id == 'c4'"]);
    assert_eq!(scratch.text("played.epd"), format!("{C4} id \"c4\";\n{E4} id \"e4\";\n"));
    // Without a book, the start positions are the openings.
    let done = scratch.run(&["openings", "match.pgn", "--to", "epd", "--where", "pairs == 2"]);
    assert_eq!(done.out, format!("{E4}\n"), "{}", done.err);
}

#[test]
fn a_game_from_the_start_has_the_last_opening_of_the_book_that_it_meets() {
    let scratch = scratch();
    let e4_e5 = "rnbqkbnr/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBNR w KQkq -";
    scratch.write("book.pgn", "1. e4 e5 *\n\n1. d4 *\n\n1. e4 *\n");
    let games = [
        game("A", "B", "1-0", None, "1. e4 e5 2. Nf3 Nc6"),
        game("B", "A", "1-0", None, "1. e4 e5 2. Bc4 Nc6"),
        game("A", "B", "1-0", None, "1. e4 c5 2. Nf3"),
        game("A", "B", "0-1", None, "1. c4 c5"),
    ];
    scratch.write("games.pgn", games.concat());
    let rows = |call: &[&str]| {
        let done = scratch.run(&[&["openings", "games.pgn", "--tsv"], call].concat());
        assert_eq!(done.status, 0, "{}", done.err);
        let row = |row: &str| row.split('\t').take(3).collect::<Vec<_>>().join(",");
        (done.out.lines().skip(1).map(row).collect::<Vec<_>>(), done.err)
    };
    let (found, notes) = rows(&["--book", "book.pgn"]);
    assert_eq!(found, [format!("{e4_e5},2,1"), format!("{E4},1,0"), format!("{START},1,0")]);
    assert!(notes.contains("epdb: 1 game with openings outside of the book\n"), "{notes}");
    assert_eq!(rows(&[]).0, [format!("{START},4,1")]);
    let refused = scratch.run(&["openings", "book.epd"]);
    assert_eq!(refused.status, 2, "{}", refused.err);
}

#[test]
fn without_games_nothing_is_printed() {
    let scratch = Scratch::with("empty.pgn", "");
    let done = scratch.run(&["openings", "empty.pgn"]);
    assert_eq!((done.status, done.out.as_str()), (0, ""), "{}", done.err);
}

//! Games on the command line: text and bytes, positions, archival order, `dump`.

use std::fs;

use crate::scratch::Scratch;

const GAMES: &str = "[Event \"b\"]\n[Date \"1992.11.04\"]\n[ECO \"C20\"]\n\n1. e4! {best} e5 (1... c5 2. Nf3) 2. Nf3 1-0\n\n\
[Event \"a\"]\n[Date \"1992.??.??\"]\n\n1.d4 d5 *\n";
const FIRST: &str = "[Event \"b\"]\n[Site \"?\"]\n[Date \"1992.11.04\"]\n[Round \"?\"]\n[White \"?\"]\n\
[Black \"?\"]\n[Result \"1-0\"]\n[ECO \"C20\"]\n\n1. e4 $1 {best} 1... e5 (1... c5 2. Nf3) 2. Nf3 1-0\n\n";
const SECOND: &str = "[Event \"a\"]\n[Site \"?\"]\n[Date \"1992.??.??\"]\n[Round \"?\"]\n[White \"?\"]\n\
[Black \"?\"]\n[Result \"*\"]\n\n1. d4 d5 *\n\n";

/// A scratch with a file `g.pgn` of two games.
fn scratch() -> Scratch {
    Scratch::with("g.pgn", GAMES)
}

#[test]
fn games_go_to_bytes_and_back() {
    let scratch = scratch();
    let done = scratch.run(&["convert", "g.pgn", "out.pgn"]);
    assert_eq!((done.status, done.err.as_str()), (0, ""));
    assert_eq!(scratch.text("out.pgn"), format!("{FIRST}{SECOND}"));
    assert_eq!(scratch.run(&["convert", "g.pgn", "g.pgc", "--ext"]).status, 0);
    let back = scratch.run(&["convert", "g.pgc", "-", "--to", "pgn"]);
    assert_eq!((back.status, back.out), (0, format!("{FIRST}{SECOND}")));

    let refused = scratch.run(&["convert", "g.pgn", "r.pgc", "--rejects", "r.pgn"]);
    assert_eq!(refused.status, 1);
    assert!(refused.err.contains("g.pgn:1:1: error[E-PGC-COMMENT]"), "{}", refused.err);
    assert!(GAMES.starts_with(&scratch.text("r.pgn")) && scratch.text("r.pgn").contains("{best}"));
    assert_eq!(scratch.run(&["count", "r.pgc"]).out, "1\n");
    let lossy = scratch.run(&["convert", "g.pgn", "l.pgc", "--lossy"]);
    assert_eq!((lossy.status, lossy.err.as_str()), (0, "epdb: 1 comment left out\n"));
    assert_eq!(scratch.run(&["count", "l.pgc"]).out, "2\n");
    assert_eq!(scratch.run_with(&["convert", "-", "-", "--to", "pgn"], GAMES).out, back_text());
}

fn back_text() -> String {
    format!("{FIRST}{SECOND}")
}

/// Each record of a suite is a game.
#[test]
fn a_suite_is_written_as_games() {
    let wac = "2rr3k/pp3pp1/1nnqbN1p/3pN3/2pP4/2P3Q1/PPB4P/R4RK1 w - -";
    let king = "8/8/8/8/8/4k3/4p3/4K3 w - -";
    let text = format!(
        "{wac} acd 4; acn 21146; am Qh4; bm Qg6; c0 \"by hand\"; ce 350; id \"WAC.001\"; pv Qg6 fxg6 Nxg6#;\n\
         {king} id \"stalemate\"; fmvn 40; hmvc 7;\n"
    );
    let scratch = Scratch::with("s.epd", text);
    let done = scratch.run(&["convert", "s.epd", "s.pgn"]);
    assert_eq!((done.status, done.err.as_str()), (0, ""));
    let roster = |event: &str| {
        format!(
            "[Event \"{event}\"]\n[Site \"?\"]\n[Date \"????.??.??\"]\n[Round \"?\"]\n[White \"?\"]\n\
             [Black \"?\"]\n[Result \"*\"]\n"
        )
    };
    let expected = format!(
        "{}[FEN \"{wac} 0 1\"]\n[SetUp \"1\"]\n\n\
         {{[%eval 3.50,4]}} {{by hand}} {{[%epd acn 21146;]}} 1. Qg6 $1 (1. Qh4 $2) 1... fxg6\n2. Nxg6# *\n\n\
         {}[FEN \"{king} 7 40\"]\n[SetUp \"1\"]\n\n*\n\n",
        roster("WAC.001"),
        roster("stalemate")
    );
    assert_eq!(scratch.text("s.pgn"), expected);
    let two = format!("{wac} bm Qg6 Qh4; pv Qh4 Bf5;\n");
    let written = scratch.run_with(&["convert", "-", "-", "--to", "pgn"], two).out;
    assert!(written.ends_with("\n1. Qh4 $1 (1. Qg6 $1) 1... Bf5 *\n\n"), "{written}");
    scratch.write("g.pgn", GAMES);
    scratch.run(&["tally", "g.pgn", "-o", "l.epa"]);
    let library = scratch.run(&["convert", "l.epa", "l.pgn"]);
    let advice = "`epdb search l.epa --where 'plies > 0' -o FILE.pgn`";
    assert!(library.status == 2 && library.err.contains(advice), "{}", library.err);
}

/// A suite comes back from its games. What a comment cannot hold is reported.
#[test]
fn a_suite_comes_back_from_games() {
    let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -";
    let fischer = "bqnb1rkr/pp3ppp/3ppn2/2p5/5P2/P2P4/NPP1P1PP/BQ1BNRKR w KQkq -";
    let lines = [
        format!("{start}\n"),
        format!("{start} bm Nf3 d4 e4; id \"a\";\n"),
        format!("{start} pv e4 e5 Nf3;\n"),
        format!("{start} pv e4;\n"),
        format!("{start} bm e4; pv e4;\n"),
        format!("{start} bm d4; pv e4;\n"),
        format!("{start} bm d4 e4; pv c4 e5 Nc3;\n"),
        format!("{start} acd 3; acn 9; acs 3; am f3 g4; ce -15; dm 4; eco \"C20\"; id \"?\";\n"),
        format!("{start} acd 3; ce 32700; hmvc 3;\n"),
        format!("{start} bm Qh8 e4; fmvn 1; hmvc 0;\n"),
        format!("{start} am Qh8; c0 \"am f3\"; c1 \"a {{ brace\"; c7 \"dm\";\n"),
        format!("{start} c0 \"\"; eco; resign; sm e4; solve_first 12;\n"),
        format!("{fischer} bm Nb4; fmvn 9; hmvc 2;\n"),
    ];
    let scratch = Scratch::with("s.epd", lines.concat());
    let written = scratch.run(&["convert", "s.epd", "s.pgn", "-q"]);
    assert_eq!((written.status, written.err.as_str()), (0, ""));
    let read = scratch.run(&["convert", "s.pgn", "back.epd", "--suite"]);
    assert_eq!((read.status, read.err.as_str()), (0, ""));
    assert_eq!(scratch.text("back.epd"), lines.concat());

    scratch.write(
        "s.epd",
        format!("{start} c0 \"a }} brace\"; c1 \"two  blanks\"; c2 \"]\"; c4 \"]\";\n"),
    );
    let written = scratch.run(&["convert", "s.epd", "s.pgn"]);
    let note = "epdb: games cannot hold 2 operations exactly; the first is c1 of s.epd:1\n";
    assert_eq!((written.status, written.err.as_str()), (0, note));
}

/// A program that saves the games again may join the comments before the first move.
#[test]
fn a_suite_comes_back_from_joined_comments() {
    let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -";
    let suite = format!(
        "{start} acd 17; acs 3001; am f3 g4; bm d4 e4; c0 \"why not\"; c1 \"1\"; c7 \"d4 e4\"; c8 \"10 9\"; \
         ce 68; dm 4; id \"STS.1\";\n"
    );
    let scratch = Scratch::with("s.epd", &suite);
    scratch.run(&["convert", "s.epd", "s.pgn"]);
    let joined = scratch.text("s.pgn").replace("} {", " ").replace("}\n{", "\n");
    assert_eq!(joined.matches('{').count(), 1);
    for text in [joined.clone(), joined.replace("{[%eval", "{by me [%eval").replace("why not", "")]
    {
        scratch.write("j.pgn", &text);
        let done = scratch.run(&["convert", "j.pgn", "-", "--to", "epd", "--suite"]);
        let wanted = if text == joined { suite.clone() } else { suite.replace("why not", "by me") };
        assert_eq!((done.out, done.err.as_str()), (wanted, ""));
    }
    scratch.write("bad.pgn", joined.replace(";]", ";"));
    let bad = scratch.run(&["convert", "bad.pgn", "-", "--to", "epd", "--suite"]);
    assert!(bad.err.contains("1 game with a comment [%epd ...] that is not EPD"), "{}", bad.err);
}

/// Problems of others mark the best first moves or none.
#[test]
fn games_are_read_as_problems() {
    let mate = "[Event \"Mate \\\"1\\\"\"]\n[FEN \"6k1/5ppp/8/8/8/8/8/R3R1K1 w - - 3 20\"]\n[SetUp \"1\"]\n\n";
    let problems = [
        ("1. Ra8# (1. Re8# {too}) *", "bm Ra8# Re8#;", ""),
        (
            "{White wins} {dm 1} 1. Ra8+!! {x} (1. Kf2 g6 (1... h6) 2. Kf3!) *",
            "bm Ra8#; c0 \"White wins\"; dm 1;",
            " pv Kf2 g6 Kf3;",
        ),
        ("{am I right?} 1. Ra8+! *", "bm Ra8#; c0 \"am I right?\";", ""),
        ("1. Re8# (1. Kf2 h6 (1... g6 2. Re8+!) 2. Re8+!) *", "bm Kf2 Re8#;", " pv Kf2 h6 Re8+;"),
        // Refuted moves are neither best moves nor the line.
        ("1. Re8# (1. Kf2?) (1. Kf1 $4 h6 2. Re8#) (1. Ra8#) *", "am Kf1 Kf2; bm Ra8# Re8#;", ""),
        ("1. Kf2?! h6 (1... g6) *", "am Kf2;", ""),
        ("{am Kf1 Kh1} 1. Re8#!! (1. Kf2??) *", "am Kf1 Kf2 Kh1; bm Re8#;", ""),
        ("1. Kf2 $6 (1. Re8#! Kf8 2. Kf1) *", "am Kf2; bm Re8#;", ""),
        ("-- *", "", ""),
    ];
    for (moves, operations, pv) in problems {
        let scratch = Scratch::with("p.pgn", format!("{mate}{moves}\n"));
        let read = scratch.run(&["convert", "p.pgn", "-", "--to", "epd", "--suite"]);
        let line = "6k1/5ppp/8/8/8/8/8/R3R1K1 w - - ";
        let mut all: Vec<String> =
            ["fmvn 20;", "hmvc 3;", "id \"Mate ''1''\";"].map(String::from).into();
        all.extend(
            operations
                .split_inclusive(';')
                .map(|it| it.trim().to_string())
                .filter(|it| !it.is_empty()),
        );
        all.sort();
        assert_eq!(
            (read.out, read.status),
            (format!("{line}{}{pv}\n", all.join(" ")), 0),
            "{moves}"
        );
    }
    let scratch = Scratch::with("s.epd", "4k3/8/8/8/8/8/4P3/4K3 w - - bm e4;\n");
    let refused = scratch.run(&["convert", "s.epd", "b.epd", "--suite"]);
    assert!(refused.status == 2 && refused.err.contains("games are needed"), "{}", refused.err);
    let refused = scratch.run(&["convert", "s.epd", "b.pgn", "--suite"]);
    assert!(
        refused.status == 2 && refused.err.contains("--suite writes records"),
        "{}",
        refused.err
    );
}

#[test]
fn null_moves_stay_in_games_and_end_their_positions() {
    let text =
        "[Event \"a\"]\n\n1. e4 -- 2. d4 (2. -- e5) 2... d5 1-0\n\n[Event \"b\"]\n\n1. d4 *\n\n";
    let scratch = Scratch::with("g.pgn", text);
    let done = scratch.run(&["convert", "g.pgn", "n.pgn"]);
    assert_eq!((done.status, done.err.as_str()), (0, ""));
    assert!(scratch.text("n.pgn").contains("\n1. e4 -- 2. d4 (2. -- e5) 2... d5 1-0\n"));
    assert_eq!(scratch.run(&["convert", "g.pgn", "n.pgc", "--ext"]).status, 0);
    let back = scratch.run(&["convert", "n.pgc", "-", "--to", "pgn"]).out;
    assert_eq!(back, scratch.text("n.pgn"));
    let refused = scratch.run(&["convert", "g.pgn", "p.pgc", "--rejects", "r.pgn"]);
    assert_eq!(refused.status, 1);
    assert!(refused.err.contains("error[E-PGC-NULL]"), "{}", refused.err);
    assert!(text.starts_with(&scratch.text("r.pgn")) && scratch.text("r.pgn").contains("--"));
    assert_eq!(scratch.run(&["count", "p.pgc"]).out, "1\n");

    let done = scratch.run(&["convert", "g.pgn", "g.epd", "--variations"]);
    assert!(done.err.contains("5 positions after null moves left out"), "{}", done.err);
    assert_eq!(scratch.text("g.epd").lines().count(), 4);
    let done = scratch.run(&["tally", "g.pgn", "-o", "l.epa", "--keep-games", "2"]);
    assert!(done.err.contains("2 games counted; 2 plies, 3 positions"), "{}", done.err);
    assert!(done.err.contains("1 game counted up to the first null move"), "{}", done.err);
    let kept = scratch.run(&["games", "l.epa", "e4", "-o", "-"]).out;
    assert!(kept.contains("\n1. e4 -- 2. d4 d5 1-0\n"), "{kept}");
    assert_eq!(scratch.run(&["verify", "l.epa"]).status, 0);
    let stats = scratch.run(&["stats", "g.pgn"]).out;
    assert!(stats.lines().any(|line| line.starts_with("null moves ") && line.ends_with(" 2")));
    assert_eq!(scratch.run(&["sort", "g.pgn"]).out, scratch.text("n.pgn"));
    assert!(scratch.run(&["tfgg", "g.pgn"]).out.contains("\n1. e4 -- 2. d4 d5 1-0\n"));
    let long = scratch.run(&["filter", "g.pgn", "--games", "--where", "plies == 4"]).out;
    assert!(long.contains("\n1. e4 -- ") && !long.contains("1. d4 *"), "{long}");
}

#[test]
fn tfgg_writes_the_reduced_export_format() {
    let scratch = scratch();
    let done = scratch.run(&["tfgg", "g.pgn"]);
    assert!(done.out.contains("[Result \"1-0\"]\n\n1. e4 e5 2. Nf3 1-0\n\n"), "{}", done.out);
    assert!(done.err.contains("1 tag left out") && done.err.contains("1 variation left out"));
    assert_eq!(scratch.run(&["convert", "g.pgn", "-", "--to", "pgn", "--reduced"]).out, done.out);
    // What is within variations counts too.
    scratch.write("v.pgn", "1. e4 {a} (1. d4 $1 {b} (1. c4 {c}) 1... d5 $2) 1... e5 *\n");
    let done = scratch.run(&["convert", "v.pgn", "w.pgn", "--reduced"]);
    let losses = "epdb: 3 comments left out\nepdb: 2 NAGs left out\nepdb: 2 variations left out\n";
    assert!(done.err.ends_with(losses), "{}", done.err);
}

#[test]
fn sort_is_in_archival_order() {
    let scratch = scratch();
    assert_eq!(scratch.run(&["sort", "g.pgn"]).out, format!("{SECOND}{FIRST}"));
    assert_eq!(scratch.run(&["sort", "g.pgn", "-o", "s.pgc", "--ext"]).status, 0);
    let sorted = scratch.run(&["convert", "s.pgc", "-", "--to", "pgn"]).out;
    assert_eq!(sorted, format!("{SECOND}{FIRST}"));
}

#[test]
fn positions_come_out_of_games() {
    let scratch = scratch();
    scratch.run(&["convert", "g.pgn", "g.pgc", "--ext"]);
    for source in ["g.pgn", "g.pgc"] {
        let done = scratch.run(&["convert", source, "-", "--to", "epd", "--positions=final"]);
        let wanted = "rnbqkbnr/pppp1ppp/8/4p3/4P3/5N2/PPPP1PPP/RNBQKB1R b KQkq - fmvn 2; hmvc 1;\n\
rnbqkbnr/ppp1pppp/8/3p4/3P4/8/PPP1PPPP/RNBQKBNR w KQkq d6 fmvn 2; hmvc 0;\n";
        assert_eq!((done.status, done.out.as_str()), (0, wanted), "{source}: {}", done.err);
    }
    let tags = ["--game-openings", "--game-tags"];
    let done = scratch.run(&[&["normalize", "g.pgn", "--positions=1..1"], &tags[..]].concat());
    assert_eq!(
        done.out.lines().next().unwrap(),
        "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq e3 eco \"C20\"; fmvn 1; hmvc 0; \
         ptp Event \"b\" Date \"1992.11.04\" Result \"1-0\" ECO \"C20\"; sm e5;"
    );
    assert_eq!(scratch.run(&["normalize", "g.pgn"]).out.lines().count(), 7);
    assert_eq!(scratch.run(&["count", "g.pgn"]).out, "2\n");
    assert_eq!(scratch.run(&["count", "g.pgn", "--positions=all"]).out, "7\n");
    assert_eq!(scratch.run(&["import", "g.epdb", "g.pgn", "g.pgc"]).status, 0);
    assert_eq!(scratch.run(&["count", "g.epdb"]).out, "14\n");
    let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -";
    assert_eq!(scratch.run(&["get", "g.epdb", start]).out.lines().count(), 4);
}

/// Three games whose tags say something, the second with variations.
const TAGGED: &str = "[Event \"Linares\"]\n[Date \"1993.02.??\"]\n[White \"Kasparov, Garry\"]\n\
[Black \"Karpov, Anatoly\"]\n[WhiteElo \"2805\"]\n[BlackElo \"2725\"]\n\n1. e4 e5 1-0\n\n\
[Event \"Blitz\"]\n[Date \"2020.05.01\"]\n[White \"Anna\"]\n[Black \"Kasparov, Garry\"]\n\
[WhiteElo \"?\"]\n[BlackElo \"2801\"]\n[TimeControl \"180+2\"]\n\n\
1. f3 e5 2. g4 (2. e4 Nc6) (2. a3) Qh4# 0-1\n\n\
[Event \"Linares\"]\n[Date \"1994.??.??\"]\n[White \"Anna\"]\n[Black \"Bert\"]\n\n1. d4 *\n";

/// Lichess writes draw offers before or after its evaluations and clocks.
#[test]
fn offers_of_a_draw_do_not_disturb_a_game() {
    let game = "1. e4 { [%eval 0.2] [%clk 0:01:00] } { White offers draw } 1... e5 { Black offers draw } \
        { [%eval 0.3] } 2. Nf3 { White offers draw [%eval -0.1] } 1/2-1/2\n";
    let scratch = Scratch::with("g.pgn", game);
    let done = scratch.run(&["convert", "g.pgn", "-", "--to", "epd", "--game-evals"]);
    let scores: Vec<Option<&str>> = (done.out.lines())
        .map(|line| Some(line.split_once(" ce ")?.1.split_once(';')?.0))
        .collect();
    assert_eq!(scores, [None, Some("-20"), Some("30"), Some("10")], "{}", done.out);
    let written = scratch.run(&["convert", "g.pgn", "-", "--to", "pgn"]).out;
    assert_eq!(written.matches("offers").count(), 3, "{written}");
    assert_eq!(scratch.run(&["count", "g.pgn"]).out, "1\n");
}

fn tagged() -> Scratch {
    let scratch = Scratch::with("t.pgn", TAGGED);
    assert_eq!(scratch.run(&["convert", "t.pgn", "t.pgc"]).status, 0);
    scratch
}

/// Tags are typed fields of games and of their positions, in text and in bytes.
#[test]
fn tags_are_fields_wherever_games_are_read() {
    let scratch = tagged();
    for source in ["t.pgn", "t.pgc"] {
        for (expression, games, positions) in [
            ("White ~ 'Kasparov'", 1, 3),
            ("Black ~ 'Kasparov' && has(speed)", 1, 5),
            ("WhiteElo > 2800", 1, 3),
            ("elo_min >= 2725", 1, 3),
            ("Date < '1994'", 1, 3),
            ("Date < '1994.06'", 1, 3),
            ("year >= 1994", 2, 7),
            ("speed == 'blitz'", 1, 5),
            ("result == '1-0'", 1, 3),
            ("Event in ['Linares']", 2, 5),
            ("plies == 1", 1, 2),
        ] {
            let count = |rest: &[&str]| {
                let args = [&["filter", source, "--where", expression, "--count"], rest].concat();
                let done = scratch.run(&args);
                assert_eq!((done.status, done.err.contains("error")), (0, false), "{}", done.err);
                done.out
            };
            assert_eq!(count(&[]), format!("{games}\n"), "{source}: {expression}");
            let of_positions = count(&["--positions"]);
            assert_eq!(of_positions, format!("{positions}\n"), "{source}: {expression}");
            let counted = scratch.run(&["count", source, "--where", expression]).out;
            assert_eq!(counted, format!("{games}\n"), "{source}: {expression}");
        }
        let mates = scratch.run(&["filter", source, "--games", "--where", "mate", "--count"]).out;
        assert_eq!(mates, "1\n", "the last position of a game is asked");
        let columns = ["--columns", "White,BlackElo,Date,result,year", "--games"];
        let table = scratch.run(&[&["table", source], &columns[..]].concat()).out;
        assert_eq!(
            table,
            "White\tBlackElo\tDate\tresult\tyear\nKasparov, Garry\t2725\t1993.02.??\t1.0\t1993\n\
             Anna\t2801\t2020.05.01\t0.0\t2020\nAnna\t\t1994.??.??\t\t1994\n"
        );
        let json = ["--columns", "White,BlackElo,result,Date", "--json", "--positions=final"];
        let json = scratch.run(&[&["table", source], &json[..]].concat()).out;
        assert!(
            json.starts_with(
                "{\"White\":\"Kasparov, Garry\",\"BlackElo\":2725,\"result\":1.0,\"Date\":\"1993.02.??\"}\n"
            ),
            "{json}"
        );
        let stats = scratch.run(&["stats", source, "--where", "year < 2000"]).out;
        assert!(stats.contains(&format!("{:<34}{:>14}\n", "games", 2)), "{stats}");
        let sorted = ["sort", "--by=-WhiteElo,White,Date", source, "--positions=0"];
        assert_eq!(scratch.run(&sorted).out.lines().count(), 3);
    }
    assert_eq!(scratch.run(&["import", "t.epdb", "t.pgn", "--where", "WhiteElo > 0"]).status, 0);
    assert_eq!(scratch.run(&["count", "t.epdb"]).out, "3\n");
}

/// A game that is written is what `convert` writes.
#[test]
fn games_are_shaped_as_games() {
    let scratch = tagged();
    scratch.write("two.pgn", format!("{TAGGED}\n{TAGGED}"));
    let convert = |file: &str| scratch.run(&["convert", file, "-", "--to", "pgn"]).out;
    let all = convert("t.pgn");
    let games: Vec<String> =
        all.split_inclusive("\n\n").collect::<Vec<_>>().chunks(2).map(|it| it.concat()).collect();
    let [first, second, third] = &games[..] else { panic!("{games:?}") };
    let write = |args: &[&str]| {
        let done = scratch.run(&[args, &["-o", "out.pgn"]].concat());
        assert_eq!(done.status, 0, "{args:?}: {}", done.err);
        for also in [&[][..], &["--games"]] {
            let printed = scratch.run(&[args, also].concat());
            assert_eq!(printed.out, scratch.text("out.pgn"), "{args:?} {also:?}");
        }
        scratch.text("out.pgn")
    };
    assert_eq!(write(&["cat", "t.pgn", "t.pgn"]), format!("{all}{all}"));
    assert_eq!(write(&["filter", "t.pgn", "--where", "mate"]), *second);
    assert_eq!(
        write(&["filter", "t.pgn", "--where", "mate", "--invert"]),
        format!("{first}{third}")
    );
    assert_eq!(write(&["head", "-n", "2", "t.pgn"]), format!("{first}{second}"));
    assert_eq!(
        write(&["head", "-n", "9", "t.pgn", "--where", "year > 1993"]),
        format!("{second}{third}")
    );
    assert_eq!(write(&["sort", "--by", "White,Date", "t.pgn"]), format!("{third}{second}{first}"));
    assert_eq!(write(&["sort", "--by=-pieces,plies", "t.pgn"]), format!("{third}{first}{second}"));
    assert_eq!(write(&["sample", "-n", "9", "two.pgn"]), format!("{all}{all}"));
    let tenth = write(&["sample", "--fraction", "0.5", "--seed", "3", "two.pgn"]);
    assert!(tenth.len() < 2 * all.len());
    let shuffled = write(&["shuffle", "--seed", "1", "two.pgn"]);
    assert_eq!(write(&["shuffle", "--seed", "1", "two.pgn", "--memory", "1K"]), shuffled);
    assert_eq!(shuffled.len(), 2 * all.len());
    assert_ne!(shuffled, format!("{all}{all}"));
    assert_eq!(scratch.run(&["head", "-n", "1", "t.pgn", "-o", "h.pgc"]).status, 0);
    assert_eq!(convert("h.pgc"), *first);
    let bytes = scratch.run(&["head", "-n", "1", "--games", "t.pgn", "--to", "pgc"]);
    assert_eq!(bytes.out.as_bytes(), String::from_utf8_lossy(&scratch.read("h.pgc")).as_bytes());
    assert_eq!(scratch.run(&["head", "-n", "1", "t.pgn", "--positions"]).out.lines().count(), 1);

    for refused in [
        &["head", "--games", "t.pgn", "-o", "x.epd"][..],
        &["cat", "t.pgn", "-o", "x.pgn", "--positions=all"],
        &["dedupe", "t.pgn", "-o", "x.pgn", "--by", "board"],
        &["dedupe", "t.pgn", "--by", "moves", "--positions"],
        &["head", "t.pgn", "--counters", "fen"],
        &["table", "t.pgn", "--columns", "fen", "--rows", "moves"],
        &["dedupe", "t.pgn", "-o", "x.pgn", "--deny-conflicts"],
        &["split", "t.pgn", "--ratio", "1:1", "--by-position", "-o", "x%d.pgn"],
    ] {
        let done = scratch.run(refused);
        assert_eq!((done.status, done.out.as_str()), (2, ""), "{refused:?}: {}", done.err);
    }
    assert!(!scratch.names().iter().any(|name| name.starts_with('x')), "{:?}", scratch.names());
}

#[test]
fn games_are_deduped_and_split() {
    let scratch = Scratch::new();
    let game = |white: &str, year: u32, moves: &str| {
        format!(
            "[Event \"E/{year}\"]\n[Date \"{year}.??.??\"]\n[White \"{white}\"]\n\n{moves} 1-0\n\n"
        )
    };
    let games = [
        game("a", 2000, "1. e4"),
        game("b", 2000, "1. e4"),
        game("a", 2000, "1. e4 {again} (1. d4)"),
        game("a", 2001, "1. e4"),
        game("a", 2000, "1. e4"),
        game("a", 2000, "1. d4"),
    ];
    scratch.write("g.pgn", games.concat());
    for memory in ["1K", "1M"] {
        for (by, kept) in [("moves", 2), ("players", 4), ("exact", 5)] {
            let done =
                scratch.run(&["dedupe", "g.pgn", "--by", by, "-o", "d.pgn", "--memory", memory]);
            assert_eq!(done.status, 0, "{}", done.err);
            let nouns = if kept == 5 { "duplicate" } else { "duplicates" };
            let told = format!("epdb: 6 games read, {} {nouns} left out\n", 6 - kept);
            assert!(done.err.ends_with(&told), "{}", done.err);
            assert_eq!(scratch.run(&["count", "d.pgn"]).out, format!("{kept}\n"), "{by}");
        }
    }
    scratch.run(&["dedupe", "g.pgn", "-o", "d.pgn"]);
    scratch.run(&["union", "g.pgn", "g.pgn", "-o", "u.pgn"]);
    assert_eq!(scratch.run(&["count", "d.pgn", "u.pgn"]).out, "8\n");
    assert_eq!(scratch.text("u.pgn"), scratch.text("d.pgn"));

    let all = scratch.run(&["convert", "g.pgn", "-", "--to", "pgn"]).out;
    let done = scratch.run(&["split", "--lines", "4", "g.pgn", "-o", "p%d.pgn"]);
    assert_eq!(done.err, "epdb: 4 games to p1.pgn\nepdb: 2 games to p2.pgn\n");
    assert_eq!(scratch.text("p1.pgn") + &scratch.text("p2.pgn"), all);
    let done = scratch.run(&["split", "--lines", "6", "g.pgn", "-o", "p%d.pgn"]);
    assert!(done.err.contains("left of an earlier split: 1 file, from p2.pgn on"), "{}", done.err);
    let done = scratch.run(&["split", "--by", "Event", "g.pgn", "-o", "by-%s.pgn"]);
    assert_eq!(done.err, "epdb: 5 games to by-E%2F2000.pgn\nepdb: 1 game to by-E%2F2001.pgn\n");
    assert_eq!(scratch.run(&["count", "by-E%2F2000.pgn"]).out, "5\n");
    assert_eq!(
        scratch.run(&["split", "--ratio", "1:1", "g.pgn", "-o", "r%d.pgc", "--ext"]).status,
        0
    );
    assert_eq!(scratch.run(&["count", "r1.pgc", "r2.pgc"]).out, "6\n");
}

/// A folder that a pattern names is made, also where no value is part of its name.
#[test]
fn folders_of_the_parts_are_made() {
    let scratch = tagged();
    let by = ["split", "t.pgn", "--by", "Event", "-o", "made/events/%s.pgn"];
    let numbered = ["split", "t.pgn", "--lines", "1", "-o", "made/parts/%d.pgn"];
    for call in [&by, &numbered] {
        let done = scratch.run(call);
        assert_eq!(done.status, 0, "{}", done.err);
    }
    assert!(scratch.path("made/events").is_dir() && scratch.path("made/parts/1.pgn").is_file());
}

#[test]
fn archives_are_named_by_dates() {
    let scratch = Scratch::new();
    let game = |date: &str| format!("[Date \"{date}\"]\n\n1. e4 *\n\n");
    let dates =
        ["1993.04.??", "1993.??.??", "199?.??.??", "????.??.??", "1993.04.17", "1993.11.02"];
    let with_utc = "[Date \"????.??.??\"]\n[UTCDate \"2019.05.04\"]\n\n1. e4 *\n\n";
    scratch.write("g.pgn", dates.map(game).concat() + "1. d4 *\n\n" + with_utc);
    let split = |by: &[&str], names: &str| {
        let by = by.iter().flat_map(|by| ["--by", *by]);
        let args: Vec<&str> = ["split", "g.pgn", "-o", names].into_iter().chain(by).collect();
        let done = scratch.run(&args);
        assert_eq!(done.status, 0, "{}", done.err);
        let told = done.err.lines().map(|line| {
            let (count, name) = line.split_once(" to ").unwrap();
            let count = count.trim_start_matches("epdb: ").split(' ').next().unwrap();
            format!("{name} {count}")
        });
        told.collect::<Vec<_>>().join(", ")
    };
    assert_eq!(split(&["year"], "y%s.pgn"), "y0000.pgn 2, y1990.pgn 1, y1993.pgn 4, y2019.pgn 1");
    assert_eq!(
        split(&["month"], "%s.pgn"),
        "000000.pgn 2, 199000.pgn 1, 199300.pgn 1, 199304.pgn 2, 199311.pgn 1, 201905.pgn 1"
    );
    assert_eq!(split(&["day"], "d%s.pgn").matches("d19930417.pgn 1").count(), 1);
    let by_date = split(&["Date"], "on %s.pgn");
    assert!(by_date.starts_with("on 0000.00.00.pgn 3, on 1990.00.00.pgn 1"), "{by_date}");
    let nested = split(&["year", "month"], "o/%s/%s.pgn");
    assert!(nested.ends_with("o/1993/199311.pgn 1, o/2019/201905.pgn 1"), "{nested}");
    assert_eq!(scratch.run(&["count", "o/1993/199304.pgn"]).out, "2\n");
    for (by, names) in [("year", "%s-%s.pgn"), ("year", "%s%d.pgn"), ("year", "%s%%.pgn")] {
        assert_eq!(scratch.run(&["split", "g.pgn", "--by", by, "-o", names]).status, 2, "{names}");
    }
    // As fields the parts are numbers, and missing where they are not known.
    for (condition, count) in
        [("month == 4", 2), ("day == 17", 1), ("month >= 1", 4), ("month == 5 && year == 2019", 1)]
    {
        let done = scratch.run(&["count", "g.pgn", "--where", condition]);
        assert_eq!((done.status, done.out), (0, format!("{count}\n")), "{condition}");
    }
}

/// Missing names are reported, and meaningless options are refused.
#[test]
fn an_unknown_name_is_reported_once() {
    let scratch = tagged();
    scratch.write("a.epd", "7k/8/8/8/8/8/8/K7 w - - Depth 9;\n7k/8/8/8/8/8/8/K7 b - -\n");
    let done = scratch.run(&["filter", "a.epd", "--where", "White ~ 'Kasparov'", "--count"]);
    assert_eq!((done.status, done.out.as_str()), (0, "0\n"));
    assert_eq!(done.err, "epdb: no record has `White`\n");
    let done = scratch.run(&["table", "a.epd", "--columns", "Depth,Nobody,bm"]);
    assert_eq!(done.err, "epdb: no record has `Nobody`\nepdb: no record has `bm`\n");
    for of_games in [
        &["count", "t.pgn", "--where", "Nobody == 'x'"][..],
        &["table", "t.pgn", "--columns", "Nobody"],
        &["sort", "t.pgn", "--by", "Nobody"],
        &["split", "t.pgn", "--by", "Nobody", "-o", "%s.pgn"],
    ] {
        let done = scratch.run(of_games);
        assert!(done.err.contains("epdb: no game has `Nobody`\n"), "{of_games:?} {}", done.err);
    }
    assert_eq!(scratch.run(&["sort", "a.epd", "--by", "Depth"]).err, "");
    let done = scratch.run(&["table", "a.epd", "--columns", "fe"]);
    assert_eq!((done.status, done.out.as_str()), (2, ""));
    assert!(done.err.contains("unknown field `fe`: did you mean `fen`?"), "{}", done.err);
    let done = scratch.run(&["sort", "t.pgn", "--by", "date"]);
    assert!(done.err.contains("did you mean `Date`?"), "{}", done.err);
    let done = scratch.run(&["filter", "t.pgn", "--where", "Whte ~ 'x'"]);
    assert!(done.status == 2 && done.err.contains("did you mean `White`?"), "{}", done.err);
}

#[test]
fn positions_of_variations_are_counted_or_taken() {
    let scratch = tagged();
    scratch.run(&["convert", "t.pgn", "e.pgc", "--ext"]);
    for source in ["t.pgn", "e.pgc"] {
        let take = |rest: &[&str]| scratch.run(&[&["normalize", source], rest].concat());
        let left = |read: u32, count: &str| {
            format!(
                "epdb: {read} positions of 3 games\n\
                 epdb: {count} of variations left out; --variations reads them\n"
            )
        };
        let done = take(&[]);
        assert_eq!((done.out.lines().count(), done.err), (10, left(10, "3 positions")));
        let done = take(&["--variations"]);
        assert_eq!(done.out.lines().count(), 13);
        assert_eq!(done.err, "epdb: 13 positions of 3 games\n");
        let moves: Vec<&str> = done
            .out
            .lines()
            .map(|line| line.split_once("sm ").map_or("-", |(_, mv)| mv.trim_end_matches(';')))
            .collect();
        let wanted = ["e4", "e5", "-", "f3", "e5", "g4", "Nc6", "-", "-", "Qh4#", "-", "d4", "-"];
        assert_eq!(moves, wanted, "{source}");
        let done = take(&["--positions=4"]);
        assert!(done.err.contains("epdb: 1 position of variations left out"), "{}", done.err);
        assert_eq!(take(&["--positions=4", "--variations"]).out.lines().count(), 2);
        assert_eq!(take(&["--positions=final"]).err, left(3, "2 positions"));
        assert_eq!(take(&["--positions=final", "--variations"]).out.lines().count(), 5);
        assert!(!take(&["--positions=..2"]).err.contains("left out"));
    }
}

#[test]
fn a_bad_game_is_reported_with_its_place_and_the_next_is_read() {
    let scratch = Scratch::with("g.pgn", format!("1. Ke3 e5 *\n\n{GAMES}"));
    let done = scratch.run(&["convert", "g.pgn", "out.pgn", "--rejects", "r.pgn"]);
    assert_eq!(done.status, 1);
    assert!(done.err.contains("g.pgn:1:4: error[E-MOVE-ILLEGAL]: `Ke3`"), "{}", done.err);
    assert!(done.err.contains("(ply 1)"), "{}", done.err);
    assert_eq!(scratch.text("r.pgn"), "1. Ke3 e5 *\n\n");
    assert_eq!(scratch.text("out.pgn"), format!("{FIRST}{SECOND}"));
    assert_eq!(scratch.run(&["convert", "g.pgn", "out.pgn", "--allow-rejects"]).status, 0);
    assert!(done.err.ends_with("\n2 games, 1 rejected\n"), "{}", done.err);
    let large = scratch.run(&["count", "g.pgn", "--max-game", "10"]);
    assert_eq!(large.status, 1);
    assert!(
        large.err.contains("more than 10 bytes; --max-game reads larger ones"),
        "{}",
        large.err
    );
}

#[test]
fn bytes_are_explained_and_verified() {
    let scratch = scratch();
    scratch.run(&["convert", "g.pgn", "g.pgc", "--ext"]);
    let done = scratch.run(&["dump", "g.pgc"]);
    for line in [
        "00000024  05                                                game 1 begins",
        "tag Event \"b\"",
        "03 01 0d                                          1 move: 1. e4",
        "07 01                                             NAG $1",
        "escape \"pgcx:c:best\"",
        "08                                                variation begins",
        "2 moves: 1... c5 2. Nf3",
        "Result \"*\", 2 moves: 1. d4 d5",
    ] {
        assert!(done.out.contains(line), "{line}: {}", done.out);
    }
    assert_eq!(
        scratch.run(&["verify", "g.pgc", "g.pgn"]).out,
        "g.pgc: no damage found\ng.pgn: no damage found\n"
    );
    // The note about missing checksums.
    scratch.run(&["convert", "g.pgn", "plain.pgc", "--lossy"]);
    let done = scratch.run(&["verify", "plain.pgc"]);
    let told = "plain.pgc: no damage found\nplain.pgc: 2 games without a checksum; PGC has none of its own, ";
    assert!(done.status == 0 && done.out.starts_with(told), "{}", done.out);
    assert_eq!(scratch.run(&["verify", "--profile", "strict", "g.pgn"]).status, 1);
    let mut bytes = scratch.read("g.pgc");
    let length = bytes.len();
    bytes[length - 1] = 0xff;
    scratch.write("bad.pgc", &bytes);
    let done = scratch.run(&["verify", "bad.pgc"]);
    assert_eq!((done.status, done.out.as_str()), (1, "bad.pgc: damaged, 1 not read\n"));
    let place = format!("bad.pgc:2:{0}: error[E-PGC-ORDINAL]: byte {0}:", length - 1);
    assert!(done.err.contains(&place), "{}", done.err);
    // Another legal move: only the checksum shows the change.
    bytes[length - 1] = 0x0b;
    scratch.write("bad.pgc", &bytes);
    let done = scratch.run(&["verify", "bad.pgc"]);
    assert_eq!((done.status, done.out.as_str()), (1, "bad.pgc: damaged, 1 not read\n"));
    assert!(done.err.contains("error[E-PGC-CHECKSUM]"), "{}", done.err);
}

/// The fenced blocks of a page that are marked with a word.
fn blocks<'p>(page: &'p str, mark: &str) -> Vec<&'p str> {
    let fence = format!("```{mark}\n");
    page.split(fence.as_str()).skip(1).map(|rest| rest.split_once("```").unwrap().0).collect()
}

/// The worked dumps of games in `formats/notes/examples.md`.
#[test]
fn dumps_of_the_format_page_are_those_of_the_program() {
    let page = include_str!("../../formats/notes/examples.md");
    let (_, page) = page.split_once("## 6. Games").unwrap();
    let (games, dumps) = (blocks(page, "pgn"), blocks(page, "dump"));
    assert_eq!((games.len(), dumps.len()), (4, 4));
    for (number, (game, dump)) in games.into_iter().zip(dumps).enumerate() {
        let scratch = Scratch::with("g.pgn", game);
        let args = ["convert", "g.pgn", "g.pgc", "--ext"];
        let args = if number == 0 { &args[..3] } else { &args };
        assert_eq!(scratch.run(args).status, 0, "{game}");
        assert_eq!(scratch.run(&["dump", "g.pgc"]).out, dump, "{game}");
    }
}

#[test]
fn stats_count_games() {
    let scratch = scratch();
    let text = scratch.run(&["stats", "g.pgn"]).out;
    for (name, count) in
        [("games", 2), ("  1-0", 1), ("plies", 5), ("variations", 1), ("tag ECO", 1)]
    {
        assert!(text.contains(&format!("{name:<34}{count:>14}\n")), "{name}: {text}");
    }
    let json = scratch.run(&["stats", "g.pgn", "--json"]).out;
    assert!(json.starts_with("{\"games\":2,\"white_wins\":1,"), "{json}");
    let positions = scratch.run(&["stats", "g.pgn", "--positions=all", "--json"]).out;
    assert!(positions.starts_with("{\"records\":7,"), "{positions}");
    scratch.write("empty.pgn", "");
    let json = scratch.run(&["stats", "empty.pgn", "--json"]).out;
    assert!(json.starts_with("{\"games\":0,"), "{json}");
    let json = scratch.run(&["stats", "empty.pgn", "--positions=all", "--json"]).out;
    assert!(json.starts_with("{\"records\":0,"), "{json}");
}

#[test]
fn characters_and_languages_are_chosen() {
    let scratch = Scratch::with("g.pgn", "[White \"\u{141}\u{f3}d\"]\n\n1. Sf3 *\n");
    let german = ["--language", "german"];
    let args = |rest: &[&'static str]| [&["convert", "g.pgn"], rest, &german].concat();
    let refused = scratch.run(&args(&["g.pgc"]));
    assert_eq!(refused.status, 1);
    assert!(refused.err.contains("E-PGC-CHARSET"), "{}", refused.err);
    assert_eq!(scratch.run(&args(&["g.pgc", "--translit"])).status, 0);
    assert!(scratch.read("g.pgc").windows(4).any(|part| part == b"\x03?\xf3d"));
    scratch.run(&args(&[
        "l.pgn",
        "--to-charset",
        "latin-1",
        "--translit",
        "--to-language",
        "french",
    ]));
    let text = scratch.read("l.pgn");
    assert!(text.windows(9).any(|part| part == b"\"?\xf3d\"]\n[B"));
    assert!(text.ends_with(b"1. Cf3 *\n\n"));
}

#[test]
fn figurines_are_written_and_read() {
    let moves = "1. e4 d5 2. exd5 Nf6 3. Bb5+ c6 4. dxc6 Qb6 5. cxb7+ Kd8 6. bxa8=Q (6. bxc8=R+ \
                 Kxc8) 6... Nd5 7. Nf3 Nc3 8. O-O -- *";
    let fan = "1. e4 d5 2. exd5 ♘f6 3. ♗b5+ c6 4. dxc6 ♕b6 5. cxb7+ ♔d8 6. bxa8=♕ (6. bxc8=♖+ ♔xc8) \
               6... ♘d5 7. ♘f3 ♘c3 8. O-O -- *";
    let scratch = Scratch::with("g.pgn", moves);
    let args = ["convert", "g.pgn", "f.pgn", "--to-language", "figurine"];
    let done = scratch.run(&args);
    assert_eq!((done.status, done.err.as_str()), (0, ""));
    let written = scratch.text("f.pgn");
    let (_, movetext) = written.split_once("\n\n").unwrap();
    assert_eq!(movetext.split_whitespace().collect::<Vec<_>>().join(" "), fan);
    assert!(written.lines().all(|line| line.chars().count() <= 79), "{written}");
    for language in ["english", "figurine", "german"] {
        let back = ["convert", "f.pgn", "-", "--to", "pgn", "--language", language];
        let back = scratch.run(&back);
        assert_eq!(back.status, 0, "{language}: {}", back.err);
        let text = back.out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.ends_with(moves), "{language}: {text}");
    }
    for charset in [&["latin-1", "--translit"][..], &["ascii"]] {
        let args = [&args[..2], &["-", "--to", "pgn"], &args[3..]].concat();
        let refused = scratch.run(&[&args[..], &["--to-charset"], charset].concat());
        assert_eq!((refused.status, refused.out.as_str()), (1, ""));
        assert!(refused.err.contains("figurines can be written in UTF-8 only"), "{}", refused.err);
    }
}

#[test]
fn characters_that_become_question_marks_are_counted() {
    let text = "[White \"\u{141}\u{f3}d\"]\n[Black \"M\u{fc}ller\"]\n\n1. e4 {\u{265e}!} *\n";
    let scratch = Scratch::with("g.pgn", text);
    let done = scratch.run(&["convert", "g.pgn", "a.pgn", "--to-charset", "ascii"]);
    assert_eq!((done.status, done.err.as_str()), (0, "epdb: 4 characters written as ?\n"));
    let written = scratch.text("a.pgn");
    assert!(written.contains("[White \"??d\"]\n[Black \"M?ller\"]\n"), "{written}");
    assert!(written.contains("1. e4 {?!} *"), "{written}");
    let sorted = ["sort", "g.pgn", "-o", "l.pgn", "--to-charset", "latin-1", "--translit"];
    let done = scratch.run(&sorted);
    assert_eq!(done.err, "epdb: 2 characters written as ?\nepdb: 1 game\n");
    let done = scratch.run(&["convert", "g.pgn", "l.pgc", "--lossy", "--translit"]);
    assert!(done.err.contains("epdb: 1 character written as ?\n"), "{}", done.err);
}

#[test]
fn wrong_usage_is_reported() {
    let scratch = scratch();
    scratch.write("a.epd", "8/8/8/8/8/8/8/8 w - -\n");
    for args in [
        &["convert", "g.pgn", "a.pgn", "--positions=all"][..],
        &["sort", "a.epd", "--by", "fen", "-o", "a.pgn"],
        &["convert", "g.pgn", "a.epd", "--positions=20..10"],
        &["convert", "g.pgn", "a.pgn", "--language", "klingon"],
        &["convert", "g.pgn", "a.pgc", "--ext", "--lossy"],
        &["sort", "g.pgn", "-o", "a.epd"],
        &["sort", "a.epd"],
    ] {
        let done = scratch.run(args);
        assert_eq!(done.status, 2, "{args:?}: {}", done.err);
        assert!(!scratch.path("a.pgn").exists() && !scratch.path("a.pgc").exists());
    }
}

#[test]
fn games_are_compared_as_games() {
    let game = |white: &str, result: &str, moves: &str| {
        format!(
            "[Event \"Cup\"]\n[White \"{white}\"]\n[Black \"B\"]\n[Result \"{result}\"]\n\n{moves} {result}\n\n"
        )
    };
    let old = [game("a", "1-0", "1. e4 e5"), game("b", "*", "1. d4"), game("c", "0-1", "1. c4 c5")];
    let new =
        [game("a", "1-0", "1. e4 e5"), game("c", "1/2-1/2", "1. c4 e5"), game("d", "*", "1. Nf3")];
    let scratch = Scratch::with("old.pgn", old.concat());
    scratch.write("new.pgn", new.concat());
    for memory in ["1K", "1M"] {
        let done = scratch.run(&["diff", "old.pgn", "new.pgn", "--memory", memory]);
        assert_eq!(done.status, 1);
        let lines: Vec<&str> = done.out.lines().collect();
        assert_eq!(lines.len(), 3, "{}", done.out);
        assert_eq!(lines[0], "- old.pgn:8: b - B *, ????.??.??, Cup (?)");
        assert_eq!(
            lines[1],
            "! old.pgn:15 new.pgn:8 c - B 0-1, ????.??.??, Cup (?): Result \"0-1\" -> \"1/2-1/2\"; \
             moves from ply 2 on"
        );
        assert!(lines[2].starts_with("+ new.pgn:15: d - B"), "{}", lines[2]);
        assert!(done.err.contains("epdb: 1 equal, 1 removed, 1 added, 1 changed"), "{}", done.err);
    }
    let json = scratch.run(&["diff", "old.pgn", "new.pgn", "--json"]).out;
    let changed: serde_json::Value = serde_json::from_str(json.lines().nth(1).unwrap()).unwrap();
    assert_eq!((&changed["kind"], &changed["first_ply"]), (&"changed".into(), &2.into()));
    assert_eq!(changed["tags"][0]["name"], "Result");
    scratch.write("noted.pgn", old.concat().replace("1. d4", "1. d4 {plays}"));
    let noted = scratch.run(&["diff", "old.pgn", "noted.pgn"]).out;
    assert!(noted.ends_with(": comments, glyphs or variations\n"), "{noted}");
    let same = scratch.run(&["diff", "old.pgn", "old.pgn"]);
    assert_eq!((same.status, same.out.as_str()), (0, ""));
    let positions = scratch.run(&["diff", "old.pgn", "new.pgn", "--positions=final"]);
    assert!(positions.out.lines().all(|line| line.contains(" - ") || line.contains("/")));
    assert_eq!(positions.status, 1);
}

/// Games that the threads encode while they read, then a game that is longer than a part of a file,
/// and games that are read in sequence after it. Some games are broken, and PGC refuses some.
fn many_games() -> String {
    let tags = |nth| {
        let day = nth % 28 + 1;
        format!("[Event \"{nth}\"]\n[Date \"1992.11.{day:02}\"]\n[White \"{}\"]\n\n", nth % 9)
    };
    let game = |nth| match nth % 7 {
        0 => format!("{}1. e4 e5 {{a comment}} 2. Nf3 1-0\n\n", tags(nth)),
        1 => format!("{}1. e4 e5 2. Ke3 1-0\n\n", tags(nth)),
        2 => format!("{}[FEN \"no position\"]\n\n1. e4 *\n\n", tags(nth).trim_end()),
        3 => format!("{}1. e4 -- 2. d4 (2. -- e5) 2... d5 1-0\n\n", tags(nth)),
        4 => format!("{}1. d4 $1 d5 (1... Nf6 2. c4) 2. c4 1/2-1/2\n\n", tags(nth)),
        5 => format!("{}%a line\n1. d4 {{\u{20ac}}} d5 0-1\n\n", tags(nth)),
        _ => format!("{}1. c4 e5 2. Nc3 Nf6 0-1\n\n", tags(nth)),
    };
    let games = |numbers: std::ops::Range<usize>| numbers.map(game).collect::<String>();
    let long = format!("{}1. e4 {{{}}} *\n\n", tags(9000), "long ".repeat(1 << 18));
    games(0..7000) + &long + &games(7000..8000)
}

#[test]
fn games_are_encoded_alike_on_any_number_of_threads() {
    let scratch = Scratch::with("g.pgn", many_games());
    for command in [
        &["stats", "g.pgn"][..],
        &["stats", "g.pgn", "--json", "--truncate-games"],
        &["convert", "g.pgn", "out.pgn"],
        &["convert", "g.pgn", "out.pgn", "--reduced", "--rejects", "r.pgn"],
        &["convert", "g.pgn", "out.pgc"],
        &["tfgg", "g.pgn", "-o", "out.pgn"],
        &["sort", "g.pgn", "-o", "out.pgc"],
        &["sort", "--by", "White", "g.pgn", "-o", "out.pgn", "--to-charset", "latin-1"],
        &["sample", "-n", "70", "g.pgn", "-o", "out.pgn"],
        &["sample", "-n", "70", "g.pgn", "-o", "out.pgc", "--rejects", "r.pgn"],
        &["sample", "--fraction", "0.1", "g.pgn", "-o", "out.pgc"],
        &["head", "-n", "5000", "g.pgn", "-o", "out.pgc"],
        &["dedupe", "--by", "moves", "g.pgn", "-o", "out.pgn"],
        &["split", "g.pgn", "--lines", "9000", "-o", "out.%d.pgn"],
        &["split", "g.pgn", "--by", "White", "-o", "out.%s.pgc"],
    ] {
        let run = |threads| {
            let done = scratch.run(&[command, &["--threads", threads]].concat());
            let written = scratch.names().into_iter().filter(|name| name != "g.pgn");
            let written: Vec<_> = written.map(|name| (scratch.read(&name), name)).collect();
            written.iter().for_each(|(_, name)| fs::remove_file(scratch.path(name)).unwrap());
            (done.status, done.out, done.err, written)
        };
        let [alone, together] = ["1", "3"].map(run);
        assert!(alone.0 < 2, "{command:?}: {}", alone.2);
        assert!(alone == together, "{command:?}: {} {}", alone.2, together.2);
    }
}

/// A player whom no game has is reported with the names that are nearest.
#[test]
fn a_player_without_games_is_reported() {
    let game = |white: &str, black: &str| {
        format!("[White \"{white}\"]\n[Black \"{black}\"]\n\n1. e4 e5 1-0\n\n")
    };
    let games = game("Alekhine, Alexander", "Reti, Richard") + &game("Bogoljubov, E", "Capablanca");
    let scratch = Scratch::with("g.pgn", games);
    scratch.write("study.pgn", "[Orientation \"white\"]\n\n1. e4 e5 *\n");
    for command in [
        &["tally", "g.pgn", "-o", "l.epa"][..],
        &["tally", "g.pgn", "-o", "l.epa", "--side", "white"],
        &["book", "make", "g.pgn", "-o", "b.bin", "--min-games", "1"],
        &["import", "s.epdb", "g.pgn", "--tally", "--again"],
        &["repertoire", "study.pgn", "--games", "g.pgn"],
    ] {
        let has_side = command.contains(&"--side") || command[0] == "repertoire";
        let side = if has_side { " with White" } else { "" };
        for (player, said) in [
            (
                "Alekhine",
                Some(format!(
                    "no game of `Alekhine`{side}; the nearest: `Alekhine, Alexander` (1 game). Give the name as \
                     the games spell it: --player 'Alekhine, Alexander'\n"
                )),
            ),
            (
                "bogoljubov, e",
                Some(format!(
                    "no game of `bogoljubov, e`{side}; the nearest: `Bogoljubov, E` (1 game). Give the name as \
                     the games spell it: --player 'Bogoljubov, E'\n"
                )),
            ),
            ("Zukertort;Z", Some(format!("no game of `Zukertort`, `Z`{side}\n"))),
            ("Nobody; Bogoljubov, E", None),
            ("Reti, Richard", has_side.then(|| "no game of `Reti, Richard` with White\n".into())),
        ] {
            for output in ["l.epa", "s.epdb", "b.bin"] {
                let _ = fs::remove_file(scratch.path(output));
            }
            let args = [command, &["--player", player]].concat();
            let done = scratch.run(&args);
            assert_eq!(done.status, i32::from(said.is_some()), "{args:?}: {}", done.err);
            match said {
                Some(said) => assert!(done.err.contains(&said), "{args:?}: {}", done.err),
                None => assert!(!done.err.contains("no game of"), "{args:?}: {}", done.err),
            }
        }
    }
}

/// Games whose tags are repeated in their blocks, so that many parts of the file are cut at a
/// repeated tag `Event`, or at a game that begins behind a whole roster.
fn games_with_repeated_tags(games: usize) -> String {
    let game = |nth: usize| {
        let event = format!("[Event \"{nth}\"]\n");
        let rest =
            "[Site \"s\"]\n[Date \"2024.01.01\"]\n[Round \"1\"]\n[White \"W\"]\n[Black \"B\"]\n";
        let result = "[Result \"1-0\"]\n";
        let comment = "words ".repeat(nth % 7 * 40);
        match nth % 4 {
            0 => format!("{event}{rest}{event}{result}\n1. e4 {{{comment}}} e5 1-0\n\n"),
            1 => {
                format!("{event}{rest}{result}{event}[ECO \"A00\"]\n\n1. d4 {{{comment}}} 1-0\n\n")
            }
            // A game without moves, and the next one, without a blank line between them.
            2 => format!("{event}{rest}{result}"),
            _ => format!("{event}{rest}text of {nth}\n{result}\n1. c4 {{{comment}}} c5 1-0\n\n"),
        }
    };
    (0..games).map(game).collect()
}

#[test]
fn all_sources_begin_games_at_the_same_places() {
    let text = games_with_repeated_tags(1600);
    let scratch = Scratch::with("g.pgn", &text);
    scratch.write("g.pgn.zst", zstd::encode_all(text.as_bytes(), 1).unwrap());
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut gzip, text.as_bytes()).unwrap();
    scratch.write("g.pgn.gz", gzip.finish().unwrap());
    let convert = |file: &str, threads: &str, input: &str| {
        let call = ["convert", file, "-", "--from", "pgn", "--to", "pgn", "--threads", threads];
        let done = scratch.run_with(&call, input);
        assert_eq!(done.status, 0, "{file}: {}", done.err);
        assert!(done.err.contains("W-PGN-TAGDUP       warning         800"), "{}", done.err);
        done.out
    };
    let whole = convert("g.pgn", "1", "");
    assert_eq!(whole.matches("[Event ").count(), 1600);
    for (file, threads, input) in
        [("g.pgn", "4", ""), ("g.pgn.zst", "4", ""), ("g.pgn.gz", "3", ""), ("-", "4", &text[..])]
    {
        assert!(convert(file, threads, input) == whole, "{file} {threads}");
    }
    // Slices.
    let records = |name: &str| {
        let mut lines: Vec<String> =
            scratch.run(&["export", name]).out.lines().map(String::from).collect();
        lines.sort();
        lines
    };
    let options = ["--keep-duplicates"];
    let tally = ["tally", "g.pgn", "-o", "whole.epa"];
    assert_eq!(scratch.run(&[&tally[..], &options].concat()).status, 0);
    assert_eq!(scratch.run(&["shard", "plan", "g.pgn", "--slices", "5", "-o", "p.json"]).status, 0);
    let mut runs = Vec::new();
    for nth in 1..=5 {
        let (slice, run) = (format!("{nth}/5"), format!("{nth}.epa"));
        let tally = ["tally", "--plan", "p.json", "--slice", &slice, "-o", &run];
        let done = scratch.run(&[&tally[..], &options].concat());
        assert_eq!(done.status, 0, "{}", done.err);
        runs.push(run);
    }
    let runs: Vec<&str> = runs.iter().map(String::as_str).collect();
    let union = [&["union"], &runs[..], &["-o", "sum.epa", "--allow-overlap"]].concat();
    assert_eq!(scratch.run(&union).status, 0);
    assert!(records("sum.epa") == records("whole.epa"));
}

//! Formats of other projects, for every command that reads.
//!
//! Evaluations and puzzles of lichess, opening books of Polyglot, scores of chessdb, evaluations in games.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use epdb_chess::codec::key::polyglot_key;
use epdb_chess::codec::polyglot::{Book, BookMove, Entry};
use epdb_chess::model::Position;
use epdb_chess::model::rules::{Move, Playable};

use crate::scratch::Scratch;
use crate::shared_data::shared_files;

const START: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -";
const CASTLE: &str = "r3k2r/8/8/8/8/8/8/R3K2R";

/// Evaluated positions, written for this test in the form of lichess.
fn evaluations() -> String {
    format!(
        "{{\"fen\":\"{START}\",\"evals\":[\
           {{\"pvs\":[{{\"cp\":11,\"line\":\"d2d4\"}},{{\"cp\":9,\"line\":\"c2c4\"}}],\"knodes\":5,\"depth\":20}},\
           {{\"pvs\":[{{\"cp\":31,\"line\":\"e2e4 e7e5 g1f3\"}}],\"knodes\":1250,\"depth\":36}},\
           {{\"pvs\":[{{\"cp\":12,\"line\":\"a2a3\"}}],\"knodes\":1249,\"depth\":36}}]}}\n\
         {{\"fen\":\"{CASTLE} b KQkq -\",\"evals\":[\
           {{\"pvs\":[{{\"cp\":40,\"line\":\"e8h8 e1c1\"}}],\"knodes\":3,\"depth\":9}}]}}\n\
         {{\"fen\":\"{CASTLE} w KQkq -\",\"evals\":[\
           {{\"pvs\":[{{\"mate\":3,\"line\":\"e1a1\"}}],\"knodes\":3,\"depth\":9}}]}}\n\
         {{\"fen\":\"{CASTLE} b - -\",\"evals\":[\
           {{\"pvs\":[{{\"mate\":3,\"line\":\"\"}}],\"knodes\":3,\"depth\":9}}]}}\n\
         {{\"fen\":\"{CASTLE} b Kk -\",\"evals\":[\
           {{\"pvs\":[{{\"mate\":-3,\"line\":\"a8a1\"}}],\"knodes\":0,\"depth\":1}}]}}\n"
    )
}

fn evaluated() -> String {
    format!(
        "{START} acd 36; acn 1250000; ce 31; pv e4 e5 Nf3;\n\
         {CASTLE} b KQkq - acd 9; acn 3000; ce -40; pv O-O O-O-O;\n\
         {CASTLE} w KQkq - acd 9; acn 3000; ce 32762; pv O-O-O;\n\
         {CASTLE} b - - acd 9; acn 3000; ce -32761;\n\
         {CASTLE} b Kk - acd 1; acn 0; ce 32762; pv Rxa1+;\n"
    )
}

const HEADER: &str =
    "PuzzleId,FEN,Moves,Rating,RatingDeviation,Popularity,NbPlays,Themes,GameUrl,OpeningTags\n";

/// A puzzle after 1. f3 e5: White errs with 2. g4, and Black mates.
const FOOL: &str = "rnbqkbnr/pppp1ppp/8/4p3/8/5P2/PPPPP1PP/RNBQKBNR w KQkq - 0 2";
const AFTER: &str = "rnbqkbnr/pppp1ppp/8/4p3/6P1/5P2/PPPPP2P/RNBQKBNR b KQkq g3";

fn puzzles() -> String {
    format!(
        "{HEADER}p0001,{FOOL},g2g4 d8h4,612,81,-7,1234,mate mateIn1 short,https://lichess.org/abc#3,\
         Barnes_Opening Barnes_Opening_Fools_Mate\n\
         p0002,{FOOL},g2g4 d7d5 g1h3 d8h4,1500,76,90,20,\"short, \"\"quiet\"\"\",https://lichess.org/x#3,\n"
    )
}

fn solved() -> String {
    format!(
        "{AFTER} bm Qh4#; c0 \"mate mateIn1 short\"; c1 \"https://lichess.org/abc#3\"; \
         c2 \"Barnes_Opening Barnes_Opening_Fools_Mate\"; fmvn 2; hmvc 0; id \"p0001\"; plays 1234; popularity -7; \
         pv Qh4#; rating 612; rating_dev 81;\n\
         {AFTER} bm d5; c0 \"short, 'quiet'\"; c1 \"https://lichess.org/x#3\"; fmvn 2; hmvc 0; id \"p0002\"; \
         plays 20; popularity 90; pv d5 Nh3 Qh4+; rating 1500; rating_dev 76;\n"
    )
}

fn entry(moves: &str, mv: &str, weight: u16) -> Entry {
    let mut playable = Playable::new(&Position::START).unwrap();
    for text in moves.split_whitespace() {
        playable = playable.after(text.parse().unwrap());
    }
    let mv = BookMove::from(mv.parse::<Move>().unwrap());
    Entry { key: polyglot_key(playable.position()), mv, weight, learn: 0 }
}

fn book(entries: &[Entry]) -> Vec<u8> {
    let book: Book = entries.iter().copied().collect();
    book.entries().iter().flat_map(Entry::to_bytes).collect()
}

fn small_book() -> Vec<u8> {
    book(&[
        entry("", "e2e4", 300),
        entry("", "d2d4", 100),
        entry("", "a2a3", 0),
        Entry { learn: 7, ..entry("e2e4", "e7e5", 2) },
    ])
}

fn booked() -> String {
    format!(
        "{START} bm d4 e4; c0 \"e4 300, d4 100, a3 0\"; pm e4;\n\
         rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq e3 bm e5; c0 \"e5 2 learn 7\";\n"
    )
}

/// A file as gzip and as Zstandard have it.
fn compressed(bytes: &[u8]) -> [(&'static str, Vec<u8>); 3] {
    use std::io::Write;
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(bytes).unwrap();
    let zstd = zstd::encode_all(bytes, 1).unwrap();
    [("", bytes.to_vec()), (".gz", gzip.finish().unwrap()), (".zst", zstd)]
}

/// Each source, plain and compressed, through commands of every kind.
#[test]
fn every_command_reads_them() {
    for (name, bytes, wanted) in [
        ("lichess_db_eval.jsonl", evaluations().into_bytes(), evaluated()),
        ("lichess_db_puzzle.csv", puzzles().into_bytes(), solved()),
        ("book.bin", small_book(), booked()),
    ] {
        let count = format!("{}\n", wanted.lines().count());
        let first = wanted.lines().next().unwrap();
        let fen = first.split(' ').take(4).collect::<Vec<_>>().join(" ");
        for (suffix, bytes) in compressed(&bytes) {
            let scratch = Scratch::with(&format!("{name}{suffix}"), bytes);
            let file = format!("{name}{suffix}");
            let out = |args: &[&str]| {
                let done = scratch.run(args);
                assert_eq!(done.status, 0, "{args:?} {}", done.err);
                done.out
            };
            for made in ["out.epd", "out.epb", "out.epa", "out.epdb", "out.epd.zst"] {
                out(&["convert", &file, made]);
                assert_eq!(out(&["cat", made]), wanted, "{file} {made}");
            }
            assert_eq!(out(&["count", &file]), count, "{file}");
            out(&["import", "all.epdb", &file]);
            out(&["pack", &file, "-o", "packed.epa"]);
            assert_eq!(out(&["export", "all.epdb"]), wanted, "{file}");
            let found = out(&["get", &file, &fen]);
            assert!(found.contains(first), "{file}: {found}");
            assert_eq!(out(&["filter", &file, "--where", "pieces > 0"]), wanted, "{file}");
            assert!(out(&["stats", &file]).contains("records"), "{file}");
            out(&["verify", &file]);
            assert_eq!(
                out(&["table", &file, "--columns", "fen"]).lines().count(),
                wanted.lines().count() + 1
            );
        }
    }
}

/// The first bytes tell the format where no name does, and `--from` where they do not either.
#[test]
fn formats_are_recognised_or_given() {
    let scratch = Scratch::new();
    assert_eq!(scratch.run_with(&["normalize"], evaluations()).out, evaluated());
    assert_eq!(scratch.run_with(&["normalize"], puzzles()).out, solved());
    assert_eq!(scratch.run_with(&["normalize"], format!("\u{feff}{}", puzzles())).out, solved());
    assert_eq!(
        scratch.run_with(&["normalize"], format!("\u{feff}{}", evaluations())).out,
        evaluated()
    );
    assert_eq!(scratch.run_with(&["filter", "--where", "pieces > 0"], small_book()).out, booked());
    let headless = puzzles().replace(HEADER, "");
    scratch.write("half.csv", &headless);
    assert_eq!(scratch.run(&["normalize", "half.csv", "--from", "csv"]).out, solved());
    assert_eq!(scratch.run(&["normalize", "half.csv"]).status, 1);
    let turned = format!(
        "{{\"evals\":[{{\"pvs\":[{{\"cp\":5,\"line\":\"\"}}],\"knodes\":1,\"depth\":1}}],\"fen\":\"{START}\"}}\n"
    );
    let line = format!("{START} acd 1; acn 1000; ce 5;\n");
    scratch.write("turned.jsonl", &turned);
    assert_eq!(scratch.run(&["normalize", "turned.jsonl"]).out, line);
    assert_eq!(scratch.run_with(&["normalize", "--from", "jsonl"], turned).out, line);
}

/// A name of a format that is only read says nothing of an output, and nothing is written in it.
#[test]
fn they_are_only_read() {
    let scratch = Scratch::with("a.epd", format!("{START} ce 1;\n"));
    for name in ["out.csv", "out.jsonl", "out.bin"] {
        let done = scratch.run(&["convert", "a.epd", name]);
        assert_eq!(done.status, 2, "{name}");
        let is_told = [
            "is a table: `epdb table",
            "cannot tell the format",
            "is not the name of a record file",
        ];
        assert!(is_told.iter().any(|told| done.err.contains(told)), "{}", done.err);
    }
    let done = scratch.run(&["convert", "a.epd", "out.x", "--to", "csv"]);
    assert_eq!(done.status, 2);
    assert!(done.err.contains("epd, fen, epb"), "{}", done.err);
    for args in [["--csv", "t.csv"], ["--json", "t.jsonl"]] {
        let done = scratch.run(&["table", "a.epd", "--columns", "fen", args[0], "-o", args[1]]);
        assert_eq!(done.status, 0, "{args:?} {}", done.err);
    }
}

/// Each damage is an error with file, line, column and what was expected; the lines come back.
#[test]
fn bad_lines_of_evaluations_are_rejected() {
    let good = format!(
        "{{\"fen\":\"{START}\",\"evals\":[{{\"pvs\":[{{\"cp\":1,\"line\":\"e2e4\"}}],\"knodes\":1,\"depth\":1}}]}}"
    );
    for (from, to, place, wanted) in [
        ("}]}", "", 123, "E-LINE-JSON]: no evaluated position: EOF while parsing an object"),
        ("\"fen\":", "\"feN\":", 126, "E-LINE-JSON]: no evaluated position: missing field `fen`"),
        (
            "\"cp\":1",
            "\"cp\":1.5",
            88,
            "E-LINE-JSON]: no evaluated position: invalid type: floating point",
        ),
        (
            "\"depth\":1",
            "\"depth\":-1",
            124,
            "E-LINE-JSON]: no evaluated position: invalid value: integer `-1`",
        ),
        ("\"cp\":1,", "", 89, "E-EPD-RANGE]: expected one of cp and mate"),
        ("\"cp\":1,", "\"cp\":1,\"mate\":1,", 105, "E-EPD-RANGE]: expected one of cp and mate"),
        ("\"cp\":1,", "\"mate\":0,", 98, "E-EPD-RANGE]: expected a mate in one move or more"),
        ("\"cp\":1,", "\"mate\":384,", 100, "E-EPD-RANGE]: mate 384 is further away"),
        (
            "\"cp\":1,",
            "\"mate\":-9223372036854775808,",
            117,
            "E-EPD-RANGE]: mate -9223372036854775808 is",
        ),
        ("\"cp\":1,", "\"cp\":32001,", 100, "E-EPD-RANGE]: cp 32001 is not between"),
        (
            "\"knodes\":1",
            "\"knodes\":18446744073709551615",
            96,
            "E-EPD-RANGE]: knodes 18446744073709551615 is",
        ),
        (
            "{\"pvs\"",
            "{\"pvs\":[],\"knodes\":1,\"depth\":1}],\"e\":[{\"pvs\"",
            1,
            "E-LINE-JSON]: expected an evaluation in evals",
        ),
        ("RNBQKBNR w", "RNBQKBN w", 44, "E-FEN-RANKSUM]: rank 1"),
        ("{\"fen\"", "[{\"fen\"", 1, "E-LINE-JSON]: no evaluated position: expected `{`"),
    ] {
        let bad = good.replace(from, to);
        assert_ne!(bad, good, "{from}");
        let text = format!("{good}\n{bad}\n\n{good}\r\n");
        let found = assert_rejected("a.jsonl", text, &bad, &format!("a.jsonl:2:{place}"), wanted);
        assert_eq!(found, 2, "{bad}");
    }
}

/// The file is read, one of its lines is rejected at a place and for a reason, and comes back; says
/// how many others came through.
fn assert_rejected(file: &str, text: String, bad: &str, place: &str, wanted: &str) -> usize {
    let scratch = Scratch::with(file, text);
    let done = scratch.run(&["normalize", file, "--rejects", "bad"]);
    assert_eq!(done.status, 1, "{bad}\n{}", done.err);
    assert!(done.err.contains(&format!("{place}: error[")), "{bad}\n{}", done.err);
    assert!(done.err.contains(wanted), "{bad}\n{}", done.err);
    assert_eq!(scratch.text("bad"), format!("{bad}\n"));
    done.out.lines().count()
}

/// Moves that cannot be made are cut off, with a warning that names them.
#[test]
fn moves_that_cannot_be_made_are_cut_off() {
    for (line, pv) in [("e2e4 e7e4 g1f3", "pv e4;"), ("e2e5", ""), ("e2e4 xx", "pv e4;")] {
        let text = format!(
            "{{\"fen\":\"{START}\",\"evals\":[{{\"pvs\":[{{\"cp\":1,\"line\":\"{line}\"}}],\"knodes\":1,\"depth\":1}}]}}\n"
        );
        let scratch = Scratch::with("a.jsonl", &text);
        let done = scratch.run(&["normalize", "a.jsonl", "--repairs", "r.tsv"]);
        let wanted = format!("{START} acd 1; acn 1000; ce 1; {pv}");
        assert_eq!((done.out.trim_end(), done.status), (wanted.trim_end(), 0), "{}", done.err);
        let cut = line.trim_start_matches("e2e4 ");
        let place = text.find(cut).unwrap() + 1;
        let warning = format!("a.jsonl:1:{place}: warning[W-LINE-CUT]: ");
        assert!(done.err.starts_with(&warning), "{}", done.err);
        assert!(scratch.text("r.tsv").contains(&format!("\tW-LINE-CUT\t{cut}\t\n")));
        assert_eq!(scratch.run(&["normalize", "a.jsonl", "--deny-warnings"]).status, 1);
    }
}

#[test]
fn the_view_of_evaluations_can_be_given() {
    let scratch = Scratch::with("a.jsonl", evaluations());
    let done = scratch.run(&["normalize", "a.jsonl", "--score-view", "mover"]);
    assert!(done.out.contains("b KQkq - acd 9; acn 3000; ce 40;"), "{}", done.out);
    assert_eq!(scratch.run(&["normalize", "a.jsonl", "--score-view", "white"]).out, evaluated());
}

/// A table of positions and evaluations as it is shared on Kaggle.
const SCORED: &str = "FEN,Evaluation
rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1,+56
rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1,-10
rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1,0
rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1,#-3
rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1,\u{feff}#+2
rnb1kbnr/pppp1ppp/8/4p3/6Pq/5P2/PPPPP2P/RNBQKBNR w KQkq - 1 3,#-0
";

#[test]
fn tables_of_evaluations_are_read_with_a_view() {
    let scores = |done: &str| -> Vec<String> {
        let scores = done.lines().filter_map(|line| line.split("ce ").nth(1));
        scores.map(|score| score.split(';').next().unwrap().to_string()).collect()
    };
    for (suffix, bytes) in compressed(SCORED.as_bytes()) {
        let file = format!("evals.csv{suffix}");
        let scratch = Scratch::with(&file, bytes);
        for command in [&["normalize"][..], &["count"], &["pack", "-o", "x.epa"]] {
            let done = scratch.run(&[command, &[&file]].concat());
            assert_ne!(done.status, 0, "{command:?}");
            let wanted = format!(
                "{file} does not say from whose view its evaluations are: give --score-view white \
                 or --score-view mover"
            );
            assert!(done.err.contains(&wanted), "{}", done.err);
        }
        let white = scratch.run(&["normalize", &file, "--score-view", "white"]);
        assert_eq!((white.status, &*white.err), (0, ""));
        assert_eq!(scores(&white.out), ["56", "10", "0", "32762", "-32763", "-32767"]);
        let mover = scratch.run(&["normalize", &file, "--score-view", "mover"]);
        assert_eq!(scores(&mover.out), ["56", "-10", "0", "-32761", "32764", "-32767"]);
        let named = ["normalize", &file, "--score-view", "mover", "--from", "csv"];
        assert_eq!(scratch.run(&named).out, mover.out);
        let columns = ["table", &file, "--score-view", "white", "--columns", "eval:white"];
        let whites = scratch.run(&[&columns[..], &["--no-header"]].concat()).out;
        assert_eq!(whites, "56\n-10\n0\n-32762\n32763\n-32767\n");
    }
    // Columns are found by their names, and there may be others.
    let scratch = Scratch::new();
    let text = format!("evaluation,Move,fen\n-7,e7e5,\"{START} 0 1\"\n");
    let done = scratch.run_with(&["normalize", "--score-view", "white"], text);
    assert_eq!((done.status, done.out), (0, format!("{START} ce -7; fmvn 1; hmvc 0;\n")));
    let warning = "-:1:12: warning[W-LINE-COLUMN]: column `Move` is unknown: it is left out";
    assert!(done.err.contains(warning), "{}", done.err);
    let done = scratch.run_with(&["normalize"], SCORED);
    assert!(done.err.contains("give --score-view"), "{}", done.err);
    // A table of puzzles has no scores.
    scratch.write("p.csv", puzzles());
    let done = scratch.run(&["normalize", "p.csv", "--score-view", "white"]);
    assert_eq!(done.status, 2);
    assert!(done.err.contains("--score-view is for"), "{}", done.err);
}

#[test]
fn bad_lines_of_tables_of_evaluations_are_rejected() {
    let good = format!("{START} 0 1,+56");
    for (from, to, place, wanted) in [
        ("+56", "", 58, "E-LINE-CSV]: no score: expected centipawns such as +56"),
        ("+56", "0.56", 58, "E-LINE-CSV]: Evaluation `0.56`: expected centipawns"),
        ("+56", "#", 58, "E-LINE-CSV]: Evaluation `#`: expected centipawns"),
        ("+56", "32001", 58, "E-EPD-RANGE]: Evaluation `32001`: expected at most 32000"),
        ("+56", "#384", 58, "E-EPD-RANGE]: Evaluation `#384`: expected at most 32000"),
        ("+56", "+56,1", 1, "E-LINE-CSV]: 3 columns; expected the 2 that the header names"),
        (",+56", "", 1, "E-LINE-CSV]: 1 column; expected the 2 that the header names"),
        ("RNBQKBNR w", "RNBQKBNR x", 45, "E-FEN-COLOR]: the side to move"),
    ] {
        let bad = good.replacen(from, to, 1);
        let scratch = Scratch::with("a.csv", format!("FEN,Evaluation\n{good}\n{bad}\n"));
        let done = scratch.run(&["normalize", "a.csv", "--score-view", "white"]);
        assert_eq!((done.status, done.out.lines().count()), (1, 1), "{bad}: {}", done.err);
        assert!(done.err.contains(&format!("a.csv:3:{place}: error[{wanted}")), "{}", done.err);
    }
    // A quotation mark, which EPD has not in strings, is not changed in silence.
    let scratch = Scratch::with("q.csv", format!("fen,c0\n{START} 0 1,\"say \"\"hi\"\"\"\n"));
    let done = scratch.run(&["normalize", "q.csv"]);
    assert!(done.out.contains("c0 \"say 'hi'\";"), "{}", done.out);
    assert!(done.err.contains("warning[W-LEN-ESCAPE]: a quotation mark in `c0`"), "{}", done.err);
    // What `table` escapes between tabs comes back.
    scratch.write("b.epd", format!("{START} c0 \"C:\\temp\\new\"; id \"1\";\n"));
    scratch.run(&["table", "--columns", "epd,c0,id", "b.epd", "-o", "b.tsv"]);
    assert!(scratch.text("b.tsv").contains("C:\\\\temp"), "{}", scratch.text("b.tsv"));
    assert_eq!(scratch.run(&["normalize", "b.tsv"]).out, scratch.text("b.epd"));
    for (text, wanted) in [
        (format!("fen,ce\n{START} 0 1,32767\n"), "E-EPD-RANGE]: ce `32767`"),
        (format!("fen,ce\n{START} 0 1,+0.3\n"), "E-LINE-CSV]: ce `+0.3`: expected an integer"),
        (format!("{{\"fen\":\"{START}\",\"ce\":-32769}}\n"), "E-EPD-RANGE]: ce -32769"),
        (
            format!("{{\"fen\":\"{START}\"}}\n"),
            "E-LINE-JSON]: no evaluated position: missing field `evals` or `ce`",
        ),
    ] {
        let done = Scratch::new().run_with(&["normalize"], text);
        assert!(done.status == 1 && done.err.contains(wanted), "{wanted}: {}", done.err);
    }
}

#[test]
fn bad_lines_of_puzzles_are_rejected() {
    let good = format!("p1,{FOOL},g2g4 d8h4,612,81,97,1234,mate,https://lichess.org/abc#3,");
    for (from, to, place, wanted) in [
        (",g2g4 d8h4", ",", 65, "E-LINE-CSV]: expected the opponent's move and the solution"),
        (
            "g2g4 d8h4",
            "g2g5 d8h4",
            65,
            "E-MOVE-ILLEGAL]: `g2g5` is not a legal move of the position",
        ),
        ("g2g4 d8h4", "g2g4", 69, "E-LINE-CSV]: expected the solution after the opponent's move"),
        (
            "g2g4 d8h4",
            "g2g4 d8h3",
            70,
            "E-MOVE-ILLEGAL]: `d8h3` is not a legal move after the opponent's",
        ),
        (",612,", ",many,", 75, "E-LINE-CSV]: Rating `many`: expected a number"),
        (",612,", ",", 86, "E-LINE-CSV]: NbPlays `mate`: expected a number"),
        (",mate,", ",\"mate,", 90, "E-LINE-CSV]: the quoted field is not closed"),
        (",mate,", ",\"mate\"x,", 96, "E-LINE-CSV]: expected a comma after the quoted field"),
        (",mate,", ",ma\u{7}te,", 90, "E-LINE-CSV]: expected text in UTF-8 without control"),
        (",mate,", ",,,,,,", 1, "E-LINE-CSV]: 14 columns; expected the 10 that the header names"),
        (",81,97,", ",97,", 87, "E-LINE-CSV]: NbPlays `mate`: expected a number"),
        (",81,97,1234,", ",", 1, "E-LINE-CSV]: 7 columns; expected the 10 that the header names"),
        ("RNBQKBNR w", "RNBQKBNR x", 52, "E-FEN-COLOR]: the side to move"),
        ("RNBQKBNR w KQkq - 0 2,g2g4 d8h4", "", 4, "E-EPD-FIELDS]: "),
    ] {
        let bad = good.replacen(from, to, 1);
        assert_ne!(bad, good, "{from}");
        let text = format!("{HEADER}{good}\n{bad}\n");
        let found = assert_rejected("a.csv", text, &bad, &format!("a.csv:3:{place}"), wanted);
        assert_eq!(found, 1, "{bad}");
    }
    // A file without the last column is one of earlier years.
    let old = format!("p1,{FOOL},g2g4 d8h4,612,81,97,1234,mate,https://lichess.org/abc#3\n");
    let done = Scratch::new().run_with(&["normalize", "--from", "csv"], old);
    assert_eq!((done.status, done.out.lines().count()), (0, 1), "{}", done.err);
}

/// The columns of a file by the names in its header, in any order.
#[test]
fn columns_of_puzzles_go_by_their_names() {
    let names: Vec<&str> = HEADER.trim_end().split(',').chain(["DailyDate"]).collect();
    let row: Vec<&str> = "p1|FOOL|g2g4 d8h4|612|81|97|1234|mate|u|Barnes|1722470400000"
        .split('|')
        .map(|field| if field == "FOOL" { FOOL } else { field })
        .collect();
    let solved = |date: &str| {
        format!(
            "{AFTER} {date}bm Qh4#; c0 \"mate\"; c1 \"u\"; c2 \"Barnes\"; fmvn 2; hmvc 0; id \"p1\"; \
             plays 1234; popularity 97; pv Qh4#; rating 612; rating_dev 81;\n"
        )
    };
    let dated = solved("DailyDate 1722470400000; ");
    let text = |order: &[usize]| {
        let line =
            |fields: &[&str]| order.iter().map(|at| fields[*at]).collect::<Vec<_>>().join(",");
        format!("{}\n{}\n", line(&names), line(&row))
    };
    let scratch = Scratch::new();
    for order in [
        [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
        [10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0],
        [4, 0, 9, 2, 1, 3, 10, 8, 7, 6, 5],
    ] {
        scratch.write("a.csv", text(&order));
        let done = scratch.run(&["normalize", "a.csv"]);
        assert_eq!((&*done.out, done.status, &*done.err), (&*dated, 0, ""), "{order:?}");
        assert_eq!(scratch.run_with(&["normalize"], text(&order)).out, dated, "{order:?}");
        let quoted = text(&order).replacen("FEN", "\"fen\"", 1).replace('\n', "\r\n");
        assert_eq!(scratch.run_with(&["normalize"], quoted).out, dated, "{order:?}");
    }
    // Two concatenated files, and the date, which is mostly empty.
    let twice = text(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]).replace("1722470400000", "").repeat(2);
    let done = scratch.run_with(&["normalize"], twice);
    assert_eq!((done.out, done.err), (solved("").repeat(2), String::new()));
    // Without a header the order is the published one.
    for (row, wanted) in [
        (&row[..], dated.clone()),
        (&row[..10], solved("")),
        (&row[..9], solved("").replace("c2 \"Barnes\"; ", "")),
    ] {
        let done = scratch.run_with(&["normalize", "--from", "csv"], row.join(",") + "\n");
        assert_eq!((done.out, done.status), (wanted, 0), "{}", done.err);
    }
    let other = text(&[1, 0, 2, 3, 4, 5, 6, 7, 8, 9]);
    let mixed = text(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]) + other.lines().next().unwrap() + "\n";
    let done = scratch.run_with(&["normalize"], mixed);
    assert_eq!((done.out.lines().count(), done.status), (1, 1));
    assert!(
        done.err.contains("-:3:1: error[E-LINE-CSV]: a header that is not the first line"),
        "{}",
        done.err
    );
}

/// A column that nobody knows is one warning, and one that is missing is named.
#[test]
fn unknown_and_missing_columns_are_named() {
    let row = |id: usize| format!("x,p{id},{FOOL},g2g4 d8h4,612,81,97,1234,y,mate,u,\n");
    let header = format!("New,{}", HEADER.replace(",Themes", ",Newer,Themes"));
    let rows: String = (0..3000).map(row).collect();
    let scratch = Scratch::with("a.csv", format!("{header}{rows}"));
    let done = scratch.run(&["normalize", "a.csv"]);
    assert_eq!((done.out.lines().count(), done.status), (3000, 0));
    let [first, second, ..] = *done.err.lines().collect::<Vec<_>>() else { panic!("{}", done.err) };
    assert_eq!(first, "a.csv:1:1: warning[W-LINE-COLUMN]: column `New` is unknown: it is left out");
    assert!(second.starts_with("a.csv:1:66: warning[W-LINE-COLUMN]: column `Newer`"), "{second}");
    assert!(done.err.contains("W-LINE-COLUMN      warning           2"), "{}", done.err);
    for name in ["FEN", "Moves"] {
        let names = format!(",{header}").replace(&format!(",{name},"), ",X,");
        let done = scratch.run_with(&["normalize"], format!("{}{}", &names[1..], row(1)));
        let wanted =
            format!("-:1:1: error[E-LINE-CSV]: the header has no column {name}: puzzles need ");
        assert!(done.err.starts_with(&wanted), "{name}: {}", done.err);
        let wanted =
            format!("-:2:1: error[E-LINE-CSV]: the header of the file has no column {name}");
        assert!(done.err.contains(&wanted), "{name}: {}", done.err);
        assert_eq!((done.out.as_str(), done.status), ("", 1));
    }
}

/// Members of an evaluation in any order; those that nobody knows are named once.
#[test]
fn unknown_members_of_evaluations_are_named_once() {
    let line = format!(
        "{{\"id\":7,\"evals\":[{{\"time\":{{\"a\":[1]}},\"depth\":1,\"pvs\":[{{\"line\":\"\",\"wdl\":[1,2,3],\
         \"cp\":5}}],\"knodes\":1}}],\"fen\":\"{START}\"}}\n"
    );
    let scratch = Scratch::new();
    let done = scratch.run_with(&["normalize"], line.repeat(3000));
    assert_eq!(
        (done.out, done.status),
        (format!("{START} acd 1; acn 1000; ce 5;\n").repeat(3000), 0)
    );
    for name in ["id", "time", "wdl"] {
        let wanted = format!("-:1:1: warning[W-LINE-COLUMN]: member `{name}` is unknown");
        assert!(done.err.contains(&wanted), "{}", done.err);
    }
    assert!(done.err.contains("W-LINE-COLUMN      warning           3"), "{}", done.err);
    let alone = line.replace("\"id\":7,", "");
    for name in ["fen", "evals", "pvs", "line"] {
        let other = alone.replace(&format!("\"{name}\""), "\"other\"");
        let done = scratch.run_with(&["normalize", "--from", "jsonl"], other);
        assert_eq!(done.status, 1);
        assert!(done.err.contains(&format!("missing field `{name}`")), "{}", done.err);
    }
}

#[test]
fn a_field_of_numbers_is_compared() {
    let scratch = Scratch::with("a.csv", puzzles());
    let done =
        scratch.run(&["filter", "a.csv", "--where", "op(rating) >= 1000 && op(popularity) > 0"]);
    assert_eq!((done.out, done.status), (solved().lines().nth(1).unwrap().to_string() + "\n", 0));
}

/// Lines over the limit are rejected whole, in bounded memory.
#[test]
fn long_lines_are_rejected_whole() {
    let text = evaluations();
    let long = format!("{{\"fen\":\"{}\"}}\n", "x".repeat(3 << 20));
    let scratch = Scratch::with("a.jsonl", format!("{text}{long}{text}"));
    let done = scratch.run(&["normalize", "a.jsonl", "--rejects", "bad"]);
    assert_eq!((done.out, done.status), (evaluated().repeat(2), 1));
    assert!(done.err.contains("a.jsonl:6:1048577: error[E-EPD-LINELEN]"), "{}", done.err);
    assert_eq!(scratch.text("bad"), long);
}

/// Any cut and any changed byte gives an answer and no panic.
#[test]
fn damage_never_panics() {
    let scratch = Scratch::new();
    for (name, bytes) in [
        ("a.jsonl", evaluations().into_bytes()),
        ("a.csv", puzzles().into_bytes()),
        ("a.bin", small_book()),
    ] {
        let mut damaged = Vec::new();
        for place in (0..bytes.len()).step_by(bytes.len() / 24 + 1) {
            let mut changed = bytes.clone();
            changed[place] ^= 0x84;
            damaged.extend([bytes[..place].to_vec(), changed]);
        }
        for bytes in damaged {
            scratch.write(name, bytes);
            let done = scratch.run(&["count", name, "--from", name.rsplit('.').next().unwrap()]);
            assert!((0..=2).contains(&done.status), "{name} {}", done.err);
            assert!(!done.err.contains("panicked"), "{name} {}", done.err);
        }
    }
}

/// Entries of unknown positions, illegal moves and disorder are reported; the status is 1 if that is
/// denied.
#[test]
fn unresolved_entries_of_a_book_are_counted() {
    let mut entries = vec![
        entry("", "e2e4", 1),
        entry("", "e2e5", 1),
        entry("a2a3 a7a6 b2b3 b7b6 c2c3 c7c6", "e2e4", 9),
    ];
    let scratch = Scratch::with("a.bin", book(&entries));
    let done = scratch.run(&["normalize", "a.bin"]);
    assert_eq!((done.out, done.status), (format!("{START} bm e4; c0 \"e4 1\";\n"), 0));
    assert_eq!(scratch.run(&["normalize", "a.bin", "--deny-warnings"]).status, 1);
    assert_eq!(
        done.err,
        "epdb: 1 book entry without a known position, left out: `epdb book list` finds \
         more with --source\nepdb: 1 book entry with an illegal move\n"
    );
    assert_eq!(scratch.run(&["normalize", "a.bin", "--allow-rejects"]).status, 0);
    entries.sort_by_key(|entry| std::cmp::Reverse(entry.key));
    scratch.write("a.bin", entries.iter().flat_map(Entry::to_bytes).collect::<Vec<u8>>());
    let done = scratch.run(&["normalize", "a.bin"]);
    assert!(done.err.contains("epdb: 1 book entry out of order"), "{}", done.err);
    scratch.write("a.bin", [0_u8; 17]);
    let done = scratch.run(&["normalize", "a.bin"]);
    assert_eq!((done.status, done.out.as_str()), (2, ""));
    assert!(done.err.contains("a.bin: byte 16: this is no Polyglot book"), "{}", done.err);
    let done = scratch.run(&["dump", "a.bin"]);
    assert!(done.err.contains("a.bin is an opening book: `epdb book list`"), "{}", done.err);
}

/// Weights that no string has room for go on in the next registers.
#[test]
fn long_lists_of_weights_are_several_comments() {
    let start = Playable::new(&Position::START).unwrap();
    let moves = start.legal_moves();
    let entries: Vec<Entry> = (0..60_u16)
        .map(|number| Entry {
            key: polyglot_key(&Position::START),
            mv: BookMove::from(moves[usize::from(number) % moves.len()]),
            weight: 60_000 - number,
            learn: 0,
        })
        .collect();
    let scratch = Scratch::with("a.bin", book(&entries));
    let done = scratch.run(&["table", "a.bin", "--columns", "c0,c1,c2"]);
    assert_eq!(done.status, 0, "{}", done.err);
    let fields: Vec<&str> = done.out.lines().nth(1).unwrap().split('\t').collect();
    assert_eq!(fields.len(), 3);
    assert!(fields.iter().all(|field| (1..=255).contains(&field.len())), "{fields:?}");
    assert_eq!(fields.join(", ").matches(", ").count(), 59);
}

/// A book that others made gives each position that `book list` finds.
#[test]
fn books_of_others_give_their_positions() {
    for path in shared_files("bin") {
        let scratch = Scratch::new();
        let path = path.to_str().unwrap();
        let listed = scratch.run(&["book", "list", path, "--tsv"]);
        let mut fens: Vec<&str> =
            listed.out.lines().skip(1).filter_map(|line| line.split('\t').nth(2)).collect();
        fens.dedup();
        let counted = scratch.run(&["count", path]);
        assert_eq!(counted.status < 2, listed.status < 2, "{path}: {}", counted.err);
        if listed.status < 2 {
            assert_eq!(counted.out, format!("{}\n", fens.len()), "{path}");
        }
    }
}

/// Scores after lines, as programs around chessdb write them.
#[test]
fn scores_of_chessdb_are_labels() {
    let fens = "8/8/8/4k3/8/1K6/4P3/8 w - -";
    let mut text = String::new();
    let mut wanted = String::new();
    for (behind, operations) in [
        (" ; 23;", " ce 23;"),
        (" ; -7;", " ce -7;"),
        ("; 0;", " ce 0;"),
        (" 3 9 ; 23;", " 3 9 ce 23;"),
        (" bm e4; 23;", " bm e4; ce 23;"),
        (" bm e4; id \"a; 5\"; 23;", " bm e4; ce 23; id \"a; 5\";"),
        (" ; M9;", " ce 32758;"),
        (" ; -M10;", " ce -32757;"),
        (" ; #;", " ce -32767;"),
        (" ; cdb eval: 23;", " ce 23;"),
        (" ; cdb eval: 23, ply: 6;", " cdb_ply 6; ce 23;"),
        (" ; cdb eval: mated, ply: 6;", " cdb_ply 6; ce -32767;"),
        (" bm e4;", " bm e4;"),
    ] {
        writeln!(text, "{fens}{behind}").unwrap();
        let counters = if operations.starts_with(" 3 9") { " fmvn 9; hmvc 3;" } else { "" };
        writeln!(wanted, "{fens}{}{counters}", operations.replace(" 3 9", "")).unwrap();
    }
    for (suffix, bytes) in compressed(text.as_bytes()) {
        let file = format!("a.epd{suffix}");
        let scratch = Scratch::with(&file, bytes);
        let done = scratch.run(&["normalize", &file, "--labels", "--counters", "ops"]);
        assert_eq!((done.out, done.status), (wanted.clone(), 0), "{}", done.err);
    }
    // Text that is not a score is read as without labels.
    for behind in [" ; 40000;", " ; M0;", " ; cdb eval: 7men w/ cr;", " ; cdb eval: 5, ply: x;"] {
        let line = format!("{fens}{behind}\n");
        let [with, without] = [&["normalize", "--labels"][..], &["normalize"]]
            .map(|args| Scratch::new().run_with(args, line.clone()));
        assert_eq!((with.out, with.status), (without.out, without.status), "{behind}");
    }
}

const GAME: &str = "[Event \"a\"]\n\n{[%eval 0.2]} 1. e4 {[%eval 0.34] [%clk 0:01:00]} \
                    (1. d4 {[%eval 0.1]}) 1... f6 {x} {[%eval 1.25,18]} 2. d4 g5 {[%eval #1]} \
                    3. Qh5# {[%eval x]} 1-0\n";

/// Evaluations follow a move, and belong to the position after it, from White's view.
#[test]
fn evaluations_of_games_become_scores_on_request() {
    for (suffix, bytes) in compressed(GAME.as_bytes()) {
        let file = format!("a.pgn{suffix}");
        let scratch = Scratch::with(&file, bytes);
        let scores = |args: &[&str]| {
            let columns = ["table", &file, "--positions", "--columns", "ce,acd"];
            let done = scratch.run(&[&columns[..], args].concat());
            assert_eq!(done.status, 0, "{}", done.err);
            (done.out, done.err)
        };
        let none = "ce\tacd\n".to_string() + &"\t\n".repeat(6);
        assert_eq!(scores(&[]).0, none);
        let (out, err) = scores(&["--game-evals"]);
        assert_eq!(out, "ce\tacd\n20\t\n-34\t\n125\t18\n\t\n32766\t\n\t\n");
        assert!(err.contains("epdb: 1 evaluation in comments could not be read\n"), "{err}");
        let (out, _) = scores(&["--game-evals", "--variations"]);
        assert_eq!(out, "ce\tacd\n20\t\n-10\t\n-34\t\n125\t18\n\t\n32766\t\n\t\n");
        let (out, _) = scores(&["--game-evals", "--where", "ply == 4"]);
        assert_eq!(out, "ce\tacd\n32766\t\n");
    }
}

/// Engines' scores follow their move, and belong to the position before it, from the mover's view.
#[test]
fn scores_of_engines_become_those_of_the_positions_where_they_moved() {
    let game = "[Event \"a\"]\n\n1. e4 {book} e5 {+0.35/20 1.2s} 2. Bc4 $1 {-0.30/18 0.050s} \
                (2. Nf3 {+0.10/9 1s} Nc6 {+0.20/8 1s}) 2... Nc6 {[%eval 0.1]} 3. Qh5 \
                {+M3/30 0.5s, n=12345, sd=30} Nf6 {3/4 of an hour} \
                4. Qxf7# {+M1/127 0.003s, White mates} 1-0\n";
    let scratch = Scratch::with("a.pgn", game);
    let scores = |args: &[&str]| {
        let columns = ["table", "a.pgn", "--positions", "--columns", "ce,acd"];
        let done = scratch.run(&[&columns[..], args].concat());
        assert_eq!(done.status, 0, "{}", done.err);
        assert!(!done.err.contains("could not be read"), "{}", done.err);
        done.out
    };
    let evals = "ce\tacd\n\t\n35\t20\n-30\t18\n\t\n10\t\n\t\n32766\t127\n\t\n";
    assert_eq!(scores(&["--game-evals"]), evals);
    assert_eq!(scores(&["--game-evals", "--where", "ply == 2"]), "ce\tacd\n-30\t18\n");
    let with_lines = scores(&["--game-evals", "--variations"]);
    assert!(with_lines.contains("\n20\t8\n"), "{with_lines}");
    assert_eq!(scores(&[]), format!("ce\tacd\n{}", "\t\n".repeat(8)));
    scratch.write("b.pgn", "1. e4 {+M800/9 1s} e5 {-400.00/9 1s} *\n");
    let done =
        scratch.run(&["table", "b.pgn", "--positions", "--columns", "ce,acd", "--game-evals"]);
    assert_eq!(done.out, "ce\tacd\n\t\n-32000\t9\n\t\n");
    assert!(done.err.contains("1 evaluation in comments could not be read"), "{}", done.err);
}

#[test]
fn their_page_fits_and_its_commands_run() {
    let scratch = Scratch::new();
    let page = scratch.run(&["help", "sources"]);
    assert_eq!(page.status, 0);
    assert!(page.out.lines().count() <= 60);
    scratch.write("lichess_db_eval.jsonl.zst", &compressed(evaluations().as_bytes())[2].1);
    scratch.write("lichess_db_puzzle.csv.zst", &compressed(puzzles().as_bytes())[2].1);
    scratch.write("book.bin", small_book());
    scratch.write("scored.epd", format!("{START} ; 23;\n"));
    scratch.write("lichess_db_standard_rated.pgn.zst", &compressed(GAME.as_bytes())[2].1);
    let commands: Vec<&str> =
        page.out.lines().filter_map(|line| line.strip_prefix("  epdb ")).collect();
    assert!(commands.len() >= 5);
    for command in commands {
        let mut args: Vec<String> = Vec::new();
        for (nth, part) in command.split('\'').enumerate() {
            match nth % 2 {
                0 => args.extend(part.split_whitespace().map(String::from)),
                _ => args.push(part.into()),
            }
        }
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let done = scratch.run(&args);
        let is_missing = args[0] == "get" && done.status == 1;
        assert!(done.status == 0 || is_missing, "{args:?} {}", done.err);
    }
}

/// A file that pzstd made (`tests/samples/pzstd/README.md`).
fn by_pzstd(name: &str) -> Vec<u8> {
    fs::read(Path::new("tests/samples/pzstd").join(name)).unwrap()
}

/// The data of lichess begin with a skippable frame, and so do the frames that follow.
#[test]
fn output_of_pzstd_is_read() {
    for (name, count) in
        [("lines.epd.zst", 12_000), ("games.pgn.zst", 200), ("lichess_db_eval.jsonl.zst", 200)]
    {
        let bytes = by_pzstd(name);
        assert!(bytes.starts_with(b"\x50\x2a\x4d\x18"));
        let twice = [&bytes[..], &bytes].concat();
        for (bytes, count) in [(bytes, count), (twice, 2 * count)] {
            let scratch = Scratch::with(name, &bytes);
            scratch.write("no suffix", &bytes);
            let counted = format!("{count}\n");
            for file in [name, "no suffix"] {
                let done = scratch.run(&["count", file]);
                let said = match name {
                    "games.pgn.zst" => format!("epdb: {count} games\n"),
                    _ => String::new(),
                };
                assert_eq!((done.status, done.out, done.err), (0, counted.clone(), said));
            }
            assert_eq!(scratch.run_with(&["count", "-"], bytes).out, counted);
        }
    }
}

/// Frames as pzstd writes them, large enough to be decompressed on several threads.
fn many_frames(lines: &[Vec<u8>], sizes: impl Fn(usize) -> usize) -> Vec<u8> {
    let frame = |lines: &Vec<u8>| {
        let data = zstd::encode_all(&lines[..], 1).unwrap();
        let size = u32::try_from(sizes(data.len())).unwrap().to_le_bytes();
        [b"\x50\x2a\x4d\x18\x04\0\0\0", &size[..], &data].concat()
    };
    lines.iter().flat_map(frame).collect()
}

#[test]
fn frames_are_read_in_order_on_any_number_of_threads() {
    // Text that takes half a megabyte if it is compressed.
    let number = |nth: usize, seed: u64| (nth as u64 + seed).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let digits = |nth: usize| [3, 5, 7].map(|seed| number(nth, seed).swap_bytes());
    let line = |nth: usize| format!("{START} c0 \"{:x?}\";\n", digits(nth));
    let part = |nth: usize| (nth * 9000..(nth + 1) * 9000).map(line).collect::<String>().into();
    let parts: Vec<Vec<u8>> = (0..6).map(part).collect();
    let text = String::from_utf8(parts.concat()).unwrap();
    let sizes: [&dyn Fn(usize) -> usize; 5] =
        [&|len| len, &|len| len - 1, &|len| len + 1, &|_| 0, &|len| len * 3];
    for size in sizes {
        let frames = many_frames(&parts, size);
        assert!(frames.len() > 1 << 19, "{}", frames.len());
        let cut = &frames[..frames.len() - 1000];
        let scratch = Scratch::with("a.epd.zst", &frames);
        let mut errors = Vec::new();
        for threads in ["1", "3"] {
            let cat = ["cat", "--threads", threads];
            let of_file = scratch.run(&[&cat[..], &["a.epd.zst"]].concat());
            assert!(of_file.status == 0 && of_file.out == text, "{}", of_file.err);
            let of_stdin = scratch.run_with(&[&cat[..], &["-"]].concat(), frames.as_slice());
            assert!(of_stdin.status == 0 && of_stdin.out == text, "{}", of_stdin.err);
            let of_cut = scratch.run_with(&[&cat[..], &["-"]].concat(), cut);
            assert!(of_cut.status == 2 && text.starts_with(&of_cut.out), "{}", of_cut.err);
            errors.push((of_cut.out.len(), of_cut.err));
        }
        assert_eq!(errors[0], errors[1]);
    }
}

/// LZ4 has the same skippable frames: the next frame decides.
#[test]
fn skippable_frames_are_recognised_by_the_next_frame() {
    let skippable = |nth: u8, bytes: &[u8]| {
        let len = u32::try_from(bytes.len()).unwrap().to_le_bytes();
        [&[0x50 + nth, 0x2a, 0x4d, 0x18][..], &len, bytes].concat()
    };
    let many: Vec<u8> = (0..16).flat_map(|nth| skippable(nth, &[nth; 4000])).collect();
    let line = format!("{START}\n").into_bytes();
    let zstd = zstd::encode_all(&line[..], 1).unwrap();
    let run = |behind: &[u8]| {
        let bytes = [&many[..], behind].concat();
        let done = Scratch::new().run_with(&["cat", "-"], bytes);
        (done.status, done.out, done.err)
    };
    assert_eq!(run(&zstd), (0, format!("{START}\n"), String::new()));
    let (status, _, err) = run(b"\x04\x22\x4d\x18rest of it");
    assert!(status == 2 && err.contains("- is lz4, which is not read: `lz4 -dc`"), "{err}");
    let (status, out, err) = run(&line);
    assert!(status == 2 && out.is_empty(), "{out}");
    assert!(err.contains("skippable frames without zstd data after them"), "{err}");
    let (status, _, err) = run(&skippable(3, &[0; 20])[..15]);
    assert!(status == 2 && err.contains("cut off"), "{err}");
}

/// Text that is not compressed is not what such a name says.
#[test]
fn a_file_with_a_compressed_name_is_never_read_as_text() {
    let text = format!("{START} bm e4;\n");
    let game = "[White \"A\"]\n\n1. e4 *\n";
    let tsv = "eco\tname\tpgn\nA00\tAmar\t1. Nh3\n";
    let cases: [(&str, &str, &[&str]); 13] = [
        ("a.epd.zst", &text, &["count", "FILE"]),
        ("a.zst", &text, &["count", "FILE"]),
        ("a.EPD.GZ", &text, &["cat", "FILE"]),
        ("a.epd.gz", "", &["count", "FILE"]),
        ("a.epd.gz", &text, &["import", "x.epdb", "FILE"]),
        ("a.epd.zst", &text, &["pack", "FILE", "-o", "x.epa"]),
        ("a.epd.zst", &text, &["pack", "--verbatim", "FILE", "-o", "x.epa"]),
        ("a.epd.zst", &text, &["convert", "FILE", "x.epd"]),
        ("a.pgn.zst", game, &["tally", "FILE", "-o", "x.epa"]),
        ("book.bin.zst", &text, &["book", "list", "FILE"]),
        ("book.bin.gz", &text, &["count", "FILE"]),
        ("q.epd.gz", &text, &["get", "plain.epd", "-f", "FILE"]),
        ("names.tsv.gz", tsv, &["name", "plain.epd", "--openings", "FILE"]),
    ];
    for (name, content, command) in cases {
        let scratch = Scratch::with(name, content);
        scratch.write("plain.epd", &text);
        let args: Vec<&str> =
            command.iter().map(|arg| if *arg == "FILE" { name } else { arg }).collect();
        let done = scratch.run(&args);
        let format = if name.ends_with("zst") { "zstd" } else { "gzip" };
        let wanted = format!("{name} is not {format} data, as its name says");
        assert!(done.status == 2 && done.err.contains(&wanted), "{args:?}: {}", done.err);
    }
}

/// A byte of a compressed output that has changed is noticed.
#[test]
fn zst_that_epdb_writes_is_checked() {
    let scratch = Scratch::with("a.epd", format!("{START} id \"a\";\n{AFTER} id \"b\";\n"));
    scratch.run(&["convert", "a.epd", "b.epd.zst"]);
    let good = scratch.read("b.epd.zst");
    let has_checksum = good[4] & 4 != 0;
    assert!(has_checksum);
    for place in 0..good.len() {
        let mut bytes = good.clone();
        bytes[place] ^= 2;
        scratch.write("c.epd.zst", &bytes);
        let done = scratch.run(&["cat", "c.epd.zst"]);
        let is_same = done.out == scratch.text("a.epd");
        assert!(done.status == 2 || is_same, "byte {place}: {}", done.out);
    }
}

/// Files that are neither text nor an opening book, each with the same error. A NUL byte in a later
/// line is an error of that line, and text in UTF-16 is read.
#[test]
fn binary_data_is_one_error() {
    let scratch = Scratch::new();
    let elf: Vec<u8> = [b"\x7fELF\x02\x01\x01".as_slice(), &[0; 9], &[3, 0, 62, 0, 1]].concat();
    let files: [(&str, Vec<u8>); 9] = [
        ("program", [&elf[..], &[0; 11]].concat()),
        ("program.epd", elf.clone()),
        ("a.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec()),
        ("a.jpg", b"\xff\xd8\xff\xe0\0\x10JFIF".to_vec()),
        ("a.pdf", b"%PDF-1.7\n%\xe2\xe3\n1 0 obj\n".to_vec()),
        ("a.exe", [b"MZ\x90\0\x03\0\0\0\x04\0\0\0\xff\xff\0\0".as_slice(), &[0; 16]].concat()),
        ("a.tar", [b"openings/white.epd".as_slice(), &[0; 494], b"4k3/8/8/8\n"].concat()),
        ("zeros.fen", vec![0; 4096]),
        ("a.pgn", elf),
    ];
    for (name, bytes) in files {
        scratch.write(name, bytes);
        for args in [&["normalize", name][..], &["count", name], &["stats", name]] {
            let done = scratch.run(args);
            let told = format!("epdb: error: {name} is binary data, not text\n");
            assert_eq!((done.status, done.out.as_str(), done.err), (2, "", told), "{args:?}");
        }
    }
    let line = "8/8/8/4k3/8/1K6/8/8 b - - id \"a\";\n";
    scratch.write("late.epd", format!("{line}8/8\0\n{line}"));
    let done = scratch.run(&["normalize", "late.epd"]);
    assert_eq!((done.status, done.out), (1, line.repeat(2)), "{}", done.err);
    let wide: Vec<u8> = line.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let marked = [b"\xff\xfe".as_slice(), &wide].concat();
    for bytes in [wide, marked] {
        scratch.write("wide.epd", bytes);
        let done = scratch.run(&["normalize", "wide.epd"]);
        assert_eq!((done.status, done.out.as_str()), (0, line), "{}", done.err);
    }
}

/// `--from` counts for named files too. First bytes that show another format are an error.
#[test]
fn a_given_format_is_obeyed_or_refused() {
    let scratch = Scratch::with("g.epd", "1. e4 e5 2. Nf3 *\n");
    let done = scratch.run(&["count", "--from", "pgn", "g.epd"]);
    assert_eq!((done.status, done.out.as_str()), (0, "1\n"), "{}", done.err);
    let line = "4k3/8/8/8/8/8/4P3/4K3 w - -\n";
    for name in ["a.pgn", "a.txt", "a.csv", "a.fen", "a.bin"] {
        scratch.write(name, line);
        let done = scratch.run(&["count", "--from", "epd", name]);
        assert_eq!((done.status, done.out.as_str()), (0, "1\n"), "{name}: {}", done.err);
    }
    assert_eq!(scratch.run(&["pack", "a.fen", "-o", "a.epa"]).status, 0);
    scratch.write("b.epd", scratch.read("a.epa"));
    for name in ["a.epa", "b.epd"] {
        for format in ["pgn", "epd", "epb"] {
            let done = scratch.run(&["count", "--from", format, name]);
            assert_eq!(done.status, 2, "{name} {format}");
            assert!(done.err.contains("by its first bytes, not "), "{}", done.err);
        }
        assert_eq!(scratch.run(&["count", "--from", "epa", name]).out, "1\n");
    }
}

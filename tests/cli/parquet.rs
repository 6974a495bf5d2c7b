//! Parquet files, for every command that reads and writes: the tables of `formats/tables.md`.

use std::fs;

use crate::scratch::Scratch;
use crate::shared_data::shared_files;

const GAMES: &str = "[Event \"A\"]\n[Site \"?\"]\n[Date \"2024.05.06\"]\n[Round \"1\"]\n[White \"X \\\"Y\\\" Z\"]\n\
    [Black \"B\"]\n[Result \"1-0\"]\n[Annotator \"N\"]\n[WhiteElo \"2400\"]\n\n\
    1. e4 {[%eval 0.31]} 1... e5 2. Nf3 {[%eval #-3]} 2... Nc6 1-0\n\n\
    [Event \"B\"]\n[Site \"?\"]\n[Date \"????.??.??\"]\n[Round \"?\"]\n[White \"?\"]\n[Black \"?\"]\n\
    [Result \"*\"]\n[FEN \"r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 9\"]\n[SetUp \"1\"]\n\n9. O-O O-O-O *\n\n";

/// Operations of every kind: numbers beyond 64 bits, registers without a string, illegal moves, private
/// opcodes, counters as fields and as operations, Shredder-FEN, more than 32 pieces.
const RECORDS: &str = "\
8/8/8/4k3/8/1K6/8/8 b - -\n\
8/8/8/4k3/8/1K6/8/8 b - - 5 40\n\
8/8/8/4k3/8/1K6/8/8 b - - fmvn 40; hmvc 5;\n\
8/8/8/4k3/8/1K6/8/8 b - - hmvc 5;\n\
8/8/8/4k3/8/1K6/8/8 b - - acd 30; acn 18446744073709551615; c0; c1 \"a, b; c\"; ce -32761; draw_offer; id \"\";\n\
r3k2r/8/8/8/8/8/8/R3K2R w HAha - am O-O Zz9; bm O-O-O; pv O-O O-O-O Kg2; sm Ke2;\n\
8/8/8/4k3/8/1K6/8/8 b - - Private 1 two \"three\"; cc 000:01:02:03 000:04:05:06; ptp Result \"1-0\"; \
tcri \"a\" \"b\"; ts 2024.01.02 03:04:05;\n\
pppppppp/pppppppp/pppppppp/k7/8/PPPPPPPP/PPPPPPPP/K7 w - -\n";

fn normalized(scratch: &Scratch, name: &str) -> String {
    let done = scratch.run(&["normalize", name]);
    assert_eq!(done.status, 0, "{}", done.err);
    done.out
}

#[test]
fn records_come_back_as_they_were() {
    let scratch = Scratch::with("a.epd", RECORDS);
    let wanted = scratch.run(&["normalize", "a.epd"]).out;
    assert_eq!(wanted.lines().count(), RECORDS.lines().count());
    let done = scratch.run(&["convert", "a.epd", "a.parquet"]);
    assert_eq!(done.status, 0, "{}", done.err);
    assert!(scratch.read("a.parquet").starts_with(b"PAR1"));
    assert_eq!(normalized(&scratch, "a.parquet"), wanted);
    // From standard input, and under a name that says nothing.
    let bytes = scratch.read("a.parquet");
    let piped = scratch.run_with(&["normalize", "-"], bytes.clone());
    assert_eq!((piped.status, piped.out), (0, wanted.clone()), "{}", piped.err);
    scratch.write("table", bytes);
    assert_eq!(normalized(&scratch, "table"), wanted);
}

#[test]
fn all_commands_that_write_records_write_tables() {
    let scratch = Scratch::with("a.epd", RECORDS);
    assert_eq!(scratch.run(&["convert", "a.epd", "a.epb"]).status, 0);
    for args in [
        ["filter", "--where", "pieces == 2", "a.epb", "-o", "b.parquet"],
        ["sort", "--by", "key", "a.epb", "-o", "b.parquet"],
    ] {
        let done = scratch.run(&args);
        assert_eq!(done.status, 0, "{args:?} {}", done.err);
        let mut to_text = args;
        to_text[5] = "b.epb";
        assert_eq!(scratch.run(&to_text).status, 0);
        let wanted = scratch.run(&["normalize", "b.epb"]).out;
        assert_eq!(normalized(&scratch, "b.parquet"), wanted, "{args:?}");
    }
}

#[test]
fn games_come_back_with_tags_moves_and_evaluations() {
    let scratch = Scratch::with("a.pgn", GAMES);
    for schema in ["games", "lichess-games"] {
        let table = format!("{schema}.parquet");
        let done = scratch.run(&["convert", "--schema", schema, "a.pgn", &table]);
        assert_eq!(done.status, 0, "{schema} {}", done.err);
        let columns = "White,Result,plies,WhiteElo";
        let read = scratch.run(&["table", "--games", "--columns", columns, &table]);
        let wanted = scratch.run(&["table", "--games", "--columns", columns, "a.pgn"]);
        assert_eq!((read.status, &read.out), (0, &wanted.out), "{schema} {}", read.err);
        let read = scratch.run(&["convert", "--game-evals", &table, "-", "--to", "epd"]);
        let wanted = scratch.run(&["convert", "--game-evals", "a.pgn", "-", "--to", "epd"]);
        assert_eq!((read.status, &read.out), (0, &wanted.out), "{schema} {}", read.err);
    }
    // The table of games has every tag.
    let back = scratch.run(&["convert", "games.parquet", "-", "--to", "pgn"]);
    assert_eq!((back.status, back.out.as_str()), (0, GAMES), "{}", back.err);
}

#[test]
fn a_library_is_a_table_of_moves_and_back() {
    let scratch = Scratch::with("a.pgn", GAMES);
    assert_eq!(scratch.run(&["tally", "a.pgn", "-o", "a.epa"]).status, 0);
    let done = scratch.run(&["convert", "--schema", "moves", "a.epa", "a.parquet"]);
    assert_eq!(done.status, 0, "{}", done.err);
    let columns = ["table", "--rows", "moves", "--columns", "fen,move,games,score"];
    let read = scratch.run(&[&columns[..], &["a.parquet"]].concat());
    let wanted = scratch.run(&[&columns[..], &["a.epa"]].concat());
    assert_eq!((read.status, &read.out), (0, &wanted.out), "{}", read.err);
    assert!(read.out.lines().count() > 4, "{}", read.out);
    // Records without tallies have no moves to list.
    scratch.write("a.epd", RECORDS);
    let refused = scratch.run(&["convert", "--schema", "moves", "a.epd", "b.parquet"]);
    assert!(refused.err.contains("a.epd:1: the record has no `tally`"), "{}", refused.err);
    assert!(!scratch.path("b.parquet").exists());
}

#[test]
fn evaluations_come_back_from_the_columns_of_lichess() {
    let epd = "8/8/8/4k3/8/1K6/8/4R3 b - - acd 30; acn 5000; ce -410; pv Kd4 Re8;\n\
        7k/8/5KQ1/8/8/8/8/8 w - - acd 9; acn 1000; ce 32766; pv Qg7#;\n";
    let scratch = Scratch::with("a.epd", epd);
    let done = scratch.run(&["convert", "--schema", "lichess-evals", "a.epd", "a.parquet"]);
    assert_eq!(done.status, 0, "{}", done.err);
    assert_eq!(normalized(&scratch, "a.parquet"), epd);
    let refused = scratch.run(&["convert", "--schema", "lichess-puzzles", "a.epd", "b.parquet"]);
    assert_ne!(refused.status, 0);
    assert!(refused.err.contains("can only be read"), "{}", refused.err);
}

#[test]
fn schema_is_for_parquet() {
    let scratch = Scratch::with("a.epd", RECORDS);
    let done = scratch.run(&["convert", "--schema", "games", "a.epd", "b.epd"]);
    assert_eq!(done.status, 2);
    assert!(done.err.contains("--schema is for an output of Parquet"), "{}", done.err);
}

#[test]
fn damaged_tables_end_in_an_error() {
    let scratch = Scratch::with("a.epd", RECORDS);
    assert_eq!(scratch.run(&["convert", "a.epd", "a.parquet"]).status, 0);
    let bytes = scratch.read("a.parquet");
    for part in 0..24 {
        let cut = bytes.len() * part / 24;
        scratch.write("cut.parquet", &bytes[..cut]);
        let done = scratch.run(&["count", "cut.parquet"]);
        assert!(cut < 4 || done.status != 0, "{cut} {}", done.out);
        assert!(!done.err.contains("panicked"), "{cut}: {}", done.err);
        let mut changed = bytes.clone();
        changed[cut] ^= 0x55;
        scratch.write("changed.parquet", changed);
        let done = scratch.run(&["count", "changed.parquet"]);
        assert!(!done.err.contains("panicked"), "{cut}: {}", done.err);
    }
}

/// Every suite and book that is at hand, through a table and back.
#[test]
fn other_peoples_files_come_back_as_normalize_writes_them() {
    let scratch = Scratch::new();
    for file in shared_files("epd").into_iter().chain(shared_files("books")) {
        let is_text = file.extension().is_some_and(|it| it == "epd" || it == "fen");
        let is_small = fs::metadata(&file).is_ok_and(|found| found.len() < 200_000);
        if !is_text || !is_small {
            continue;
        }
        let name = file.to_str().unwrap();
        if scratch.run(&["convert", name, "a.epb", "--allow-rejects"]).status != 0 {
            // Some have the suffix of text and are something else.
            continue;
        }
        let done = scratch.run(&["convert", name, "a.parquet", "--allow-rejects"]);
        assert_eq!(done.status, 0, "{name}: {}", done.err);
        assert_eq!(
            scratch.run(&["normalize", "a.parquet"]).out,
            scratch.run(&["normalize", "a.epb"]).out,
            "{name}"
        );
    }
}

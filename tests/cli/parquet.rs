//! Parquet files, for every command that reads and writes: the tables of `formats/notes/tables.md`.

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
fn evaluations_of_games_are_in_tables_and_are_not_looked_for_elsewhere() {
    let scratch = Scratch::with("a.pgn", GAMES);
    assert_eq!(scratch.run(&["convert", "a.pgn", "a.parquet"]).status, 0);
    assert_eq!(normalized(&scratch, "a.parquet").matches(" ce ").count(), 2);
    let call = |file, condition| scratch.run(&["count", "--positions", file, "--where", condition]);
    assert_eq!(call("a.parquet", "ce > 0").out, call("a.pgn", "eval > 0").out);
    let vain = call("a.pgn", "ce > 0");
    assert!(
        vain.out == "0\n" && vain.err.contains("no record has `ce`: in games it is `eval`"),
        "{}",
        vain.err
    );
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
    // Also with every column, and from a table of a table.
    let tables = [("a.parquet", "records-all", "b.parquet"), ("b.parquet", "records", "c.parquet")];
    for (input, schema, output) in tables {
        let done = scratch.run(&["convert", "--schema", schema, input, output]);
        assert_eq!(done.status, 0, "{}", done.err);
        assert_eq!(normalized(&scratch, output), wanted);
    }
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
    // What the table does not have is counted, and what cannot be a row is an error.
    let more = format!("{epd}8/8/8/4k3/8/1K6/8/4R3 b - - acd 3; bm Kd4; ce 5; fmvn 9; id \"a\";\n");
    scratch.write("a.epd", &more);
    let to_table = ["convert", "--schema", "lichess-evals", "a.epd", "b.parquet"];
    let done = scratch.run(&to_table);
    assert!(done.status == 0 && done.err.contains("2 operations not written"), "{}", done.err);
    assert!(done.err.contains("1 records written without their counters"), "{}", done.err);
    scratch.write("a.epd", more + "8/8/8/4k3/8/1K6/8/4R3 b - - acd 3;\n");
    let done = scratch.run(&[&to_table[..], &["--force"]].concat());
    assert!(
        done.status == 2 && done.err.contains("a.epd:4: the record has no score"),
        "{}",
        done.err
    );
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

/// Games with clocks, evaluations, mates, a null move, a set-up position and every result.
const CLOCKED: &str = "[Event \"A\"]\n[White \"X\"]\n[WhiteElo \"2400\"]\n[TimeControl \"60+1\"]\n[Result \"1-0\"]\n\n\
    1. e4 {[%eval 0.31] [%clk 0:01:00]} 1... e5 {[%clk 0:00:59.5]} 2. Nf3 {[%eval #-3] [%clk 0:00:58]} \
    2... Nc6 {[%eval #12] [%emt 0:00:02]} 1-0\n\n\
    [Event \"B\"]\n[Result \"0-1\"]\n\n1. f3 e5 2. g4 {[%eval #-1]} 2... Qh4# 0-1\n\n\
    [Event \"C\"]\n[Result \"1/2-1/2\"]\n[FEN \"r3k2r/8/8/8/8/8/8/R3K2R b KQkq - 3 9\"]\n[SetUp \"1\"]\n\n\
    9... O-O-O 10. O-O {[%eval -0.05]} 1/2-1/2\n\n\
    [Event \"D\"]\n[Result \"*\"]\n\n1. e4 -- 2. d4 *\n\n\
    [Event \"E\"]\n\n*\n\n";

#[test]
fn a_table_of_our_own_is_the_same_after_reading_and_writing() {
    let scratch = Scratch::with("a.epd", RECORDS);
    scratch.write("a.pgn", CLOCKED);
    assert_eq!(scratch.run(&["tally", "a.pgn", "-o", "a.epa"]).status, 0);
    for (from, schema) in [
        ("a.epd", "records"),
        ("a.pgn", "records"),
        ("a.pgn", "games"),
        ("a.pgn", "lichess-games"),
        ("a.epa", "moves"),
        ("a.epa", "records"),
    ] {
        let done = scratch.run(&["convert", "--schema", schema, from, "1.parquet"]);
        assert_eq!(done.status, 0, "{from} {schema}: {}", done.err);
        let done = scratch.run(&["convert", "--schema", schema, "1.parquet", "2.parquet"]);
        assert_eq!(done.status, 0, "{from} {schema}: {}", done.err);
        assert!(scratch.read("1.parquet") == scratch.read("2.parquet"), "{from} {schema}");
        // One of the records has a `bm` that is no move.
        let done = scratch.run(&["verify", "2.parquet"]);
        let expected = i32::from(from == "a.epd");
        assert_eq!(done.status, expected, "{from} {schema}: {} {}", done.out, done.err);
    }
}

#[test]
fn expressions_see_the_columns_of_a_table() {
    let scratch = Scratch::with("a.pgn", CLOCKED);
    assert_eq!(scratch.run(&["convert", "a.pgn", "a.parquet"]).status, 0);
    for (expression, rows) in [
        ("result == '1-0'", "5"),
        ("result == 0", "5"),
        ("result == '1/2-1/2'", "3"),
        ("clock < 59", "1"),
        ("clock == 59.5", "1"),
        ("elapsed == 2", "1"),
        ("ply >= 2", "9"),
        ("fmvn == 10", "2"),
    ] {
        for file in ["a.pgn", "a.parquet"] {
            let count = ["filter", "--count", "--positions", "--where", expression, file];
            let done = scratch.run(&count);
            assert_eq!(
                (done.status, done.out.trim()),
                (0, rows),
                "{expression} {file} {}",
                done.err
            );
        }
    }
    // By columns alone, and where a position is needed too.
    for (expression, rows) in [("result == 0", "5"), ("ply >= 2", "9"), ("fmvn == 10", "2")] {
        let done = scratch.run(&["count", "--where", expression, "a.parquet"]);
        assert_eq!((done.status, done.out.trim()), (0, rows), "{expression} {}", done.err);
    }
    // The number of a game is in the table only.
    let done = scratch.run(&["count", "--where", "game == 1", "a.parquet"]);
    assert_eq!((done.status, done.out.trim()), (0, "5"), "{}", done.err);
    let done = scratch.run(&["filter", "--where", "game == 1", "a.parquet", "-o", "b.parquet"]);
    assert_eq!(done.status, 0, "{}", done.err);
    let done = scratch.run(&["table", "--columns", "game,result,ply", "b.parquet"]);
    let wanted = "game\tresult\tply\n1\t0.0\t0\n1\t0.0\t1\n1\t0.0\t2\n1\t0.0\t3\n1\t0.0\t4\n";
    assert_eq!((done.status, done.out.as_str()), (0, wanted), "{}", done.err);
}

#[test]
fn counters_of_six_fields_are_columns() {
    let scratch = Scratch::with("a.fen", "8/8/8/4k3/8/1K6/8/8 b - - 7 40\n");
    assert_eq!(scratch.run(&["convert", "a.fen", "a.parquet"]).status, 0);
    let wanted = "8/8/8/4k3/8/1K6/8/8 b - - 7 40\n";
    assert_eq!(scratch.run(&["convert", "a.parquet", "-", "--to", "fen"]).out, wanted);
    assert_eq!(normalized(&scratch, "a.parquet"), wanted);
    let done = scratch.run(&["count", "--where", "hmvc == 7", "a.parquet"]);
    assert_eq!(done.out.trim(), "1", "{}", done.err);
}

/// Options of records hold for a table too, though no record is needed to count its rows.
#[test]
fn options_of_records_hold_for_tables() {
    let scratch = Scratch::with("a.epd", "8/8/8/4k3/8/1K6/8/8 b - - draw_offer;\n");
    assert_eq!(scratch.run(&["convert", "-q", "a.epd", "a.parquet"]).status, 0);
    for option in [&["--deny-warnings"][..], &["--max-line", "30"]] {
        let done = scratch.run(&[&["count", "a.parquet"], option].concat());
        assert_eq!((done.status, done.out.as_str()), (1, "0\n"), "{option:?}: {}", done.err);
    }
}

/// Every changed bit of a table of ours is found, or it is where it does not matter.
#[test]
fn a_changed_bit_never_changes_a_record() {
    let scratch = Scratch::with("a.epd", RECORDS);
    scratch.write("a.pgn", CLOCKED);
    for (from, schema, to) in [("a.epd", "records", "epd"), ("a.pgn", "games", "pgn")] {
        assert_eq!(scratch.run(&["convert", "--schema", schema, from, "a.parquet"]).status, 0);
        let bytes = scratch.read("a.parquet");
        let read = |name: &str| scratch.run(&["convert", name, "-", "--to", to]);
        let wanted = read("a.parquet").out;
        for part in 0..70 {
            let place = (bytes.len() - 1) * part / 69;
            let mut changed = bytes.clone();
            changed[place] ^= 1 << (part % 8);
            scratch.write("b.parquet", &changed);
            let done = read("b.parquet");
            assert!(done.status != 0 || done.out == wanted, "{schema} {place}: {}", done.out);
            assert!(!done.err.contains("panicked"), "{schema} {place}: {}", done.err);
            let verified = scratch.run(&["verify", "b.parquet"]);
            // The name of the writer shows that a file has checks.
            let has_writer = changed.windows(13).any(|text| text == b"epdb version ");
            assert!(verified.status != 0 || !has_writer, "{schema} {place} {}", verified.out);
        }
    }
}

#[test]
fn what_a_table_of_games_does_not_have_is_counted() {
    let game = "[Event \"A\"]\n[Date \"2024.01.02\"]\n[Round \"3\"]\n[WhiteElo \"2400?\"]\n[Result \"*\"]\n\n\
        {before} 1. e4 $1 {good} (1. d4 {better} (1. c4)) 1... e5 {[%eval 0.3] [%clk 0:01:00]} \
        2. d4 {[%eval 0.1] book} *\n\n";
    let scratch = Scratch::with("a.pgn", game);
    for (schema, lines) in [
        ("games", "epdb: 4 comments left out\nepdb: 1 NAG left out\nepdb: 2 variations left out\n"),
        ("lichess-games", "epdb: 3 tags left out\n"),
    ] {
        let done = scratch.run(&["convert", "--schema", schema, "a.pgn", "a.parquet"]);
        assert!(done.err.contains(lines), "{schema}: {}", done.err);
    }
}

#[test]
fn a_tag_that_is_not_of_its_type_is_shown() {
    let game = "[Event \"A\"]\n[Date \"2011.20.11\"]\n[WhiteElo \"2400?\"]\n[BlackElo \"2300\"]\n\
        [PlyCount \"x\"]\n[Result \"*\"]\n\n1. e4 *\n\n";
    let scratch = Scratch::with("a.pgn", game);
    let columns = "Date,WhiteElo,BlackElo,PlyCount,year";
    let done = scratch.run(&["table", "--games", "--columns", columns, "a.pgn"]);
    let row = done.out.lines().nth(1);
    assert_eq!((done.status, row), (0, Some("2011.20.11\t2400?\t2300\tx\t2011")), "{}", done.err);
    let template = "{Date} {WhiteElo} {BlackElo} {PlyCount}";
    let done = scratch.run(&["table", "--games", "--template", template, "a.pgn"]);
    assert_eq!(done.out, "2011.20.11 2400? 2300 x\n", "{}", done.err);
    // In an expression, it has no value.
    let done = scratch.run(&["count", "--where", "WhiteElo > 1", "a.pgn"]);
    assert_eq!(done.out.trim(), "0", "{}", done.err);
}

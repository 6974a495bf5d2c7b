//! The command line as a user types it: output, exit status, diagnostics, files.

use std::fs;
use std::path::Path;

use crate::scratch::{Done, Scratch};

const SAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/samples/openings.epd");
const START: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -";

#[test]
fn normalize_writes_canonical_text_and_reports_repairs() {
    let scratch =
        Scratch::with("mess.epd", format!("{START} id first move;bm e2e4 Nf3\r\n\n# end\n"));
    let done = scratch.run(&["normalize", "mess.epd"]);
    assert_eq!(done.out, format!("{START} bm Nf3 e4; id \"first move\";\n\n# end\n"));
    assert_eq!(done.status, 0);
    assert!(done.err.contains("mess.epd:1:57: warning[W-LEN-UNQUOTED]"), "{}", done.err);
    assert!(done.err.contains("1 record, 2 blank or comment lines, 0 rejected"), "{}", done.err);
}

#[test]
fn normalize_is_quiet_and_does_nothing_to_canonical_text() {
    let line = format!("{START} bm Nf3 e4;\n");
    let done = Scratch::with("a.epd", &line).run(&["normalize", "a.epd", "--profile", "strict"]);
    assert_eq!((done.out.as_str(), done.err.as_str(), done.status), (line.as_str(), "", 0));
}

/// A line end separates the rejects of two sources, and nothing else is added.
#[test]
fn rejects_of_sources_without_a_last_line_end_are_separated() {
    let scratch = Scratch::with("a.pgn", "1. e4 e5 2. Ke3 0-1");
    scratch.write("b.pgn", "[Event \"?\"]\n\n1. Kd4 1-0");
    scratch.write("a.epd", "bad\n8/8/8/8/8/8/8/K1k5 w - -\nworse");
    scratch.write("b.epd", "8/8/8/8/8/8/8/K1k5 w - -\nworst");
    for (sources, rejects) in [
        (["a.pgn", "b.pgn"], "1. e4 e5 2. Ke3 0-1\n[Event \"?\"]\n\n1. Kd4 1-0"),
        (["a.epd", "b.epd"], "bad\nworse\nworst"),
    ] {
        let [one, other] = sources;
        scratch.run(&["sort", "--by", "plies", one, other, "-o", "o.pgn", "--rejects", "bad"]);
        if one == "a.epd" {
            scratch.run(&["normalize", one, other, "--rejects", "bad"]);
        }
        assert_eq!(scratch.text("bad"), rejects, "{sources:?}");
    }
}

/// Every line is written, skipped, or in the file of rejects, byte for byte.
// README: Nothing is lost silently
#[test]
fn rejected_lines_are_kept_verbatim() {
    let scratch = Scratch::new();
    let bad = b"hello\tworld\r\n8/8/8/8/8/8/8 w - -\n";
    scratch.write("a.epd", [format!("{START}\n").as_bytes(), bad, b"# x\n"].concat());
    let done = scratch.run(&["normalize", "a.epd", "--rejects", "bad.epd"]);
    assert_eq!((done.out.as_str(), done.status), (format!("{START}\n# x\n").as_str(), 1));
    assert_eq!(scratch.read("bad.epd"), bad);
    assert!(done.err.contains("a.epd:2:"), "{}", done.err);
    assert!(done.err.contains("error[E-EPD-FIELDS]"), "{}", done.err);
    assert!(done.err.contains("error[E-FEN-RANKS]"), "{}", done.err);
    assert_eq!(scratch.run(&["normalize", "a.epd", "--allow-rejects"]).status, 0);
    let kept = scratch.run(&["normalize", "a.epd", "--keep-bad"]);
    assert_eq!(kept.out.as_bytes(), [format!("{START}\n").as_bytes(), bad, b"# x\n"].concat());
}

#[test]
fn a_line_over_the_limit_is_rejected_whole() {
    let scratch = Scratch::new();
    let long = format!("{START} c0 \"{}\";\n", "x".repeat(300_000));
    scratch.write("a.epd", format!("{START}\n{long}{START} bm e4;\n"));
    let args = ["normalize", "a.epd", "--max-line", "64K", "--rejects", "bad.epd"];
    let done = scratch.run(&args);
    assert_eq!(done.out, format!("{START}\n{START} bm e4;\n"));
    assert!(done.err.contains("a.epd:2:65537: error[E-EPD-LINELEN]"), "{}", done.err);
    // It counts as rejected.
    assert!(done.err.contains("1 rejected"), "{}", done.err);
    assert_eq!(done.status, 1);
    assert_eq!(scratch.read("bad.epd"), long.as_bytes());
}

// README: Nothing is lost silently
#[test]
fn repairs_are_listed_with_before_and_after() {
    let scratch = Scratch::with("a.epd", format!("{START} id BK.01;\n"));
    scratch.run(&["normalize", "a.epd", "--repairs", "repairs.tsv"]);
    let repairs = String::from_utf8(scratch.read("repairs.tsv")).unwrap();
    let lines: Vec<Vec<&str>> = repairs.lines().map(|line| line.split('\t').collect()).collect();
    assert_eq!(lines[0], ["#file", "line", "code", "before", "after"]);
    assert_eq!(lines[1][..3], ["a.epd", "1", "W-LEN-UNQUOTED"]);
    assert_eq!(lines[1].len(), 5);
}

#[test]
fn denied_warnings_reject_the_line() {
    let scratch = Scratch::with("a.epd", format!("{START} id BK.01;\n{START}\n"));
    let done = scratch.run(&["normalize", "a.epd", "--deny-warnings"]);
    assert_eq!((done.out, done.status), (format!("{START}\n"), 1));
}

#[test]
fn only_twenty_warnings_of_a_code_are_printed() {
    let scratch = Scratch::with("a.epd", format!("{START} id x;\n").repeat(50));
    let shown = |done: Done| done.err.matches("warning[W-LEN-UNQUOTED]").count();
    assert_eq!(shown(scratch.run(&["normalize", "a.epd"])), 20);
    assert_eq!(shown(scratch.run(&["normalize", "a.epd", "--all-warnings"])), 50);
    assert!(
        scratch.run(&["normalize", "a.epd"]).err.contains("W-LEN-UNQUOTED     warning          50")
    );
}

#[test]
fn pfdn_has_counters_as_operations_and_normalize_keeps_them() {
    let scratch = Scratch::with("a.fen", format!("{START} 0 1\n"));
    assert_eq!(scratch.run(&["normalize", "a.fen"]).out, format!("{START} 0 1\n"));
    assert_eq!(scratch.run(&["pfdn", "a.fen"]).out, format!("{START} fmvn 1; hmvc 0;\n"));
    let drop = scratch.run(&["normalize", "a.fen", "--counters", "drop"]);
    assert_eq!(drop.out, format!("{START}\n"));
    assert!(drop.err.contains("1 records written without their counters"), "{}", drop.err);
}

/// A file of EPD has four fields and operations, one of FEN six fields; standard output is as the input.
#[test]
fn files_of_epd_are_epd() {
    let ops = format!("{START} bm e4; id \"x\";\n");
    let scratch = Scratch::with("a.fen", format!("{START} 0 1\n{START} 3 9\n"));
    scratch.write("b.epd", format!("{START} 3 9\n{START} 0 1 bm e4; id \"x\";\n{START}\n"));
    let epd = format!("{START} fmvn 1; hmvc 0;\n{START} fmvn 9; hmvc 3;\n");
    for (number, args) in [
        &["convert", "a.fen"][..],
        &["normalize", "a.fen", "-o"],
        &["cat", "a.fen", "-o"],
        &["sort", "a.fen", "--by", "hmvc", "-o"],
        &["dedupe", "a.fen", "--by", "record", "-o"],
        &["filter", "a.fen", "--where", "pieces > 0", "-o"],
        &["unpack", "p.epa", "-o"],
    ]
    .iter()
    .enumerate()
    {
        assert_eq!(scratch.run(&["pack", "a.fen", "-o", "p.epa"]).status, 0);
        let to = format!("{number}.epd");
        let done = scratch.run(&[*args, &[&*to]].concat());
        assert_eq!(done.status, 0, "{args:?} {}", done.err);
        assert_eq!(scratch.text(&to), epd, "{args:?}");
        assert_eq!(scratch.run(&["normalize", &to, "--profile", "strict"]).out, epd);
        let keep = format!("keep{number}.epd");
        let done = scratch.run(&[*args, &[&*keep, "--counters", "keep"]].concat());
        assert_eq!(done.status, 0, "{args:?} {}", done.err);
        assert_eq!(scratch.text(&keep), scratch.text("a.fen"), "{args:?}");
        let fen = format!("{number}.fen");
        assert_eq!(scratch.run(&[*args, &[&*fen]].concat()).status, 0);
        assert_eq!(scratch.text(&fen), scratch.text("a.fen"), "{args:?}");
    }
    for to in ["c.epd.gz", "c.epd.zst"] {
        assert_eq!(scratch.run(&["convert", "a.fen", to]).status, 0);
        assert_eq!(scratch.run(&["normalize", to]).out, epd);
    }
    assert_eq!(scratch.run(&["normalize", "a.fen"]).out, scratch.text("a.fen"));
    assert_eq!(scratch.run(&["convert", "b.epd", "d.epd", "--counters", "fen"]).status, 0);
    assert_eq!(
        scratch.text("d.epd"),
        format!("{START} 3 9\n{START} 0 1 bm e4; id \"x\";\n{START}\n")
    );
    assert_eq!(scratch.run(&["convert", "b.epd", "e.epd", "--counters", "drop"]).status, 0);
    assert_eq!(scratch.text("e.epd"), format!("{START}\n{ops}{START}\n"));
}

/// The normal form of the standard sorts operands that have no order of their own.
#[test]
fn pfdn_sorts_operands_without_an_order() {
    let line = |operations: &str| format!("{START} {operations}\n");
    for (before, after) in [
        ("zz b a;", "zz a b;"),
        ("noop 3 \"x\" 10 B;", "noop \"x\" 10 3 B;"),
        ("zz \"b\" \"a\";", "zz \"a\" \"b\";"),
        ("pv e4 a6;", "pv e4 a6;"),
        ("pv2 e4 a6;", "pv2 e4 a6;"),
        ("sv e4 a6;", "sv e4 a6;"),
        ("tcri \"z\" \"a\";", "tcri \"z\" \"a\";"),
        ("cc 000:01:00:00 000:00:30:00;", "cc 000:01:00:00 000:00:30:00;"),
    ] {
        let scratch = Scratch::with("a.epd", line(before));
        let done = scratch.run(&["pfdn", "a.epd"]);
        assert_eq!((done.out, done.status), (line(after), 0), "{}", done.err);
        assert_eq!(scratch.run(&["normalize", "a.epd"]).out, line(before));
    }
}

/// All verbs of the standard are known by their names.
#[test]
fn pfop_is_purge() {
    let scratch = Scratch::with("a.epd", format!("{START} bm e4; id \"x\";\n"));
    let done = scratch.run(&["pfop", "bm", "a.epd"]);
    assert_eq!((done.out, done.status), (format!("{START} id \"x\";\n"), 0), "{}", done.err);
    let page = scratch.run(&["help", "pfop"]);
    assert_eq!((page.status, page.out), (0, scratch.run(&["help", "purge"]).out));
}

#[test]
fn forms_of_output_are_chosen() {
    let scratch =
        Scratch::with("a.epd", "4k3/8/8/8/4P3/8/8/R3K2R b KQ e3 bm Ke7; hmvc 0; fmvn 1;\n");
    let run = |args: &[&str]| scratch.run(&[&["normalize", "a.epd"], args].concat()).out;
    assert_eq!(run(&["--ep", "legal", "--format", "fen"]), "4k3/8/8/8/4P3/8/8/R3K2R b KQ - 0 1\n");
    assert_eq!(
        run(&["--castling", "shredder", "--counters", "drop"]),
        "4k3/8/8/8/4P3/8/8/R3K2R b HA e3 bm Ke7;\n"
    );
    assert_eq!(run(&["--format", "fen+ops"]), "4k3/8/8/8/4P3/8/8/R3K2R b KQ e3 0 1 bm Ke7;\n");
}

#[test]
fn output_is_the_same_for_any_number_of_threads() {
    let scratch = Scratch::new();
    let line = |number: u32| format!("{START} id \"{number}\"; bm e2e4;\n");
    scratch.write("a.epd", (0..20_000).map(line).collect::<String>());
    let one = scratch.run(&["normalize", "a.epd", "--threads", "1"]);
    let four = scratch.run(&["normalize", "a.epd", "--threads", "4"]);
    assert_eq!(one.out.lines().count(), 20_000);
    assert!(one.out == four.out && one.err == four.err);
}

#[test]
fn purge_leaves_the_rest_byte_for_byte() {
    let scratch =
        Scratch::with("a.epd", format!("{START}  c0 \"bm e4;\"; bm e4 ;ce 5\r\n{START} bm d4\n"));
    let done = scratch.run(&["purge", "bm", "a.epd"]);
    assert_eq!(done.out, format!("{START}  c0 \"bm e4;\";ce 5\r\n{START}\n"));
    assert_eq!(done.status, 0);
    scratch.write("b.epd", format!("{START} bm e4; id \"a\";\r\njunk\r\n{START} ce 5\n"));
    let done = scratch.run(&["purge", "bm", "b.epd", "--where", "has(id)", "--rejects", "bad"]);
    assert_eq!((done.status, done.out), (1, format!("{START} id \"a\";\r\n")), "{}", done.err);
    assert_eq!(scratch.text("bad"), "junk\r\n");
    assert!(done.err.contains("1 rejected, 1 left out by --where"), "{}", done.err);
    let wrong = scratch.run(&["purge", "9x", "a.epd"]);
    assert_eq!((wrong.status, wrong.out.as_str()), (2, ""));
}

/// The thread on which everything hangs: text, store, stream and back.
// README: Text comes back
#[test]
fn import_export_and_streams_give_what_normalize_gives() {
    let scratch = Scratch::new();
    let normal = scratch.run(&["normalize", SAMPLE]).out;
    let import = scratch.run(&["import", "s.epdb", SAMPLE]);
    assert_eq!((import.status, import.out.as_str()), (0, ""));
    assert_eq!(scratch.run(&["export", "s.epdb"]).out, normal);
    assert_eq!(scratch.run(&["normalize", "s.epdb"]).out, normal);
    assert_eq!(scratch.run(&["convert", SAMPLE, "s.epb"]).status, 0);
    assert_eq!(scratch.run(&["convert", "s.epb", "-", "--to", "epd"]).out, normal);
    assert_eq!(scratch.run(&["convert", "s.epb", "t.epdb"]).status, 0);
    assert_eq!(scratch.run(&["export", "t.epdb"]).out, normal);
    let mut by_key: Vec<String> =
        scratch.run(&["export", "s.epdb", "--sort", "key"]).out.lines().map(String::from).collect();
    let mut lines: Vec<String> = normal.lines().map(String::from).collect();
    by_key.sort();
    lines.sort();
    assert_eq!(by_key, lines);
    assert_eq!(
        scratch.run(&["count", "s.epdb", "s.epb", SAMPLE]).out,
        format!("{}\n", 3 * lines.len())
    );
    assert_eq!(scratch.run(&["verify", "s.epdb", "s.epb", SAMPLE]).status, 0);
}

#[test]
fn compressed_text_and_pipes_are_read_and_written() {
    let scratch = Scratch::new();
    let normal = scratch.run(&["normalize", SAMPLE]).out;
    for name in ["a.epd.gz", "a.epd.zst"] {
        let keep = ["normalize", SAMPLE, "--counters", "keep", "-o", name];
        assert_eq!(scratch.run(&keep).status, 0);
        assert_eq!(scratch.run(&["normalize", name]).out, normal);
        let piped = scratch.run_with(&["normalize"], scratch.read(name));
        assert_eq!(piped.out, normal, "recognised by its bytes");
    }
    scratch.run(&["convert", SAMPLE, "a.epb"]);
    assert_eq!(scratch.run_with(&["normalize", "-"], scratch.read("a.epb")).out, normal);
}

// README: Positions are equal if the same moves can be played from them
#[test]
fn get_finds_all_records_of_a_position_in_any_source() {
    let scratch = Scratch::new();
    scratch.run(&["import", "s.epdb", SAMPLE]);
    scratch.run(&["convert", SAMPLE, "s.epb"]);
    let after_e4 = "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b HAha - 0 1";
    for source in ["s.epdb", "s.epb", SAMPLE] {
        let done = scratch.run(&["get", source, after_e4]);
        assert_eq!(done.status, 0);
        let ids: Vec<bool> = done.out.lines().map(|line| line.contains("king pawn")).collect();
        assert_eq!(ids, [true, true], "with and without the superfluous square");
    }
    let first = scratch.run(&["get", "s.epdb", after_e4, "--first", "--tag"]);
    assert!(first.out.starts_with("1\trnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq e3"));
    assert_eq!(first.out.lines().count(), 1);
    let two = scratch.run(&["get", "s.epdb", "s.epb", after_e4]);
    assert_eq!(two.out.lines().count(), 4);
}

#[test]
fn get_answers_standard_input_in_order_and_reports_missing_positions() {
    let scratch = Scratch::new();
    scratch.run(&["import", "s.epdb", SAMPLE]);
    let unknown = "4k3/8/8/8/8/8/8/4K2R w K - 0 1";
    let questions = format!("{unknown}\n{START} 0 1\nnonsense\n\n8/8/8/8/8/4k3/4p3/4K3 w - -\n");
    let done = scratch.run_with(&["get", "s.epdb", "--tag"], questions.as_str());
    let tags: Vec<&str> = done.out.lines().filter_map(|line| line.split('\t').next()).collect();
    assert_eq!((tags, done.status), (vec!["2", "5"], 1));
    assert!(done.err.contains("-:3:1: error[E-EPD-FIELDS]"), "{}", done.err);
    let missing = scratch.run_with(&["get", "s.epdb", "--missing"], questions.as_str());
    assert_eq!(missing.out, format!("{unknown}\n"));
}

#[test]
fn moves_are_listed_in_ordinal_order() {
    let done = Scratch::new().run(&["moves", "r3k2r/8/8/8/8/8/8/R3K2R w KQkq -"]);
    let lines: Vec<&str> = done.out.lines().collect();
    assert_eq!(lines.len(), 26);
    assert_eq!(lines[5..7], ["5\tO-O\te1g1", "6\tO-O-O\te1c1"]);
    assert_eq!(Scratch::new().run(&["moves", "8/8/8/8/8/8/8/8 w - -"]).status, 2);
}

/// A move is illegal for `verify` where it is for `illegal()`, also in a position where no move is legal.
#[test]
fn verify_and_filter_find_the_same_illegal_moves() {
    let in_check = "4k3/8/8/3q4/8/8/4R3/R3K3 w Q -";
    for (line, verdict, illegal) in [
        (format!("{START} bm e5;"), "1 illegal move", 1),
        (format!("{in_check} bm Kh8;"), "1 illegal move, 1 warning", 1),
        (format!("{in_check} am Rd2 Kh8; bm #3 Ra8;"), "2 illegal moves, 1 warning", 1),
        ("8/8/8/8/8/8/8/R3K2R w KQ - pv O-O Kf8 Rf8;".into(), "1 illegal move, 1 warning", 1),
        (format!("{in_check} bm #3; id \"a\";"), "no damage found, 1 warning", 0),
        (format!("{START} bm e4;"), "no damage found", 0),
    ] {
        let scratch = Scratch::with("a.epd", format!("{line}\n"));
        let verified = scratch.run(&["verify", "a.epd"]);
        assert_eq!(verified.out, format!("a.epd: {verdict}\n"), "{line}");
        assert_eq!(verified.status, illegal, "{line}");
        let filter = ["am", "bm", "pv"].map(|opcode| format!("illegal({opcode})")).join(" || ");
        let counted = scratch.run(&["filter", "a.epd", "--count", "--where", &filter]);
        assert_eq!(counted.out, format!("{illegal}\n"), "{line}");
    }
}

#[test]
fn stats_count_positions_in_every_sense() {
    let scratch = Scratch::with("a.epd", format!("{START}\n{START} 0 1\n{START} id \"x\";\n"));
    scratch.write(
        "ids.epd",
        ["x", "y", "x", "", "x"].map(|id| format!("{START} id \"{id}\";\n")).concat(),
    );
    let repeated = scratch.run(&["stats", "ids.epd"]).out;
    let line = repeated.lines().find(|line| line.contains("the id of an earlier one"));
    assert!(line.is_some_and(|line| line.ends_with(" 2")), "{repeated}");
    let done = scratch.run(&["stats", "a.epd", "--json"]);
    let stats: serde_json::Value = serde_json::from_str(&done.out).unwrap();
    assert_eq!((&stats["records"], &stats["repeated_ids"]), (&3.into(), &0.into()));
    assert_eq!(stats["unique_with_counters"], 2);
    assert_eq!(stats["unique_positions"], 1);
    assert_eq!(stats["opcodes"]["id"], 1);
    let text = scratch.run(&["stats", "a.epd"]).out;
    assert!(text.lines().any(|line| line.starts_with("unique positions") && line.ends_with(" 1")));
}

#[test]
fn duplicates_are_kept_left_out_replaced_or_merged() {
    let scratch = Scratch::new();
    scratch.write("a.epd", format!("{START} id \"a\"; bm e4;\n"));
    scratch.write("b.epd", format!("{START} bm d4; c0 \"b\";\n"));
    let import = |what: &[&str]| {
        fs::remove_file(scratch.path("s.epdb")).ok();
        let done = scratch
            .run(&[&["import", "s.epdb", "a.epd", "b.epd", "--on-duplicate"], what].concat());
        (scratch.run(&["export", "s.epdb"]).out, done.err)
    };
    let (a, b) = (format!("{START} bm e4; id \"a\";\n"), format!("{START} bm d4; c0 \"b\";\n"));
    assert_eq!(import(&["keep"]).0, format!("{a}{b}"));
    assert_eq!(import(&["skip"]).0, a);
    assert_eq!(import(&["replace"]).0, b);
    let (both, told) = import(&["merge"]);
    assert_eq!(both, format!("{a}{b}"));
    assert!(told.contains("1 in conflict and kept"), "{told}");
    let merged = import(&["merge", "--bm", "union"]).0;
    assert_eq!(merged, format!("{START} bm d4 e4; c0 \"b\"; id \"a\";\n"));
}

#[test]
fn dump_explains_bytes() {
    let scratch = Scratch::new();
    scratch.run(&["convert", SAMPLE, "s.epb"]);
    let done = scratch.run(&["dump", "s.epb", "--limit", "1"]);
    assert!(done.out.starts_with(&format!("record 1: {START} bm Nf3 c4 d4 e4;")), "{}", done.out);
    assert!(done.out.contains("bm Nf3 c4 d4 e4"));
    let position = scratch.run(&["dump", &format!("{START} 0 1")]);
    assert!(position.out.contains("463b96181691fc9c"), "{}", position.out);
}

#[test]
fn a_failed_run_leaves_no_file_and_an_old_one_as_it_was() {
    let scratch = Scratch::with("out.epd", "precious");
    let done = scratch.run(&["normalize", "missing.epd", "-o", "out.epd"]);
    assert_eq!(done.status, 2);
    assert!(done.err.starts_with("epdb: error: cannot read missing.epd"), "{}", done.err);
    assert_eq!(scratch.read("out.epd"), b"precious");
    assert_eq!(scratch.names(), ["out.epd"]);
    assert_eq!(scratch.run(&["convert", SAMPLE, "out.epdb"]).status, 0);
    assert_eq!(
        scratch.run(&["convert", SAMPLE, "out.epdb"]).status,
        2,
        "a store is not overwritten"
    );
}

#[test]
fn empty_input_is_no_error() {
    let scratch = Scratch::with("empty.epd", "");
    for args in [&["normalize", "empty.epd"][..], &["stats", "empty.epd"], &["verify", "empty.epd"]]
    {
        assert_eq!(scratch.run(args).status, 0, "{args:?}");
    }
    assert_eq!(scratch.run(&["count"]).out, "0\n");
    assert_eq!(scratch.run(&["import", "s.epdb", "empty.epd"]).status, 0);
    assert_eq!(scratch.run(&["export", "s.epdb"]).out, "");
    assert_eq!(scratch.run(&["convert", "empty.epd", "e.epb"]).status, 0);
    assert_eq!(scratch.run(&["count", "e.epb"]).out, "0\n");
}

#[test]
fn damaged_files_are_named_with_the_place() {
    let scratch = Scratch::new();
    scratch.run(&["convert", SAMPLE, "s.epb"]);
    let mut bytes = scratch.read("s.epb");
    bytes[100] ^= 1;
    scratch.write("s.epb", &bytes);
    let done = scratch.run(&["normalize", "s.epb"]);
    assert_eq!(done.status, 2);
    assert!(done.err.contains("s.epb"), "{}", done.err);
    assert_eq!(scratch.run(&["verify", "s.epb"]).status, 1);
    scratch.write("s.epb", &bytes[..bytes.len() - 1]);
    assert_eq!(scratch.run(&["verify", "s.epb"]).status, 1);
}

#[test]
fn every_command_has_help_with_an_example() {
    let scratch = Scratch::new();
    let help = scratch.run(&["help", "all"]).out;
    let commands = [
        "normalize",
        "pfdn",
        "purge",
        "convert",
        "import",
        "export",
        "get",
        "stats",
        "count",
        "verify",
        "dump",
        "moves",
        "sort",
        "tfgg",
        "completions",
    ];
    for command in commands {
        assert!(help.contains(command), "{command} is not in the help");
        let page = scratch.run(&["help", command]).out;
        assert!(page.contains("Example"), "{command} has no example");
    }
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        assert!(scratch.run(&["completions", shell]).out.contains("epdb"));
    }
}

#[test]
fn wrong_usage_is_reported_on_stderr_with_status_2() {
    let scratch = Scratch::new();
    for args in [
        &["normalyze", "a"][..],
        &["normalize", "--profile", "loose"],
        &["get", "only-a-source", "--missing", "--first"],
        &["get", "8/8/8/8/8/8/8/8 w - -"],
        &["convert", "a.epd", "a.xyz"],
        &["import", "s.epdb"],
        &["moves", "not a position"],
        &["export", "missing.epdb"],
        &["normalize", "--max-line", "12parsec"],
    ] {
        let done = scratch.run(args);
        assert_eq!((done.status, done.out.as_str()), (2, ""), "{args:?}: {}", done.err);
        assert!(!done.err.is_empty(), "{args:?}");
    }
    assert!(!Path::new(&scratch.path("s.epdb")).exists());
}

/// A program that asks one line at a time gets each answer before it asks on.
#[test]
fn get_answers_each_line_of_a_pipe_at_once() {
    use std::io::{BufRead, BufReader, Write};

    let lines = "4k3/8/8/8/8/8/4P3/4K3 w - - 3 40\n7k/8/8/8/8/8/8/K7 w - - id \"x\";\n";
    let scratch = Scratch::with("suite.epd", lines);
    scratch.run(&["import", "s.epdb", "suite.epd"]);
    scratch.run(&["pack", "suite.epd", "--level", "fast", "-o", "fast.epa"]);
    scratch.run(&["pack", "suite.epd", "-o", "default.epa"]);
    for source in ["s.epdb", "fast.epa", "default.epa"] {
        let mut child = scratch.spawn(&["get", "--tag", source]);
        let mut asking = child.stdin.take().unwrap();
        let mut answers = BufReader::new(child.stdout.take().unwrap());
        let mut answer = || {
            let mut line = String::new();
            answers.read_line(&mut line).unwrap();
            line
        };
        asking.write_all(b"4k3/8/8/8/8/8/4P3/4K3 w - -\n").unwrap();
        assert_eq!(answer(), "1\t4k3/8/8/8/8/8/4P3/4K3 w - - 3 40\n", "{source}");
        // The second question comes with the beginning of the third.
        asking.write_all(b"7k/8/8/8/8/8/8/K7 w - - 0 9\r\n7k/8/8").unwrap();
        assert_eq!(answer(), "2\t7k/8/8/8/8/8/8/K7 w - - id \"x\";\n", "{source}");
        asking.write_all(b"/8/8/8/8/K7 w - -").unwrap();
        drop(asking);
        assert_eq!(answer(), "3\t7k/8/8/8/8/8/8/K7 w - - id \"x\";\n", "{source}");
        assert_eq!(answer(), "");
        assert!(child.wait().unwrap().success());
    }
}

/// However questions are spelled, in whatever source: the records of each, in order; what does not
/// fit into memory is looked up again.
#[test]
fn get_finds_the_same_in_every_source() {
    let mut book = String::new();
    for number in 1..400 {
        book += &format!("4k3/8/8/8/8/8/4P3/4K3 w - - 0 {number}\n");
        book += &format!(
            "{}K{}k/8/8/8/8/8/8/8 b - - id \"{number}\";\n",
            1 + number % 3,
            5 - number % 3
        );
        book += &format!("rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq e3 0 {number}\n");
    }
    let scratch = Scratch::with("book.epd", &book);
    scratch.run(&["import", "book.epdb", "book.epd"]);
    scratch.run(&["pack", "book.epd", "--level", "fast", "-o", "fast.epa"]);
    scratch.run(&["pack", "book.epd", "--level", "fast", "--sorted", "-o", "sorted.epa"]);
    scratch.run(&["pack", "book.epd", "-o", "default.epa"]);
    let questions = "4k3/8/8/8/8/8/4P3/4K3 w - - bm e4;\n\n# no question\n1K5k/8/8/8/8/8/8/8 b - - 7 8\n\
        rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b HAha - 0 1\n8/8 w - -\n\
        7k/8/8/8/8/8/8/K7 w - -\n4k3/8/8/8/8/8/4P3/4K3 w -  - 0 0 0 0\n";
    for options in [
        &["--tag"][..],
        &["--first"],
        &["--missing"],
        &["--where", "fmvn == 17 || id == '3'"],
        &["--format", "fen", "--ep", "legal"],
        &["--memory", "1K"],
    ] {
        let get = |source: &str| {
            let done = scratch.run_with(&[&["get", source], options].concat(), questions);
            assert_eq!(done.status, 1, "{source}");
            (done.out, done.err)
        };
        let expected = get("book.epd");
        assert!(expected.1.contains("-:6:"), "{}", expected.1);
        for source in ["book.epdb", "fast.epa", "sorted.epa", "default.epa"] {
            assert_eq!(get(source).0, expected.0, "{source} {options:?}");
        }
        let twice =
            scratch.run_with(&[&["get", "fast.epa", "book.epdb"], options].concat(), questions);
        let lines = match options[0] {
            "--first" | "--missing" => expected.0.lines().count(),
            _ => 2 * expected.0.lines().count(),
        };
        assert_eq!(twice.out.lines().count(), lines, "{options:?}");
    }
}

/// Whichever command meets damage in an archive says which file it is.
#[test]
fn damage_of_an_archive_is_reported_with_its_file() {
    let scratch = Scratch::new();
    scratch.write("a.epd", format!("{START} id \"x\";\n").repeat(30));
    assert_eq!(scratch.run(&["pack", "a.epd", "-o", "a.epa"]).status, 0);
    let mut bytes = scratch.read("a.epa");
    // The section table stands before the footer. What comes before it is still read in order.
    let len = bytes.len();
    for byte in &mut bytes[len - 200..len - 140] {
        *byte ^= 0x55;
    }
    scratch.write("a.epa", bytes);
    for (call, status) in
        [(&["unpack", "a.epa"][..], 1), (&["get", "a.epa", START], 1), (&["dump", "a.epa"], 2)]
    {
        let done = scratch.run(call);
        assert_eq!(done.status, status, "{call:?}");
        assert!(done.err.starts_with("epdb: error: a.epa: damaged: "), "{call:?}: {}", done.err);
    }
}

#[test]
fn positions_are_given_as_moves_wherever_one_is_taken() {
    let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -";
    let after = "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq -";
    let scratch = Scratch::with("a.epd", format!("{start} id \"start\";\n{after} id \"e4\";\n"));
    for position in ["e4", "1. e4", "e2e4", "startpos moves e2e4"] {
        let found = scratch.run(&["get", "a.epd", position]);
        assert_eq!((found.status, found.err.as_str()), (0, ""), "{position}");
        assert!(found.out.contains("id \"e4\""), "{position}: {}", found.out);
    }
    assert!(scratch.run(&["get", "a.epd", "startpos"]).out.contains("id \"start\""));
    for (position, nodes) in [("startpos", 400), ("e4", 600)] {
        let counted = scratch.run(&["perft", position, "-d", "2"]);
        assert!(counted.out.ends_with(&format!("total\t2\t{nodes}\n")), "{}", counted.out);
    }
    let moves = scratch.run(&["moves", "1. e4 c5"]).out;
    assert_eq!(moves.lines().count(), 30);
    assert_eq!(scratch.run_with(&["moves", "-"], "1. e4 c5\n").out, moves);
}

#[test]
fn positions_without_a_record_are_told() {
    let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -";
    let scratch = Scratch::with("a.epd", format!("{start}\n"));
    let one = scratch.run(&["get", "a.epd", "e4"]);
    assert_eq!((one.status, one.err.as_str()), (1, "epdb: no record of the position\n"));
    let some = scratch.run(&["get", "a.epd", "e4", "d4", "startpos"]);
    assert_eq!((some.status, some.err.as_str()), (1, "epdb: no record of 2 of 3 positions\n"));
    let missing = scratch.run(&["get", "a.epd", "e4", "--missing"]);
    assert_eq!((missing.status, missing.err.as_str()), (1, ""));
    assert_eq!(scratch.run(&["get", "a.epd", "e4", "-q"]).err, "");
}

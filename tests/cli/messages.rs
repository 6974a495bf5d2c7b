//! Messages on standard error, for people and as JSON, and the pages about them.

use serde_json::Value;

use crate::scratch::Scratch;
#[cfg(target_os = "linux")]
use crate::{skipped::skipped, usage::on_a_terminal};

const GOOD: &str = "4k3/8/8/8/8/8/4P3/4K3 w - - id \"a\";\n";

fn objects(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).expect(line)).collect()
}

#[test]
fn messages_are_json_objects_if_asked() {
    let text = format!("{GOOD}junk\n\n8/8/8/8/8/8/8/8 x - -\n");
    let scratch = Scratch::with("a.epd", text);
    for call in
        [["--messages", "json", "normalize", "a.epd"], ["normalize", "a.epd", "--messages", "json"]]
    {
        let done = scratch.run(&call);
        assert_eq!((done.status, done.out.trim_end()), (1, GOOD.trim_end()));
        let found = objects(&done.err);
        assert_eq!(found.len(), 3, "{}", done.err);
        assert_eq!(
            (&found[0]["code"], &found[0]["severity"]),
            (&"E-EPD-FIELDS".into(), &"error".into())
        );
        assert_eq!((&found[1]["file"], &found[1]["line"]), (&"a.epd".into(), &4.into()));
        assert_eq!(found[1]["column"], 17);
        assert_eq!((&found[2]["severity"], &found[2]["records"]), (&"summary".into(), &1.into()));
        assert_eq!((&found[2]["skipped"], &found[2]["rejected"]), (&1.into(), &2.into()));
        assert_eq!(found[2]["codes"]["E-FEN-COLOR"], 1);
    }
    let failed = scratch.run(&["normalize", "missing.epd", "--messages=json"]);
    assert_eq!(failed.status, 2);
    let found = objects(&failed.err);
    assert_eq!(found[0]["severity"], "error");
    assert!(found[0]["message"].as_str().is_some_and(|text| text.contains("missing.epd")));
    let noted = scratch.run(&["dedupe", "a.epd", "--messages", "json"]);
    let notes = objects(&noted.err);
    assert!(notes.iter().any(|it| it["severity"] == "note"), "{}", noted.err);
}

#[test]
fn mistakes_on_the_command_line_are_told_as_other_errors() {
    let scratch = Scratch::with("a.epd", GOOD);
    for call in
        [&["normalize", "--unknown"][..], &["unknown"], &["head", "-n", "x"], &["solve", "a.epd"]]
    {
        let done = scratch.run(call);
        assert_eq!(done.status, 2, "{call:?}");
        assert!(done.err.starts_with("epdb: error: "), "{}", done.err);
    }
}

#[test]
fn numbers_agree_with_their_nouns() {
    let scratch = Scratch::with("a.epd", format!("{GOOD}junk\n"));
    let one = scratch.run(&["normalize", "a.epd"]).err;
    assert!(one.ends_with("1 record, 0 blank or comment lines, 1 rejected\n"), "{one}");
    scratch.write("g.pgn", "1. e4 *\n");
    let tally = scratch.run(&["tally", "g.pgn", "-o", "g.epd"]).err;
    assert!(tally.contains("1 game counted; 1 ply, 2 positions\n"), "{tally}");
}

#[test]
fn the_files_with_the_most_rejected_lines_are_named() {
    let scratch = Scratch::with("good.epd", GOOD);
    scratch.write("a.epd", "junk\n");
    scratch.write("b.epd", "junk\n".repeat(2));
    scratch.write("c.epd", "4k3/8/8/8/8/8/8/4K3 w - - ;5;25\n".repeat(4));
    scratch.write("d.epd", "junk\n".repeat(3));
    let done = scratch.run(&["count", "good.epd", "a.epd", "b.epd", "c.epd", "d.epd"]);
    let wanted = "10 rejected\n4 rejected in c.epd; use --perft\n3 rejected in d.epd\n2 rejected in b.epd\n\
                  1 rejected in 1 other file\n";
    assert!(done.err.ends_with(wanted), "{}", done.err);
    let one = scratch.run(&["count", "good.epd", "d.epd"]);
    assert!(one.err.ends_with(", 3 rejected\n"), "{}", one.err);
}

#[test]
fn codes_are_listed_with_their_meanings() {
    let scratch = Scratch::new();
    let page = scratch.run(&["help", "codes"]).out;
    assert!(page.lines().all(|line| line.chars().count() <= 100), "{page}");
    assert!(!page.contains("**") && !page.contains("```"), "{page}");
    let listed =
        page.lines().filter(|line| line.starts_with("E-") || line.starts_with("W-")).count();
    assert_eq!(listed, epdb_chess::text::codes::ALL.len());
    assert!(
        page.contains("\nE-FEN-RANKS        the placement does not have eight ranks\n"),
        "{page}"
    );
}

#[test]
fn help_of_a_subcommand_is_found_in_either_order() {
    let scratch = Scratch::new();
    let first = scratch.run(&["help", "book", "make"]);
    let second = scratch.run(&["book", "help", "make"]);
    assert_eq!((first.status, second.status), (0, 0), "{}", second.err);
    assert_eq!(first.out, second.out);
}

#[test]
fn commands_that_take_files_show_it() {
    let scratch = Scratch::new();
    for command in ["union", "dedupe", "analyze", "solve", "mate", "sort"] {
        let page = scratch.run(&["help", command]).out;
        assert!(page.contains("[FILES]..."), "{command}: {page}");
    }
}

/// Advice about a code names no identifiers of the library.
#[test]
fn advice_names_options_and_not_functions() {
    let scratch = Scratch::new();
    for entry in epdb_chess::text::codes::ALL {
        let page = scratch.run(&["help", entry.code]).out;
        assert!(!page.contains("::"), "{page}");
    }
}

#[test]
fn a_position_on_the_command_line_is_called_a_position() {
    let scratch = Scratch::with("a.epd", GOOD);
    for call in [
        &["get", "a.epd", "e5"][..],
        &["moves", "e5"],
        &["perft", "-d", "1", "e5"],
        &["play", "--moves", "Ke5", "startpos"],
    ] {
        let done = scratch.run(call);
        assert!(done.err.contains("position:1"), "{call:?}: {}", done.err);
        assert!(!done.err.contains("FEN:") && !done.err.contains("POSITION"), "{}", done.err);
    }
}

/// On a terminal three examples of a code are enough.
#[cfg(target_os = "linux")]
#[test]
fn a_terminal_shows_three_warnings_of_a_code() {
    let line = "4k3/8/8/8/8/8/4P3/4K3 w - - id a;\n";
    let scratch = Scratch::with("a.epd", line.repeat(9));
    let Some((shown, status)) = on_a_terminal(&scratch, "epdb count a.epd", "") else {
        skipped("there is no `script`");
        return;
    };
    assert_eq!((shown.matches("warning[W-LEN-UNQUOTED]").count(), status), (3, 0), "{shown}");
    assert!(shown.contains("W-LEN-UNQUOTED     warning           9"), "{shown}");
    let piped = scratch.run(&["count", "a.epd"]).err;
    assert_eq!(piped.matches("warning[W-LEN-UNQUOTED]").count(), 9, "{piped}");
}

/// `--messages json` also applies to errors of the command line itself.
#[test]
fn errors_of_the_command_line_are_objects() {
    let scratch = Scratch::with("a.epd", "4k3/8/8/8/8/8/4P3/4K3 w - -\n");
    for args in [
        &["count", "--messages", "json", "--no-such-option"][..],
        &["--messages=json", "count", "--no-such-option"],
        &["--messages", "json", "no-such-command"],
        &["filter", "a.epd", "--messages", "json"],
        &["filter", "a.epd", "--where", "bm bm", "--messages=json"],
        &["sample", "a.epd", "-n", "many", "--messages", "json"],
    ] {
        let done = scratch.run(args);
        assert_eq!(done.status, 2, "{args:?}: {}", done.err);
        let objects: Vec<serde_json::Value> =
            done.err.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(objects[0]["severity"], "error", "{args:?}: {}", done.err);
        assert!(objects.iter().all(|it| it["message"] != ""), "{args:?}: {}", done.err);
    }
}

/// The findings of `verify --json` include those of text and games.
#[test]
fn verify_lists_the_errors_of_text() {
    let scratch = Scratch::with("a.epd", "4k3/8/8/8/8/8/4P3/4K3 w - -\nno position\n8/8 w - -\n");
    scratch.write("b.epd", "4k3/8/8/8/8/8/4P3/4K3 w - -\n");
    scratch.write("c.pgn", "[Event \"?\"]\n\n1. e4 e5 2. Ke5 *\n");
    let done = scratch.run(&["verify", "--json", "a.epd", "b.epd", "c.pgn"]);
    assert_eq!(done.status, 1, "{}", done.err);
    let files: Vec<serde_json::Value> =
        done.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let found: Vec<Vec<&str>> = files
        .iter()
        .map(|file| {
            file["findings"].as_array().unwrap().iter().map(|it| it.as_str().unwrap()).collect()
        })
        .collect();
    assert_eq!(found.iter().map(Vec::len).collect::<Vec<_>>(), [2, 0, 1], "{}", done.out);
    assert!(found[0][0].starts_with("2:1: error[E-EPD-FIELDS]: "), "{}", done.out);
    assert!(found[0][1].starts_with("3:1: error[E-FEN-RANKS]: "), "{}", done.out);
    assert!(found[2][0].contains("W-PGN-TRUNCATED"), "{}", done.out);
    assert_eq!(files[1]["verdict"], "no damage found");
    scratch.write("kings.epd", "8/8/8/8/8/8/8/8 w - -\n4k3/8/8/8/8/8/8/4K2k w - -\n");
    let illegal = scratch.run(&["verify", "kings.epd"]);
    assert_eq!(
        (illegal.out.as_str(), illegal.status),
        ("kings.epd: no damage found, 2 warnings\n", 0)
    );
}

/// An illegal move in `bm` is a finding. Findings come before warnings, and each file has its own limits.
#[test]
fn verify_finds_illegal_moves() {
    let kings = "8/8/8/8/8/8/8/8 w - -\n".repeat(25);
    let moves = "4k3/8/8/8/8/8/4P3/4K3 w - - bm Qh5 e4;\n";
    let scratch = Scratch::with("a.epd", format!("{kings}{moves}"));
    scratch.write("b.epd", format!("{kings}nonsense\n{moves}"));
    for command in ["verify", "check", "lint"] {
        let done = scratch.run(&[command, "a.epd", "b.epd"]);
        let verdicts = "a.epd: 1 illegal move, 25 warnings\nb.epd: damaged, 1 not read, 1 illegal move, 25 warnings\n";
        assert_eq!((done.out.as_str(), done.status), (verdicts, 1), "{}", done.err);
        let place = |text: &str| done.err.find(text).unwrap();
        assert!(
            place("a.epd:26:32: warning[W-LEN-MOVE]: `Qh5`") < place("a.epd:1:"),
            "{}",
            done.err
        );
        assert!(place("b.epd:26:") < place("b.epd:1:"), "{}", done.err);
        assert_eq!(done.err.matches("epd:20:").count(), 2, "{}", done.err);
        assert_eq!(done.err.matches("epd:21:").count(), 0, "{}", done.err);
    }
    let quiet = scratch.run(&["verify", "-q", "a.epd"]);
    assert!(quiet.err.contains("`Qh5`") && !quiet.err.contains("a.epd:1:"), "{}", quiet.err);
    let json = scratch.run(&["verify", "--json", "a.epd"]).out;
    assert!(json.contains("\"verdict\":\"illegal moves\",\"findings\":[\"26:32: "), "{json}");
}

/// A message says what is missing and what to do.
#[test]
fn records_without_what_a_command_needs_say_so() {
    let line = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - bm e4; id \"a\";\n";
    let scratch = Scratch::with("a.epd", line);
    for args in [&["sort", "a.epd"][..], &["sort", "a.epd", "-o", "b.epd"]] {
        let done = scratch.run(args);
        assert_eq!(done.status, 2, "{}", done.err);
        assert!(done.err.contains("--by id, --by=-ce,id, --by position"), "{}", done.err);
    }
    let done = scratch.run(&["openings", "a.epd"]);
    assert_eq!(done.status, 2);
    assert!(done.err.contains("a.epd has positions, and games are needed here"), "{}", done.err);
    let done = scratch.run(&["report", "a.epd"]);
    assert_eq!(done.status, 0);
    assert!(done.err.contains("a.epd has no answers (pm): `epdb solve a.epd"), "{}", done.err);
    assert!(done.out.contains("answers none of its 1 problems"), "{}", done.out);
    scratch.write("b.epd", line.replace("bm e4;", "bm e4; pm e4;"));
    assert_eq!(scratch.run(&["report", "b.epd"]).err, "");
}

/// Conflicts of an import name the lines of the file, also after comments and in the second file.
#[test]
fn conflicts_of_an_import_name_lines() {
    let scratch = Scratch::with("a.epd", "4k3/8/8/8/8/8/4P3/4K3 w - - bm e4;\n");
    let text = "# a comment\n8/8/8/4k3/8/1K6/8/8 b - -\n\n4k3/8/8/8/8/8/4P3/4K3 w - - bm e3;\n8/8/8/4k3/8/1K6/8/8 b - - ce 1;\n8/8/8/4k3/8/1K6/8/8 b - - id \"x\";\n4k3/8/8/8/8/8/4P3/4K3 w - - bm Kd1;\n";
    scratch.write("b.epd", text);
    let args = ["import", "s.epdb", "a.epd", "b.epd", "--on-duplicate", "merge"];
    let done = scratch.run(&args);
    assert_eq!(done.status, 0, "{}", done.err);
    for said in [
        "s.epdb: b.epd:4 contradicts record 0 of the store of the same position; both are kept",
        "s.epdb: b.epd:7 contradicts record 0 of the store of the same position; both are kept",
    ] {
        assert!(done.err.contains(said), "{}", done.err);
    }
}

#[test]
fn moves_of_one_line_in_several_arguments_get_a_hint() {
    let scratch = Scratch::with("a.epd", "4k3/8/8/8/8/8/4P3/4K3 w - - bm e4;\n");
    let done = scratch.run(&["get", "a.epd", "e4", "c5"]);
    assert!(done.err.contains("the moves of one line are one argument: 'e4 c5'"), "{}", done.err);
    let done = scratch.run(&["get", "a.epd", "e4", "d4"]);
    assert!(!done.err.contains("one argument"), "{}", done.err);
}

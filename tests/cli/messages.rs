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
fn codes_are_listed_with_their_meanings() {
    let scratch = Scratch::new();
    let page = scratch.run(&["help", "codes"]).out;
    assert!(page.lines().all(|line| line.chars().count() <= 100), "{page}");
    assert!(!page.contains("**") && !page.contains("```"), "{page}");
    let listed =
        page.lines().filter(|line| line.starts_with("E-") || line.starts_with("W-")).count();
    assert_eq!(listed, epdb::text::codes::ALL.len());
    assert!(page.contains("\nE-FEN-RANKS        the placement has not eight ranks\n"), "{page}");
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
    for entry in epdb::text::codes::ALL {
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

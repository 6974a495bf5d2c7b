//! `epdb shell`: commands from a script, and typed in a terminal.

use std::fs;
#[cfg(unix)]
use std::path::Path;

#[cfg(unix)]
use assert_cmd::cargo::cargo_bin;

use crate::scratch::{Done, Scratch};
#[cfg(unix)]
use crate::terminal::Terminal;

const START: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
const AFTER_E4: &str = "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq e3 0 1";

/// Runs a script that comes from a pipe.
fn script(scratch: &Scratch, args: &[&str], lines: &[&str]) -> Done {
    scratch.run_with(&[&["shell"], args].concat(), lines.join("\n"))
}

/// Two positions, the first with a tally.
fn library() -> Scratch {
    let start = &START[..START.len() - 4];
    Scratch::with(
        "book.epd",
        format!(
            "{start} tally \"reached 3, e4 +2=1-0\";\n\
             rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - c0 \"open\";\n"
        ),
    )
}

#[test]
fn a_script_has_no_prompt_and_prints_what_it_asks_for() {
    let scratch = Scratch::new();
    let lines =
        ["# a comment", "", "dvfe", "1. e4", "dvfe", "svde 4k3/8/8/8/8/8/4P3/4K3 w - -", "epd"];
    let done = script(&scratch, &[], &lines);
    let expected = format!("{START}\n{AFTER_E4}\n4k3/8/8/8/8/8/4P3/4K3 w - -\n");
    assert_eq!((done.out, done.err.as_str(), done.status), (expected, "", 0));
    let done = scratch.run(&["shell", "-c", "e4", "-c", "dvfe", "-c", "quit", "-c", "Ke9"]);
    assert_eq!((done.out, done.err.as_str(), done.status), (format!("{AFTER_E4}\n"), "", 0));
}

/// A position needs no command before it, nor do moves.
#[test]
fn a_line_may_be_a_position_alone() {
    let scratch = Scratch::new();
    let line = "4k3/8/8/8/8/8/4P3/4K3 w - - bm e4;";
    let done =
        script(&scratch, &[], &[line, "epd", "e4 Kd7", "new", &format!("fen {line}"), "epd"]);
    assert_eq!((done.out, done.err.as_str(), done.status), (format!("{line}\n{line}\n"), "", 0));
    for (wrong, place) in [
        ("4k3/8/8/8/8/8/4P3 w - -", "-:1:1: error[E-FEN-RANKS]"),
        ("4k3/8/8/8/8/8/4P4/4K3 w - -", "-:1:15: error[E-FEN-RANKSUM]"),
    ] {
        let done = script(&scratch, &[], &[wrong]);
        assert!(done.err.starts_with(place) && done.status == 2, "{}", done.err);
    }
}

#[test]
fn the_first_error_ends_a_script_and_changes_nothing() {
    let scratch = Scratch::new();
    let lines = ["e4", "e5 Ke5", "dvfe"];
    let done = script(&scratch, &[], &lines);
    let error = "-:2:4: error[E-MOVE-ILLEGAL]: `Ke5`: no legal move of this position; \
                 nor is it a command (`help` lists them)\n";
    assert_eq!((done.out.as_str(), done.err.as_str(), done.status), ("", error, 2));
    let done = script(&scratch, &["--keep-going"], &lines);
    assert_eq!((done.out, done.err.as_str(), done.status), (format!("{AFTER_E4}\n"), error, 2));
    let done = scratch.run(&["shell", "-c", "dvfe", "-c", "back 0 1"]);
    assert_eq!(done.err, "-c:2: expected `back [N]`\n");
    assert_eq!(done.status, 2);
}

#[test]
fn faults_of_a_position_are_reported_with_the_line() {
    let scratch = Scratch::new();
    let done = script(&scratch, &[], &["dvfe", "svfe 8/8/8/8/8/8/8/K7 w - -", "dvfe"]);
    assert_eq!(done.out, format!("{START}\n8/8/8/8/8/8/8/K7 w - - 0 1\n"));
    assert_eq!(
        (done.err.as_str(), done.status),
        (
            "-:2:6: warning[W-POS-ILLEGAL]: illegal position: Black has no king; \
         it is set, but no moves can be played from it\n",
            0
        )
    );
}

#[test]
fn hostile_lines_are_refused_one_by_one() {
    let scratch = Scratch::new();
    let mut lines = b"e4\nset c0 ".to_vec();
    lines.extend(std::iter::repeat_n(b'x', 1 << 20));
    lines.extend(b"\ne5\0\nset c0 \xff\nsvfe \x1b[2J\nperft 1 \xc2\x80\ndvfe");
    let done = scratch.run_with(&["shell", "--keep-going"], lines);
    assert_eq!((done.out, done.status), (format!("{AFTER_E4}\n"), 2), "{}", done.err);
    let places: Vec<&str> = done.err.lines().map(|line| line.split(' ').next().unwrap()).collect();
    assert_eq!(places, ["-:2:", "-:3:3:", "-:4:", "-:5:6:", "-:6:9:"], "{}", done.err);
    assert!(done.err.len() < 1000 && done.err.contains("longer than"), "{}", done.err);
}

/// The shell prints the output of other commands for its position.
#[test]
fn questions_are_answered_as_the_commands_of_epdb_answer_them() {
    let scratch = library();
    let same = |typed: &[&str], args: &[&str]| {
        let lines = [&["e4"], typed].concat();
        let (typed, direct) = (script(&scratch, &["book.epd"], &lines), scratch.run(args));
        assert_eq!(
            (typed.out, typed.status),
            (direct.out, direct.status),
            "{lines:?} {}",
            typed.err
        );
        direct.status
    };
    assert_eq!(same(&["explore"], &["explore", "book.epd", "e4"]), 0);
    assert_eq!(same(&["parents --tsv"], &["explore", "book.epd", "e4", "--parents", "--tsv"]), 0);
    assert_eq!(same(&["get"], &["get", "book.epd", AFTER_E4]), 0);
    assert_eq!(same(&["get book.epd --tag"], &["get", "book.epd", AFTER_E4, "--tag"]), 0);
    assert_eq!(same(&["e5", "get"], &["get", "book.epd", "1. e4 e5"]), 1);
    assert_eq!(same(&["e5", "explore"], &["explore", "book.epd", "e4", "e5"]), 1);
    assert_eq!(same(&["moves --json"], &["moves", AFTER_E4, "--json"]), 0);
    assert_eq!(same(&["perft 2"], &["perft", AFTER_E4, "--depth", "2"]), 0);
    assert_eq!(same(&["games"], &["games", "book.epd", "e4"]), 2);
    let none = script(&scratch, &[], &["explore"]);
    assert_eq!(none.err, "-:1: no source is open: `open SOURCE`, or `explore SOURCE`\n");
    assert_eq!(script(&scratch, &[], &["get -"]).status, 2, "the script is no source");
}

/// Options and outputs of a command are of this command alone.
#[test]
fn commands_leave_nothing_to_the_next_ones() {
    let scratch = library();
    let lines = ["get --quiet --nonsense", "get --help", "get --quiet", "h4", "get", "get -f -"];
    let done = script(&scratch, &["book.epd", "--keep-going"], &lines);
    assert_eq!(done.status, 2);
    let expected = [
        "-:1: this command failed",
        "epdb: no record of the position",
        "epdb: error: standard input is used for commands: name a file",
        "-:6: this command failed",
    ];
    let notes = done.err.lines().filter(|line| expected.contains(line));
    assert_eq!(notes.collect::<Vec<_>>(), expected, "{}", done.err);
    assert!(done.out.contains("Usage: epdb get"), "{}", done.out);
    let twice = script(&scratch, &["book.epd"], &["perft 2 --threads 1", "perft 2"]);
    let direct = scratch.run(&["perft", START, "--depth", "2"]);
    assert_eq!(twice.out, direct.out.repeat(2));
    let lines = ["get -o new.epd", "get -o new.epd", "get -o other.epd", "get"];
    let done = script(&scratch, &["book.epd"], &lines);
    assert_eq!((done.status, done.err.as_str()), (0, ""));
}

#[test]
fn tfgg_makes_games_regular() {
    let scratch = Scratch::with("my games.pgn", "[White \"x\"]\n[Opening \"y\"]\n\n1.e2-e4 e5 *\n");
    let direct = scratch.run(&["tfgg", "my games.pgn"]).out;
    assert!(direct.contains("[White \"x\"]") && direct.ends_with("\n1. e4 e5 *\n\n"), "{direct}");
    assert_eq!(script(&scratch, &[], &["tfgg 'my games.pgn'"]).out, direct);
    let done =
        script(&scratch, &[], &["tfgg my\\ games.pgn out.pgn", "tfgg 'my games.pgn' out.pgn"]);
    assert_eq!((done.out.as_str(), done.status), ("", 0), "{}", done.err);
    assert_eq!(scratch.text("out.pgn"), direct);
    assert_eq!(script(&scratch, &[], &["tfgg missing.pgn", "dvfe"]).status, 2);
}

#[test]
fn records_are_gone_through_back_and_forth() {
    let scratch = library();
    scratch.write("more.epd", "nonsense\n4k3/8/8/8/8/8/4P3/4K3 w - - c3 \"c\";\n");
    let lines =
        ["next", "goto 3", "epd", "registers", "previous", "epd", "registers", "previous", "dvfe"];
    let done = script(&scratch, &["book.epd", "more.epd"], &lines);
    let expected = format!(
        "4k3/8/8/8/8/8/4P3/4K3 w - - c3 \"c\";\nc3 \"c\";\n\
         rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - c0 \"open\";\nc0 \"open\";\n{START}\n"
    );
    assert_eq!((done.out, done.status), (expected, 1), "{}", done.err);
    let notes: Vec<&str> = done.err.lines().collect();
    assert_eq!(notes[0], "record 1, book.epd:1");
    assert!(notes[1].starts_with("epdb: more.epd:1:1: error[E-EPD-FIELDS]"), "{notes:?}");
    assert_eq!(
        notes[2..],
        ["record 3, more.epd:2", "record 2, book.epd:2", "record 1, book.epd:1"]
    );
    // An error leaves record and position as they were.
    let lines = ["next", "e4", "next 7", "previous", "goto 0", "dvfe", "next", "epd"];
    let done = script(&scratch, &["book.epd", "--keep-going"], &lines);
    let shown = "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - c0 \"open\";";
    assert_eq!((done.out, done.status), (format!("{AFTER_E4}\n{shown}\n"), 2), "{}", done.err);
    assert!(done.err.contains("-:3: there are only 2 records\n"), "{}", done.err);
    assert!(
        done.err.contains("-:4: there is no record 0: records are numbered from 1\n"),
        "{}",
        done.err
    );
}

#[test]
fn a_script_is_no_source() {
    let scratch = Scratch::with("s1.txt", "e4\ndvfe\n");
    let done = scratch.run(&["shell", "s1.txt"]);
    let error = "epdb: error: s1.txt: no record in its first 2 lines; commands are read from standard input, \
                 as in `epdb shell < s1.txt`\n";
    assert_eq!((done.err.as_str(), done.status), (error, 2));
    let done = script(&scratch, &[], &["open s1.txt", "dvfe"]);
    assert!(done.err.starts_with("-:1: s1.txt: no record") && done.out.is_empty(), "{}", done.err);
}

#[test]
fn questions_that_fail_are_located() {
    let scratch = library();
    for wrong in ["perft 0", "perft x", "perft -1", "perft"] {
        let done = script(&scratch, &[], &[wrong]);
        assert_eq!(done.err, "-:1: expected `perft N [OPTION...]`\n", "{wrong}");
    }
    let done = script(&scratch, &["book.epd"], &["e4", "games"]);
    assert!(done.err.ends_with("\n-:2: this command failed\n"), "{}", done.err);
    // Missing data is reported.
    let done = script(&scratch, &["book.epd"], &["h4", "get"]);
    assert_eq!((done.err.as_str(), done.status), ("epdb: no record of the position\n", 1));
}

#[test]
fn moves_need_a_position_that_can_be_played() {
    let scratch = Scratch::new();
    let lines = ["svfe 8/8/8/8/8/8/8/8 w - -", "Ke2", "move e4"];
    let done = script(&scratch, &["--keep-going"], &lines);
    let errors: Vec<&str> = done.err.lines().collect();
    assert_eq!(
        errors[0],
        "-:1:6: warning[W-POS-ILLEGAL]: illegal position: White has no king, Black has no king; \
         it is set, but no moves can be played from it"
    );
    assert_eq!(errors[2], "-:3:6: error[E-MOVE-ILLEGAL]: `e4`: each side must have one king");
}

#[test]
fn invalid_operations_are_refused() {
    let scratch = Scratch::new();
    for (line, expected) in [
        ("set bm Nc6", "-:1: bm: `Nc6`: no legal move of this position\n"),
        ("set ce 5x", "-:1: ce: `ce` takes an integer, not `5x`\n"),
        ("set fmvn 0", "-:1: fmvn: `fmvn` takes 1 to 9223372036854775807, not `0`\n"),
        ("set dm -3", "-:1: dm: `dm` takes 1 to 9223372036854775807, not `-3`\n"),
    ] {
        let done = script(&scratch, &[], &[line, "epd"]);
        assert_eq!((done.err.as_str(), done.out.as_str()), (expected, ""), "{line}");
    }
}

#[test]
fn a_slip_of_a_command_is_recognized() {
    let scratch = Scratch::new();
    for (line, near) in [("baord", "board"), ("regsiters", "registers"), ("explroe x", "explore")] {
        let done = script(&scratch, &[], &[line]);
        assert!(done.err.contains(&format!("; is it `{near}`?")), "{line}: {}", done.err);
        let done = script(&scratch, &[], &[&format!("help {}", line.split(' ').next().unwrap())]);
        assert!(done.err.contains(&format!("; is it `{near}`?")), "{line}: {}", done.err);
    }
}

#[test]
fn sources_are_files_of_any_kind() {
    let scratch = library();
    scratch.write("a.pgn", "[ECO \"C20\"]\n\n1. e4 e5 *\n\n1. d4 *\n");
    let done =
        script(&scratch, &["a.pgn"], &["goto 3", "registers", "next", "registers", "next", "dvfe"]);
    let d4 = "rnbqkbnr/pppppppp/8/8/3P4/8/PPP1PPPP/RNBQKBNR b KQkq d3 0 1";
    assert_eq!(done.out, format!("eco \"C20\";\nall registers are null\n{d4}\n"), "{}", done.err);
    scratch.run(&["import", "a.epdb", "book.epd"]);
    let done = script(&scratch, &[], &["open a.epdb", "next 2", "get", "open missing.epd"]);
    assert!(done.out.contains(';') && done.status == 2, "{}", done.out);
    let error = "-:4: cannot read missing.epd: No such file or directory (os error 2)\n";
    assert!(done.err.ends_with(error), "{}", done.err);
    assert_eq!(script(&scratch, &[], &["next"]).err, "-:1: no source is open: `open SOURCE`\n");
    assert_eq!(script(&scratch, &["."], &[]).status, 2, "a folder");
    assert_eq!(script(&scratch, &["-"], &[]).status, 2, "standard input is the script");
}

#[test]
fn records_are_written_and_lines_saved() {
    let scratch = Scratch::with("a.epd", "4k3/8/8/8/8/8/4P3/4K3 w - -");
    let lines = [
        "set c0 one",
        "write a.epd",
        "e4",
        "write a.epd",
        "write a.fen",
        "save line.epd",
        "save line.pgn",
    ];
    let done = script(&scratch, &[], &lines);
    assert_eq!((done.out.as_str(), done.status), ("", 0), "{}", done.err);
    let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - c0 \"one\"; fmvn 1; hmvc 0;";
    let after = "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq e3 fmvn 1; hmvc 0;";
    let appended = format!("4k3/8/8/8/8/8/4P3/4K3 w - -\n{start}\n{after}\n");
    assert_eq!(scratch.text("a.epd"), appended);
    assert_eq!(scratch.text("a.fen"), format!("{AFTER_E4}\n"));
    assert_eq!(scratch.text("line.epd"), format!("{start}\n{after}\n"));
    assert!(scratch.text("line.pgn").ends_with("\n\n1. e4 *\n\n"));
    // EPD has four fields, also where the position came as FEN.
    let done = script(&scratch, &[], &["e4", "epd", "write b.epd", "save c.epd"]);
    assert_eq!(done.out, format!("{after}\n"), "{}", done.err);
    assert_eq!(scratch.text("b.epd"), format!("{after}\n"));
    let plain = start.replace("c0 \"one\"; ", "");
    assert_eq!(scratch.text("c.epd"), format!("{plain}\n{after}\n"));
    let done = script(&scratch, &[], &["write notes.txt"]);
    assert_eq!((done.err.as_str(), done.status), ("notes.txt: a line of EPD\n", 0));
    scratch.write("a.pgn", "");
    for wrong in [
        "write a.epd.gz",
        "write a.pgn",
        "write no/a.epd",
        "save no/a.epd",
        "save noname",
        "write a b",
    ] {
        let done = script(&scratch, &[], &[wrong]);
        assert_eq!((done.status, done.err.lines().count()), (2, 1), "{wrong}: {}", done.err);
        assert!(done.err.starts_with("-:1: "), "{}", done.err);
        assert!(done.err.matches("cannot write").count() <= 1, "{}", done.err);
    }
    let lost = script(&scratch, &[], &["set c0 x", "write b.fen"]);
    assert!(lost.err.contains("1 operations not written"), "{}", lost.err);
}

#[test]
fn commands_are_explained() {
    let scratch = Scratch::new();
    let list = script(&scratch, &[], &["help"]).out;
    for command in ["svfe FEN", "explore [SOURCE]", "quit"] {
        assert!(list.lines().any(|line| line.starts_with(command)), "{list}");
    }
    assert!(list.lines().all(|line| line.chars().count() <= 100), "{list}");
    let one = script(&scratch, &[], &["help svde", "help explore", "help nothing"]);
    assert!(one.out.starts_with("svfe FEN: set the position"), "{}", one.out);
    assert!(one.out.contains("epdb help explore"), "{}", one.out);
    assert_eq!(one.err, "-:3: there is no command `nothing`: `help` lists all commands\n");
}

#[test]
fn the_board_is_drawn_from_either_side() {
    let scratch = Scratch::new();
    let board = script(&scratch, &[], &["svfe 4k3/8/8/8/8/8/4P3/4K3 w - -", "board"]).out;
    assert!(
        board.starts_with("  8  . . . . k . . .\n") && board.contains("\n     a b c"),
        "{board}"
    );
    let args = ["--pieces", "symbols"];
    let board = script(&scratch, &args, &["svfe 4k3/8/8/8/8/8/4P3/4K3 w - -", "flip", "board"]).out;
    assert!(
        board.starts_with("  1  . . . ♔ . . . .\n") && board.contains("\n     h g f"),
        "{board}"
    );
    assert!(!board.contains('\x1b'));
}

/// Starts the shell in a terminal without colours.
#[cfg(unix)]
fn in_terminal(scratch: &Scratch, args: &[&str]) -> Terminal {
    let args = [&["shell", "--pieces", "letters"], args].concat();
    Terminal::start(&cargo_bin("epdb"), &args, &scratch.path(""), "1")
}

#[cfg(unix)]
#[test]
fn boards_have_colours_on_terminals_that_want_them() {
    let scratch = Scratch::new();
    for (no_color, has_colours) in [("", true), ("1", false)] {
        let args = ["shell", "-c", "board"];
        let mut terminal = Terminal::start(&cargo_bin("epdb"), &args, &scratch.path(""), no_color);
        let board = terminal.expect("RNBQKBNR w KQkq -\r\n");
        assert!(board.contains('♜') && board.contains("\x1b[48;5;") == has_colours, "{board}");
        assert_eq!(terminal.status(), 0);
    }
}

/// In the locale C a terminal has ASCII alone; what goes elsewhere stays as it is.
#[cfg(unix)]
#[test]
fn terminals_of_the_locale_c_are_shown_question_marks() {
    let program = cargo_bin("epdb");
    let scratch = Scratch::with("M\u{fc}.pgn", "[White \"M\u{fc}ller \u{2658}\"]\n\n1. e4 *\n");
    for (locale, shown) in [
        ("LC_ALL=C", "M?ller ?"),
        ("LC_ALL=POSIX", "M?ller ?"),
        ("LC_ALL=C.UTF-8", "M\u{fc}ller \u{2658}"),
    ] {
        let args = ["convert", "M\u{fc}.pgn", "-", "--to", "pgn"];
        let args = [&[locale, program.to_str().unwrap()], &args[..]].concat();
        let mut terminal = Terminal::start(Path::new("env"), &args, &scratch.path(""), "1");
        terminal.expect(&format!("[White \"{shown}\"]\r\n"));
        assert_eq!(terminal.status(), 0);
    }
    let board = ["LC_ALL=C", program.to_str().unwrap(), "shell", "-c", "board"];
    let mut terminal = Terminal::start(Path::new("env"), &board, &scratch.path(""), "1");
    assert!(terminal.expect("RNBQKBNR w KQkq -\r\n").contains("r n b q k b n r"));
    assert_eq!(terminal.status(), 0);
    // Notes, too, where they go to a terminal.
    let missing = ["LC_ALL=C", program.to_str().unwrap(), "count", "gr\u{fc}n.pgn"];
    let mut terminal = Terminal::start(Path::new("env"), &missing, &scratch.path(""), "1");
    terminal.expect("gr?n.pgn");
    assert_eq!(terminal.status(), 2);
}

#[cfg(unix)]
#[test]
fn lines_are_edited_completed_and_remembered() {
    const UP: &str = "\x1b[A";
    let scratch = library();
    let mut terminal = in_terminal(&scratch, &[]);
    terminal.prompt();
    // Tab completes commands, moves and names of files; what is typed ahead is not lost.
    terminal.press("Nf\t\ropen bo\t\rnex\t\r");
    terminal.expect("5N2/PPPPPPPP/RNBQKB1R b KQkq -\r\n");
    terminal.expect("record 1, book.epd:1\r\n");
    terminal.expect("RNBQKBNR w KQkq -\r\n");
    terminal.prompt();
    terminal.press("e4x\x7f\r");
    terminal.expect("4P3/8/PPPP1PPP/RNBQKBNR b KQkq e3\r\n");
    // Errors are reported, and earlier lines can be recalled.
    terminal.prompt();
    terminal.press("Ke7\r");
    terminal.expect("`Ke7`: no legal move of this position");
    terminal.prompt();
    terminal.press(&format!("{UP}{UP}{UP}\r"));
    terminal.expect("record 2, book.epd:2\r\n");
    // Ctrl-C drops the line, Ctrl-D ends.
    terminal.prompt();
    terminal.press("Ke7\x03");
    terminal.prompt();
    terminal.press("dvfe\r");
    let before = terminal.expect("RNBQKBNR b KQkq - 0 1\r\n");
    assert!(!before.contains("error"), "{before}");
    terminal.prompt();
    terminal.press("\x04");
    assert_eq!(terminal.status(), 0);
    let history = scratch.text("state/epdb/history");
    assert!(history.ends_with("\ne4\nKe7\nnext\ndvfe\n"), "{history}");
    // The next one knows these lines.
    let mut next = in_terminal(&scratch, &[]);
    next.prompt();
    next.press(&format!("{UP}\r"));
    next.expect(START);
    next.prompt();
    next.press("quit\r");
    assert_eq!(next.status(), 0);
}

#[cfg(unix)]
#[test]
fn an_interrupt_ends_what_is_being_done() {
    let scratch = library();
    let mut terminal = in_terminal(&scratch, &["--no-history"]);
    terminal.prompt();
    terminal.press("e4\r");
    terminal.entered();
    terminal.prompt();
    terminal.press("perft 40\r");
    terminal.entered();
    terminal.press("\x03");
    terminal.expect("interrupted\r\n");
    terminal.prompt();
    terminal.press("dvfe\r");
    terminal.expect(AFTER_E4);
    terminal.prompt();
    terminal.press("\x04");
    assert_eq!(terminal.status(), 0);
    assert!(!fs::exists(scratch.path("state")).unwrap(), "no lines are kept");
}

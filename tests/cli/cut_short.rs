//! Games with an impossible move, or a comment or a variation that is not closed, are cut short before it, counted
//! separately, and kept whole by `--rejects`.

use crate::scratch::{Done, Scratch};

const WHOLE: &str = "[White \"A\"]\n[Black \"B\"]\n[Date \"2001.01.01\"]\n\n1. d4 d5 2. c4 1-0\n\n";
const CUT: &str = "[White \"C\"]\n[Black \"D\"]\n[Date \"1999.01.01\"]\n\n1. e4 e5\n2. Ke3 {why} Nf6 (2... d5) 0-1\n\n\n";
const BAD: &str = "[White \"E\"]\n\n1. e5 *\n\n";
const KEPT: &str = "1. e4 e5 {2. Ke3} {why} {Nf6 (2... d5)} 0-1\n\n";

fn scratch() -> Scratch {
    Scratch::with("g.pgn", format!("{CUT}{WHOLE}"))
}

#[track_caller]
fn assert_ends(done: &Done, status: i32, summary: &str) {
    assert_eq!(done.status, status, "{}", done.err);
    assert!(done.err.ends_with(&format!("\n{summary}\n")), "{}", done.err);
}

#[test]
fn it_is_kept_up_to_there_and_counted_apart() {
    let scratch = Scratch::with("g.pgn", format!("{WHOLE}{CUT}{BAD}"));
    let args = ["convert", "g.pgn", "out.pgn", "--rejects", "r.pgn", "--repairs", "r.tsv"];
    let done = scratch.run(&args);
    assert_ends(&done, 1, "1 game, 1 cut short, 1 rejected");
    let told = "g.pgn:12:1: warning[W-PGN-TRUNCATED]: `Ke3`: no legal move of this position; the rest \
                of the game is kept as a comment (ply 3)";
    assert!(done.err.contains(told), "{}", done.err);
    assert_eq!(scratch.text("r.pgn"), format!("{CUT}{BAD}"));
    assert!(scratch.text("out.pgn").ends_with(KEPT), "{}", scratch.text("out.pgn"));
    assert!(scratch.text("r.tsv").contains("g.pgn\t12\tW-PGN-TRUNCATED\t2. Ke3 {why}"));
    // It is what it was read as.
    let again = scratch.run(&["convert", "out.pgn", "-", "--to", "pgn"]);
    assert_eq!((again.status, again.out), (0, scratch.text("out.pgn")));
    let crlf = format!("{WHOLE}{CUT}").replace('\n', "\r\n");
    let done = scratch.run_with(&["convert", "-", "-", "--from", "pgn", "--to", "pgn"], crlf);
    assert_ends(&done, 1, "1 game, 1 cut short, 0 rejected");
    assert!(done.out.ends_with(KEPT), "{}", done.out);
}

#[test]
fn whole_or_cut_games_can_be_selected() {
    let scratch = scratch();
    let convert = ["convert", "g.pgn", "out.pgn", "--rejects", "r.pgn"];
    for (option, status, summary, rejected) in [
        ("--truncate-games", 0, "1 game, 1 cut short, 0 rejected", CUT),
        ("--allow-rejects", 0, "1 game, 1 cut short, 0 rejected", CUT),
        ("--deny-warnings", 1, "1 game, 1 rejected", CUT),
    ] {
        let done = scratch.run(&[&convert[..], &[option]].concat());
        assert_ends(&done, status, summary);
        assert_eq!(scratch.text("r.pgn"), rejected, "{option}");
    }
    let standard = scratch.run(&[&convert[..], &["--profile", "standard"]].concat());
    assert!(standard.err.contains("error[E-MOVE-ILLEGAL]"), "{}", standard.err);
    assert_ends(&standard, 1, "1 game, 1 rejected");
}

/// The moves in a comment that is not closed are not lost in silence, and the game does not count in a library.
#[test]
fn a_comment_that_is_not_closed_cuts_the_game_short() {
    const OPEN: &str =
        "[White \"C\"]\n[Result \"1-0\"]\n\n1. e4 e5 2. Nf3 {open Nc6 3. Bc4 1-0\n\n";
    let scratch = Scratch::with("g.pgn", format!("{OPEN}[Event \"?\"]\n{WHOLE}"));
    let done = scratch.run(&["convert", "g.pgn", "out.pgn", "--rejects", "r.pgn"]);
    assert_ends(&done, 1, "1 game, 1 cut short, 0 rejected");
    assert_eq!(scratch.text("r.pgn"), OPEN);
    assert!(scratch.text("out.pgn").contains("{open Nc6 3. Bc4 1-0}"));
    assert_ends(
        &scratch.run(&["tally", "g.pgn", "-o", "l.epa"]),
        1,
        "1 game, 1 cut short, 0 rejected",
    );
    // Nothing is lost where no moves follow.
    for text in [format!("{{open\n\n[Event \"?\"]\n{WHOLE}"), format!("{WHOLE}{{open")] {
        let scratch = Scratch::with("g.pgn", text);
        assert_eq!(scratch.run(&["convert", "g.pgn", "out.pgn"]).status, 0);
    }
}

/// A variation that is not closed may have taken in the rest of the main line.
#[test]
fn a_variation_that_is_not_closed_cuts_the_game_short() {
    for (moves, kept) in [
        (
            "1. e4 e5 2. Nf3 (2. f4 exf4 2... Nc6 3. Bb5 1-0",
            "1. e4 e5 2. Nf3 (2. f4 exf4 {2... Nc6 3. Bb5}) 1-0",
        ),
        ("1. e4 e5 (1... c5 (1... c6) 2. Nf3", "1. e4 e5 (1... c5 (1... c6) 2. Nf3) 1-0"),
        ("1. e4 (1. d4 (1. c4) 1... e5 2. Nf3 1-0", "1. e4 (1. d4 (1. c4) 1... e5 2. Nf3) 1-0"),
    ] {
        let open = format!("[White \"C\"]\n[Result \"1-0\"]\n\n{moves}\n\n");
        let scratch = Scratch::with("g.pgn", format!("{open}[Event \"?\"]\n{WHOLE}"));
        let done = scratch.run(&["convert", "g.pgn", "out.pgn", "--rejects", "r.pgn"]);
        assert_ends(&done, 1, "1 game, 1 cut short, 0 rejected");
        let column = moves.find('(').unwrap_or_default() + 1;
        let told =
            format!("g.pgn:4:{column}: warning[W-PGN-TRUNCATED]: the variation is not closed");
        assert!(done.err.contains(&told), "{moves}: {}", done.err);
        assert_eq!(scratch.text("r.pgn"), open, "{moves}");
        assert!(scratch.text("out.pgn").contains(kept), "{moves}: {}", scratch.text("out.pgn"));
    }
}

/// A game that the writer cannot write is rejected, and not counted as cut short.
#[test]
fn a_game_counts_once() {
    let scratch = scratch();
    let done = scratch.run(&["convert", "g.pgn", "g.pgc", "--rejects", "r.pgn"]);
    assert!(done.err.contains("error[E-PGC-COMMENT]"), "{}", done.err);
    assert_ends(&done, 1, "1 game, 1 rejected");
    assert_eq!(scratch.text("r.pgn"), CUT);
    assert_ends(
        &scratch.run(&["convert", "g.pgn", "l.pgc", "--lossy"]),
        1,
        "1 game, 1 cut short, 0 rejected",
    );
    // Games that are filtered out do not count as cut short.
    let wanted = ["filter", "g.pgn", "--games", "--where", "year >= 2000"];
    assert_ends(&scratch.run(&wanted), 0, "1 game, 0 rejected, 1 left out by --where");
}

#[test]
fn commands_take_the_moves_before_it() {
    let scratch = scratch();
    for (args, summary) in [
        (&["sort", "g.pgn"][..], "1 game, 1 cut short, 0 rejected"),
        (&["dedupe", "g.pgn"], "1 game, 1 cut short, 0 rejected"),
    ] {
        let done = scratch.run(args);
        assert_ends(&done, 1, summary);
        assert!(done.out.contains(KEPT), "{args:?}: {}", done.out);
    }
    for args in [
        &["count", "g.pgn"][..],
        &["filter", "g.pgn", "--where", "plies > 0", "--count"],
        &["stats", "g.pgn"],
        &["table", "g.pgn", "--columns", "plies", "--no-header"],
    ] {
        let done = scratch.run(args);
        assert_ends(&done, 1, "1 game, 1 cut short, 0 rejected");
        let first = done.out.lines().next().unwrap().split_whitespace().last();
        assert_eq!(first, Some("2"), "{args:?}");
        assert!(!done.err.contains(" of 2 games"), "{args:?}: {}", done.err);
    }
    let positions = "7 records, 0 blank or comment lines, 1 game cut short, 0 rejected";
    for args in [
        &["count", "g.pgn", "--positions=all"][..],
        &["normalize", "g.pgn"],
        &["pack", "g.pgn", "-o", "g.epa"],
        &["convert", "g.pgn", "g.epd"],
        &["import", "g.epdb", "g.pgn"],
    ] {
        let done = scratch.run(&[args, &["--rejects", "r.pgn"]].concat());
        assert_ends(&done, 1, positions);
        assert_eq!(scratch.text("r.pgn"), CUT, "{args:?}");
    }
    let verified = scratch.run(&["verify", "g.pgn"]);
    assert_eq!((verified.status, verified.out.as_str()), (1, "g.pgn: damaged, 1 warning\n"));
}

#[test]
fn an_archive_of_files_has_the_whole_game() {
    let scratch = scratch();
    let done = scratch.run(&["pack", "g.pgn", "-o", "g.epa", "--verbatim"]);
    assert_eq!(done.status, 0, "{}", done.err);
    assert_eq!(scratch.run(&["unpack", "g.epa", "--verbatim", "-o", "out"]).status, 0);
    assert_eq!(scratch.text("out"), scratch.text("g.pgn"));
}

/// Nothing of the user's is lost: the game is kept elsewhere, or its file stays.
#[test]
fn its_file_is_replaced_only_when_the_game_is_kept() {
    for args in [
        &["sort", "g.pgn", "--games", "-o", "g.pgn"][..],
        &["convert", "g.pgn", "g.pgn"],
        &["sort", "g.pgn", "--games", "-o", "g.pgn", "--truncate-games"],
        &["dedupe", "g.pgn", "--games", "-o", "g.pgn", "--allow-rejects"],
    ] {
        let scratch = scratch();
        let before = scratch.text("g.pgn");
        let done = scratch.run(args);
        assert_eq!(done.status, 2, "{args:?}: {}", done.err);
        assert!(done.err.contains("would lose rejected or truncated data"), "{}", done.err);
        assert_eq!((scratch.text("g.pgn"), scratch.names()), (before, vec!["g.pgn".to_string()]));
        let done = scratch.run(&[args, &["--rejects", "r.pgn"]].concat());
        assert!(done.status < 2, "{}", done.err);
        assert_eq!(scratch.text("r.pgn"), CUT);
        assert!(scratch.text("g.pgn").contains(KEPT));
    }
}

#[test]
fn tallies_and_books_count_it_only_on_request() {
    let scratch = scratch();
    let left_out = "1 game counted, 1 left out (1 cut short: --truncate-games counts them)";
    let book = ["book", "make", "g.pgn", "-o", "b.bin", "--min-games", "1"];
    for args in
        [&["tally", "g.pgn", "-o", "t.epd"][..], &book, &["import", "t.epdb", "g.pgn", "--tally"]]
    {
        let done = scratch.run(&[args, &["--rejects", "r.pgn"]].concat());
        assert_eq!(done.status, 1, "{args:?}: {}", done.err);
        assert!(done.err.contains(left_out), "{args:?}: {}", done.err);
        assert_ends(&done, 1, "1 game, 1 cut short, 0 rejected");
        assert_eq!(scratch.text("r.pgn"), CUT, "{args:?}");
    }
    assert!(!scratch.text("t.epd").contains("e4 "), "{}", scratch.text("t.epd"));
    let all = scratch.run(&["tally", "g.pgn", "-o", "a.epd", "--truncate-games"]);
    assert_eq!(all.status, 0, "{}", all.err);
    assert!(all.err.contains("2 games counted; 5 plies"), "{}", all.err);
    assert!(scratch.text("a.epd").contains("e4 +0=0-1"), "{}", scratch.text("a.epd"));
    let json = ["import", "j.epdb", "g.pgn", "--tally", "--json"];
    let done = scratch.run(&json);
    assert!(done.out.contains("\"games_left_out\":1,\"games_cut_short\":1"), "{}", done.out);
}

//! Scores carried back over the positions of a file, a stream, a store or an archive.

use crate::scratch::Scratch;

const START: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -";
const E4: &str = "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq -";
const E5: &str = "rnbqkbnr/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBNR w KQkq -";

fn book() -> Scratch {
    let lines = format!("{START} ce 20; id \"root\";\n{E4}\n{E5} ce 31;\n");
    Scratch::with("book.epd", lines)
}

fn solved() -> String {
    format!(
        "{START} ce 31; ce_own 20; id \"root\"; pm e4;\n{E4} ce -31; ce_own; pm e5;\n{E5} ce 31;\n"
    )
}

#[test]
fn records_come_back_in_their_order_whatever_the_format() {
    let scratch = book();
    let done = scratch.run(&["backsolve", "book.epd"]);
    assert_eq!((done.status, done.out), (0, solved()));
    let summary = "3 positions, 2 moves with a known result";
    assert!(done.err.contains(summary), "{}", done.err);
    assert!(done.err.contains("3 records, 2 with another ce, 1 of them had none"), "{}", done.err);
    for name in ["out.epd", "out.epb", "out.epa", "out.epdb"] {
        assert_eq!(scratch.run(&["backsolve", "book.epd", "-o", name]).status, 0, "{name}");
        let again = scratch.run(&["-q", "backsolve", name]);
        assert_eq!((again.out, again.err), (solved(), String::new()), "{name}");
    }
    let piped = scratch.run_with(&["backsolve", "-", "--threads", "1"], scratch.text("book.epd"));
    assert_eq!(piped.out, solved());
}

#[test]
fn a_dry_run_reports_and_writes_nothing() {
    let scratch = book();
    let done = scratch.run(&["backsolve", "--dry-run", "book.epd"]);
    let table = format!("before\tafter\tposition\n20\t31\t{START}\n");
    assert!(done.status == 0 && done.out.ends_with(&table), "{}", done.out);
    assert!(done.out.contains("2 solved by moves, 0 draws by repetition, 0 by the rules, 1 by"));
    assert_eq!(scratch.names(), ["book.epd"]);
    assert_eq!(scratch.run(&["backsolve", "--dry-run", "book.epd", "-o", "x.epd"]).status, 2);
}

/// Positions of two kings and a rook, with the white king on these squares.
fn rook_endings(white_kings: std::ops::Range<i32>) -> String {
    let mut lines = String::new();
    for (white, black, rook) in white_kings
        .flat_map(|white| (0..64).map(move |black| (white, black)))
        .filter(|(white, black)| {
            (white % 8 - black % 8).abs() > 1 || (white / 8 - black / 8).abs() > 1
        })
        .flat_map(|(white, black)| (0..64).map(move |rook| (white, black, rook)))
        .filter(|(white, black, rook)| rook != white && rook != black)
    {
        let piece = |square: i32| match square {
            _ if square == white => "K",
            _ if square == black => "k",
            _ if square == rook => "R",
            _ => "1",
        };
        let ranks: Vec<String> =
            (0..8).map(|rank| (0..8).map(|file| piece(8 * rank + file)).collect()).collect();
        let mut board = ranks.join("/");
        (2..=8).rev().for_each(|it| board = board.replace(&"1".repeat(it), &it.to_string()));
        let is_in_line = rook % 8 == black % 8 || rook / 8 == black / 8;
        let sides = if is_in_line { "b" } else { "wb" };
        for side in sides.chars() {
            lines += &format!("{board} {side} - -\n");
        }
    }
    lines
}

// README: Memory is bounded
#[test]
fn the_memory_makes_no_difference() {
    let scratch = Scratch::with("book.epd", rook_endings(42..43));
    let run = |memory: &str, more: &[&str]| {
        let done = scratch.run(&[&["backsolve", "book.epd", "--memory", memory], more].concat());
        assert_eq!(done.status, 0, "{}", done.err);
        (done.out, done.err)
    };
    for more in [&["--provenance"][..], &["--dry-run"]] {
        let expected = run("1G", more);
        assert!(expected.0.len() > 100);
        for memory in ["1K", "300K"] {
            assert!(run(memory, more) == expected, "{memory} {more:?}");
        }
    }
    assert_eq!(scratch.names(), ["book.epd"]);
}

#[test]
fn records_without_scores_are_reported() {
    let scratch = Scratch::with("a.epd", "7k/8/8/8/8/8/8/K7 w - -\n");
    let done = scratch.run(&["backsolve", "a.epd", "-o", "b.epd"]);
    assert!(done.err.contains("epdb: no record has a ce: "), "{}", done.err);
    let scored =
        scratch.run_with(&["backsolve", "-", "--dry-run"], "4k3/8/8/8/8/8/4P3/4K3 w - - ce 3;\n");
    assert!(!scored.err.contains("no record has a ce"), "{}", scored.err);
}

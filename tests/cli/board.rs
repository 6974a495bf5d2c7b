//! Terms of `--where` about the board: the same answer from every source, with and without pushdown.

use crate::scratch::Scratch;

const GAMES: &str = "\
[Event \"a\"]
[White \"A\"]
[Black \"B\"]
[Result \"1-0\"]

1. e4 c6 2. d4 d5 3. exd5 cxd5 4. c4 Nf6 5. Nc3 e6 6. Nf3 Be7 7. cxd5 Nxd5 8. Bd3 O-O 9. O-O Nc6 10. Re1 Bf6
11. Be4 Nce7 12. Ne5 g6 13. Bh6 Bg7 14. Bxg7 Kxg7 15. Qf3 b6 16. Nxd5 exd5 17. Bc2 Be6 1-0

[Event \"b\"]
[White \"C\"]
[Black \"D\"]
[Result \"1/2-1/2\"]

1. d4 Nf6 2. c4 e6 3. Nc3 d5 4. cxd5 exd5 5. Bg5 c6 6. e3 Be7 7. Bd3 Nbd7 8. Qc2 O-O 9. Nf3 Re8 10. O-O Nf8
11. Bxf6 Bxf6 12. b4 Bg4 13. Nd2 Be7 14. b5 c5 15. dxc5 Bxc5 1/2-1/2

[Event \"c\"]
[White \"E\"]
[Black \"F\"]
[Result \"0-1\"]
[SetUp \"1\"]
[FEN \"8/5kpp/3r4/8/8/P5P1/1R3P1P/6K1 w - - 0 40\"]

40. Rb7+ Kf6 41. Rb6 Rxb6 42. a4 Rb4 43. a5 Ra4 44. Kg2 Rxa5 0-1
";

const EXPRESSIONS: [&str; 16] = [
    "board('8/8/8/3p4/3P4/8/8/8')",
    "fenpattern('*/*/*/*/*/*/*/*RK?')",
    "on('N', 'e5')",
    "on('Bb', 'light') and not on('B', 'f1')",
    "count('P') - count('p') >= 1",
    "material('RPPPP v RPP')",
    "castling('KQkq')",
    "iqp",
    "carlsbad(white) or rook_ending",
    "flipcolor(on('n', 'd5')) && stm == 'w'",
    "passed(white, 'a-c')",
    "pieces <= 12",
    "on('n', 'f6') && ply > 10",
    "on('n', 'f6') || ply > 30",
    "!(on('n', 'f6') || hmvc > 0)",
    "count('P') > hmvc + 3",
];

/// A file of each format with the same positions, half of them without operations.
fn sources() -> (Scratch, Vec<&'static str>) {
    let scratch = Scratch::with("games.pgn", GAMES);
    let run = |args: &[&str]| {
        let done = scratch.run(args);
        assert_eq!(done.status, 0, "{args:?}: {}", done.err);
        done.out
    };
    run(&["convert", "games.pgn", "positions.epd"]);
    let lines = String::from_utf8(scratch.read("positions.epd")).unwrap();
    let bare = |line: &str| line.split(' ').take(4).collect::<Vec<_>>().join(" ");
    let lines: Vec<String> = lines
        .lines()
        .enumerate()
        .map(|(number, line)| if number % 2 == 0 { line.to_string() } else { bare(line) })
        .collect();
    scratch.write("a.epd", lines.join("\n"));
    run(&["convert", "a.epd", "a.epb"]);
    run(&["import", "a.epdb", "a.epd"]);
    run(&["pack", "a.epd", "-o", "fast.epa", "--level", "fast"]);
    run(&["pack", "a.epd", "-o", "default.epa"]);
    run(&["pack", "a.epd", "-o", "shards", "--shards", "2"]);
    let names = vec!["a.epd", "a.epb", "a.epdb", "fast.epa", "default.epa", "shards/manifest.json"];
    (scratch, names)
}

fn sorted(text: &str) -> Vec<&str> {
    let mut lines: Vec<_> = text.lines().collect();
    lines.sort_unstable();
    lines
}

#[test]
fn every_source_gives_the_same_records_for_a_term_about_the_board() {
    let (scratch, names) = sources();
    for expression in EXPRESSIONS {
        // The other way: all records are decoded, and the expression selects them by --invert.
        let opposite = format!("!({expression})");
        let args = ["filter", "a.epd", "--invert", "--where", &opposite];
        let expected = scratch.run(&args).out;
        assert!(!expected.is_empty(), "{expression}");
        for name in &names {
            for threads in ["1", "2"] {
                let args = ["filter", name, "--where", expression, "--threads", threads];
                let done = scratch.run(&args);
                assert_eq!(done.status, 0, "{args:?}: {}", done.err);
                // A store and shards have their own order.
                assert_eq!(sorted(&done.out), sorted(&expected), "{args:?}");
                let count = scratch.run(&["count", name, "--where", expression]);
                assert_eq!(count.out.trim(), expected.lines().count().to_string(), "{args:?}");
            }
        }
    }
}

#[test]
fn explain_says_what_the_position_decides() {
    let (scratch, names) = sources();
    for name in names {
        let done = scratch.run(&["count", name, "--where", "iqp and ply > 25", "--explain"]);
        let lines: Vec<_> = done.err.lines().collect();
        assert_eq!(lines[0], "epdb: the position decides first: iqp");
        assert_eq!(lines[1], "epdb: then the record: ply > 25");
        assert!(lines[2].starts_with("epdb: 77 records: "), "{}", done.err);
        assert!(lines[2].ends_with(&format!(" read, {} match", done.out.trim())), "{}", done.err);
        // A line with operations is read whole, because mistakes in it are reported.
        let read = lines[2].contains("excluded by position alone, 0 read");
        assert!(!read && !lines[2].contains(": 0 excluded"), "{name}: {}", done.err);
    }
    let explained = |expression: &str| {
        scratch.run(&["filter", "a.epd", "--count", "--where", expression, "--explain"]).err
    };
    assert!(
        explained("iqp or passed").starts_with("epdb: the position alone decides: iqp, passed\n")
    );
    assert!(
        explained("iqp or ce > 3")
            .starts_with("epdb: any position may match; the record decides\n")
    );
    let refused = scratch.run(&["count", "a.epd", "--explain"]);
    assert_eq!((refused.status, &*refused.out), (2, ""));
    assert!(refused.err.contains("--explain needs --where"), "{}", refused.err);
}

/// A field that no record has is reported only if its records were read.
#[test]
fn a_field_of_records_that_were_not_read_is_not_reported_as_missing() {
    let (scratch, _) = sources();
    let err = |expression: &str| scratch.run(&["count", "default.epa", "--where", expression]).err;
    assert_eq!(err("on('K', 'a8') and Depth > 3"), "");
    assert!(err("iqp and Depth > 3").contains("no record with a matching position has `Depth`"));
    assert!(err("Depth > 3").contains("no record has `Depth`"));
}

/// Lines that are wrong are reported, also if their positions do not match.
#[test]
fn wrong_lines_are_reported_whatever_their_position() {
    let lines = "4k3/8/8/8/8/8/4P3/4K3 w - -\n4k3/8/8/8/8/8/4P3/4K3 w - - ce x;\nno position\n";
    let scratch = Scratch::with("a.epd", lines);
    let all = scratch.run(&["count", "a.epd"]);
    let none = scratch.run(&["count", "a.epd", "--where", "on('n', 'e5')"]);
    assert_eq!((all.status, none.status, &*none.out), (1, 1, "0\n"));
    let codes = |err: &str| err.lines().filter(|line| line.contains("-EPD-")).count();
    assert_eq!(codes(&all.err), codes(&none.err), "{}", none.err);
}

/// An import that leaves records out keeps its place in the source.
#[test]
fn an_import_of_matching_positions_is_complete() {
    let (scratch, names) = sources();
    for name in names {
        let _ = std::fs::remove_file(scratch.path("b.epdb"));
        let done = scratch.run(&["import", "b.epdb", name, "--where", "iqp"]);
        assert_eq!(done.status, 0, "{}", done.err);
        let expected = scratch.run(&["count", name, "--where", "iqp"]).out;
        assert_eq!(scratch.run(&["count", "b.epdb"]).out, expected, "{name}");
    }
}

#[test]
fn the_page_of_structures_has_every_name_with_its_examples() {
    let scratch = Scratch::with("a.epd", "");
    let page = scratch.run(&["help", "structures"]).out;
    let examples: Vec<&str> =
        page.lines().filter_map(|line| line.trim_start().strip_prefix("yes  ")).collect();
    assert_eq!(examples.len(), 25, "{page}");
    for name in ["isolated", "connected", "iqp", "rook_ending", "quiet"] {
        assert!(page.contains(&format!("\n  {name}: ")), "{page}");
    }
}

//! Options that apply to no source and no output are refused.

use crate::scratch::Scratch;

const GAME: &str = "[White \"A\"]\n\n1. e4 e5 *\n";
const LINE: &str = "4k3/8/8/8/8/8/4P3/4K3 w - - c0 \"x\";\n";

fn files() -> Scratch {
    let scratch = Scratch::with("s.epd", LINE);
    scratch.write("g.pgn", GAME);
    for args in [["pack", "s.epd", "-o", "s.epa"], ["tally", "g.pgn", "-o", "lib.epa"]] {
        assert_eq!(scratch.run(&args).status, 0);
    }
    scratch
}

fn refused(scratch: &Scratch, line: &str, option: &str) {
    let args: Vec<&str> = line.split(' ').collect();
    let done = scratch.run(&args);
    assert_eq!((done.status, done.out.as_str()), (2, ""), "{line}: {}", done.err);
    assert!(done.err.contains(&format!("{option} is for ")), "{line}: {}", done.err);
}

// README: No option is ignored
/// Of all commands that read anything.
#[test]
fn sources_that_cannot_obey_are_named() {
    let scratch = files();
    let commands = [
        "normalize",
        "count",
        "stats",
        "filter",
        "sort",
        "shuffle",
        "dedupe",
        "cat",
        "head",
        "flip",
        "table --columns fen",
        "sample -n 1",
        "registers",
        "report",
        "backsolve",
        "edit --drop c0",
    ];
    for command in commands {
        for option in ["labels", "perft", "mates dm", "revision 1994", "max-line 1K"] {
            let name = format!("--{}", option.split(' ').next().unwrap());
            refused(&scratch, &format!("{command} s.epa --{option}"), &name);
        }
        for option in
            ["positions final", "variations", "game-tags", "language german", "max-game 1M"]
        {
            let name = format!("--{}", option.split(' ').next().unwrap());
            refused(&scratch, &format!("{command} s.epd --{option}"), &name);
            refused(&scratch, &format!("{command} s.epa --{option}"), &name);
        }
    }
}

/// A library has its counts: what decides which games count comes too late.
#[test]
fn a_book_of_a_library_is_not_counted_again() {
    let scratch = files();
    for option in ["max-ply 2", "player A", "by year", "standard-only", "keep-games 3"] {
        let name = format!("--{}", option.split(' ').next().unwrap());
        refused(&scratch, &format!("book make lib.epa -o b.bin --{option}"), &name);
    }
    assert!(!scratch.path("b.bin").exists());
    let made = scratch.run(&[
        "book",
        "make",
        "g.pgn",
        "-o",
        "b.bin",
        "--max-ply",
        "2",
        "--min-games",
        "1",
    ]);
    assert_eq!(made.status, 0, "{}", made.err);
}

/// One source that obeys is enough; of standard input it is known when it is open.
#[test]
fn one_source_that_obeys_is_enough() {
    let scratch = files();
    for line in ["count s.epa s.epd --labels", "count s.epd g.pgn --positions=final"] {
        let done = scratch.run(&line.split(' ').collect::<Vec<_>>());
        assert_eq!(done.status, 0, "{line}: {}", done.err);
    }
    let count = |input: &str, option: &str| scratch.run_with(&["count", "-", option], input);
    assert_eq!(count(LINE, "--labels").status, 0);
    assert_eq!(count(GAME, "--positions=final").status, 0);
    let done = count(GAME, "--labels");
    assert_eq!(done.status, 2);
    assert!(
        done.err.contains("--labels is for EPD text or FEN text, and standard input is games"),
        "{}",
        done.err
    );
    assert_eq!(count(LINE, "--positions=final").status, 2);
}

/// Options of text do not apply to games and binary formats.
#[test]
fn outputs_that_cannot_obey_are_named() {
    let scratch = files();
    for (line, option) in [
        ("convert s.epd o.epa --counters ops", "--counters"),
        ("convert s.epd o.epb --format fen", "--format"),
        ("convert g.pgn o.pgn --castling shredder", "--castling"),
        ("convert g.pgn o.pgc --reduced", "--reduced"),
        ("convert g.pgn o.pgn --lossy", "--lossy"),
        ("convert s.epd o.fen --to-charset latin-1", "--to-charset"),
        ("sort s.epd -o o.epb --ep legal", "--ep"),
    ] {
        refused(&scratch, line, option);
    }
    for name in ["o.epa", "o.epb", "o.pgn", "o.pgc", "o.fen"] {
        assert!(!scratch.path(name).exists(), "{name}");
    }
}

/// Games that are written as games have no positions of which something could be kept.
#[test]
fn options_for_positions_need_positions() {
    let scratch = files();
    for option in ["--variations", "--game-tags", "--game-openings", "--game-evals"] {
        let done = scratch.run(&["convert", "g.pgn", "o.pgn", option]);
        assert_eq!(done.status, 2, "{}", done.err);
        assert!(
            done.err.contains("games are processed as games here: use --positions too"),
            "{}",
            done.err
        );
        assert_eq!(scratch.run(&["convert", "g.pgn", "-", "--to", "epd", option]).status, 0);
    }
}

/// Options that would change nothing for games, or beside another option.
#[test]
fn options_without_an_effect_are_refused() {
    let scratch = files();
    for line in [
        "export g.pgn --min-games 2",
        "convert s.epd o.epdb --about name=A",
        "convert g.pgn o.pgc --about name=A",
        "dedupe g.pgn --prefer first",
        "dedupe g.pgn --on-conflict first",
        "union g.pgn --bm union",
        "dedupe --near --prefer first g.pgn",
        "dedupe --list --add ce s.epd",
        "dedupe --near=0 g.pgn",
        "filter g.pgn --where check --count -o o.pgn",
        "filter s.epd --where check --count -o o.epd",
    ] {
        let done = scratch.run(&line.split(' ').collect::<Vec<_>>());
        assert_eq!((done.status, done.out.as_str()), (2, ""), "{line}: {}", done.err);
    }
}

/// An option that means nothing without another one is refused, with and without files, and also
/// next to options that exclude the other one.
#[test]
fn options_need_others() {
    let scratch = files();
    scratch.write("h.pgn", GAME);
    let trees = "--tree or --chapters";
    let merging = "--on-duplicate merge";
    let by = "--by position or --by board";
    let cases = [
        ("tally -o n.epa --slice 1/2", "--slice", "--plan"),
        ("tally g.pgn -o n.epa --slice 1/2", "--slice", "--plan"),
        ("tally g.pgn -o n.epa --copies c", "--copies", "--plan"),
        ("tally g.pgn -o n.epa --unique-games", "--unique-games", "--plan"),
        ("tally -o n.epa --unique-games", "--unique-games", "--plan"),
        ("tally -o n.epa --plan p", "--plan", "--slice"),
        ("tally g.pgn -o n.epa --side white", "--side", "--player"),
        ("pack -o n.epa --slice 1/2", "--slice", "--plan"),
        ("pack s.epd -o n.epa --slice 1/2", "--slice", "--plan"),
        ("pack -o n.epa --plan p", "--plan", "--slice"),
        ("shard games -o n --slice 1/2", "--slice", "--plan"),
        ("shard games -o n --plan p", "--plan", "--slice"),
        ("shard games -o n --plan p --slice 1/2 --side black", "--side", "--player"),
        ("convert g.pgn n.pgn --root startpos", "--root", trees),
        ("convert g.pgn n.pgn --depth 3", "--depth", trees),
        ("convert g.pgn n.pgn --once", "--once", trees),
        ("convert g.pgn n.pgn --min-games 1", "--min-games", trees),
        ("import n.epdb s.epd --base lib.epa", "--base", "--tally"),
        ("import n.epdb s.epd --base lib.epa --on-duplicate skip", "--base", "--tally"),
        ("import n.epdb g.pgn --side white", "--side", "--player"),
        (
            "import n.epdb s.epd --same record",
            "--same",
            "--on-duplicate skip or --on-duplicate replace or --on-duplicate merge",
        ),
        ("import n.epdb s.epd --prefer later", "--prefer", merging),
        ("import n.epdb s.epd --on-duplicate skip --bm union", "--bm", merging),
        ("import n.epdb s.epd --on-duplicate keep --add D1", "--add", merging),
        ("union s.epd --by record --prefer later", "--prefer", by),
        ("dedupe s.epd --by record --bm union", "--bm", by),
        ("dedupe s.epd --by record --add D1", "--add", by),
        ("dedupe s.epd --by record --on-conflict first", "--on-conflict", by),
        ("dedupe s.epd --by record --conflicts n.tsv", "--conflicts", by),
        ("dedupe s.epd --by record --deny-conflicts", "--deny-conflicts", by),
        ("repertoire g.pgn --side white --training n.pgn", "--training", "--against"),
        ("repertoire g.pgn --side white --player A", "--player", "--games"),
        ("repertoire g.pgn --side white --player A -o n.epd", "--player", "--games"),
        ("edit s.epd --drop c0 --start 4", "--start", "--number"),
        ("split s.epd --lines 1 --seed 3 -o n%d.epd", "--seed", "--ratio"),
        ("split s.epd --lines 1 --by-position -o n%d.epd", "--by-position", "--ratio"),
        ("split g.pgn --by Event --seed 3 -o n%s.pgn", "--seed", "--ratio"),
        ("backsolve s.epd --json", "--json", "--dry-run"),
        ("backsolve s.epd --json -o n.epd", "--json", "--dry-run"),
        ("analyze s.epd --engine none --nodes 1 --resume", "--resume", "--output"),
        ("book make g.pgn -o n.bin --side white", "--side", "--player or --repertoire"),
        ("convert g.pgn n.pgn --translit", "--translit", "--to-charset latin-1 for PGN"),
    ];
    for (line, option, other) in cases {
        let args: Vec<&str> = line.split(' ').collect();
        let done = scratch.run(&args);
        assert_eq!((done.status, done.out.as_str()), (2, ""), "{line}: {}", done.err);
        let expected = format!("{option} needs {other}: add it, or leave {option} out");
        assert!(done.err.contains(&expected), "{line}: {}", done.err);
        let written = std::fs::read_dir(scratch.path(".")).unwrap();
        let is_new = |name: &std::ffi::OsStr| name.to_string_lossy().starts_with('n');
        assert!(!written.flatten().any(|file| is_new(&file.file_name())), "{line}");
    }
    let line = "mate s.epd --engine none --nodes 1 --exact-dm";
    let args: Vec<&str> = line.split(' ').collect();
    let done = scratch.run(&args);
    assert_eq!((done.status, done.out.as_str()), (2, ""), "{line}: {}", done.err);
    assert!(done.err.contains("--exact-dm is for `epdb pfms`"), "{line}: {}", done.err);
}

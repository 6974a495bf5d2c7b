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
    for line in ["count s.epa s.epd --labels", "count s.epd g.pgn --positions final"] {
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

//! Sharded archives answer like one archive.

use crate::scratch::Scratch;

/// Games that meet and part.
const GAMES: &str = "[Event \"Cup\"]\n[Date \"1992.11.04\"]\n[White \"Ann\"]\n[Black \"Eve\"]\n[WhiteElo \"2400\"]\n[BlackElo \"2500\"]\n[Result \"1-0\"]\n\n1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 4. Ba4 Nf6 5. O-O 1-0\n\n\
[Event \"?\"]\n[Date \"2001.??.??\"]\n[White \"Bob\"]\n[Black \"Dan\"]\n[Result \"0-1\"]\n\n1. Nf3 e5 2. e4 Nc6 3. Bc4 Bc5 4. c3 Nf6 0-1\n\n";
const MORE: &str = "[White \"Cy\"]\n[Date \"2020.05.??\"]\n[Result \"1/2-1/2\"]\n\n1. e4 c5 2. Nf3 d6 3. d4 cxd4 4. Nxd4 1/2-1/2\n\n\
[White \"Flo\"]\n[WhiteElo \"2000\"]\n[BlackElo \"2001\"]\n[Result \"*\"]\n\n1. e4 e5 2. Nf3 d6 *\n\n";

/// Libraries of two files of games, each alone and both together.
fn libraries() -> Scratch {
    let scratch = Scratch::with("a.pgn", GAMES);
    scratch.write("b.pgn", MORE);
    for (library, files) in [("a.epa", "a.pgn"), ("b.epa", "b.pgn")] {
        run(&scratch, &["tally", files, "-o", library, "--keep-games", "2"]);
    }
    run(&scratch, &["tally", "a.pgn", "b.pgn", "-o", "all.epdb", "--keep-games", "2"]);
    run(&scratch, &["pack", "all.epdb", "-o", "one.epa", "--level", "fast", "--sorted"]);
    scratch
}

/// Runs a command that must succeed, and returns its output.
fn run(scratch: &Scratch, args: &[&str]) -> String {
    let done = scratch.run(args);
    assert_eq!(done.status, 0, "{args:?}: {}", done.err);
    done.out
}

#[test]
fn a_merged_library_answers_like_the_library_of_all_games() {
    let scratch = libraries();
    let commands: [&[&str]; 7] = [
        &["export", "FILE"],
        &["explore", "FILE"],
        &["explore", "FILE", "e4", "e5"],
        &["games", "FILE", "e4", "e5"],
        &["get", "FILE", "rnbqkbnr/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBNR w KQkq -"],
        &["count", "FILE"],
        &["count", "FILE", "--where", "games > 1"],
    ];
    for shards in ["1", "3", "8"] {
        let folder = format!("s{shards}");
        run(&scratch, &["shard", "merge", "a.epa", "b.epa", "--shards", shards, "-o", &folder]);
        let manifest = format!("{folder}/manifest.json");
        assert_eq!(run(&scratch, &["verify", &manifest]), format!("{manifest}: no damage found\n"));
        for command in commands {
            let of = |file: &str| {
                let args: Vec<&str> =
                    command.iter().map(|arg| if *arg == "FILE" { file } else { arg }).collect();
                run(&scratch, &args)
            };
            assert_eq!(of(&manifest), of("one.epa"), "{shards} shards: {command:?}");
        }
    }
}

#[test]
fn the_bytes_do_not_depend_on_the_order_of_libraries() {
    let scratch = libraries();
    for (folder, runs) in [("x", ["a.epa", "b.epa"]), ("y", ["b.epa", "a.epa"])] {
        run(&scratch, &["shard", "merge", runs[0], runs[1], "--shards", "3", "-o", folder]);
    }
    let names = |folder: &str| {
        let names = std::fs::read_dir(scratch.path(folder)).unwrap();
        let mut names: Vec<_> = names.map(|it| it.unwrap().file_name()).collect();
        names.sort();
        names
    };
    assert_eq!(names("x"), names("y"));
    for name in names("x") {
        let of = |folder: &str| std::fs::read(scratch.path(folder).join(&name)).unwrap();
        assert!(of("x") == of("y"), "{name:?}");
    }
}

#[test]
fn libraries_that_share_games_are_refused() {
    let scratch = libraries();
    let merge = ["shard", "merge", "a.epa", "one.epa", "--shards", "2", "-o", "x"];
    let done = scratch.run(&merge);
    assert_eq!(done.status, 2);
    assert!(done.err.contains("shares 2 games"), "{}", done.err);
    assert!(!scratch.path("x").exists());
    run(&scratch, &[&merge[..], &["--allow-overlap"]].concat());
    let again = scratch.run(&["shard", "merge", "a.epa", "--shards", "2", "-o", "x"]);
    assert_eq!(again.status, 2);
    assert!(again.err.contains("is a sharded archive: --force replaces it"), "{}", again.err);
}

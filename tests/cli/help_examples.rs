//! Every example of the help runs as printed, with stand-ins for its files and engines.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output};

use crate::scratch::Scratch;

const START: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -";
const BARE: &str = "8/2b2k1K/1pPp1p2/1P1P1P2/5B2/8/8/8 w - -";

/// Pages, by the words after `epdb help`.
fn pages(scratch: &Scratch) -> Vec<String> {
    let first = scratch.run(&["help", "all"]).out;
    let (commands, pages) = first.split_once("The suffix of a file").unwrap();
    let named = |text: &str| -> Vec<String> {
        let entries = text.lines().filter(|line| !line.starts_with("   "));
        let words = entries.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
        words.map(String::from).collect()
    };
    let mut names = [named(commands), named(pages)].concat();
    names.extend(["make", "list", "merge", "info"].map(|name| format!("book {name}")));
    names.extend(["merge", "verify", "list", "clean"].map(|name| format!("shard {name}")));
    names.extend(["plan", "games", "copies"].map(|name| format!("shard {name}")));
    assert!(names.len() > 55, "{names:?}");
    names
}

/// The examples of a page: the lines of a shell after `Example:` or `Examples:`, up to a blank line.
fn examples(page: &str) -> Vec<&str> {
    let mut lines = page.lines().skip_while(|line| !line.starts_with("Example"));
    let first = lines.next().unwrap_or_default();
    let first = first.split_once(": ").map(|(_, line)| line);
    let rest = lines.take_while(|line| !line.trim().is_empty()).map(str::trim);
    first
        .into_iter()
        .chain(rest)
        .filter(|line| line.contains("epdb ") && !line.contains('`'))
        .collect()
}

/// Examples that are not run, each with the reason. Their options are checked.
const NOT_RUN: [(&str, &str); 12] = [
    ("epdb referee cup.toml --attended", "a supervisor types; `referee.rs` has a test"),
    ("epdb referee --observe cup.toml", "it watches another referee; `referee.rs` has a test"),
    ("epdb client --connect 127.0.0.1:5959", "it needs a referee; `client.rs` has tests"),
    ("epdb client --connect host:5959", "it needs a referee in the network"),
    ("epdb client --serial /dev/ttyS0", "it needs a serial line; `referee.rs` has a test"),
    ("epdb count https://", "it needs a network; `remote.rs` has tests"),
    ("epdb explore s3://", "it needs object storage; `remote.rs` has tests"),
    ("epdb count 'hf://", "it needs a network; `remote.rs` has tests"),
    ("epdb serve masters=library.epa", "it serves until it is stopped; tests/server has tests"),
    ("epdb serve masters=library/", "it serves until it is stopped; tests/server has tests"),
    ("epdb serve games.pgn", "it serves until it is stopped; tests/server has tests"),
    ("epdb serve --config", "it serves until it is stopped; tests/server has tests"),
];

/// Examples with exit status 1, and the sentence of the help that says so.
const STATUS_1: [(&str, &str); 4] = [
    ("epdb get book.epdb --tag < positions.fen", "Exit status 1 if some position has no record"),
    (
        "epdb get book.epdb -f positions.fen --missing",
        "Exit status 1 if some position has no record",
    ),
    ("epdb diff wac-old.epd wac-new.epd", "Exit status 1 if"),
    ("epdb diff games-2023.pgn games-2024.pgn", "Exit status 1 if"),
];

fn game(number: u32, tags: &str, moves: &str) -> String {
    format!(
        "[Event \"Open\"]\n[Site \"?\"]\n[Date \"2024.0{}.01\"]\n[Round \"{number}\"]\n\
         [White \"Carlsen, M\"]\n[Black \"B\"]\n[Result \"1-0\"]\n[WhiteElo \"2800\"]\n\
         [BlackElo \"2700\"]\n[ECO \"B50\"]\n{tags}\n{moves} 1-0\n\n",
        1 + number % 9
    )
}

/// A folder with all files and engines that examples name.
fn stand_ins() -> Scratch {
    let scratch = Scratch::new();
    let write = |names: &[&str], content: &str| {
        names.iter().for_each(|name| scratch.write(name, content));
    };
    let after = "rnbqkbnr/pp1ppppp/8/2p5/4P3/8/PPPP1PPP/RNBQKBNR w KQkq c6";
    let suite = format!(
        "{START} bm e4; ce 20; id \"S.1\"; c9 \"1-0\";\n{after} bm Nf3; ce 30; id \"S.2\";\n\
         {BARE} bm Be3; ce 15; id \"S.3\"; c9 \"1/2-1/2\";\n"
    );
    let solved = suite
        .replace("; ce", "; pm e4; acd 9; pv e4; ce")
        .replace("pm e4; acd 9; pv e4; ce 15", "pm Be3; ce 15");
    write(
        &[
            "a.epd",
            "annotated.epd",
            "book.epd",
            "data.epd",
            "games.epd",
            "new.epd",
            "old.epd",
            "sts.epd",
            "suite.epd",
            "UHO.epd",
            "UHO_4060_v2.epd",
            "wac.epd",
            "wac1.epd",
            "wac-new.epd",
        ],
        &suite,
    );
    write(
        &["analysed.epd", "b.epd", "run1.epd", "run2.epd", "wac.sf16.epd", "wac.sf17.epd"],
        &solved.replace("Nf3; pm e4; acd 9; pv e4", "Nf3; pm Nf3"),
    );
    write(&["problems.epd"], &format!("{START} dm 2;\n"));
    write(&["a.epd", "wac.epd"], &scratch.text("b.epd"));
    write(&["played.epd", "start.epd"], &format!("{START}\n"));
    write(&["wac2.epd"], &format!("{START} bm e4; id \"T.1\";\n"));
    write(&["wac-old.epd"], &suite.replace("bm Be3", "bm Bd2"));
    write(&["perftsuite.epd"], "8/8/8/8/8/8/4k3/K7 w - - ;D1 3 ;D2 24\n");
    write(&["positions.fen"], &format!("{START} 0 1\n8/8/8/8/8/8/4k3/K7 w - - 0 1\n"));
    write(&["scored.epd"], &format!("{START} ; 23;\n"));
    fs::create_dir(scratch.path("suites")).unwrap();
    fs::create_dir(scratch.path("runs")).unwrap();
    write(&["suites/one.epd"], &suite);

    let moves = "1. e4 c5 2. Nf3 d6 3. d4 cxd4";
    let games: String = (1..=60).map(|number| game(number, "", moves)).collect();
    let evaluated = games.replace("Nf3", "Nf3 {[%eval 0.3]}");
    write(&["lichess_db_standard_rated.pgn"], &evaluated);
    let more = game(99, "", "1. d4 f5 2. c4") + &games;
    write(
        &[
            "games.pgn",
            "1991.pgn",
            "2023.pgn",
            "games-2023.pgn",
            "match.pgn",
            "mine.pgn",
            "sloppy.pgn",
        ],
        &games,
    );
    write(&["1992.pgn", "2024.pgn", "2025.pgn", "games-2024.pgn"], &more);
    write(&["today.pgn"], &game(100, "", "1. c4 c5"));
    write(&["lines.pgn", "white.pgn"], include_str!("../samples/repertoire.pgn"));
    write(&["study.pgn"], "[Orientation \"white\"]\n[Result \"*\"]\n\n1. e4 c5 2. Nf3 *\n");
    let names = "eco\tname\tpgn\nB50\tSicilian\t1. e4 c5\n";
    for folder in ["chess-openings", "openings"] {
        fs::create_dir(scratch.path(folder)).unwrap();
        write(&[&format!("{folder}/a.tsv"), &format!("{folder}/b.tsv")], names);
    }
    let evaluation = "{\"pvs\":[{\"cp\":31,\"line\":\"e2e4\"}],\"knodes\":9,\"depth\":20}";
    let first = format!("{{\"fen\":\"{START}\",\"evals\":[{evaluation}]}}\n");
    let found = "rnbqkbnr/pp1ppppp/8/2p5/4P3/5N2/PPPP1PPP/RNBQKB1R b KQkq -";
    let evaluation = evaluation.replace("e2e4", "d7d6");
    write(
        &["lichess_db_eval.jsonl"],
        &format!("{first}{{\"fen\":\"{found}\",\"evals\":[{evaluation}]}}\n"),
    );
    write(
        &["lichess_db_puzzle.csv"],
        &format!(
            "PuzzleId,FEN,Moves,Rating,RatingDeviation,Popularity,NbPlays,Themes,GameUrl\n\
             a,{START} 0 1,e2e4 e7e5,2100,80,90,100,opening,https://lichess.org/a\n"
        ),
    );
    let engine = crate::engines_at_hand::scripted();
    for name in ["stockfish", "old", "new", "sf"] {
        symlink(&engine, scratch.path(name)).unwrap();
    }
    let player = |name: &str| format!("[[player]]\nname = '{name}'\nengine = './stockfish'\n");
    let rules = "games = 2\nmax-moves = 4\nsilences = { conclude = '0s', reset = '0s' }\n";
    write(&["cup.toml"], &format!("{rules}{}{}", player("A"), player("B")));
    fs::create_dir(scratch.path("man1")).unwrap();
    for call in [
        "normalize suite.epd -o suite.epd",
        "convert suite.epd suite.epb",
        "convert analysed.epd analysed.epb",
        "convert sts.epd sts.epb",
        "convert wac.epd wac.pgn",
        "convert book.epd book.epd.zst",
        "convert book.epd book.epdb",
        "convert suite.epd suite.epdb",
        "convert games.pgn games.pgc",
        "convert 2024.pgn 2024.pgn.zst",
        "convert lichess_db_standard_rated.pgn lichess_db_standard_rated.pgn.zst",
        "convert lichess_db_eval.jsonl evaluations.epa",
        "pack suites/one.epd -o suites.epa --verbatim",
        "tally games.pgn 2024.pgn -o library.epdb --keep-games 5",
        "tally 2024.pgn -o library.epa --keep-games 5",
        "tally 2024.pgn -o mine.epdb",
        "book make games.pgn -o book.bin --min-games 1",
        "tally games.pgn -o 2023.epa",
        "tally study.pgn -o 2024.epa",
        "tally study.pgn -o runs/1.epa",
        "pack library.epdb --shards 3 -o library",
        "import today.epdb today.pgn --tally --base library/manifest.json",
        "shard plan games.pgn --slices 4 -o plan.json",
        "shard games --plan plan.json --slice 1/4 -o 1.games",
        "shard games --plan plan.json --slice 2/4 -o 2.games",
        "shard games --plan plan.json --slice 3/4 -o 3.games",
        "shard games --plan plan.json --slice 4/4 -o 4.games",
        "shard copies 1.games 2.games 3.games 4.games -o copies",
    ] {
        let done = scratch.run(&call.split(' ').collect::<Vec<_>>());
        assert_eq!(done.status, 0, "{call}: {}", done.err);
    }
    for name in ["2023", "2024", "2025", "mine", "theirs"] {
        fs::copy(scratch.path("book.bin"), scratch.path(&format!("{name}.bin"))).unwrap();
    }
    for name in ["lichess_db_eval.jsonl", "lichess_db_puzzle.csv"] {
        let packed = zstd::encode_all(scratch.read(name).as_slice(), 1).unwrap();
        scratch.write(&format!("{name}.zst"), packed);
    }
    // 1,011 records, for --range 1000..1010.
    let many: String = (0..1011).map(|number| format!("{BARE} id \"{number}\";\n")).collect();
    scratch.write("many.epd", many);
    assert_eq!(scratch.run(&["pack", "many.epd", "-o", "book.epa"]).status, 0);
    scratch
}

/// Copies the files and folders of a folder.
fn copy(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let place = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            fs::create_dir(&place).unwrap();
            copy(&entry.path(), &place);
        } else if entry.file_type().unwrap().is_symlink() {
            symlink(fs::read_link(entry.path()).unwrap(), place).unwrap();
        } else {
            fs::copy(entry.path(), place).unwrap();
        }
    }
}

/// Runs a line of a shell, with epdb and the engines in `PATH`.
fn shell(folder: &Path, line: &str) -> Output {
    let epdb = assert_cmd::cargo::cargo_bin("epdb");
    let path = std::env::var("PATH").unwrap();
    let path = format!("{}:{}:{path}", folder.display(), epdb.parent().unwrap().display());
    Command::new("sh").args(["-c", line]).current_dir(folder).env("PATH", path).output().unwrap()
}

#[test]
fn every_example_of_the_help_runs() {
    let all = stand_ins();
    let (mut ran, mut left_out, mut with_status_1) = (0, 0, 0);
    let mut failures = Vec::new();
    for name in pages(&all) {
        let words: Vec<&str> = ["help"].into_iter().chain(name.split(' ')).collect();
        let page = all.run(&words);
        assert_eq!(page.status, 0, "{name}");
        for line in examples(&page.out) {
            let scratch = Scratch::new();
            copy(&all.path(""), &scratch.path(""));
            if NOT_RUN.iter().any(|(start, _)| line.starts_with(start)) {
                let done = shell(&scratch.path(""), &format!("{line} --help"));
                assert!(done.status.success(), "{line}: {}", String::from_utf8_lossy(&done.stderr));
                left_out += 1;
                continue;
            }
            // Games are added to a library with the options that it was built with.
            if name == "import" {
                fs::copy(all.path("mine.epdb"), scratch.path("library.epdb")).unwrap();
            }
            // What an example writes is not there before, and nothing is written outside of the folder.
            let line =
                line.replace("/etc/bash_completion.d/", "").replace("/usr/local/share/man/", "");
            let output = ["-o ", "-pgnout "].iter().find_map(|option| line.split_once(option));
            if let Some((call, output)) = output {
                let output = output.split(' ').next().unwrap();
                if !call.contains(output) {
                    fs::remove_file(scratch.path(output)).unwrap_or(());
                }
            }
            let done = shell(&scratch.path(""), &line);
            let err = String::from_utf8_lossy(&done.stderr);
            let different = STATUS_1.iter().find(|(start, _)| line.starts_with(start));
            if let Some((_, sentence)) = different {
                let text = page.out.split_whitespace().collect::<Vec<_>>().join(" ");
                assert!(text.contains(sentence), "{name}: {}", page.out);
                with_status_1 += 1;
            }
            let expected = Some(i32::from(different.is_some()));
            if done.status.code() != expected || err.contains("error") {
                failures.push(format!("{name}: {line}\n{}\n{err}", done.status));
            }
            ran += 1;
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert_eq!((left_out, with_status_1), (NOT_RUN.len(), STATUS_1.len()));
    assert!(ran > 100, "{ran} examples");
}

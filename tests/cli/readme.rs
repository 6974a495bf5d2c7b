//! The README and the guide: their example, their commands and their promises are tested.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::scratch::Scratch;

const README: &str = include_str!("../../README.md");
const FIRST_STEPS: &str = include_str!("../../src/guide/first_steps.md");
const GUARANTEES: &str = include_str!("../../src/guide/guarantees.md");
const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// The README and the chapters of the guide, by their names.
fn pages() -> Vec<(String, String)> {
    let chapters = fs::read_dir(Path::new(ROOT).join("src/guide")).unwrap();
    let chapter = |path: PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        (name, fs::read_to_string(path).unwrap())
    };
    let chapters = chapters.map(|entry| entry.unwrap().path());
    let chapters = chapters.filter(|path| path.extension().is_some_and(|end| end == "md"));
    let mut pages: Vec<_> = chapters.map(chapter).collect();
    pages.push(("README.md".into(), README.into()));
    pages
}

/// The code blocks of a language.
fn blocks<'p>(page: &'p str, language: &str) -> Vec<&'p str> {
    let fence = format!("```{language}\n");
    page.split(fence.as_str()).skip(1).map(|rest| rest.split("```").next().unwrap()).collect()
}

/// Runs a line of a shell that has `epdb` at hand.
fn shell(scratch: &Scratch, line: &str) -> Output {
    let epdb = assert_cmd::cargo::cargo_bin("epdb");
    let path = format!("{}:{}", epdb.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let mut command = Command::new("sh");
    command.args(["-c", line]).current_dir(scratch.path("")).env("PATH", path);
    command.output().unwrap()
}

#[test]
fn the_example_is_what_the_program_prints() {
    let scratch = Scratch::new();
    let example =
        blocks(FIRST_STEPS, "text").into_iter().find(|block| block.starts_with("$ ")).unwrap();
    let mut calls = 0;
    for call in example.split("$ ").filter(|call| !call.is_empty()) {
        let (line, shown) = call.split_once('\n').unwrap();
        match line.strip_prefix("cat ") {
            Some(name) => scratch.write(name, shown),
            None => {
                let done = shell(&scratch, line);
                let printed = [done.stdout, done.stderr].concat();
                assert_eq!(String::from_utf8(printed).unwrap(), shown, "{line}");
                calls += 1;
            }
        }
    }
    assert!(calls > 0);
}

/// The files that the commands name.
fn with_files() -> Scratch {
    let scratch = Scratch::new();
    let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR";
    let suite = format!(
        "{start} w KQkq - bm e4; ce 20; id \"S.1\"; c9 \"1-0\";\n\
         8/2b2k1K/1pPp1p2/1P1P1P2/5B2/8/8/8 w - - bm Be3; ce 15; id \"S.2\"; c9 \"1/2-1/2\";\n"
    );
    let moves = "1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 4. Ba4 Nf6 5. O-O Be7 6. Re1 b5 7. Bb3 d6 8. c3 O-O \
                 9. h3 Nb8 10. d4 Nbd7 11. Nbd2 Bb7 12. Bc2 Re8 13. Nf1 Bf8";
    let game = |number: u32| {
        let moves: Vec<String> =
            moves.split(' ').collect::<Vec<_>>().chunks(18).map(|line| line.join(" ")).collect();
        format!(
            "[Event \"Test\"]\n[Site \"?\"]\n[Date \"1991.??.??\"]\n[Round \"{number}\"]\n\
             [White \"A\"]\n[Black \"B\"]\n[Result \"1-0\"]\n[ECO \"C95\"]\n\n{} 1-0\n\n",
            moves.join("\n")
        )
    };
    let games: String = (1..=60).map(game).collect();
    for name in
        ["book.epd", "a.epd", "suite.epd", "sts.epd", "played.epd", "data.epd", "wac-old.epd"]
    {
        scratch.write(name, &suite);
    }
    scratch.write("wac-new.epd", suite.replace("bm e4;", "bm e2e4 ;"));
    scratch.write("positions.fen", format!("{start} w KQkq - 0 1\n"));
    for name in ["games.pgn", "1991.pgn", "1992.pgn"] {
        scratch.write(name, &games);
    }
    scratch.write("week.pgn", games.replace("1991", "1993"));
    scratch.write("white.pgn", include_str!("../samples/repertoire.pgn"));
    scratch.write("sloppy.pgn", games.replace("O-O", "0-0").replacen(" e4 ", " e2-e4! ", 1));
    for name in ["wac.sf16.epd", "wac.sf17.epd", "sts.sf16.epd", "sts.sf17.epd"] {
        scratch.write(name, suite.replace("; ce 15;", "; pm Be3; ce 15;"));
    }
    fs::create_dir(scratch.path("suites")).unwrap();
    scratch.write("suites/one.epd", &suite);
    scratch.write("suites/two.epd", suite.replace("S.", "T."));
    fs::create_dir_all(scratch.path("tests/samples")).unwrap();
    fs::copy(
        Path::new(ROOT).join("tests/samples/openings.epd"),
        scratch.path("tests/samples/openings.epd"),
    )
    .unwrap();
    let evaluation = "{\"pvs\":[{\"cp\":31,\"line\":\"e2e4\"}],\"knodes\":9,\"depth\":20}";
    let fields = format!("{start} w KQkq -");
    scratch.write(
        "lichess_db_eval.jsonl",
        format!("{{\"fen\":\"{fields}\",\"evals\":[{evaluation}]}}\n"),
    );
    scratch.write(
        "lichess_db_puzzle.csv",
        format!(
            "PuzzleId,FEN,Moves,Rating,RatingDeviation,Popularity,NbPlays,Themes,GameUrl\n\
             a,{fields} 0 1,e2e4 e7e5,2100,80,90,100,opening,https://lichess.org/a\n"
        ),
    );
    let client = crate::referee::client().display().to_string();
    let player = |name: &str| {
        format!(
            "[[player]]\nname = '{name}'\ncommand = ['{client}', '{{host}}', '{{port}}', '{{name}}', '5']\n"
        )
    };
    let silences = "silences = { conclude = '0s', reset = '0s' }\n";
    scratch.write("cup.toml", format!("{silences}{}{}", player("A"), player("B")));
    let engine = crate::engines_at_hand::scripted();
    std::os::unix::fs::symlink(engine, scratch.path("stockfish")).unwrap();
    for line in [
        "gzip suite.epd",
        "gzip 1992.pgn",
        "epdb convert games.pgn book.epd --positions=0..24 --game-openings",
        "epdb tally games.pgn -o library.epa",
    ] {
        assert!(shell(&scratch, line).status.success(), "{line}");
    }
    scratch
}

#[test]
fn their_commands_run() {
    let mut count = 0;
    for (page, text) in pages() {
        let scratch = with_files();
        let lines = blocks(&text, "sh").into_iter().flat_map(str::lines);
        for line in lines.filter(|line| !line.trim().is_empty() && *line != "cargo test") {
            let line = line.replace("cargo run --release --", "epdb");
            let done = shell(&scratch, &line);
            let err = String::from_utf8_lossy(&done.stderr);
            assert!(done.status.success(), "{page}: {line}\n{}\n{err}", done.status);
            assert!(!err.contains("error"), "{page}: {line}\n{err}");
            count += 1;
        }
    }
    assert!(count > 80, "{count} commands");
}

/// The README is read at the door, and the guide in an evening.
#[test]
fn pages_stay_short() {
    let mut guide = 0;
    for (page, text) in pages() {
        match page.as_str() {
            "README.md" => assert!(text.len() <= 10_000, "{page} has {} bytes", text.len()),
            _ => guide += text.len(),
        }
    }
    assert!(guide <= 60_000, "the guide has {guide} bytes");
}

/// A link to a file leads to a file, and each chapter is linked from the README or from another chapter.
#[test]
fn links_lead_to_files() {
    let mut linked = std::collections::BTreeSet::new();
    for (page, text) in pages() {
        let folder = if page == "README.md" { "" } else { "src/guide" };
        for link in text.split("](").skip(1).map(|rest| rest.split(')').next().unwrap()) {
            let path = link.split('#').next().unwrap();
            // The host of the repository has the releases, two levels above the page.
            if path.is_empty() || path.contains("://") || path == "../../releases" {
                continue;
            }
            let file = Path::new(ROOT).join(folder).join(path);
            assert!(file.exists(), "{page}: {link}");
            linked.insert(file.canonicalize().unwrap());
        }
    }
    for (page, _) in pages().iter().filter(|(page, _)| page != "README.md") {
        let file = Path::new(ROOT).join("src/guide").join(page);
        assert!(linked.contains(&file.canonicalize().unwrap()), "nothing links to {page}");
    }
}

/// All sources of tests.
fn sources(folder: PathBuf, text: &mut String) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(path, text);
        } else if path.extension().is_some_and(|suffix| suffix == "rs") {
            *text += &fs::read_to_string(path).unwrap();
        }
    }
}

/// The bold beginnings of the items of a list.
fn promises(text: &str) -> Vec<&str> {
    let items = text.split("\n- **").skip(1);
    items.map(|promise| promise.split("**").next().unwrap().trim_end_matches('.')).collect()
}

/// A test of a promise says so: `// README: Damage is detected`.
#[test]
fn each_promise_has_a_test_that_names_it() {
    let promises = promises(GUARANTEES);
    assert!(promises.len() >= 6, "{promises:?}");
    let section = README.split("## What it guarantees").nth(1).unwrap();
    for promise in self::promises(section.split("\n## ").next().unwrap()) {
        assert!(promises.contains(&promise), "the guide does not explain `{promise}`");
    }
    let mut tests = String::new();
    sources(Path::new(ROOT).join("tests"), &mut tests);
    for promise in promises {
        let marks = tests.matches(&format!("// README: {promise}\n")).count();
        assert!(marks > 0, "no test names the promise `{promise}`");
    }
}

// README: Memory is bounded
#[cfg(target_os = "linux")]
#[test]
fn memory_stays_within_the_option() {
    let scratch = Scratch::new();
    let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -";
    let (one, other) = ("x".repeat(250), "y".repeat(250));
    let line = |number: u64| {
        let id = number * 7_919 % 40_009;
        format!("{start} c0 \"{one}\"; c1 \"{other}\"; id \"{id:07}\";\n")
    };
    scratch.write("big.epd", (0..40_009).map(line).collect::<String>());
    // 23 MB of records, and 30 MB for all that the process has of its own.
    let sort = |memory: &str| {
        let sort = format!("epdb sort --by id big.epd --memory {memory} --threads 2 -o out.epd");
        shell(&scratch, &format!("ulimit -d 30000; {sort}")).status
    };
    assert!(sort("4M").success());
    let sorted = scratch.text("out.epd");
    assert!(sorted.lines().count() == 40_009 && sorted.lines().is_sorted());
    assert!(!sort("1G").success(), "the limit is one");
}

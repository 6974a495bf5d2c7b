//! `import` as a user calls it: repeated commands, and continuing after a failure.

#[cfg(unix)]
use std::{
    fs::OpenOptions,
    io::Write,
    process::{Command, Stdio},
};

#[cfg(unix)]
use assert_cmd::cargo::cargo_bin;

use crate::scratch::Scratch;
use epdb_store::{ImportOptions, Store, StoreOptions};

const A: &str = "4k3/8/8/8/8/8/4P3/4K3 w - - bm e4; id \"a\";\n";
const B: &str = "4k3/8/8/8/8/8/3P4/4K3 w - - bm d4; id \"b\";\n";

fn count(scratch: &Scratch) -> String {
    scratch.run(&["count", "s.epdb"]).out.trim().to_string()
}

/// A source is known by its bytes, under any name and however compressed.
#[test]
fn a_source_is_imported_once() {
    let scratch = Scratch::with("a.epd", [A, B].concat());
    assert_eq!(scratch.run(&["import", "s.epdb", "a.epd"]).status, 0);
    std::fs::copy(scratch.path("a.epd"), scratch.path("copy.epd")).unwrap();
    let packed = zstd::encode_all([A, B].concat().as_bytes(), 3).unwrap();
    scratch.write("packed.epd.zst", packed);
    for name in ["a.epd", "copy.epd", "packed.epd.zst"] {
        let again = scratch.run(&["import", "s.epdb", name]);
        assert_eq!(again.status, 0);
        assert!(again.err.contains("already imported as a.epd: nothing to do"), "{}", again.err);
        assert_eq!(count(&scratch), "2");
    }
    let json = scratch.run(&["import", "s.epdb", "copy.epd", "--json"]);
    assert!(json.out.contains("\"already_imported_as\":\"a.epd\""), "{}", json.out);
    assert_eq!(scratch.run(&["import", "s.epdb", "copy.epd", "--again"]).status, 0);
    assert_eq!(count(&scratch), "4");
    assert_eq!(scratch.run(&["verify", "s.epdb"]).status, 0);
}

/// The second run of an import does nothing to the store, and its file of rejects is that of the first.
#[test]
fn an_import_that_is_repeated_saves_the_rejects_again() {
    let scratch = Scratch::with("a.epd", [A, "bad\n", B, "worse\n"].concat());
    scratch.write("g.pgn", "1. e4 *\n\n[FEN \"bad\"]\n\n1. e4 *\n");
    for call in [
        &["import", "s.epdb", "a.epd", "--rejects", "left"][..],
        &["import", "t.epdb", "g.pgn", "--tally", "--rejects", "left"],
    ] {
        let first = scratch.run(call);
        let rejects = scratch.read("left");
        assert_eq!(first.status, 1, "{}", first.err);
        assert!(!rejects.is_empty());
        std::fs::remove_file(scratch.path("left")).unwrap();
        let again = scratch.run(call);
        assert!(again.err.contains("nothing to do"), "{}", again.err);
        assert_eq!((again.status, scratch.read("left")), (1, rejects));
    }
    assert_eq!(count(&scratch), "2");
}

/// Two imports begin one store: who comes second says so and touches nothing, and what it read can be
/// imported afterwards.
#[cfg(unix)]
#[test]
fn a_store_that_another_import_made_is_in_use() {
    let scratch = Scratch::with("a.epd", A);
    let pipe = scratch.path("pipe.epd");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let second = Command::new(cargo_bin("epdb"))
        .args(["import", "s.epdb", "pipe.epd"])
        .current_dir(scratch.path(""))
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // When it opens what it imports, its store is begun.
    let mut input = OpenOptions::new().write(true).open(&pipe).unwrap();
    assert_eq!(scratch.run(&["import", "s.epdb", "a.epd"]).status, 0);
    input.write_all(B.as_bytes()).unwrap();
    drop(input);
    let done = second.wait_with_output().unwrap();
    let line = String::from_utf8(done.stderr).unwrap();
    assert_eq!(done.status.code(), Some(2), "{line}");
    assert!(line.contains("s.epdb: the store is in use"), "{line}");
    assert_eq!(scratch.names(), ["a.epd", "pipe.epd", "s.epdb"]);
    assert_eq!(count(&scratch), "1");
    assert_eq!(scratch.run_with(&["import", "s.epdb", "-"], B).status, 0);
    assert_eq!(count(&scratch), "2");
}

/// A file that has grown is a new source, and other settings make other records of it.
#[test]
fn a_source_that_has_grown_is_a_new_one() {
    let scratch = Scratch::with("a.epd", A);
    scratch.run(&["import", "s.epdb", "a.epd"]);
    scratch.write("a.epd", [A, B].concat());
    let grown = scratch.run(&["import", "s.epdb", "a.epd"]);
    assert_eq!(grown.status, 0);
    assert!(grown.err.contains("imported as a.epd and has grown"), "{}", grown.err);
    assert_eq!(count(&scratch), "3");
    let other = scratch.run(&["import", "s.epdb", "a.epd", "--where", "id == 'b'"]);
    assert!(other.err.contains("with other settings"), "{}", other.err);
    assert_eq!((other.status, count(&scratch).as_str()), (0, "4"));
    let again = scratch.run(&["import", "s.epdb", "a.epd", "--where", "id == 'b'"]);
    assert!(again.err.contains("already imported"), "{}", again.err);
    assert_eq!(count(&scratch), "4");
}

/// Input from a pipe is never recognised as an earlier source.
#[test]
fn standard_input_is_never_recognised() {
    let scratch = Scratch::with("a.epd", A);
    scratch.run(&["import", "s.epdb", "a.epd"]);
    for expected in ["2", "3"] {
        assert_eq!(scratch.run_with(&["import", "s.epdb", "-"], A).status, 0);
        assert_eq!(count(&scratch), expected);
    }
}

/// A store in which nothing was committed does not stay, and one that was there does.
#[test]
fn a_store_without_a_commit_does_not_stay() {
    let scratch = Scratch::with("a.epd", A);
    let mut cut = zstd::encode_all([A, B].concat().repeat(500).as_bytes(), 3).unwrap();
    cut.truncate(cut.len() - 5);
    scratch.write("cut.epd.zst", cut);
    for source in ["nosuch.epd", ".", "cut.epd.zst"] {
        assert_eq!(scratch.run(&["import", "s.epdb", source]).status, 2, "{source}");
        assert!(!scratch.path("s.epdb").exists(), "{source}");
    }
    assert_eq!(scratch.run(&["import", "s.epdb", "a.epd", "nosuch.epd"]).status, 2);
    assert!(!scratch.path("s.epdb").exists(), "all files are looked at first");
    assert_eq!(scratch.run(&["import", "s.epdb", "a.epd"]).status, 0);
    assert_eq!(count(&scratch), "1");
    assert_eq!(scratch.run(&["import", "s.epdb", "nosuch.epd"]).status, 2);
    assert_eq!(count(&scratch), "1");
}

/// An import that another program left: every command that reads reports its records that wait, and the next
/// import merges them first.
#[test]
fn records_that_wait_are_reported_and_merged() {
    let scratch = Scratch::with("a.epd", A);
    let options = StoreOptions { batch_bytes: Some(100), ..Default::default() };
    let store = Store::create(scratch.path("s.epdb"), &options).unwrap();
    let mut importer = store.importer("left.epd", &ImportOptions::default()).unwrap();
    while importer.waiting() < 6 {
        importer.push(&epdb_chess::parse_epd(B.trim_end().as_bytes()).unwrap()).unwrap();
    }
    let waiting = importer.waiting();
    drop(importer);
    store.close().unwrap();
    let note = format!("{waiting} records of an interrupted import wait in s.epdb.runs");
    for command in [&["verify"][..], &["stats"], &["count"], &["count", "--where", "check"]]
        .into_iter()
        .chain([
            &["normalize", "-o", "o.epd"][..],
            &["pack", "-o", "o.epa"],
            &["table", "--columns", "fen"],
        ])
    {
        let done = scratch.run(&[command, &["s.epdb"]].concat());
        assert_eq!(done.status, 0, "{}", done.err);
        assert!(done.err.contains(&note), "{}", done.err);
    }
    assert_eq!(count(&scratch), "0");
    // A copy without the file of runs says what it lacks.
    std::fs::copy(scratch.path("s.epdb"), scratch.path("alone.epdb")).unwrap();
    for command in ["count", "stats", "export"] {
        let done = scratch.run(&[command, "alone.epdb"]);
        assert!(done.err.contains("alone.epdb.runs: this file is missing"), "{}", done.err);
    }
    let zstd = scratch.run(&["pack", "a.epd", "-o", "a.zst"]);
    assert!(zstd.status == 2 && zstd.err.contains("cannot be compressed"), "{}", zstd.err);
    assert_eq!(scratch.run(&["import", "s.epdb", "a.epd"]).status, 0);
    assert_eq!(count(&scratch), (waiting + 1).to_string());
    assert!(!scratch.path("s.epdb.runs").exists());
    assert!(!scratch.run(&["verify", "s.epdb"]).err.contains("wait"));
}

/// The journal is shown in words, with settings as on the command line.
#[test]
fn dump_shows_the_journal() {
    let scratch = Scratch::with("a.epd", A);
    let args = ["import", "s.epdb", "a.epd", "--max-line", "150", "--on-duplicate", "merge"];
    scratch.run(&args);
    let dump = scratch.run(&["dump", "s.epdb"]).out;
    let line = dump.lines().find(|line| line.starts_with("import 0: ")).unwrap();
    assert!(line.starts_with("import 0: a.epd: finished, 1 lines, 43 bytes consumed"), "{line}");
    assert!(line.contains("duplicates: merge, prefer later, bm conflict, same position"));
    let settings = "settings: --language English --mates keep --max-game 16777216 --max-line 150 \
                    --profile lenient --revision 1995";
    assert!(line.ends_with(settings), "{line}");
}

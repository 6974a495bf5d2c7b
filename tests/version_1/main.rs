//! Files of every kind in version 1 of the formats, written by epdb when version 1 was frozen: every
//! later epdb reads them and finds the same text.
//!
//! `cargo test --test version_1 -- --ignored` writes the files again from its texts
//! and games. That is allowed only until version 1 is frozen.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::Command;

use epdb::referee::log::Entry;

/// Each file, the file of text that reading it gives, and the arguments of epdb that read it and
/// that write it.
const FILES: [(&str, &str, &str, &str); 17] = [
    ("records.epb", "records.epd", "export", "convert records.epd records.epb"),
    ("records.epdb", "records.epd", "export", "import records.epdb records.epd"),
    ("fast.epa", "records.epd", "export", "pack records.epd -o fast.epa --level fast"),
    ("default.epa", "records.epd", "export", "pack records.epd -o default.epa"),
    ("max.epa", "many.epd", "export", "pack many.epd -o max.epa --level max"),
    ("text.epa", "repeated.epd", "export", "pack repeated.epd -o text.epa"),
    (
        "fast_sorted.epa",
        "fast_sorted.txt",
        "export",
        "pack records.epd -o fast_sorted.epa --level fast --sorted",
    ),
    ("sorted.epa", "sorted.txt", "export", "pack many.epd -o sorted.epa --sorted"),
    (
        "verbatim.epa",
        "verbatim.epd",
        "export --verbatim",
        "pack verbatim.epd -o verbatim.epa --verbatim",
    ),
    (
        "verbatim_games.epa",
        "games.pgn",
        "export --verbatim",
        "pack games.pgn -o verbatim_games.epa --verbatim",
    ),
    (
        "library.epa",
        "library.txt",
        "export",
        "tally games.pgn -o library.epa --by year,month,speed,rating --keep-games 2",
    ),
    (
        "library.epdb",
        "library_store.txt",
        "export",
        "tally games.pgn -o library.epdb --by year,speed --keep-games 2",
    ),
    (
        "library.epb",
        "library_stream.txt",
        "export",
        "tally games.pgn -o library.epb --keep-games 2",
    ),
    (
        "kept_games.epa",
        "kept_games.txt",
        "games",
        "tally games.pgn -o kept_games.epa --keep-games 5",
    ),
    ("games.pgc", "plain.pgn", "export --to pgn", "convert plain.pgn games.pgc"),
    (
        "games_extended.pgc",
        "games.pgn",
        "export --to pgn",
        "convert games.pgn games_extended.pgc --ext",
    ),
    ("book.bin", "book.txt", "book list", "book make games.pgn -o book.bin"),
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/version_1")
}

/// What epdb prints for some arguments and a file, in a folder.
fn epdb(folder: &Path, arguments: &str, file: &str) -> Vec<u8> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_epdb"));
    command.current_dir(folder).args(arguments.split(' '));
    command.args((!file.is_empty()).then_some(file));
    let output = command.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments} {file}: {errors}");
    output.stdout
}

#[test]
fn files_of_version_1_are_read() {
    let folder = folder();
    for (file, text, read, _) in FILES {
        let expected = std::fs::read(folder.join(text)).unwrap();
        assert!(epdb(&folder, read, file) == expected, "{file} is not {text}");
        if !file.ends_with(".bin") {
            epdb(&folder, "verify", file);
        }
    }
}

#[test]
fn the_log_of_a_referee_is_read() {
    let text = std::fs::read_to_string(folder().join("referee.log")).unwrap();
    let (header, lines) = text.split_once('\n').unwrap();
    assert_eq!(header, "epdb referee log 3");
    for line in lines.lines() {
        let rest = line.splitn(3, ' ').nth(2).unwrap();
        assert_eq!(Entry::parse(rest).unwrap().text(), rest);
    }
}

#[test]
#[ignore = "writes the files again, only until version 1 is frozen"]
fn write_files() {
    let folder = folder();
    let log = Path::new(env!("CARGO_MANIFEST_DIR")).join("formats/golden/referee.log");
    std::fs::copy(log, folder.join("referee.log")).unwrap();
    for (file, text, read, write) in FILES {
        std::fs::remove_file(folder.join(file)).ok();
        epdb(&folder, write, "");
        if text.ends_with(".txt") {
            std::fs::write(folder.join(text), epdb(&folder, read, file)).unwrap();
        }
    }
}

//! Files of every kind in version 1 of the formats, written by epdb on the day when version 1 was frozen:
//! every later epdb reads them and finds the same text. So the files never change; others may be added.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::Command;

use epdb_referee::log::Entry;

/// Each file, the file of text that reading it gives, and the arguments of epdb that read it.
const FILES: [(&str, &str, &str); 19] = [
    ("records.epb", "records.epd", "export"),
    ("records.epdb", "records.epd", "export"),
    ("fast.epa", "records.epd", "export"),
    ("default.epa", "records.epd", "export"),
    ("text.epa", "repeated.epd", "export"),
    ("fast_sorted.epa", "fast_sorted.txt", "export"),
    ("sorted.epa", "sorted.txt", "export"),
    ("verbatim.epa", "verbatim.epd", "export --verbatim"),
    ("verbatim_games.epa", "games.pgn", "export --verbatim"),
    ("library.epa", "library.txt", "export"),
    ("library.epdb", "library_store.txt", "export"),
    ("library.epb", "library_stream.txt", "export"),
    ("library.epa+delta.epdb", "library_delta.txt", "export"),
    ("shards/manifest.json", "shards.txt", "export"),
    ("library_shards/manifest.json", "library_shards.txt", "export"),
    ("kept_games.epa", "kept_games.txt", "games"),
    ("games.pgc", "plain.pgn", "export --to pgn"),
    ("games_extended.pgc", "games.pgn", "export --to pgn"),
    ("book.bin", "book.txt", "book list"),
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
    for (file, text, read) in FILES {
        let expected = std::fs::read(folder.join(text)).unwrap();
        assert!(epdb(&folder, read, file) == expected, "{file} is not {text}");
        for part in file.split('+').filter(|part| !part.ends_with(".bin")) {
            epdb(&folder, "verify", part);
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

//! Engines for tests: the scripted one, and a real one if it is installed.

use std::env;
use std::path::PathBuf;

use crate::skipped::skipped;

/// The program that plays engine from a script.
pub(crate) fn scripted() -> PathBuf {
    example("scripted_engine")
}

/// A program that is an example, which `cargo test` builds.
pub(crate) fn example(name: &str) -> PathBuf {
    let mut folder = env::current_exe().unwrap();
    folder.pop();
    folder.pop();
    let program = folder.join("examples").join(format!("{name}{}", env::consts::EXE_SUFFIX));
    assert!(program.exists(), "first: cargo build --example {name}");
    program
}

/// A real engine; a test that goes without it is named as skipped.
pub(crate) fn stockfish() -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = env::split_paths(&path).chain([PathBuf::from("/usr/games")]);
    let found = folders.map(|folder| folder.join("stockfish")).find(|program| program.is_file());
    if found.is_none() {
        skipped("stockfish is not installed");
    }
    found
}

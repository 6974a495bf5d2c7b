//! Reports tests that are skipped because something is missing.

#![allow(clippy::unwrap_used)]

use std::fs::File;
use std::io::{self, Write};
use std::{env, thread};

/// Says that the test that asks is skipped: on standard error, and as a line of the file that
/// `EPDB_SKIPPED` names, from which `.ci/run` lists all of them.
pub(crate) fn skipped(why: &str) {
    let thread = thread::current();
    let line = format!("skipped: {}: {why}\n", thread.name().unwrap_or("a test"));
    // Not by a macro of printing, whose output is kept from whoever runs the tests.
    io::stderr().write_all(line.as_bytes()).unwrap();
    if let Some(list) = env::var_os("EPDB_SKIPPED") {
        let mut list = File::options().create(true).append(true).open(list).unwrap();
        list.write_all(line.as_bytes()).unwrap();
    }
}

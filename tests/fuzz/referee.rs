//! Invariants of arbitrary messages and logs of a referee, for the fuzz targets and for tests with `seeds`.

use std::fs;

use epdb_referee::log::{Entry, LogReader, Recovered};
use epdb_referee::wire::{Directive, Incoming, Lines, MAX_LINE, Request};

/// Any bytes from the other side of a channel: no panic, and a message that is read is written in a form
/// that says the same. That form may be longer than a line can be, as blanks are added and bytes that are not UTF-8
/// become three.
pub(super) fn wire(bytes: &[u8]) {
    let mut lines = Lines::new(bytes);
    while let Some(incoming) = lines.next_line().expect("memory does not fail") {
        let Incoming::Line(line) = incoming else { continue };
        if let Ok(request) = Request::parse(&line) {
            let written = request.line();
            if written.len() <= MAX_LINE {
                assert_eq!(Request::parse(&written).as_ref(), Ok(&request));
            }
            assert_eq!(request.line(), written);
        }
        if let Ok(directive) = Directive::parse(&line) {
            let written = directive.line();
            if written.len() <= MAX_LINE {
                assert_eq!(Directive::parse(&written).as_ref(), Ok(&directive));
            }
            assert_eq!(directive.line(), written);
        }
    }
}

/// Any bytes as the log of a tournament: no panic, each entry is written as it was read, and a referee that
/// would go on from it has a table.
pub(super) fn log(bytes: &[u8]) {
    let path = std::env::temp_dir().join(format!("epdb-log-{}", std::process::id()));
    fs::write(&path, bytes).expect("a temporary file can be written");
    let mut reader = LogReader::open(&path).expect("the file is there");
    while let Ok(Some((_, entry))) = reader.next_entry() {
        assert_eq!(Entry::parse(&entry.text()), Some(entry));
    }
    let mut reader = LogReader::open(&path).expect("the file is there");
    if let Ok(Some(recovered)) = Recovered::read(&mut reader) {
        let snapshot = recovered.arbiter.snapshot(recovered.at);
        assert!(snapshot.finished.len() <= bytes.len());
    }
    fs::remove_file(&path).expect("the file is ours");
}

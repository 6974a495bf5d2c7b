//! Invariants of reading arbitrary bytes as a Parquet file, for the fuzz target and for tests with `seeds`.

use std::ops::ControlFlow;

use epdb_chess::Error;
use epdb_chess::text::pgn::PositionOptions;
use epdb_source::{Source, SourceOptions};

/// Any bytes as a Parquet file, read as records and as games: there is an end, and no panic.
pub(crate) fn parquet(bytes: &[u8]) {
    let options = SourceOptions { memory_bytes: 1 << 20, ..Default::default() };
    let positions =
        SourceOptions { positions: Some(PositionOptions::default()), ..options.clone() };
    for options in [SourceOptions { check_all: true, ..options.clone() }, options, positions] {
        let Ok(source) = Source::from_bytes("a.parquet", bytes, &options) else { continue };
        let read = source.read(&mut |_| Ok::<_, Error>(ControlFlow::Continue(())));
        if let Err(error) = read {
            assert!(!error.to_string().contains("internal error"), "{error}");
        }
    }
}

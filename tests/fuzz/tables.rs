//! Invariants of reading arbitrary bytes as a Parquet file, for the fuzz target and for tests with `seeds`.

use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::Path;

use epdb_chess::Error;
use epdb_chess::text::pgn::PositionOptions;
use epdb_library::column_scan::count_by_columns;
use epdb_library::expression::Expression;
use epdb_library::scan::{Rows, Scan, ScanOptions};
use epdb_source::{Source, SourceOptions};

/// Filters with fields that are columns, with the position, and with a range of keys.
const FILTERS: [Option<&str>; 4] = [
    None,
    Some("ce > 0 && ply < 40 || acn >= 1000 || acd == 7"),
    Some("result == '1-0' && pieces < 30 && id != 'a'"),
    Some("key == '463b96181691fc9c'"),
];

/// Any bytes as a Parquet file, read as records, as games, and by columns: there is an end, and no panic.
pub(crate) fn parquet(bytes: &[u8]) {
    let options = SourceOptions { memory_bytes: 1 << 20, ..Default::default() };
    let positions =
        SourceOptions { positions: Some(PositionOptions::default()), ..options.clone() };
    for options in
        [SourceOptions { check_all: true, ..options.clone() }, options.clone(), positions]
    {
        let Ok(source) = Source::from_bytes("a.parquet", bytes, &options) else { continue };
        let read = source.read(&mut |_| Ok::<_, Error>(ControlFlow::Continue(())));
        if let Err(error) = read {
            assert!(!error.to_string().contains("internal error"), "{error}");
        }
    }
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), bytes).unwrap();
    columns(file.path(), &options);
}

fn columns(path: &Path, source: &SourceOptions) {
    for filter in FILTERS {
        let expression = filter.map(|text| Expression::parse(text).unwrap());
        count_by_columns(path, expression.as_ref(), source).ok();
        let filter = filter.map(String::from);
        scan(path, ScanOptions { filter, ..ScanOptions::new(Rows::Records) }, source);
    }
    for rows in [Rows::Games, Rows::Moves] {
        scan(path, ScanOptions::new(rows), source);
    }
}

/// All columns of a table.
fn scan(path: &Path, options: ScanOptions, source: &SourceOptions) {
    let columns = Some(options.rows.all_columns());
    let threads = NonZeroUsize::new(1);
    let options = ScanOptions { columns, threads, source: source.clone(), ..options };
    for batch in Scan::open([path], &options).unwrap() {
        if let Err(error) = batch {
            assert!(!error.to_string().contains("internal error"), "{error}");
        }
    }
}

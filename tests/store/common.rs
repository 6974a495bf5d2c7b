//! Shared helpers of the store tests.

use std::path::{Path, PathBuf};

use epdb_chess::model::{EpdRecord, Position};
use epdb_store::{ImportOptions, ImportReport, Reader, Store, StoreOptions};

/// A directory that goes away, and a name in it.
pub(crate) struct Scratch {
    pub(crate) dir: tempfile::TempDir,
}

impl Scratch {
    pub(crate) fn new() -> Scratch {
        Scratch { dir: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }
}

pub(crate) fn small() -> StoreOptions {
    StoreOptions { memory_bytes: 1 << 20, ..Default::default() }
}

pub(crate) fn epd(line: &str) -> EpdRecord {
    epdb_chess::parse_epd(line.as_bytes()).unwrap()
}

pub(crate) fn position(line: &str) -> Position {
    *epd(line).position()
}

pub(crate) fn text(record: &EpdRecord) -> String {
    String::from_utf8(epdb_chess::format_epd(record)).unwrap()
}

/// Different positions, as many as asked for: two kings and some pieces of both colours, spread by a
/// counter.
pub(crate) fn generated(nth: u64) -> EpdRecord {
    let mut state = nth.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(nth >> 7);
    let mut next = |below: u64| {
        state ^= state >> 30;
        state = state.wrapping_mul(0xbf58_476d_1ce4_e5b9).wrapping_add(nth + 1);
        state ^= state >> 27;
        (state >> 11) % below
    };
    let mut squares = [b'1'; 64];
    squares[4] = b'k';
    squares[60] = b'K';
    // The number itself, in base 8, as the files of pawns and knights: no two are alike.
    let mut rest = nth;
    for rank in 1..7 {
        let piece = b"pPnNbB"[rank - 1];
        squares[rank * 8 + (rest % 8) as usize] = piece;
        rest /= 8;
    }
    assert_eq!(rest, 0, "the test asks for too many positions");
    let mut line = String::new();
    for (place, &square) in squares.iter().enumerate() {
        if place > 0 && place % 8 == 0 {
            line.push('/');
        }
        line.push(char::from(square));
    }
    line.push_str(if next(2) == 0 { " w - -" } else { " b - -" });
    match next(4) {
        0 => line.push_str(&format!(" id \"{nth}\"; ce {};", next(400))),
        1 => line.push_str(&format!(" {} {}", next(40), next(90) + 1)),
        _ => {}
    }
    epd(&line)
}

/// Imports records as one source.
pub(crate) fn import(
    store: &Store,
    source: &str,
    records: &[EpdRecord],
    options: &ImportOptions,
) -> ImportReport {
    let mut importer = store.importer(source, options).unwrap();
    records.iter().for_each(|record| importer.push(record).unwrap());
    importer.finish().unwrap()
}

pub(crate) fn store_of(path: &Path, records: &[EpdRecord]) -> Store {
    let store = Store::create(path, &small()).unwrap();
    import(&store, "records", records, &ImportOptions::default());
    store
}

/// All records in order of their import.
pub(crate) fn exported(reader: &Reader) -> Vec<(u64, EpdRecord)> {
    let records = reader.by_import().map(|stored| stored.unwrap());
    records.map(|stored| (stored.import_number, stored.record)).collect()
}

/// The records of a position.
pub(crate) fn found(reader: &Reader, position: &Position) -> Vec<(u64, EpdRecord)> {
    let records = reader.matches(position).map(|stored| stored.unwrap());
    records.map(|stored| (stored.import_number, stored.record)).collect()
}

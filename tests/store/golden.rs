//! The samples of `formats/store.md`, compared with the code in both directions.
//!
//! Keys of the table `crowded` are hexadecimal.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use redb::{ReadableDatabase, ReadableTable, TableDefinition};

use crate::common::*;
use crate::samples::{Case, Row, hex, samples, unhex};
use epdb::store::{ImportOptions, Store, StoreError, verify};

const META: TableDefinition<&str, &[u8]> = TableDefinition::new("epdb");
const BLOCKS: TableDefinition<u64, &[u8]> = TableDefinition::new("blocks");
const CROWDED: TableDefinition<&[u8], &[u8]> = TableDefinition::new("crowded");
const IMPORTS: TableDefinition<u64, &[u8]> = TableDefinition::new("imports");

/// By table and key.
type Rows = BTreeMap<(String, String), Vec<u8>>;

fn rows_in(case: &Case) -> Rows {
    let row = |row: &Row| ((row.table.clone(), row.key.clone()), row.bytes());
    case.rows.iter().map(row).collect()
}

fn rows_of(path: &Path) -> Rows {
    let database = redb::Database::open(path).unwrap();
    let transaction = database.begin_read().unwrap();
    let mut rows = Rows::new();
    let row = |table: &str, key: String, value: &[u8]| ((table.into(), key), value.to_vec());
    for entry in transaction.open_table(META).unwrap().iter().unwrap() {
        let (key, value) = entry.unwrap();
        rows.extend([row("epdb", key.value().into(), value.value())]);
    }
    for (name, table) in [("blocks", BLOCKS), ("imports", IMPORTS)] {
        for entry in transaction.open_table(table).unwrap().iter().unwrap() {
            let (key, value) = entry.unwrap();
            rows.extend([row(name, key.value().to_string(), value.value())]);
        }
    }
    for entry in transaction.open_table(CROWDED).unwrap().iter().unwrap() {
        let (key, value) = entry.unwrap();
        rows.extend([row("crowded", hex(key.value()), value.value())]);
    }
    rows
}

fn write_rows(path: &Path, rows: &Rows) {
    fs::remove_file(path).ok();
    let database = redb::Database::create(path).unwrap();
    let mut transaction = database.begin_write().unwrap();
    transaction.set_quick_repair(true);
    {
        let mut meta = transaction.open_table(META).unwrap();
        let mut blocks = transaction.open_table(BLOCKS).unwrap();
        let mut crowded = transaction.open_table(CROWDED).unwrap();
        let mut imports = transaction.open_table(IMPORTS).unwrap();
        for ((table, key), value) in rows {
            let value = value.as_slice();
            match table.as_str() {
                "epdb" => drop(meta.insert(key.as_str(), value).unwrap()),
                "blocks" => drop(blocks.insert(key.parse::<u64>().unwrap(), value).unwrap()),
                "imports" => drop(imports.insert(key.parse::<u64>().unwrap(), value).unwrap()),
                "crowded" => drop(crowded.insert(unhex(key).as_slice(), value).unwrap()),
                other => panic!("no table {other}"),
            }
        }
    }
    transaction.commit().unwrap();
}

#[test]
fn samples_are_what_is_written() {
    let scratch = Scratch::new();
    for case in samples("store").valid.into_iter().filter(|case| case.file.is_none()) {
        let rows = rows_in(&case);
        let path = scratch.path("written.epdb");
        fs::remove_file(&path).ok();
        let store = Store::create(&path, &small()).unwrap();
        let records: Vec<_> = case.text.iter().map(|line| epd(line)).collect();
        if !records.is_empty() {
            import(&store, "golden", &records, &ImportOptions::default());
        }
        store.close().unwrap();
        let written = rows_of(&path);
        assert_eq!(written.keys().collect::<Vec<_>>(), rows.keys().collect::<Vec<_>>());
        for (key, value) in written {
            assert_eq!(hex(&value), hex(&rows[&key]), "{key:?}");
        }
    }
}

#[test]
fn samples_are_read() {
    let scratch = Scratch::new();
    for case in samples("store").valid {
        let path = scratch.path("read.epdb");
        match case.file {
            Some(_) => fs::write(&path, case.bytes()).unwrap(),
            None => write_rows(&path, &rows_in(&case)),
        }
        assert_eq!(verify(&path, &small()).unwrap(), []);
        let store = Store::open_read_only(&path, &small()).unwrap();
        let reader = store.reader().unwrap();
        let all = exported(&reader);
        let lines = case.lines();
        let expected: Vec<_> = (0..).zip(lines.lines().map(epd)).collect();
        assert_eq!(all, expected);
        for (number, record) in expected {
            assert!(found(&reader, record.position()).contains(&(number, record)));
        }
    }
}

/// Of bytes that a reader refuses verify says why, and no lookup gives a record whose bytes are
/// not what was written.
#[test]
fn bad_samples_are_refused() {
    let scratch = Scratch::new();
    for case in samples("store").invalid {
        let rows = rows_in(&case);
        let path = scratch.path("refused.epdb");
        write_rows(&path, &rows);
        let said = match verify(&path, &small()) {
            Ok(findings) => findings.iter().map(|finding| finding.to_string()).collect(),
            Err(error) => vec![error.to_string().replace(&format!("{}: ", path.display()), "")],
        };
        assert_eq!(said, case.refused, "{}", case.name);
        // Whatever is wrong, reading comes to an end.
        if let Ok(reader) = Store::open_read_only(&path, &small()).and_then(|store| store.reader())
        {
            reader.by_import().chain(reader.by_key()).for_each(drop);
        }
    }
}

/// Mutant 4: of a chunk whose sums are all right, a record of another position is not given.
#[test]
fn a_chunk_gives_no_record_of_another_position() {
    let cases = samples("store").invalid;
    let case = cases.iter().find(|case| case.name == "A chunk with a record of another position");
    let scratch = Scratch::new();
    let path = scratch.path("foreign.epdb");
    write_rows(&path, &rows_in(case.unwrap()));
    let store = Store::open_read_only(&path, &small()).unwrap();
    let reader = store.reader().unwrap();
    let found: Result<Vec<_>, _> =
        reader.matches(&position("4k3/8/8/8/8/8/4P3/4K3 w - -")).collect();
    assert!(found.unwrap_err().to_string().contains("a record of another position"));
    assert!(reader.by_key().any(|stored| stored.is_err()));
}

/// A meta row that claims what no import gave is refused when the store is opened.
#[test]
fn claims_are_refused_when_opening() {
    let scratch = Scratch::new();
    let path = scratch.path("claims.epdb");
    let names = ["More blocks than there are", "A next number that no import led to"];
    for case in samples("store").invalid.iter().filter(|case| names.contains(&&*case.name)) {
        write_rows(&path, &rows_in(case));
        let opened = [Store::open(&path, &small()), Store::open_read_only(&path, &small())];
        for opened in opened {
            assert!(matches!(opened.err().unwrap(), StoreError::Damaged { .. }), "{}", case.name);
        }
    }
}

/// The block that the page explains is the sample.
#[test]
fn the_page_shows_the_sample() {
    let page = format!("{}/formats/store.md", env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(page).unwrap();
    let (_, dump) = page.split_once("@ blocks 0\n").unwrap();
    let (dump, _) = dump.split_once("```").unwrap();
    let bytes: Vec<u8> =
        dump.lines().flat_map(|line| unhex(line.split(" #").next().unwrap())).collect();
    let sample = &rows_in(&samples("store").valid[1])[&("blocks".to_string(), "0".to_string())];
    assert_eq!(hex(&bytes), hex(sample));
}

//! The samples of `formats/store.md`, held against the code both ways.
//!
//! A case is `= record` lines in the order of their import, or `! message`, and then rows: `@ table
//! key` and the bytes of the value in hexadecimal. `78*9000` is a byte repeated; ` #` begins a
//! comment. Keys of the table of crowded positions are hexadecimal too.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use redb::{ReadableDatabase, ReadableTable, TableDefinition};

use crate::common::*;
use epdb::store::{ImportOptions, Store, verify};

const META: TableDefinition<&str, &[u8]> = TableDefinition::new("epdb");
const BLOCKS: TableDefinition<u64, &[u8]> = TableDefinition::new("blocks");
const CROWDED: TableDefinition<&[u8], &[u8]> = TableDefinition::new("crowded");
const IMPORTS: TableDefinition<u64, &[u8]> = TableDefinition::new("imports");

/// By table and key.
type Rows = BTreeMap<(String, String), Vec<u8>>;

struct Case {
    /// Behind `=` or `!`.
    text: Vec<String>,
    rows: Rows,
}

fn bytes_of(line: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    for word in line.split_whitespace() {
        let (byte, times) = word.split_once('*').unwrap_or((word, "1"));
        for _ in 0..times.parse().unwrap() {
            let digits = (0..byte.len()).step_by(2);
            bytes.extend(digits.map(|at| u8::from_str_radix(&byte[at..at + 2], 16).unwrap()));
        }
    }
    bytes
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn cases(name: &str) -> Vec<Case> {
    let path = format!("{}/formats/golden/{name}/store.txt", env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(path).unwrap();
    let mut cases = Vec::new();
    for block in text.split("\n\n") {
        let mut case = Case { text: Vec::new(), rows: Rows::new() };
        let mut row = None;
        for line in block.lines() {
            let line = if line.starts_with('#') { "" } else { line };
            let line = line.find(" #").map_or(line, |at| &line[..at]).trim_end();
            if let Some(text) = line.strip_prefix("= ").or(line.strip_prefix("! ")) {
                case.text.push(text.replace("x*9000", &"x".repeat(9000)));
            } else if let Some(key) = line.strip_prefix("@ ") {
                let (table, key) = key.split_once(' ').unwrap();
                row = Some((table.to_string(), key.to_string()));
                case.rows.insert((table.into(), key.into()), Vec::new());
            } else if let Some(row) = &row {
                case.rows.get_mut(row).unwrap().extend(bytes_of(line));
            }
        }
        if !case.rows.is_empty() {
            cases.push(case);
        }
    }
    cases
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
                "crowded" => drop(crowded.insert(bytes_of(key).as_slice(), value).unwrap()),
                other => panic!("no table {other}"),
            }
        }
    }
    transaction.commit().unwrap();
}

#[test]
fn samples_are_what_is_written() {
    let scratch = Scratch::new();
    for case in cases("valid") {
        let path = scratch.path("written.epdb");
        fs::remove_file(&path).ok();
        let store = Store::create(&path, &small()).unwrap();
        let records: Vec<_> = case.text.iter().map(|line| epd(line)).collect();
        if !records.is_empty() {
            import(&store, "golden", &records, &ImportOptions::default());
        }
        store.close().unwrap();
        let written = rows_of(&path);
        assert_eq!(written.keys().collect::<Vec<_>>(), case.rows.keys().collect::<Vec<_>>());
        for (key, value) in written {
            assert_eq!(hex(&value), hex(&case.rows[&key]), "{key:?}");
        }
    }
}

#[test]
fn samples_are_read() {
    let scratch = Scratch::new();
    for case in cases("valid") {
        let path = scratch.path("read.epdb");
        write_rows(&path, &case.rows);
        assert_eq!(verify(&path, &small()).unwrap(), []);
        let store = Store::open_read_only(&path, &small()).unwrap();
        let reader = store.reader().unwrap();
        let all = exported(&reader);
        let expected: Vec<_> = (0..).zip(case.text.iter().map(|line| epd(line))).collect();
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
    let cases = cases("invalid");
    assert!(cases.len() > 10);
    for case in cases {
        let path = scratch.path("refused.epdb");
        write_rows(&path, &case.rows);
        let said = match verify(&path, &small()) {
            Ok(findings) => findings.iter().map(|finding| finding.to_string()).collect(),
            Err(error) => vec![error.to_string().replace(&format!("{}: ", path.display()), "")],
        };
        assert_eq!(said, case.text);
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
        dump.lines().flat_map(|line| bytes_of(line.split(" #").next().unwrap())).collect();
    let sample = &cases("valid")[1].rows[&("blocks".to_string(), "0".to_string())];
    assert_eq!(hex(&bytes), hex(sample));
}

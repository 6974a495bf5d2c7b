//! The samples of `formats/store.md`, compared with the code in both directions.
//!
//! Keys of the table `crowded` are hexadecimal.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use redb::{ReadableDatabase, ReadableTable, TableDefinition};

use crate::common::*;
use crate::samples::{Case, Row, hex, samples, unhex};
use epdb_chess::codec::kept_game;
use epdb_chess::codec::query::SkipTo;
use epdb_chess::model::EpdRecord;
use epdb_store::{
    Checkpoint, ImportOptions, Reader, Recognised, SourceDigest, Store, StoreError, StoreOptions,
    verify,
};

const META: TableDefinition<&str, &[u8]> = TableDefinition::new("epdb");
const CROWDED: TableDefinition<&[u8], &[u8]> = TableDefinition::new("crowded");
/// Tables whose keys are numbers.
const NUMBERED: [&str; 4] = ["blocks", "imports", "game digests", "kept games"];

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
    for name in NUMBERED {
        let table = transaction.open_table(TableDefinition::<u64, &[u8]>::new(name));
        if matches!(table, Err(redb::TableError::TableDoesNotExist(_))) {
            continue;
        }
        for entry in table.unwrap().iter().unwrap() {
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
        let mut crowded = transaction.open_table(CROWDED).unwrap();
        for name in &NUMBERED[..2] {
            drop(transaction.open_table(TableDefinition::<u64, &[u8]>::new(name)).unwrap());
        }
        for ((table, key), value) in rows {
            let value = value.as_slice();
            match table.as_str() {
                "epdb" => drop(meta.insert(key.as_str(), value).unwrap()),
                "crowded" => drop(crowded.insert(unhex(key).as_slice(), value).unwrap()),
                name => {
                    assert!(NUMBERED.contains(&name), "no table {name}");
                    let table = TableDefinition::<u64, &[u8]>::new(name);
                    let mut table = transaction.open_table(table).unwrap();
                    table.insert(key.parse::<u64>().unwrap(), value).unwrap();
                }
            }
        }
    }
    transaction.commit().unwrap();
}

/// The records that wait in the sample of runs: two of each run.
const WAITING: [&str; 4] = [
    "8/8/8/8/8/1k6/8/K7 w - -",
    "4k3/8/8/8/8/8/4P3/4K3 w - - 5 39",
    "8/8/8/8/8/1k6/8/K7 b - -",
    "4k3/8/8/8/8/8/4P3/4K3 w - - 6 40",
];

/// Begins the import of the sample of runs. All of its records wait.
fn push_waiting(store: &Store) {
    let mut importer = store.importer("waiting.epd", &ImportOptions::default()).unwrap();
    let mut place = Checkpoint::START;
    for line in WAITING {
        place.advance(line.as_bytes());
        place.advance(b"\n");
        importer.push_from(&epd(line), place).unwrap();
    }
    assert_eq!(importer.waiting(), 4);
}

fn runs_path(store: &Path) -> PathBuf {
    store.with_extension("epdb.runs")
}

/// An import of another source merges the records of the sample that wait.
#[test]
fn the_runs_of_the_sample_are_merged() {
    let scratch = Scratch::new();
    let path = scratch.path("waiting.epdb");
    let cases = samples("store").valid;
    let case = cases.iter().find(|case| case.runs().is_some()).unwrap();
    let mut records = write_sample(&path, case);
    let store = Store::open(&path, &small()).unwrap();
    assert_eq!(store.reader().unwrap().stats().unwrap().waiting_records, 4);
    import(&store, "another", &[], &ImportOptions::default());
    let next = records.len() as u64;
    records.extend((next..).zip(WAITING.iter().map(|line| epd(line))));
    assert_eq!(exported(&store.reader().unwrap()), records);
    assert!(!runs_path(&path).exists());
}

#[test]
fn samples_are_what_is_written() {
    let scratch = Scratch::new();
    for case in samples("store").valid.into_iter().filter(|case| case.file.is_none()) {
        let rows = rows_in(&case);
        let path = scratch.path("written.epdb");
        fs::remove_file(&path).ok();
        // Two records of the sample fill a batch.
        let store =
            Store::create(&path, &StoreOptions { batch_bytes: Some(50), ..small() }).unwrap();
        let records: Vec<_> = case.text.iter().map(|line| epd(line)).collect();
        if !records.is_empty() {
            import(&store, "golden", &records, &ImportOptions::default());
        }
        if let Some(runs) = case.runs() {
            push_waiting(&store);
            assert_eq!(hex(&fs::read(runs_path(&path)).unwrap()), hex(&runs));
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
        write_runs(&path, &case);
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

/// Writes the file of runs of a sample, if it has one.
fn write_runs(path: &Path, case: &Case) {
    fs::remove_file(runs_path(path)).ok();
    if let Some(runs) = case.runs() {
        fs::write(runs_path(path), runs).unwrap();
    }
}

/// Writes a valid sample. Returns its records with their numbers.
fn write_sample(path: &Path, case: &Case) -> Vec<(u64, EpdRecord)> {
    write_runs(path, case);
    match case.file {
        Some(_) => fs::write(path, case.bytes()).unwrap(),
        None => write_rows(path, &rows_in(case)),
    }
    (0..).zip(case.lines().lines().map(epd)).collect()
}

/// The results of a batch of lookups by query, until `answer` ends it.
fn looked_up(
    reader: &Reader,
    records: &[(u64, EpdRecord)],
    answer: ControlFlow<SkipTo>,
) -> Vec<Vec<u64>> {
    let mut found = vec![Vec::new(); records.len()];
    let visit = |query: usize, one: epdb_store::EncodedRecord<'_>| {
        let mut line = Vec::new();
        one.write_text(&mut line)?;
        assert_eq!(line, epdb_chess::format_epd(&one.record()?));
        found[query].push(one.number());
        Ok::<_, StoreError>(answer)
    };
    reader.get_batch(records.iter().map(|(_, record)| record.position()), visit).unwrap();
    found
}

#[test]
fn samples_are_read_in_all_ways() {
    let scratch = Scratch::new();
    let path = scratch.path("all.epdb");
    for case in samples("store").valid {
        let records = write_sample(&path, &case);
        // Blocks that fit into memory are kept from one lookup to the next.
        for memory_bytes in [1 << 20, 1 << 26] {
            let options = StoreOptions { memory_bytes, ..Default::default() };
            let store = Store::open_read_only(&path, &options).unwrap();
            let reader = store.reader().unwrap();
            assert_eq!(
                (reader.len(), reader.is_empty()),
                (records.len() as u64, records.is_empty())
            );
            let together = looked_up(&reader, &records, ControlFlow::Continue(()));
            assert_eq!(exported(&reader), records);
            let stats = reader.stats().unwrap();
            assert_eq!(stats.records, records.len() as u64, "{}", case.name);
            assert_eq!(stats.file_bytes, fs::metadata(&path).unwrap().len(), "{}", case.name);
            let mut by_key: Vec<_> = reader.by_key().map(Result::unwrap).collect();
            by_key.sort_unstable_by_key(|stored| stored.import_number);
            assert!(
                by_key.into_iter().map(|one| (one.import_number, one.record)).eq(records.clone())
            );

            let lists: Vec<Vec<u64>> = records
                .iter()
                .map(|(_, record)| {
                    found(&reader, record.position()).into_iter().map(|one| one.0).collect()
                })
                .collect();
            assert_eq!(together, lists);
            assert_eq!(looked_up(&reader, &records, ControlFlow::Continue(())), lists);
            let firsts: Vec<&[u64]> = lists.iter().map(|list| &list[..1]).collect();
            assert_eq!(looked_up(&reader, &records, ControlFlow::Break(SkipTo::NextQuery)), firsts);
            for reader in [&reader, &store.reader().unwrap()] {
                let one = looked_up(reader, &records, ControlFlow::Break(SkipTo::End)).concat();
                assert_eq!(one.len(), records.len().min(1));
            }
            for ((number, record), first) in records.iter().zip(firsts).step_by(97) {
                assert_eq!(reader.record(*number).unwrap().as_ref(), Some(record));
                assert!(reader.contains(record.position()).unwrap());
                let found = reader.first(record.position()).unwrap().unwrap();
                assert_eq!(found.import_number, first[0]);
                let mut matches = reader.matches(record.position());
                assert!(matches.by_ref().count() > 0 && matches.next().is_none());
            }
            // Reading in order of import takes the memory for blocks.
            let fresh = store.reader().unwrap();
            let _in_order = fresh.by_import();
            assert_eq!(exported(&fresh), records);
            for ((_, record), list) in records.iter().zip(&lists).step_by(97) {
                let found = found(&fresh, record.position()).into_iter().map(|one| one.0);
                assert!(found.eq(list.iter().copied()), "{}", case.name);
            }
            let absent = position("8/8/8/4k3/8/1K6/8/7R w - -");
            assert!(!reader.contains(&absent).unwrap() && reader.first(&absent).unwrap().is_none());
            assert_eq!(reader.record(records.len() as u64).unwrap(), None);
        }
    }
}

/// Games and their digests, as the archive of the same library has them.
#[test]
fn the_ledger_and_the_games_of_the_library_are_read() {
    let scratch = Scratch::new();
    let path = scratch.path("library.epdb");
    let cases = samples("store").valid;
    let case = cases.iter().find(|case| case.file.is_some()).unwrap();
    write_sample(&path, case);
    let store = Store::open_read_only(&path, &small()).unwrap();
    let ledger = store.reader().unwrap().tally_ledger().unwrap().unwrap();
    let games = ledger.games.map(|games| games.len() as u64);
    let (mut origin, count) = store.reader().unwrap().tally_origin().unwrap().unwrap();
    assert_eq!(origin.games.take().map(|set| set.games), games);
    assert_eq!((origin, count), (ledger.origin, games));
    let reader = store.reader().unwrap();
    let mut kept = 0;
    let visit = &mut |id, game: &[u8]| {
        assert_eq!(reader.kept_game(id)?.as_deref(), Some(game));
        kept += 1;
        Ok::<(), StoreError>(())
    };
    reader.each_kept_game(visit).unwrap();
    assert!(kept > 0 && kept == reader.kept_game_count().unwrap());
    // They come back from a store to which they are copied.
    let copied = scratch.path("copied.epdb");
    let copy = Store::create(&copied, &small()).unwrap();
    let digest = SourceDigest::from_reader(&case.bytes()[..]).unwrap();
    let mut importer = copy
        .importer("copy", &ImportOptions { digest: Some(digest), ..Default::default() })
        .unwrap();
    reader.each_kept_game(&mut |_, game| importer.keep_game(game)).unwrap();
    importer.finish().unwrap();
    copy.close().unwrap();
    let copy = Store::open_read_only(&copied, &small()).unwrap();
    assert_eq!(copy.imports().unwrap()[0].digest, Some(digest));
    let bytes = case.bytes();
    let more = [&bytes[..], b"more"].concat();
    let none = BTreeMap::new();
    let other = BTreeMap::from([("other".to_string(), String::new())]);
    for (source, settings, expected) in
        [(&bytes, &none, "Imported"), (&bytes, &other, "OtherSettings"), (&more, &none, "Grown")]
    {
        let (recognised, _) = copy.recognise("again", &source[..], settings).unwrap();
        assert!(format!("{recognised:?}").starts_with(expected), "{recognised:?}");
    }
    assert_eq!(copy.recognise("new", &b"new"[..], &none).unwrap().0, Recognised::New);
    let copy = copy.reader().unwrap();
    let visit = &mut |id, game: &[u8]| {
        assert_eq!(reader.kept_game(id)?.as_deref(), Some(game));
        Ok::<(), StoreError>(())
    };
    copy.each_kept_game(visit).unwrap();
    assert_eq!(copy.kept_game_count().unwrap(), kept);
    let stop = |_, _: &[u8]| Err(StoreError::NotFound { path: path.clone() });
    assert!(matches!(reader.each_kept_game(&mut { stop }), Err(StoreError::NotFound { .. })));
    assert_eq!(reader.kept_game(Default::default()).unwrap(), None);
}

/// Puts the checksum into a chunk; `key` is the key of its row.
fn seal_chunk(key: &str, chunk: &mut [u8]) {
    let mut id = [0; 24];
    id[..8].copy_from_slice(&u64::from_str_radix(&key[..16], 16).unwrap().to_le_bytes());
    id[8..12].copy_from_slice(&u32::MAX.to_le_bytes());
    id[12] = chunk[0];
    let check = crc32c::crc32c_append(crc32c::crc32c(&id), &chunk[5..]);
    chunk[1..5].copy_from_slice(&check.to_le_bytes());
}

/// Of a sample with a row that is damaged or missing, each record is as it was or refused.
#[test]
fn damaged_samples_give_no_wrong_record() {
    let scratch = Scratch::new();
    let path = scratch.path("damaged.epdb");
    for case in samples("store").valid {
        let records = write_sample(&path, &case);
        let rows = rows_of(&path);
        let lists = {
            let reader = Store::open_read_only(&path, &small()).unwrap().reader().unwrap();
            records.iter().map(|(_, record)| found(&reader, record.position())).collect::<Vec<_>>()
        };
        // All rows of the table of the meta row, and the first one of each other table.
        let mut seen = BTreeSet::new();
        for (key, value) in &rows {
            if key.0 != "epdb" && !seen.insert(&key.0) {
                continue;
            }
            let mut variants = vec![rows.clone(); 8];
            // Some fields of blocks are read before their checksums.
            let places = [0, 4, 6, 32, value.len() / 2].into_iter().zip([16, 1, 16, 64, 16]);
            for (changed, (place, change)) in variants.iter_mut().zip(places) {
                let bytes = changed.get_mut(key).unwrap();
                let last = bytes.len() - 1;
                bytes[place.min(last)] ^= change;
            }
            // A row is missing, or under another key.
            let (table, own) = key;
            let others = match table.as_str() {
                "epdb" => ["?", "!"].map(String::from),
                "crowded" => [own[..14].into(), format!("00{}", &own[2..])],
                _ => [1, 4].map(|bit| (own.parse::<u64>().unwrap() ^ bit).to_string()),
            };
            let missing = if table == "epdb" { 5..8 } else { 5..7 };
            variants[missing].iter_mut().for_each(|rows| drop(rows.remove(key)));
            for (rows, other) in variants[6..].iter_mut().zip(others) {
                rows.insert((table.clone(), other), value.clone());
            }
            // A checksum cannot tell that a writer was wrong.
            if table == "crowded" {
                for (place, change) in (5..30).flat_map(|place| [(place, 0xff), (place, 1)]) {
                    let (mut one, mut five) = (rows.clone(), rows.clone());
                    one.get_mut(key).unwrap()[place] ^= change;
                    five.get_mut(key).unwrap()[place..place + 5].fill(change);
                    for mut rows in [one, five] {
                        seal_chunk(own, rows.get_mut(key).unwrap());
                        variants.push(rows);
                    }
                }
            }
            if table == "kept games" {
                let no_game = b"no game".to_vec();
                let id = u64::from_be_bytes(kept_game::id_of(&no_game).0);
                let mut rows = rows.clone();
                rows.insert((table.clone(), id.to_string()), no_game);
                variants.push(rows);
            }
            for (nth, damaged) in variants.iter().enumerate() {
                write_rows(&path, damaged);
                let name = format!("{}: {key:?}, {nth}", case.name);
                assert!(
                    !verify(&path, &small()).is_ok_and(|findings| findings.is_empty()),
                    "{name}"
                );
                let Ok(store) = Store::open_read_only(&path, &small()) else { continue };
                store.reader().and_then(|reader| reader.tally_ledger()).ok();
                let Ok(reader) = store.reader() else { continue };
                for stored in reader.by_import().chain(reader.by_key()).flatten() {
                    let expected = &records[stored.import_number as usize];
                    assert_eq!((stored.import_number, stored.record), *expected, "{name}");
                }
                for ((_, record), list) in records.iter().zip(&lists).step_by(41) {
                    let found: Result<Vec<_>, _> = reader.matches(record.position()).collect();
                    let found =
                        found.into_iter().flatten().map(|one| (one.import_number, one.record));
                    let found = found.collect::<Vec<_>>();
                    assert!(found.is_empty() || found == *list, "{name}");
                }
                let mut games = 0;
                let visit = &mut |_, _: &[u8]| {
                    games += 1;
                    Ok::<(), StoreError>(())
                };
                let are_whole = reader.each_kept_game(visit).is_ok();
                let count = reader.kept_game_count();
                assert!(!are_whole || count.unwrap() == games, "{name}");
            }
        }
    }
}

/// Of a file with a damaged page, or without its end, each record is as it was or refused.
#[test]
fn damaged_files_give_no_wrong_record() {
    let scratch = Scratch::new();
    let path = scratch.path("pages.epdb");
    let cases = samples("store").valid;
    let case = cases.iter().find(|case| case.file.is_some()).unwrap();
    let (records, bytes) = (write_sample(&path, case), case.bytes());
    // Of each page its kind and its number of entries, and of the header its flags and commits.
    let pages = (0..bytes.len()).step_by(4096);
    let places = pages.map(|page| [(page, 0xfe), (page + 2, 0), (page + 3, 0x7f)][page / 4096 % 3]);
    let flipped = places.chain([(9, 2), (64, 0), (192, 0)]).map(|(place, value)| {
        let mut changed = bytes.clone();
        changed[place] = value;
        changed
    });
    let cut = [0, 5, 100, 4096, bytes.len() / 2, bytes.len() - 1].map(|len| bytes[..len].to_vec());
    for (nth, changed) in flipped.chain(cut).enumerate() {
        fs::write(&path, changed).unwrap();
        let is_sound = verify(&path, &small()).is_ok_and(|findings| findings.is_empty());
        let reader = Store::open_read_only(&path, &small()).and_then(|store| store.reader());
        assert!(!is_sound || reader.is_ok(), "{nth}");
        let Ok(reader) = reader else { continue };
        for stored in reader.by_key().flatten() {
            let expected = &records[stored.import_number as usize];
            assert_eq!((stored.import_number, stored.record), *expected, "{nth}");
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
        write_runs(&path, &case);
        let runs = format!("{}: ", runs_path(&path).display());
        let said = match verify(&path, &small()) {
            Ok(findings) => findings.iter().map(|one| one.to_string().replace(&runs, "")).collect(),
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
    let page = format!("{}/formats/notes/examples.md", env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(page).unwrap();
    let (_, dump) = page.split_once("@ blocks 0\n").unwrap();
    let (dump, _) = dump.split_once("```").unwrap();
    let bytes: Vec<u8> =
        dump.lines().flat_map(|line| unhex(line.split(" #").next().unwrap())).collect();
    let sample = &rows_in(&samples("store").valid[1])[&("blocks".to_string(), "0".to_string())];
    assert_eq!(hex(&bytes), hex(sample));
}

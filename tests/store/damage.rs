//! Stores with changed bytes give right records, nothing, or an error; `verify` reports the damage.

use std::collections::HashMap;
use std::fs;
use std::num::NonZeroU64;

use crate::common::*;
use crate::{starting_none, starting_one};
use epdb_chess::model::EpdRecord;
use epdb_store::{ImportOptions, Reader, Store, StoreError, StoredRecord, verify};

/// A pseudo-random walk that is the same in every run.
struct Walk(u64);

impl Walk {
    fn next(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (self.0 >> 33) % below
    }
}

fn sound_store() -> (Vec<u8>, Vec<EpdRecord>) {
    let scratch = Scratch::new();
    let path = scratch.path("sound.epdb");
    let crowd = |nth: u64| epd(&format!("4k3/8/8/8/8/8/8/4K2R w K - id \"{nth}\";"));
    let mut records: Vec<_> = (0..4000).map(generated).collect();
    records.extend((0..1200).map(crowd));
    let mut store = Store::create(&path, &small()).unwrap();
    let options = ImportOptions { commit_every: NonZeroU64::new(1500), ..Default::default() };
    import(&store, "records", &records, &options);
    store.compact().unwrap();
    store.close().unwrap();
    (fs::read(&path).unwrap(), records)
}

/// Whether a reader gave everything; panics when it gave anything wrong.
fn gives_all(reader: &Reader, records: &[EpdRecord]) -> bool {
    let mut all = true;
    let right = |number: u64, record: &EpdRecord| records.get(number as usize) == Some(record);
    let crowd = records.last().unwrap().position();
    for nth in (0..4000).step_by(41) {
        let mut found = 0;
        for stored in reader.matches(records[nth].position()) {
            match stored {
                Ok(stored) => {
                    assert_eq!(stored.import_number, nth as u64);
                    assert!(right(stored.import_number, &stored.record));
                    found += 1;
                }
                Err(_) => all = false,
            }
        }
        all &= found == 1;
    }
    let mut found = 0;
    for stored in reader.matches(crowd) {
        match stored {
            Ok(stored) => {
                assert!(right(stored.import_number, &stored.record));
                assert_eq!(stored.record.position(), crowd);
                found += 1;
            }
            Err(_) => all = false,
        }
    }
    all &= found == 1200;
    for stored in reader.by_key().chain(reader.by_import()) {
        match stored {
            Ok(stored) => assert!(right(stored.import_number, &stored.record)),
            Err(_) => all = false,
        }
    }
    all
}

/// 1000 changes of one byte, and one of each byte of the header.
// README: Damage is detected
#[test]
fn no_change_of_a_byte_gives_a_wrong_record() {
    let _guard = starting_none();
    let (sound, records) = sound_store();
    let scratch = Scratch::new();
    let path = scratch.path("changed.epdb");
    let mut walk = Walk(2026);
    let random: Vec<u64> = (0..1000).map(|_| walk.next(sound.len() as u64)).collect();
    let mut outcomes: HashMap<&str, u32> = HashMap::new();
    for at in random.into_iter().chain(0..320) {
        let mut changed = sound.clone();
        changed[at as usize] ^= 1 + walk.next(255) as u8;
        fs::write(&path, &changed).unwrap();
        let verified = verify(&path, &small());
        assert!(fs::read(&path).unwrap() == changed, "verifying changed the file, byte {at}");
        let read = Store::open_read_only(&path, &small())
            .and_then(|store| Ok(gives_all(&store.reader()?, &records)));
        let reported = !matches!(&verified, Ok(findings) if findings.is_empty());
        let outcome = match &read {
            Ok(true) if reported => "all is found, verify reports",
            Ok(true) => "all is found, nothing to report",
            Ok(false) => "records are missing",
            Err(_) => "cannot be opened",
        };
        *outcomes.entry(outcome).or_default() += 1;
        // Opening for writing may repair, and may refuse.
        let repaired = Store::open(&path, &small())
            .and_then(|store| Ok(gives_all(&store.reader()?, &records)));
        let is_whole = matches!(read, Ok(true)) && matches!(repaired, Ok(true));
        assert!(reported || is_whole, "byte {at}: {read:?}, {repaired:?}, not reported");
    }
    println!("{outcomes:?}");
    assert!(outcomes["records are missing"] > 100, "{outcomes:?}");
}

/// A file cut at any page, or anywhere else.
#[test]
fn a_shortened_file_is_an_error() {
    let _guard = starting_none();
    let (sound, _) = sound_store();
    let scratch = Scratch::new();
    let path = scratch.path("short.epdb");
    let mut walk = Walk(7);
    let anywhere: Vec<u64> = (0..60).map(|_| walk.next(sound.len() as u64)).collect();
    let pages = (0..sound.len() as u64).step_by(4096);
    for len in pages.chain(anywhere) {
        fs::write(&path, &sound[..len as usize]).unwrap();
        let report = verify(&path, &small());
        assert!(!matches!(&report, Ok(findings) if findings.is_empty()), "{len}");
        if let Ok(store) = Store::open_read_only(&path, &small())
            && let Ok(reader) = store.reader()
        {
            let outcome: Result<Vec<_>, _> = reader.by_key().collect();
            assert!(outcome.is_err(), "{len}");
        }
    }
}

/// A record whose own bytes changed is an error to each way of reading, never a record.
#[test]
fn a_changed_record_is_never_given() {
    let _guard = starting_none();
    let (sound, records) = sound_store();
    let scratch = Scratch::new();
    let path = scratch.path("record.epdb");
    let with_text = (0..4000).filter(|&nth| text(&records[nth]).contains("id"));
    for nth in with_text.step_by(100).chain([4321]) {
        let record = &records[nth];
        // The digit of its name that is last.
        let mut bytes = Vec::new();
        epdb_chess::codec::record::encode(record, &mut bytes).unwrap();
        let digit = bytes.iter().rposition(u8::is_ascii_digit).unwrap();
        let mut changed = sound.clone();
        for at in 0..changed.len() - bytes.len() {
            if changed[at..].starts_with(&bytes) {
                changed[at + digit] ^= 1;
            }
        }
        fs::write(&path, &changed).unwrap();
        let store = Store::open_read_only(&path, &small()).unwrap();
        let reader = store.reader().unwrap();
        let looked_up: Result<Vec<_>, _> = reader.matches(record.position()).collect();
        assert!(matches!(looked_up, Err(StoreError::Damaged { .. })), "{nth}");
        let by_key: Result<Vec<_>, _> = reader.by_key().collect();
        assert!(matches!(by_key, Err(StoreError::Damaged { .. })), "{nth}");
        let by_import: Result<Vec<_>, _> = reader.by_import().collect();
        assert!(matches!(by_import, Err(StoreError::Damaged { .. })), "{nth}");
    }
}

/// A writer does not carry damage on with a checksum that is right again.
#[test]
fn a_merge_refuses_a_damaged_block() {
    let _guard = starting_none();
    let (sound, records) = sound_store();
    let needle = {
        let mut bytes = Vec::new();
        epdb_chess::codec::record::encode(&records[17], &mut bytes).unwrap();
        bytes
    };
    let mut changed = sound;
    for at in 0..changed.len() - needle.len() {
        if changed[at..].starts_with(&needle) {
            changed[at + 5] ^= 0x10;
        }
    }
    let scratch = Scratch::new();
    let path = scratch.path("merged.epdb");
    fs::write(&path, &changed).unwrap();
    let found = verify(&path, &small()).unwrap();
    assert!(found.iter().any(|finding| finding.place.starts_with("block")), "{found:?}");
    let store = Store::open(&path, &small()).unwrap();
    let mut importer = store.importer("more", &ImportOptions::default()).unwrap();
    (5000..9000).for_each(|nth| importer.push(&generated(nth)).unwrap());
    let refused = importer.finish().err().unwrap();
    assert!(matches!(refused, StoreError::Damaged { .. }), "{refused}");
    let reader = store.reader().unwrap();
    assert!(matches!(
        reader.first(records[17].position()),
        Err(StoreError::Damaged { .. }) | Ok(None)
    ));
    assert_eq!(reader.stats().unwrap().records, records.len() as u64);
}

const DAMAGED_FILES: &str = "EPDB_TEST_DAMAGED_FILES";

/// Not a test: what the next one runs as another process, whose standard error is its own.
#[test]
fn child_that_reads_damaged_files() {
    let Ok(folder) = std::env::var(DAMAGED_FILES) else { return };
    let mut assertions = 0;
    for file in fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let read = Store::open_read_only(&path, &small())
            .and_then(|store| store.reader()?.by_key().try_for_each(|stored| stored.map(drop)));
        let text = read.err().map(|error| error.to_string()).unwrap_or_default();
        assertions += u32::from(text.contains("failed an assertion"));
    }
    assert!(assertions > 0, "redb did not panic, so nothing is shown");
    println!("all were read");
}

/// Panics of redb become errors and are not printed.
#[test]
fn panics_of_redb_are_not_printed() {
    let _guard = starting_one();
    let (sound, _) = sound_store();
    let scratch = Scratch::new();
    for page in (1..sound.len() / 4096).map(|page| page * 4096) {
        let mut changed = sound.clone();
        changed[page] = 7;
        if matches!(sound[page], 1 | 2) {
            fs::write(scratch.path(&format!("{page}.epdb")), changed).unwrap();
        }
    }
    let child = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "damage::child_that_reads_damaged_files", "--nocapture"])
        .env(DAMAGED_FILES, scratch.dir.path())
        .output()
        .unwrap();
    assert!(String::from_utf8_lossy(&child.stdout).contains("all were read"));
    assert_eq!(String::from_utf8_lossy(&child.stderr), "");
}

/// Behind an error there is nothing more, in a crowd neither.
#[test]
fn no_iterator_continues_after_an_error() {
    let _guard = starting_none();
    let scratch = Scratch::new();
    let path = scratch.path("crowd.epdb");
    let crowd: Vec<_> =
        (0..6000).map(|nth| epd(&format!("4k3/8/8/8/8/8/8/4K2R w K - id \"{nth}\";"))).collect();
    store_of(&path, &crowd).close().unwrap();
    let mut changed = fs::read(&path).unwrap();
    let mut needle = Vec::new();
    epdb_chess::codec::record::encode(&crowd[3000], &mut needle).unwrap();
    let at = changed.windows(needle.len()).rposition(|bytes| bytes == needle).unwrap();
    changed[at + needle.len() - 3] ^= 1;
    fs::write(&path, changed).unwrap();
    let store = Store::open_read_only(&path, &small()).unwrap();
    let reader = store.reader().unwrap();
    ends(reader.matches(crowd[0].position()));
    ends(reader.by_key());
    ends(reader.by_import());
}

fn ends(mut records: impl Iterator<Item = Result<StoredRecord, StoreError>>) {
    let error = records.find_map(Result::err).unwrap();
    assert!(error.to_string().contains("overflow position"), "{error}");
    assert!(records.next().is_none() && records.next().is_none());
}

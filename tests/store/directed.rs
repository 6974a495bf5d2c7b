//! Directed damage: faults of disks and buses, sector by sector and bit by bit, and of programs, row by row.
//!
//! Each way of reading gives every record and nothing else, or an error. "Not found" is reported only if it
//! is true. Nothing is written on top of damage that was detected.
//!
//! - `EPDB_DAMAGES=100000 cargo test --test store_damaged directed -- --nocapture` sets the number of damages
//!   of each test.
//! - `EPDB_DAMAGE=N` repeats a single one.

use std::collections::BTreeMap;
use std::fs;
use std::ops::ControlFlow;
use std::path::Path;

use redb::{ReadableTable, TableDefinition};

use crate::common::*;
use crate::redb_pages::RedbPages;
use crate::{starting_none, starting_one};
use epdb_chess::model::merge::MergeRules;
use epdb_chess::model::{EpdRecord, Position};
use epdb_store::{ImportOptions, OnDuplicate, Reader, Store, StoreError, verify};

/// Number of damages in a usual run.
const USUAL: u64 = 500;
/// Number of damages of a test that starts no processes.
const USUAL_LIES: u64 = 200;
const SECTORS: [usize; 3] = [512, 4096, 65536];

type Records = Vec<(u64, EpdRecord)>;

/// A pseudo-random walk that is the same in every run.
struct Walk(u64);

impl Walk {
    fn numbered(number: u64) -> Walk {
        Walk(number.wrapping_add(7).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    fn next(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        ((self.0 >> 33) % below.max(1) as u64) as usize
    }

    fn of<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.next(list.len())]
    }
}

/// A store as its file was after each of its imports.
struct Sample {
    versions: Vec<(Vec<u8>, Records)>,
    /// Positions that the store does not have.
    absent: Vec<Position>,
}

fn long(nth: u64, ce: u64) -> EpdRecord {
    let line = text(&generated(nth));
    let fields: Vec<&str> = line.split(' ').take(4).collect();
    let words = "x".repeat(150 + nth as usize % 300);
    epd(&format!("{} ce {ce}; id \"{nth} {words}\";", fields.join(" ")))
}

fn crowded(nth: u64) -> EpdRecord {
    epd(&format!("4k3/8/8/8/8/8/8/4K2R w K - id \"{nth} {}\";", "y".repeat(300)))
}

impl Sample {
    fn new() -> Sample {
        Sample::of(260, 140)
    }

    /// A sample with some records of different positions and an overflow position.
    fn of(records: u64, crowd: u64) -> Sample {
        let scratch = Scratch::new();
        let path = scratch.path("sample.epdb");
        let merging = OnDuplicate::Merge(MergeRules::default());
        let skipping = OnDuplicate::Skip;
        let mut first: Vec<_> = (0..records).map(|nth| long(nth, 100 + nth)).collect();
        first.extend((0..crowd).map(crowded));
        let imports = [
            (first, OnDuplicate::Keep),
            // Records that change and keep their lengths, and some that are new.
            (
                (0..records + 40).step_by(7).map(|nth| long(nth, 600_u64.abs_diff(nth))).collect(),
                merging,
            ),
            ((crowd - 10..crowd + 10).map(crowded).collect(), OnDuplicate::Keep),
            ((records + 30..records + 70).map(|nth| long(nth, 7)).collect(), skipping),
        ];
        Store::create(&path, &small()).unwrap().close().unwrap();
        let mut versions = Vec::new();
        for (number, (records, on_duplicate)) in imports.into_iter().enumerate() {
            let mut store = Store::open(&path, &small()).unwrap();
            let options = ImportOptions { on_duplicate, ..Default::default() };
            import(&store, &format!("source {number}"), &records, &options);
            if number == 0 {
                store.compact().unwrap();
            }
            let all = exported(&store.reader().unwrap());
            store.close().unwrap();
            assert_eq!(verify(&path, &small()).unwrap(), []);
            versions.push((fs::read(&path).unwrap(), all));
        }
        let absent = (records + 740..records + 760).map(|nth| *generated(nth).position()).collect();
        Sample { versions, absent }
    }

    fn sound(&self) -> &(Vec<u8>, Records) {
        self.versions.last().unwrap()
    }

    /// Writes the sample to a file, damaged, and says how.
    fn damage(&self, walk: &mut Walk, path: &Path) -> String {
        let (sound, _) = self.sound();
        let mut bytes = sound.clone();
        let used = |bytes: &[u8], size: usize| -> Vec<usize> {
            let sectors = bytes.chunks(size).enumerate();
            let used = sectors.filter(|(_, sector)| sector.iter().any(|&byte| byte != 0));
            used.map(|(number, _)| number * size).collect()
        };
        let size = walk.of(&SECTORS[..2]);
        let sectors = used(&bytes, size);
        let (one, other) = (walk.of(&sectors), walk.of(&sectors));
        let end = |at: usize| (at + size).min(sound.len());
        let what = match walk.next(10) {
            0 => {
                let at = one + walk.next(end(one) - one);
                bytes[at] ^= 1 << walk.next(8);
                format!("a bit of byte {at}")
            }
            1 => {
                // Fields of redb's pages with their type and the places of their parts.
                let page = one / 4096 * 4096;
                let at = (page + walk.next(300)).min(bytes.len() - 1);
                bytes[at] ^= 1 << walk.next(8);
                format!("a bit of byte {at}, at the beginning of a page")
            }
            2 => {
                let at = one + walk.next(end(one) - one);
                bytes[at] = walk.next(256) as u8;
                format!("byte {at}")
            }
            3 => {
                let len = (end(one) - one).min(end(other) - other);
                let kept = bytes[one..one + len].to_vec();
                bytes.copy_within(other..other + len, one);
                bytes[other..other + len].copy_from_slice(&kept);
                format!("sectors of {size} at {one} and {other} swapped")
            }
            4 | 5 => {
                let len = (end(one) - one).min(end(other) - other);
                bytes.copy_within(one..one + len, other);
                format!("the sector of {size} at {one} doubled at {other}")
            }
            6 => {
                bytes[one..end(one)].fill(0);
                format!("the sector of {size} at {one} zeroed")
            }
            7 | 8 => {
                let version = walk.next(self.versions.len() - 1);
                let earlier = &self.versions[version].0;
                let size = walk.of(&SECTORS);
                let stale: Vec<usize> = (0..earlier.len().min(sound.len()))
                    .step_by(size)
                    .filter(|&at| {
                        let end = (at + size).min(earlier.len()).min(sound.len());
                        // The first sector of 64 KiB has the header of the file and all pages that
                        // lead to the meta row. So it alone is the state of an earlier commit.
                        (at, size) != (0, SECTORS[2]) && earlier[at..end] != sound[at..end]
                    })
                    .collect();
                let at = walk.of(&stale);
                let end = (at + size).min(earlier.len()).min(sound.len());
                bytes[at..end].copy_from_slice(&earlier[at..end]);
                format!("the sector of {size} at {at} stale, of version {version}")
            }
            _ => return exchange_rows(walk, path, sound),
        };
        fs::write(path, bytes).unwrap();
        what
    }
}

/// Exchanges or loses rows, as redb itself would write them.
fn exchange_rows(walk: &mut Walk, path: &Path, sound: &[u8]) -> String {
    const META: TableDefinition<&str, &[u8]> = TableDefinition::new("epdb");
    const BLOCKS: TableDefinition<u64, &[u8]> = TableDefinition::new("blocks");
    const CROWDED: TableDefinition<&[u8], &[u8]> = TableDefinition::new("crowded");
    const IMPORTS: TableDefinition<u64, &[u8]> = TableDefinition::new("imports");
    fs::write(path, sound).unwrap();
    let database = redb::Database::open(path).unwrap();
    let mut transaction = database.begin_write().unwrap();
    transaction.set_quick_repair(true);
    let (which, lose) = (walk.next(4), walk.next(2) == 0);
    let what = match which {
        0 | 1 => {
            let name = [BLOCKS, IMPORTS][which];
            let mut table = transaction.open_table(name).unwrap();
            let rows: Vec<(u64, Vec<u8>)> = table
                .iter()
                .unwrap()
                .map(|row| row.map(|(key, value)| (key.value(), value.value().to_vec())).unwrap())
                .collect();
            let (one, other) = (walk.next(rows.len()), walk.next(rows.len()));
            if lose {
                table.remove(rows[one].0).unwrap();
            } else {
                table.insert(rows[one].0, rows[other].1.as_slice()).unwrap();
                table.insert(rows[other].0, rows[one].1.as_slice()).unwrap();
            }
            format!("rows {one} and {other} of table {which}, lost: {lose}")
        }
        2 => {
            let mut table = transaction.open_table(CROWDED).unwrap();
            let rows: Vec<(Vec<u8>, Vec<u8>)> = table
                .iter()
                .unwrap()
                .map(|row| {
                    row.map(|(key, value)| (key.value().to_vec(), value.value().to_vec())).unwrap()
                })
                .collect();
            let (one, other) = (walk.next(rows.len()), walk.next(rows.len()));
            if lose {
                table.remove(rows[one].0.as_slice()).unwrap();
            } else {
                table.insert(rows[one].0.as_slice(), rows[other].1.as_slice()).unwrap();
                table.insert(rows[other].0.as_slice(), rows[one].1.as_slice()).unwrap();
            }
            format!("chunks {one} and {other}, lost: {lose}")
        }
        _ => {
            let mut table = transaction.open_table(META).unwrap();
            let key = walk.of(&["meta", "block checks"]);
            let mut row = table.get(key).unwrap().unwrap().value().to_vec();
            if lose {
                table.remove(key).unwrap();
            } else {
                let at = walk.next(row.len());
                row[at] ^= 1 << walk.next(8);
                table.insert(key, row.as_slice()).unwrap();
            }
            format!("the row {key}, lost: {lose}")
        }
    };
    transaction.commit().unwrap();
    what
}

/// The result of a way of reading.
fn outcome(result: Result<(), StoreError>, tally: &mut Tally) -> bool {
    match result {
        Ok(()) => {
            tally.whole += 1;
            true
        }
        Err(StoreError::Busy { .. }) => panic!("nobody else uses the file"),
        Err(_) => {
            tally.errors += 1;
            false
        }
    }
}

#[derive(Default, Debug)]
struct Tally {
    /// Readings that gave all.
    whole: u64,
    errors: u64,
    /// Damages with which a record was written.
    written: u64,
    /// Damages that no way of reading detected, because they are in free pages.
    harmless: u64,
}

/// Compares what is read with what must be there. Before an error, records may be left out.
fn same(
    records: impl Iterator<Item = Result<epdb_store::StoredRecord, StoreError>>,
    expected: &[(u64, EpdRecord)],
) -> Result<(), StoreError> {
    let (mut given, mut place) = (0, 0);
    let mut records = records;
    while let Some(stored) = records.next() {
        let stored = match stored {
            Ok(stored) => (stored.import_number, stored.record),
            Err(error) => {
                assert!(records.next().is_none(), "an iterator goes on after an error");
                return Err(error);
            }
        };
        place = place_after(place, &stored, expected);
        given += 1;
    }
    assert_eq!(given, expected.len(), "records are left out in silence");
    Ok(())
}

/// The place after that of a record, which is one of the records that were expected from a place on.
fn place_after(place: usize, record: &(u64, EpdRecord), expected: &[(u64, EpdRecord)]) -> usize {
    let skipped = expected[place..].iter().position(|other| other == record);
    place + 1 + skipped.expect("a record that is not there, or again")
}

/// The records by position.
fn by_position(records: &Records) -> BTreeMap<Vec<u8>, Records> {
    let mut positions = BTreeMap::<Vec<u8>, Records>::new();
    for (number, record) in records {
        let line = text(&EpdRecord::new(*record.position()));
        positions.entry(line.into_bytes()).or_default().push((*number, record.clone()));
    }
    positions
}

struct Oracle {
    records: Records,
    by_key: Records,
    positions: Vec<(Position, Records)>,
}

impl Oracle {
    fn new(records: &Records, path: &Path, bytes: &[u8]) -> Oracle {
        fs::write(path, bytes).unwrap();
        let store = Store::open_read_only(path, &small()).unwrap();
        let by_key: Records = store
            .reader()
            .unwrap()
            .by_key()
            .map(|stored| stored.map(|stored| (stored.import_number, stored.record)).unwrap())
            .collect();
        let positions = by_position(records)
            .into_values()
            .map(|records| (*records[0].1.position(), records))
            .collect();
        Oracle { records: records.clone(), by_key, positions }
    }

    /// Reads in every way.
    fn read(
        &self,
        reader: &Reader,
        absent: &[Position],
        walk: &mut Walk,
        tally: &mut Tally,
    ) -> bool {
        let mut whole = true;
        whole &= outcome(same(reader.by_import(), &self.records), tally);
        whole &= outcome(same(reader.by_key(), &self.by_key), tally);
        assert_eq!(reader.stats().unwrap().records, self.records.len() as u64);
        for _ in 0..20 {
            let (position, records) = &self.positions[walk.next(self.positions.len())];
            whole &= outcome(same(reader.matches(position), records), tally);
            let first = reader.first(position).map(|first| {
                let first = first.map(|first| (first.import_number, first.record));
                assert_eq!(first, Some(records[0].clone()));
            });
            whole &= outcome(first, tally);
            whole &= outcome(reader.contains(position).map(|found| assert!(found)), tally);
        }
        let crowd = crowded(0);
        let (_, records) =
            self.positions.iter().find(|(position, _)| position == crowd.position()).unwrap();
        whole &= outcome(same(reader.matches(crowd.position()), records), tally);
        for position in absent {
            whole &= outcome(same(reader.matches(position), &[]), tally);
            whole &= outcome(reader.contains(position).map(|found| assert!(!found)), tally);
        }
        let asked: Vec<&Position> = self.positions.iter().map(|(position, _)| position).collect();
        let (mut given, mut places) = (vec![0; asked.len()], vec![0; asked.len()]);
        let batch = reader.get_batch(asked, |nth, record| {
            let record = (record.number(), record.record()?);
            places[nth] = place_after(places[nth], &record, &self.positions[nth].1);
            given[nth] += 1;
            Ok::<_, StoreError>(ControlFlow::Continue(()))
        });
        if batch.is_ok() {
            let expected: Vec<usize> =
                self.positions.iter().map(|(_, records)| records.len()).collect();
            assert_eq!(given, expected, "records are left out in silence");
        }
        whole & outcome(batch, tally)
    }

    /// Writes on the store. What is then there is all that was there, with the new record if
    /// writing went well, or it is an error to read it.
    fn write(&self, path: &Path, record: &EpdRecord, tally: &mut Tally) {
        let has_written = write_in_a_process(path, record);
        tally.written += u64::from(has_written);
        let read = Store::open_read_only(path, &small()).and_then(|store| {
            let reader = store.reader()?;
            let stats = reader.stats()?;
            let mut all = self.records.clone();
            if stats.records != all.len() as u64 {
                all.push((stats.next_import_number - 1, record.clone()));
            }
            assert!(!has_written || all.len() > self.records.len(), "nothing was written");
            same(reader.by_import(), &all)
        });
        outcome(read, tally);
    }
}

const WRITTEN: &str = "EPDB_TEST_WRITTEN";
const RECORD: &str = "EPDB_TEST_RECORD";

/// Not a test: what [`write_in_a_process`] runs.
#[test]
fn child_that_writes() {
    let Ok(path) = std::env::var(WRITTEN) else { return };
    let store = Store::open(&path, &small()).unwrap();
    let mut importer = store.importer("more", &ImportOptions::default()).unwrap();
    importer.push(&epd(&std::env::var(RECORD).unwrap())).unwrap();
    importer.finish().unwrap();
    store.close().unwrap();
}

/// Imports a record and says whether that went well. Where what redb keeps of free pages is
/// damaged, it can panic while a panic of it unwinds, which ends the process; opening for writing
/// refuses such files, so that the process ends by itself.
fn write_in_a_process(path: &Path, record: &EpdRecord) -> bool {
    let _guard = starting_one();
    let child = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "directed::child_that_writes"])
        .env(WRITTEN, path)
        // Putting names to a backtrace takes twenty times as long as all else here.
        .env("RUST_BACKTRACE", "0")
        .env(RECORD, text(record))
        .output();
    let child = child.unwrap();
    let err = String::from_utf8_lossy(&child.stderr);
    assert!(child.status.code().is_some(), "the process was ended: {err}");
    child.status.success()
}

/// Damage with which redb failed an assertion when the database was let go of.
const AT_THE_END: u64 = 9635;

fn asked_for(usual: u64) -> Vec<u64> {
    let number = |name| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    match number("EPDB_DAMAGE") {
        Some(one) => vec![one],
        None => {
            let from = number("EPDB_DAMAGES_FROM").unwrap_or(0);
            let usual = from..from + number("EPDB_DAMAGES").unwrap_or(usual);
            usual.collect()
        }
    }
}

#[test]
fn directed_damage_is_detected_or_does_no_harm() {
    let sample = Sample::new();
    let scratch = Scratch::new();
    let path = scratch.path("damaged.epdb");
    let (bytes, records) = sample.sound();
    let oracle = Oracle::new(records, &path, bytes);
    let mut tally = Tally::default();
    for number in asked_for(USUAL).into_iter().chain([AT_THE_END]) {
        let mut walk = Walk::numbered(number);
        let what = sample.damage(&mut walk, &path);
        let told = tell_if_dropped(format!("damage {number}: {what}"));
        let verified = verify(&path, &small());
        let is_sound = matches!(&verified, Ok(findings) if findings.is_empty());
        let read = Store::open_read_only(&path, &small()).and_then(|store| store.reader());
        let whole = match read {
            Ok(reader) => oracle.read(&reader, &sample.absent, &mut walk, &mut tally),
            Err(_) => false,
        };
        assert!(whole || !is_sound, "verify finds nothing where reading fails");
        tally.harmless += u64::from(whole && is_sound);
        let new = if walk.next(2) == 0 { crowded(9999) } else { long(walk.next(400) as u64, 1) };
        oracle.write(&path, &new, &mut tally);
        std::mem::forget(told);
    }
    println!("{tally:?}");
    assert!(tally.errors > 0);
}

/// A page of an earlier commit, whole and sound in itself, in the place of another does not show
/// the store as it was then: it counts what is there, or refuses to.
#[test]
fn a_page_in_the_place_of_another_is_detected() {
    let _guard = starting_none();
    let sample = Sample::new();
    let scratch = Scratch::new();
    let path = scratch.path("exchanged.epdb");
    let (sound, records) = sample.sound();
    let size = SECTORS[1];
    let page = |at: usize| sound.get(at..at + size).unwrap();
    // Pages that begin like a leaf or a branch.
    let pages: Vec<usize> = (size..sound.len())
        .step_by(size)
        .filter(|&at| matches!(page(at)[..4], [1 | 2, _, low, _] if low > 0))
        .collect();
    let mut refused = 0;
    for &to in &pages {
        for &from in pages.iter().filter(|&&from| from != to) {
            let mut bytes = sound.clone();
            bytes[to..to + size].copy_from_slice(page(from));
            fs::write(&path, bytes).unwrap();
            let store = Store::open_read_only(&path, &small());
            match store.and_then(|store| store.reader()?.stats()) {
                Ok(stats) => {
                    let what = format!("the page at {from} doubled at {to}");
                    assert_eq!(stats.records, records.len() as u64, "{what}");
                }
                Err(_) => refused += 1,
            }
        }
    }
    assert!(pages.len() > 10 && refused > pages.len(), "{} pages, {refused} refused", pages.len());
}

/// Pages of redb that are wrong, and have the checksums that belong to them: numbers of pages, counts, keys and
/// ends of rows, and pages in the places of others.
#[test]
fn lies_under_right_checksums_are_detected() {
    let _guard = starting_none();
    let sample = Sample::of(1200, 500);
    let scratch = Scratch::new();
    let path = scratch.path("lying.epdb");
    let (bytes, records) = sample.sound();
    let oracle = Oracle::new(records, &path, bytes);
    let mut tally = Tally::default();
    for number in asked_for(USUAL_LIES) {
        let mut walk = Walk::numbered(number);
        let mut pages = RedbPages::new(bytes.clone());
        let what = pages.lie(&mut |below| walk.next(below));
        pages.seal();
        fs::write(&path, &pages.bytes).unwrap();
        let told = tell_if_dropped(format!("damage {number}: {what}"));
        let verified = verify(&path, &small());
        let is_sound = matches!(&verified, Ok(findings) if findings.is_empty());
        let read = Store::open_read_only(&path, &small()).and_then(|store| store.reader());
        let whole = match read {
            Ok(reader) => oracle.read(&reader, &sample.absent, &mut walk, &mut tally),
            Err(_) => false,
        };
        assert!(whole || !is_sound, "verify finds nothing where reading fails");
        tally.harmless += u64::from(whole && is_sound);
        std::mem::forget(told);
    }
    println!("{tally:?}");
    assert!(tally.errors > 0 && tally.whole > 0, "{tally:?}");
}

/// A file that is cut off while it is open gives right records or errors.
#[cfg(unix)]
#[test]
fn a_file_that_is_cut_off_while_it_is_read_gives_errors() {
    let _guard = starting_none();
    let sample = Sample::new();
    let scratch = Scratch::new();
    let path = scratch.path("cut.epdb");
    let (bytes, records) = sample.sound();
    let oracle = Oracle::new(records, &path, bytes);
    let mut tally = Tally::default();
    for number in asked_for(USUAL_LIES / 4) {
        let mut walk = Walk::numbered(number);
        fs::remove_file(&path).unwrap();
        fs::write(&path, bytes).unwrap();
        let store = Store::open_read_only(&path, &small()).unwrap();
        let reader = store.reader().unwrap();
        if walk.next(2) == 0 {
            assert!(oracle.read(&reader, &sample.absent, &mut walk, &mut Tally::default()));
        }
        let len = walk.next(bytes.len()) as u64;
        let told = tell_if_dropped(format!("damage {number}: cut off at byte {len}"));
        fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(len).unwrap();
        oracle.read(&reader, &sample.absent, &mut walk, &mut tally);
        std::mem::forget(told);
    }
    println!("{tally:?}");
    assert!(tally.errors > 0);
}

/// Says which damage it was when an assertion fails.
fn tell_if_dropped(what: String) -> impl Drop {
    struct Told(String);
    impl Drop for Told {
        fn drop(&mut self) {
            println!("{}", self.0);
        }
    }
    Told(what)
}

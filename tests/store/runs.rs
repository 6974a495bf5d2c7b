//! Imports whose records do not fit into memory: they wait in runs until one merge at the end.

use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;

use crate::common::*;
use crate::duplicates::{Model, batch_bytes, record, rule};
use epdb_chess::model::EpdRecord;
use epdb_store::{
    Checkpoint, ImportCounts, ImportOptions, ImportState, OnDuplicate, Same, Store, StoreError,
    StoreOptions, verify,
};

/// Batches of about 90 records of [`generated`].
fn batches() -> StoreOptions {
    StoreOptions { batch_bytes: Some(4 << 10), ..small() }
}

fn runs_of(path: &Path) -> PathBuf {
    path.with_extension("epdb.runs")
}

fn generated_records(count: u64) -> Vec<EpdRecord> {
    (0..count).map(generated).collect()
}

/// The place after a record. Each record takes a line of two bytes.
fn place_after(records: usize) -> Checkpoint {
    let mut place = Checkpoint::START;
    place.advance("x\n".repeat(records).as_bytes());
    place
}

/// Pushes records of a source until `stop`, from where an earlier run stopped, and then finishes the
/// import if it reached the end. Returns its counts.
fn push_until(
    store: &Store,
    source: &str,
    records: &[EpdRecord],
    stop: usize,
    options: &ImportOptions,
) -> Option<ImportCounts> {
    let mut importer = store.importer(source, options).unwrap();
    let start = importer.resume_point().unwrap_or(Checkpoint::START);
    importer.resume_at(start).unwrap();
    let first = start.line() as usize;
    for (nth, record) in records.iter().enumerate().take(stop).skip(first) {
        importer.push_from(record, place_after(nth + 1)).unwrap();
    }
    (stop >= records.len()).then(|| importer.finish().unwrap().counts)
}

#[test]
fn readers_see_the_last_merge_and_the_end_leaves_no_file() {
    let scratch = Scratch::new();
    let path = scratch.path("waiting.epdb");
    let store = Store::create(&path, &batches()).unwrap();
    let records = generated_records(600);
    import(&store, "first", &records[..50], &ImportOptions::default());
    let mut importer = store.importer("second", &ImportOptions::default()).unwrap();
    for record in &records[50..] {
        importer.push(record).unwrap();
    }
    let waiting = importer.waiting();
    assert!((300..550).contains(&waiting), "{waiting}");
    assert!(runs_of(&path).exists());
    let stats = store.reader().unwrap().stats().unwrap();
    assert_eq!((stats.records, stats.waiting_records), (50, waiting));
    assert_eq!(store.imports().unwrap()[1].counts, ImportCounts::default());
    importer.finish().unwrap();
    assert!(!runs_of(&path).exists());
    let reader = store.reader().unwrap();
    let expected: Vec<_> = (0..).zip(records).collect();
    assert_eq!(exported(&reader), expected);
    assert_eq!(reader.stats().unwrap().waiting_records, 0);
    drop(reader);
    store.close().unwrap();
    assert_eq!(verify(&path, &small()).unwrap(), []);
}

#[test]
fn what_fits_into_memory_is_one_commit_without_runs() {
    let scratch = Scratch::new();
    let path = scratch.path("small.epdb");
    let store = Store::create(&path, &small()).unwrap();
    let mut importer = store.importer("small", &ImportOptions::default()).unwrap();
    for record in generated_records(600) {
        importer.push(&record).unwrap();
        assert_eq!(importer.waiting(), 0);
    }
    importer.finish().unwrap();
    assert!(!runs_of(&path).exists());
}

/// As an import from standard input does.
#[test]
fn an_import_that_commits_when_full_makes_no_runs() {
    let scratch = Scratch::new();
    let path = scratch.path("stream.epdb");
    let store = Store::create(&path, &batches()).unwrap();
    let options = ImportOptions { commit_when_full: true, ..Default::default() };
    let mut importer = store.importer("-", &options).unwrap();
    for record in generated_records(600) {
        importer.push(&record).unwrap();
        assert_eq!(importer.waiting(), 0);
    }
    assert!(importer.committed().read > 400);
    importer.finish().unwrap();
    assert_eq!(store.reader().unwrap().len(), 600);
}

/// A process can die at any byte of the file, also before the first.
#[test]
fn a_file_of_runs_that_nobody_names_is_removed_and_another_one_is_not() {
    let scratch = Scratch::new();
    let path = scratch.path("left.epdb");
    Store::create(&path, &small()).unwrap().close().unwrap();
    for length in 0..=b"epdbruns and more".len() {
        fs::write(runs_of(&path), &b"epdbruns and more"[..length]).unwrap();
        Store::open(&path, &small()).unwrap().close().unwrap();
        assert!(!runs_of(&path).exists(), "{length} bytes");
    }
    for foreign in ["e4 e5", "epdbrun!", "Epdbruns"] {
        fs::write(runs_of(&path), foreign).unwrap();
        Store::open(&path, &small()).unwrap().close().unwrap();
        assert_eq!(fs::read_to_string(runs_of(&path)).unwrap(), foreign);
    }
}

/// There is a maximum for the runs that are merged together.
#[test]
fn very_many_runs_are_merged_before_the_end() {
    let scratch = Scratch::new();
    let path = scratch.path("many.epdb");
    let store = Store::create(&path, &batches()).unwrap();
    let records = generated_records(4000);
    let mut importer = store.importer("many", &ImportOptions::default()).unwrap();
    for record in &records {
        importer.push(record).unwrap();
    }
    let committed = importer.committed().read;
    assert!((1000..4000).contains(&committed), "{committed}");
    importer.finish().unwrap();
    let expected: Vec<_> = (0..).zip(records).collect();
    assert_eq!(exported(&store.reader().unwrap()), expected);
}

#[test]
fn an_interrupted_import_continues_after_its_last_run() {
    let scratch = Scratch::new();
    let path = scratch.path("interrupted.epdb");
    let records = generated_records(900);
    let store = Store::create(&path, &batches()).unwrap();
    assert_eq!(push_until(&store, "a.epd", &records, 500, &ImportOptions::default()), None);
    let info = store.imports().unwrap().remove(0);
    assert!((400..=500).contains(&info.place.line()), "{info}");
    store.close().unwrap();
    assert_eq!(verify(&path, &small()).unwrap(), []);

    let store = Store::open(&path, &batches()).unwrap();
    let stats = store.reader().unwrap().stats().unwrap();
    assert_eq!((stats.records, stats.waiting_records), (0, info.place.line()));
    let counts = push_until(&store, "a.epd", &records, 900, &ImportOptions::default()).unwrap();
    assert_eq!((counts.read, counts.stored), (900, 900));
    let expected: Vec<_> = (0..).zip(records).collect();
    assert_eq!(exported(&store.reader().unwrap()), expected);
    assert_eq!(store.imports().unwrap().len(), 1);
    assert!(!runs_of(&path).exists());
}

#[test]
fn an_import_of_another_source_first_merges_what_waits() {
    let scratch = Scratch::new();
    let path = scratch.path("other.epdb");
    let store = Store::create(&path, &batches()).unwrap();
    let records = generated_records(500);
    push_until(&store, "a.epd", &records, 400, &ImportOptions::default());
    let waiting = store.reader().unwrap().stats().unwrap().waiting_records;
    let skip = ImportOptions { on_duplicate: OnDuplicate::Skip, ..Default::default() };
    let counts = import(&store, "b.epd", &records[..10], &skip).counts;
    assert_eq!((counts.stored, counts.dropped), (0, 10), "records of a.epd are there");
    assert!(!runs_of(&path).exists());
    let imports = store.imports().unwrap();
    assert_eq!(imports[0].state, ImportState::Unfinished);
    assert_eq!((imports[0].counts.read, imports[0].place.line()), (waiting, waiting));
    push_until(&store, "a.epd", &records, 500, &ImportOptions::default()).unwrap();
    assert_eq!(store.reader().unwrap().len(), 500);
}

#[test]
fn a_restart_gives_up_what_waits() {
    let scratch = Scratch::new();
    let path = scratch.path("restart.epdb");
    let store = Store::create(&path, &batches()).unwrap();
    let records = generated_records(500);
    push_until(&store, "a.epd", &records, 400, &ImportOptions::default());
    let restart = ImportOptions { restart: true, ..Default::default() };
    import(&store, "a.epd", &records, &restart);
    assert_eq!(store.reader().unwrap().len(), 500);
    let states: Vec<_> = store.imports().unwrap().iter().map(|import| import.state).collect();
    assert_eq!(states, [ImportState::GivenUp, ImportState::Delivered]);
    store.close().unwrap();
    assert_eq!(verify(&path, &small()).unwrap(), []);
    assert!(!runs_of(&path).exists());
    // The file goes even if the new import fits into memory.
    let store = Store::open(&path, &batches()).unwrap();
    push_until(&store, "b.epd", &records, 400, &ImportOptions::default());
    import(&store, "b.epd", &records[..5], &restart);
    assert_eq!(store.reader().unwrap().len(), 505);
    assert!(!runs_of(&path).exists());
}

/// Each is an error of every import but a restart, and readers do not need the runs.
#[test]
fn missing_and_damaged_runs_are_errors() {
    let scratch = Scratch::new();
    let path = scratch.path("lost.epdb");
    let store = Store::create(&path, &batches()).unwrap();
    let records = generated_records(500);
    import(&store, "first", &records[..20], &ImportOptions::default());
    push_until(&store, "a.epd", &records, 400, &ImportOptions::default());
    store.close().unwrap();
    let runs = runs_of(&path);
    let whole = fs::read(&runs).unwrap();
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 4;
    let mut other = whole.clone();
    other[0] = b'E';
    for bytes in [None, Some(&whole[..whole.len() - 1]), Some(&flipped), Some(&other), Some(&[])] {
        match bytes {
            Some(bytes) => fs::write(&runs, bytes).unwrap(),
            None => fs::remove_file(&runs).unwrap(),
        }
        for source in ["a.epd", "b.epd"] {
            let store = Store::open(&path, &batches()).unwrap();
            let refused = store.importer(source, &ImportOptions::default()).err().unwrap();
            assert!(matches!(refused, StoreError::RunsLost { .. }), "{refused}");
            let text = refused.to_string();
            assert!(text.contains("a.epd") && text.contains("restart"), "{text}");
        }
        let findings = verify(&path, &small()).unwrap();
        assert_eq!(findings.len(), 1, "{findings:?}");
        assert!(findings[0].to_string().contains("runs"), "{}", findings[0]);
        let store = Store::open_read_only(&path, &small()).unwrap();
        assert_eq!(exported(&store.reader().unwrap()).len(), 20);
    }
    let store = Store::open(&path, &batches()).unwrap();
    import(&store, "a.epd", &records, &ImportOptions { restart: true, ..Default::default() });
    assert_eq!(store.reader().unwrap().len(), 520);
    store.close().unwrap();
    assert_eq!(verify(&path, &small()).unwrap(), []);
    assert!(!runs.exists());
}

/// Files that a killed process left are removed by the next writer, and no other file is.
#[test]
fn runs_that_no_store_names_are_removed() {
    let scratch = Scratch::new();
    let path = scratch.path("stale.epdb");
    Store::create(&path, &small()).unwrap().close().unwrap();
    fs::write(runs_of(&path), b"epdbruns and more").unwrap();
    Store::open(&path, &small()).unwrap().close().unwrap();
    assert!(!runs_of(&path).exists());
    fs::write(runs_of(&path), b"a letter to a friend").unwrap();
    Store::open(&path, &small()).unwrap().close().unwrap();
    assert!(runs_of(&path).exists());
}

/// A position with more records than a batch, in many runs, and more than memory at the merge.
#[test]
fn a_crowded_position_passes_through_runs() {
    let scratch = Scratch::new();
    let path = scratch.path("crowd.epdb");
    let store =
        Store::create(&path, &StoreOptions { batch_bytes: Some(64 << 10), ..small() }).unwrap();
    let crowd = |nth: u64| epd(&format!("4k3/8/8/8/8/8/8/4K2R w K - id \"{nth}\";"));
    let records: Vec<_> =
        (0..8000).map(|nth| if nth % 4 == 0 { generated(nth) } else { crowd(nth) }).collect();
    import(&store, "crowd", &records, &ImportOptions::default());
    let reader = store.reader().unwrap();
    let expected: Vec<_> = (0..).zip(records).collect();
    assert!(exported(&reader) == expected);
    assert_eq!(reader.stats().unwrap().overflow_positions, 1);
    drop(reader);
    store.close().unwrap();
    assert_eq!(verify(&path, &small()).unwrap(), []);
}

/// An import of records that stops after some of them.
type Stopped = (Vec<EpdRecord>, (OnDuplicate, Same), usize);

fn check_interrupted(first: &Stopped, between: Option<&Stopped>, batch_bytes: usize) {
    let scratch = Scratch::new();
    let path = scratch.path("model.epdb");
    let options = StoreOptions { batch_bytes: Some(batch_bytes), ..small() };
    let mut store = Store::create(&path, &options).unwrap();
    let mut model = Model::default();
    let mut counts = ImportCounts::default();
    let (records, (on_duplicate, same), stop) = first;
    let import_options =
        ImportOptions { on_duplicate: on_duplicate.clone(), same: *same, ..Default::default() };
    push_until(&store, "first", records, *stop, &import_options);
    if *stop >= records.len() {
        return;
    }
    drop(store);
    store = Store::open(&path, &options).unwrap();
    let reached = store.imports().unwrap().first().map_or(0, |import| import.place.line());
    let (committed, rest) = records.split_at(reached as usize);
    for record in committed {
        model.import(record, on_duplicate, *same, &mut counts);
    }
    if let Some((records, (on_duplicate, same), _)) = between {
        let options =
            ImportOptions { on_duplicate: on_duplicate.clone(), same: *same, ..Default::default() };
        let mut expected = ImportCounts::default();
        for record in records {
            model.import(record, on_duplicate, *same, &mut expected);
        }
        assert_eq!(import(&store, "between", records, &options).counts, expected);
    }
    for record in rest {
        model.import(record, on_duplicate, *same, &mut counts);
    }
    let found = push_until(&store, "first", records, records.len(), &import_options);
    assert_eq!(found, Some(counts));
    assert_eq!(exported(&store.reader().unwrap()), model.records);
    store.close().unwrap();
    assert_eq!(verify(&path, &options).unwrap(), []);
    assert!(!runs_of(&path).exists());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    /// An import that stops anywhere, perhaps with another one before it continues.
    #[test]
    fn an_interrupted_import_ends_as_the_list(
        first in (prop::collection::vec(record(), 1..60), rule(), 0..60usize),
        between in prop::option::of((prop::collection::vec(record(), 0..20), rule(), Just(0))),
        batch_bytes in batch_bytes(),
    ) {
        check_interrupted(&first, between.as_ref(), batch_bytes);
    }
}

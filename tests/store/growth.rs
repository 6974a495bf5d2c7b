//! Stores of any size, and positions with any number of records.

use std::num::NonZeroU64;
use std::ops::ControlFlow;

use crate::common::*;
use epdb_store::{ImportOptions, OnDuplicate, Store, StoreError, StoreOptions, verify};

/// An empty store is a store.
#[test]
fn an_empty_store_holds_nothing() {
    let scratch = Scratch::new();
    let path = scratch.path("empty.epdb");
    Store::create(&path, &small()).unwrap().close().unwrap();
    let store = Store::open_read_only(&path, &small()).unwrap();
    let reader = store.reader().unwrap();
    assert_eq!(exported(&reader), []);
    assert_eq!(reader.by_key().count(), 0);
    assert!(!reader.contains(&epdb_chess::model::Position::START).unwrap());
    assert_eq!(reader.stats().unwrap().records, 0);
    assert_eq!(verify(&path, &small()).unwrap(), []);
}

/// Every record is found through several numbers of blocks, in batches that touch all blocks and
/// in batches that touch few.
#[test]
fn records_are_found_while_the_store_grows() {
    let scratch = Scratch::new();
    let path = scratch.path("growing.epdb");
    let store = Store::create(&path, &small()).unwrap();
    let mut numbers_of_blocks = std::collections::BTreeSet::new();
    let mut end = 0;
    for batch in [1, 10, 3000, 20_000, 20, 40_000, 5, 100, 30_000] {
        let records: Vec<_> = (end..end + batch).map(generated).collect();
        import(&store, "batch", &records, &ImportOptions::default());
        end += batch;
        let reader = store.reader().unwrap();
        let stats = reader.stats().unwrap();
        numbers_of_blocks.insert(stats.blocks);
        assert_eq!((stats.records, stats.positions), (end, end));
        for nth in (0..end).step_by(97).chain(end - batch.min(50)..end) {
            let record = generated(nth);
            assert_eq!(found(&reader, record.position()), [(nth, record)]);
        }
        assert!(!reader.contains(generated(end + 17).position()).unwrap());
    }
    assert!(numbers_of_blocks.len() >= 4, "{numbers_of_blocks:?}");
    let reader = store.reader().unwrap();
    let records = exported(&reader);
    assert_eq!(records.len() as u64, end);
    for (nth, (number, record)) in (0..).zip(&records) {
        assert_eq!((nth, &generated(nth)), (*number, record));
    }
    assert_eq!(reader.by_key().count() as u64, end);
    drop(reader);
    store.close().unwrap();
    assert_eq!(verify(&path, &small()).unwrap(), []);
}

/// A store to which nothing was added has no more blocks than before, and one that shrank fewer.
#[test]
fn duplicates_leave_no_empty_blocks() {
    let scratch = Scratch::new();
    let records: Vec<_> = (0..60_000).map(generated).collect();
    // All of them fit into one batch, so nothing is known of duplicates before it is merged.
    let large = StoreOptions { memory_bytes: 64 << 20, ..Default::default() };
    let store = Store::create(scratch.path("again.epdb"), &large).unwrap();
    import(&store, "once", &records, &ImportOptions::default());
    let blocks = |store: &Store| store.reader().unwrap().stats().unwrap().blocks;
    let before = blocks(&store);
    assert!(before > 10);
    let skip = ImportOptions { on_duplicate: OnDuplicate::Skip, ..Default::default() };
    import(&store, "again", &records, &skip);
    assert!(blocks(&store).abs_diff(before) <= before / 8, "{before}, {}", blocks(&store));
    assert_eq!(exported(&store.reader().unwrap()).len(), 60_000);
}

/// Order of keys does not depend on how the records came in.
#[test]
fn key_order_is_the_same_however_batches_fell() {
    let scratch = Scratch::new();
    let records: Vec<_> = (0..5000).map(generated).collect();
    let one = store_of(&scratch.path("one.epdb"), &records);
    let many = Store::create(scratch.path("many.epdb"), &small()).unwrap();
    let options = ImportOptions { commit_every: NonZeroU64::new(333), ..Default::default() };
    import(&many, "records", &records, &options);
    let keys = |store: &Store| -> Vec<_> {
        store.reader().unwrap().by_key().map(|stored| stored.unwrap()).collect()
    };
    assert_eq!(keys(&one), keys(&many));
    assert_ne!(one.reader().unwrap().stats().unwrap().blocks, 1);
}

/// A position may hold many more records than a block, and its neighbours do not notice.
#[test]
fn an_overflow_position_streams_all_its_records() {
    let scratch = Scratch::new();
    let path = scratch.path("crowded.epdb");
    let store = Store::create(&path, &small()).unwrap();
    let crowd = |nth: u64| epd(&format!("4k3/8/8/8/8/8/8/4K2R w K - id \"{nth}\";"));
    let records: Vec<_> =
        (0..20_000).map(|nth| if nth % 2 == 0 { crowd(nth) } else { generated(nth) }).collect();
    let (first, second) = records.split_at(300);
    import(&store, "first", first, &ImportOptions::default());
    import(&store, "second", second, &ImportOptions::default());
    let reader = store.reader().unwrap();
    let stats = reader.stats().unwrap();
    assert_eq!((stats.records, stats.positions, stats.overflow_positions), (20_000, 10_001, 1));
    let expected: Vec<_> = (0..20_000).step_by(2).map(|nth| (nth, crowd(nth))).collect();
    assert_eq!(found(&reader, crowd(0).position()), expected);
    assert_eq!(reader.first(crowd(0).position()).unwrap().unwrap().import_number, 0);
    assert_eq!(found(&reader, generated(77).position()), [(77, generated(77))]);
    let all: Vec<_> = exported(&reader).into_iter().map(|(_, record)| record).collect();
    assert!(all == records);
    assert_eq!(reader.by_key().count(), records.len());
    drop(reader);
    store.close().unwrap();
    assert_eq!(verify(&path, &small()).unwrap(), []);
}

/// A record longer than a block is a record like any other.
#[test]
fn long_records_are_stored() {
    let scratch = Scratch::new();
    let path = scratch.path("long.epdb");
    let long = |len: usize| epd(&format!("4k3/8/8/8/8/8/8/4K3 w - - c0 \"{}\";", "x".repeat(len)));
    let records: Vec<_> =
        [10, 200, 254, 255, 256, 300, 9000, 100_000, 3_000_000].into_iter().map(long).collect();
    let store = store_of(&path, &records);
    let all: Vec<_> = exported(&store.reader().unwrap()).into_iter().map(|(_, r)| r).collect();
    assert!(all == records);
    drop(store);
    assert_eq!(verify(&path, &small()).unwrap(), []);
}

/// Lookups in batches answer as lookups one by one do.
#[test]
fn batches_of_lookups_answer_all() {
    let scratch = Scratch::new();
    let records: Vec<_> = (0..3000).map(generated).collect();
    let store = store_of(&scratch.path("batch.epdb"), &records);
    let reader = store.reader().unwrap();
    let positions: Vec<_> = (0..6000).step_by(3).map(|nth| *generated(nth).position()).collect();
    let mut answers = vec![Vec::new(); positions.len()];
    reader
        .get_batch(&positions, |place, record| {
            answers[place].push((record.number(), record.record()?));
            Ok::<_, StoreError>(ControlFlow::Continue(()))
        })
        .unwrap();
    for (position, answer) in positions.iter().zip(answers) {
        assert_eq!(answer, found(&reader, position));
    }
}

/// The file of a small store is small once it is closed: redb had doubled it.
#[test]
fn a_small_store_is_a_small_file() {
    let scratch = Scratch::new();
    let path = scratch.path("small.epdb");
    let records: Vec<_> = (0..100).map(generated).collect();
    let store = store_of(&path, &records);
    let open = std::fs::metadata(&path).unwrap().len();
    store.close().unwrap();
    let len = std::fs::metadata(&path).unwrap().len();
    assert!(len <= 64 << 10 && len < open, "{open} {len}");
}

/// However much memory a load had, and whether the store is closed or dropped: redb had doubled the
/// file.
#[test]
fn a_store_takes_little_more_than_its_records() {
    let scratch = Scratch::new();
    let records: Vec<_> = (0..60_000).map(generated).collect();
    for (nth, (memory, closes)) in
        [(1 << 20, true), (1 << 20, false), (1 << 30, true), (1 << 30, false)].iter().enumerate()
    {
        let path = scratch.path(&format!("{nth}.epdb"));
        let store =
            Store::create(&path, &StoreOptions { memory_bytes: *memory, ..Default::default() })
                .unwrap();
        import(&store, "batch", &records, &ImportOptions::default());
        let stats = store.reader().unwrap().stats().unwrap();
        if *closes {
            store.close().unwrap()
        } else {
            drop(store)
        }
        let len = std::fs::metadata(&path).unwrap().len();
        // A number and a frame, and the checksums of buckets.
        let needed = stats.record_bytes + 5 * stats.records;
        assert!(len < needed + needed / 8 + (160 << 10), "{memory}: {len} {needed}");
    }
}

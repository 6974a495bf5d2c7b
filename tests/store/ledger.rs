//! The origin of the tallies of a store: committed with their records; damage is reported.

use std::fs;

use redb::{ReadableTable, TableDefinition};

use crate::common::*;
use epdb_chess::codec::tally_origin::{
    GameDigest, GameDigests, KnownGame, TallyLedger, TallyOrigin, TallySource,
};
use epdb_chess::codec::tally_settings::{SameGame, TallySettings};
use epdb_store::{ImportOptions, Store, StoreError, verify};

const META: TableDefinition<&str, &[u8]> = TableDefinition::new("epdb");
const DIGESTS: TableDefinition<u64, &[u8]> = TableDefinition::new("game digests");

fn origin(games: u64) -> TallyOrigin {
    let source = TallySource { name: "a.pgn".into(), games, ..TallySource::default() };
    TallyOrigin {
        settings: TallySettings { same_game: Some(SameGame::Moves), ..TallySettings::default() },
        sources: vec![source],
        ..Default::default()
    }
}

/// Digests in no order.
fn digests(from: u32, count: u32) -> Vec<GameDigest> {
    let digest = |nth: u32| {
        let mut digest = [0; 16];
        digest[..4].copy_from_slice(&nth.wrapping_mul(2_654_435_761).to_be_bytes());
        digest
    };
    (from..from + count).map(digest).collect()
}

/// A store with the ledger of games added in these parts.
fn write(path: &std::path::Path, parts: &[u32]) -> TallyLedger {
    let store = Store::create(path, &small()).unwrap();
    let (mut all, mut from) = (GameDigests::default(), 0);
    for (nth, &count) in parts.iter().enumerate() {
        let new = digests(from, count);
        for digest in &new {
            assert_eq!(all.insert(*digest), KnownGame::New);
        }
        from += count;
        let mut importer = store.importer(&format!("{nth}"), &ImportOptions::default()).unwrap();
        importer.set_tally_origin(origin(from.into()), Some(new));
        importer.push(&generated(nth as u64)).unwrap();
        importer.finish().unwrap();
    }
    store.close().unwrap();
    TallyLedger { origin: origin(from.into()), games: Some(all) }
}

/// The origin without its set of games, and the number of games, which is that of the set.
fn origin_of(store: &Store) -> Option<(TallyOrigin, Option<u64>)> {
    let (mut origin, games) = store.reader().unwrap().tally_origin().unwrap()?;
    assert_eq!(origin.games.take().map(|set| set.games), games);
    Some((origin, games))
}

#[test]
fn games_are_added_and_given_back() {
    let scratch = Scratch::new();
    let path = scratch.path("l.epdb");
    let written = write(&path, &[3, 4091, 1, 5000, 0]);
    let store = Store::open(&path, &small()).unwrap();
    assert_eq!(store.reader().unwrap().tally_ledger().unwrap(), Some(written));
    assert_eq!(origin_of(&store), Some((origin(9095), Some(9095))));
    let mut importer = store.importer("none", &ImportOptions::default()).unwrap();
    importer.set_tally_origin(origin(1), None);
    importer.finish().unwrap();
    let without = TallyLedger { origin: origin(1), games: None };
    assert_eq!(store.reader().unwrap().tally_ledger().unwrap(), Some(without));
    assert_eq!(origin_of(&store), Some((origin(1), None)));
    store.close().unwrap();
    assert_eq!(verify(&path, &small()).unwrap(), []);
    let none = scratch.path("none.epdb");
    let store = Store::create(&none, &small()).unwrap();
    assert_eq!(store.reader().unwrap().tally_ledger().unwrap(), None);
}

#[test]
fn a_game_that_is_counted_again_with_more_data_counts_once() {
    let scratch = Scratch::new();
    let path = scratch.path("l.epdb");
    let mut written = write(&path, &[5000]);
    let store = Store::open(&path, &small()).unwrap();
    let mut more = digests(0, 1);
    more[0][12] = 7;
    let mut importer = store.importer("more", &ImportOptions::default()).unwrap();
    importer.set_tally_origin(origin(5000), Some(more.clone()));
    importer.finish().unwrap();
    assert_eq!(origin_of(&store), Some((origin(5000), Some(5000))));
    assert_eq!(written.games.as_mut().unwrap().insert(more[0]), KnownGame::CountedWith(0));
    assert_eq!(store.reader().unwrap().tally_ledger().unwrap(), Some(written));
}

#[test]
fn rows_that_a_confused_program_changed_are_refused() {
    let scratch = Scratch::new();
    let path = scratch.path("l.epdb");
    write(&path, &[5000]);
    let sound = fs::read(&path).unwrap();
    type Change = fn(&redb::WriteTransaction);
    let changes: [(&str, Change); 6] = [
        ("a row of digests is gone", |transaction| {
            transaction.open_table(DIGESTS).unwrap().remove(1).unwrap();
        }),
        ("a digest is another one", |transaction| {
            let mut table = transaction.open_table(DIGESTS).unwrap();
            let mut row = table.get(0).unwrap().unwrap().value().to_vec();
            row[15] ^= 1;
            table.insert(0, row.as_slice()).unwrap();
        }),
        ("a row is in two places", |transaction| {
            let mut table = transaction.open_table(DIGESTS).unwrap();
            let row = table.get(0).unwrap().unwrap().value().to_vec();
            table.insert(1, row.as_slice()).unwrap();
        }),
        ("there is one row more", |transaction| {
            let row = [[0xff; 16]].concat();
            transaction.open_table(DIGESTS).unwrap().insert(2, row.as_slice()).unwrap();
        }),
        ("the origin is gone", |transaction| {
            transaction.open_table(META).unwrap().remove("origin of tallies").unwrap();
        }),
        ("the origin is another one", |transaction| {
            let mut table = transaction.open_table(META).unwrap();
            let mut row = table.get("origin of tallies").unwrap().unwrap().value().to_vec();
            *row.last_mut().unwrap() ^= 1;
            table.insert("origin of tallies", row.as_slice()).unwrap();
        }),
    ];
    for (what, change) in changes {
        fs::write(&path, &sound).unwrap();
        let database = redb::Database::open(&path).unwrap();
        let mut transaction = database.begin_write().unwrap();
        transaction.set_quick_repair(true);
        change(&transaction);
        transaction.commit().unwrap();
        drop(database);
        let store = Store::open_read_only(&path, &small()).unwrap();
        let reader = store.reader().unwrap();
        let read = reader.tally_ledger();
        assert!(matches!(read, Err(StoreError::Damaged { .. })), "{what}: {read:?}");
        let read = reader.tally_origin();
        assert!(matches!(read, Err(StoreError::Damaged { .. })), "{what}: {read:?}");
        drop((reader, store));
        assert_ne!(verify(&path, &small()).unwrap(), [], "{what}");
    }
}

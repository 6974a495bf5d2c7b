//! Games that positions of a store list: committed with their records; damage is reported.

use std::fs;

use redb::{ReadableDatabase, ReadableTable, TableDefinition};

use crate::common::*;
use epdb_chess::codec::kept_game;
use epdb_chess::model::{GameBuilder, GameId};
use epdb_store::{ImportOptions, Store, StoreError, verify};

const META: TableDefinition<&str, &[u8]> = TableDefinition::new("epdb");
const GAMES: TableDefinition<u64, &[u8]> = TableDefinition::new("kept games");

fn game(nth: usize) -> Vec<u8> {
    let mut builder = GameBuilder::new();
    builder.set_tag("Round", &nth.to_string()).unwrap();
    let mut bytes = Vec::new();
    kept_game::encode(builder.game(), &mut bytes).unwrap();
    bytes
}

/// A store of these games, added in two imports, some in both.
fn write(path: &std::path::Path, games: usize) -> Vec<Vec<u8>> {
    let games: Vec<Vec<u8>> = (0..games).map(game).collect();
    let store = Store::create(path, &small()).unwrap();
    for (name, part) in [("a", &games[..games.len() * 2 / 3]), ("b", &games[games.len() / 3..])] {
        let mut importer = store.importer(name, &ImportOptions::default()).unwrap();
        importer.push(&generated(1)).unwrap();
        part.iter().for_each(|game| importer.keep_game(game).unwrap());
        importer.finish().unwrap();
    }
    store.close().unwrap();
    games
}

/// A wrong key in a page of redb that leads to a game is an error, and never "not kept".
#[test]
fn games_that_lookups_miss_are_errors() {
    let scratch = Scratch::new();
    let path = scratch.path("l.epdb");
    let games = write(&path, 600);
    let sound = fs::read(&path).unwrap();
    let branches = (0..sound.len()).step_by(4096).filter(|at| sound[*at] == 2);
    let mut errors = 0;
    for at in branches {
        let mut changed = sound.clone();
        let count = usize::from(sound[at + 2]);
        changed[at + 8 + 24 * (count + 1)..][..8 * count].fill(0);
        fs::write(&path, changed).unwrap();
        let reader = Store::open_read_only(&path, &small()).and_then(|store| store.reader());
        let Ok(reader) = reader else { continue };
        for game in &games {
            match reader.kept_game(kept_game::id_of(game)) {
                Ok(found) => assert_eq!(found.as_ref(), Some(game)),
                Err(_) => errors += 1,
            }
        }
    }
    assert!(errors > 100, "{errors}");
}

#[test]
fn games_are_found_by_their_ids() {
    let scratch = Scratch::new();
    let path = scratch.path("l.epdb");
    let mut games = write(&path, 600);
    let store = Store::open_read_only(&path, &small()).unwrap();
    let reader = store.reader().unwrap();
    assert_eq!(reader.kept_game_count().unwrap(), 600);
    for game in &games {
        let id = kept_game::id_of(game);
        assert_eq!(reader.kept_game(id).unwrap().as_ref(), Some(game));
    }
    assert_eq!(reader.kept_game(GameId([0; 8])).unwrap(), None);
    let mut all = Vec::new();
    let visit = &mut |id, game: &[u8]| {
        assert_eq!(kept_game::id_of(game), id);
        all.push(game.to_vec());
        Ok::<(), StoreError>(())
    };
    reader.each_kept_game(visit).unwrap();
    games.sort_by_key(|game| kept_game::id_of(game));
    assert!(all == games, "all come, by ascending ids");
    drop((reader, store));
    assert_eq!(verify(&path, &small()).unwrap(), []);
}

/// The page: the row that announces the games, and the key of a game.
#[test]
fn rows_are_those_of_the_page() {
    let scratch = Scratch::new();
    let path = scratch.path("l.epdb");
    let games = write(&path, 1);
    let database = redb::Database::open(&path).unwrap();
    let transaction = database.begin_read().unwrap();
    let table = transaction.open_table(GAMES).unwrap();
    let (key, value) = table.first().unwrap().unwrap();
    assert_eq!(
        (key.value().to_be_bytes(), value.value()),
        (kept_game::id_of(&games[0]).0, &games[0][..])
    );
    let meta = transaction.open_table(META).unwrap();
    let row = meta.get("kept games").unwrap().unwrap().value().to_vec();
    let mut hasher = twox_hash::xxhash3_128::Hasher::with_seed(5);
    hasher.write(&key.value().to_le_bytes());
    hasher.write(value.value());
    let mut wanted = 1_u64.to_le_bytes().to_vec();
    wanted.extend_from_slice(&hasher.finish_128().to_le_bytes());
    wanted.extend_from_slice(&crc32c::crc32c(&wanted).to_le_bytes());
    assert_eq!(row, wanted);
}

#[test]
fn a_store_without_games_has_no_rows_of_them() {
    let scratch = Scratch::new();
    let path = scratch.path("l.epdb");
    let store = Store::create(&path, &small()).unwrap();
    let mut importer = store.importer("a", &ImportOptions::default()).unwrap();
    importer.push(&generated(1)).unwrap();
    importer.finish().unwrap();
    assert_eq!(store.reader().unwrap().kept_game_count().unwrap(), 0);
    store.close().unwrap();
    let database = redb::Database::open(&path).unwrap();
    let transaction = database.begin_read().unwrap();
    assert!(transaction.open_table(META).unwrap().get("kept games").unwrap().is_none());
    assert!(transaction.open_table(GAMES).is_err());
}

#[test]
fn rows_that_a_confused_program_changed_are_refused() {
    let scratch = Scratch::new();
    let path = scratch.path("l.epdb");
    let games = write(&path, 60);
    let sound = fs::read(&path).unwrap();
    type Change = fn(&redb::WriteTransaction, u64);
    let changes: [(&str, bool, Change); 5] = [
        ("a game is gone", true, |transaction, key| {
            transaction.open_table(GAMES).unwrap().remove(key).unwrap();
        }),
        ("a game is another one", true, |transaction, key| {
            transaction.open_table(GAMES).unwrap().insert(key, &game(1000)[..]).unwrap();
        }),
        ("there is one game more", false, |transaction, _| {
            let more = game(1000);
            let key = u64::from_be_bytes(kept_game::id_of(&more).0);
            transaction.open_table(GAMES).unwrap().insert(key, &more[..]).unwrap();
        }),
        ("a game is none", false, |transaction, _| {
            let key = u64::from_be_bytes(kept_game::id_of(b"none").0);
            transaction.open_table(GAMES).unwrap().insert(key, &b"none"[..]).unwrap();
        }),
        ("the row that announces them is another one", false, |transaction, _| {
            let mut table = transaction.open_table(META).unwrap();
            let mut row = table.get("kept games").unwrap().unwrap().value().to_vec();
            row[3] ^= 1;
            table.insert("kept games", row.as_slice()).unwrap();
        }),
    ];
    let id = kept_game::id_of(&games[7]);
    for (what, is_refused, change) in changes {
        fs::write(&path, &sound).unwrap();
        let database = redb::Database::open(&path).unwrap();
        let mut transaction = database.begin_write().unwrap();
        transaction.set_quick_repair(true);
        change(&transaction, u64::from_be_bytes(id.0));
        transaction.commit().unwrap();
        drop(database);
        let store = Store::open_read_only(&path, &small()).unwrap();
        let read = store.reader().unwrap().kept_game(id);
        assert_eq!(matches!(read, Err(StoreError::Damaged { .. })), is_refused, "{what}: {read:?}");
        drop(store);
        assert_ne!(verify(&path, &small()).unwrap(), [], "{what}");
    }
}

/// Pages of redb that are in use, without the first, which is the header.
fn used_pages(bytes: &[u8]) -> Vec<usize> {
    let is_used = |at: &usize| bytes[*at..].iter().take(PAGE).any(|&byte| byte != 0);
    (PAGE..bytes.len()).step_by(PAGE).filter(is_used).collect()
}

const PAGE: usize = 4096;

/// Reading kept games gives all of them, or an error.
#[test]
fn a_page_in_the_place_of_another_hides_no_game() {
    let scratch = Scratch::new();
    let path = scratch.path("l.epdb");
    let games = write(&path, 200);
    let sound = fs::read(&path).unwrap();
    let pages = used_pages(&sound);
    let mut refused = 0;
    for &to in &pages {
        for &from in pages.iter().filter(|&&from| from != to) {
            let mut bytes = sound.clone();
            bytes.copy_within(from..from + PAGE, to);
            fs::write(&path, bytes).unwrap();
            let store = Store::open_read_only(&path, &small());
            let Ok(reader) = store.and_then(|store| store.reader()) else { continue };
            let what = format!("the page at {from} doubled at {to}");
            if let Ok(count) = reader.kept_game_count() {
                assert_eq!(count, games.len() as u64, "{what}");
            }
            for game in &games {
                match reader.kept_game(kept_game::id_of(game)) {
                    Ok(found) => assert_eq!(found.as_ref(), Some(game), "{what}"),
                    Err(_) => refused += 1,
                }
            }
            let mut read = 0;
            let visit = &mut |_, _: &[u8]| {
                read += 1;
                Ok::<(), StoreError>(())
            };
            if reader.each_kept_game(visit).is_ok() {
                assert_eq!(read, games.len(), "{what}");
            }
        }
    }
    assert!(pages.len() > 10 && refused > games.len(), "{} pages, {refused} refused", pages.len());
}

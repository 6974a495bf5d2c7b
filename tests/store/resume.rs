//! Interrupted imports.

use std::collections::BTreeMap;
use std::io::{BufRead, Cursor};
use std::num::NonZeroU64;

use crate::common::*;
use epdb_store::{
    Checkpoint, ImportOptions, ImportState, Importer, OnDuplicate, Recognised, Store, StoreError,
};

/// Imports up to a number of lines of a source, as a program would.
fn import_lines(
    importer: &mut Importer<&Store>,
    source: &str,
    lines: usize,
) -> Result<Checkpoint, StoreError> {
    let mut source = Cursor::new(source);
    let mut place = importer.resume(&mut source)?;
    let mut line = String::new();
    for _ in 0..lines {
        line.clear();
        if source.read_line(&mut line).unwrap() == 0 {
            break;
        }
        place.advance(line.as_bytes());
        if let Ok(record) = epdb_chess::parse_epd(line.trim_end().as_bytes()) {
            importer.push_from(&record, place)?;
        }
    }
    Ok(place)
}

fn run(
    store: &Store,
    source: &str,
    lines: usize,
    options: &ImportOptions,
) -> Result<(), StoreError> {
    let mut importer = store.importer("a.epd", options)?;
    let place = import_lines(&mut importer, source, lines)?;
    if lines == usize::MAX {
        importer.finish_at(place)?;
    }
    Ok(())
}

fn source() -> String {
    let mut lines: Vec<_> = (0..1000).map(|nth| text(&generated(nth % 700))).collect();
    lines[10] = "# a comment".into();
    lines[500] = "no record at all".into();
    lines.join("\r\n")
}

fn every(records: u64) -> ImportOptions {
    ImportOptions { commit_every: NonZeroU64::new(records), ..Default::default() }
}

fn states(store: &Store) -> Vec<ImportState> {
    store.imports().unwrap().iter().map(|import| import.state).collect()
}

/// An interrupted import, run again, ends in the store of an undisturbed one.
#[test]
fn an_interrupted_import_continues() {
    let scratch = Scratch::new();
    let source = source();
    let skip = ImportOptions { on_duplicate: OnDuplicate::Skip, ..every(64) };
    for options in [every(64), skip] {
        let undisturbed = Store::create(scratch.path("undisturbed"), &small()).unwrap();
        run(&undisturbed, &source, usize::MAX, &options).unwrap();
        let disturbed = Store::create(scratch.path("disturbed"), &small()).unwrap();
        for stop in [100, 0, 3, 450, 64] {
            run(&disturbed, &source, stop, &options).unwrap();
        }
        run(&disturbed, &source, usize::MAX, &options).unwrap();
        let [all, again] = [&undisturbed, &disturbed].map(|store| store.reader().unwrap());
        assert_eq!(exported(&all), exported(&again));
        assert_eq!(undisturbed.imports().unwrap(), disturbed.imports().unwrap());
        drop((all, again, undisturbed, disturbed));
        std::fs::remove_file(scratch.path("undisturbed")).unwrap();
        std::fs::remove_file(scratch.path("disturbed")).unwrap();
    }
}

#[test]
fn a_finished_source_is_imported_again_as_a_new_one() {
    let scratch = Scratch::new();
    let path = scratch.path("twice");
    let store = Store::create(&path, &small()).unwrap();
    run(&store, &source(), usize::MAX, &every(64)).unwrap();
    run(&store, &source(), usize::MAX, &every(64)).unwrap();
    assert_eq!(store.reader().unwrap().stats().unwrap().records, 2 * 998);
    store.close().unwrap();
    let store = Store::open(&path, &small()).unwrap();
    assert_eq!(states(&store), [ImportState::Finished; 2]);
    run(&store, &source(), usize::MAX, &every(64)).unwrap();
    assert_eq!(store.reader().unwrap().stats().unwrap().records, 3 * 998);
}

/// A source that begins otherwise than what was consumed of it is not continued.
#[test]
fn a_changed_source_is_not_continued() {
    let scratch = Scratch::new();
    let store = Store::create(scratch.path("changed"), &small()).unwrap();
    run(&store, &source(), 300, &every(64)).unwrap();
    let committed = store.reader().unwrap().stats().unwrap().records;
    let other_settings =
        ImportOptions { settings: [("strict".to_string(), String::new())].into(), ..every(64) };
    let changed = source().replacen('k', "K", 1);
    let cut: String = source().chars().take(1000).collect();
    for source in [changed, cut, String::new()] {
        let refused = run(&store, &source, usize::MAX, &every(64)).err().unwrap();
        assert!(matches!(refused, StoreError::SourceChanged { .. }), "{refused}");
    }
    let refused = run(&store, &source(), usize::MAX, &other_settings).err().unwrap();
    assert!(
        matches!(&refused, StoreError::SettingsChanged { found, .. } if found == "without strict")
    );
    assert_eq!(store.reader().unwrap().stats().unwrap().records, committed);
    // Records pushed without regard to the earlier run would be there twice.
    let mut importer = store.importer("a.epd", &every(64)).unwrap();
    assert!(importer.resume_point().is_some_and(|place| place.line() > 200));
    let refused = importer.push(&generated(1)).err().unwrap();
    assert!(matches!(refused, StoreError::SourceChanged { .. }));
    drop(importer);
    let restart = ImportOptions { restart: true, ..other_settings };
    run(&store, &source(), usize::MAX, &restart).unwrap();
    assert_eq!(states(&store), [ImportState::GivenUp, ImportState::Delivered]);
    assert_eq!(store.reader().unwrap().stats().unwrap().records, committed + 998);
}

/// A dropped importer loses its uncommitted records and their numbers.
#[test]
fn a_dropped_importer_leaves_what_it_committed() {
    let scratch = Scratch::new();
    let store = Store::create(scratch.path("dropped"), &small()).unwrap();
    let mut importer = store.importer("x", &ImportOptions::default()).unwrap();
    importer.push(&generated(0)).unwrap();
    importer.flush().unwrap();
    importer.push(&generated(1)).unwrap();
    drop(importer);
    assert_eq!(exported(&store.reader().unwrap()), [(0, generated(0))]);
    import(&store, "y", &[generated(2)], &ImportOptions::default());
    assert_eq!(exported(&store.reader().unwrap()), [(0, generated(0)), (1, generated(2))]);
}

/// A source is known by its bytes, whatever its name and settings are.
#[test]
fn a_source_is_recognised_by_its_bytes() {
    let scratch = Scratch::new();
    let path = scratch.path("known");
    let source = source();
    let store = Store::create(&path, &small()).unwrap();
    let none = BTreeMap::new();
    let perft = BTreeMap::from([("--perft".to_string(), String::new())]);
    let (known, digest) = store.recognise("a.epd", source.as_bytes(), &none).unwrap();
    assert_eq!((known, digest.length()), (Recognised::New, source.len() as u64));
    let options = ImportOptions { digest: Some(digest), ..every(64) };

    // Interrupted under one name, it goes on under another.
    let mut importer = store.importer("a.epd", &options).unwrap();
    import_lines(&mut importer, &source, 300).unwrap();
    drop(importer);
    let (known, _) = store.recognise("b.epd", source.as_bytes(), &none).unwrap();
    assert!(matches!(known, Recognised::Interrupted(_)), "{known:?}");
    let mut importer = store.importer("b.epd", &options).unwrap();
    assert!(importer.resume_point().is_some());
    let place = import_lines(&mut importer, &source, usize::MAX).unwrap();
    importer.finish_at(place).unwrap();
    // The last commit writes everything: nothing is left to closing.
    assert_eq!(states(&store), [ImportState::Finished]);

    let known =
        |bytes: &str, settings| store.recognise("c.epd", bytes.as_bytes(), settings).unwrap().0;
    assert!(
        matches!(known(&source, &none), Recognised::Imported(import) if import.source == "a.epd")
    );
    assert!(matches!(known(&source, &perft), Recognised::OtherSettings(_)));
    assert!(matches!(known(&(source.clone() + "\n"), &none), Recognised::Grown(_)));
    assert_eq!(known(&source[..source.len() - 1], &none), Recognised::New);
    assert_eq!(known(&source.replacen('k', "K", 1), &none), Recognised::New);
    assert_eq!(known("", &none), Recognised::New);
}

/// A line of the journal that is missing would let a source be imported twice.
#[test]
fn the_journal_is_as_the_store_announces_it() {
    const IMPORTS: redb::TableDefinition<u64, &[u8]> = redb::TableDefinition::new("imports");
    let scratch = Scratch::new();
    let path = scratch.path("journal");
    let store = store_of(&path, &[generated(1)]);
    import(&store, "empty", &[], &ImportOptions::default());
    store.close().unwrap();
    let database = redb::Database::open(&path).unwrap();
    let transaction = database.begin_write().unwrap();
    transaction.open_table(IMPORTS).unwrap().remove(1).unwrap();
    transaction.commit().unwrap();
    drop(database);
    for opened in [Store::open(&path, &small()), Store::open_read_only(&path, &small())] {
        assert!(matches!(opened.err().unwrap(), StoreError::Damaged { .. }));
    }
}

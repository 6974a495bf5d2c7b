//! Concurrent access: who may open a store, what is refused, and what a reader sees during a write.

use std::fs;
use std::num::NonZeroU64;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crate::common::*;
use epdb_store::{ImportOptions, Store, StoreError, StoreOptions, verify};

type Open = fn(&Path, &StoreOptions) -> Result<Store, StoreError>;

#[test]
fn create_replaces_nothing() {
    let scratch = Scratch::new();
    let path = scratch.path("there.epdb");
    fs::write(&path, "precious").unwrap();
    assert!(matches!(Store::create(&path, &small()), Err(StoreError::Exists { .. })));
    assert_eq!(fs::read(&path).unwrap(), b"precious");
    assert_eq!(fs::read_dir(scratch.dir.path()).unwrap().count(), 1, "a draft was left");
}

#[test]
fn other_files_are_refused() {
    let scratch = Scratch::new();
    let path = scratch.path("other");
    let refused = |open: Open| open(&path, &small()).err().unwrap();
    let opens: [Open; 2] = [
        |path, options| Store::open(path, options),
        |path, options| Store::open_read_only(path, options),
    ];
    for open in opens {
        fs::remove_file(&path).ok();
        assert!(matches!(refused(open), StoreError::NotFound { .. }));
        for other in ["", "redb", "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -\n"] {
            fs::write(&path, other).unwrap();
            assert!(matches!(refused(open), StoreError::NotAStore { .. }), "{other}");
            // A store that is cut short is damaged, as files of other formats are.
            match verify(&path, &small()) {
                Ok(findings) => assert!(findings.len() == 1 && other.len() < 5),
                Err(error) => assert!(matches!(error, StoreError::NotAStore { .. }), "{error}"),
            }
        }
        fs::remove_file(&path).unwrap();
        let database = redb::Database::create(&path).unwrap();
        let transaction = database.begin_write().unwrap();
        transaction.open_table(redb::TableDefinition::<u64, u64>::new("other")).unwrap();
        transaction.commit().unwrap();
        drop(database);
        assert!(matches!(refused(open), StoreError::NotAStore { .. }));
    }
}

/// A store of a later format version is refused, with both versions named.
#[test]
fn a_later_version_is_refused() {
    const META: redb::TableDefinition<&str, &[u8]> = redb::TableDefinition::new("epdb");
    let scratch = Scratch::new();
    let path = scratch.path("later.epdb");
    store_of(&path, &[generated(1)]).close().unwrap();
    let database = redb::Database::open(&path).unwrap();
    let transaction = database.begin_write().unwrap();
    {
        let mut table = transaction.open_table(META).unwrap();
        let mut row = redb::ReadableTable::get(&table, "meta").unwrap().unwrap().value().to_vec();
        row[8..12].copy_from_slice(&7u32.to_le_bytes());
        row.push(0);
        table.insert("meta", row.as_slice()).unwrap();
    }
    transaction.commit().unwrap();
    drop(database);
    for refused in [Store::open(&path, &small()), Store::open_read_only(&path, &small())] {
        let error = refused.err().unwrap();
        assert!(matches!(error, StoreError::UnsupportedVersion { found: 7, supported: 1, .. }));
        let message = error.to_string();
        assert!(message.contains("version 7") && message.contains("version 1"), "{message}");
    }
    assert!(matches!(verify(&path, &small()), Err(StoreError::UnsupportedVersion { .. })));
}

/// True where other processes read a store that a process writes.
const IS_SHARED: bool = cfg!(any(target_os = "linux", target_os = "macos"));

/// One writes and many read; a second writer gets an error at once. Two handles of one process stand
/// for two processes: the lock belongs to the open file.
#[test]
fn one_writes_and_many_read() {
    let scratch = Scratch::new();
    let path = scratch.path("shared.epdb");
    let writer = store_of(&path, &[generated(1)]);
    assert!(matches!(Store::open(&path, &small()), Err(StoreError::InUse { .. })));
    match Store::open_read_only(&path, &small()) {
        Ok(beside) => assert_eq!(exported(&beside.reader().unwrap()), [(0, generated(1))]),
        Err(error) => assert!(!IS_SHARED && matches!(error, StoreError::InUse { .. }), "{error}"),
    }
    assert!(matches!(verify(&path, &small()), Err(StoreError::InUse { .. })));
    writer.close().unwrap();
    let one = Store::open_read_only(&path, &small()).unwrap();
    let other = Store::open_read_only(&path, &small()).unwrap();
    assert_eq!(exported(&one.reader().unwrap()), exported(&other.reader().unwrap()));
    assert_eq!(verify(&path, &small()).unwrap(), []);
    let beside = Store::open(&path, &small());
    assert_eq!(beside.is_ok(), IS_SHARED);
    assert!(matches!(beside, Ok(_) | Err(StoreError::InUse { .. })));
    drop(beside);
    let refused = one.importer("x", &ImportOptions::default()).err().unwrap();
    assert!(matches!(refused, StoreError::ReadOnly { .. }));
    drop((one, other));
    Store::open(&path, &small()).unwrap();
}

/// A reader sees what was committed when it was made, whatever is written meanwhile.
#[test]
fn readers_do_not_notice_a_writer() {
    let scratch = Scratch::new();
    let path = scratch.path("concurrent.epdb");
    let records: Vec<_> = (0..30_000).map(generated).collect();
    let store = store_of(&path, &records[..10_000]);
    let before = store.reader().unwrap();
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reading = scope.spawn(|| {
            let mut rounds = 0;
            while rounds == 0 || !done.load(std::sync::atomic::Ordering::Acquire) {
                let now = store.reader().unwrap();
                let count = now.stats().unwrap().records;
                assert!(count >= 10_000 && count.is_multiple_of(500), "half a batch: {count}");
                for nth in [0, 4321, count - 1] {
                    let record = &records[nth as usize];
                    assert_eq!(found(&now, record.position()), [(nth, record.clone())]);
                }
                assert_eq!(found(&before, records[10_000].position()), []);
                rounds += 1;
            }
        });
        let options = ImportOptions { commit_every: NonZeroU64::new(500), ..Default::default() };
        import(&store, "more", &records[10_000..], &options);
        done.store(true, std::sync::atomic::Ordering::Release);
        reading.join().unwrap();
    });
    assert_eq!(exported(&before).len(), 10_000);
    assert_eq!(exported(&store.reader().unwrap()).len(), 30_000);
}

// README: Others read while one imports
/// Another process sees each commit of a writer as a whole, and its snapshots stay as they are.
#[cfg(any(target_os = "linux", target_os = "macos"))]
#[test]
fn other_processes_see_each_commit() {
    let scratch = Scratch::new();
    let path = scratch.path("followed.epdb");
    let records: Vec<_> = (0..30_000).map(generated).collect();
    let store = store_of(&path, &records[..10_000]);
    let beside = Store::open_read_only(&path, &small()).unwrap();
    let before = beside.reader().unwrap();
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reading = scope.spawn(|| {
            let mut counts = Vec::new();
            while !done.load(std::sync::atomic::Ordering::Acquire) || counts.len() < 3 {
                let now = beside.reader().unwrap();
                let count = now.len();
                assert!(count >= 10_000 && count.is_multiple_of(500), "half a batch: {count}");
                for nth in [0, 4321, count - 1] {
                    let record = &records[nth as usize];
                    assert_eq!(found(&now, record.position()), [(nth, record.clone())]);
                }
                let stored: Vec<_> = now.by_key().map(|stored| stored.unwrap()).collect();
                assert_eq!(stored.len() as u64, count);
                assert_eq!(found(&before, records[10_000].position()), []);
                counts.push(count);
            }
            counts
        });
        let options = ImportOptions { commit_every: NonZeroU64::new(500), ..Default::default() };
        import(&store, "more", &records[10_000..], &options);
        done.store(true, std::sync::atomic::Ordering::Release);
        let counts = reading.join().unwrap();
        assert!(counts.is_sorted(), "{counts:?}");
    });
    assert_eq!(exported(&before).len(), 10_000);
    assert_eq!(exported(&before), exported(&beside.reader().unwrap())[..10_000]);
}

/// A reader that is replaced after each commit does not make the file grow. A reader that is kept
/// does, and still gives its records.
#[cfg(any(target_os = "linux", target_os = "macos"))]
#[test]
fn a_replaced_reader_frees_its_pages() {
    let scratch = Scratch::new();
    let records: Vec<_> = (0..3000).map(generated).collect();
    let sizes = [false, true].map(|is_kept| {
        let path = scratch.path(&format!("{is_kept}.epdb"));
        let store = store_of(&path, &records);
        let beside = Store::open_read_only(&path, &small()).unwrap();
        let first = beside.reader().unwrap();
        let mut kept = vec![first];
        for round in 0..60 {
            let options = ImportOptions {
                on_duplicate: epdb_store::OnDuplicate::Replace,
                ..Default::default()
            };
            import(&store, &format!("{round}"), &records, &options);
            assert!(!kept.last().unwrap().is_current());
            let now = beside.reader().unwrap();
            assert_eq!(now.len(), 3000);
            assert!(now.is_current());
            if !is_kept {
                kept.clear();
            }
            kept.push(now);
        }
        for (nth, reader) in kept.iter().enumerate() {
            let numbers: Vec<_> = exported(reader).iter().map(|(number, _)| *number).collect();
            let first = if is_kept { nth as u64 * 3000 } else { 60 * 3000 };
            assert!(numbers.into_iter().eq(first..first + 3000));
        }
        fs::metadata(&path).unwrap().len()
    });
    assert!(sizes[0] * 4 < sizes[1], "{sizes:?}");
}

/// Readers of a store whose writer died do not change it. They read a copy, which is removed when they end.
#[test]
fn a_store_that_was_not_closed_is_read_from_a_copy() {
    let scratch = Scratch::new();
    let path = scratch.path("killed.epdb");
    let records: Vec<_> = (0..3000).map(generated).collect();
    store_of(&path, &records).close().unwrap();
    let mut bytes = fs::read(&path).unwrap();
    // The flag that redb sets while a process has the file open for writing.
    bytes[9] |= 2;
    fs::write(&path, &bytes).unwrap();
    let files = || fs::read_dir(scratch.dir.path()).unwrap().count();
    let [one, other] = [(); 2].map(|()| Store::open_read_only(&path, &small()).unwrap());
    for store in [&one, &other] {
        let reader = store.reader().unwrap();
        assert_eq!(exported(&reader).len(), 3000);
        assert!(reader.is_current());
        assert_eq!(store.path(), path);
    }
    assert_eq!(files(), 3);
    // A writer does not wait for them.
    drop(one);
    let writer = Store::open(&path, &small()).unwrap();
    import(&writer, "more", &[generated(3000)], &ImportOptions::default());
    writer.close().unwrap();
    assert_eq!(exported(&other.reader().unwrap()).len(), 3000);
    drop(other);
    assert_eq!(files(), 1);
    let store = Store::open_read_only(&path, &small()).unwrap();
    assert_eq!(exported(&store.reader().unwrap()).len(), 3001);
    assert_eq!(files(), 1);

    fs::write(&path, &bytes).unwrap();
    drop(Store::open_read_only(&path, &small()).unwrap());
    assert!(fs::read(&path).unwrap() == bytes, "a reader changed the file");
}

#[test]
fn one_import_at_a_time() {
    let scratch = Scratch::new();
    let store = Store::create(scratch.path("busy.epdb"), &small()).unwrap();
    let first = store.importer("first", &ImportOptions::default()).unwrap();
    let second = store.importer("second", &ImportOptions::default());
    assert!(matches!(second.err().unwrap(), StoreError::Busy { .. }));
    drop(first);
    store.importer("second", &ImportOptions::default()).unwrap();
}

#[test]
fn compaction_waits_for_nobody() {
    let scratch = Scratch::new();
    let path = scratch.path("compact.epdb");
    let records: Vec<_> = (0..20_000).map(generated).collect();
    let mut store = store_of(&path, &records);
    let reader = store.reader().unwrap();
    assert!(matches!(store.compact(), Err(StoreError::Busy { .. })));
    drop(reader);
    let before = fs::metadata(&path).unwrap().len();
    store.compact().unwrap();
    assert!(fs::metadata(&path).unwrap().len() <= before);
    assert_eq!(exported(&store.reader().unwrap()).len(), 20_000);
    drop(store);
    assert_eq!(verify(&path, &small()).unwrap(), []);
}

/// Another process removes new files whose owner is gone: those that it can lock.
#[test]
fn a_new_store_is_locked_until_it_has_its_name() {
    let scratch = Scratch::new();
    let is_created = AtomicBool::new(false);
    let sweep = || {
        while !is_created.load(Ordering::Relaxed) {
            for entry in fs::read_dir(scratch.dir.path()).unwrap().flatten() {
                let is_new = entry.file_name().to_string_lossy().ends_with(".part");
                let Some(file) = is_new.then(|| fs::File::open(entry.path()).ok()).flatten() else {
                    continue;
                };
                // The lock stays until the file is removed, as it does in a process that sweeps.
                if file.try_lock().is_ok() {
                    fs::remove_file(entry.path()).ok();
                }
            }
        }
    };
    thread::scope(|threads| {
        threads.spawn(sweep);
        let create = |nth| Store::create(scratch.path(&format!("{nth}.epdb")), &small());
        let created: Result<Vec<_>, _> = (0..200).map(create).collect();
        is_created.store(true, Ordering::Relaxed);
        created.unwrap();
    });
}

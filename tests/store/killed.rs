//! Imports whose process is killed: the store opens and has every committed batch.
//!
//! The same import run again ends in the store of an undisturbed one.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::fs::File;
use std::io::{BufRead, BufReader, Lines, Read, Write};
use std::num::NonZeroU64;
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};

use epdb_chess::model::EpdRecord;
use epdb_chess::model::merge::MergeRules;
use epdb_store::{
    ImportOptions, ImportState, OnDuplicate, Reader, Store, StoreError, StoreOptions, verify,
    waiting_records,
};

const STORE: &str = "EPDB_TEST_CRASH_STORE";
/// The point at which the child kills itself.
const ABORT: &str = "EPDB_TEST_CRASH_ABORT";
/// The store that another process reads.
const READ: &str = "EPDB_TEST_CRASH_READ";
const LINES: u64 = 3000;
/// The child writes runs of about 70 records, and merges them when there are 16 and at the end.
const RUNS: &str = "runs";
/// The child merges the runs of an import of another source.
const OTHER: &str = "other";

/// Batches are so small that records which wait for a commit become runs.
fn options() -> StoreOptions {
    StoreOptions { memory_bytes: 1 << 20, batch_bytes: Some(4 << 10), ..Default::default() }
}

/// Positions, some of them again and again, with comments and rubbish between them.
fn source() -> String {
    let pieces = |nth: u64| {
        let rank = |file: u64, piece: char| {
            let run = |length: u64| if length == 0 { String::new() } else { length.to_string() };
            format!("{}{piece}{}", run(file), run(7 - file))
        };
        let ranks = [nth % 8, nth / 8 % 8, nth / 64 % 8, nth / 512 % 8];
        let pieces: Vec<_> =
            ranks.iter().zip("PpNn".chars()).map(|(&file, piece)| rank(file, piece)).collect();
        format!("4k3/8/{}/8/4K3 w - -", pieces.join("/"))
    };
    let line = |nth: u64| match nth % 50 {
        13 => "# a comment".to_string(),
        17 => "no record".to_string(),
        crowd if crowd % 5 == 0 => format!("{} id \"{nth}\";", pieces(1)),
        _ => format!("{} ce {};", pieces(nth * 7 % 2000), nth % 300),
    };
    (0..LINES).map(line).collect::<Vec<_>>().join("\n")
}

fn import_options(abort: &str) -> ImportOptions {
    let records = if abort == RUNS { 0 } else { 100 };
    let merge = OnDuplicate::Merge(MergeRules::default());
    ImportOptions {
        on_duplicate: merge,
        commit_every: NonZeroU64::new(records),
        ..Default::default()
    }
}

/// One import as a program does it. `told` is called whenever records are on the disk.
fn import(path: &Path, abort: &str, mut told: impl FnMut(u64)) -> Result<(), StoreError> {
    let mut store = match Store::create(path, &options()) {
        Err(StoreError::Exists { .. }) => Store::open(path, &options())?,
        created => created?,
    };
    if abort == OTHER {
        store.importer("another source", &ImportOptions::default())?.finish()?;
        return store.close();
    }
    if store.imports()?.first().is_some_and(|import| import.state == ImportState::Finished) {
        return store.close();
    }
    let mut importer = store.importer("source", &import_options(abort))?;
    let text = source();
    let mut source = BufReader::new(text.as_bytes());
    let mut place = importer.resume(&mut source)?;
    let mut line = Vec::new();
    let mut on_disk = importer.committed().read + importer.waiting();
    while {
        line.clear();
        source.read_until(b'\n', &mut line).unwrap() > 0
    } {
        place.advance(&line);
        if let Ok(record) = epdb_chess::parse_epd(line.trim_ascii_end()) {
            importer.push_from(&record, place)?;
            let now = importer.committed().read + importer.waiting();
            if now > on_disk {
                on_disk = now;
                told(place.line());
            }
        }
    }
    importer.finish_at(place)?;
    told(place.line());
    if abort == "delivered" {
        std::process::abort();
    }
    if abort != "beside readers" {
        store.compact()?;
    }
    store.close()
}

/// Not a test: what the tests run as another process.
#[test]
fn child() {
    let Ok(path) = std::env::var(STORE) else { return };
    let abort = std::env::var(ABORT).unwrap_or_default();
    let mut out = std::io::stderr();
    import(Path::new(&path), &abort, |line| writeln!(out, "committed {line}").unwrap()).unwrap();
}

fn spawn(path: &Path, abort: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child", "--nocapture"])
        .env(STORE, path)
        .env(ABORT, abort)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn exported(store: &Store) -> Vec<(u64, EpdRecord)> {
    let reader = store.reader().unwrap();
    let by_import = reader.by_import().map(|stored| stored.unwrap());
    by_import.map(|stored| (stored.import_number, stored.record)).collect()
}

/// The line of the last reported commit, and whether the text ended there.
fn last_commit(text: &str) -> u64 {
    let commits = text.lines().filter_map(|line| line.strip_prefix("committed ")?.parse().ok());
    commits.max().unwrap_or(0)
}

struct Walk(u64);

impl Walk {
    fn next(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (self.0 >> 33) % below
    }
}

/// The store as it must be after a kill: whole, with everything that was reported as committed.
fn assert_sound(path: &Path, told: u64) -> Option<ImportState> {
    if !path.exists() {
        assert_eq!(told, 0, "a committed store is gone");
        return None;
    }
    assert_eq!(verify(path, &options()).unwrap(), []);
    let store = Store::open_read_only(path, &options()).unwrap();
    let imports = store.imports().unwrap();
    let reached = imports.first().map_or(0, |import| import.place.line());
    assert!(reached >= told, "line {told} was committed, and the store knows {reached}");
    imports.first().map(|import| import.state)
}

/// Reads some of what a child says, kills it, and returns the last line that it had on the disk, and
/// whether it was still running.
fn kill_somewhere(mut running: Child, walk: &mut Walk) -> (u64, bool) {
    let mut text = vec![0; walk.next(20 * LINES / 100) as usize];
    let mut stderr = running.stderr.take().unwrap();
    let mut read = 0;
    while read < text.len() {
        match stderr.read(&mut text[read..]).unwrap() {
            0 => break,
            some => read += some,
        }
    }
    // From here on until the kill arrives, anything may happen there.
    let spins = walk.next(1 << 20);
    (0..spins).for_each(|spin| assert_eq!(std::hint::black_box(spin), spin));
    let was_running = running.try_wait().unwrap().is_none();
    running.kill().unwrap();
    running.wait().unwrap();
    let mut text = String::from_utf8_lossy(&text[..read]).into_owned();
    stderr.read_to_string(&mut text).unwrap();
    (last_commit(&text), was_running)
}

/// Kills imports of one kind, and runs each of them again until it has finished.
fn kill_imports(kind: &str, seed: u64) {
    let scratch = tempfile::tempdir().unwrap();
    let undisturbed = scratch.path().join("undisturbed.epdb");
    import(&undisturbed, "", |_| {}).unwrap();
    let undisturbed = Store::open_read_only(&undisturbed, &options()).unwrap();
    let expected = exported(&undisturbed);
    let mut walk = Walk(seed);
    let (mut kills, mut inside) = (0, 0);
    for round in 0.. {
        if kills >= 60 && inside >= 20 {
            break;
        }
        let path = scratch.path().join(format!("{round}.epdb"));
        let mut told = 0;
        let mut state = None;
        // Killed once or several times, then left alone.
        for _ in 0..=walk.next(3) {
            let (line, was_running) = kill_somewhere(spawn(&path, kind), &mut walk);
            told = told.max(line);
            state = assert_sound(&path, told);
            kills += u32::from(was_running);
            inside += u32::from(state == Some(ImportState::Unfinished));
            if state == Some(ImportState::Finished) {
                break;
            }
        }
        if state != Some(ImportState::Finished) {
            assert!(spawn(&path, kind).wait().unwrap().success());
        }
        assert_eq!(assert_sound(&path, LINES - 1), Some(ImportState::Finished));
        let store = Store::open_read_only(&path, &options()).unwrap();
        assert!(exported(&store) == expected, "round {round}: another store");
        let [one, other] = [&store, &undisturbed].map(|store| store.imports().unwrap());
        assert_eq!(one, other);
        drop(store);
        std::fs::remove_file(&path).unwrap();
        let left: Vec<_> = std::fs::read_dir(scratch.path()).unwrap().map(Result::unwrap).collect();
        assert_eq!(left.len(), 1, "round {round}: {left:?}");
    }
    println!("{kills} kills, {inside} of them in the middle of an import");
}

#[test]
fn a_killed_import_continues_where_it_stopped() {
    kill_imports("", 2026);
}

#[test]
fn a_killed_import_continues_after_its_last_run() {
    kill_imports(RUNS, 2027);
}

/// Another import that merges the runs of a killed import is killed too.
#[test]
fn a_killed_merge_of_what_waits_is_repeated() {
    let scratch = tempfile::tempdir().unwrap();
    let undisturbed = scratch.path().join("undisturbed.epdb");
    import(&undisturbed, "", |_| {}).unwrap();
    let expected = exported(&Store::open_read_only(&undisturbed, &options()).unwrap());
    let mut walk = Walk(2028);
    let mut waited = 0;
    for round in 0.. {
        if waited >= 20 {
            break;
        }
        let path = scratch.path().join(format!("{round}.epdb"));
        let (told, _) = kill_somewhere(spawn(&path, RUNS), &mut walk);
        if assert_sound(&path, told) != Some(ImportState::Unfinished) {
            continue;
        }
        waited += u32::from(waiting_records(&path, &options()).unwrap() > 0);
        for _ in 0..3 {
            kill_somewhere(spawn(&path, OTHER), &mut walk);
            assert_eq!(assert_sound(&path, told), Some(ImportState::Unfinished));
        }
        assert!(spawn(&path, OTHER).wait().unwrap().success());
        assert_eq!(waiting_records(&path, &options()).unwrap(), 0);
        assert!(!path.with_extension("epdb.runs").exists());
        assert!(spawn(&path, RUNS).wait().unwrap().success());
        assert_eq!(assert_sound(&path, LINES - 1), Some(ImportState::Finished));
        let store = Store::open_read_only(&path, &options()).unwrap();
        assert!(exported(&store) == expected, "round {round}: another store");
    }
}

/// A process that dies when all is committed and nothing closed: there is nothing left to do.
#[test]
fn a_delivered_import_is_not_imported_twice() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("delivered.epdb");
    let mut dying = spawn(&path, "delivered");
    assert!(!dying.wait().unwrap().success());
    assert_eq!(assert_sound(&path, LINES - 1), Some(ImportState::Delivered));
    let before = exported(&Store::open_read_only(&path, &options()).unwrap());
    import(&path, "", |_| {}).unwrap();
    assert_eq!(assert_sound(&path, LINES - 1), Some(ImportState::Finished));
    assert_eq!(exported(&Store::open_read_only(&path, &options()).unwrap()), before);
}

/// Reads everything, in two ways, and returns the number of records.
fn count_checked(reader: &Reader) -> u64 {
    // At the end, the totals are compared with those of the commit.
    let records: Vec<_> = reader.by_key().map(|stored| stored.unwrap()).collect();
    for stored in records.iter().step_by(37) {
        let mut found = reader.matches(stored.record.position());
        assert!(found.any(|other| other.unwrap() == *stored));
    }
    assert_eq!(records.len() as u64, reader.len());
    reader.len()
}

/// Not a test: another process that reads the last commit for each line of its input.
#[test]
fn child_that_reads() {
    let Ok(path) = std::env::var(READ) else { return };
    let store = Store::open_read_only(&path, &options()).unwrap();
    let mut reader = store.reader().unwrap();
    for line in std::io::stdin().lines() {
        if !reader.is_current() {
            reader = store.reader().unwrap();
        }
        writeln!(std::io::stderr(), "{}{}", line.unwrap(), count_checked(&reader)).unwrap();
    }
}

/// The other process, which ends with its input.
struct OtherReader {
    child: Child,
    answers: Lines<BufReader<ChildStderr>>,
}

impl OtherReader {
    fn new(path: &Path) -> OtherReader {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "child_that_reads", "--nocapture"])
            .env(READ, path)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let answers = BufReader::new(child.stderr.take().unwrap()).lines();
        OtherReader { child, answers }
    }

    /// Number of records of the last commit.
    fn count(&mut self) -> u64 {
        self.child.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
        self.answers.next().unwrap().unwrap().parse().unwrap()
    }

    fn end(mut self) {
        drop(self.child.stdin.take());
        assert!(self.child.wait().unwrap().success());
    }
}

/// While another process imports, and after it was killed, each answer is that of a commit, in each of the
/// processes that read.
#[cfg(any(target_os = "linux", target_os = "macos"))]
#[test]
fn readers_beside_an_import_see_commits() {
    let scratch = tempfile::tempdir().unwrap();
    for is_killed in [false, true] {
        let path = scratch.path().join(format!("{is_killed}.epdb"));
        let mut running = spawn(&path, "beside readers");
        let mut lines = BufReader::new(running.stderr.take().unwrap()).lines();
        let told = |line: String| line.strip_prefix("committed ")?.parse::<u64>().ok();
        let mut committed = lines.by_ref().filter_map(|line| told(line.unwrap()));
        assert!(committed.next().is_some());
        let store = Store::open_read_only(&path, &options()).unwrap();
        let mut others = [(); 2].map(|()| OtherReader::new(&path));
        let first = store.reader().unwrap();
        let expected: Vec<_> = first.by_key().map(|stored| stored.unwrap()).collect();
        let (mut rounds, mut last) = (0, 0);
        for line in committed {
            assert!(store.imports().unwrap()[0].place.line() >= line);
            let mut counts = vec![last, count_checked(&store.reader().unwrap())];
            counts.extend(others.iter_mut().map(OtherReader::count));
            assert!(counts.is_sorted(), "{counts:?}");
            (rounds, last) = (rounds + 1, counts[3]);
            if is_killed && rounds == 5 {
                running.kill().unwrap();
            }
        }
        assert!(rounds >= 5, "{rounds}");
        assert_eq!(running.wait().unwrap().success(), !is_killed);
        let unchanged: Vec<_> = first.by_key().map(|stored| stored.unwrap()).collect();
        assert!(unchanged == expected);
        for mut other in others {
            assert!(other.count() >= last);
            other.end();
        }
        drop((first, store));
        assert_sound(&path, 0);
    }
}

/// A store that another process writes is refused at once, and read again when it has ended.
#[test]
fn another_process_gets_an_error() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("busy.epdb");
    let store = Store::create(&path, &options()).unwrap();
    let mut refused = spawn(&path, "");
    let mut text = String::new();
    refused.stderr.take().unwrap().read_to_string(&mut text).unwrap();
    assert!(!refused.wait().unwrap().success());
    assert!(text.contains("InUse"), "{text}");
    store.close().unwrap();
    assert!(spawn(&path, "").wait().unwrap().success());
    assert!(File::open(&path).is_ok());
}

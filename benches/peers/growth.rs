//! Growth: an archive, a store and LMDB with 10^6 and 10^7 positions, or more.
//!
//! `cargo bench --manifest-path benches/peers/Cargo.toml --bench growth -- --largest 100000000`
//!
//! Sizes are 10^6, ten times as many, and so on up to `--largest` (10^7 if it is not given). The
//! positions come from random legal games, each with a seed of its own, so none is kept in memory. The
//! files are in the folder for temporary files (`TMPDIR`), one at a time: 10^8 positions take 25 GB.
//!
//! Each step runs in a process of its own. Bytes are those of the files. Processor time and peak memory
//! are those of the process that builds: sorting within `--memory-mib` (256), and writing durably. The time
//! of playing the games is left out. LMDB is built twice: of records that were sorted on the disk before,
//! and of records as they come, in durable commits of a million, each of them sorted. The others get
//! the records as they come. Pages of mapped files count as memory. The serial share is the part of the
//! processor time that the calling thread takes.
//!
//! Lookups are one by one, by queries that are made before the clock starts, in processor time, so that other
//! work on the machine counts little. Warm: the same queries were asked once before. First touch: another
//! process opens the file, which the system has in memory, so nothing is read from disk; but no page is
//! mapped, so each lookup takes page faults. An opening is asked one question for 256 KiB of the file, so
//! nearly all touch pages for the first time; opening itself is not timed. Each figure is the median of
//! `--rounds` (5) processes.

use std::collections::HashSet;
use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use epdb_archive::{ArchiveWriter, Level, PackOptions};
use epdb_base::spill::Sorter;
use epdb_chess::codec::query::Query;
use epdb_chess::codec::{key, record};
use epdb_chess::model::EpdRecord;
use epdb_peers::contestants::{Epdb, FastArchive, Lmdb, Reader, Store, encoded};
use epdb_peers::{Random, argument, median, play, size_of_files};
use epdb_store::{ImportOptions, StoreOptions};
use rustix::time::{ClockId, clock_gettime};
use wait4::Wait4;

/// Positions of a game before this ply are in many games, so they are left out.
const FIRST_PLY: usize = 16;
/// Number of warm lookups.
const LOOKUPS: usize = 200_000;
/// Bytes of a file for each lookup at the first touch.
const BYTES_A_TOUCH: u64 = 256 << 10;
/// Number of queries that are taken from one game. Neighbours in a game are far apart in a file.
const QUERIES_A_GAME: usize = 16;
/// The contestants, the one first with which the others are compared.
const NAMES: [&str; 4] = ["LMDB, sorted", "LMDB, as they come", "archive, fast, sorted", "store"];
/// The ways to look up.
const WAYS: [&str; 3] = ["warm hits", "warm misses", "first touch"];
/// Number of records of a commit of LMDB.
const COMMIT: usize = 1_000_000;

fn main() {
    let word = |name: &str| {
        let mut words = std::env::args().skip_while(|word| word != name);
        words.nth(1)
    };
    if let Some(step) = word("--step") {
        let folder = word("--folder").expect("a folder");
        let contestant = Contestant { number: argument("--contestant", 0) };
        return match step.as_str() {
            "build" => contestant.build(Path::new(&folder), argument("--positions", 0)),
            way => contestant.look_up(Path::new(&folder), way),
        };
    }
    println!("lookups in thousands a second of processor time; in brackets compared with {}", NAMES[0]);
    print!("{:>11} {:21}", "positions", "");
    WAYS.iter().for_each(|way| print!(" {way:>15}"));
    println!(" {:>14} {:>18} {:>7} {:>7}", "bytes/position", "CPU s", "serial", "MiB");
    let (least, largest) = (argument("--least", 1_000_000), argument("--largest", 10_000_000));
    let sizes = std::iter::successors(Some(least), |size| Some(10 * size));
    sizes.take_while(|size| *size <= largest).for_each(measure);
}

/// Prints a line for each contestant, except those with a bit in `--without`.
fn measure(positions: usize) {
    let rounds = argument("--rounds", 5);
    let mut first = None;
    for (number, name) in NAMES.iter().enumerate() {
        if argument("--without", 0) >> number & 1 == 1 {
            continue;
        }
        let folder = tempfile::tempdir().expect("a folder");
        let step = |step: &str, lookups: usize, games: u64| {
            Step { step, folder: folder.path(), number, positions, lookups, games }.run()
        };
        let built = step("build", 0, 0);
        let [games, playing, calling] = built.printed[..] else { panic!("three numbers") };
        let [playing, calling] = [playing, calling].map(|time| Duration::from_nanos(time).as_secs_f64());
        let seconds = built.cpu_seconds - playing;
        let bytes = size_of_files(folder.path());
        let touches = (bytes / BYTES_A_TOUCH).clamp(20, LOOKUPS as u64) as usize;
        let rate = |way: &str| {
            let lookups = if way == "first touch" { touches } else { LOOKUPS };
            let nanoseconds = |_| step(way, lookups, games).printed[0] as f64;
            1e6 / median((0..rounds).map(nanoseconds).collect())
        };
        let rates = WAYS.map(rate);
        let (peers, peer_seconds) = *first.get_or_insert((rates, seconds));
        print!("{positions:>11} {name:21}");
        for (rate, peer) in rates.iter().zip(peers) {
            print!(" {rate:7.0} ({:4.2}x)", rate / peer);
        }
        println!(
            " {:14.2} {seconds:10.1} ({:4.2}x) {:6.0}% {:7.0}",
            bytes as f64 / positions as f64,
            seconds / peer_seconds,
            100.0 * (calling - playing) / seconds,
            built.peak_bytes as f64 / f64::from(1 << 20)
        );
    }
}

/// A step in a process of its own.
struct Step<'f> {
    step: &'f str,
    folder: &'f Path,
    /// Number of the contestant.
    number: usize,
    positions: usize,
    lookups: usize,
    games: u64,
}

/// Costs of a step, and the numbers that it printed.
struct Ended {
    printed: Vec<u64>,
    cpu_seconds: f64,
    peak_bytes: u64,
}

impl Step<'_> {
    fn run(&self) -> Ended {
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        command.args(["--step", self.step, "--folder"]).arg(self.folder);
        let numbers = [
            ("--contestant", self.number),
            ("--positions", self.positions),
            ("--lookups", self.lookups),
            ("--games", self.games as usize),
            ("--memory-mib", argument("--memory-mib", 256)),
        ];
        for (name, number) in numbers {
            command.arg(name).arg(number.to_string());
        }
        let mut child = command.stdout(Stdio::piped()).spawn().expect("this program");
        let mut printed = String::new();
        let mut out = child.stdout.take().expect("a pipe");
        out.read_to_string(&mut printed).expect("numbers");
        let ended = child.wait4().expect("an end");
        assert!(ended.status.success(), "{} failed", self.step);
        Ended {
            printed: printed.split_whitespace().map(|word| word.parse().expect("a number")).collect(),
            cpu_seconds: (ended.rusage.utime + ended.rusage.stime).as_secs_f64(),
            peak_bytes: ended.rusage.maxrss,
        }
    }
}

/// The different positions of a game, by its number.
fn game(number: u64) -> Vec<EpdRecord> {
    let mut random = Random::new((number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let (mut records, mut keys, mut ply) = (Vec::new(), HashSet::new(), 0);
    play(&mut random, |record| {
        ply += 1;
        if ply >= FIRST_PLY && keys.insert(key::position_key(record.position())) {
            records.push(record);
        }
        true
    });
    records
}

/// Processor time of the calling thread.
fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Different positions of games, in the order in which they are played.
#[derive(Default)]
struct Games {
    records: std::vec::IntoIter<EpdRecord>,
    /// Number of games that were played.
    games: u64,
    /// Processor time of playing them.
    playing: Duration,
}

impl Iterator for Games {
    type Item = EpdRecord;

    fn next(&mut self) -> Option<EpdRecord> {
        loop {
            if let Some(record) = self.records.next() {
                return Some(record);
            }
            let start = thread_time();
            self.records = game(self.games).into_iter();
            self.games += 1;
            self.playing += thread_time() - start;
        }
    }
}

/// A contestant in a process of its own.
struct Contestant {
    number: usize,
}

impl Contestant {
    fn store(&self, memory_bytes: usize) -> Box<dyn Store> {
        match self.number {
            0 | 1 => Box::new(Lmdb),
            2 => Box::new(FastArchive { makes_records: false, sorted: true }),
            _ => Box::new(Epdb { options: StoreOptions { memory_bytes, ..Default::default() } }),
        }
    }

    /// Builds the file. Prints the number of games, the nanoseconds of playing them, and those of the calling
    /// thread.
    fn build(&self, folder: &Path, positions: usize) {
        let memory_bytes = argument("--memory-mib", 256) << 20;
        let mut games = Games::default();
        let records = games.by_ref().take(positions);
        match self.number {
            0 => build_sorted_lmdb(folder, memory_bytes, records),
            1 => build_lmdb(folder, records),
            2 => build_archive(folder, memory_bytes, records),
            _ => build_store(folder, memory_bytes, records),
        }
        // The last game may be cut off, so it is not asked for.
        println!("{} {} {}", games.games - 1, games.playing.as_nanos(), thread_time().as_nanos());
    }

    /// Prints the nanoseconds of a lookup.
    fn look_up(&self, folder: &Path, way: &str) {
        let (lookups, games) = (argument("--lookups", 1), argument("--games", 1));
        // Each process that touches pages for the first time has other queries.
        let mut random = Random::new(u64::from(std::process::id()));
        let is_miss = way == "warm misses";
        let mut queries: Vec<Query> = Vec::with_capacity(lookups);
        while queries.len() < lookups {
            let number = random.below(games) + if is_miss { games + 1 } else { 0 };
            let game = game(number as u64);
            if game.is_empty() {
                continue;
            }
            let records = (0..QUERIES_A_GAME).map(|_| &game[random.below(game.len())]);
            queries.extend(records.map(|record| Query::from(record.position())));
        }
        queries.truncate(lookups);
        let reader: Box<dyn Reader> = self.store(argument("--memory-mib", 256) << 20).open(folder);
        // One question opens what the contestant opens late.
        let asked_before = if way == "first touch" { 1 } else { lookups };
        reader.look_up(&mut queries.iter().copied().take(asked_before));
        let start = thread_time();
        let found = reader.look_up(&mut queries.into_iter());
        let time = thread_time() - start;
        // Some positions come in several games.
        let hits = if is_miss { 0..=lookups as u64 / 20 } else { lookups as u64..=u64::MAX };
        assert!(hits.contains(&found.hits), "{} of {lookups} are found", found.hits);
        println!("{:.0}", time.as_nanos() as f64 / lookups as f64);
    }
}

/// Sorts the records by key on disk. A key that two games have is put once.
fn build_sorted_lmdb(folder: &Path, memory_bytes: usize, records: impl Iterator<Item = EpdRecord>) {
    let mut sorter = Sorter::new(folder, memory_bytes);
    let mut bytes = Vec::new();
    for record in records {
        bytes.clear();
        record::encode(&record, &mut bytes).expect("an encodable record");
        let key = key::position_key(record.position());
        sorter.push(&key.to_be_bytes(), &bytes).expect("space on the disk");
    }
    let mut sorted = sorter.finish().expect("space on the disk");
    let mut last = None;
    let rows = std::iter::from_fn(|| {
        loop {
            let (key, bytes) = sorted.next_entry().expect("a temporary file")?;
            let key = u64::from_be_bytes(key.try_into().expect("eight bytes"));
            if last.replace(key) != Some(key) {
                return Some((key, bytes.to_vec()));
            }
        }
    });
    Lmdb::load_sorted(folder, rows);
}

/// Puts the records in commits, each of which is sorted by key.
fn build_lmdb(folder: &Path, mut records: impl Iterator<Item = EpdRecord>) {
    let commits = std::iter::from_fn(|| {
        let commit: Vec<EpdRecord> = records.by_ref().take(COMMIT).collect();
        (!commit.is_empty()).then(|| encoded(&commit, |key| key))
    });
    Lmdb::load_commits(folder, commits);
}

fn build_archive(folder: &Path, memory_bytes: usize, records: impl Iterator<Item = EpdRecord>) {
    let file = fs::File::create(folder.join("epa")).expect("create");
    let options = PackOptions { level: Level::Fast, sorted: true, memory_bytes, ..Default::default() };
    let mut writer = ArchiveWriter::new(std::io::BufWriter::new(file), options).expect("begin");
    records.for_each(|record| writer.push(&record).expect("push"));
    writer.finish().expect("finish").get_ref().sync_all().expect("sync");
}

fn build_store(folder: &Path, memory_bytes: usize, records: impl Iterator<Item = EpdRecord>) {
    let options = StoreOptions { memory_bytes, ..Default::default() };
    let store = epdb_store::Store::create(folder.join("epdb"), &options).expect("create");
    let mut import = store.importer("bench", &ImportOptions::default()).expect("an importer");
    records.for_each(|record| import.push(&record).expect("push"));
    import.finish().expect("finish");
}

//! Growth: an archive, a store and LMDB with 10^6 and 10^7 positions, or more.
//!
//! `cargo bench --manifest-path benches/peers/Cargo.toml --bench growth -- --largest 100000000`
//!
//! Sizes are 10^6, ten times as many, and so on up to `--largest` (10^7 if it is not given). The
//! positions come from random legal games, each with a seed of its own, so none is kept in memory. The
//! files are in the folder for temporary files (`TMPDIR`), one at a time: 10^8 positions take 25 GB.
//!
//! Each step runs in a process of its own. Bytes are those of the files. Processor time and peak memory
//! are those of the process that builds: playing the games, which takes the same time for all, sorting
//! within `--memory-mib` (256), and writing durably. Pages of mapped files count as memory.
//!
//! Lookups are hits, one by one, by queries that are made before the clock starts. Warm: the same
//! queries were asked once before. First touch: another process opens the file, which the system has in
//! memory, so nothing is read from disk; but no page is mapped, so each lookup takes page faults. An
//! opening is asked one question for 256 KiB of the file, so nearly all touch pages for the first time;
//! opening itself is not timed. Each figure is the median of `--rounds` (5) processes.

use std::collections::HashSet;
use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};

use epdb_archive::{ArchiveWriter, Level, PackOptions};
use epdb_chess::codec::query::Query;
use epdb_chess::codec::{key, record};
use epdb_chess::model::EpdRecord;
use epdb_base::spill::Sorter;
use epdb_store::{ImportOptions, StoreOptions};
use epdb_peers::contestants::{Epdb, FastArchive, Lmdb, Store};
use epdb_peers::{Random, argument, median, play, size_of_files, timed};
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
const NAMES: [&str; 3] = ["LMDB", "archive, fast, sorted", "store"];

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
            step => contestant.look_up(Path::new(&folder), step == "warm"),
        };
    }
    println!(
        "{:>11} {:22} {:>15} {:>10} {:>12} {:>24} {:>24}",
        "positions",
        "",
        "bytes/position",
        "CPU s",
        "memory MiB",
        "warm, thousands a s",
        "first touch"
    );
    let largest = argument("--largest", 10_000_000);
    let mut positions = 1_000_000;
    while positions <= largest {
        measure(positions);
        positions *= 10;
    }
}

/// Prints a line for each contestant.
fn measure(positions: usize) {
    let rounds = argument("--rounds", 5);
    let mut first: Option<[f64; 2]> = None;
    for (number, name) in NAMES.iter().enumerate() {
        let folder = tempfile::tempdir().expect("a folder");
        let step = |step: &str, lookups: usize, games: u64| {
            Step { step, folder: folder.path(), number, positions, lookups, games }.run()
        };
        let build = step("build", 0, 0);
        let bytes = size_of_files(folder.path());
        let touches = (bytes / BYTES_A_TOUCH).clamp(20, LOOKUPS as u64) as usize;
        let rate = |way: &str, lookups: usize| {
            let nanoseconds = |_| step(way, lookups, build.printed).printed as f64;
            1e6 / median((0..rounds).map(nanoseconds).collect())
        };
        let rates = [rate("warm", LOOKUPS), rate("touch", touches)];
        let peer = *first.get_or_insert(rates);
        print!(
            "{positions:>11} {name:22} {:15.2} {:10.1} {:12.0}",
            bytes as f64 / positions as f64,
            build.cpu_seconds,
            build.peak_bytes as f64 / f64::from(1 << 20)
        );
        for (rate, peer) in rates.iter().zip(peer) {
            print!(" {rate:11.0} ({:4.2} LMDB)", rate / peer);
        }
        println!();
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

/// Costs of a step, and the number that it printed.
struct Ended {
    printed: u64,
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
        out.read_to_string(&mut printed).expect("a number");
        let ended = child.wait4().expect("an end");
        assert!(ended.status.success(), "{} failed", self.step);
        Ended {
            printed: printed.trim().parse().expect("a number"),
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

/// A contestant in a process of its own.
struct Contestant {
    number: usize,
}

impl Contestant {
    fn store(&self, memory_bytes: usize) -> Box<dyn Store> {
        match self.number {
            0 => Box::new(Lmdb),
            1 => Box::new(FastArchive { makes_records: false, sorted: true }),
            _ => Box::new(Epdb { options: StoreOptions { memory_bytes, ..Default::default() } }),
        }
    }

    /// Builds the file, and prints the number of games that were played.
    fn build(&self, folder: &Path, positions: usize) {
        let memory_bytes = argument("--memory-mib", 256) << 20;
        let mut games = 0;
        let records = (0..).flat_map(|number| {
            games = number + 1;
            game(number)
        });
        let records = records.take(positions);
        match self.number {
            0 => build_lmdb(folder, memory_bytes, records),
            1 => build_archive(folder, memory_bytes, records),
            _ => build_store(folder, memory_bytes, records),
        }
        // The last game may be cut off, so it is not asked for.
        println!("{}", games - 1);
    }

    /// Prints the nanoseconds of a lookup.
    fn look_up(&self, folder: &Path, is_warm: bool) {
        let (lookups, games) = (argument("--lookups", 1), argument("--games", 1));
        // Each process that touches pages for the first time has other queries.
        let mut random = Random::new(u64::from(std::process::id()));
        let mut queries: Vec<Query> = Vec::with_capacity(lookups);
        while queries.len() < lookups {
            let game = game(random.below(games) as u64);
            if game.is_empty() {
                continue;
            }
            let records = (0..QUERIES_A_GAME).map(|_| &game[random.below(game.len())]);
            queries.extend(records.map(|record| Query::from(record.position())));
        }
        queries.truncate(lookups);
        let reader = self.store(argument("--memory-mib", 256) << 20).open(folder);
        if is_warm {
            reader.look_up(&mut queries.iter().copied());
        }
        let (seconds, found) = timed(|| reader.look_up(&mut queries.into_iter()));
        assert!(found.hits >= lookups as u64, "all are found");
        println!("{:.0}", seconds * 1e9 / lookups as f64);
    }
}

/// Sorts the records by key on disk. A key that two games have is put once.
fn build_lmdb(folder: &Path, memory_bytes: usize, records: impl Iterator<Item = EpdRecord>) {
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

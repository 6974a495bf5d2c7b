//! Lookups in an archive of level fast, compared with SQLite, LMDB, plain redb and epdb's own store.
//!
//! All contestants get the same lines of FEN text. The same parser reads them into packed board and key within the
//! measured time, so only the lookup differs. The peers hold encoded records by key, one per position. They compare
//! the packed board of every hit, as epdb does, and use one read transaction and one prepared statement for all
//! queries. Queries come in random order, all hits or all misses, one by one or all at once; if all at once, the
//! peers sort them by key, which suits them best. The archive does not sort, and checks two checksums per lookup. It
//! returns records (as values, not bytes) or only their numbers, and has its rows in the order of their keys or of
//! the input.
//!
//! One thread, interleaved rounds, and the best round of each counts, because disturbances only slow a round down.
//! In the end all threads query one archive, each with its part of the lines. The cost of a lookup beyond reading
//! its line is also given in loads of cache lines, from as many bytes as the archive has: independent loads for
//! batches, dependent loads for single queries.
//!
//! `cargo bench --manifest-path benches/peers/Cargo.toml --bench archive -- --positions 5000000
//! --rounds 5 --lookups 1000000 --cache-mib 1024`

use std::ops::ControlFlow;
use std::collections::HashSet;
use std::fs;
use std::hint::black_box;
use std::ops::Range;
use std::thread;

use epdb_archive::{Archive, ArchiveError, Match};
use epdb_chess::codec::identity;
use epdb_chess::codec::query::{Query, SkipTo};
use epdb_chess::model::EpdRecord;
use epdb_store::StoreOptions;
use epdb_peers::contestants::{Epdb, FastArchive, Found, Lmdb, Reader, Redb, Sqlite, Store};
use epdb_peers::{CacheLines, Random, argument, records, size_of_files, timed};

/// Lines of text, end to end.
struct Lines {
    text: Vec<u8>,
    ends: Vec<usize>,
}

impl Lines {
    fn new<'a>(records: impl Iterator<Item = &'a EpdRecord>) -> Lines {
        let mut lines = Lines { text: Vec::new(), ends: Vec::new() };
        for record in records {
            lines.text.extend_from_slice(&epdb_chess::format_epd(record));
            lines.ends.push(lines.text.len());
        }
        lines
    }

    /// Reads the lines.
    fn queries(&self) -> impl Iterator<Item = Query> {
        self.queries_of(0..self.ends.len())
    }

    /// Reads some of the lines.
    fn queries_of(&self, places: Range<usize>) -> impl Iterator<Item = Query> {
        places.map(|place| {
            let start = place.checked_sub(1).map_or(0, |before| self.ends[before]);
            let line = &self.text[start..self.ends[place]];
            Query::from(identity::read_fields(line).expect("a usual line"))
        })
    }

    /// The places of the lines in as many parts as there are threads.
    fn parts(&self) -> impl Iterator<Item = Range<usize>> {
        let threads = thread::available_parallelism().map_or(1, usize::from);
        let (end, step) = (self.ends.len(), self.ends.len().div_ceil(threads).max(1));
        (0..end).step_by(step).map(move |start| start..(start + step).min(end))
    }
}

/// The ways to ask: hits and misses, one by one and all at once.
const WAYS: [&str; 4] = ["hits 1 by 1", "misses", "hits at once", "misses"];

fn main() {
    let count = argument("--positions", 5_000_000);
    let rounds = argument("--rounds", 5);
    let lookups = argument("--lookups", 1_000_000);
    let cache = argument("--cache-mib", 1024) << 20;

    let mut taken = HashSet::with_capacity(count + lookups);
    let records = records(count, 1, &mut taken);
    let misses = Lines::new(epdb_peers::records(lookups, 2, &mut taken).iter());
    drop(taken);
    let mut random = Random::new(3);
    let hits = Lines::new((0..lookups).map(|_| &records[random.below(count)]));

    let sqlite = |with_rowid, mapped| Box::new(Sqlite { cache, with_rowid, mapped });
    let archive = |makes_records, sorted| Box::new(FastArchive { makes_records, sorted });
    let stores: [Box<dyn Store>; 10] = [
        archive(false, true),
        archive(true, true),
        archive(false, false),
        archive(true, false),
        Box::new(Epdb { options: StoreOptions { memory_bytes: cache, ..Default::default() } }),
        sqlite(false, true),
        sqlite(true, false),
        sqlite(true, true),
        Box::new(Lmdb),
        Box::new(Redb { cache }),
    ];
    let directories: Vec<_> =
        stores.iter().map(|_| tempfile::tempdir().expect("a directory")).collect();
    let path = |number: usize| directories[number].path().join("store");
    for (number, store) in stores.iter().enumerate() {
        fs::create_dir(path(number)).expect("a directory");
        store.load(&path(number), &records);
    }
    drop(records);
    let readers: Vec<_> =
        stores.iter().enumerate().map(|(number, store)| store.open(&path(number))).collect();

    let parsing = (0..rounds).map(|_| timed(|| read(&mut hits.queries())).0);
    let parsing = lookups as f64 / parsing.fold(f64::MAX, f64::min) / 1e3;
    let mut best = vec![[0.0f64; 4]; stores.len()];
    let mut sums = [0; 4];
    let lines = CacheLines::new(size_of_files(&path(0)) as usize, &mut random);
    let (mut independent, mut dependent) = (f64::MAX, f64::MAX);
    for _ in 0..rounds {
        let nanoseconds = |seconds: f64| seconds * 1e9 / lookups as f64;
        let loads = timed(|| black_box(lines.load_independent(lookups, &mut random))).0;
        independent = independent.min(nanoseconds(loads));
        let loads = timed(|| black_box(lines.load_dependent(lookups))).0;
        dependent = dependent.min(nanoseconds(loads));
        for (reader, best) in readers.iter().zip(&mut best) {
            for (way, best) in best.iter_mut().enumerate() {
                let lines = [&hits, &misses][way % 2];
                let (seconds, found) = timed(|| ask(&**reader, way, lines));
                let expected = if way % 2 == 0 { lookups as u64 } else { 0 };
                assert_eq!(found.hits, expected, "everyone finds the same");
                if found.sum > 0 {
                    let known = if sums[way] == 0 { found.sum } else { sums[way] };
                    assert_eq!(found.sum, known, "everyone reads the same");
                    sums[way] = known;
                }
                *best = best.max(lookups as f64 / seconds / 1e3);
            }
        }
    }

    println!(
        "{count} positions, {lookups} lookups a round, best of {rounds} rounds, caches {} MiB; \
         thousands a second from FEN text, in brackets how many times as fast the sorted archive is \
         that gives numbers; reading the text alone: {parsing:.0}",
        cache >> 20
    );
    print!("{:22}{:>13}", "", "bytes/record");
    WAYS.iter().for_each(|way| print!("{way:>18}"));
    println!();
    for (number, (store, rates)) in stores.iter().zip(&best).enumerate() {
        let size = size_of_files(&path(number)) as f64 / count as f64;
        print!("{:22}{size:13.2}", store.name());
        for (rate, ours) in rates.iter().zip(best[0]) {
            print!("{rate:9.0} ({:6.2})", ours / rate);
        }
        println!();
    }
    let archive = Archive::open(path(0).join("epa")).expect("open");
    for (way, lines, expected) in [(2, &hits, lookups), (3, &misses, 0)] {
        let rate = (0..rounds).map(|_| {
            let (seconds, found) = timed(|| ask_on_all_threads(&archive, lines));
            assert_eq!(found, expected, "the same as on one thread");
            lookups as f64 / seconds / 1e3
        });
        let rate = rate.fold(0.0, f64::max);
        let sqlite = stores.iter().zip(&best).filter(|(store, _)| store.name().contains("SQLite"));
        let sqlite = sqlite.map(|(_, best)| best[way - 2]).fold(0.0, f64::max);
        println!(
            "{} on {} threads: {rate:.0}, {:.2} times one thread, {:.2} times SQLite one by one",
            WAYS[way],
            lines.parts().count(),
            rate / best[0][way],
            rate / sqlite,
        );
    }
    println!("a load of a cache line: {independent:.1} ns, {dependent:.1} ns after another");
    for number in [0, 2] {
        println!("{}:", stores[number].name().trim());
        print_loads(best[number], parsing, independent, dependent);
    }
}

/// Loads of cache lines that lookups in an archive add to the reading of text.
fn print_loads(rates: [f64; 4], parsing: f64, independent: f64, dependent: f64) {
    for (way, rate) in WAYS.iter().zip(rates) {
        let added = 1e6 / rate - 1e6 / parsing;
        let (independent, dependent) = (added / independent, added / dependent);
        println!(
            "{way:18} {added:6.1} ns beyond reading: {independent:5.2} loads, or {dependent:5.2} \
             one after another"
        );
    }
}

/// Makes the queries as everyone is given them, and asks nothing.
fn read(queries: &mut dyn Iterator<Item = Query>) {
    queries.for_each(|query| {
        black_box(&query);
    });
}

/// Number of lines of a text that are in an archive, looked up by all threads.
fn ask_on_all_threads(archive: &Archive, lines: &Lines) -> usize {
    let count = |part: Range<usize>| {
        let mut hits = 0;
        let visit = |_, _: Match<'_>| {
            hits += 1;
            Ok::<ControlFlow<SkipTo>, ArchiveError>(ControlFlow::Continue(()))
        };
        archive.get_batch(lines.queries_of(part), visit).expect("a sound archive");
        hits
    };
    let count = &count;
    thread::scope(|scope| {
        let threads: Vec<_> = lines.parts().map(|part| scope.spawn(move || count(part))).collect();
        threads.into_iter().map(|thread| thread.join().expect("a thread")).sum()
    })
}

fn ask(reader: &dyn Reader, way: usize, lines: &Lines) -> Found {
    match way / 2 {
        0 => reader.look_up(&mut lines.queries()),
        _ => reader.look_up_batch(&mut lines.queries()),
    }
}

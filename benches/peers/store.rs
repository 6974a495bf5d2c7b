//! epdb's store compared with SQLite, LMDB and plain redb: loading records of different positions and finding
//! them again.
//!
//! Conditions are equal as far as possible. All get the same records in the same encoding, in the order of their
//! games, then sorted by key on all cores and committed durably. All have the same cache budget, if they have one
//! (LMDB maps its file and may use all of memory). All get the same queries, each made from a position or from FEN
//! text within the measured time, on one thread, one by one or 4,096 at once. epdb takes those as a batch, and the
//! peers sort them by key, which suits them best. Every hit is verified by comparing its packed board, and its last
//! bytes are read. epdb also checks a checksum, and could keep many records per key; the peers' layouts cannot.
//!
//! Rounds are interleaved; each figure is the median of its rounds. The cost of making the queries alone is given
//! too, and that of loads of cache lines from as many bytes as epdb's file has.
//!
//! `cargo bench --manifest-path benches/peers/Cargo.toml --bench store -- --positions 10000000 --rounds 5
//! --lookups 500000 --cache-mib 256`

use std::collections::HashSet;
use std::fs;

use std::hint::black_box;

use epdb_chess::codec::identity;
use epdb_chess::codec::query::Query;
use epdb_chess::model::{EpdRecord, Position};
use epdb_store::StoreOptions;
use epdb_peers::contestants::{Epdb, Found, Lmdb, Reader, Redb, Sqlite, Store, encoded};
use epdb_peers::{CacheLines, Random, argument, median, records, size_of_files, timed};

/// Questions that are there at once.
const AT_ONCE: usize = 4096;

/// The figures of one store, a column each.
#[derive(Default)]
struct Figures {
    load_seconds: Vec<f64>,
    bytes_a_record: f64,
    /// By way of asking, lookups a second.
    rates: [Vec<f64>; WAYS.len()],
}

/// Queries of the stores.
struct Questions {
    hits: Vec<Position>,
    misses: Vec<Position>,
    hits_as_text: Vec<Vec<u8>>,
}

impl Questions {
    /// Queries of a kind, made when they are taken.
    fn of(&self, kind: Kind) -> Box<dyn Iterator<Item = Query> + '_> {
        let of_text = |text: &Vec<u8>| identity::read_fields(text).expect("a usual line").into();
        match kind {
            Kind::Hits => Box::new(self.hits.iter().map(Query::from)),
            Kind::Misses => Box::new(self.misses.iter().map(Query::from)),
            Kind::HitsAsText => Box::new(self.hits_as_text.iter().map(of_text)),
        }
    }
}

#[derive(Copy, Clone)]
enum Kind {
    Hits,
    Misses,
    HitsAsText,
}

/// A way of asking: what, and whether all at once.
struct Way {
    name: &'static str,
    kind: Kind,
    at_once: bool,
}

const WAYS: [Way; 6] = [
    Way { name: "hits", kind: Kind::Hits, at_once: false },
    Way { name: "misses", kind: Kind::Misses, at_once: false },
    Way { name: "hits, FEN", kind: Kind::HitsAsText, at_once: false },
    Way { name: "hits at once", kind: Kind::Hits, at_once: true },
    Way { name: "misses", kind: Kind::Misses, at_once: true },
    Way { name: "hits, FEN", kind: Kind::HitsAsText, at_once: true },
];

impl Way {
    fn ask(&self, reader: &dyn Reader, questions: &Questions) -> Found {
        let mut queries = questions.of(self.kind);
        if !self.at_once {
            return reader.look_up(&mut queries);
        }
        let mut queries = queries.peekable();
        let mut all = Found::default();
        while queries.peek().is_some() {
            let found = reader.look_up_batch(&mut queries.by_ref().take(AT_ONCE));
            all = Found { hits: all.hits + found.hits, sum: all.sum + found.sum };
        }
        all
    }
}

fn main() {
    let count = argument("--positions", 2_000_000);
    let rounds = argument("--rounds", 5);
    let cache = argument("--cache-mib", 256) << 20;
    let lookups = argument("--lookups", 500_000);

    let mut taken = HashSet::with_capacity(count + lookups);
    let records = records(count, 1, &mut taken);
    let misses = epdb_peers::records(lookups, 2, &mut taken);
    drop(taken);
    let mut random = Random::new(3);
    let hits: Vec<_> = (0..lookups).map(|_| records[random.below(count)].clone()).collect();
    let position = |record: &EpdRecord| *record.position();
    let questions = Questions {
        hits: hits.iter().map(position).collect(),
        misses: misses.iter().map(position).collect(),
        hits_as_text: hits.iter().map(epdb_chess::format_epd).collect(),
    };

    let stores: [Box<dyn Store>; 6] = [
        Box::new(Epdb { options: StoreOptions { memory_bytes: cache, ..Default::default() } }),
        Box::new(Sqlite { cache, with_rowid: false, mapped: false }),
        Box::new(Sqlite { cache, with_rowid: false, mapped: true }),
        Box::new(Sqlite { cache, with_rowid: true, mapped: false }),
        Box::new(Lmdb),
        Box::new(Redb { cache }),
    ];
    let figures = measure(&stores, &records, &questions, rounds);

    let bytes: usize = encoded(&records, |key| key).iter().map(|row| row.1.len()).sum();
    println!(
        "{count} records of different positions, {:.1} bytes each when encoded; {lookups} lookups \
         a round, {rounds} rounds, caches {} MiB; in brackets how much better epdb is",
        bytes as f64 / count as f64,
        cache >> 20
    );
    print_table(&stores, &figures);
    print_floor(&questions, figures[0].bytes_a_record * count as f64, &mut random);
}

fn measure(
    stores: &[Box<dyn Store>],
    records: &[EpdRecord],
    questions: &Questions,
    rounds: usize,
) -> Vec<Figures> {
    let mut figures: Vec<Figures> = stores.iter().map(|_| Figures::default()).collect();
    let directories: Vec<_> =
        stores.iter().map(|_| tempfile::tempdir().expect("a directory")).collect();
    let path = |store: usize| directories[store].path().join("store");
    for round in 0..rounds {
        for (number, store) in stores.iter().enumerate() {
            if round > 0 {
                fs::remove_dir_all(path(number)).expect("remove");
            }
            fs::create_dir(path(number)).expect("a directory");
            let (seconds, ()) = timed(|| store.load(&path(number), records));
            figures[number].load_seconds.push(seconds);
            figures[number].bytes_a_record =
                size_of_files(&path(number)) as f64 / records.len() as f64;
        }
    }

    let readers: Vec<_> =
        stores.iter().enumerate().map(|(number, store)| store.open(&path(number))).collect();
    let lookups = questions.hits.len();
    let mut expected = [None; WAYS.len()];
    for _ in 0..rounds {
        for (reader, figures) in readers.iter().zip(&mut figures) {
            for (nth, way) in WAYS.iter().enumerate() {
                let (seconds, found) = timed(|| way.ask(&**reader, questions));
                assert_eq!(*expected[nth].get_or_insert(found), found, "all find the same");
                figures.rates[nth].push(lookups as f64 / seconds);
            }
        }
    }
    let hits = expected.map(|found| found.map_or(0, |found| found.hits as usize));
    assert_eq!(hits, [lookups, 0, lookups, lookups, 0, lookups]);
    figures
}

/// One line a store; in brackets how many times better (or worse, below 1) epdb is.
fn print_table(stores: &[Box<dyn Store>], figures: &[Figures]) {
    let loading =
        |figures: &Figures| [median(figures.load_seconds.clone()), figures.bytes_a_record];
    let rate = |figures: &Figures, way: usize| median(figures.rates[way].clone()) / 1000.0;
    print!("{:22}{:>16}{:>16}", "thousands a second", "load s", "bytes/record");
    WAYS.iter().for_each(|way| print!("{:>16}", way.name));
    println!();
    for (store, theirs) in stores.iter().zip(figures) {
        print!("{:22}", store.name());
        for (figure, ours) in loading(theirs).into_iter().zip(loading(&figures[0])) {
            print!("{figure:9.2} ({:.2})", figure / ours);
        }
        for way in 0..WAYS.len() {
            let figure = rate(theirs, way);
            print!("{figure:9.0} ({:.2})", rate(&figures[0], way) / figure);
        }
        println!();
    }
}

/// Lower bound of all contestants: making the queries, and loads of cache lines.
fn print_floor(questions: &Questions, bytes: f64, random: &mut Random) {
    let lookups = questions.hits.len();
    let nanoseconds = |work: &mut dyn FnMut() -> u64| {
        let seconds = (0..5).map(|_| timed(|| black_box(work())).0).collect();
        median(seconds) * 1e9 / lookups as f64
    };
    let making =
        |kind| nanoseconds(&mut || questions.of(kind).fold(0, |all, query| all ^ query.key()));
    let (positions, text) = (making(Kind::Hits), making(Kind::HitsAsText));
    let lines = CacheLines::new(bytes as usize, random);
    let dependent = nanoseconds(&mut || lines.load_dependent(lookups));
    let independent = nanoseconds(&mut || lines.load_independent(lookups, random));
    println!(
        "nanoseconds: {positions:.0} to make a question of a position, {text:.0} of FEN text; \
         {dependent:.0} a load of a cache line that waits for the one before, {independent:.0} \
         one that does not"
    );
}

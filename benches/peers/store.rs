//! epdb's store beside SQLite, LMDB and plain redb: loading records of different positions and
//! finding them again.
//!
//! Everything is equal that can be: the same records in the same encoding, given in the order of
//! the games they come from, encoded, then sorted by key on all cores, then committed durably;
//! the same budget of cache for all that have one (LMDB has none: it maps its file and may use
//! all of memory); the same questions, each made from a position or from FEN text within the
//! measured time, on one thread; and every hit is verified by comparing its packed board, and its
//! last bytes are read. epdb checks a checksum on top of that, and could keep many records a key;
//! the peers are laid out so that they cannot. Rounds are interleaved; each figure is the median
//! of its rounds.
//!
//! `cargo bench --manifest-path benches/peers/Cargo.toml --bench store -- --positions 10000000 --rounds 5
//! --lookups 500000 --cache-mib 256`

use std::collections::HashSet;
use std::fs;

use epdb::codec::query::Query;
use epdb::model::{EpdRecord, Position};
use epdb::store::StoreOptions;
use epdb::text::{Profile, fen};
use epdb_peers::contestants::{Epdb, Found, Lmdb, Reader, Redb, Sqlite, Store, encoded};
use epdb_peers::{Random, argument, median, records, size_of_files, timed};

/// The figures of one store, a column each.
#[derive(Default)]
struct Figures {
    load_seconds: Vec<f64>,
    bytes_a_record: f64,
    hits: Vec<f64>,
    misses: Vec<f64>,
    from_text: Vec<f64>,
}

/// What the stores are asked.
struct Questions {
    hits: Vec<Position>,
    misses: Vec<Position>,
    hits_as_text: Vec<Vec<u8>>,
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
        hits_as_text: hits.iter().map(epdb::format_epd).collect(),
    };

    let stores: [Box<dyn Store>; 6] = [
        Box::new(Epdb { options: StoreOptions::new().memory_bytes(cache) }),
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
    type Positions<'a> = &'a mut dyn Iterator<Item = Position>;
    let per_second = |reader: &dyn Reader, expected: &mut Option<Found>, positions: Positions| {
        let mut queries = positions.map(|position| Query::from(&position));
        let (seconds, found) = timed(|| reader.look_up(&mut queries));
        assert_eq!(*expected.get_or_insert(found), found, "all stores find the same");
        seconds
    };
    let lookups = questions.hits.len();
    let mut expected = [None; 3];
    for _ in 0..rounds {
        for (reader, figures) in readers.iter().zip(&mut figures) {
            let mut ask = |kind: usize, positions: Positions| {
                lookups as f64 / per_second(&**reader, &mut expected[kind], positions)
            };
            figures.hits.push(ask(0, &mut questions.hits.iter().copied()));
            figures.misses.push(ask(1, &mut questions.misses.iter().copied()));
            let mut parsed = questions
                .hits_as_text
                .iter()
                .map(|text| *fen::parse(text, Profile::Standard).expect("a FEN").position());
            figures.from_text.push(ask(2, &mut parsed));
        }
    }
    let hits = expected.map(|found| found.map_or(0, |found| found.hits));
    assert_eq!(hits, [lookups as u64, 0, lookups as u64]);
    figures
}

/// One line a store; in brackets how many times better (or worse, below 1) epdb is.
fn print_table(stores: &[Box<dyn Store>], figures: &[Figures]) {
    let columns = |figures: &Figures| {
        let thousands = |rates: &[f64]| median(rates.to_vec()) / 1000.0;
        [
            median(figures.load_seconds.clone()),
            figures.bytes_a_record,
            thousands(&figures.hits),
            thousands(&figures.misses),
            thousands(&figures.from_text),
        ]
    };
    let ours = columns(&figures[0]);
    println!(
        "{:22}{:>16}{:>16}{:>16}{:>16}{:>16}",
        "", "load s", "bytes/record", "hits k/s", "misses k/s", "FEN text k/s"
    );
    for (store, figures) in stores.iter().zip(figures) {
        print!("{:22}", store.name());
        for (column, (figure, ours)) in columns(figures).into_iter().zip(ours).enumerate() {
            let ratio = if column < 2 { figure / ours } else { ours / figure };
            let digits = if column < 2 { 2 } else { 0 };
            print!("{figure:9.digits$} ({ratio:.2})");
        }
        println!();
    }
}

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
//! `cargo bench --manifest-path benches/peers/Cargo.toml -- --positions 10000000 --rounds 5
//! --lookups 500000 --cache-mib 256`

use std::collections::HashSet;
use std::fs;
use std::ops::Bound;
use std::path::{Path, PathBuf};

use epdb::codec::record;
use epdb::model::{EpdRecord, Position};
use epdb::store::{ImportOptions, StoreOptions};
use epdb::text::{Profile, fen};
use epdb_peers::{Found, Query, Random, argument, median, records, timed};
use heed::CommitOrAbort::{self, Commit};
use heed::IntegerComparator;
use heed::byteorder::NativeEndian;
use heed::types::{Bytes, U64};
use rayon::slice::ParallelSliceMut;
use redb::ReadableDatabase;

type Positions<'a> = &'a mut dyn Iterator<Item = Position>;

/// A store that keeps its file in a directory of its own.
trait Store {
    fn name(&self) -> &'static str;
    /// Puts all records into a new file, durably.
    fn load(&self, directory: &Path, records: &[EpdRecord]);
    /// Opens what was loaded.
    fn open(&self, directory: &Path) -> Box<dyn Reader>;
}

trait Reader {
    fn look_up(&self, positions: Positions) -> Found;
}

/// What the peers load: encoded records in the order in which they sort keys.
fn encoded<K: Ord>(records: &[EpdRecord], order: fn(u64) -> K) -> Vec<(u64, Vec<u8>)> {
    let mut rows: Vec<_> = records
        .iter()
        .map(|record| {
            let mut bytes = Vec::with_capacity(40);
            record::encode(record, &mut bytes).expect("an encodable record");
            (Query::new(record.position()).key, bytes)
        })
        .collect();
    rows.par_sort_unstable_by_key(|row| order(row.0));
    rows
}

/// Whether an encoded record is of this board.
fn is_of(query: &Query, bytes: &[u8]) -> bool {
    record::board_of(bytes).is_ok_and(|board| board == query.board.as_bytes())
}

struct Epdb {
    options: StoreOptions,
}

impl Store for Epdb {
    fn name(&self) -> &'static str {
        "epdb"
    }

    fn load(&self, directory: &Path, records: &[EpdRecord]) {
        let store = epdb::store::Store::create(directory.join("epdb"), &self.options);
        let store = store.expect("create");
        let mut import = store.importer("bench", &ImportOptions::default()).expect("an importer");
        records.iter().for_each(|record| import.push(record).expect("push"));
        import.finish().expect("finish");
    }

    fn open(&self, directory: &Path) -> Box<dyn Reader> {
        let path = directory.join("epdb");
        let store = epdb::store::Store::open_read_only(path, &self.options).expect("open");
        let reader = store.reader().expect("a reader");
        Box::new((reader, store))
    }
}

impl Reader for (epdb::store::Reader, epdb::store::Store) {
    fn look_up(&self, positions: Positions) -> Found {
        let mut found = Found::default();
        for position in positions {
            let mut matches = self.0.get(&position);
            while let Some(record) = matches.next_encoded() {
                found.note(record.expect("a sound record").bytes);
            }
        }
        found
    }
}

struct Sqlite {
    cache: usize,
    with_rowid: bool,
    /// Whether it reads its file through a mapping, as LMDB does, besides its cache.
    mapped: bool,
}

impl Sqlite {
    fn connect(&self, directory: &Path) -> rusqlite::Connection {
        let connection = rusqlite::Connection::open(directory.join("sqlite")).expect("open");
        let kib = self.cache >> 10;
        let mapped = if self.mapped { i64::MAX } else { 0 };
        let pragmas = format!(
            "PRAGMA synchronous=FULL; PRAGMA cache_size=-{kib}; PRAGMA mmap_size={mapped};"
        );
        connection.execute_batch(&pragmas).expect("pragmas");
        connection
    }
}

impl Store for Sqlite {
    fn name(&self) -> &'static str {
        match (self.with_rowid, self.mapped) {
            (true, _) => "SQLite, rowid = key",
            (false, false) => "SQLite WITHOUT ROWID",
            (false, true) => "  the same, mapped",
        }
    }

    fn load(&self, directory: &Path, records: &[EpdRecord]) {
        let rows = encoded(records, u64::cast_signed);
        let mut connection = self.connect(directory);
        let layout = if self.with_rowid { "" } else { "WITHOUT ROWID" };
        let create = format!("CREATE TABLE t (key INTEGER PRIMARY KEY, record BLOB) {layout}");
        connection.execute_batch(&create).expect("create");
        let transaction = connection.transaction().expect("begin");
        let mut insert = transaction.prepare("INSERT INTO t VALUES (?1, ?2)").expect("insert");
        for (key, bytes) in &rows {
            insert.execute((key.cast_signed(), bytes)).expect("insert");
        }
        drop(insert);
        transaction.commit().expect("commit");
    }

    fn open(&self, directory: &Path) -> Box<dyn Reader> {
        Box::new(self.connect(directory))
    }
}

impl Reader for rusqlite::Connection {
    fn look_up(&self, positions: Positions) -> Found {
        let mut found = Found::default();
        self.execute_batch("BEGIN").expect("begin");
        let mut select = self.prepare("SELECT record FROM t WHERE key = ?1").expect("select");
        for position in positions {
            let query = Query::new(&position);
            let mut rows = select.query([query.key.cast_signed()]).expect("query");
            if let Some(row) = rows.next().expect("row") {
                let bytes = row.get_ref(0).and_then(|value| Ok(value.as_blob()?)).expect("a blob");
                if is_of(&query, bytes) {
                    found.note(bytes);
                }
            }
        }
        drop(select);
        self.execute_batch("COMMIT").expect("commit");
        found
    }
}

/// With keys compared as integers, which is a quarter faster than as bytes.
struct Lmdb;

type LmdbTable<'e> = heed::Database<'e, U64<NativeEndian>, Bytes, IntegerComparator>;

impl Lmdb {
    fn environment(directory: &Path) -> heed::Env {
        let mut options = heed::EnvOpenOptions::new();
        options.map_size(64 << 30);
        // SAFETY: no other process and no second environment opens the files while this one lives.
        unsafe { options.open(directory) }.expect("open")
    }
}

impl Store for Lmdb {
    fn name(&self) -> &'static str {
        "LMDB"
    }

    fn load(&self, directory: &Path, records: &[EpdRecord]) {
        let rows = encoded(records, |key| key);
        let environment = Lmdb::environment(directory);
        let table = environment.create_databases_and_commit(
            environment.write_txn().expect("begin"),
            |creator, transaction| {
                let options = creator.database_options().types().key_comparator();
                options.create(transaction).map(Commit)
            },
        );
        let table: LmdbTable = committed(table);
        let mut transaction = environment.write_txn().expect("begin");
        for (key, bytes) in &rows {
            table
                .put_with_flags(&mut transaction, heed::PutFlags::APPEND, key, bytes)
                .expect("put");
        }
        transaction.commit().expect("commit");
        environment.prepare_for_closing().wait();
    }

    fn open(&self, directory: &Path) -> Box<dyn Reader> {
        Box::new(Lmdb::environment(directory))
    }
}

fn committed<T>(outcome: heed::Result<CommitOrAbort<T, ()>>) -> T {
    outcome.expect("an open table").unwrap_commit()
}

impl Reader for heed::Env {
    fn look_up(&self, positions: Positions) -> Found {
        let table = self.open_databases_and_commit(
            self.read_txn().expect("begin"),
            |opener, transaction| {
                opener.database_options().types().key_comparator().open(transaction).map(Commit)
            },
        );
        let table: Option<LmdbTable> = committed(table);
        let table = table.expect("the table");
        let transaction = self.read_txn().expect("begin");
        let mut found = Found::default();
        for position in positions {
            let query = Query::new(&position);
            match table.get(&transaction, &query.key).expect("get") {
                Some(bytes) if is_of(&query, bytes) => found.note(bytes),
                _ => {}
            }
        }
        found
    }
}

/// One entry a record, sorted insertion by cursor.
struct Redb {
    cache: usize,
}

const REDB_TABLE: redb::TableDefinition<u64, &[u8]> = redb::TableDefinition::new("t");

impl Redb {
    fn database(&self, directory: &Path) -> redb::Database {
        let mut builder = redb::Database::builder();
        builder.set_cache_size(self.cache).create(directory.join("redb")).expect("open")
    }
}

impl Store for Redb {
    fn name(&self) -> &'static str {
        "redb, entry a record"
    }

    fn load(&self, directory: &Path, records: &[EpdRecord]) {
        let rows = encoded(records, |key| key);
        let mut database = self.database(directory);
        let transaction = database.begin_write().expect("begin");
        {
            let mut table = transaction.open_table(REDB_TABLE).expect("table");
            let mut end = table.upper_bound_mut(Bound::<u64>::Unbounded).expect("cursor");
            for (key, bytes) in &rows {
                end.insert_before(*key, bytes.as_slice()).expect("insert");
            }
        }
        transaction.commit().expect("commit");
        database.compact().expect("compact");
    }

    fn open(&self, directory: &Path) -> Box<dyn Reader> {
        Box::new(self.database(directory))
    }
}

impl Reader for redb::Database {
    fn look_up(&self, positions: Positions) -> Found {
        let transaction = self.begin_read().expect("begin");
        let table = transaction.open_table(REDB_TABLE).expect("table");
        let mut found = Found::default();
        for position in positions {
            let query = Query::new(&position);
            if let Some(value) = table.get(query.key).expect("get")
                && is_of(&query, value.value())
            {
                found.note(value.value());
            }
        }
        found
    }
}

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
                size_of_files(path(number)) as f64 / records.len() as f64;
        }
    }

    let readers: Vec<_> =
        stores.iter().enumerate().map(|(number, store)| store.open(&path(number))).collect();
    let per_second = |reader: &dyn Reader, expected: &mut Option<Found>, positions: Positions| {
        let (seconds, found) = timed(|| reader.look_up(positions));
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
                .map(|text| *fen::read(text, Profile::Standard).expect("a FEN").position());
            figures.from_text.push(ask(2, &mut parsed));
        }
    }
    let hits = expected.map(|found| found.map_or(0, |found| found.hits));
    assert_eq!(hits, [lookups as u64, 0, lookups as u64]);
    figures
}

fn size_of_files(directory: PathBuf) -> u64 {
    let files = fs::read_dir(directory).expect("a directory");
    files.map(|file| file.and_then(|file| file.metadata()).expect("a file").len()).sum()
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

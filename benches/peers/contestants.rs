//! The compared stores. Each keeps one record per position, found by the position's key, and compares the packed
//! board of each hit.

use std::ops::ControlFlow;
use std::fs;
use std::ops::Bound;
use std::path::Path;

use epdb_archive::{Archive, ArchiveError, Level, Match, PackOptions};
use epdb_chess::codec::query::{Query, SkipTo};
use epdb_chess::codec::{key, record};
use epdb_chess::model::EpdRecord;
use epdb_store::{ImportOptions, StoreOptions};
use heed::CommitOrAbort::{self, Commit};
use heed::IntegerComparator;
use heed::byteorder::NativeEndian;
use heed::types::{Bytes, U64};
use rayon::slice::ParallelSliceMut;
use redb::ReadableDatabase;

/// A store that keeps its file in a directory of its own.
pub trait Store {
    fn name(&self) -> &'static str;
    /// Puts all records into a new file, durably.
    fn load(&self, directory: &Path, records: &[EpdRecord]);
    /// Opens what was loaded.
    fn open(&self, directory: &Path) -> Box<dyn Reader>;
}

pub trait Reader {
    /// Looks queries up one by one, as they come.
    fn look_up(&self, queries: &mut dyn Iterator<Item = Query>) -> Found;

    /// Looks queries up that are there all at once: sorted by key, where nothing is better.
    fn look_up_batch(&self, queries: &mut dyn Iterator<Item = Query>) -> Found {
        let mut queries: Vec<Query> = queries.collect();
        queries.sort_unstable_by_key(|query| self.order(query.key()));
        self.look_up(&mut queries.into_iter())
    }

    /// The order in which it sorts keys.
    fn order(&self, key: u64) -> u64 {
        key
    }
}

/// Results, to compare the stores with each other.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct Found {
    /// Number of positions with a record.
    pub hits: u64,
    /// A sum over the data after the boards (the counters); 0 for contestants that do not read it.
    pub sum: u64,
}

impl Found {
    /// Takes note of one encoded record.
    pub fn note(&mut self, record: &[u8]) {
        self.hits += 1;
        self.sum += record.iter().rev().take(2).map(|&byte| u64::from(byte)).sum::<u64>();
    }
}

/// Input of the peers: encoded records in the order of their keys.
pub fn encoded<K: Ord>(records: &[EpdRecord], order: fn(u64) -> K) -> Vec<(u64, Vec<u8>)> {
    let mut rows: Vec<_> = records
        .iter()
        .map(|record| {
            let mut bytes = Vec::with_capacity(40);
            record::encode(record, &mut bytes).expect("an encodable record");
            (key::position_key(record.position()), bytes)
        })
        .collect();
    rows.par_sort_unstable_by_key(|row| order(row.0));
    rows
}

/// Whether an encoded record is of this board.
fn is_of(query: &Query, bytes: &[u8]) -> bool {
    record::board_of(bytes).is_ok_and(|board| board == query.board().as_bytes())
}

/// epdb's store.
pub struct Epdb {
    /// Opens it.
    pub options: StoreOptions,
}

impl Store for Epdb {
    fn name(&self) -> &'static str {
        "epdb store"
    }

    fn load(&self, directory: &Path, records: &[EpdRecord]) {
        let store = epdb_store::Store::create(directory.join("epdb"), &self.options);
        let store = store.expect("create");
        let mut import = store.importer("bench", &ImportOptions::default()).expect("an importer");
        records.iter().for_each(|record| import.push(record).expect("push"));
        import.finish().expect("finish");
    }

    fn open(&self, directory: &Path) -> Box<dyn Reader> {
        let path = directory.join("epdb");
        let store = epdb_store::Store::open_read_only(path, &self.options).expect("open");
        let reader = store.reader().expect("a reader");
        Box::new((reader, store))
    }
}

impl Reader for (epdb_store::Reader, epdb_store::Store) {
    fn look_up(&self, queries: &mut dyn Iterator<Item = Query>) -> Found {
        let mut found = Found::default();
        for query in queries {
            let mut matches = self.0.matches(query);
            while let Some(record) = matches.next_encoded() {
                found.note(record.expect("a sound record").bytes());
            }
        }
        found
    }

    fn look_up_batch(&self, queries: &mut dyn Iterator<Item = Query>) -> Found {
        let mut found = Found::default();
        let visit = |_, record: epdb_store::EncodedRecord<'_>| {
            found.note(record.bytes());
            Ok::<_, epdb_store::StoreError>(ControlFlow::Continue(()))
        };
        self.0.get_batch(queries, visit).expect("a sound store");
        found
    }
}

/// A table with the key as its primary key.
pub struct Sqlite {
    /// Bytes of its own cache.
    pub cache: usize,
    /// Whether the key is the rowid.
    pub with_rowid: bool,
    /// Whether it reads its file through a mapping, as LMDB does, besides its cache.
    pub mapped: bool,
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
            (true, false) => "SQLite, rowid = key",
            (true, true) => "SQLite, rowid, mapped",
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
    fn order(&self, key: u64) -> u64 {
        key ^ 1 << 63
    }

    fn look_up(&self, queries: &mut dyn Iterator<Item = Query>) -> Found {
        let mut found = Found::default();
        self.execute_batch("BEGIN").expect("begin");
        let mut select = self.prepare("SELECT record FROM t WHERE key = ?1").expect("select");
        for query in queries {
            let mut rows = select.query([query.key().cast_signed()]).expect("query");
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
pub struct Lmdb;

type LmdbTable<'e> = heed::Database<'e, U64<NativeEndian>, Bytes, IntegerComparator>;

impl Lmdb {
    fn environment(directory: &Path) -> heed::Env {
        let mut options = heed::EnvOpenOptions::new();
        options.map_size(64 << 30);
        // SAFETY: no other process and no second environment opens the files while this one lives.
        unsafe { options.open(directory) }.expect("open")
    }

    fn create(environment: &heed::Env) -> LmdbTable<'_> {
        let table = environment.create_databases_and_commit(
            environment.write_txn().expect("begin"),
            |creator, transaction| {
                let options = creator.database_options().types().key_comparator();
                options.create(transaction).map(Commit)
            },
        );
        committed(table)
    }

    /// Puts encoded records into a new file, in ascending order of their keys.
    pub fn load_sorted(directory: &Path, rows: impl Iterator<Item = (u64, Vec<u8>)>) {
        let environment = Lmdb::environment(directory);
        let table = Lmdb::create(&environment);
        let mut transaction = environment.write_txn().expect("begin");
        for (key, bytes) in rows {
            table
                .put_with_flags(&mut transaction, heed::PutFlags::APPEND, &key, &bytes)
                .expect("put");
        }
        transaction.commit().expect("commit");
        environment.prepare_for_closing().wait();
    }

    /// Puts encoded records into a new file, in several commits. Of two records with one key, the first stays.
    pub fn load_commits(
        directory: &Path,
        commits: impl Iterator<Item = Vec<(u64, Vec<u8>)>>,
    ) {
        let environment = Lmdb::environment(directory);
        let table = Lmdb::create(&environment);
        for rows in commits {
            let mut transaction = environment.write_txn().expect("begin");
            for (key, bytes) in rows {
                table.get_or_put(&mut transaction, &key, &bytes).expect("put");
            }
            transaction.commit().expect("commit");
        }
        environment.prepare_for_closing().wait();
    }
}

impl Store for Lmdb {
    fn name(&self) -> &'static str {
        "LMDB"
    }

    fn load(&self, directory: &Path, records: &[EpdRecord]) {
        let rows = encoded(records, |key| key);
        Lmdb::load_sorted(directory, rows.into_iter());
    }

    fn open(&self, directory: &Path) -> Box<dyn Reader> {
        Box::new(Lmdb::environment(directory))
    }
}

fn committed<T>(outcome: heed::Result<CommitOrAbort<T, ()>>) -> T {
    outcome.expect("an open table").unwrap_commit()
}

impl Reader for heed::Env {
    fn look_up(&self, queries: &mut dyn Iterator<Item = Query>) -> Found {
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
        for query in queries {
            match table.get(&transaction, &query.key()).expect("get") {
                Some(bytes) if is_of(&query, bytes) => found.note(bytes),
                _ => {}
            }
        }
        found
    }
}

/// One entry a record, sorted insertion by cursor.
pub struct Redb {
    /// Bytes of its own cache.
    pub cache: usize,
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
    fn look_up(&self, queries: &mut dyn Iterator<Item = Query>) -> Found {
        let transaction = self.begin_read().expect("begin");
        let table = transaction.open_table(REDB_TABLE).expect("table");
        let mut found = Found::default();
        for query in queries {
            if let Some(value) = table.get(query.key()).expect("get")
                && is_of(&query, value.value())
            {
                found.note(value.value());
            }
        }
        found
    }
}

/// An archive of level fast.
pub struct FastArchive {
    /// Whether found records are made, not only found and compared.
    pub makes_records: bool,
    /// Whether the rows are where a directory leads to, not as they were given.
    pub sorted: bool,
}

impl Store for FastArchive {
    fn name(&self) -> &'static str {
        match (self.makes_records, self.sorted) {
            (true, false) => "epdb archive, records",
            (false, false) => "epdb archive, numbers",
            (true, true) => "  sorted, records",
            (false, true) => "  sorted, numbers",
        }
    }

    fn load(&self, directory: &Path, records: &[EpdRecord]) {
        let file = fs::File::create(directory.join("epa")).expect("create");
        let options = PackOptions { level: Level::Fast, sorted: self.sorted, ..Default::default() };
        let mut writer = epdb_archive::ArchiveWriter::new(std::io::BufWriter::new(file), options)
            .expect("begin");
        records.iter().for_each(|record| writer.push(record).expect("push"));
        writer.finish().expect("finish").get_ref().sync_all().expect("sync");
    }

    fn open(&self, directory: &Path) -> Box<dyn Reader> {
        let archive = Archive::open(directory.join("epa")).expect("open");
        if self.makes_records { Box::new(RecordsOf(archive)) } else { Box::new(NumbersOf(archive)) }
    }
}

struct RecordsOf(Archive);

impl Found {
    fn note_record(&mut self, record: &EpdRecord) {
        let (clock, number) = record.counters();
        self.hits += 1;
        self.sum += u64::from(clock.unwrap_or_default()) + u64::from(number.unwrap_or_default());
    }
}

impl Reader for RecordsOf {
    fn look_up(&self, queries: &mut dyn Iterator<Item = Query>) -> Found {
        let mut found = Found::default();
        for query in queries {
            for record in self.0.matches(query) {
                let record = record.expect("a sound archive").record();
                found.note_record(&record.expect("a sound archive"));
            }
        }
        found
    }

    fn look_up_batch(&self, queries: &mut dyn Iterator<Item = Query>) -> Found {
        let mut found = Found::default();
        let visit = |_, record: Match<'_>| {
            found.note_record(&record.record()?);
            Ok::<ControlFlow<SkipTo>, ArchiveError>(ControlFlow::Continue(()))
        };
        self.0.get_batch(queries, visit).expect("a sound archive");
        found
    }
}

struct NumbersOf(Archive);

impl Reader for NumbersOf {
    fn look_up(&self, queries: &mut dyn Iterator<Item = Query>) -> Found {
        let mut found = Found::default();
        for query in queries {
            let records = self.0.matches(query);
            records.for_each(|record| found.hits += u64::from(record.is_ok()));
        }
        found
    }

    fn look_up_batch(&self, queries: &mut dyn Iterator<Item = Query>) -> Found {
        let mut found = Found::default();
        let visit = |_, _: Match<'_>| {
            found.hits += 1;
            Ok::<ControlFlow<SkipTo>, ArchiveError>(ControlFlow::Continue(()))
        };
        self.0.get_batch(queries, visit).expect("a sound archive");
        found
    }
}

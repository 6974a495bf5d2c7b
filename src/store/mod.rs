//! The store: a multiset of EPD records in one file, found by position.
//!
//! A [`Store`] holds records in the order in which they were imported and finds those of a
//! position without regard to counters, castling dialect and superfluous en passant squares
//! (STO-01). Equal keys are never taken for equal positions: packed boards are compared (STO-02).
//! Nothing that fails its checksum is returned (STO-07). The file format is `formats/store.md`.
//!
//! - One process may have a store open for writing, or many for reading only; any other gets
//!   [`StoreError::InUse`] at once. In the process that writes, any number of [`Reader`]s see what
//!   was committed when they were made.
//! - Writing goes through an [`Importer`], which commits in batches. What was committed survives
//!   the death of the process, and an import that was interrupted can be continued.
//! - [`StoreOptions::memory_bytes`] bounds the memory that a store takes.
//!
//! redb, the database underneath, asserts what a sound file guarantees. A panic that a damaged
//! file causes there is caught and becomes [`StoreError::Damaged`]; so that it is not printed,
//! the first use of a store wraps the panic hook, which passes all other panics on.

mod any_row;
mod batch;
mod block;
mod crowd;
mod error;
mod importer;
mod journal;
mod merge;
mod overlay;
mod pages;
mod reader;
mod recognise;
mod resolve;
mod scan;
mod schema;
mod verify;

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Arc, Mutex, PoisonError};

use redb::{Database, ReadOnlyDatabase, ReadTransaction, ReadableDatabase, ReadableTableMetadata};

use crate::codec::{key, packed};
use crate::new_file::NewFile;
use error::{Fault, Result as Inner, guarded};
use schema::{Access, Digest, Header, Meta, RowCounts};

#[doc(hidden)]
pub use any_row::any_row;
pub use error::StoreError;
pub use importer::{ImportConflict, ImportOptions, ImportReport, Importer, OnDuplicate, Same};
pub use journal::{Checkpoint, ImportCounts, ImportInfo, ImportState};
pub use reader::{EncodedRecord, Matches, Reader, StoreStats, StoredRecord};
pub use recognise::{Recognised, SourceDigest};
pub use scan::{ByImport, ByKey};
pub use verify::{VerifyFinding, verify};

type Result<T> = std::result::Result<T, StoreError>;
type KeyFunction = fn(u64) -> u64;

/// How a store is opened.
#[derive(Clone, Debug)]
pub struct StoreOptions {
    memory_bytes: usize,
    key: KeyFunction,
}

impl Default for StoreOptions {
    fn default() -> StoreOptions {
        StoreOptions { memory_bytes: 256 << 20, key: |key| key }
    }
}

impl StoreOptions {
    /// The default: 256 MiB of memory.
    pub fn new() -> StoreOptions {
        StoreOptions::default()
    }

    /// How much memory the store may take for caches and batches, at least 1 MiB.
    #[must_use]
    pub fn memory_bytes(mut self, bytes: usize) -> StoreOptions {
        self.memory_bytes = bytes.max(1 << 20);
        self
    }

    /// Files records under what this makes of their keys, so that tests can make keys collide.
    #[doc(hidden)]
    #[must_use]
    pub fn key_function(mut self, key: KeyFunction) -> StoreOptions {
        self.key = key;
        self
    }
}

/// What readers and writers of one store have in common.
#[derive(Debug)]
struct Shared {
    /// The name of the store, for messages.
    path: PathBuf,
    /// Where its file was when it was opened.
    file: PathBuf,
    key: KeyFunction,
    /// Bytes that blocks kept by readers and windows of exports may still take.
    cache_left: AtomicUsize,
    /// What of it is left to exports.
    cache_floor: usize,
}

/// An open store.
pub struct Store {
    shared: Arc<Shared>,
    handle: Option<Handle>,
    batch_bytes: usize,
    importing: AtomicBool,
    /// Imports that this process completed and has not yet closed in the journal.
    delivered: Mutex<Vec<u64>>,
}

enum Handle {
    Write(Database),
    Read(ReadOnlyDatabase),
}

impl Store {
    /// Makes an empty store and opens it for writing. The file appears complete or not at all.
    ///
    /// # Errors
    /// [`StoreError::Exists`] when there is something of that name; [`StoreError::Io`].
    pub fn create(path: impl AsRef<Path>, options: &StoreOptions) -> Result<Store> {
        let path = path.as_ref();
        let io_error = |error| StoreError::Io { path: path.to_path_buf(), error };
        if fs::symlink_metadata(path).is_ok() {
            return Err(StoreError::Exists { path: path.to_path_buf() });
        }
        let new = NewFile::create(path).map_err(io_error)?;
        Store::create_in(&new, options)?.close()?;
        new.finish_new().map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => StoreError::Exists { path: path.to_path_buf() },
            _ => io_error(error),
        })?;
        Store::open(path, options)
    }

    /// Makes an empty store in a new file and opens it for writing. It stands in its place when the
    /// file was finished ([`NewFile::finish_new`]), which may be while it is open; errors name that
    /// place.
    ///
    /// # Errors
    /// [`StoreError::Exists`] when there is something of that name; [`StoreError::Io`].
    pub fn create_in(new: &NewFile, options: &StoreOptions) -> Result<Store> {
        let (path, memory) = (new.named(), options.memory_bytes);
        if fs::symlink_metadata(new.place()).is_ok() {
            return Err(StoreError::Exists { path: path.to_path_buf() });
        }
        let handle = guarded(path, || {
            let file = new.file().try_clone().map_err(redb::StorageError::Io)?;
            let database = Database::builder().set_cache_size(memory / 4).create_file(file)?;
            lay_out(&database)?;
            Ok(Handle::Write(database))
        })?;
        Ok(Store::with(path, new.temporary(), options, handle, memory / 2, memory / 4))
    }

    /// Opens a store for writing and reading. A store whose last writer died is repaired.
    ///
    /// # Errors
    /// [`StoreError::NotFound`], [`StoreError::NotAStore`], [`StoreError::InUse`],
    /// [`StoreError::UnsupportedVersion`], [`StoreError::Damaged`], [`StoreError::Io`].
    pub fn open(path: impl AsRef<Path>, options: &StoreOptions) -> Result<Store> {
        let memory = options.memory_bytes;
        let path = path.as_ref();
        check_magic(path)?;
        check_pages(path, Access::Write)?;
        let handle = guarded(path, || {
            Ok(Handle::Write(Database::builder().set_cache_size(memory / 4).open(path)?))
        })?;
        Store::with(path, path, options, handle, memory / 2, memory / 4).checked(Access::Write)
    }

    /// Opens a store for reading only, which many processes may do at once. If its last writer
    /// died, the store is opened for writing first, which puts it right in a moment.
    ///
    /// # Errors
    /// As [`Store::open`], and [`StoreError::NotClosed`] when the last writer died and this
    /// process may not write.
    pub fn open_read_only(path: impl AsRef<Path>, options: &StoreOptions) -> Result<Store> {
        let path = path.as_ref();
        match Store::open_as_it_is(path, options) {
            Err(StoreError::NotClosed { path }) => match Store::open(&path, options) {
                Ok(store) => {
                    store.close()?;
                    Store::open_as_it_is(&path, options)
                }
                Err(StoreError::Io { .. }) => Err(StoreError::NotClosed { path }),
                Err(error) => Err(error),
            },
            opened => opened,
        }
    }

    fn open_as_it_is(path: &Path, options: &StoreOptions) -> Result<Store> {
        check_magic(path)?;
        check_pages(path, Access::Read)?;
        Store::open_unchecked(path, options)?.checked(Access::Read)
    }

    /// Opens a store for reading only and believes what it says of itself.
    fn open_unchecked(path: &Path, options: &StoreOptions) -> Result<Store> {
        let memory = options.memory_bytes;
        check_magic(path)?;
        let handle = guarded(path, || {
            Ok(Handle::Read(Database::builder().set_cache_size(memory / 32).open_read_only(path)?))
        })?;
        Ok(Store::with(path, path, options, handle, 0, memory - memory / 32))
    }

    fn with(
        path: &Path,
        file: &Path,
        options: &StoreOptions,
        handle: Handle,
        batch_bytes: usize,
        cache_bytes: usize,
    ) -> Store {
        let shared = Shared {
            path: path.to_path_buf(),
            file: file.to_path_buf(),
            key: options.key,
            cache_left: AtomicUsize::new(cache_bytes),
            cache_floor: cache_bytes / 16,
        };
        Store {
            shared: Arc::new(shared),
            handle: Some(handle),
            batch_bytes,
            importing: AtomicBool::new(false),
            delivered: Mutex::default(),
        }
    }

    /// Refuses a store that says of itself what its tables or its file cannot hold.
    fn checked(self, access: Access) -> Result<Store> {
        let path = &self.shared.path;
        guarded(path, || check_opening(&self.begin_read()?, path, access))?;
        Ok(self)
    }

    /// A snapshot of what is committed.
    ///
    /// # Errors
    /// [`StoreError::Damaged`], [`StoreError::Io`].
    pub fn reader(&self) -> Result<Reader> {
        guarded(&self.shared.path, || Reader::new(Arc::clone(&self.shared), self.begin_read()?))
    }

    /// Begins to import from a source, or continues the import of a source of this name that was
    /// interrupted: then [`Importer::resume`] must be called before the first record is pushed.
    ///
    /// # Errors
    /// [`StoreError::ReadOnly`]; [`StoreError::Busy`] while another import of this process runs;
    /// [`StoreError::SettingsChanged`] when the interrupted import had other options.
    pub fn importer(&self, source: &str, options: &ImportOptions) -> Result<Importer<'_>> {
        Importer::begin(self, source, options)
    }

    /// What was imported, in order.
    ///
    /// # Errors
    /// [`StoreError::Damaged`], [`StoreError::Io`].
    pub fn imports(&self) -> Result<Vec<ImportInfo>> {
        guarded(&self.shared.path, || {
            let transaction = self.begin_read()?;
            journal::list(&transaction, &read_header(&transaction, Access::Read)?.meta)
        })
    }

    /// Makes the file as small as it can be. Worth while after a large import, which leaves the
    /// space that its earlier batches took.
    ///
    /// # Errors
    /// [`StoreError::ReadOnly`]; [`StoreError::Busy`] while readers exist; [`StoreError::Io`].
    pub fn compact(&mut self) -> Result<()> {
        let path = &self.shared.path;
        match &mut self.handle {
            Some(Handle::Write(database)) => guarded(path, || {
                while database.compact()? {}
                Ok(())
            }),
            _ => Err(StoreError::ReadOnly { path: path.clone() }),
        }
    }

    /// Closes the store and says whether that went well; dropping it closes it silently.
    ///
    /// # Errors
    /// [`StoreError::Io`] when the end of the imports of this process could not be recorded.
    pub fn close(mut self) -> Result<()> {
        self.finish_and_close()
    }

    /// Imports that completed are marked as such only here, as late as can be: one whose process
    /// dies before is found complete when it is run again, and not imported twice.
    fn finish_and_close(&mut self) -> Result<()> {
        let delivered = std::mem::take(&mut *self.delivered());
        let Some(handle) = self.handle.take() else { return Ok(()) };
        guarded(&self.shared.path, || {
            if let (Handle::Write(database), false) = (&handle, delivered.is_empty()) {
                journal::close(database, &delivered)?;
            }
            drop(handle);
            Ok(())
        })
    }

    fn delivered(&self) -> std::sync::MutexGuard<'_, Vec<u64>> {
        self.delivered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin_read(&self) -> Inner<ReadTransaction> {
        match &self.handle {
            Some(Handle::Write(database)) => Ok(database.begin_read()?),
            Some(Handle::Read(database)) => Ok(database.begin_read()?),
            None => Err(Fault::Redb(redb::Error::DatabaseClosed)),
        }
    }

    fn database(&self) -> Result<&Database> {
        match &self.handle {
            Some(Handle::Write(database)) => Ok(database),
            _ => Err(StoreError::ReadOnly { path: self.shared.path.clone() }),
        }
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        self.finish_and_close().ok();
    }
}

/// Writes the tables of an empty store: one block without entries.
fn lay_out(database: &Database) -> Inner<()> {
    let transaction = begin_write(database)?;
    let mut header = Header { meta: Meta::EMPTY, checks: Vec::new() };
    let (block, check) = block::BlockWriter::new(0, header.meta.commit, 1, 0).finish();
    header.meta.block_bytes = block.len() as u64;
    header.meta.blocks_digest.add(Digest::of_block(0, &block));
    header.checks.push(check);
    header.write(&mut transaction.open_table(schema::META)?)?;
    transaction.open_table(schema::BLOCKS)?.insert(0, block.as_slice())?;
    transaction.open_table(schema::CROWDED)?;
    transaction.open_table(schema::IMPORTS)?;
    transaction.commit()?;
    Ok(())
}

/// Begins a transaction whose commit survives everything, and after which a store that was not
/// closed is opened at once, for reading only too.
fn begin_write(database: &Database) -> Inner<redb::WriteTransaction> {
    let mut transaction = database.begin_write()?;
    transaction.set_durability(redb::Durability::Immediate)?;
    transaction.set_quick_repair(true);
    Ok(transaction)
}

/// The first bytes of a store: those of every redb database.
pub(crate) const MAGIC: &[u8] = b"redb\x1a\x0a\xa9\x0d\x0a";

/// Whether a file is empty or ends within the magic of a store.
fn is_cut_short(path: &Path) -> bool {
    let most = MAGIC.len() as u64;
    fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() < most)
        && fs::read(path).is_ok_and(|bytes| MAGIC.starts_with(&bytes))
}

/// Tells a file that is no redb database, which redb would call an input/output error.
fn check_magic(path: &Path) -> Result<()> {
    let mut start = [0; MAGIC.len()];
    let read = File::open(path).and_then(|mut file| io::Read::read_exact(&mut file, &mut start));
    let path = path.to_path_buf();
    match read {
        Ok(()) if start == MAGIC => Ok(()),
        Ok(()) => Err(StoreError::NotAStore { path, what: "it does not begin like one".into() }),
        Err(error) => Err(match error.kind() {
            io::ErrorKind::NotFound => StoreError::NotFound { path },
            io::ErrorKind::UnexpectedEof => {
                StoreError::NotAStore { path, what: "it is too short".into() }
            }
            _ => StoreError::Io { path, error },
        }),
    }
}

/// Refuses a file in which redb would find something else than its last commit.
fn check_pages(path: &Path, access: Access) -> Result<()> {
    let file = open_shared(path)?;
    guarded(path, || pages::check(&file, access))
}

/// Opens a file to which nobody writes, nor will as long as it is open (where the system knows
/// locks).
fn open_shared(path: &Path) -> Result<File> {
    let io_error = |error| StoreError::Io { path: path.to_path_buf(), error };
    let file = File::open(path).map_err(io_error)?;
    match file.try_lock_shared() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(StoreError::InUse { path: path.to_path_buf() }),
        Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => Ok(file),
        Err(TryLockError::Error(error)) => Err(io_error(error)),
    }
}

fn read_header(transaction: &ReadTransaction, access: Access) -> Inner<Header> {
    match transaction.open_table(schema::META) {
        Err(redb::TableError::TableDoesNotExist(_)) => Err(Fault::NoMeta),
        table => Header::read(&table?, access),
    }
}

fn check_opening(transaction: &ReadTransaction, path: &Path, access: Access) -> Inner<()> {
    let meta = read_header(transaction, access)?.meta;
    check_claims(transaction, &meta, path)?;
    journal::list(transaction, &meta).map(drop)
}

/// Holds what the meta row says against the tables' numbers of rows and the length of the file.
fn check_claims(transaction: &ReadTransaction, meta: &Meta, path: &Path) -> Inner<()> {
    let file_bytes = fs::metadata(path).map_err(redb::StorageError::Io)?.len();
    let rows = RowCounts {
        blocks: transaction.open_table(schema::BLOCKS)?.len()?,
        chunks: transaction.open_table(schema::CROWDED)?.len()?,
        imports: transaction.open_table(schema::IMPORTS)?.len()?,
    };
    meta.check_claims(&rows, file_bytes)
}

/// The key of a packed identity board; `None` when it is none.
fn key_of_board(map: KeyFunction, board: &[u8]) -> Option<u64> {
    let is_whole = packed::len_of(board).is_ok_and(|len| len == board.len());
    key::board_key(board).ok().filter(|_| is_whole).map(map)
}

/// An empty list with room for so many values, if the system grants it; else it grows by itself.
fn with_room<T>(values: usize) -> Vec<T> {
    let mut list = Vec::new();
    list.try_reserve_exact(values).ok();
    list
}

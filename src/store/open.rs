//! Creating, opening and closing a store.

use std::fs::{File, OpenOptions};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::{env, fmt, fs, io};

use redb::backends::FileBackend;
use redb::{CompactionError, Database, ReadOnlyDatabase, ReadTransaction, ReadableDatabase};

use super::block::BlockWriter;
use super::error::{Fault, Result as Inner, StoreError, damaged, guarded};
use super::file::{SHARING, check_magic, has_name, open_unwritten};
use super::journal::{self, ImportInfo};
use super::options::{Shared, StoreOptions};
use super::pages::{self, FileSnapshot};
use super::runs;
use super::schema::{
    self, Access, Digest, Meta, StoreHeader, begin_write, check_claims, read_header,
};
use epdb_base::new_file::{NewFile, SpooledFile, folder_of, open_regular, scratch_error};

type Result<T> = std::result::Result<T, StoreError>;

/// The file is shrunk only if its unused part is larger than its used part divided by this number.
const USED_TO_UNUSED: u64 = 32;

/// Maximum number of attempts to begin a transaction while another process commits. A commit changes
/// the header three times and takes longer than many attempts.
const MAX_TRIES: usize = 1000;

/// Maximum number of attempts to copy a store that was not closed, while writers open it and die.
const MAX_COPIES: usize = 20;

/// Cache of redb while it repairs a copy, in bytes.
const REPAIR_BYTES: usize = 4 << 20;

/// An open store.
pub struct Store {
    pub(super) shared: Arc<Shared>,
    handle: Option<Handle>,
    /// Memory for the batch of an import, in bytes.
    pub(super) batch_bytes: usize,
    /// True while an import of this process runs.
    pub(super) importing: Arc<AtomicBool>,
    /// Imports that this process completed and has not yet marked as finished in the journal.
    delivered: Mutex<Vec<u64>>,
    /// True if records were imported since the store was opened.
    pub(super) has_grown: AtomicBool,
    /// The repaired copy that is read in place of a store that was not closed.
    copy: Option<SpooledFile>,
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").field("shared", &self.shared).finish_non_exhaustive()
    }
}

enum Handle {
    Write(Database),
    Read(ReadOnlyDatabase, File),
}

impl Store {
    /// Creates an empty store and opens it for writing. The file appears complete or not at all.
    ///
    /// # Errors
    /// [`StoreError::Exists`] if a file of that name exists; [`StoreError::Io`].
    pub fn create(path: impl AsRef<Path>, options: &StoreOptions) -> Result<Store> {
        let path = path.as_ref();
        let io_error = |error| StoreError::Io { path: path.to_path_buf(), error };
        if fs::symlink_metadata(path).is_ok() {
            return Err(StoreError::Exists { path: path.to_path_buf() });
        }
        let new = NewFile::create(path).map_err(io_error)?;
        let store = Store::create_in(&new, options)?;
        Store::publish(new, options)?;
        Ok(store)
    }

    /// Gives the file of a new store its final name. If `options` allow it, an existing file of this name is
    /// replaced. The store must still be open: its lock shows other processes that the file has an owner.
    ///
    /// # Errors
    /// [`StoreError::CreatedMeanwhile`] if a file of that name appeared since the new file was
    /// begun; [`StoreError::Io`].
    pub fn publish(new: NewFile, options: &StoreOptions) -> Result<()> {
        let path = new.named().to_path_buf();
        let finished = if options.replace { new.finish() } else { new.finish_new() };
        match finished {
            Ok(()) => {
                // The runs of a store that was replaced.
                runs::remove_stale(&path);
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Err(StoreError::CreatedMeanwhile { path })
            }
            Err(error) => Err(StoreError::Io { path, error }),
        }
    }

    /// Creates an empty store in a new file and opens it for writing. [`Store::publish`] gives the
    /// file its final name, even while the store is open. Errors use the final name.
    ///
    /// # Errors
    /// [`StoreError::Exists`] if a file of that name exists and `options` do not allow replacing
    /// it; [`StoreError::Io`].
    pub fn create_in(new: &NewFile, options: &StoreOptions) -> Result<Store> {
        let path = new.named();
        let quarter = options.memory() / 4;
        if !options.replace && fs::symlink_metadata(new.place()).is_ok() {
            return Err(StoreError::Exists { path: path.to_path_buf() });
        }
        let handle = guarded(path, || {
            let file = FileBackend::new(new.file().try_clone()?)?;
            let database = redb_with(quarter).create_with_backend(file)?;
            create_tables(&database)?;
            Ok(Handle::Write(database))
        })?;
        Ok(Store::with(path, new.temporary(), options, handle, quarter))
    }

    /// Opens a store for writing and reading. If the last writer died, the store is repaired.
    ///
    /// # Errors
    /// [`StoreError::NotFound`], [`StoreError::NotAStore`], [`StoreError::InUse`],
    /// [`StoreError::UnsupportedVersion`], [`StoreError::Damaged`], [`StoreError::Io`].
    pub fn open(path: impl AsRef<Path>, options: &StoreOptions) -> Result<Store> {
        let quarter = options.memory() / 4;
        let path = path.as_ref();
        check_magic(path)?;
        let file = open_unwritten(path)?;
        guarded(path, || pages::check_before_writing(&file))?;
        drop(file);
        let handle = guarded(path, || {
            let file = OpenOptions::new().read(true).write(true).open(path);
            let file = file.map_err(redb::StorageError::Io)?;
            let backend = FileBackend::new(file.try_clone()?)?;
            let database = redb_with(quarter).create_with_backend(backend)?;
            // Before the file was locked, another one may have got its name.
            if has_name(&file, path) {
                Ok(Handle::Write(database))
            } else {
                Err(redb::DatabaseError::DatabaseAlreadyOpen.into())
            }
        })?;
        let store = Store::with(path, path, options, handle, quarter).checked(Access::Write)?;
        if guarded(path, || runs::records_in(&store.begin_read()?))? == 0 {
            runs::remove_stale(path);
        }
        Ok(store)
    }

    /// Opens a store for reading only. Many processes may do so at the same time, on Linux and macOS
    /// also while another one writes. The file is never changed. If its last writer died, a temporary
    /// copy is repaired and read.
    ///
    /// # Errors
    /// The errors of [`Store::open`].
    pub fn open_read_only(path: impl AsRef<Path>, options: &StoreOptions) -> Result<Store> {
        let path = path.as_ref();
        for _ in 0..MAX_COPIES {
            let opened = Store::open_unchecked(path, path, options);
            match opened.and_then(|store| store.checked(Access::Read)) {
                Err(StoreError::NotClosed { .. }) => {}
                opened => return opened,
            }
            if let Some(copy) = repaired_copy(path)? {
                let mut store = Store::open_unchecked(copy.path(), path, options)?;
                store.copy = Some(copy);
                return store.checked(Access::Read);
            }
        }
        Err(StoreError::InUse { path: path.to_path_buf() })
    }

    /// Opens a file read-only, without checking its header. Errors name `path`.
    pub(super) fn open_unchecked(
        file: &Path,
        path: &Path,
        options: &StoreOptions,
    ) -> Result<Store> {
        // Readers cache blocks themselves, so redb needs little.
        let redb_bytes = options.memory() / 32;
        check_magic(file)?;
        let handle = guarded(path, || {
            let file = open_regular(file)?;
            let backend = FileBackend::new(file.try_clone()?)?;
            let database = redb_with(redb_bytes).open_read_only_with_backend(backend)?;
            Ok(Handle::Read(database, file))
        })?;
        Ok(Store::with(path, file, options, handle, options.memory() - redb_bytes))
    }

    fn with(
        path: &Path,
        file: &Path,
        options: &StoreOptions,
        handle: Handle,
        cache_bytes: usize,
    ) -> Store {
        let shared = Shared {
            path: path.to_path_buf(),
            file: file.to_path_buf(),
            key: options.key,
            process: std::process::id(),
            cache_left: AtomicUsize::new(cache_bytes),
            cache_floor: cache_bytes / 16,
        };
        Store {
            shared: Arc::new(shared),
            handle: Some(handle),
            batch_bytes: options.batch(),
            importing: Arc::default(),
            delivered: Mutex::default(),
            has_grown: AtomicBool::new(false),
            copy: None,
        }
    }

    /// Refuses a store whose header contradicts its tables or the length of its file.
    fn checked(self, access: Access) -> Result<Store> {
        let path = &self.shared.path;
        guarded(path, || {
            let (transaction, _) = self.begin_checked()?;
            let meta = read_header(&transaction, access)?.meta;
            check_claims(&transaction, &meta, path)?;
            journal::list(&transaction, &meta).map(drop)
        })?;
        Ok(self)
    }

    /// True if the file of the store has its final name. A new store gets it when it is published.
    pub(super) fn has_its_name(&self) -> bool {
        let Shared { path, file, .. } = &*self.shared;
        file == path || !file.exists()
    }

    /// Path of the store, as errors name it.
    pub fn path(&self) -> &Path {
        &self.shared.path
    }

    /// The imports, in order.
    ///
    /// # Errors
    /// [`StoreError::Damaged`], [`StoreError::Io`].
    pub fn imports(&self) -> Result<Vec<ImportInfo>> {
        guarded(&self.shared.path, || {
            let transaction = self.begin_read()?;
            journal::list(&transaction, &read_header(&transaction, Access::Read)?.meta)
        })
    }

    /// Makes the file as small as possible. [`Store::close`] also does this if imports left much of
    /// the file unused.
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

    /// Closes the store and reports errors. A store that is dropped is closed too, but without a
    /// report of errors. If there are no readers, and imports left more than a thirty-second of the
    /// file unused, the file is made smaller.
    ///
    /// # Errors
    /// [`StoreError::Io`] if the imports of this process could not be marked as finished.
    pub fn close(mut self) -> Result<()> {
        self.end()
    }

    /// Runs all steps of closing. A step runs even if an earlier step failed.
    fn end(&mut self) -> Result<()> {
        if self.shared.is_forked() {
            std::mem::forget(self.handle.take());
            return Ok(());
        }
        let recorded = self.record_delivered();
        let taken_back = self.shrink_file();
        recorded.and(taken_back).and(self.drop_handle())
    }

    /// Shrinks the file if imports of this process left much of it unused.
    fn shrink_file(&mut self) -> Result<()> {
        match &mut self.handle {
            Some(Handle::Write(database)) if *self.has_grown.get_mut() => {
                guarded(&self.shared.path, || shrink_file(database, &self.shared))
            }
            _ => Ok(()),
        }
    }

    /// Drops the database. redb then writes to the file once more.
    fn drop_handle(&mut self) -> Result<()> {
        let handle = self.handle.take();
        guarded(&self.shared.path, || {
            drop(handle);
            Ok(())
        })
    }

    /// Marks completed imports as finished. This happens as late as possible. If the process dies
    /// before this, and the import is run again, the journal shows that the import is complete. So
    /// nothing is imported twice.
    fn record_delivered(&self) -> Result<()> {
        let delivered = std::mem::take(&mut *self.delivered());
        match &self.handle {
            Some(Handle::Write(database)) if !delivered.is_empty() => {
                guarded(&self.shared.path, || journal::close(database, &delivered))
            }
            _ => Ok(()),
        }
    }

    /// The imports that this process completed and has not yet marked as finished in the journal.
    pub(super) fn delivered(&self) -> MutexGuard<'_, Vec<u64>> {
        self.delivered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn begin_read(&self) -> Inner<ReadTransaction> {
        self.check_process()?;
        match &self.handle {
            Some(Handle::Write(database)) => Ok(database.begin_read()?),
            Some(Handle::Read(database, _)) => Ok(database.begin_read()?),
            None => Err(Fault::Redb(redb::Error::DatabaseClosed)),
        }
    }

    /// Begins a read transaction. If the store is open for reading only, also returns the snapshot of
    /// the transaction in the file, after a check of the pages that lead to its meta row.
    pub(super) fn begin_checked(&self) -> Inner<(ReadTransaction, Option<FileSnapshot>)> {
        let Some(Handle::Read(_, file)) = &self.handle else {
            return Ok((self.begin_read()?, None));
        };
        for _ in 0..MAX_TRIES {
            // redb does not say which commit a transaction reads. No header occurs twice, because
            // the numbers of commits ascend. So the header before and after is that of the commit.
            let snapshot = FileSnapshot::read(file)?;
            let transaction = self.begin_read()?;
            if pages::read_header(file)? == snapshot.header {
                self.check_length(&snapshot)?;
                snapshot.check()?;
                return Ok((transaction, Some(snapshot)));
            }
        }
        let path = self.shared.path.clone();
        Err(Fault::Store(StoreError::InUse { path }))
    }

    /// Refuses a file with another length than its header announces, unless a process writes to it.
    fn check_length(&self, snapshot: &FileSnapshot) -> Inner<()> {
        if snapshot.has_its_length() {
            return Ok(());
        }
        let Ok(unwritten) = open_unwritten(&self.shared.file) else { return Ok(()) };
        let now = FileSnapshot::read(&unwritten)?;
        if now.has_its_length() || now.header != snapshot.header {
            return Ok(());
        }
        let FileSnapshot { file_bytes, header, .. } = now;
        let announced = pages::announced_bytes(&header);
        let what = format!(
            "its length is {file_bytes} bytes, and its header announces {announced}; `truncate -s {announced}` \
             makes a copy of it readable"
        );
        Err(damaged("the file", what))
    }

    /// Refuses a forked child of the process that opened the store.
    fn check_process(&self) -> Result<()> {
        let what = "the process was forked after it opened the store; open the store again";
        if self.shared.is_forked() {
            return Err(StoreError::Busy { path: self.shared.path.clone(), what });
        }
        Ok(())
    }

    pub(super) fn database(&self) -> Result<&Database> {
        self.check_process()?;
        match &self.handle {
            Some(Handle::Write(database)) => Ok(database),
            _ => Err(StoreError::ReadOnly { path: self.shared.path.clone() }),
        }
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        self.end().ok();
    }
}

/// Copies a store that was not closed into a temporary file, next to the store or else in the folder of
/// temporary files, and repairs the copy. `None` if a process wrote to the store meanwhile.
fn repaired_copy(path: &Path) -> Result<Option<SpooledFile>> {
    match repaired_copy_in(&folder_of(path), path) {
        Err(StoreError::Io { .. }) => repaired_copy_in(&env::temp_dir(), path),
        copied => copied,
    }
}

// A commit writes to pages that the previous commit does not use, and then writes the header. So if the
// header is the same before and after copying, the copy is in one state.
fn repaired_copy_in(folder: &Path, path: &Path) -> Result<Option<SpooledFile>> {
    guarded(path, || {
        let mut file = open_regular(path)?;
        let before = pages::read_header(&file)?;
        let mut is_in_one_state = false;
        let copy = SpooledFile::fill(folder, |copy| {
            io::copy(&mut file, copy).map_err(|error| scratch_error(folder, error))?;
            is_in_one_state = pages::read_header(&file)? == before;
            if is_in_one_state {
                pages::check_before_writing(copy)?;
                let backend = FileBackend::new(copy.try_clone()?)?;
                drop(redb_with(REPAIR_BYTES).create_with_backend(backend)?);
            }
            Inner::Ok(())
        })?;
        Ok(is_in_one_state.then_some(copy))
    })
}

/// Settings of redb for a store that processes share. Its cache takes at most `cache_bytes`.
fn redb_with(cache_bytes: usize) -> redb::Builder {
    let mut builder = Database::builder();
    builder.set_cache_size(cache_bytes).set_concurrency_mode(SHARING);
    builder
}

/// Compacts a file if a large part of it is unused. redb doubles the length of a full file.
fn shrink_file(database: &mut Database, shared: &Shared) -> Inner<()> {
    // Pages that the last commit replaced become free with the next commit.
    begin_write(database)?.commit()?;
    let transaction = begin_write(database)?;
    let stats = transaction.stats()?;
    transaction.abort()?;
    let used = stats.allocated_pages() * stats.page_size() as u64;
    let Ok(file) = fs::metadata(&shared.file).or_else(|_| fs::metadata(&shared.path)) else {
        return Ok(());
    };
    if file.len().saturating_sub(used) <= used / USED_TO_UNUSED {
        return Ok(());
    }
    loop {
        match database.compact() {
            Ok(true) => {}
            Ok(false) | Err(CompactionError::TransactionInProgress) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
}

/// Writes the tables of an empty store: one block without entries.
fn create_tables(database: &Database) -> Inner<()> {
    let transaction = begin_write(database)?;
    let mut header = StoreHeader { meta: Meta::EMPTY, checks: Vec::new() };
    let (block, check) = BlockWriter::new(0, header.meta.commit, 1, 0).finish();
    header.meta.block_bytes = block.len() as u64;
    header.meta.blocks_digest.add(Digest::from_block(0, &[&block]));
    header.checks.push(check);
    header.write(&mut transaction.open_table(schema::META)?)?;
    transaction.open_table(schema::BLOCKS)?.insert(0, block.as_slice())?;
    transaction.open_table(schema::OVERFLOW)?;
    transaction.open_table(schema::IMPORTS)?;
    transaction.commit()?;
    Ok(())
}

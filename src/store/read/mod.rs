//! Reading: snapshots of a store, lookups by position, and all records in order.

mod blocks;
mod by_import;
mod by_key;
mod lookup;
mod mapped;

pub use by_import::ByImport;
pub use by_key::ByKey;
pub use lookup::Matches;

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use redb::{ReadOnlyTable, ReadTransaction, ReadableTableMetadata};

use super::block::{Damage, Stub};
use super::error::{Fault, Result as Inner, StoreError, damaged, guarded};
use super::kept_games::KeptGames;
use super::open::Store;
use super::options::Shared;
use super::overflow::OverflowRecords;
use super::pages::FileSnapshot;
use super::runs::WaitingRuns;
use super::schema::{self, Access, Meta, StoreHeader, read_header};
use blocks::{Blocks, CachedBlocks};
use epdb_chess::codec::record;
use epdb_chess::model::{EpdRecord, GameId};
use mapped::MappedBlocks;

type Result<T> = std::result::Result<T, StoreError>;

/// A record of a store.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StoredRecord {
    /// Number of records that were imported before this one. Records that were left out are counted
    /// too.
    pub import_number: u64,
    /// The record.
    pub record: EpdRecord,
}

/// A record of a store, decoded on demand.
#[derive(Copy, Clone)]
pub struct EncodedRecord<'a> {
    import_number: u64,
    bytes: &'a [u8],
    reader: &'a Reader,
}

impl fmt::Debug for EncodedRecord<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EncodedRecord")
            .field("import_number", &self.import_number)
            .field("bytes", &self.bytes)
            .finish_non_exhaustive()
    }
}

impl<'a> EncodedRecord<'a> {
    const fn new(import_number: u64, bytes: &'a [u8], reader: &'a Reader) -> Self {
        EncodedRecord { import_number, bytes, reader }
    }

    /// Number of records that were imported before this one. Records that were left out are counted
    /// too.
    pub const fn number(&self) -> u64 {
        self.import_number
    }

    /// The record as [`epdb_chess::codec::record`] encodes it. If the store's file is cut off while these
    /// bytes are used, they read as zeros, and the next call to the reader or its iterator is an
    /// error.
    pub const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The record.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] if the bytes, whose checksum matched, are not a record.
    pub fn record(&self) -> Result<EpdRecord> {
        let decoded = match record::decode(self.bytes) {
            Ok((decoded, len)) if len == self.bytes.len() => Ok(decoded),
            Ok(_) => Err(self.damaged("bytes follow the record".into())),
            Err(error) => Err(self.damaged(error.to_string())),
        };
        self.reader.intact(decoded)
    }

    /// Appends the canonical text, without line end. Most records are written without being decoded
    /// as a whole.
    ///
    /// # Errors
    /// The errors of [`EncodedRecord::record`].
    pub fn write_text(&self, out: &mut Vec<u8>) -> Result<()> {
        let written = record::write_text(self.bytes, out);
        self.reader.intact(written.map_err(|error| self.damaged(error.to_string())))
    }

    fn decode(&self) -> Result<StoredRecord> {
        Ok(StoredRecord { import_number: self.import_number, record: self.record()? })
    }

    fn damaged(&self, what: String) -> StoreError {
        damaged(format!("record {}", self.import_number), what).into_error(self.reader.path())
    }
}

impl Store {
    /// A snapshot of the last commit.
    ///
    /// # Errors
    /// [`StoreError::Damaged`], [`StoreError::Io`].
    pub fn reader(&self) -> Result<Reader> {
        guarded(&self.shared.path, || {
            let (transaction, snapshot) = self.begin_checked()?;
            Reader::new(Arc::clone(&self.shared), transaction, snapshot)
        })
    }
}

/// Counts and sizes of a store.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct StoreStats {
    /// Number of records.
    pub records: u64,
    /// Number of different positions.
    pub positions: u64,
    /// Positions with more records than fit into a block.
    pub overflow_positions: u64,
    /// Import number of the next record.
    pub next_import_number: u64,
    /// Total length of all encoded records.
    pub record_bytes: u64,
    /// Number of blocks. The positions are spread over them.
    pub blocks: u64,
    /// Length of the file.
    pub file_bytes: u64,
    /// Number of records of an interrupted import that wait in runs beside the store. They are not among
    /// the other counts.
    pub waiting_records: u64,
}

/// A snapshot of a store: its state after the last commit before the snapshot was made. Writers do
/// not disturb it and do not wait for it. It can be shared between threads.
///
/// One reader for many lookups is faster than a new reader for each lookup. If the store is open for
/// reading only, the reader maps the file, and keeps the directories of the blocks that it has read,
/// within the store's budget of memory. If the store is open for writing, the blocks stay in memory
/// until this budget is used up; after the store is closed, the reader returns
/// [`StoreError::Busy`]. A reader uses the store's file until it is dropped.
pub struct Reader {
    shared: Arc<Shared>,
    meta: Meta,
    blocks: Blocks,
    overflow: ReadOnlyTable<&'static [u8], &'static [u8]>,
    kept_games: KeptGames,
    /// The state of the file; `None` in the process that writes.
    snapshot: Option<FileSnapshot>,
    /// Number of records that wait in runs.
    waiting: u64,
    /// Keeps the pages of the snapshot: no writer reuses them before the transaction ends.
    transaction: Option<ReadTransaction>,
}

impl Drop for Reader {
    fn drop(&mut self) {
        if self.shared.is_forked() {
            std::mem::forget(self.transaction.take());
        }
    }
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader").field("shared", &self.shared).finish_non_exhaustive()
    }
}

impl Reader {
    /// `snapshot` is that of a store that is open for reading only.
    fn new(
        shared: Arc<Shared>,
        transaction: ReadTransaction,
        snapshot: Option<FileSnapshot>,
    ) -> Inner<Reader> {
        let StoreHeader { meta, checks } = read_header(&transaction, Access::Read)?;
        let blocks = transaction.open_table(schema::BLOCKS)?;
        let overflow = transaction.open_table(schema::OVERFLOW)?;
        let rows =
            [("blocks", meta.blocks, blocks.len()?), ("chunks", meta.chunks, overflow.len()?)];
        for (what, announced, found) in rows {
            if announced != found {
                let what = format!("{what}: {announced} recorded, {found} found");
                return Err(damaged("the meta row", what));
            }
        }
        let kept_games = KeptGames::open(&transaction)?;
        let runs = WaitingRuns::read(&transaction, &meta)?;
        let waiting = runs.map_or(0, |runs| runs.records());
        // Not on systems without file locks: there a process may write to the mapped file.
        let mapped = match &snapshot {
            Some(snapshot) if cfg!(unix) => {
                MappedBlocks::open(snapshot, Arc::clone(&shared), checks.clone())?
            }
            _ => None,
        };
        let blocks = match mapped {
            Some(mapped) => Blocks::Mapped(mapped),
            None => Blocks::Cached(CachedBlocks::new(Arc::clone(&shared), blocks, checks)),
        };
        let transaction = Some(transaction);
        Ok(Reader { shared, meta, blocks, overflow, kept_games, snapshot, waiting, transaction })
    }

    /// False if another process has committed since the reader was made. A program that reads for
    /// long should then replace the reader by a new one, because the writer cannot reuse the pages that
    /// a reader sees, so the file grows. This reads the first bytes of the file. Always true if the store is
    /// open for writing.
    ///
    /// ```
    /// use epdb_store::{ImportOptions, Store, StoreOptions};
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("book.epdb");
    /// let store = Store::create(&path, &StoreOptions::default())?;
    /// # if cfg!(any(target_os = "linux", target_os = "macos")) {
    /// let beside = Store::open_read_only(&path, &StoreOptions::default())?;
    /// let mut reader = beside.reader()?;
    /// assert!(reader.is_current());
    /// store.importer("none", &ImportOptions::default())?.finish()?;
    /// if !reader.is_current() {
    ///     reader = beside.reader()?;
    /// }
    /// assert!(reader.is_current());
    /// # }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn is_current(&self) -> bool {
        self.snapshot.as_ref().is_none_or(FileSnapshot::is_current)
    }

    /// Counts and sizes of the store.
    ///
    /// # Errors
    /// [`StoreError::Io`] if the length of the file cannot be read.
    pub fn stats(&self) -> Result<StoreStats> {
        let path = &self.shared.path;
        // Since it was opened, the file of a new store may have got its final name.
        let file = std::fs::metadata(&self.shared.file)
            .or_else(|_| std::fs::metadata(path))
            .map_err(|error| StoreError::Io { path: path.clone(), error })?;
        Ok(StoreStats {
            records: self.meta.records,
            positions: self.meta.positions,
            overflow_positions: self.meta.overflow,
            next_import_number: self.meta.next_import_number,
            record_bytes: self.meta.record_bytes,
            blocks: self.meta.blocks,
            file_bytes: file.len(),
            waiting_records: self.waiting,
        })
    }

    /// Number of records.
    pub const fn len(&self) -> u64 {
        self.meta.records
    }

    /// True if the store has no records.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number that the next record will get.
    pub const fn next_import_number(&self) -> u64 {
        self.meta.next_import_number
    }

    /// Path of the store, for messages.
    pub(super) fn path(&self) -> &Path {
        &self.shared.path
    }

    /// The meta row (the header of the store).
    pub(super) const fn meta(&self) -> &Meta {
        &self.meta
    }

    pub(super) fn transaction(&self) -> Inner<&ReadTransaction> {
        self.transaction.as_ref().ok_or(Fault::Redb(redb::Error::DatabaseClosed))
    }

    const fn kept_games(&self) -> &KeptGames {
        &self.kept_games
    }

    fn block_damaged(&self, number: u64, damage: Damage) -> StoreError {
        damaged(format!("block {number}"), damage.0).into_error(self.path())
    }

    /// The result of reading, or the error that the file was cut off meanwhile.
    #[inline]
    fn intact<T>(&self, result: Result<T>) -> Result<T> {
        self.blocks.intact(result, self.path())
    }

    fn overflow_records(&self, key: u64, stub: &Stub) -> Result<OverflowRecords> {
        OverflowRecords::new(self.path(), &self.overflow, key, stub)
    }
}

impl Reader {
    /// Number of games that are kept for the positions that list them.
    ///
    /// # Errors
    /// [`StoreError::Damaged`], [`StoreError::Io`].
    pub fn kept_game_count(&self) -> Result<u64> {
        guarded(self.path(), || self.kept_games().count())
    }

    /// Returns the kept game with this ID, as bytes that [`kept_game`](epdb_chess::codec::kept_game)
    /// decodes. `None` if the game is not kept. When a game is missing for the first time, all
    /// games are read and compared with their digest, so that damage cannot hide a game.
    ///
    /// # Errors
    /// [`StoreError::Damaged`], [`StoreError::Io`].
    pub fn kept_game(&self, id: GameId) -> Result<Option<Vec<u8>>> {
        guarded(self.path(), || self.kept_games().get(id))
    }

    /// Visits all games that are kept, in the order of their IDs.
    ///
    /// # Errors
    /// The errors of [`Reader::kept_game`]. At the end, [`StoreError::Damaged`] if games are
    /// missing. Errors of `visit` are passed on.
    pub fn each_kept_game<E: From<StoreError>>(
        &self,
        visit: &mut impl FnMut(GameId, &[u8]) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let mut visited = Ok(());
        guarded(self.path(), || {
            self.kept_games().each(&mut |id, game| {
                visited = visit(id, game);
                visited.is_ok()
            })
        })?;
        visited
    }
}

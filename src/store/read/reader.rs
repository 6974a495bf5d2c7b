//! A snapshot of a store.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use redb::{ReadOnlyTable, ReadTransaction, ReadableTableMetadata};

use super::blocks::Blocks;
use crate::store::block::Stub;
use crate::store::crowd::CrowdRecords;
use crate::store::error::{Result as Inner, StoreError, damaged, guarded};
use crate::store::kept_games::KeptGames;
use crate::store::open::Store;
use crate::store::schema::{self, Access, Meta, StoreHeader};
use crate::store::shared::Shared;
use crate::store::transaction::read_header;

type Result<T> = std::result::Result<T, StoreError>;

impl Store {
    /// A snapshot of what is committed.
    ///
    /// # Errors
    /// [`StoreError::Damaged`], [`StoreError::Io`].
    pub fn reader(&self) -> Result<Reader> {
        guarded(&self.shared.path, || Reader::new(Arc::clone(&self.shared), self.begin_read()?))
    }
}

/// How much a store holds.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct StoreStats {
    /// Records.
    pub records: u64,
    /// Different positions.
    pub positions: u64,
    /// Positions that have so many records that they are kept apart.
    pub crowded_positions: u64,
    /// What the next record will be numbered.
    pub next_import_number: u64,
    /// The lengths of all encoded records together.
    pub record_bytes: u64,
    /// Blocks that the other positions are spread over.
    pub blocks: u64,
    /// The length of the file.
    pub file_bytes: u64,
}

/// A snapshot of a store: what was committed when it was made. Writers do not disturb it and do
/// not wait for it. It can be shared between threads.
///
/// Blocks that were looked at stay in memory until the store's budget is spent, so a reader that
/// is kept answers faster than one made for each lookup. It uses the store's file until it is
/// dropped, and gives [`StoreError::Busy`] once the store is closed.
pub struct Reader {
    pub(super) shared: Arc<Shared>,
    pub(super) meta: Meta,
    pub(super) blocks: Blocks,
    crowded: ReadOnlyTable<&'static [u8], &'static [u8]>,
    kept_games: KeptGames,
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader").field("shared", &self.shared).finish_non_exhaustive()
    }
}

impl Reader {
    fn new(shared: Arc<Shared>, transaction: ReadTransaction) -> Inner<Reader> {
        let StoreHeader { meta, checks } = read_header(&transaction, Access::Read)?;
        let blocks = transaction.open_table(schema::BLOCKS)?;
        let crowded = transaction.open_table(schema::CROWDED)?;
        let rows =
            [("blocks", meta.blocks, blocks.len()?), ("chunks", meta.chunks, crowded.len()?)];
        for (what, announced, found) in rows {
            if announced != found {
                let what = format!("{announced} {what} are announced, and there are {found}");
                return Err(damaged("the meta row", what));
            }
        }
        let blocks = Blocks::new(Arc::clone(&shared), blocks, checks);
        let kept_games = KeptGames::open(&transaction)?;
        Ok(Reader { shared, meta, blocks, crowded, kept_games })
    }

    /// How much the store holds.
    ///
    /// # Errors
    /// [`StoreError::Io`] when the length of the file cannot be had.
    pub fn stats(&self) -> Result<StoreStats> {
        let path = &self.shared.path;
        // A new file has its place by now, or not yet.
        let file = std::fs::metadata(&self.shared.file)
            .or_else(|_| std::fs::metadata(path))
            .map_err(|error| StoreError::Io { path: path.clone(), error })?;
        Ok(StoreStats {
            records: self.meta.records,
            positions: self.meta.positions,
            crowded_positions: self.meta.crowded,
            next_import_number: self.meta.next_import_number,
            record_bytes: self.meta.record_bytes,
            blocks: self.meta.blocks,
            file_bytes: file.len(),
        })
    }

    /// How many records the store holds.
    pub const fn len(&self) -> u64 {
        self.meta.records
    }

    /// Whether it holds none.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The store, for messages.
    pub(super) fn path(&self) -> &Path {
        &self.shared.path
    }

    /// The games that positions list.
    pub(super) const fn kept_games(&self) -> &KeptGames {
        &self.kept_games
    }

    /// The records of the position of a stub.
    pub(super) fn crowd(&self, key: u64, stub: &Stub) -> Result<CrowdRecords> {
        CrowdRecords::new(self.path(), &self.crowded, key, stub)
    }
}

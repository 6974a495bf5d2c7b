//! Options of a store, the key function, and the state that its readers and writers share.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::error::StoreError;
use epdb_chess::codec::error::EncodeError;
use epdb_chess::codec::{key, packed};

/// Options for opening a store.
#[derive(Clone, Debug)]
pub struct StoreOptions {
    /// Memory for caches and batches in bytes. The default is 256 MiB, and the minimum is 1 MiB.
    pub memory_bytes: usize,
    /// True if a new store may replace an existing file.
    pub replace: bool,
    /// For tests: memory for the batch of an import in bytes; `None` for half of the memory.
    #[doc(hidden)]
    pub batch_bytes: Option<usize>,
    /// For tests: a function that maps position keys before they are used, so that keys can be made
    /// to collide.
    #[doc(hidden)]
    pub key: KeyFunction,
}

impl Default for StoreOptions {
    fn default() -> StoreOptions {
        StoreOptions { memory_bytes: 256 << 20, replace: false, batch_bytes: None, key: |key| key }
    }
}

impl StoreOptions {
    pub(super) fn memory(&self) -> usize {
        self.memory_bytes.max(1 << 20)
    }

    pub(super) fn batch(&self) -> usize {
        self.batch_bytes.unwrap_or(self.memory() / 2)
    }
}

/// Map of position keys. It returns a key unchanged, except in tests of colliding keys.
pub(super) type KeyFunction = fn(u64) -> u64;

/// The key of a packed identity board; `None` if the bytes are not such a board.
pub(super) fn key_of_board(map: KeyFunction, board: &[u8]) -> Option<u64> {
    if packed::len_of(board).ok()? != board.len() {
        return None;
    }
    key::board_key(board).ok().map(map)
}

/// State that readers and writers of one store share.
#[derive(Debug)]
pub(super) struct Shared {
    /// Path of the store, for messages.
    pub(super) path: PathBuf,
    /// Path of the store's file when it was opened; temporary for a new store.
    pub(super) file: PathBuf,
    pub(super) key: KeyFunction,
    /// The process that opened the store.
    pub(super) process: u32,
    /// Bytes left in the memory budget for cached blocks of readers and records of exports.
    pub(super) cache_left: AtomicUsize,
    /// Part of these bytes that is reserved for exports.
    pub(super) cache_floor: usize,
}

impl Shared {
    /// True in a forked child of the process that opened the store. A child shares the locks of its
    /// parent. So it begins no transaction and ends none: both would change the parent's locks.
    pub(super) fn is_forked(&self) -> bool {
        std::process::id() != self.process
    }

    /// Takes bytes of the memory budget; false if they would leave too little for exports.
    pub(super) fn reserve(&self, bytes: usize) -> bool {
        let take = |left: usize| left.checked_sub(bytes).filter(|rest| *rest >= self.cache_floor);
        self.cache_left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok()
    }

    /// Gives bytes back to the memory budget.
    pub(super) fn give_back(&self, bytes: usize) {
        self.cache_left.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(super) fn cannot_encode(&self, error: EncodeError) -> StoreError {
        StoreError::Encode { path: self.path.clone(), error }
    }
}

/// Makes an empty list with this capacity. If the allocation fails, the list has no capacity.
pub(super) fn with_capacity<T>(capacity: usize) -> Vec<T> {
    let mut list = Vec::new();
    list.try_reserve_exact(capacity).ok();
    list
}

//! How a store is opened.

use std::path::PathBuf;
use std::sync::atomic::AtomicUsize;

use super::error::StoreError;
use crate::codec::error::EncodeError;
use crate::codec::{key, packed};

/// How a store is opened.
#[derive(Clone, Debug)]
pub struct StoreOptions {
    pub(super) memory_bytes: usize,
    pub(super) replace: bool,
    pub(super) key: KeyFunction,
}

impl Default for StoreOptions {
    fn default() -> StoreOptions {
        StoreOptions { memory_bytes: 256 << 20, replace: false, key: |key| key }
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

    /// A new store may take the place of a file that is there.
    #[must_use]
    pub const fn replace(mut self, replace: bool) -> StoreOptions {
        self.replace = replace;
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

/// What is made of position keys: nothing, but in tests of keys that collide.
pub(super) type KeyFunction = fn(u64) -> u64;

/// The key of a packed identity board; `None` when it is none.
pub(super) fn key_of_board(map: KeyFunction, board: &[u8]) -> Option<u64> {
    let is_whole = packed::len_of(board).is_ok_and(|len| len == board.len());
    key::board_key(board).ok().filter(|_| is_whole).map(map)
}

/// What readers and writers of one store have in common.
#[derive(Debug)]
pub(super) struct Shared {
    /// The name of the store, for messages.
    pub(super) path: PathBuf,
    /// Where its file was when it was opened.
    pub(super) file: PathBuf,
    pub(super) key: KeyFunction,
    /// Bytes that blocks kept by readers and windows of exports may still take.
    pub(super) cache_left: AtomicUsize,
    /// What of it is left to exports.
    pub(super) cache_floor: usize,
}

impl Shared {
    /// The error of a record that cannot be stored.
    pub(super) fn cannot_encode(&self, error: EncodeError) -> StoreError {
        StoreError::Encode { path: self.path.clone(), error }
    }
}

/// An empty list with room for so many values, if the system grants it; else it grows by itself.
pub(super) fn with_reserve<T>(values: usize) -> Vec<T> {
    let mut list = Vec::new();
    list.try_reserve_exact(values).ok();
    list
}

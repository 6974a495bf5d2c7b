//! How a store is opened.

use super::keys::KeyFunction;

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

//! What readers and writers of one store have in common.

use std::path::PathBuf;
use std::sync::atomic::AtomicUsize;

use super::error::StoreError;
use super::keys::KeyFunction;
use crate::codec::error::EncodeError;

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

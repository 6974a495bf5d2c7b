//! Damaged stores give all records or an error, never a wrong record, never fewer.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

#[allow(dead_code, reason = "the other tests of the store use the rest")]
mod common;
mod damage;
mod directed;
mod redb_pages;

/// A process that is being started has all files of this one open until it runs, and with them the
/// locks of stores that other tests have closed meanwhile and want to open again.
static STARTING: RwLock<()> = RwLock::new(());

/// No process is started as long as this lives.
fn starting_none() -> RwLockReadGuard<'static, ()> {
    STARTING.read().unwrap_or_else(PoisonError::into_inner)
}

/// A process may be started: no other test has a store open.
fn starting_one() -> RwLockWriteGuard<'static, ()> {
    STARTING.write().unwrap_or_else(PoisonError::into_inner)
}

//! The parts without chess that stores, archives and sources share.
//!
//! This crate may change with every version: programs rely on the crate `epdb`, or on `epdb-chess`.
//!
//! - [`new_file`]: files that appear complete or not at all, and files that are opened safely.
//! - [`mapped_file`]: files in memory, of which a part may become unreadable.
//! - [`spill`]: sorting of data larger than memory.
//! - [`threads`]: work on the threads of the pool.

pub mod mapped_file;
#[cfg(any(target_family = "wasm", test))]
mod memory_file;
pub mod new_file;
pub mod spill;
pub mod threads;

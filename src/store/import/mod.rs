//! Imports: records are collected in batches, and each batch is merged into the blocks in one
//! transaction.

mod batch;
mod block_count;
mod entry;
mod existing;
mod importer;
mod merge;
mod options;
mod report;
mod resolve;

pub use importer::Importer;
pub use options::{ImportOptions, OnDuplicate, Same};
pub use report::{ImportConflict, ImportReport};

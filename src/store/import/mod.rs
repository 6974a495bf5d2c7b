//! Imports: records are collected in batches, and each batch is merged into the blocks in one
//! transaction.

mod batch;
mod existing;
mod importer;
mod merge;
mod options;
mod resolve;

pub use importer::Importer;
pub use options::{ImportConflict, ImportOptions, ImportReport, OnDuplicate, Same};

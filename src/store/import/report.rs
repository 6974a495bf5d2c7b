//! What an import did.

use crate::store::journal::ImportCounts;

/// Two records of one position that contradict each other; both are stored.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct ImportConflict {
    /// The number of the later one.
    pub import_number: u64,
    /// The number of the first one of those before it.
    pub earlier: u64,
}

/// What an import did.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ImportReport {
    /// What became of the records, those of earlier runs included.
    pub counts: ImportCounts,
    /// The first 1000 conflicts of this run.
    pub conflicts: Vec<ImportConflict>,
}

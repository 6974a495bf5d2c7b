//! How records are imported.

use std::num::NonZeroU64;

use crate::model::merge::{BestMoves, MergeRules, Prefer};
use crate::store::journal::{ImportCounts, SourceDigest};

/// What becomes of a record that has a duplicate in the store or before it in its source.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum OnDuplicate {
    /// Both stay: a store is a multiset.
    #[default]
    Keep,
    /// The later one is left out.
    Skip,
    /// The later one takes the place of all earlier ones.
    Replace,
    /// The later one is merged into the earliest one that it does not contradict, of the first
    /// 256 of its position; if it contradicts all of them it is stored beside them.
    Merge(MergeRules),
}

/// Which records are duplicates of each other.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum Same {
    /// Those of one position.
    #[default]
    Position,
    /// Those that are equal in everything that text can say. Merging two of them is leaving one
    /// out.
    Record,
}

/// How records are imported.
///
/// ```
/// use epdb::store::{ImportOptions, OnDuplicate};
/// let options = ImportOptions::new().on_duplicate(OnDuplicate::Skip).restart(true);
/// assert_eq!(options.on_duplicate, OnDuplicate::Skip);
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct ImportOptions {
    /// What becomes of duplicates.
    pub on_duplicate: OnDuplicate,
    /// What a duplicate is.
    pub same: Same,
    /// What else decides which records a source gives, such as the profile it is read under. An
    /// interrupted import is continued only under equal settings.
    pub settings: String,
    /// What all bytes of the source are, where that is known: see
    /// [`Store::recognise`](crate::store::Store::recognise). An
    /// interrupted import of these bytes is continued under whatever name they come.
    pub digest: Option<SourceDigest>,
    /// Gives an interrupted import of this source up, keeping what it had committed, and imports
    /// the source from its start.
    pub restart: bool,
    /// Commits at the latest after so many records; else when the memory for batches is full.
    pub commit_every: Option<NonZeroU64>,
}

impl ImportOptions {
    /// The default: everything stays, whatever else the store has of its position.
    pub fn new() -> ImportOptions {
        ImportOptions::default()
    }

    /// What becomes of duplicates.
    #[must_use]
    pub fn on_duplicate(self, on_duplicate: OnDuplicate) -> ImportOptions {
        ImportOptions { on_duplicate, ..self }
    }

    /// What a duplicate is.
    #[must_use]
    pub fn same(self, same: Same) -> ImportOptions {
        ImportOptions { same, ..self }
    }

    /// What else decides which records a source gives.
    #[must_use]
    pub fn settings(self, settings: impl Into<String>) -> ImportOptions {
        ImportOptions { settings: settings.into(), ..self }
    }

    /// What all bytes of the source are.
    #[must_use]
    pub fn digest(self, digest: SourceDigest) -> ImportOptions {
        ImportOptions { digest: Some(digest), ..self }
    }

    /// Whether an interrupted import of this source is given up.
    #[must_use]
    pub fn restart(self, restart: bool) -> ImportOptions {
        ImportOptions { restart, ..self }
    }

    /// Commits at the latest after so many records; with 0, when the memory for batches is full.
    #[must_use]
    pub fn commit_every(self, records: u64) -> ImportOptions {
        ImportOptions { commit_every: NonZeroU64::new(records), ..self }
    }

    /// What becomes of duplicates, as the journal has it. These words are compared with those of
    /// earlier versions: they do not change.
    pub(super) fn duplicates(&self) -> String {
        let what = match &self.on_duplicate {
            OnDuplicate::Keep => return "keep".to_string(),
            OnDuplicate::Skip => "skip".to_string(),
            OnDuplicate::Replace => "replace".to_string(),
            OnDuplicate::Merge(MergeRules { prefer, best_moves, counts }) => {
                let prefer = match prefer {
                    Prefer::Later => "later",
                    Prefer::First => "first",
                    Prefer::Deepest => "deepest",
                    Prefer::Nodes => "nodes",
                };
                let best_moves = match best_moves {
                    BestMoves::Conflict => "conflict",
                    BestMoves::Union => "union",
                    BestMoves::First => "first",
                    BestMoves::Last => "last",
                };
                let add: String = counts.iter().map(|opcode| format!(", add {opcode}")).collect();
                format!("merge, prefer {prefer}, bm {best_moves}{add}")
            }
        };
        match self.same {
            Same::Position => what + ", same position",
            Same::Record => what + ", same record",
        }
    }
}

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

//! Imports: records are collected in batches. A single batch is merged into the blocks at once. Several
//! batches become sorted runs in a file beside the store, and one merge at the end writes each block once.
//! This file has the options and the report of an import.

mod batch;
mod existing;
mod importer;
mod merge;
mod resolve;
mod sorted;

pub use importer::Importer;

use std::collections::BTreeMap;
use std::num::NonZeroU64;

use super::journal::{ImportCounts, SourceDigest};
use epdb_chess::model::merge::{BestMoves, MergeRules, Prefer};

/// Rule for a record that has a duplicate in the store or earlier in its source.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum OnDuplicate {
    /// Keep both: a store is a multiset.
    #[default]
    Keep,
    /// Leave out the later record.
    Skip,
    /// Replace all earlier records by the later one.
    Replace,
    /// Merge the later record into the earliest record that it does not contradict. Only the first
    /// 256 records of the position are tried. If it contradicts all of them, it is stored in
    /// addition.
    Merge(MergeRules),
}

/// Definition of duplicates.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum Same {
    /// All records of one position are duplicates.
    #[default]
    Position,
    /// Records are the same if they have the same canonical text. Merging keeps one of two such
    /// records.
    Record,
}

/// Options of an import. By default every record is stored.
///
/// ```
/// use epdb_store::{ImportOptions, OnDuplicate};
/// let options = ImportOptions { on_duplicate: OnDuplicate::Skip, restart: true, ..Default::default() };
/// assert_ne!(options, ImportOptions::default());
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ImportOptions {
    /// Rule for duplicates.
    pub on_duplicate: OnDuplicate,
    /// Definition of duplicates.
    pub same: Same,
    /// All settings that select or change the records of the source, such as the parser's profile:
    /// the value of each by its name, and an empty value for a flag. The rule for duplicates is not
    /// one of them. An interrupted import is continued only with equal settings.
    pub settings: BTreeMap<String, String>,
    /// Digest of the source, if known: see [`Store::recognise`](crate::Store::recognise). An
    /// interrupted import of these bytes is continued under any name.
    pub digest: Option<SourceDigest>,
    /// True if an interrupted import of this source is given up: the records that it committed
    /// stay, and the source is imported from its start.
    pub restart: bool,
    /// Maximum number of records between two commits.
    pub commit_every: Option<NonZeroU64>,
    /// True if a commit happens whenever the memory for batches is full, as in an import from standard
    /// input: readers see its records while it runs. Otherwise such records wait in sorted runs beside
    /// the store until the end of the import, so that each block is written once. That takes less time.
    pub commit_when_full: bool,
}

impl ImportOptions {
    /// The options of an interrupted import, by its rule for duplicates in the journal.
    fn from_duplicates(text: &str) -> Option<ImportOptions> {
        if text == "keep" {
            return Some(ImportOptions::default());
        }
        let (rule, same) = text.rsplit_once(", same ")?;
        let same = match same {
            "position" => Same::Position,
            "record" => Same::Record,
            _ => return None,
        };
        let on_duplicate = match rule {
            "skip" => OnDuplicate::Skip,
            "replace" => OnDuplicate::Replace,
            _ => {
                let (rule, added) = rule.split_once(", add ").unwrap_or((rule, ""));
                let (prefer, best_moves) =
                    rule.strip_prefix("merge, prefer ")?.split_once(", bm ")?;
                let counts = added.split(", add ").filter(|opcode| !opcode.is_empty());
                OnDuplicate::Merge(MergeRules {
                    prefer: PREFER.iter().find(|(_, name)| *name == prefer)?.0,
                    best_moves: BEST_MOVES.iter().find(|(_, name)| *name == best_moves)?.0,
                    counts: counts.map(|opcode| opcode.parse().ok()).collect::<Option<_>>()?,
                })
            }
        };
        Some(ImportOptions { on_duplicate, same, ..Default::default() })
    }

    /// The rule for duplicates as text for the journal (the list of imports in the store). It is
    /// compared with the text that earlier versions wrote, so it must not change.
    fn duplicates(&self) -> String {
        let what = match &self.on_duplicate {
            OnDuplicate::Keep => return "keep".to_string(),
            OnDuplicate::Skip => "skip".to_string(),
            OnDuplicate::Replace => "replace".to_string(),
            OnDuplicate::Merge(MergeRules { prefer, best_moves, counts }) => {
                let prefer = name_in(&PREFER, prefer);
                let best_moves = name_in(&BEST_MOVES, best_moves);
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

/// Names of the rules for analyses in the journal.
const PREFER: [(Prefer, &str); 4] = [
    (Prefer::Later, "later"),
    (Prefer::First, "first"),
    (Prefer::Deepest, "deepest"),
    (Prefer::Nodes, "nodes"),
];

/// Names of the rules for best moves in the journal.
const BEST_MOVES: [(BestMoves, &str); 4] = [
    (BestMoves::Conflict, "conflict"),
    (BestMoves::Union, "union"),
    (BestMoves::First, "first"),
    (BestMoves::Last, "last"),
];

fn name_in<T: PartialEq>(names: &[(T, &'static str)], rule: &T) -> &'static str {
    names.iter().find(|(named, _)| named == rule).map_or("", |(_, name)| name)
}

/// Two records of one position that contradict each other; both are stored.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct ImportConflict {
    /// Import number of the later record.
    pub import_number: u64,
    /// Import number of the earliest record that the later one contradicts.
    pub earlier: u64,
}

/// Numbers of merged records with two analyses. One of the two stayed ([`MergeRules::prefer`]).
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct AnalysisCounts {
    /// All of these records.
    pub differing: u64,
    /// Records whose earlier analysis was deeper and is lost.
    pub deeper_replaced: u64,
}

/// Report of an import.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ImportReport {
    /// Outcome of the records, including those of earlier runs.
    pub counts: ImportCounts,
    /// The first 1000 conflicts of this run.
    pub conflicts: Vec<ImportConflict>,
    /// Records of this run that were merged and whose analysis differed from that of the earlier record.
    pub analyses: AnalysisCounts,
    /// Import number of the first record that was read.
    pub first_import_number: u64,
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    /// The journal has the rule for duplicates as text. A later import reads it to merge what waits.
    #[test]
    fn rules_for_duplicates_are_read_as_they_were_written() {
        let counted = vec!["Count".parse().unwrap(), "Seen".parse().unwrap()];
        for same in [Same::Position, Same::Record] {
            let mut rules = vec![OnDuplicate::Skip, OnDuplicate::Replace];
            for (prefer, _) in PREFER {
                for (best_moves, _) in BEST_MOVES {
                    for counts in [vec![], counted[..1].to_vec(), counted.clone()] {
                        rules.push(OnDuplicate::Merge(MergeRules { prefer, best_moves, counts }));
                    }
                }
            }
            for rule in rules {
                let options = ImportOptions { on_duplicate: rule, same, ..Default::default() };
                let text = options.duplicates();
                assert_eq!(ImportOptions::from_duplicates(&text), Some(options), "{text}");
            }
        }
        let keep = ImportOptions::default();
        assert_eq!(ImportOptions::from_duplicates(&keep.duplicates()), Some(keep));
        for text in ["", "merge", "skip, same board", "merge, prefer all, bm last, same record"] {
            assert_eq!(ImportOptions::from_duplicates(text), None, "{text}");
        }
    }
}

//! Treatment of duplicates: incoming records of a position that already has records.

use std::cell::Cell;
use std::collections::HashMap;

use super::batch::{Arena, Incoming};
use super::{AnalysisCounts, ImportConflict, OnDuplicate, Same};
use crate::error::{Result, damaged};
use crate::journal::ImportCounts;
use crate::overflow::Action;
use epdb_chess::codec::record;
use epdb_chess::model::EpdRecord;
use epdb_chess::model::merge::{MergeRules, Merged, analyses_differ, depth, merge};

/// Maximum number of records of a position with which the merging of a new record is tried. The
/// earliest records are tried first.
pub(super) const MERGE_CANDIDATES: usize = 256;
/// Number of conflicts that the report lists.
const MAX_CONFLICTS: usize = 1000;

/// The decision about the incoming records of one position.
pub(super) enum Resolution {
    /// Existing records stay as they are.
    KeepExisting,
    DeleteExisting,
    /// Existing and incoming records must be compared: call [`Resolution::action`] for each
    /// existing record.
    Compare {
        replace: bool,
        merge: bool,
        /// The first `distinct` incoming records all differ, and are sorted by their bytes.
        distinct: usize,
        /// For each of the `distinct` incoming records: true if an existing record equals it.
        met: Vec<Cell<bool>>,
    },
    /// The changed records, by import number: existing or incoming records into which others were
    /// merged.
    Update(HashMap<u64, Vec<u8>>),
}

/// Calls a visitor with the records of a position, in order, until it returns `false`.
pub(super) type EachExisting<'a> =
    &'a dyn Fn(&mut dyn FnMut(u64, &[u8]) -> Result<bool>) -> Result<()>;

/// The rules of an import, and the counts and conflicts so far.
pub(super) struct Resolver<'a> {
    pub(super) on_duplicate: &'a OnDuplicate,
    pub(super) same: Same,
    /// The import number of the first record of the merge.
    pub(super) first_number: u64,
    pub(super) counts: ImportCounts,
    pub(super) conflicts: Vec<ImportConflict>,
    pub(super) analyses: AnalysisCounts,
}

impl<'a> Resolver<'a> {
    /// The same rules for one block, without counts and conflicts.
    pub(super) fn for_block(&self) -> Resolver<'a> {
        Resolver {
            counts: ImportCounts::default(),
            conflicts: Vec::new(),
            analyses: AnalysisCounts::default(),
            ..*self
        }
    }

    /// Adds the counts and conflicts of the next block.
    pub(super) fn add(&mut self, block: Resolver<'a>) {
        self.counts.add(&block.counts);
        self.analyses.differing += block.analyses.differing;
        self.analyses.deeper_replaced += block.analyses.deeper_replaced;
        let room = MAX_CONFLICTS.saturating_sub(self.conflicts.len());
        self.conflicts.extend(block.conflicts.into_iter().take(room));
    }

    pub(super) fn number(&self, new: &Incoming) -> u64 {
        self.first_number + u64::from(new.nth)
    }

    /// Import numbers and bytes of the incoming records that will be stored.
    pub(super) fn stored<'n>(
        &self,
        arena: &'n Arena,
        resolution: &'n Resolution,
        incoming: &'n [Incoming],
    ) -> impl Iterator<Item = (u64, &'n [u8])> + use<'n> {
        let first_number = self.first_number;
        let stored = incoming.iter().filter(|new| !new.is_discarded());
        stored.map(move |new| {
            let number = first_number + u64::from(new.nth);
            (number, resolution.updated(number).unwrap_or(arena.record(new)))
        })
    }

    /// Decides about the incoming records of a position, and discards those that will not be
    /// stored. `existing` is the number of records that the store has of the position.
    pub(super) fn resolve(
        &mut self,
        arena: &Arena,
        incoming: &mut [Incoming],
        existing: u64,
        each_existing: EachExisting,
    ) -> Result<Resolution> {
        let count = incoming.len() as u64;
        self.counts.read += count;
        match (self.on_duplicate, self.same) {
            (OnDuplicate::Keep, _) => self.counts.stored += count,
            (OnDuplicate::Skip, Same::Position) => {
                let stored = if existing == 0 { 1 } else { 0 };
                incoming.iter_mut().skip(stored).for_each(Incoming::discard);
                self.counts.stored += stored as u64;
                self.counts.dropped += count - stored as u64;
            }
            (OnDuplicate::Replace, Same::Position) => {
                incoming.iter_mut().rev().skip(1).for_each(Incoming::discard);
                self.counts.stored += count;
                self.counts.replaced += count - 1 + existing;
                return Ok(Resolution::DeleteExisting);
            }
            (OnDuplicate::Merge(rules), Same::Position) => {
                return self.merge(rules, arena, incoming, each_existing);
            }
            (_, Same::Record) => return Ok(self.compare(arena, incoming, existing)),
        }
        Ok(Resolution::KeepExisting)
    }

    /// Finds equal records among the incoming records.
    fn compare(&mut self, arena: &Arena, incoming: &mut [Incoming], existing: u64) -> Resolution {
        let replace = matches!(self.on_duplicate, OnDuplicate::Replace);
        let merge = matches!(self.on_duplicate, OnDuplicate::Merge(_));
        if incoming.len() > 1 {
            // Among equal records, the one that stays comes first.
            incoming.sort_unstable_by(|a, b| {
                let order = a.nth.cmp(&b.nth);
                let order = if replace { order.reverse() } else { order };
                arena.record(a).cmp(arena.record(b)).then(order)
            });
        }
        let mut distinct = 0;
        for next in 0..incoming.len() {
            if distinct == 0
                || arena.record(&incoming[next]) != arena.record(&incoming[distinct - 1])
            {
                incoming.swap(distinct, next);
                distinct += 1;
            }
        }
        let repeats = (incoming.len() - distinct) as u64;
        incoming[distinct..].iter_mut().for_each(Incoming::discard);
        self.counts.stored += distinct as u64;
        if replace {
            self.counts.stored += repeats;
            self.counts.replaced += repeats;
        } else if merge {
            self.counts.merged += repeats;
        } else {
            self.counts.dropped += repeats;
        }
        if existing == 0 {
            return Resolution::KeepExisting;
        }
        Resolution::Compare { replace, merge, distinct, met: vec![Cell::new(false); distinct] }
    }

    /// Merges each incoming record into the earliest record that it does not contradict.
    fn merge(
        &mut self,
        rules: &MergeRules,
        arena: &Arena,
        incoming: &mut [Incoming],
        each_existing: EachExisting,
    ) -> Result<Resolution> {
        let mut earliest = Vec::new();
        each_existing(&mut |number, bytes| {
            earliest.push((number, bytes.to_vec()));
            Ok(earliest.len() < MERGE_CANDIDATES)
        })?;
        if let Some(resolution) = self.add_tallies(arena, incoming, &earliest) {
            return Ok(resolution);
        }
        let mut candidates = Vec::with_capacity(earliest.len());
        for (number, bytes) in earliest {
            let record = decode(number, &bytes)?;
            candidates.push(Candidate { number, record, changed: false });
        }
        for new in incoming.iter_mut() {
            let number = self.number(new);
            let record = decode(number, arena.record(new))?;
            let analyses = &mut self.analyses;
            let is_merged =
                candidates.iter_mut().any(|earlier| earlier.absorb(&record, rules, analyses));
            if is_merged {
                self.counts.merged += 1;
                new.discard();
                continue;
            }
            self.counts.stored += 1;
            // It contradicts all candidates. The report names the first.
            if let Some(first) = candidates.first() {
                self.counts.conflicts += 1;
                if self.conflicts.len() < MAX_CONFLICTS {
                    let conflict = ImportConflict { import_number: number, earlier: first.number };
                    self.conflicts.push(conflict);
                }
            }
            if candidates.len() < MERGE_CANDIDATES {
                candidates.push(Candidate { number, record, changed: false });
            }
        }
        let changed = candidates.into_iter().filter(|candidate| candidate.changed);
        Ok(Resolution::Update(changed.map(Candidate::encode).collect::<Result<_>>()?))
    }

    /// Merges records that have only tallies, by adding them in their binary form. If there is only
    /// one record, it is stored. If the position has several stored records, or if a record has
    /// more than tallies, this function changes nothing and returns `None`.
    fn add_tallies(
        &mut self,
        arena: &Arena,
        incoming: &mut [Incoming],
        existing: &[(u64, Vec<u8>)],
    ) -> Option<Resolution> {
        // Without an existing record, the first incoming record is stored, and the others are added
        // to it.
        let (stored, (number, mut sum)) = match existing {
            [] => {
                let first = incoming.first()?;
                (1, (self.number(first), arena.record(first).to_vec()))
            }
            [only] => (0, only.clone()),
            _ => return None,
        };
        for new in incoming.iter().skip(stored) {
            sum = record::add_tallied(&sum, arena.record(new))?;
        }
        let merged = incoming.len() - stored;
        self.counts.stored += stored as u64;
        self.counts.merged += merged as u64;
        incoming.iter_mut().skip(stored).for_each(Incoming::discard);
        if merged == 0 {
            return Some(Resolution::KeepExisting);
        }
        Some(Resolution::Update(HashMap::from([(number, sum)])))
    }
}

struct Candidate {
    number: u64,
    record: EpdRecord,
    changed: bool,
}

impl Candidate {
    /// Merges a record into this record, unless the two contradict each other.
    fn absorb(
        &mut self,
        record: &EpdRecord,
        rules: &MergeRules,
        analyses: &mut AnalysisCounts,
    ) -> bool {
        let Merged::One(merged) = merge(&self.record, record, rules) else { return false };
        if analyses_differ(&self.record, record) {
            analyses.differing += 1;
            analyses.deeper_replaced += u64::from(depth(&merged) < depth(&self.record));
        }
        self.changed |= merged != self.record;
        self.record = merged;
        true
    }

    fn encode(self) -> Result<(u64, Vec<u8>)> {
        let mut bytes = Vec::new();
        record::encode(&self.record, &mut bytes).map_err(|error| {
            damaged(format!("record {}", self.number), format!("merging failed: {error}"))
        })?;
        Ok((self.number, bytes))
    }
}

fn decode(number: u64, bytes: &[u8]) -> Result<EpdRecord> {
    match record::decode(bytes) {
        Ok((record, _)) => Ok(record),
        Err(error) => Err(damaged(format!("record {number}"), error.to_string())),
    }
}

impl Resolution {
    /// True if [`Resolution::action`] has to see every existing record. `first` is the import number of the
    /// first incoming record of the position.
    pub(super) fn reads_existing(&self, first: u64) -> bool {
        match self {
            Resolution::KeepExisting | Resolution::DeleteExisting => false,
            Resolution::Compare { .. } => true,
            Resolution::Update(changed) => changed.keys().any(|&number| number < first),
        }
    }

    /// Decides about an existing record. Call this for all existing records or for none.
    pub(super) fn action(
        &self,
        counts: &mut ImportCounts,
        arena: &Arena,
        incoming: &[Incoming],
        number: u64,
        record: &[u8],
    ) -> Action<'_> {
        match self {
            Resolution::KeepExisting => Action::Keep,
            Resolution::DeleteExisting => Action::Delete,
            Resolution::Update(changed) => match changed.get(&number) {
                Some(bytes) => Action::Update(bytes),
                None => Action::Keep,
            },
            Resolution::Compare { replace, distinct, met, .. } => {
                let incoming = incoming.get(..*distinct).unwrap_or_default();
                match incoming.binary_search_by(|own| arena.record(own).cmp(record)) {
                    Ok(_) if *replace => {
                        counts.replaced += 1;
                        Action::Delete
                    }
                    Ok(place) => {
                        met[place].set(true);
                        Action::Keep
                    }
                    Err(_) => Action::Keep,
                }
            }
        }
    }

    /// Discards the incoming records that equal an existing record, and restores the order of
    /// import. All existing records must have been seen.
    pub(super) fn finish(&self, counts: &mut ImportCounts, incoming: &mut [Incoming]) {
        let Resolution::Compare { merge, met, .. } = self else {
            incoming.sort_unstable_by_key(|record| record.nth);
            return;
        };
        for (new, _) in incoming.iter_mut().zip(met).filter(|(_, met)| met.get()) {
            new.discard();
            counts.stored -= 1;
            if *merge {
                counts.merged += 1;
            } else {
                counts.dropped += 1;
            }
        }
        incoming.sort_unstable_by_key(|record| record.nth);
    }

    /// The new bytes of an incoming record into which others were merged, otherwise `None`.
    pub(super) fn updated(&self, number: u64) -> Option<&[u8]> {
        match self {
            Resolution::Update(changed) => changed.get(&number).map(Vec::as_slice),
            _ => None,
        }
    }
}

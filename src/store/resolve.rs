//! What becomes of new records of a position that has some already.

use std::collections::HashMap;

use super::batch::{Arena, New};
use super::error::{Result, damaged};
use super::importer::{Conflict, OnDuplicate, Same};
use super::journal::Counts;
use crate::codec::record;
use crate::model::EpdRecord;
use crate::model::merge::{MergeRules, Merged, merge};

/// With how many records of a position, the earliest, merging a new one is tried.
pub(super) const MERGE_CANDIDATES: usize = 256;
/// How many conflicts are kept by number.
const CONFLICTS_KEPT: usize = 1000;

/// What becomes of a record that was there before.
pub(super) enum Fate<'a> {
    Keep,
    Remove,
    Change(&'a [u8]),
}

/// The decision about the new records of one position.
pub(super) enum Plan {
    /// Old records stay as they are.
    KeepOld,
    RemoveOld,
    /// Old and new records are compared, which [`Plan::fate`] does.
    Compare {
        replace: bool,
        merge: bool,
        /// So many new records at the front differ and are sorted by their bytes.
        distinct: usize,
        /// Which of them an old record equals.
        met: Vec<bool>,
    },
    /// Some records, old or new, became others; by import number.
    Changed(HashMap<u64, Vec<u8>>),
}

/// Calls back with the records of a position, in order, until the answer is `false`.
pub(super) type EachOld<'a> = &'a dyn Fn(&mut dyn FnMut(u64, &[u8]) -> Result<bool>) -> Result<()>;

/// The rules of an import and what they led to.
pub(super) struct Resolver<'a> {
    pub(super) on_duplicate: &'a OnDuplicate,
    pub(super) same: Same,
    /// The import number of the first record of the batch.
    pub(super) first_number: u64,
    pub(super) counts: Counts,
    pub(super) conflicts: Vec<Conflict>,
}

impl Resolver<'_> {
    /// The import number of a new record.
    pub(super) fn number(&self, new: &New) -> u64 {
        self.first_number + u64::from(new.nth)
    }

    /// Decides about the new records of a position, of which the store has `old` records.
    /// Afterwards the records that will not be stored are gone.
    pub(super) fn decide(
        &mut self,
        arena: &Arena,
        news: &mut [New],
        old: u64,
        each_old: EachOld,
    ) -> Result<Plan> {
        let count = news.len() as u64;
        self.counts.read += count;
        match (self.on_duplicate, self.same) {
            (OnDuplicate::Keep, _) => self.counts.stored += count,
            (OnDuplicate::Skip, Same::Position) => {
                let stored = if old == 0 { 1 } else { 0 };
                news.iter_mut().skip(stored).for_each(New::drop_it);
                self.counts.stored += stored as u64;
                self.counts.dropped += count - stored as u64;
            }
            (OnDuplicate::Replace, Same::Position) => {
                news.iter_mut().rev().skip(1).for_each(New::drop_it);
                self.counts.stored += count;
                self.counts.replaced += count - 1 + old;
                return Ok(Plan::RemoveOld);
            }
            (OnDuplicate::Merge(rules), Same::Position) => {
                return self.merge(rules, arena, news, each_old);
            }
            (_, Same::Record) => return Ok(self.compare(arena, news, old)),
        }
        Ok(Plan::KeepOld)
    }

    /// Finds equal records among the new ones.
    fn compare(&mut self, arena: &Arena, news: &mut [New], old: u64) -> Plan {
        let replace = matches!(self.on_duplicate, OnDuplicate::Replace);
        let merge = matches!(self.on_duplicate, OnDuplicate::Merge(_));
        if news.len() > 1 {
            // Of equal ones the one that stays comes first.
            news.sort_unstable_by(|a, b| {
                let order = a.nth.cmp(&b.nth);
                let order = if replace { order.reverse() } else { order };
                arena.record(a).cmp(arena.record(b)).then(order)
            });
        }
        let mut distinct = 0;
        for next in 0..news.len() {
            if distinct == 0 || arena.record(&news[next]) != arena.record(&news[distinct - 1]) {
                news.swap(distinct, next);
                distinct += 1;
            }
        }
        let repeats = (news.len() - distinct) as u64;
        news[distinct..].iter_mut().for_each(New::drop_it);
        self.counts.stored += distinct as u64;
        match (replace, merge) {
            (true, _) => {
                self.counts.stored += repeats;
                self.counts.replaced += repeats;
            }
            (_, true) => self.counts.merged += repeats,
            _ => self.counts.dropped += repeats,
        }
        if old == 0 {
            return Plan::KeepOld;
        }
        Plan::Compare { replace, merge, distinct, met: vec![false; distinct] }
    }

    /// Merges each new record with the first of the earliest records that it does not contradict.
    fn merge(
        &mut self,
        rules: &MergeRules,
        arena: &Arena,
        news: &mut [New],
        each_old: EachOld,
    ) -> Result<Plan> {
        let mut candidates: Vec<Candidate> = Vec::new();
        each_old(&mut |number, bytes| {
            candidates.push(Candidate { number, record: decode(number, bytes)?, changed: false });
            Ok(candidates.len() < MERGE_CANDIDATES)
        })?;
        for new in news.iter_mut() {
            let number = self.number(new);
            let record = decode(number, arena.record(new))?;
            if candidates.iter_mut().any(|candidate| candidate.absorb(&record, rules)) {
                self.counts.merged += 1;
                new.drop_it();
                continue;
            }
            self.counts.stored += 1;
            if let Some(first) = candidates.first() {
                self.counts.conflicts += 1;
                if self.conflicts.len() < CONFLICTS_KEPT {
                    let conflict = Conflict { import_number: number, earlier: first.number };
                    self.conflicts.push(conflict);
                }
            }
            if candidates.len() < MERGE_CANDIDATES {
                candidates.push(Candidate { number, record, changed: false });
            }
        }
        let changed = candidates.into_iter().filter(|candidate| candidate.changed);
        changed.map(Candidate::encode).collect::<Result<_>>().map(Plan::Changed)
    }
}

struct Candidate {
    number: u64,
    record: EpdRecord,
    changed: bool,
}

impl Candidate {
    /// Merges a record into this one, unless they contradict each other.
    fn absorb(&mut self, record: &EpdRecord, rules: &MergeRules) -> bool {
        let Merged::One(merged) = merge(&self.record, record, rules) else { return false };
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

impl Plan {
    /// Whether [`Plan::fate`] has to see every old record.
    pub(super) fn looks_at_old(&self, first_number: u64) -> bool {
        match self {
            Plan::KeepOld | Plan::RemoveOld => false,
            Plan::Compare { .. } => true,
            Plan::Changed(changed) => changed.keys().any(|&number| number < first_number),
        }
    }

    /// What becomes of an old record. To be called for each of them, if for any.
    pub(super) fn fate(
        &mut self,
        counts: &mut Counts,
        arena: &Arena,
        news: &[New],
        number: u64,
        record: &[u8],
    ) -> Fate<'_> {
        match self {
            Plan::KeepOld => Fate::Keep,
            Plan::RemoveOld => Fate::Remove,
            Plan::Changed(changed) => match changed.get(&number) {
                Some(bytes) => Fate::Change(bytes),
                None => Fate::Keep,
            },
            Plan::Compare { replace, distinct, met, .. } => {
                let news = news.get(..*distinct).unwrap_or_default();
                match news.binary_search_by(|new| arena.record(new).cmp(record)) {
                    Ok(_) if *replace => {
                        counts.replaced += 1;
                        Fate::Remove
                    }
                    Ok(place) => {
                        met[place] = true;
                        Fate::Keep
                    }
                    Err(_) => Fate::Keep,
                }
            }
        }
    }

    /// Once all old records were seen: drops the new ones that equal one of them, and puts the
    /// rest back in the order of their import.
    pub(super) fn settle(&self, counts: &mut Counts, news: &mut [New]) {
        let Plan::Compare { merge, met, .. } = self else {
            news.sort_unstable_by_key(|new| new.nth);
            return;
        };
        for (new, _) in news.iter_mut().zip(met).filter(|(_, met)| **met) {
            new.drop_it();
            counts.stored -= 1;
            if *merge {
                counts.merged += 1;
            } else {
                counts.dropped += 1;
            }
        }
        news.sort_unstable_by_key(|new| new.nth);
    }

    /// The bytes of a new record that others were merged into.
    pub(super) fn changed(&self, number: u64) -> Option<&[u8]> {
        match self {
            Plan::Changed(changed) => changed.get(&number).map(Vec::as_slice),
            _ => None,
        }
    }
}

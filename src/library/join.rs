//! Operations copied from the records of another collection.

use std::path::PathBuf;

use super::ordered::{
    By, Grouped, GroupedEntry, KeyedRecord, Ordered, Origin, Reorder, moved_to, push_key,
};
use super::sets::RecordConflict;
use epdb_base::spill::Sorter;
use epdb_chess::error::Result;
use epdb_chess::model::merge::{MergeRules, Merged, analyses_differ, merge};
use epdb_chess::model::{EpdRecord, Opcode, Operation};

/// The criterion that pairs records of two collections.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum Meet {
    /// Records with the same position are paired.
    #[default]
    Position,
    /// Records with the same `id` are paired. Records without an `id` are not paired.
    Id,
}

/// Counts of a [`Join`].
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct JoinTally {
    /// Records with a partner.
    pub matched: u64,
    /// Records without a partner, which stay as they are.
    pub unmatched: u64,
    /// Records that contradict their partner, and stay as they are.
    pub conflicts: u64,
    /// Records whose analysis differs from the copied one: [`MergeRules::prefer`] chose.
    pub analyses: u64,
    /// Records with several partners whose analyses differ: [`MergeRules::prefer`] chose.
    pub several: u64,
}

/// A left join. It returns all records of a collection, in their order. Each record gets operations from its
/// partners, the records of another collection with which it is paired.
///
/// Operations are merged by the rules of [`merge`]; the record itself counts as the first. A merge that would
/// change an operation that is not copied is a conflict. So a part of an analysis does not replace another
/// analysis. If a record has several partners, the partners are first merged with each other. If they
/// contradict each other, only the first partner counts.
///
/// ```
/// use epdb_library::join::{Join, Meet};
/// use epdb_library::sets::Origin;
/// use epdb_chess::model::{Opcode, merge::MergeRules};
/// let take = vec![Opcode::FMVN, Opcode::HMVC];
/// let mut join = Join::new(Meet::Position, take, MergeRules::default(), std::env::temp_dir(), 1 << 20);
/// join.add_other(&epdb_chess::parse_epd(b"7k/8/8/8/8/8/8/K7 w - - 3 40")?, Origin::default())?;
/// join.add(&epdb_chess::parse_epd(b"7k/8/8/8/8/8/8/K7 w - - ce 0;")?, Origin::default())?;
/// let (mut records, tally) = join.finish(false, &mut |_conflict| {})?;
/// assert_eq!((tally.matched, tally.unmatched), (1, 0));
/// let joined = records.next().transpose()?.map(|record| epdb_chess::format_epd(&record));
/// assert_eq!(joined, Some(b"7k/8/8/8/8/8/8/K7 w - - ce 0; fmvn 40; hmvc 3;".to_vec()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Join {
    meet: Meet,
    take: Vec<Opcode>,
    rules: MergeRules,
    directory: PathBuf,
    memory_bytes: usize,
    sorter: Sorter,
    len: u64,
}

/// The last byte of the key of a record from the other collection. This byte sorts these records before the
/// records that they are joined to.
const OTHER: u8 = 0;
const OWN: u8 = 1;

impl Join {
    /// A join that uses about `memory_bytes` of memory, and temporary files in `directory` for the
    /// rest.
    pub fn new(
        meet: Meet,
        take: Vec<Opcode>,
        rules: MergeRules,
        directory: impl Into<PathBuf>,
        memory_bytes: usize,
    ) -> Join {
        let directory = directory.into();
        let sorter = Sorter::new(&directory, memory_bytes / 2);
        Join { meet, take, rules, directory, memory_bytes, sorter, len: 0 }
    }

    /// Adds the next record of the collection whose records are returned.
    ///
    /// # Errors
    /// The temporary file cannot be created or written.
    pub fn add(&mut self, record: &EpdRecord, place: Origin) -> Result<()> {
        let mut key = Vec::new();
        let mut entry = Vec::new();
        if !self.meet.push_key(record, &mut key)? {
            key.extend_from_slice(&self.len.to_be_bytes());
        }
        key.push(OWN);
        KeyedRecord::encode(self.len, place, record, &mut entry)?;
        self.len += 1;
        Ok(self.sorter.push(&key, &entry)?)
    }

    /// Adds a record of the other collection.
    ///
    /// # Errors
    /// The temporary file cannot be created or written.
    pub fn add_other(&mut self, record: &EpdRecord, place: Origin) -> Result<()> {
        let mut key = Vec::new();
        let mut entry = Vec::new();
        if !self.meet.push_key(record, &mut key)? {
            return Ok(());
        }
        key.push(OTHER);
        KeyedRecord::encode(0, place, &self.taken_from(record), &mut entry)?;
        Ok(self.sorter.push(&key, &entry)?)
    }

    /// The position of a record, with only the operations to copy.
    fn taken_from(&self, record: &EpdRecord) -> EpdRecord {
        let with_operations = record.with_counter_operations();
        let mut taken = EpdRecord::new(*record.position());
        taken.set_dialect(record.dialect());
        for opcode in &self.take {
            if let Some(operands) = with_operations.operands(*opcode) {
                taken.set(Operation { opcode: *opcode, operands: operands.to_vec() });
            }
        }
        taken
    }

    /// Ends the input, and returns the joined records; with `only_unmatched`, only the records
    /// without a partner.
    ///
    /// # Errors
    /// A temporary file cannot be created, written or read.
    pub fn finish(
        self,
        only_unmatched: bool,
        on_conflict: &mut dyn FnMut(&RecordConflict),
    ) -> Result<(Ordered, JoinTally)> {
        let mut tally = JoinTally::default();
        let mut out = Reorder::new(&self.directory, self.memory_bytes / 2);
        let mut entries = Grouped::new(self.sorter.finish()?, 1);
        let mut other: Option<KeyedRecord> = None;
        let mut others_differ = false;
        while let Some(GroupedEntry { begins, suffix, payload, .. }) = entries.next_entry()? {
            if begins {
                other = None;
                others_differ = false;
            }
            let entry = KeyedRecord::decode(payload)?;
            if *suffix == [OTHER] {
                other = Some(match other {
                    None => entry,
                    Some(first) => {
                        others_differ |= analyses_differ(&first.record, &entry.record);
                        with_more(first, entry, &self.rules, on_conflict)
                    }
                });
                continue;
            }
            let Some(other) = &other else {
                tally.unmatched += 1;
                out.push(entry.order, &entry.record)?;
                continue;
            };
            tally.matched += 1;
            if only_unmatched {
                continue;
            }
            tally.several += u64::from(others_differ);
            match joined(&entry.record, &other.record, &self.take, &self.rules) {
                Merged::One(joined) => {
                    tally.analyses += u64::from(analyses_differ(&entry.record, &other.record));
                    out.push(entry.order, &joined)?;
                }
                Merged::Conflict(opcodes) => {
                    tally.conflicts += 1;
                    on_conflict(&RecordConflict::new(&entry, other, &opcodes));
                    out.push(entry.order, &entry.record)?;
                }
            }
        }
        Ok((out.finish()?, tally))
    }
}

impl Meet {
    /// Appends the key that pairs records. Returns false if the record has no such key.
    fn push_key(self, record: &EpdRecord, key: &mut Vec<u8>) -> Result<bool> {
        match self {
            Meet::Position => push_key(By::Position, record, key)?,
            Meet::Id => match record.text_of(Opcode::ID) {
                Some(id) => {
                    key.push(1);
                    key.extend_from_slice(&id);
                }
                None => {
                    key.push(0);
                    return Ok(false);
                }
            },
        }
        Ok(true)
    }
}

/// Merges two records of the other collection. If they contradict each other, returns the first
/// record.
fn with_more(
    first: KeyedRecord,
    more: KeyedRecord,
    rules: &MergeRules,
    on_conflict: &mut dyn FnMut(&RecordConflict),
) -> KeyedRecord {
    match merge(&first.record, &more.record, rules) {
        Merged::One(record) => KeyedRecord { record, ..first },
        Merged::Conflict(opcodes) => {
            on_conflict(&RecordConflict::new(&first, &more, &opcodes));
            first
        }
    }
}

/// Merges the copied operations into a record, which keeps its own en passant square, castling
/// letters and all operations that are not copied.
fn joined(record: &EpdRecord, taken: &EpdRecord, take: &[Opcode], rules: &MergeRules) -> Merged {
    if record.position().identity() != taken.position().identity() {
        return Merged::Conflict(Vec::new());
    }
    let merged = merge(record, &moved_to(record, taken), rules);
    let Merged::One(joined) = &merged else { return merged };
    let before = record.with_counter_operations();
    let after = joined.with_counter_operations();
    // The opcodes of `record` whose operands are not the same in `other`.
    let differing = |record: &EpdRecord, other: &EpdRecord| -> Vec<Opcode> {
        let opcodes = record.operations().iter().map(|it| it.opcode);
        opcodes.filter(|it| record.operands(*it) != other.operands(*it)).collect()
    };
    let mut changed = differing(&before, &after);
    changed.retain(|opcode| !take.contains(opcode));
    if changed.is_empty() {
        return merged;
    }
    let mut contradicting = differing(taken, &before);
    contradicting.retain(|opcode| before.operands(*opcode).is_some());
    Merged::Conflict(if contradicting.is_empty() { changed } else { contradicting })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]

    use super::*;

    fn join(
        meet: Meet,
        take: &[&str],
        only_unmatched: bool,
        own: &[&str],
        others: &[&str],
    ) -> (Vec<String>, JoinTally, usize) {
        let take = take.iter().map(|name| Opcode::new(name.as_bytes()).unwrap()).collect();
        let mut join = Join::new(meet, take, MergeRules::default(), std::env::temp_dir(), 0);
        let record = |line: &str| epdb_chess::parse_epd(line.as_bytes()).unwrap();
        own.iter().for_each(|line| join.add(&record(line), Origin::default()).unwrap());
        others.iter().for_each(|line| join.add_other(&record(line), Origin::default()).unwrap());
        let mut conflicts = 0;
        let (mut records, tally) = join.finish(only_unmatched, &mut |_| conflicts += 1).unwrap();
        let mut lines = Vec::new();
        for record in records.by_ref() {
            let record = record.unwrap();
            lines.push(String::from_utf8(epdb_chess::format_epd(&record)).unwrap());
        }
        (lines, tally, conflicts)
    }

    const A: &str = "4k3/8/8/8/8/8/4P3/4K3 w - -";
    const B: &str = "4k3/8/8/8/8/8/4P3/4K3 b - -";
    const EP: &str = "4k3/8/8/8/4P3/8/8/4K3 b - e3";
    const NO_EP: &str = "4k3/8/8/8/4P3/8/8/4K3 b - -";

    #[test]
    fn every_record_stays_in_its_place_and_gets_what_there_is() {
        let own = [B, NO_EP, &format!("{A} id \"x\";"), A];
        let others = [&format!("{A} ce 5; pv e4; c0 \"no\";")[..], &format!("{EP} ce 7;")];
        let (lines, tally, _) = join(Meet::Position, &["ce", "pv"], false, &own, &others);
        let expected = [
            B,
            &format!("{NO_EP} ce 7;"),
            &format!("{A} ce 5; id \"x\"; pv e4;"),
            &format!("{A} ce 5; pv e4;"),
        ];
        assert_eq!(lines, expected);
        assert_eq!((tally.matched, tally.unmatched, tally.analyses), (3, 1, 0));
        let (lines, ..) = join(Meet::Position, &["ce"], true, &own, &others);
        assert_eq!(lines, [B]);
    }

    #[test]
    fn contradictions_leave_the_record_as_it_is() {
        let own = [&format!("{A} c0 \"mine\"; ce 3; pv Kd2;")[..]];
        let (lines, tally, conflicts) =
            join(Meet::Position, &["c0"], false, &own, &[&format!("{A} c0 \"theirs\";")]);
        assert_eq!((&lines[..], tally.conflicts, conflicts), (&[own[0].to_owned()][..], 1, 1));
        let others = [&format!("{A} ce 9;")[..]];
        let (lines, tally, _) = join(Meet::Position, &["ce"], false, &own, &others);
        assert_eq!((&lines[..], tally.conflicts), (&[own[0].to_owned()][..], 1));
        let (lines, tally, _) = join(Meet::Position, &["ce", "pv"], false, &own, &others);
        assert_eq!(lines, [format!("{A} c0 \"mine\"; ce 9;")], "analysis is one unit");
        assert_eq!((tally.analyses, tally.conflicts), (1, 0));
    }

    #[test]
    fn several_partners_are_merged_and_the_first_wins() {
        let others = [
            &format!("{A} eco \"A00\";")[..],
            &format!("{A} eco \"B00\";"),
            &format!("{A} id \"z\";"),
        ];
        let (lines, tally, conflicts) = join(Meet::Position, &["eco", "id"], false, &[A], &others);
        assert_eq!(lines, [format!("{A} eco \"A00\"; id \"z\";")]);
        assert_eq!((tally.conflicts, conflicts), (0, 1));
    }

    #[test]
    fn several_analyses_of_a_partner_are_counted() {
        let others = [
            &format!("{A} ce 1;")[..],
            &format!("{A} ce 2;"),
            &format!("{B} ce 3;"),
            &format!("{B} ce 3; pv Kd7;"),
        ];
        let (lines, tally, _) = join(Meet::Position, &["ce"], false, &[A, A, B], &others);
        assert_eq!(lines, [format!("{A} ce 2;"), format!("{A} ce 2;"), format!("{B} ce 3;")]);
        assert_eq!((tally.matched, tally.several, tally.analyses), (3, 2, 0));
    }

    #[test]
    fn ids_meet_only_on_one_position() {
        let own = [&format!("{A} id \"1\";")[..], &format!("{A} id \"2\";"), A];
        let others = [
            &format!("{A} ce 1; id \"1\";")[..],
            &format!("{B} ce 2; id \"2\";"),
            &format!("{A} ce 3;"),
        ];
        let (lines, tally, conflicts) = join(Meet::Id, &["ce"], false, &own, &others);
        assert_eq!(lines, [format!("{A} ce 1; id \"1\";"), own[1].into(), A.into()]);
        assert_eq!((tally.matched, tally.unmatched, tally.conflicts, conflicts), (2, 1, 1, 1));
    }
}

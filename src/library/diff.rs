//! Differences between two collections of records.

use std::collections::VecDeque;
use std::ops::Add;
use std::path::PathBuf;

use super::ordered::{By, KeyedRecord, Origin, changed, push_key, push_record};
use crate::error::{Error, Result};
use crate::model::{EpdRecord, Opcode, Operand};
use crate::spill::{Sorted, Sorter};

/// The property that pairs an old record with a new one.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum MatchBy {
    /// The same `id`. Records without one are compared by position.
    #[default]
    Id,
    /// The same position.
    Position,
    /// All of the record; then records are only added or removed.
    Record,
}

/// One difference.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Difference {
    /// A record that only the old collection has.
    Removed(Origin, EpdRecord),
    /// A record that only the new collection has.
    Added(Origin, EpdRecord),
    /// Two versions of one record.
    Changed(Change),
}

/// Two versions of a record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Change {
    /// Place of the old version.
    pub old_place: Origin,
    /// Place of the new version.
    pub new_place: Origin,
    /// The old version.
    pub old: EpdRecord,
    /// The new version.
    pub new: EpdRecord,
}

/// An operation that differs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChangedOperation {
    /// The opcode.
    pub opcode: Opcode,
    /// The operands in the old version, if it has the operation.
    pub old: Option<Vec<Operand>>,
    /// The operands in the new version, if it has the operation.
    pub new: Option<Vec<Operand>>,
}

impl Change {
    /// Whether the two versions are of different positions.
    pub fn is_of_position(&self) -> bool {
        self.old.position().identity() != self.new.position().identity()
    }

    /// The operations that differ, in ASCII order of their opcodes. Counters count as the operations `hmvc` and `fmvn`.
    pub fn operations(&self) -> Vec<ChangedOperation> {
        let versions = [&self.old, &self.new].map(EpdRecord::with_counter_operations);
        let all = versions.iter().flat_map(EpdRecord::operations);
        let mut opcodes: Vec<_> = all.map(|operation| operation.opcode).collect();
        opcodes.sort_unstable();
        opcodes.dedup();
        let both = opcodes.into_iter().map(|opcode| {
            let [old, new] = [&versions[0], &versions[1]]
                .map(|version| version.operands(opcode).map(<[_]>::to_vec));
            ChangedOperation { opcode, old, new }
        });
        both.filter(|operation| operation.old != operation.new).collect()
    }
}

/// Counts of a [`Diff`].
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct DiffTally {
    /// Records or games that are equal.
    pub equal: u64,
    /// Records that only the old collection has.
    pub removed: u64,
    /// Records that only the new collection has.
    pub added: u64,
    /// Records that changed.
    pub changed: u64,
}

impl DiffTally {
    /// Whether anything differs.
    pub const fn has_differences(&self) -> bool {
        self.removed + self.added + self.changed > 0
    }
}

impl Add for DiffTally {
    type Output = DiffTally;

    fn add(self, other: DiffTally) -> DiffTally {
        DiffTally {
            equal: self.equal + other.equal,
            removed: self.removed + other.removed,
            added: self.added + other.added,
            changed: self.changed + other.changed,
        }
    }
}

/// Compares two collections in bounded memory.
///
/// Superfluous en passant squares, letters of castling rights and the form of counters make no
/// difference. If several records match, equal records are paired first; the others are paired by
/// their content, in any order of the input.
///
/// ```
/// use epdb::library::diff::{Diff, Difference, MatchBy};
/// use epdb::library::sets::Origin;
/// let mut diff = Diff::new(MatchBy::Id, std::env::temp_dir(), 1 << 20);
/// diff.add_old(&epdb::parse_epd(b"4k3/8/8/8/8/8/4P3/4K3 w - - bm e2e4; id \"1\";")?, Origin::default())?;
/// diff.add_new(&epdb::parse_epd(b"4k3/8/8/8/8/8/4P3/4K3 w - - bm e4; ce 9; id \"1\";")?, Origin::default())?;
/// let (mut differences, tally) = diff.finish()?;
/// assert_eq!(tally.changed, 1);
/// let Some(Difference::Changed(change)) = differences.next().transpose()? else { panic!("a change") };
/// assert_eq!(change.operations()[0].opcode, epdb::model::Opcode::CE);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Diff {
    by: MatchBy,
    directory: PathBuf,
    memory_bytes: usize,
    sorter: Sorter,
    lens: [u64; 2],
}

/// The first byte of a payload: the collection of the record.
const OLD: u8 = 0;
const NEW: u8 = 1;

/// Maximum number of unmatched records of one key in memory.
const WINDOW: usize = 1024;

impl Diff {
    /// A comparison that uses about `memory_bytes`, and beyond them temporary files in
    /// `directory`.
    pub fn new(by: MatchBy, directory: impl Into<PathBuf>, memory_bytes: usize) -> Diff {
        let directory = directory.into();
        let sorter = Sorter::new(&directory, memory_bytes / 2);
        Diff { by, directory, memory_bytes, sorter, lens: [0; 2] }
    }

    /// Adds the next record of the old collection.
    ///
    /// # Errors
    /// The temporary file cannot be created or written.
    pub fn add_old(&mut self, record: &EpdRecord, place: Origin) -> Result<()> {
        self.add(OLD, record, place)
    }

    /// Adds the next record of the new collection.
    ///
    /// # Errors
    /// The temporary file cannot be created or written.
    pub fn add_new(&mut self, record: &EpdRecord, place: Origin) -> Result<()> {
        self.add(NEW, record, place)
    }

    /// The sort key: the key that pairs records, then the record in the form that is compared, so
    /// that equal records are adjacent.
    fn add(&mut self, side: u8, record: &EpdRecord, place: Origin) -> Result<()> {
        let compared = compared_form(record);
        let mut key = Vec::new();
        match (self.by, record.text_of(Opcode::ID)) {
            (MatchBy::Id, Some(id)) => {
                key.push(b'i');
                key.extend(id.iter().flat_map(|&byte| [1, byte]));
                key.push(0);
            }
            (MatchBy::Id, None) | (MatchBy::Position, _) => {
                key.push(b'p');
                push_key(By::Position, record, &mut key)?;
            }
            (MatchBy::Record, _) => push_record(&compared, &mut key)?,
        }
        let key_len = (key.len() as u32).to_be_bytes();
        push_record(&compared, &mut key)?;
        let mut payload = vec![side];
        payload.extend_from_slice(&key_len);
        let order = &mut self.lens[usize::from(side)];
        KeyedRecord::encode(*order, place, record, &mut payload)?;
        *order += 1;
        Ok(self.sorter.push(&key, &payload)?)
    }

    /// Ends the input.
    ///
    /// # Errors
    /// A temporary file cannot be created, written or read.
    pub fn finish(self) -> Result<(Differences, DiffTally)> {
        let out = Sorter::new(&self.directory, self.memory_bytes / 2);
        let mut pairing = Pairing { out, tally: DiffTally::default(), lone: VecDeque::new() };
        let mut sorted = self.sorter.finish()?;
        let mut equal = Vec::new();
        let mut whole_key = Vec::new();
        let mut key_len = 0;
        while let Some((next_key, payload)) = sorted.next_entry()? {
            let (next_len, side, entry) = split(payload)?;
            if whole_key != next_key {
                pairing.take(&mut equal)?;
                let same_group =
                    next_len == key_len && whole_key.get(..key_len) == next_key.get(..next_len);
                if !same_group {
                    pairing.close()?;
                }
                whole_key.clear();
                whole_key.extend_from_slice(next_key);
                key_len = next_len;
            }
            // Equal records are paired at once, so only one side waits.
            match equal.last() {
                Some((waiting, _)) if *waiting != side => {
                    equal.pop();
                    pairing.tally.equal += 1;
                }
                _ if equal.len() < WINDOW => equal.push((side, KeyedRecord::decode(entry)?)),
                _ => pairing.alone(side, KeyedRecord::decode(entry)?)?,
            }
        }
        pairing.take(&mut equal)?;
        pairing.close()?;
        Ok((Differences(pairing.out.finish()?), pairing.tally))
    }
}

/// A record in a uniform spelling.
fn compared_form(record: &EpdRecord) -> EpdRecord {
    let mut compared = EpdRecord::new(record.position().identity());
    for operation in record.with_counter_operations().operations() {
        compared.set(operation.clone());
    }
    compared
}

fn split(payload: &[u8]) -> Result<(usize, u8, &[u8])> {
    match payload {
        [side, a, b, c, d, entry @ ..] => {
            Ok((u32::from_be_bytes([*a, *b, *c, *d]) as usize, *side, entry))
        }
        _ => Err(changed()),
    }
}

/// Pairs the records of one key.
struct Pairing {
    out: Sorter,
    tally: DiffTally,
    /// Records of one side that wait for the other side.
    lone: VecDeque<(u8, KeyedRecord)>,
}

impl Pairing {
    /// Adds records without an equal one.
    fn take(&mut self, records: &mut Vec<(u8, KeyedRecord)>) -> Result<()> {
        for (side, entry) in records.drain(..) {
            if let Some((waiting, _)) = self.lone.front()
                && *waiting != side
                && let Some((_, partner)) = self.lone.pop_front()
            {
                let (old, new) = if side == NEW { (partner, entry) } else { (entry, partner) };
                self.changed(&old, &new)?;
                continue;
            }
            self.lone.push_back((side, entry));
            if self.lone.len() > WINDOW
                && let Some((side, entry)) = self.lone.pop_front()
            {
                self.alone(side, entry)?;
            }
        }
        Ok(())
    }

    fn close(&mut self) -> Result<()> {
        while let Some((side, entry)) = self.lone.pop_front() {
            self.alone(side, entry)?;
        }
        Ok(())
    }

    fn changed(&mut self, old: &KeyedRecord, new: &KeyedRecord) -> Result<()> {
        self.tally.changed += 1;
        let mut payload = Vec::new();
        KeyedRecord::encode(old.order, old.place, &old.record, &mut payload)?;
        let len = payload.len() as u32;
        KeyedRecord::encode(new.order, new.place, &new.record, &mut payload)?;
        payload.extend_from_slice(&len.to_be_bytes());
        Ok(self.out.push(&key(OLD, old.order), &payload)?)
    }

    fn alone(&mut self, side: u8, entry: KeyedRecord) -> Result<()> {
        *(if side == OLD { &mut self.tally.removed } else { &mut self.tally.added }) += 1;
        let mut payload = Vec::new();
        KeyedRecord::encode(entry.order, entry.place, &entry.record, &mut payload)?;
        payload.extend_from_slice(&[0; 4]);
        Ok(self.out.push(&key(side, entry.order), &payload)?)
    }
}

fn key(side: u8, order: u64) -> Vec<u8> {
    [&[side][..], &order.to_be_bytes()].concat()
}

/// The differences: removed and changed records in the order of the old collection, then added
/// ones in the order of the new.
#[derive(Debug)]
pub struct Differences(Sorted);

impl Iterator for Differences {
    type Item = Result<Difference>;

    fn next(&mut self) -> Option<Result<Difference>> {
        self.read_next().transpose()
    }
}

impl Differences {
    fn read_next(&mut self) -> Result<Option<Difference>> {
        let Some((key, payload)) = self.0.next_entry()? else { return Ok(None) };
        let changed = || Error::new("a temporary file was changed");
        let (entries, len) = payload.split_last_chunk::<4>().ok_or_else(changed)?;
        let len = u32::from_be_bytes(*len) as usize;
        if len == 0 {
            let KeyedRecord { place, record, .. } = KeyedRecord::decode(entries)?;
            let is_old = key.first() == Some(&OLD);
            return Ok(Some(if is_old {
                Difference::Removed(place, record)
            } else {
                Difference::Added(place, record)
            }));
        }
        let (old, new) = entries.split_at_checked(len).ok_or_else(changed)?;
        let (old, new) = (KeyedRecord::decode(old)?, KeyedRecord::decode(new)?);
        Ok(Some(Difference::Changed(Change {
            old_place: old.place,
            new_place: new.place,
            old: old.record,
            new: new.record,
        })))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]

    use super::*;

    fn diff(by: MatchBy, old: &[&str], new: &[&str]) -> (Vec<String>, DiffTally) {
        let mut diff = Diff::new(by, std::env::temp_dir(), 0);
        let record = |line: &str| crate::parse_epd(line.as_bytes()).unwrap();
        let place = |line: usize| Origin { source: 0, line: line as u64 + 1 };
        for (number, line) in old.iter().enumerate() {
            diff.add_old(&record(line), place(number)).unwrap();
        }
        for (number, line) in new.iter().enumerate() {
            diff.add_new(&record(line), place(number)).unwrap();
        }
        let (mut differences, tally) = diff.finish().unwrap();
        let mut shown = Vec::new();
        for difference in differences.by_ref() {
            let difference = difference.unwrap();
            shown.push(match difference {
                Difference::Removed(place, _) => format!("-{}", place.line),
                Difference::Added(place, _) => format!("+{}", place.line),
                Difference::Changed(change) => {
                    let opcodes: Vec<_> =
                        change.operations().iter().map(|it| it.opcode.to_string()).collect();
                    let position = if change.is_of_position() { " position" } else { "" };
                    let (old, new) = (change.old_place.line, change.new_place.line);
                    format!("{old}>{new}{position} {}", opcodes.join(","))
                }
            });
        }
        (shown, tally)
    }

    const A: &str = "4k3/8/8/8/8/8/4P3/4K3 w - -";
    const B: &str = "4k3/8/8/8/8/8/4P3/4K3 b - -";

    #[test]
    fn spellings_are_no_difference() {
        let old = [
            "4k3/8/8/8/4P3/8/8/4K3 b - e3 0 1",
            "4k3/8/8/8/8/8/4P3/4K3 w - - id \"2\"; bm e2e4;",
            "r3k3/8/8/8/8/8/8/4K3 b q - id \"3\";",
        ];
        let new = [
            "4k3/8/8/8/4P3/8/8/4K3 b - - fmvn 1; hmvc 0;",
            "4k3/8/8/8/8/8/4P3/4K3 w - - bm e4; id \"2\";",
            "r3k3/8/8/8/8/8/8/4K3 b a - id \"3\";",
        ];
        for by in [MatchBy::Id, MatchBy::Position, MatchBy::Record] {
            let (shown, tally) = diff(by, &old, &new);
            assert_eq!((shown, tally.equal), (vec![], 3), "{by:?}");
        }
    }

    #[test]
    fn differences_come_in_the_order_of_the_files() {
        let ids = |id: &str, rest: &str| format!("{A} {rest}id \"{id}\";");
        let old = [ids("3", "ce 1; "), ids("1", ""), ids("2", "bm e4; "), A.into()];
        let new = [B.into(), ids("2", "bm e3; ce 4; "), ids("3", "ce 1; "), ids("0", ""), A.into()];
        let old: Vec<_> = old.iter().map(String::as_str).collect();
        let new: Vec<_> = new.iter().map(String::as_str).collect();
        let (shown, tally) = diff(MatchBy::Id, &old, &new);
        assert_eq!(shown, ["-2", "3>2 bm,ce", "+1", "+4"]);
        assert_eq!((tally.equal, tally.removed, tally.added, tally.changed), (2, 1, 2, 1));
        let (shown, _) = diff(MatchBy::Record, &old, &new);
        assert_eq!(shown, ["-2", "-3", "+1", "+2", "+4"]);
    }

    #[test]
    fn one_id_on_another_position_is_a_change_of_position() {
        let (shown, _) =
            diff(MatchBy::Id, &[&format!("{A} id \"1\";")], &[&format!("{B} id \"1\";")]);
        assert_eq!(shown, ["1>1 position "]);
    }

    #[test]
    fn equal_ones_of_several_records_meet() {
        let line = |ce: i32| format!("{A} ce {ce}; id \"1\";");
        let (old, new) =
            ([line(1), line(2), line(2)], [line(2), line(3), line(2), line(1), line(4)]);
        let (shown, tally) = diff(
            MatchBy::Id,
            &old.iter().map(String::as_str).collect::<Vec<_>>(),
            &new.iter().map(String::as_str).collect::<Vec<_>>(),
        );
        assert_eq!((shown, tally.equal), (vec!["+2".to_owned(), "+5".into()], 3));
        let ids: Vec<_> = (0..3000).map(|ce| line(ce % 3000)).collect();
        let ids: Vec<_> = ids.iter().map(String::as_str).collect();
        let (_, tally) = diff(MatchBy::Id, &ids, &[]);
        assert_eq!(tally.removed, 3000, "any number of records of one id passes");
    }
}

//! Differences between two collections of records.

use std::collections::VecDeque;
use std::ops::Add;
use std::path::PathBuf;

use super::ordered::{By, Origin, changed, decode, push_key, push_record};
use epdb_base::spill::{Sorted, Sorter};
use epdb_chess::error::{Error, Result};
use epdb_chess::model::{EpdRecord, Opcode, Operand};

/// The property that pairs an old record with a new one.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum MatchBy {
    /// Records with the same `id` are compared. Records without an `id` are compared by position.
    #[default]
    Id,
    /// Records with the same position are compared.
    Position,
    /// Whole records are compared. So a record can only be added or removed, not changed.
    Record,
}

/// The operations of records that are compared.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum ComparedOpcodes {
    /// All operations.
    #[default]
    All,
    /// The operations with these opcodes.
    Only(Vec<Opcode>),
    /// All operations except those with these opcodes.
    Except(Vec<Opcode>),
}

impl ComparedOpcodes {
    fn has(&self, opcode: Opcode) -> bool {
        match self {
            ComparedOpcodes::All => true,
            ComparedOpcodes::Only(opcodes) => opcodes.contains(&opcode),
            ComparedOpcodes::Except(opcodes) => !opcodes.contains(&opcode),
        }
    }
}

/// One difference, of records or of [games](super::game_diff).
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Difference<T = EpdRecord> {
    /// A record or game that only the old collection has.
    Removed(Origin, T),
    /// A record or game that only the new collection has.
    Added(Origin, T),
    /// Two versions of one record or game.
    Changed(Box<Change<T>>),
}

/// Two versions of a record or game.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Change<T = EpdRecord> {
    /// Place of the old version.
    pub old_place: Origin,
    /// Place of the new version.
    pub new_place: Origin,
    /// The old version.
    pub old: T,
    /// The new version.
    pub new: T,
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
    /// True if the two versions have different positions.
    pub fn is_of_position(&self) -> bool {
        self.old.position().identity() != self.new.position().identity()
    }

    /// The compared operations that differ, in the ASCII order of their opcodes. Counters count as the
    /// operations `hmvc` and `fmvn`.
    pub fn operations(&self, compared: &ComparedOpcodes) -> Vec<ChangedOperation> {
        let versions = [&self.old, &self.new].map(EpdRecord::with_counter_operations);
        let all = versions.iter().flat_map(EpdRecord::operations);
        let opcodes = all.map(|operation| operation.opcode);
        let mut opcodes: Vec<_> = opcodes.filter(|opcode| compared.has(*opcode)).collect();
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

/// Counts of a comparison.
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
/// difference. If several records match, equal records are paired first. The others are paired in
/// the order of their content, so that the order of the input does not matter.
///
/// ```
/// use epdb_library::diff::{ComparedOpcodes, Diff, Difference, MatchBy};
/// use epdb_library::sets::Origin;
/// let all = ComparedOpcodes::All;
/// let mut diff = Diff::new(MatchBy::Id, all.clone(), std::env::temp_dir(), 1 << 20);
/// diff.add_old(&epdb_chess::parse_epd(b"4k3/8/8/8/8/8/4P3/4K3 w - - bm e2e4; id \"1\";")?, Origin::default())?;
/// diff.add_new(&epdb_chess::parse_epd(b"4k3/8/8/8/8/8/4P3/4K3 w - - bm e4; ce 9; id \"1\";")?, Origin::default())?;
/// let (mut differences, tally) = diff.finish()?;
/// assert_eq!(tally.changed, 1);
/// let Some(Difference::Changed(change)) = differences.next().transpose()? else { panic!("a change") };
/// assert_eq!(change.operations(&all)[0].opcode, epdb_chess::model::Opcode::CE);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Diff {
    by: MatchBy,
    compared: ComparedOpcodes,
    versions: Versions,
}

impl Diff {
    /// A comparison that uses about `memory_bytes` of memory, and temporary files in `directory`
    /// for the rest.
    pub fn new(
        by: MatchBy,
        compared: ComparedOpcodes,
        directory: impl Into<PathBuf>,
        memory_bytes: usize,
    ) -> Diff {
        Diff { by, compared, versions: Versions::new(directory, memory_bytes) }
    }

    /// Adds the next record of the old collection.
    ///
    /// # Errors
    /// The temporary file cannot be created or written.
    pub fn add_old(&mut self, record: &EpdRecord, place: Origin) -> Result<()> {
        let is_new = false;
        self.add(record, place, is_new)
    }

    /// Adds the next record of the new collection.
    ///
    /// # Errors
    /// The temporary file cannot be created or written.
    pub fn add_new(&mut self, record: &EpdRecord, place: Origin) -> Result<()> {
        let is_new = true;
        self.add(record, place, is_new)
    }

    fn add(&mut self, record: &EpdRecord, place: Origin, is_new: bool) -> Result<()> {
        let compared = encoded(&compared_form(record, &self.compared))?;
        let mut pairing = Vec::new();
        match (self.by, record.text_of(Opcode::ID)) {
            (MatchBy::Id, Some(id)) => {
                pairing.push(b'i');
                pairing.extend(id.iter().flat_map(|&byte| [1, byte]));
                pairing.push(0);
            }
            (MatchBy::Id, None) | (MatchBy::Position, _) => {
                pairing.push(b'p');
                push_key(By::Position, record, &mut pairing)?;
            }
            (MatchBy::Record, _) => pairing.extend_from_slice(&compared),
        }
        self.versions.add(pairing, &compared, place, &encoded(record)?, is_new)
    }

    /// Ends the input.
    ///
    /// # Errors
    /// A temporary file cannot be created, written or read.
    pub fn finish(self) -> Result<(Differences, DiffTally)> {
        self.versions.finish(decode)
    }
}

fn encoded(record: &EpdRecord) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    push_record(record, &mut bytes)?;
    Ok(bytes)
}

/// The compared operations of a record in a uniform spelling.
fn compared_form(record: &EpdRecord, opcodes: &ComparedOpcodes) -> EpdRecord {
    let mut compared = EpdRecord::new(record.position().identity());
    for operation in record.with_counter_operations().operations() {
        if opcodes.has(operation.opcode) {
            compared.set(operation.clone());
        }
    }
    compared
}

/// The items of two collections, which are records or games.
#[derive(Debug)]
pub(super) struct Versions {
    directory: PathBuf,
    memory_bytes: usize,
    sorter: Sorter,
    /// Numbers of the old and the new items.
    lens: [u64; 2],
}

/// Maximum number of items with the same pairing key that wait for their other version.
const WINDOW: usize = 1024;

/// An item of a collection. `entry` has its number in the collection, its place, and its content.
#[derive(Debug)]
struct Version {
    is_new: bool,
    entry: Vec<u8>,
}

/// Size in bytes of the number and the place at the start of an entry.
const HEADER: usize = 8 + Origin::LEN;

impl Versions {
    /// A comparison that uses about `memory_bytes` of memory, and temporary files in `directory`
    /// for the rest.
    pub(super) fn new(directory: impl Into<PathBuf>, memory_bytes: usize) -> Versions {
        let directory = directory.into();
        let sorter = Sorter::new(&directory, memory_bytes / 2);
        Versions { directory, memory_bytes, sorter, lens: [0; 2] }
    }

    /// Adds the next item of a collection. Items with the same `pairing` are versions of one
    /// another; they are equal if `compared` is the same too. `content` is returned with a
    /// difference.
    pub(super) fn add(
        &mut self,
        pairing: Vec<u8>,
        compared: &[u8],
        place: Origin,
        content: &[u8],
        is_new: bool,
    ) -> Result<()> {
        let pairing_len = (pairing.len() as u32).to_be_bytes();
        let mut key = pairing;
        key.extend_from_slice(compared);
        let len = &mut self.lens[usize::from(is_new)];
        let order = len.to_be_bytes();
        *len += 1;
        let side = [u8::from(is_new)];
        let place = place.to_bytes();
        let payload = [&side[..], &pairing_len, &order, &place, content].concat();
        Ok(self.sorter.push(&key, &payload)?)
    }

    /// Ends the input, and returns the differences and their counts. `decode` reads the content of
    /// an item.
    pub(super) fn finish<T>(self, decode: Decode<T>) -> Result<(Differences<T>, DiffTally)> {
        let out = Sorter::new(&self.directory, self.memory_bytes / 2);
        let mut pairing = Pairing { out, tally: DiffTally::default(), waiting: VecDeque::new() };
        let mut sorted = self.sorter.finish()?;
        let mut equal: Vec<Version> = Vec::new();
        let mut last_key = Vec::new();
        let mut last_len = 0;
        while let Some((key, payload)) = sorted.next_entry()? {
            let (&[side], rest) = payload.split_first_chunk().ok_or_else(changed)?;
            let (len, entry) = rest.split_first_chunk().ok_or_else(changed)?;
            let len = u32::from_be_bytes(*len) as usize;
            if last_key != key {
                pairing.take(&mut equal)?;
                if len != last_len || last_key.get(..last_len) != key.get(..len) {
                    pairing.close()?;
                }
                last_key.clear();
                last_key.extend_from_slice(key);
                last_len = len;
            }
            let version = Version { is_new: side != 0, entry: entry.to_vec() };
            // Equal items are paired at once, so that only items of one collection wait.
            match equal.last() {
                Some(waiting) if waiting.is_new != version.is_new => {
                    equal.pop();
                    pairing.tally.equal += 1;
                }
                _ if equal.len() < WINDOW => equal.push(version),
                _ => pairing.alone(&version)?,
            }
        }
        pairing.take(&mut equal)?;
        pairing.close()?;
        Ok((Differences { sorted: pairing.out.finish()?, decode }, pairing.tally))
    }
}

/// Pairs the items with the same pairing key that have no equal item.
struct Pairing {
    out: Sorter,
    tally: DiffTally,
    /// Items of one collection that wait for the other.
    waiting: VecDeque<Version>,
}

impl Pairing {
    /// Adds items that have no equal item in the other collection.
    fn take(&mut self, versions: &mut Vec<Version>) -> Result<()> {
        for version in versions.drain(..) {
            let is_other = |first: &mut Version| first.is_new != version.is_new;
            if let Some(partner) = self.waiting.pop_front_if(is_other) {
                let pair = if version.is_new { [partner, version] } else { [version, partner] };
                self.tally.changed += 1;
                let is_added = false;
                self.put(is_added, &pair[0].entry, &pair[1].entry)?;
                continue;
            }
            self.waiting.push_back(version);
            if self.waiting.len() > WINDOW
                && let Some(first) = self.waiting.pop_front()
            {
                self.alone(&first)?;
            }
        }
        Ok(())
    }

    fn close(&mut self) -> Result<()> {
        std::mem::take(&mut self.waiting).iter().try_for_each(|version| self.alone(version))
    }

    fn alone(&mut self, version: &Version) -> Result<()> {
        if version.is_new {
            self.tally.added += 1;
        } else {
            self.tally.removed += 1;
        }
        self.put(version.is_new, &version.entry, &[])
    }

    /// Adds a difference to the output: one entry, or two entries and the length of the first.
    fn put(&mut self, is_added: bool, first: &[u8], second: &[u8]) -> Result<()> {
        let order = first.get(..8).ok_or_else(changed)?;
        let len = if second.is_empty() { 0 } else { first.len() as u32 };
        let key = [&[u8::from(is_added)][..], order].concat();
        Ok(self.out.push(&key, &[first, second, &len.to_be_bytes()].concat())?)
    }
}

/// Reads the content of an item.
type Decode<T> = fn(&[u8]) -> Result<T>;

/// The differences: first the items that were removed or changed, in the order of the old
/// collection; then the items that were added, in the order of the new collection.
#[derive(Debug)]
pub struct Differences<T = EpdRecord> {
    sorted: Sorted,
    decode: Decode<T>,
}

impl<T> Iterator for Differences<T> {
    type Item = Result<Difference<T>>;

    fn next(&mut self) -> Option<Result<Difference<T>>> {
        self.read_next().transpose()
    }
}

impl<T> Differences<T> {
    fn read_next(&mut self) -> Result<Option<Difference<T>>> {
        let Some((key, payload)) = self.sorted.next_entry()? else { return Ok(None) };
        let read = |entry: &[u8]| {
            let (header, content) = entry.split_first_chunk::<HEADER>().ok_or_else(changed)?;
            let place = header.last_chunk().ok_or_else(changed)?;
            Ok::<_, Error>((Origin::from_bytes(place), (self.decode)(content)?))
        };
        let (entries, len) = payload.split_last_chunk::<4>().ok_or_else(changed)?;
        let len = u32::from_be_bytes(*len) as usize;
        if len == 0 {
            let (place, item) = read(entries)?;
            return Ok(Some(match key.first() {
                Some(1) => Difference::Added(place, item),
                _ => Difference::Removed(place, item),
            }));
        }
        let (old, new) = entries.split_at_checked(len).ok_or_else(changed)?;
        let (old_place, old) = read(old)?;
        let (new_place, new) = read(new)?;
        Ok(Some(Difference::Changed(Box::new(Change { old_place, new_place, old, new }))))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]

    use super::*;

    fn diff(by: MatchBy, old: &[&str], new: &[&str]) -> (Vec<String>, DiffTally) {
        diff_of(by, &ComparedOpcodes::All, old, new)
    }

    fn diff_of(
        by: MatchBy,
        compared: &ComparedOpcodes,
        old: &[&str],
        new: &[&str],
    ) -> (Vec<String>, DiffTally) {
        let mut diff = Diff::new(by, compared.clone(), std::env::temp_dir(), 0);
        let record = |line: &str| epdb_chess::parse_epd(line.as_bytes()).unwrap();
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
                    let opcodes: Vec<_> = change
                        .operations(compared)
                        .iter()
                        .map(|it| it.opcode.to_string())
                        .collect();
                    let position = if change.is_of_position() { " position" } else { "" };
                    let old = change.old_place.line;
                    let new = change.new_place.line;
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
    fn some_operations_are_compared() {
        let [bm, acms] = [&b"bm"[..], b"acms"].map(|name| Opcode::new(name).unwrap());
        let line = |rest: &str| format!("{A} {rest} id \"1\";");
        let [old, new] = [line("acms 1; bm e4; ce 2;"), line("acms 9; bm e4; ce 3;")];
        for (compared, expected) in [
            (ComparedOpcodes::Only(vec![bm]), &[][..]),
            (ComparedOpcodes::Except(vec![acms]), &["1>1 ce"]),
        ] {
            let (shown, tally) = diff_of(MatchBy::Id, &compared, &[&old], &[&new]);
            assert_eq!(shown, expected, "{compared:?}");
            assert_eq!(tally.equal, u64::from(expected.is_empty()));
        }
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

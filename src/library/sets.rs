//! Union, intersection and difference of collections of records, in bounded memory.
//!
//! Records are grouped by key, in a table in memory or by a sorter. Each operation is one pass over
//! the entries of the groups, wherever they come from. The results are sorted back into the order of
//! the input.

use std::collections::VecDeque;
use std::path::PathBuf;

use super::by_key::{ByKey, List, Number};
pub use super::ordered::{By, ByLines, Ordered, Origin, key};
use super::ordered::{
    Grouped, GroupedEntry, KeyedRecord, Reorder, are_alike, changed, fields, is_line, moved_to,
    record_of, split_hash, without_line,
};
use epdb_base::spill::{Sorted, Sorter};
use epdb_chess::codec::record;
use epdb_chess::error::{At, Place, Result};
use epdb_chess::model::merge::{MergeRules, Merged, analyses_differ, merge};
use epdb_chess::model::{EpdRecord, Opcode, Operand};
use epdb_source::{Encode, EncodedRecords};

/// Treatment of two records of one position that contradict each other.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum OnConflict {
    /// Both records stay, and the conflict is reported.
    #[default]
    Report,
    /// The records are merged; where they contradict each other, the first record counts.
    First,
    /// The records are merged; where they contradict each other, the last record counts.
    Last,
}

/// Two records that contradict each other.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RecordConflict {
    /// Place of the first record.
    pub first: Origin,
    /// Place of the second record.
    pub second: Origin,
    /// True if the records have one position. Otherwise only their boards are the same
    /// ([`By::Board`]), or their `id`.
    pub same_position: bool,
    /// The operations in which the records contradict each other; empty if records with one `id` have
    /// different positions.
    pub operations: Vec<ConflictingOperation>,
}

/// An operation in which two records contradict each other.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConflictingOperation {
    /// The opcode of the operations that contradict each other.
    pub opcode: Opcode,
    /// The operands in the first record, if it has the operation.
    pub first: Option<Vec<Operand>>,
    /// The operands in the second record, if it has the operation.
    pub second: Option<Vec<Operand>>,
}

impl RecordConflict {
    pub(super) fn new(
        first: &KeyedRecord,
        second: &KeyedRecord,
        opcodes: &[Opcode],
    ) -> RecordConflict {
        let operands =
            |entry: &KeyedRecord, opcode| entry.record.operands(opcode).map(<[_]>::to_vec);
        let operation = |&opcode: &Opcode| ConflictingOperation {
            opcode,
            first: operands(first, opcode),
            second: operands(second, opcode),
        };
        let operations = opcodes.iter().map(operation).collect();
        RecordConflict {
            first: first.place,
            second: second.place,
            same_position: same_position(&first.record, &second.record),
            operations,
        }
    }
}

/// Conflicts, ordered by the first record, then by the second record.
#[derive(Debug)]
pub struct Conflicts(Sorted);

impl Iterator for Conflicts {
    type Item = Result<RecordConflict>;

    fn next(&mut self) -> Option<Result<RecordConflict>> {
        self.read_next().transpose()
    }
}

impl Conflicts {
    fn read_next(&mut self) -> Result<Option<RecordConflict>> {
        let Some((_, payload)) = self.0.next_entry()? else { return Ok(None) };
        let (len, entries) = payload.split_first_chunk::<4>().ok_or_else(changed)?;
        let len = u32::from_be_bytes(*len) as usize;
        let (first, rest) = entries.split_at_checked(len).ok_or_else(changed)?;
        let (len, rest) = rest.split_first_chunk::<4>().ok_or_else(changed)?;
        let len = u32::from_be_bytes(*len) as usize;
        let (second, names) = rest.split_at_checked(len).ok_or_else(changed)?;
        let names = names.split(|&byte| byte == b' ');
        let opcodes: Vec<_> = names.filter_map(|name| Opcode::new(name).ok()).collect();
        Ok(Some(RecordConflict::new(
            &KeyedRecord::decode(first)?,
            &KeyedRecord::decode(second)?,
            &opcodes,
        )))
    }
}

/// Stores a conflict until the end.
fn push_conflict(
    sorter: &mut Sorter,
    first: &KeyedRecord,
    second: &KeyedRecord,
    opcodes: &[Opcode],
) -> Result<()> {
    let mut payload = Vec::new();
    for KeyedRecord { order, place, record } in [first, second] {
        let mut entry = Vec::new();
        KeyedRecord::encode(*order, *place, record, &mut entry)?;
        payload.extend_from_slice(&(entry.len() as u32).to_be_bytes());
        payload.extend_from_slice(&entry);
    }
    let names: Vec<_> = opcodes.iter().map(Opcode::as_bytes).collect();
    payload.extend_from_slice(&names.join(&b' '));
    let key = [first.order.to_be_bytes(), second.order.to_be_bytes()].concat();
    Ok(sorter.push(&key, &payload)?)
}

/// Counts of a [`Union`].
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct UnionStats {
    /// Records that were added.
    pub read: u64,
    /// Records without new information.
    pub duplicates: u64,
    /// Records that were merged into another one.
    pub merged: u64,
    /// Merged records whose analysis differed from that of the other record. One of the two analyses
    /// stayed ([`MergeRules::prefer`]).
    pub analyses: u64,
    /// Records that have the board of another record but a different position, and no operation that
    /// the other record lacks. [`By::Board`] drops them.
    pub same_board: u64,
    /// Records that contradict another record.
    pub conflicts: u64,
    /// Positions of games in which another move was played than in the first one, which stays.
    pub other_moves: u64,
}

/// A collection without equal records: duplicates are dropped, and records of one position are
/// merged ([`merge`]) unless they contradict each other. A merged record has the place of the first
/// record that went into it.
///
/// A record is compared only with the last 64 different records of its position. This bounds memory
/// and time for any number of conflicts.
///
/// ```
/// use epdb_library::sets::{By, OnConflict, Origin, Union};
/// use epdb_chess::model::merge::MergeRules;
/// let mut union = Union::new(By::Position, MergeRules::default(), OnConflict::Report, std::env::temp_dir(), 1 << 20);
/// for line in ["7k/8/8/8/8/8/8/K7 w - - id \"a\";", "7k/8/8/8/8/8/8/K7 b - -", "7k/8/8/8/8/8/8/K7 w - - ce 0;"] {
///     union.add(&epdb_chess::parse_epd(line.as_bytes())?, Origin::default())?;
/// }
/// let (mut records, mut conflicts, tally) = union.finish()?;
/// assert_eq!(tally.merged, 1);
/// assert_eq!(conflicts.next().transpose()?, None);
/// let first = records.next().transpose()?.map(|record| epdb_chess::format_epd(&record));
/// assert_eq!(first, Some(b"7k/8/8/8/8/8/8/K7 w - - ce 0; id \"a\";".to_vec()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Union {
    by: By,
    rules: MergeRules,
    on_conflict: OnConflict,
    directory: PathBuf,
    memory_bytes: usize,
    records: Records,
    /// True if records may be kept as lines of text ([`ByLines`]). When memory is full, binary records
    /// replace them, because binary records take less memory.
    keeps_lines: bool,
    /// True if every record that was added so far is a line of text.
    only_lines: bool,
    origins: Origins,
    tally: UnionStats,
    is_of_games: bool,
}

/// The places of the records in memory. The records of a file are usually on successive lines, so
/// only the start of each run of lines is stored.
#[derive(Debug, Default)]
struct Origins(Vec<(Number, Origin)>);

impl Origins {
    /// Adds the place of the next record.
    fn push(&mut self, number: Number, origin: Origin) {
        if self.0.last().is_none_or(|last| after(*last, number) != origin) {
            self.0.push((number, origin));
        }
    }

    fn get(&self, number: Number) -> Origin {
        let run = self.0.partition_point(|(first, _)| *first <= number).checked_sub(1);
        run.map_or(Origin::default(), |run| after(self.0[run], number))
    }

    const fn memory_used(&self) -> usize {
        self.0.capacity() * size_of::<(Number, Origin)>()
    }
}

/// The origin of the record `number`, which belongs to a run. `first` and `origin` are those of the run's
/// first record.
fn after((first, origin): (Number, Origin), number: Number) -> Origin {
    Origin { line: origin.line + u64::from(number - first), ..origin }
}

#[derive(Debug)]
enum Records {
    /// The records are in memory, in order of insertion.
    Kept(ByKey),
    /// The records are in a temporary file.
    Sorted(Sorter),
}

impl Records {
    /// True if these records, together with `beside` bytes of other data, do not fit into memory.
    fn is_full(&self, records: EncodedRecords<'_>, beside: usize) -> bool {
        let bytes = beside + records.total_len() + SIDE * records.count();
        matches!(self, Records::Kept(kept) if !kept.has_room(records.count(), bytes))
    }

    /// Loads the cache lines of these records, and prefetches those of the next records.
    fn touch(&self, records: EncodedRecords<'_>, next: Option<&EncodedRecords<'_>>) {
        if let Records::Kept(kept) = self {
            kept.touch(hashes(records));
            next.into_iter().for_each(|next| kept.prefetch(hashes(*next)));
        }
    }
}

fn hashes(records: EncodedRecords<'_>) -> impl Iterator<Item = u32> {
    records.iter().map(|encoded| split_hash(encoded).0)
}

/// Maximum number of different records of one position in memory.
const WINDOW: usize = 64;

impl Union {
    /// A union that uses about `memory_bytes` of memory, and temporary files in `directory` for the
    /// rest.
    pub fn new(
        by: By,
        rules: MergeRules,
        on_conflict: OnConflict,
        directory: impl Into<PathBuf>,
        memory_bytes: usize,
    ) -> Union {
        let directory = directory.into();
        let records = Records::Kept(ByKey::new(memory_bytes / 2));

        Union {
            by,
            rules,
            on_conflict,
            directory,
            memory_bytes,
            records,
            keeps_lines: true,
            only_lines: true,
            origins: Origins::default(),
            tally: UnionStats::default(),
            is_of_games: false,
        }
    }

    /// Sets whether the records are positions of games. Games play different moves in one position, so their
    /// `sm` contradict nothing: the first stays.
    #[must_use]
    pub const fn of_games(mut self, is_of_games: bool) -> Union {
        self.is_of_games = is_of_games;
        self
    }

    /// Sets the expected number of records and bytes, before the first record.
    #[must_use]
    pub fn expecting(mut self, records: usize, bytes: usize) -> Union {
        if let Records::Kept(kept) = &mut self.records {
            kept.expect(records, bytes);
        }
        self
    }

    /// Adds the next record.
    ///
    /// # Errors
    /// The temporary file cannot be created or written.
    pub fn add(&mut self, record: &EpdRecord, place: Origin) -> Result<()> {
        let encoded = encoded(self.by, record)?;
        self.add_encoded(EncodedRecords::new(&encoded, &[encoded.len()]), place)
    }

    /// Adds records that a [`By`] or [`ByLines`] encoded. `first` is the place of the first record;
    /// the other records are on the following lines.
    ///
    /// # Errors
    /// The errors of [`Union::add`].
    pub fn add_encoded(&mut self, records: EncodedRecords<'_>, first: Origin) -> Result<()> {
        let mut place = first;
        let mut chunks = records.chunks(ByKey::TOGETHER).peekable();
        while let Some(records) = chunks.next() {
            if self.is_full(records) && self.keeps_lines {
                self.replace_lines();
            }
            if self.is_full(records) {
                self.spill()?;
            }
            self.records.touch(records, chunks.peek());
            for encoded in records.iter() {
                self.take_entry(place, encoded)?;
                place.line += 1;
            }
        }
        Ok(())
    }

    fn is_full(&self, records: EncodedRecords<'_>) -> bool {
        // While a full list grows, the old list and a new one of twice its size exist: three times
        // the memory of the old list.
        self.records.is_full(records, 3 * self.origins.memory_used())
    }

    /// Replaces lines of text by binary records.
    fn replace_lines(&mut self) {
        self.keeps_lines = false;
        self.only_lines = false;
        let Records::Kept(kept) = &mut self.records else { return };
        let lines = std::mem::replace(kept, ByKey::new(self.memory_bytes / 2));
        let by = self.by;
        let mut list = lines.into_list_of_all();
        while let Some(entry) = list.next() {
            let encoded = without_line(entry);
            let found = kept.find(by.hash_of(&encoded), |entry| by.is_same(entry, &encoded));
            kept.insert(found, &[&encoded]);
        }
    }

    fn take_entry(&mut self, place: Origin, encoded: &[u8]) -> Result<()> {
        let by = self.by;
        let (hash, encoded) = split_hash(encoded);
        let replaced = if self.keeps_lines { None } else { Some(without_line(encoded)) };
        let encoded = replaced.as_deref().unwrap_or(encoded);
        let order = self.tally.read;
        self.tally.read += 1;
        let kept = match &mut self.records {
            Records::Kept(kept) => kept,
            Records::Sorted(sorter) => return push_sorted(sorter, by, order, place, encoded),
        };
        let found = kept.find(hash, |entry| by.is_same(entry, encoded));
        if let Some(last) = found.last.filter(|last| kept.is_alone(*last)) {
            if kept.entry(last) == encoded && !adds_up(by, encoded) {
                self.tally.duplicates += 1;
                return Ok(());
            }
            if merges_lines(kept, last, encoded, &self.rules) {
                self.tally.merged += 1;
                return Ok(());
            }
        }
        self.only_lines &= is_line(encoded);
        self.origins.push(kept.len() as Number, place);
        kept.insert(found, &[encoded]);
        Ok(())
    }

    /// Moves the records to a temporary file.
    fn spill(&mut self) -> Result<()> {
        let mut sorter = Sorter::new(&self.directory, self.memory_bytes / 2);
        if let Records::Kept(kept) = &mut self.records {
            let origins = std::mem::take(&mut self.origins);
            let mut list = std::mem::replace(kept, ByKey::new(0)).into_list_of_all();
            while let Some(number) = list.peek() {
                let Some(encoded) = list.next() else { break };
                let place = origins.get(number);
                push_sorted(&mut sorter, self.by, number.into(), place, encoded)?;
            }
        }
        self.records = Records::Sorted(sorter);
        Ok(())
    }

    /// Ends the input, and returns the records, the conflicts and the counts.
    ///
    /// # Errors
    /// A temporary file cannot be created, written or read.
    pub fn finish(self) -> Result<(Ordered, Conflicts, UnionStats)> {
        let Union { by, rules, on_conflict: policy, directory, memory_bytes, is_of_games, .. } =
            self;
        let Union { records, only_lines, origins, tally, .. } = self;
        let out = Reorder::new(&directory, memory_bytes / 4);
        let conflicts = Sorter::new(&directory, memory_bytes / 4);
        let first = Vec::new();
        let group = VecDeque::new();
        let mut groups =
            Groups { by, rules, policy, is_of_games, conflicts, out, tally, first, group };
        let list = match records {
            Records::Kept(kept) => Some(groups.put_kept(kept, &origins)?),
            Records::Sorted(sorter) => {
                let mut entries = Grouped::new(sorter.finish()?, 0);
                while let Some(GroupedEntry { begins, payload, .. }) = entries.next_entry()? {
                    groups.put(begins, payload)?;
                }
                None
            }
        };
        groups.close()?;
        let out = groups.out.finish()?;
        let conflicts = Conflicts(groups.conflicts.finish()?);
        let records = match list {
            Some(list) => Ordered::merged_lines(list, only_lines, out),
            None => out,
        };
        Ok((records, conflicts, groups.tally))
    }
}

/// Merges two lines that differ only in counters. Returns the preferred line or, if the preferred
/// line has no counters, the other line.
fn merged_line<'l>(line: &'l [u8], next: &'l [u8], rules: &MergeRules) -> &'l [u8] {
    let (chosen, other) = if rules.prefers_later() { (next, line) } else { (line, next) };
    let has_counters = chosen.len() > fields(chosen).len() + 1;
    if has_counters { chosen } else { other }
}

/// Merges the line `next` into the only line of its key. Returns false, and changes nothing, if the
/// lines differ in more than counters or if the merged line has a different length.
fn merges_lines(kept: &mut ByKey, only: Number, next: &[u8], rules: &MergeRules) -> bool {
    let line = kept.entry(only);
    if !are_alike(line, next) {
        return false;
    }
    let merged = merged_line(line, next, rules);
    let has_room = merged.len() == line.len();
    if has_room && merged != line {
        kept.replace(only, next);
    }
    has_room
}

/// Adds an encoded record (without its hash) to a sorter, with its order and place. A line becomes
/// a binary record.
fn push_sorted(
    sorter: &mut Sorter,
    by: By,
    order: u64,
    place: Origin,
    encoded: &[u8],
) -> Result<()> {
    let encoded = without_line(encoded);
    let mut entry = Vec::with_capacity(Origin::LEN + 8 + encoded.len());
    KeyedRecord::join(order, &place.to_bytes(), record_of(&encoded), &mut entry);
    Ok(sorter.push(by.key_of(&encoded), &entry)?)
}

fn encoded(by: By, record: &EpdRecord) -> Result<Vec<u8>> {
    let mut encoded = Vec::new();
    by.encode(record, &Place::new("", At::Line(0)), &mut encoded)?;
    Ok(encoded)
}

/// The pass of a [`Union`] over the records of each key.
struct Groups {
    by: By,
    rules: MergeRules,
    policy: OnConflict,
    is_of_games: bool,
    conflicts: Sorter,
    out: Reorder,
    tally: UnionStats,
    /// The first record of the group, encoded; empty before the first group.
    first: Vec<u8>,
    /// The decoded records of the group that stay; empty if all records so far are equal to the
    /// first.
    group: VecDeque<KeyedRecord>,
}

impl Groups {
    /// Merges the records of each key that has several records. Returns the records that are alone
    /// with their key.
    fn put_kept(&mut self, kept: ByKey, origins: &Origins) -> Result<List> {
        let mut entry = Vec::new();
        for ring in kept.shared_rings() {
            if self.put_lines(&kept, ring.clone())? {
                continue;
            }
            let mut begins = true;
            for number in ring {
                entry.clear();
                let place = origins.get(number).to_bytes();
                let encoded = without_line(kept.entry(number));
                KeyedRecord::join(number.into(), &place, record_of(&encoded), &mut entry);
                self.put(std::mem::take(&mut begins), &entry)?;
            }
        }
        Ok(kept.into_list())
    }

    /// Merges the records of a key as [`Groups::put`] does, if they are lines that differ only in
    /// counters. Returns false, and changes nothing, if they are not.
    fn put_lines(
        &mut self,
        kept: &ByKey,
        mut ring: impl Iterator<Item = Number> + Clone,
    ) -> Result<bool> {
        let mut lines = ring.clone().map(|number| kept.entry(number));
        let Some(mut line) = lines.next() else { return Ok(true) };
        if !lines.clone().all(|other| are_alike(line, other)) {
            return Ok(false);
        }
        for next in lines {
            if next == line {
                self.tally.duplicates += 1;
                continue;
            }
            self.tally.merged += 1;
            line = merged_line(line, next, &self.rules);
        }
        let order = ring.next().map_or(0, u64::from);
        self.out.push_line(order, line)?;
        Ok(true)
    }

    /// Takes the next record. If `begins` is true, it is the first record of the next group.
    fn put(&mut self, begins: bool, entry: &[u8]) -> Result<()> {
        if begins {
            self.close()?;
            self.first.extend_from_slice(entry);
            return Ok(());
        }
        if self.group.is_empty() {
            let (_, first) = KeyedRecord::split(&self.first)?;
            let (_, record) = KeyedRecord::split(entry)?;
            // An equal tally is added, so its record is no duplicate.
            let adds_up = self.by != By::Record && has_tally(record);
            if record == first && !adds_up {
                self.tally.duplicates += 1;
                return Ok(());
            }
            self.group.push_back(KeyedRecord::decode(&self.first)?);
        }
        self.put_different(KeyedRecord::decode(entry)?)
    }

    /// Takes a record that differs from the first record of the group.
    fn put_different(&mut self, mut entry: KeyedRecord) -> Result<()> {
        let mut conflict = None;
        let played = self.group.front().and_then(|first| first.record.operands(Opcode::SM));
        if self.is_of_games
            && self.by != By::Record
            && played.is_some_and(|mv| entry.record.operands(Opcode::SM) != Some(mv))
        {
            entry.record.remove(Opcode::SM);
            self.tally.other_moves += 1;
        }
        for place in self.nearest_first(&entry) {
            let kept = &mut self.group[place];
            let has_tally = entry.record.operands(Opcode::TALLY).is_some();
            if kept.record == entry.record && (self.by == By::Record || !has_tally) {
                self.tally.duplicates += 1;
                return Ok(());
            }
            match merge_into(&kept.record, &entry.record, Entry::Later, &self.rules) {
                Merged::One(merged) => {
                    if !same_position(&kept.record, &entry.record) && merged == kept.record {
                        self.tally.same_board += 1;
                        return Ok(());
                    }
                    self.tally.merged += 1;
                    self.tally.analyses += u64::from(analyses_differ(&kept.record, &entry.record));
                    kept.record = merged;
                    return Ok(());
                }
                Merged::Conflict(opcodes) => {
                    conflict.get_or_insert((place, opcodes));
                }
            }
        }
        if let Some((place, opcodes)) = conflict {
            let first = &self.group[place];
            self.tally.conflicts += 1;
            push_conflict(&mut self.conflicts, first, &entry, &opcodes)?;
            if let Some(merged) = self.merged_without(first, &entry) {
                let order = first.order;
                self.group.clear();
                self.group.push_back(KeyedRecord { order, record: merged, ..entry });
                return Ok(());
            }
        }
        self.keep_or_drop(entry)
    }

    /// The places of the records of the group with which a record is compared: first those with its
    /// position, then those that have only its board.
    fn nearest_first(&self, entry: &KeyedRecord) -> Vec<usize> {
        let mut places: Vec<usize> = (0..self.group.len()).collect();
        if self.by == By::Board {
            places.sort_by_key(|place| !same_position(&self.group[*place].record, &entry.record));
        }
        places
    }

    /// Merges two records that contradict each other. The operations of the contradiction come from
    /// the record that the policy for conflicts prefers. `None` if the policy keeps both records, or
    /// if the records contradict each other in more than these operations.
    fn merged_without(&self, first: &KeyedRecord, entry: &KeyedRecord) -> Option<EpdRecord> {
        let (winner, loser, place) = match self.policy {
            OnConflict::Report => return None,
            OnConflict::First => (&first.record, &entry.record, Entry::Later),
            OnConflict::Last => (&entry.record, &first.record, Entry::Earlier),
        };
        let mut loser = loser.clone();
        if let Merged::Conflict(opcodes) = merge_into(winner, &loser, place, &self.rules) {
            for opcode in opcodes {
                loser.remove(opcode);
            }
        }
        match merge_into(winner, &loser, place, &self.rules) {
            Merged::One(merged) => Some(merged),
            Merged::Conflict(_) => None,
        }
    }

    /// Keeps or drops a record that could not be merged, as the policy for conflicts says.
    fn keep_or_drop(&mut self, entry: KeyedRecord) -> Result<()> {
        match self.policy {
            OnConflict::First => {}
            OnConflict::Last => {
                let order = self.group.front().map_or(entry.order, |first| first.order);
                self.group.clear();
                self.group.push_back(KeyedRecord { order, ..entry });
            }
            OnConflict::Report => {
                self.group.push_back(entry);
                if self.group.len() > WINDOW
                    && let Some(oldest) = self.group.pop_front()
                {
                    self.out.push(oldest.order, &oldest.record)?;
                }
            }
        }
        Ok(())
    }

    fn close(&mut self) -> Result<()> {
        if self.group.is_empty() && !self.first.is_empty() {
            self.out.push_entry(&self.first)?;
        }
        self.first.clear();
        self.group.drain(..).try_for_each(|kept| self.out.push(kept.order, &kept.record))
    }
}

fn same_position(a: &EpdRecord, b: &EpdRecord) -> bool {
    a.position().identity() == b.position().identity()
}

/// The place of a record in the input, seen from another record.
#[derive(Copy, Clone)]
enum Entry {
    Earlier,
    Later,
}

/// Merges `other` into `record`, which keeps its position. The records have one position, or only one
/// board.
fn merge_into(record: &EpdRecord, other: &EpdRecord, place: Entry, rules: &MergeRules) -> Merged {
    let one_position = same_position(record, other);
    let moved = if one_position { other.clone() } else { on_board_of(record, other) };
    let merged = match place {
        Entry::Earlier => merge(&moved, record, rules),
        Entry::Later => merge(record, &moved, rules),
    };
    if one_position {
        return merged;
    }
    let is_foreign = |opcode: &Opcode| {
        !describes_board(*opcode) && record.operands(*opcode) != moved.operands(*opcode)
    };
    let opcodes = moved.operations().iter().map(|it| it.opcode);
    let mut foreign: Vec<_> = opcodes.filter(is_foreign).collect();
    match merged {
        Merged::One(merged) if foreign.is_empty() => Merged::One(merged),
        Merged::One(_) => Merged::Conflict(foreign),
        Merged::Conflict(opcodes) => {
            foreign.extend(opcodes);
            foreign.sort();
            foreign.dedup();
            Merged::Conflict(foreign)
        }
    }
}

/// The operations of `other` with the position of `record`. Counters belong to the position of
/// `other`, as the side to move and the castling rights do, and are dropped with it.
fn on_board_of(record: &EpdRecord, other: &EpdRecord) -> EpdRecord {
    let mut moved = moved_to(record, other);
    moved.remove(Opcode::HMVC);
    moved.remove(Opcode::FMVN);
    moved
}

/// True if an operation says the same of every position of a board. Moves, scores and counts hold for
/// one position only.
fn describes_board(opcode: Opcode) -> bool {
    (Opcode::C0..=Opcode::C9).contains(&opcode)
        || matches!(opcode, Opcode::ECO | Opcode::ID | Opcode::NIC)
}

/// The records that a [`Selection`] keeps.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Keep {
    /// Records that are in every other collection: the intersection.
    InAll,
    /// Records that are in no other collection: the difference.
    InNone,
}

/// Selects records of one collection, the *own* collection: those that other collections have, or those that
/// they lack. The records stay unchanged and in their order.
///
/// ```
/// use epdb_library::sets::{By, Keep, Selection};
/// let (a, b) = (epdb_chess::parse_epd(b"7k/8/8/8/8/8/8/K7 w - -")?, epdb_chess::parse_epd(b"7k/8/8/8/8/8/8/K7 b - -")?);
/// let mut difference = Selection::new(Keep::InNone, By::Position, std::env::temp_dir(), 1 << 20);
/// difference.add(&a)?;
/// difference.add(&b)?;
/// difference.add_other(&a)?;
/// let mut records = difference.finish()?;
/// assert_eq!(records.next().transpose()?, Some(b));
/// assert_eq!(records.next().transpose()?, None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Selection {
    keep: Keep,
    by: By,
    directory: PathBuf,
    memory_bytes: usize,
    records: Records,
    /// Number of records of the own collection.
    len: u64,
    others: u32,
}

/// The last byte of a key in a sorter, and the first byte of an entry in memory. Records of other
/// collections sort before those of the own collection.
pub(super) const OTHER: u8 = 0;
pub(super) const OWN: u8 = 1;

/// Size of the header of an entry in memory: [`OWN`] or [`OTHER`], and the number of the
/// collection.
const SIDE: usize = 5;

impl Selection {
    /// A selection that uses about `memory_bytes` of memory, and temporary files in `directory` for
    /// the rest.
    pub fn new(
        keep: Keep,
        by: By,
        directory: impl Into<PathBuf>,
        memory_bytes: usize,
    ) -> Selection {
        let directory = directory.into();
        let records = Records::Kept(ByKey::new(memory_bytes / 2));
        Selection { keep, by, directory, memory_bytes, records, len: 0, others: 1 }
    }

    /// Adds the next record of the own collection.
    ///
    /// # Errors
    /// The temporary file cannot be created or written.
    pub fn add(&mut self, record: &EpdRecord) -> Result<()> {
        let encoded = encoded(self.by, record)?;
        self.add_encoded(EncodedRecords::new(&encoded, &[encoded.len()]))
    }

    /// Adds records of the selected collection, which were encoded by a [`By`].
    ///
    /// # Errors
    /// The errors of [`Selection::add`].
    pub fn add_encoded(&mut self, records: EncodedRecords<'_>) -> Result<()> {
        self.take_all(records, |selection, encoded| {
            let (hash, encoded) = split_hash(encoded);
            let key = selection.by.key_of(encoded);
            selection.take_entry(hash, key, header(OWN, 0), [&[], encoded])?;
            selection.len += 1;
            Ok(())
        })
    }

    /// Adds a record of another collection.
    ///
    /// # Errors
    /// The temporary file cannot be created or written.
    pub fn add_other(&mut self, record: &EpdRecord) -> Result<()> {
        let encoded = encoded(self.by, record)?;
        self.add_other_encoded(EncodedRecords::new(&encoded, &[encoded.len()]))
    }

    /// Adds records of another collection that a [`By`] encoded.
    ///
    /// # Errors
    /// The errors of [`Selection::add_other`].
    pub fn add_other_encoded(&mut self, records: EncodedRecords<'_>) -> Result<()> {
        self.take_all(records, |selection, encoded| {
            let (hash, encoded) = split_hash(encoded);
            let (shown, key) = selection.by.key_alone(encoded);
            selection.take_entry(hash, key, header(OTHER, selection.others), [&shown, key])
        })
    }

    /// Begins a further collection for [`Selection::add_other`].
    pub const fn next_other(&mut self) {
        self.others += 1;
    }

    fn take_all(
        &mut self,
        records: EncodedRecords<'_>,
        take: impl Fn(&mut Selection, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let mut chunks = records.chunks(ByKey::TOGETHER).peekable();
        while let Some(records) = chunks.next() {
            if self.records.is_full(records, 0) {
                self.spill()?;
            }
            self.records.touch(records, chunks.peek());
            records.iter().try_for_each(|encoded| take(self, encoded))?;
        }
        Ok(())
    }

    /// Adds an encoded record of the own collection, or the key of a record of another collection.
    /// The key is given in two parts.
    fn take_entry(
        &mut self,
        hash: u32,
        key: &[u8],
        header: [u8; SIDE],
        parts: [&[u8]; 2],
    ) -> Result<()> {
        let by = self.by;
        let kept = match &mut self.records {
            Records::Kept(kept) => kept,
            Records::Sorted(sorter) => {
                return push_side(sorter, by, header, &parts.concat(), self.len);
            }
        };
        let found = kept.find(hash, |entry| by.key_of(behind_side(entry)) == key);
        let repeats = |last| header[0] == OTHER && kept.entry(last).starts_with(&header);
        if !found.last.is_some_and(repeats) {
            kept.insert(found, &[&header, parts[0], parts[1]]);
        }
        Ok(())
    }

    /// Moves the records to a temporary file.
    fn spill(&mut self) -> Result<()> {
        let mut sorter = Sorter::new(&self.directory, self.memory_bytes / 2);
        if let Records::Kept(kept) = &mut self.records {
            let mut list = std::mem::replace(kept, ByKey::new(0)).into_list_of_all();
            let mut order = 0;
            while let Some((header, encoded)) =
                list.next().and_then(<[u8]>::split_first_chunk::<SIDE>)
            {
                push_side(&mut sorter, self.by, *header, encoded, order)?;
                order += u64::from(header[0] == OWN);
            }
        }
        self.records = Records::Sorted(sorter);
        Ok(())
    }

    /// Ends the input.
    ///
    /// # Errors
    /// A temporary file cannot be created, written or read.
    pub fn finish(self) -> Result<Ordered> {
        let out = Reorder::new(&self.directory, self.memory_bytes / 2);
        let chooser = Chooser::new(self.keep, self.others);
        match self.records {
            Records::Kept(kept) => {
                Ok(Ordered::merged(chooser.choose_kept(kept), SIDE, out.finish()?))
            }
            Records::Sorted(sorter) => chooser.choose_sorted(sorter.finish()?, out),
        }
    }
}

impl Keep {
    /// Whether to keep a record that is in `found` of `others` other collections.
    const fn takes(self, found: u32, others: u32) -> bool {
        match self {
            Keep::InAll => found == others,
            Keep::InNone => found == 0,
        }
    }
}

fn header(side: u8, number: u32) -> [u8; SIDE] {
    let [a, b, c, d] = number.to_be_bytes();
    [side, a, b, c, d]
}

fn behind_side(entry: &[u8]) -> &[u8] {
    entry.get(SIDE..).unwrap_or_default()
}

/// Adds an entry to a sorter: an encoded record of the own collection with its order, or a key from
/// another collection with the number of that collection.
fn push_side(
    sorter: &mut Sorter,
    by: By,
    [side, other @ ..]: [u8; SIDE],
    encoded: &[u8],
    order: u64,
) -> Result<()> {
    let key = [by.key_of(encoded), &[side]].concat();
    let mut payload = Vec::new();
    match side {
        OWN => {
            let place = Origin::default().to_bytes();
            KeyedRecord::join(order, &place, record_of(encoded), &mut payload);
        }
        _ => payload.extend_from_slice(&other),
    }
    Ok(sorter.push(&key, &payload)?)
}

/// The pass of a [`Selection`] over the records of each key. Records of the other collections come
/// first, by the numbers of their collections, then the records of the own collection.
pub(super) struct Chooser {
    keep: Keep,
    others: u32,
    /// Number of other collections that have the key; `last` is the number of the last of these
    /// collections.
    found: u32,
    last: Option<[u8; 4]>,
}

impl Chooser {
    pub(super) const fn new(keep: Keep, others: u32) -> Chooser {
        Chooser { keep, others, found: 0, last: None }
    }

    /// Takes the next record. If `begins` is true, it is the first record of the next group.
    /// `other` is the number of its collection; `None` for the own collection. Returns true for a
    /// record of the own collection that is kept.
    fn put(&mut self, begins: bool, other: Option<[u8; 4]>) -> bool {
        if begins {
            self.found = 0;
            self.last = None;
        }
        if other.is_some() {
            self.found += u32::from(self.last != other);
            self.last = other;
            return false;
        }
        self.keep.takes(self.found, self.others)
    }

    fn choose_kept(mut self, kept: ByKey) -> List {
        let mut stays = vec![false; kept.len()];
        let other = |number: &Number| match kept.entry(*number).split_first_chunk::<SIDE>() {
            Some(([OTHER, other @ ..], _)) => Some(*other),
            _ => None,
        };
        for ring in kept.rings() {
            let others = ring.clone().filter(|it| other(it).is_some());
            let own = ring.filter(|it| other(it).is_none());
            for (place, number) in others.chain(own).enumerate() {
                let begins = place == 0;
                stays[number as usize] = self.put(begins, other(&number));
            }
        }
        kept.into_list_of(|number| stays[number as usize])
    }

    /// The records that stay. The payloads of the own collection are encoded [`KeyedRecord`]s, and those of
    /// another collection are its number.
    pub(super) fn choose_sorted(mut self, sorted: Sorted, mut out: Reorder) -> Result<Ordered> {
        let mut entries = Grouped::new(sorted, 1);
        while let Some(GroupedEntry { begins, suffix, payload, .. }) = entries.next_entry()? {
            let other = match suffix {
                [OTHER] => Some(payload.try_into().map_err(|_| changed())?),
                _ => None,
            };
            if self.put(begins, other) {
                out.push_entry(payload)?;
            }
        }
        out.finish()
    }
}

/// True if records that are equal to this one are not duplicates, because their tallies must be added.
fn adds_up(by: By, encoded: &[u8]) -> bool {
    by != By::Record && !is_line(encoded) && has_tally(record_of(encoded))
}

fn has_tally(record: &[u8]) -> bool {
    matches!(record::tally_bytes(record), Ok(Some(_)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]

    use proptest::prelude::*;

    use std::ops::ControlFlow;
    use std::sync::Arc;

    use super::*;
    use epdb_chess::model::merge::{BestMoves, Prefer};
    use epdb_source::{Item, Source, SourceOptions};

    fn record(line: &str) -> EpdRecord {
        epdb_chess::parse_epd(line.as_bytes()).unwrap()
    }

    fn lines(mut records: Ordered) -> Vec<String> {
        let mut lines = Vec::new();
        for record in records.by_ref() {
            let record = record.unwrap();
            lines.push(String::from_utf8(epdb_chess::format_epd(&record)).unwrap());
        }
        lines
    }

    fn union(
        by: By,
        rules: MergeRules,
        policy: OnConflict,
        memory_bytes: usize,
        input: &[&str],
    ) -> (Vec<String>, UnionStats, Vec<RecordConflict>) {
        let mut union = Union::new(by, rules, policy, std::env::temp_dir(), memory_bytes);
        for (line, text) in input.iter().enumerate() {
            union.add(&record(text), Origin { source: 0, line: line as u64 + 1 }).unwrap();
        }
        let (records, mut found, tally) = union.finish().unwrap();
        let mut conflicts = Vec::new();
        for conflict in found.by_ref() {
            let conflict = conflict.unwrap();
            conflicts.push(conflict);
        }
        (lines(records), tally, conflicts)
    }

    const A: &str = "4k3/8/8/8/8/8/4P3/4K3 w - -";
    const A_BLACK: &str = "4k3/8/8/8/8/8/4P3/4K3 b - -";
    const EP: &str = "4k3/8/8/8/4P3/8/8/4K3 b - e3";
    const NO_EP: &str = "4k3/8/8/8/4P3/8/8/4K3 b - -";

    /// A superfluous en passant square does not make a different position, and is kept.
    #[test]
    fn one_record_a_position_stays_in_the_order_of_the_input() {
        let input = [NO_EP, A, EP, A_BLACK, A];
        let (lines, tally, _) =
            union(By::Position, MergeRules::default(), OnConflict::Report, 0, &input);
        assert_eq!(lines, [EP, A, A_BLACK]);
        assert_eq!((tally.read, tally.merged, tally.duplicates), (5, 1, 1));
    }

    #[test]
    fn conflicts_come_in_the_order_of_the_input_with_both_values() {
        let boards = [
            "8/8/8/8/8/8/8/K1k5",
            "k1K5/8/8/8/8/8/8/8",
            "8/8/8/K1k5/8/8/8/8",
            "K1k5/8/8/8/8/8/8/8",
        ];
        let line = |id: char| boards.map(|board| format!("{board} w - - id \"{id}\";"));
        let input: Vec<String> = ('a'..='c').flat_map(line).collect();
        let input: Vec<&str> = input.iter().map(String::as_str).collect();
        for memory_bytes in [0, 1 << 20] {
            let (_, tally, conflicts) = union(
                By::Position,
                MergeRules::default(),
                OnConflict::Report,
                memory_bytes,
                &input,
            );
            assert_eq!((tally.conflicts, conflicts.len()), (8, 8));
            let places: Vec<_> =
                conflicts.iter().map(|it| (it.first.line, it.second.line)).collect();
            assert_eq!(places, [(1, 5), (1, 9), (2, 6), (2, 10), (3, 7), (3, 11), (4, 8), (4, 12)]);
            let [operation] = &conflicts[1].operations[..] else { panic!("one operation") };
            let values = [&operation.first, &operation.second];
            let texts = values.map(|it| it.as_ref().map(|it| it[0].text()));
            assert_eq!(texts, [Some(b"a".to_vec()), Some(b"c".to_vec())]);
        }
    }

    /// A record is compared only with the last 64 records of its position, so that the memory is
    /// bounded.
    #[test]
    fn a_record_is_held_against_the_last_ones_of_its_position_only() {
        let id = |n: usize| format!("{A} id \"{n}\";");
        for (between, duplicates) in [(WINDOW - 1, 1), (WINDOW, 0), (10 * WINDOW, 0)] {
            let mut input: Vec<String> = (0..=between).map(id).collect();
            input.push(id(0));
            let input: Vec<&str> = input.iter().map(String::as_str).collect();
            let (lines, tally, conflicts) =
                union(By::Position, MergeRules::default(), OnConflict::Report, 0, &input);
            assert_eq!(tally.duplicates, duplicates, "{between} others between");
            assert_eq!(lines.len() as u64, between as u64 + 2 - duplicates);
            assert_eq!(conflicts.len() as u64, tally.conflicts);
        }
    }

    #[test]
    fn records_that_contradict_each_other_stay_and_are_reported() {
        let input = [
            &format!("{A} bm e4;")[..],
            &format!("{A} bm e3;"),
            &format!("{A} id \"x\";"),
            &format!("{A} bm e3;"),
        ];
        let (lines, tally, conflicts) =
            union(By::Position, MergeRules::default(), OnConflict::Report, 0, &input);
        assert_eq!(lines, [format!("{A} bm e4; id \"x\";"), format!("{A} bm e3;")]);
        assert_eq!((tally.conflicts, tally.merged, tally.duplicates), (1, 1, 1));
        let places = [conflicts[0].first.line, conflicts[0].second.line];
        assert_eq!((places, conflicts[0].operations[0].opcode.to_string()), ([1, 2], "bm".into()));

        let rules = MergeRules { best_moves: BestMoves::Union, ..Default::default() };
        let (lines, ..) = union(By::Position, rules, OnConflict::Report, 0, &input);
        assert_eq!(lines, [format!("{A} bm e3 e4; id \"x\";")]);
        let (lines, ..) = union(By::Position, MergeRules::default(), OnConflict::First, 0, &input);
        assert_eq!(lines, [format!("{A} bm e4; id \"x\";")]);
        let (lines, ..) =
            union(By::Position, MergeRules::default(), OnConflict::Last, 0, &input[..2]);
        assert_eq!(lines, [format!("{A} bm e3;")]);
    }

    #[test]
    fn records_of_one_board_are_the_first_of_them() {
        let input = [A, A_BLACK, &format!("{A} ce 3;"), &format!("{A} ce 3;")];
        let (lines, tally, _) =
            union(By::Board, MergeRules::default(), OnConflict::Report, 0, &input);
        assert_eq!(lines, [format!("{A} ce 3;")]);
        assert_eq!((tally.same_board, tally.merged, tally.duplicates), (1, 1, 1));
        let (lines, ..) = union(By::Record, MergeRules::default(), OnConflict::Report, 0, &input);
        assert_eq!(lines, [A, A_BLACK, &format!("{A} ce 3;")]);
    }

    #[test]
    fn any_number_of_contradictions_passes() {
        let input: Vec<_> = (0..1000).map(|n| format!("{A} id \"{n}\";")).collect();
        let input: Vec<_> = input.iter().map(String::as_str).collect();
        let (lines, tally, _) =
            union(By::Position, MergeRules::default(), OnConflict::Report, 4096, &input);
        assert_eq!(lines, input);
        assert_eq!(tally.conflicts, 999);
    }

    fn select(keep: Keep, by: By, own: &[&str], others: &[&[&str]]) -> Vec<String> {
        let in_file = select_in(0, keep, by, own, others);
        assert_eq!(select_in(1 << 20, keep, by, own, others), in_file);
        in_file
    }

    fn select_in(
        memory_bytes: usize,
        keep: Keep,
        by: By,
        own: &[&str],
        others: &[&[&str]],
    ) -> Vec<String> {
        let mut selection = Selection::new(keep, by, std::env::temp_dir(), memory_bytes);
        for (number, other) in others.iter().enumerate() {
            if number > 0 {
                selection.next_other();
            }
            other.iter().for_each(|line| selection.add_other(&record(line)).unwrap());
        }
        own.iter().for_each(|line| selection.add(&record(line)).unwrap());
        lines(selection.finish().unwrap())
    }

    #[test]
    fn selections_keep_records_as_they_are() {
        let with_id = format!("{A} id \"x\";");
        let own = [EP, &with_id, A_BLACK, A];
        assert_eq!(select(Keep::InNone, By::Position, &own, &[&[A], &[NO_EP]]), [A_BLACK]);
        assert_eq!(select(Keep::InNone, By::Record, &own, &[&[A, NO_EP]]), [EP, &with_id, A_BLACK]);
        assert_eq!(select(Keep::InNone, By::Board, &own, &[&[A]]), [EP]);
        assert_eq!(select(Keep::InAll, By::Position, &own, &[&[A, A, NO_EP], &[A]]), [&with_id, A]);
        assert_eq!(select(Keep::InAll, By::Position, &own, &[&[A, NO_EP], &[]]), [""; 0]);
        assert_eq!(select(Keep::InNone, By::Position, &own, &[]), own);
    }

    /// The union of the records of a text, with counts and conflicts. `encode` encodes the records.
    fn union_of_text(
        encode: Arc<dyn Encode>,
        mut union: Union,
        text: &str,
    ) -> (Vec<String>, UnionStats, Vec<RecordConflict>) {
        let options = SourceOptions { encode: Some(encode), ..Default::default() };
        let source = Source::from_bytes("a.epd", text, &options).unwrap();
        source
            .read(&mut |item| match item {
                Item::Encoded { records, place, .. } => {
                    let first = Origin { source: 0, line: place.number() };
                    union.add_encoded(records, first).map(ControlFlow::Continue)
                }
                _ => Ok(ControlFlow::Continue(())),
            })
            .unwrap();
        let (records, found, tally) = union.finish().unwrap();
        let conflicts = found.map(Result::unwrap).collect();
        (lines(records), tally, conflicts)
    }

    /// Lines with few different positions and operations, so that records repeat, merge and
    /// contradict each other.
    fn lines_of(choices: &[(usize, usize)]) -> Vec<String> {
        const FIELDS: [&str; 5] = [
            "4k3/8/8/8/8/8/4P3/4K3 w - -",
            "4k3/8/8/8/8/8/4P3/4K3 b - -",
            "4k3/8/8/8/4P3/8/8/4K3 b - e3",
            "4k3/8/8/8/4P3/8/8/4K3 b - -",
            "4k3/8/8/8/3pP3/8/8/4K3 b - e3",
        ];
        const SAID: [&str; 9] = [
            "",
            " 0 1",
            " 3 9",
            " bm Kd7;",
            " bm Kd8;",
            " id \"a\";",
            " ce 3;",
            " hmvc 3;",
            " 3 09",
        ];
        choices.iter().map(|(a, b)| format!("{}{}", FIELDS[a % 5], SAID[b % 9])).collect()
    }

    proptest! {
        /// The result is the same in memory, through a file, and with records that begin in memory
        /// and continue in a file.
        #[test]
        fn sets_are_the_same_in_memory_and_in_a_file(
            choices in prop::collection::vec((0..5_usize, 0..9_usize), 0..80),
            others in prop::collection::vec((0..5_usize, 0..9_usize), 0..8),
            some in 0..12_000_usize,
        ) {
            let input = lines_of(&choices);
            let input: Vec<_> = input.iter().map(String::as_str).collect();
            let others = lines_of(&others);
            let others: Vec<_> = others.iter().map(String::as_str).collect();
            for by in [By::Position, By::Board, By::Record] {
                for policy in [OnConflict::Report, OnConflict::First, OnConflict::Last] {
                    let of = |memory_bytes| union(by, MergeRules::default(), policy, memory_bytes, &input);
                    let in_file = of(0);
                    prop_assert_eq!(&of(1 << 20), &in_file);
                    prop_assert_eq!(&of(some), &in_file);
                }
                for keep in [Keep::InAll, Keep::InNone] {
                    let (a, b) = others.split_at(others.len() / 2);
                    let of = |memory_bytes| select_in(memory_bytes, keep, by, &input, &[a, b]);
                    let in_file = of(0);
                    prop_assert_eq!(&of(1 << 20), &in_file);
                    prop_assert_eq!(&of(some), &in_file);
                }
            }
        }

        /// Records that are kept as lines give the same result.
        #[test]
        fn lines_are_as_good_as_their_records(
            choices in prop::collection::vec((0..5_usize, 0..9_usize), 0..60),
            few in prop::collection::vec((0..5_usize, 0..3_usize), 0..200),
            prefer in prop::sample::select(vec![Prefer::Later, Prefer::First, Prefer::Deepest, Prefer::Nodes]),
            some in 0..24_000_usize,
        ) {
            let text = lines_of(&[few, choices].concat()).join("\n");
            for by in [By::Position, By::Board, By::Record] {
                let rules = MergeRules { prefer, ..Default::default() };
                let new = |memory_bytes| {
                    Union::new(by, rules.clone(), OnConflict::Report, std::env::temp_dir(), memory_bytes)
                };
                let expected = union_of_text(Arc::new(by), new(1 << 20), &text);
                for memory_bytes in [1 << 20, some] {
                    let of_lines = union_of_text(Arc::new(ByLines(by)), new(memory_bytes), &text);
                    prop_assert_eq!(&of_lines, &expected);
                }
            }
        }

        /// A plain line is encoded to the same bytes as its record.
        #[test]
        fn a_plain_record_is_encoded_as_every_record(clock in 0..70_000_u32, number in 1..70_000_u32) {
            let counters = epdb_chess::model::Counters { halfmove_clock: clock, fullmove_number: number };
            for counters in [None, Some(counters)] {
                let mut plain_record = record(A_BLACK);
                plain_record.set_fen_counters(counters);
                let board = epdb_chess::codec::packed::encode(plain_record.position());
                let parts = epdb_chess::codec::record::PlainRecord { board: board.as_bytes(), en_passant: None, counters };
                for by in [By::Position, By::Record] {
                    let mut plain = Vec::new();
                    prop_assert!(by.encode_plain(&parts, &mut plain));
                    prop_assert_eq!(plain, encoded(by, &plain_record).unwrap());
                }
                prop_assert!(!By::Board.encode_plain(&parts, &mut Vec::new()));
            }
        }

        /// With any amount of memory, the result is the same as in memory.
        #[test]
        fn dedupe_keeps_the_first_of_each(places in prop::collection::vec(0..64_usize, 0..60), memory_bytes in 0..6000_usize) {
            let line = |place: &usize| {
                let king = place / 8;
                let rest = 7 - place / 8;
                let row = |n: usize| if n == 0 { String::new() } else { n.to_string() };
                format!("7k/8/8/8/8/8/{}K{}/8 {} - -", row(king), row(rest), if place.is_multiple_of(2) { 'w' } else { 'b' })
            };
            let input: Vec<_> = places.iter().map(line).collect();
            let mut seen = std::collections::HashSet::new();
            let expected: Vec<_> = input.iter().filter(|line| seen.insert((*line).clone())).cloned().collect();
            let input: Vec<_> = input.iter().map(String::as_str).collect();
            let (lines, ..) = union(By::Position, MergeRules::default(), OnConflict::Report, memory_bytes, &input);
            prop_assert_eq!(lines, expected);
        }
    }
}

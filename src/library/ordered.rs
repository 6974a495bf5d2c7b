//! The encoding by which set operations group records, and the sorter that brings records back into
//! the order of the input.

use std::borrow::Cow;
use std::hash::BuildHasher;
use std::path::Path;
use std::sync::LazyLock;

use foldhash::fast::RandomState;

use super::by_key::List;
use epdb_base::spill::{Sorted, Sorter};
use epdb_chess::codec::packed;
use epdb_chess::codec::record::{self, PlainRecord};
use epdb_chess::error::{Error, Place, Result};
use epdb_chess::model::{Board, Castling, Color, EpdRecord, Position};
use epdb_source::{Encode, encode_canonical_line};

/// The criterion for equal records.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum By {
    /// Records with the same position are equal: the same board, side to move, castling rights and
    /// legal en passant capture.
    #[default]
    Position,
    /// Records with the same board are equal.
    Board,
    /// Records with the same position and the same operations are equal.
    Record,
}

/// The place of a record.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Origin {
    /// The number of the source, from 0.
    pub source: u32,
    /// The line, or the number of the record.
    pub line: u64,
}

impl Origin {
    /// Size in bytes of an encoded place.
    pub(super) const LEN: usize = 12;

    pub(super) fn to_bytes(self) -> [u8; Origin::LEN] {
        let mut bytes = [0; Origin::LEN];
        bytes[..4].copy_from_slice(&self.source.to_be_bytes());
        bytes[4..].copy_from_slice(&self.line.to_be_bytes());
        bytes
    }

    pub(super) fn from_bytes(bytes: &[u8; Origin::LEN]) -> Origin {
        let [a, b, c, d, line @ ..] = *bytes;
        Origin { source: u32::from_be_bytes([a, b, c, d]), line: u64::from_be_bytes(line) }
    }
}

/// Appends a key. Two keys are equal exactly if their records are equal by this criterion, and no
/// key is a prefix of another one.
pub(super) fn push_key(by: By, record: &EpdRecord, key: &mut Vec<u8>) -> Result<()> {
    match by {
        By::Position => {
            let identity = record.position().identity();
            key.extend_from_slice(packed::encode(&identity).as_bytes());
        }
        By::Board => key.extend_from_slice(packed::encode(&board_alone(record)).as_bytes()),
        By::Record => push_record(record, key)?,
    }
    Ok(())
}

/// A key. Two keys are equal exactly if their records are equal by this criterion.
///
/// # Errors
/// The record cannot be encoded.
pub fn key(by: By, record: &EpdRecord) -> Result<Vec<u8>> {
    let mut key = Vec::new();
    push_key(by, record, &mut key)?;
    Ok(key)
}

fn board_alone(record: &EpdRecord) -> Position {
    let board: Board = *record.position().board();
    Position::new(board, Color::White, Castling::NONE, None).unwrap_or(*record.position())
}

/// The operations of `other`, without fields of counters, in a record that has the position and the
/// castling letters of `record`.
pub(super) fn moved_to(record: &EpdRecord, other: &EpdRecord) -> EpdRecord {
    let mut moved = EpdRecord::new(*record.position());
    moved.set_dialect(record.dialect());
    for operation in other.operations() {
        moved.set(operation.clone());
    }
    moved
}

/// Appends a record in binary form.
pub(super) fn push_record(record: &EpdRecord, out: &mut Vec<u8>) -> Result<()> {
    Ok(record::encode(record, out)?)
}

/// The encoding of records for sets, which has these parts:
/// - the hash of the key, which is different in each process;
/// - the length of a separate key, 0 if the key is part of the record;
/// - the separate key;
/// - the record in binary form.
impl Encode for By {
    fn encode(&self, record: &EpdRecord, _: &Place, out: &mut Vec<u8>) -> Result<()> {
        let start = out.len();
        out.extend_from_slice(&[0; HASH]);
        match self {
            By::Board => {
                let board = packed::encode(&board_alone(record));
                push_shown_key(board.as_bytes(), out);
            }
            By::Position | By::Record => out.push(0),
        }
        push_record(record, out)?;
        self.put_hash(&mut out[start..]);
        Ok(())
    }

    fn encode_plain(&self, plain: &PlainRecord<'_>, out: &mut Vec<u8>) -> bool {
        if *self == By::Board {
            return false;
        }
        let start = out.len();
        out.extend_from_slice(&[0; HASH + 1]);
        record::encode_plain(plain, out);
        self.put_hash(&mut out[start..]);
        true
    }
}

/// The encoding of [`By`], except that a canonical line stays text: its hash, the line, and an LF. So the
/// line need not be formatted again.
#[derive(Copy, Clone, Debug)]
pub struct ByLines(pub By);

impl Encode for ByLines {
    fn encode(&self, record: &EpdRecord, place: &Place, out: &mut Vec<u8>) -> Result<()> {
        self.0.encode(record, place, out)
    }

    fn encode_plain(&self, plain: &PlainRecord<'_>, out: &mut Vec<u8>) -> bool {
        self.0.encode_plain(plain, out)
    }

    fn encode_canonical(&self, plain: &PlainRecord<'_>, text: &[u8], out: &mut Vec<u8>) -> bool {
        let start = out.len();
        match self.0 {
            By::Position => out.extend_from_slice(&hash_of(plain.board).to_le_bytes()),
            By::Board | By::Record => {
                if !self.0.encode_plain(plain, out) {
                    return false;
                }
                out.truncate(start + HASH);
            }
        }
        out.extend_from_slice(text);
        out.push(b'\n');
        true
    }
}

/// Whether an encoded record, without its hash, is a line ([`ByLines`]). Otherwise it begins with
/// the length of a separate key.
pub(super) fn is_line(encoded: &[u8]) -> bool {
    const { assert!(packed::MAX_LEN < b'1' as usize) };
    encoded.first().is_some_and(|first| (b'1'..=b'z').contains(first))
}

/// Whether two lines differ only in counters.
pub(super) fn are_alike(line: &[u8], other: &[u8]) -> bool {
    is_line(line) && is_line(other) && fields(line) == fields(other)
}

/// An encoded record without its hash. If it is a line, it is converted to binary form.
pub(super) fn without_line(encoded: &[u8]) -> Cow<'_, [u8]> {
    if !is_line(encoded) {
        return encoded.into();
    }
    let mut record = vec![0];
    encode_canonical_line(encoded, &mut record);
    record.into()
}

/// Size in bytes of a hash.
const HASH: usize = 4;

/// The hash function, which is random so that nobody can construct many records with the same hash.
static HASHES: LazyLock<RandomState> = LazyLock::new(RandomState::default);

pub(super) fn hash_of(key: &[u8]) -> u32 {
    HASHES.hash_one(key) as u32
}

pub(super) fn split_hash(encoded: &[u8]) -> (u32, &[u8]) {
    encoded.split_first_chunk().map_or((0, &[]), |(hash, rest)| (u32::from_le_bytes(*hash), rest))
}

fn push_shown_key(key: &[u8], out: &mut Vec<u8>) {
    // A packed board is short.
    out.push(key.len() as u8);
    out.extend_from_slice(key);
}

impl By {
    fn put_hash(self, encoded: &mut [u8]) {
        if let Some((hash, rest)) = encoded.split_first_chunk_mut() {
            *hash = self.hash_of(rest).to_le_bytes();
        }
    }

    /// The hash of the key of an encoded record. The record must not be a line.
    pub(super) fn hash_of(self, encoded: &[u8]) -> u32 {
        hash_of(self.key_of(encoded))
    }

    /// Whether two encoded records with equal hashes have the same key.
    pub(super) fn is_same(self, one: &[u8], other: &[u8]) -> bool {
        match (is_line(one), is_line(other)) {
            (false, false) => self.key_of(one) == self.key_of(other),
            (true, true) if self == By::Record => one == other,
            (true, true) if self == By::Position && fields(one) == fields(other) => true,
            _ => self.key_of(&without_line(one)) == self.key_of(&without_line(other)),
        }
    }

    /// The key ([`push_key`]) of an encoded record, which is given without its hash and is not a
    /// line.
    pub(super) fn key_of(self, encoded: &[u8]) -> &[u8] {
        match (split_shown_key(encoded), self) {
            (([], record), By::Position) => record::board_of(record).unwrap_or_default(),
            (([], record), _) => record,
            ((key, _), _) => key,
        }
    }

    /// An encoded record that has the key of this record and nothing else. It is returned in two
    /// parts.
    pub(super) fn key_alone(self, encoded: &[u8]) -> ([u8; 1], &[u8]) {
        let key = self.key_of(encoded);
        // A packed board is short.
        ([if self == By::Record { 0 } else { key.len() as u8 }], key)
    }
}

/// The four fields of a line; counters may follow them.
pub(super) fn fields(line: &[u8]) -> &[u8] {
    let text = line.strip_suffix(b"\n").unwrap_or(line);
    let before_last = |text: &[u8]| text.iter().rposition(|byte| *byte == b' ').unwrap_or(0);
    let last = before_last(text);
    match text.get(last + 1) {
        Some(b'0'..=b'9') => &text[..before_last(&text[..last])],
        _ => text,
    }
}

/// The binary record in an encoded record. `encoded` has no hash, and is not a line.
pub(super) fn record_of(encoded: &[u8]) -> &[u8] {
    split_shown_key(encoded).1
}

fn split_shown_key(encoded: &[u8]) -> (&[u8], &[u8]) {
    let (len, rest) = encoded.split_first().unwrap_or((&0, &[]));
    rest.split_at_checked(usize::from(*len)).unwrap_or_default()
}

/// A record in a sorter, with its order and its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct KeyedRecord {
    pub(super) order: u64,
    pub(super) place: Origin,
    pub(super) record: EpdRecord,
}

/// Size of the header of a record.
const HEADER: usize = 20;

impl KeyedRecord {
    pub(super) fn encode(
        order: u64,
        place: Origin,
        record: &EpdRecord,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        out.extend_from_slice(&order.to_be_bytes());
        out.extend_from_slice(&place.to_bytes());
        push_record(record, out)
    }

    /// Like [`KeyedRecord::encode`], for a record in binary form and a place in bytes.
    pub(super) fn join(order: u64, place: &[u8], record: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(&order.to_be_bytes());
        out.extend_from_slice(place);
        out.extend_from_slice(record);
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<KeyedRecord> {
        let (header, record) = bytes.split_at_checked(HEADER).ok_or_else(changed)?;
        let number = |range: std::ops::Range<usize>| {
            header[range].iter().fold(0_u64, |number, &byte| number << 8 | u64::from(byte))
        };
        let place = Origin { source: number(8..12) as u32, line: number(12..20) };
        Ok(KeyedRecord { order: number(0..8), place, record: decode(record)? })
    }

    /// Splits an encoded [`KeyedRecord`] into its order, by which [`Ordered`] sorts, and its
    /// record.
    pub(super) fn split(bytes: &[u8]) -> Result<(&[u8], &[u8])> {
        let order = bytes.get(..8).ok_or_else(changed)?;
        Ok((order, bytes.get(HEADER..).ok_or_else(changed)?))
    }
}

pub(super) fn decode(bytes: &[u8]) -> Result<EpdRecord> {
    match record::decode(bytes) {
        Ok((record, len)) if len == bytes.len() => Ok(record),
        _ => Err(changed()),
    }
}

pub(super) fn changed() -> Error {
    Error::new("the temporary file of a sort was changed")
}

/// Entries of a sorter in groups of equal keys.
#[derive(Debug)]
pub(super) struct Grouped {
    sorted: Sorted,
    /// Number of bytes at the end of a key that only order the entries of a group.
    suffix: usize,
    /// Key of the group, once there is one.
    key: Option<Vec<u8>>,
}

#[derive(Debug)]
pub(super) struct GroupedEntry<'g> {
    /// Whether a group begins with this entry.
    pub(super) begins: bool,
    /// The first part of the entry's key, which all entries of a group share.
    pub(super) group: &'g [u8],
    /// The last part of the entry's key. It serves only to order the entries of a group.
    pub(super) suffix: &'g [u8],
    pub(super) payload: &'g [u8],
}

impl Grouped {
    pub(super) const fn new(sorted: Sorted, suffix: usize) -> Grouped {
        Grouped { sorted, suffix, key: None }
    }

    pub(super) fn next_entry(&mut self) -> Result<Option<GroupedEntry<'_>>> {
        let Some((key, payload)) = self.sorted.next_entry()? else { return Ok(None) };
        let len = key.len().checked_sub(self.suffix).ok_or_else(changed)?;
        let (group, suffix) = key.split_at(len);
        let begins = self.key.as_deref() != Some(group);
        if begins {
            let known = self.key.get_or_insert_default();
            known.clear();
            known.extend_from_slice(group);
        }
        Ok(Some(GroupedEntry { begins, group, suffix, payload }))
    }
}

/// Collects records, each with its number in the order of the output.
#[derive(Debug)]
pub(super) struct Reorder(Sorter);

impl Reorder {
    pub(super) fn new(directory: &Path, memory_bytes: usize) -> Reorder {
        Reorder(Sorter::new(directory, memory_bytes))
    }

    pub(super) fn push(&mut self, order: u64, record: &EpdRecord) -> Result<()> {
        let mut bytes = Vec::new();
        push_record(record, &mut bytes)?;
        Ok(self.0.push(&order.to_be_bytes(), &bytes)?)
    }

    /// Adds a payload. `numbered` has its number, then the payload.
    pub(super) fn push_payload(&mut self, numbered: &[u8]) -> Result<()> {
        let (order, payload) = numbered.split_at_checked(8).ok_or_else(changed)?;
        Ok(self.0.push(order, payload)?)
    }

    /// Adds an encoded [`KeyedRecord`].
    pub(super) fn push_entry(&mut self, entry: &[u8]) -> Result<()> {
        let (order, record) = KeyedRecord::split(entry)?;
        Ok(self.0.push(order, record)?)
    }

    pub(super) fn push_line(&mut self, order: u64, line: &[u8]) -> Result<()> {
        Ok(self.0.push(&order.to_be_bytes(), line)?)
    }

    pub(super) fn finish(self) -> Result<Ordered> {
        Ok(self.0.finish()?.into())
    }
}

/// Records in the order of the output.
#[derive(Debug)]
pub struct Ordered {
    /// Records that stayed in memory. Their indices are their order.
    kept: Option<Kept>,
    /// The records that are not in memory, by their order.
    sorted: Sorted,
    /// The number by which the current record of `sorted` is ordered. If `sorted` has no more records, this
    /// is the maximum.
    order: u64,
    /// Whether the current record of `sorted` was returned.
    is_given: bool,
}

/// Encoded records in memory.
#[derive(Debug)]
struct Kept {
    list: List,
    /// Size of the header of each record, in bytes.
    header: usize,
    /// Whether some records, here or in the sorter, may be lines.
    has_lines: bool,
    /// Whether all records here are lines.
    only_lines: bool,
}

impl From<Sorted> for Ordered {
    fn from(sorted: Sorted) -> Ordered {
        Ordered { kept: None, sorted, order: u64::MAX, is_given: true }
    }
}

impl Iterator for Ordered {
    type Item = Result<EpdRecord>;

    fn next(&mut self) -> Option<Result<EpdRecord>> {
        self.read_next().transpose()
    }
}

impl Ordered {
    /// Merges the records of a list with sorted records. `header` is the size of the headers in the list.
    pub(super) fn merged(list: List, header: usize, others: Ordered) -> Ordered {
        let kept = Kept { list, header, has_lines: false, only_lines: false };
        Ordered { kept: Some(kept), ..others }
    }

    /// Like [`Ordered::merged`], for records that may be lines. If `only_lines`, all records of the
    /// list are lines.
    pub(super) fn merged_lines(list: List, only_lines: bool, others: Ordered) -> Ordered {
        let kept = Kept { list, header: 0, has_lines: true, only_lines };
        Ordered { kept: Some(kept), ..others }
    }

    fn read_next(&mut self) -> Result<Option<EpdRecord>> {
        if self.begins_with_line()? != Some(true) {
            return self.next_encoded()?.map(decode).transpose();
        }
        let line = self.next_encoded()?.unwrap_or_default();
        decode(record_of(&without_line(line))).map(Some)
    }

    /// The next encoded record or line, or the bytes that were sorted; `None` at the end.
    ///
    /// # Errors
    /// The temporary file cannot be read.
    pub fn next_encoded(&mut self) -> Result<Option<&[u8]>> {
        let is_kept = self.is_kept_next()?;
        match &mut self.kept {
            Some(Kept { list, header, .. }) if is_kept => {
                let encoded = list.next().and_then(|entry| entry.get(*header..));
                Ok(encoded.map(|it| if is_line(it) { it } else { record_of(it) }))
            }
            _ => {
                self.is_given = true;
                Ok(self.sorted.current().map(|(_, payload)| payload))
            }
        }
    }

    /// Whether the next record is a line; `None` at the end.
    ///
    /// # Errors
    /// The temporary file cannot be read.
    pub fn begins_with_line(&mut self) -> Result<Option<bool>> {
        let is_kept = self.is_kept_next()?;
        let sorted = self.sorted.current().map(|(_, payload)| payload);
        Ok(match &mut self.kept {
            Some(Kept { only_lines: true, .. }) if is_kept => Some(true),
            Some(Kept { list, has_lines, .. }) => {
                let next = if is_kept { list.peek_entry() } else { sorted };
                next.map(|next| *has_lines && is_line(next))
            }
            None => sorted.map(|_| false),
        })
    }

    /// The next lines, at least one; empty if the next record is not a line.
    ///
    /// # Errors
    /// The temporary file cannot be read.
    pub fn next_lines(&mut self) -> Result<&[u8]> {
        if self.begins_with_line()? != Some(true) {
            return Ok(&[]);
        }
        let is_kept = self.is_kept_next()?;
        match &mut self.kept {
            Some(Kept { list, only_lines, .. }) if is_kept => {
                Ok(list.next_together(|number, entry| {
                    u64::from(number) < self.order && (*only_lines || is_line(entry))
                }))
            }
            _ => {
                self.is_given = true;
                Ok(self.sorted.current().map_or(&[], |(_, line)| line))
            }
        }
    }

    /// Whether the next record comes from memory. Advances the sorted records if needed.
    fn is_kept_next(&mut self) -> Result<bool> {
        if std::mem::take(&mut self.is_given) {
            let order = self.sorted.next_entry()?.and_then(|(order, _)| order.try_into().ok());
            self.order = order.map_or(u64::MAX, u64::from_be_bytes);
        }
        let next = self.kept.as_mut().and_then(|kept| kept.list.peek());
        Ok(next.is_some_and(|number| u64::from(number) < self.order))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_no_fields() {
        let four = "4k3/8/8/8/8/8/8/4K3 w - -";
        for text in [four, "4k3/8/8/8/4P3/8/8/4K3 b - e3", "r3k3/8/8/8/8/8/8/4K3 w q -"] {
            for behind in ["", "\n", " 0 1\n", " 10 1234\n"] {
                assert_eq!(fields(format!("{text}{behind}").as_bytes()), text.as_bytes());
            }
        }
        assert_eq!(fields(b""), b"");
        assert_eq!(fields(b"1"), b"1");
    }
}

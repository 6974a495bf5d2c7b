//! Records that were taken apart by key and come back in the order of the input.

use std::path::Path;

use crate::codec::{packed, record};
use crate::error::{Error, Result};
use crate::model::{Board, Castling, Color, EpdRecord, Position};
use crate::spill::{Sorted, Sorter};

/// When two records count as the same.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum By {
    /// They are of one position: board, side to move, castling rights and a legal en
    /// passant capture.
    #[default]
    Position,
    /// Their pieces stand on the same squares.
    Board,
    /// They agree in everything.
    Record,
}

/// Where a record came from.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Origin {
    /// The number of the source, from 0.
    pub source: u32,
    /// The line, or the number of the record, in it.
    pub line: u64,
}

/// Appends bytes that are equal exactly for records that count as the same. No such key is the
/// beginning of another.
///
/// # Errors
/// A record that has no binary form.
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

fn board_alone(record: &EpdRecord) -> Position {
    let board: Board = *record.position().board();
    Position::new(board, Color::White, Castling::NONE, None).unwrap_or(*record.position())
}

/// Appends a record in binary form.
pub(super) fn push_record(record: &EpdRecord, out: &mut Vec<u8>) -> Result<()> {
    Ok(record::encode(record, out)?)
}

/// A record on its way through a sorter, with its place in the order and where it came from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct KeyedRecord {
    pub(super) order: u64,
    pub(super) place: Origin,
    pub(super) record: EpdRecord,
}

/// The size of what stands before the record.
const HEADER: usize = 20;

impl KeyedRecord {
    pub(super) fn encode(
        order: u64,
        place: Origin,
        record: &EpdRecord,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        out.extend_from_slice(&order.to_be_bytes());
        out.extend_from_slice(&place.source.to_be_bytes());
        out.extend_from_slice(&place.line.to_be_bytes());
        push_record(record, out)
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<KeyedRecord> {
        let (header, record) = bytes.split_at_checked(HEADER).ok_or_else(changed)?;
        let number = |range: std::ops::Range<usize>| {
            header[range].iter().fold(0_u64, |number, &byte| number << 8 | u64::from(byte))
        };
        let place = Origin { source: number(8..12) as u32, line: number(12..20) };
        Ok(KeyedRecord { order: number(0..8), place, record: decode(record)? })
    }

    /// The part of an encoded entry by which [`Ordered`] sorts, and the record.
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

/// The error of a temporary file whose content is not what was written.
pub(super) fn changed() -> Error {
    Error::new("the temporary file of a sort was changed")
}

/// Collects records with numbers that say their order.
#[derive(Debug)]
pub(super) struct Reorder(Sorter);

impl Reorder {
    pub(super) fn new(directory: &Path, memory: usize) -> Reorder {
        Reorder(Sorter::new(directory, memory))
    }

    pub(super) fn push(&mut self, order: u64, record: &EpdRecord) -> Result<()> {
        let mut bytes = Vec::new();
        push_record(record, &mut bytes)?;
        Ok(self.0.push(&order.to_be_bytes(), &bytes)?)
    }

    /// Takes a number and what has its place by it.
    pub(super) fn push_payload(&mut self, numbered: &[u8]) -> Result<()> {
        let (order, payload) = numbered.split_at_checked(8).ok_or_else(changed)?;
        Ok(self.0.push(order, payload)?)
    }

    /// Takes an encoded [`KeyedRecord`].
    pub(super) fn push_entry(&mut self, entry: &[u8]) -> Result<()> {
        let (order, record) = KeyedRecord::split(entry)?;
        Ok(self.0.push(order, record)?)
    }

    pub(super) fn finish(self) -> Result<Ordered> {
        Ok(self.0.finish().map(Ordered)?)
    }
}

/// Records in the order in which they are to be written.
#[derive(Debug)]
pub struct Ordered(pub(super) Sorted);

impl From<Sorted> for Ordered {
    fn from(sorted: Sorted) -> Ordered {
        Ordered(sorted)
    }
}

impl Ordered {
    /// The next record; `None` after the last.
    ///
    /// # Errors
    /// The temporary file cannot be read.
    pub fn next_record(&mut self) -> Result<Option<EpdRecord>> {
        self.0.next_entry()?.map(|(_, payload)| decode(payload)).transpose()
    }

    /// The next record, encoded, or whatever bytes were sorted; `None` after the last.
    ///
    /// # Errors
    /// As [`Ordered::next_record`].
    pub fn next_encoded(&mut self) -> Result<Option<&[u8]>> {
        Ok(self.0.next_entry()?.map(|(_, payload)| payload))
    }
}

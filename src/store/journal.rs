//! The journal: of every import its source, how far it came and what became of its records. Each
//! row is written in the transaction that commits the records.

use redb::{Database, ReadTransaction, ReadableTable};
use zerocopy::byteorder::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::error::{Fault, Result, damaged};
use super::schema::IMPORTS;

/// A place in a source: how many bytes of it were consumed, and what they were.
///
/// ```
/// use epdb::store::Place;
/// let mut place = Place::START;
/// place.advance(b"4k3/8/8/8/8/8/8/4K3 w - -\n4k3/8/8/");
/// place.advance(b"8/8/8/8/4K3 b - -\n");
/// assert_eq!((place.offset(), place.line()), (52, 2));
/// ```
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Place {
    offset: u64,
    line: u64,
    crc: u32,
}

impl Place {
    /// Before the first byte.
    pub const START: Place = Place { offset: 0, line: 0, crc: 0 };

    /// Moves behind these bytes, which follow those before.
    pub fn advance(&mut self, consumed: &[u8]) {
        self.offset += consumed.len() as u64;
        self.line += consumed.iter().filter(|&&byte| byte == b'\n').count() as u64;
        self.crc = crc32c::crc32c_append(self.crc, consumed);
    }

    /// How many bytes were consumed.
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    /// How many line ends were consumed.
    pub const fn line(&self) -> u64 {
        self.line
    }
}

/// What became of an import.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ImportState {
    /// It was interrupted, or is going on.
    Unfinished,
    /// All of it is in the store, and the process that imported it was then interrupted. Run
    /// again, it has nothing left to do.
    Delivered,
    /// All of it is in the store.
    Finished,
    /// It was interrupted and then given up: what it had committed is in the store.
    GivenUp,
}

/// What became of the records of an import.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Records that were pushed: `stored + dropped + merged`.
    pub read: u64,
    /// Records that were added.
    pub stored: u64,
    /// Duplicates that were left out.
    pub dropped: u64,
    /// Records that were taken out because a later one replaced them.
    pub replaced: u64,
    /// Records that were merged into earlier ones.
    pub merged: u64,
    /// Records that were stored beside earlier ones of their position because they contradict
    /// all of those with which merging was tried.
    pub conflicts: u64,
}

/// A line of the journal.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ImportInfo {
    /// The name of the source.
    pub source: String,
    /// The options of the import.
    pub settings: String,
    /// Whether it is complete.
    pub state: ImportState,
    /// How far the source was consumed.
    pub place: Place,
    /// The number of its first record.
    pub first_import_number: u64,
    /// What became of its records.
    pub counts: Counts,
}

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Row {
    state: U32,
    crc: U32,
    offset: U64,
    line: U64,
    source_crc: U32,
    source_len: U32,
    first_import_number: U64,
    read: U64,
    stored: U64,
    dropped: U64,
    replaced: U64,
    merged: U64,
    conflicts: U64,
}

const STATES: [ImportState; 4] =
    [ImportState::Unfinished, ImportState::Delivered, ImportState::Finished, ImportState::GivenUp];
const CRC: std::ops::Range<usize> = 4..8;

impl ImportInfo {
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let row = Row {
            state: (self.state as u32).into(),
            crc: 0.into(),
            offset: self.place.offset.into(),
            line: self.place.line.into(),
            source_crc: self.place.crc.into(),
            source_len: (self.source.len() as u32).into(),
            first_import_number: self.first_import_number.into(),
            read: self.counts.read.into(),
            stored: self.counts.stored.into(),
            dropped: self.counts.dropped.into(),
            replaced: self.counts.replaced.into(),
            merged: self.counts.merged.into(),
            conflicts: self.counts.conflicts.into(),
        };
        let mut bytes = [row.as_bytes(), self.source.as_bytes(), self.settings.as_bytes()].concat();
        let crc = crc_of(&bytes);
        bytes[CRC].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    pub(super) fn from_bytes(id: u64, bytes: &[u8]) -> Result<ImportInfo> {
        let damage = |what: &str| damaged(format!("import {id}"), what);
        let (row, names) =
            Row::ref_from_prefix(bytes).map_err(|_| damage("the row is too short"))?;
        if row.crc.get() != crc_of(bytes) {
            return Err(damage("its checksum does not match"));
        }
        let state = STATES.get(row.state.get() as usize).ok_or(damage("its state is unknown"))?;
        let (source, settings) = std::str::from_utf8(names)
            .ok()
            .and_then(|names| names.split_at_checked(row.source_len.get() as usize))
            .ok_or(damage("the name of its source is damaged"))?;
        let parts = [row.stored.get(), row.dropped.get(), row.merged.get()];
        if parts.iter().map(|&part| u128::from(part)).sum::<u128>() != row.read.get().into() {
            return Err(damage("its counts do not add up"));
        }
        Ok(ImportInfo {
            source: source.into(),
            settings: settings.into(),
            state: *state,
            place: Place {
                offset: row.offset.get(),
                line: row.line.get(),
                crc: row.source_crc.get(),
            },
            first_import_number: row.first_import_number.get(),
            counts: Counts {
                read: row.read.get(),
                stored: row.stored.get(),
                dropped: row.dropped.get(),
                replaced: row.replaced.get(),
                merged: row.merged.get(),
                conflicts: row.conflicts.get(),
            },
        })
    }
}

fn crc_of(row: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&row[..CRC.start]), &row[CRC.end..])
}

/// The whole journal, in order.
pub(super) fn list(transaction: &ReadTransaction) -> Result<Vec<ImportInfo>> {
    let table = transaction.open_table(IMPORTS)?;
    let mut imports = Vec::new();
    for row in table.range::<u64>(..)? {
        let (id, row) = row?;
        imports.push(ImportInfo::from_bytes(id.value(), row.value())?);
    }
    Ok(imports)
}

/// The number of the next import, and the latest import of a source.
pub(super) fn latest(
    transaction: &ReadTransaction,
    source: &str,
) -> Result<(u64, Option<(u64, ImportInfo)>)> {
    let table = transaction.open_table(IMPORTS)?;
    let mut next = 0;
    for row in table.range::<u64>(..)?.rev() {
        let (id, row) = row?;
        next = next.max(id.value().saturating_add(1));
        let info = ImportInfo::from_bytes(id.value(), row.value())?;
        if info.source == source {
            return Ok((next, Some((id.value(), info))));
        }
    }
    Ok((next, None))
}

/// Marks delivered imports as finished.
pub(super) fn close(database: &Database, delivered: &[u64]) -> Result<()> {
    let transaction = super::begin_write(database)?;
    delivered.iter().try_for_each(|&id| set_state(&transaction, id, ImportState::Finished))?;
    Ok(transaction.commit()?)
}

pub(super) fn set_state(
    transaction: &redb::WriteTransaction,
    id: u64,
    state: ImportState,
) -> Result<()> {
    let mut table = transaction.open_table(IMPORTS)?;
    let row = match table.get(id)? {
        Some(row) => ImportInfo { state, ..ImportInfo::from_bytes(id, row.value())? }.to_bytes(),
        None => return Err(Fault::Redb(redb::Error::Corrupted(format!("import {id} is gone")))),
    };
    table.insert(id, row.as_slice())?;
    Ok(())
}

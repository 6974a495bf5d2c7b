//! The journal: a table with one row for each import. A row has the source, the progress, and the
//! outcome of the records. It is written in the transaction that commits the records.

use std::io::{self, Read};

use redb::{ReadTransaction, ReadableTable, Table};
use zerocopy::byteorder::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::error::{Result, damaged};
use super::schema::{self, Access, Digest, IMPORTS, Meta, StoreHeader, begin_write};
use super::settings::{self, settings_of};

/// Digest of a source: its length and its BLAKE3 hash. By this digest, the source is recognised
/// under any name.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct SourceDigest {
    length: u64,
    hash: [u8; 32],
}

impl SourceDigest {
    pub(super) const fn new(length: u64, hash: [u8; 32]) -> SourceDigest {
        SourceDigest { length, hash }
    }

    /// Reads a source to its end.
    ///
    /// # Errors
    /// Errors of `source`.
    ///
    /// ```
    /// use epdb_store::SourceDigest;
    /// let digest = SourceDigest::from_reader(&b"4k3/8/8/8/8/8/8/4K3 w - -\n"[..])?;
    /// assert_eq!(digest.length(), 26);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn from_reader(source: impl Read) -> io::Result<SourceDigest> {
        digests(source, &[]).map(|(whole, _)| whole)
    }

    /// Length of the source in bytes.
    pub const fn length(&self) -> u64 {
        self.length
    }

    /// BLAKE3 hash of the source.
    pub const fn hash(&self) -> &[u8; 32] {
        &self.hash
    }

    /// The hash in hexadecimal.
    pub fn hex(&self) -> String {
        blake3::Hash::from_bytes(self.hash).to_hex().to_string()
    }
}

/// Digests of a source and of its prefixes. `lengths` are the lengths of the prefixes, ascending.
pub(super) fn digests(
    mut source: impl Read,
    lengths: &[u64],
) -> io::Result<(SourceDigest, Vec<SourceDigest>)> {
    let mut hasher = blake3::Hasher::new();
    let mut beginnings = Vec::new();
    let mut lengths = lengths.iter().copied().peekable();
    let mut buffer = vec![0; 64 << 10];
    let digest = |hasher: &blake3::Hasher| SourceDigest {
        length: hasher.count(),
        hash: *hasher.finalize().as_bytes(),
    };
    loop {
        while lengths.next_if(|&length| length <= hasher.count()).is_some() {
            beginnings.push(digest(&hasher));
        }
        let to_next = lengths.peek().map_or(u64::MAX, |&length| length - hasher.count());
        let len = usize::try_from(to_next).map_or(buffer.len(), |max| max.min(buffer.len()));
        match source.read(&mut buffer[..len]) {
            Ok(0) => return Ok((digest(&hasher), beginnings)),
            Ok(read) => drop(hasher.update(&buffer[..read])),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// A place in a source. It has the number of bytes and the number of lines before the place, and a
/// checksum of these bytes.
///
/// ```
/// use epdb_store::Checkpoint;
/// let mut place = Checkpoint::START;
/// place.advance(b"4k3/8/8/8/8/8/8/4K3 w - -\n4k3/8/8/");
/// place.advance(b"8/8/8/8/4K3 b - -\n");
/// assert_eq!((place.offset(), place.line()), (52, 2));
/// ```
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Checkpoint {
    offset: u64,
    line: u64,
    crc: u32,
}

impl Checkpoint {
    /// The place before the first byte.
    pub const START: Checkpoint = Checkpoint { offset: 0, line: 0, crc: 0 };

    /// Moves past the next bytes of the source.
    pub fn advance(&mut self, consumed: &[u8]) {
        self.offset += consumed.len() as u64;
        self.line += consumed.iter().filter(|&&byte| byte == b'\n').count() as u64;
        self.crc = crc32c::crc32c_append(self.crc, consumed);
    }

    /// Number of bytes that were consumed.
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    /// Number of line ends consumed.
    pub const fn line(&self) -> u64 {
        self.line
    }
}

/// State of an import.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ImportState {
    /// The import is running, or was interrupted.
    Unfinished,
    /// All records are in the store, but the process ended before it closed the store. This state
    /// exists only for a source without a digest. If the import is run again, it has nothing left
    /// to do.
    Delivered,
    /// All records are in the store.
    Finished,
    /// The import was interrupted and then given up; the records that it had committed are in the
    /// store.
    GivenUp,
}

impl std::fmt::Display for ImportState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            ImportState::Unfinished => "unfinished",
            ImportState::Delivered => "delivered",
            ImportState::Finished => "finished",
            ImportState::GivenUp => "given up",
        })
    }
}

/// Outcome of the records of an import.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct ImportCounts {
    /// Records pushed: `stored + dropped + merged`.
    pub read: u64,
    /// Number of records that were added.
    pub stored: u64,
    /// Number of duplicates left out.
    pub dropped: u64,
    /// Number of records that were removed because later records replaced them.
    pub replaced: u64,
    /// Number of records that were merged into earlier records.
    pub merged: u64,
    /// Number of records that were stored although merging was tried, because they contradict each
    /// earlier record of their position.
    pub conflicts: u64,
}

impl ImportCounts {
    pub(super) fn add(&mut self, other: &ImportCounts) {
        let ImportCounts { read, stored, dropped, replaced, merged, conflicts } = *other;
        self.read += read;
        self.stored += stored;
        self.dropped += dropped;
        self.replaced += replaced;
        self.merged += merged;
        self.conflicts += conflicts;
    }
}

/// A row of the journal.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ImportInfo {
    /// Name of the source.
    pub source: String,
    /// Digest of the source, if it was known before the first commit.
    pub digest: Option<SourceDigest>,
    /// Rule for duplicates.
    pub duplicates: String,
    /// Settings that select or change the records of the source, as a text in JSON (see
    /// [`ImportOptions::settings`](super::ImportOptions::settings)); empty if there are none.
    pub settings: String,
    /// State of the import.
    pub state: ImportState,
    /// Place up to which the source was consumed.
    pub place: Checkpoint,
    /// Import number of the first record of the import.
    pub first_import_number: u64,
    /// Outcome of the records of the import.
    pub counts: ImportCounts,
}

impl std::fmt::Display for ImportInfo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ImportInfo { source, duplicates, settings, state, place, counts, .. } = self;
        write!(f, "{source}: {state}, {} lines, {} bytes consumed", place.line, place.offset)?;
        if let Some(digest) = &self.digest {
            write!(f, " of {} with BLAKE3 {}", digest.length(), digest.hex())?;
        }
        let ImportCounts { read, stored, dropped, replaced, merged, conflicts } = counts;
        write!(
            f,
            "; records from number {} on: {read} read, {stored} stored, {dropped} dropped, \
             {replaced} replaced, {merged} merged, {conflicts} in conflict; duplicates: {duplicates}",
            self.first_import_number
        )?;
        let settings = settings::words(settings_of(settings).iter());
        if settings.is_empty() { Ok(()) } else { write!(f, "; settings: {settings}") }
    }
}

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct ImportRow {
    state: U32,
    crc: U32,
    offset: U64,
    line: U64,
    consumed_crc: U32,
    source_len: U32,
    duplicates_len: U32,
    has_digest: U32,
    first_import_number: U64,
    read: U64,
    stored: U64,
    dropped: U64,
    replaced: U64,
    merged: U64,
    conflicts: U64,
    length: U64,
    hash: [u8; 32],
}

const _: () = assert!(size_of::<ImportRow>() == 136);

const STATES: [ImportState; 4] =
    [ImportState::Unfinished, ImportState::Delivered, ImportState::Finished, ImportState::GivenUp];
const CRC: std::ops::Range<usize> = 4..8;

impl ImportInfo {
    /// True if another import has the same rule for duplicates and the same settings.
    pub(super) fn has_same_settings(&self, other: &ImportInfo) -> bool {
        (&self.duplicates, &self.settings) == (&other.duplicates, &other.settings)
    }

    /// The rule for duplicates and the settings in which another import differs, for messages.
    pub(super) fn difference(&self, later: &ImportInfo) -> String {
        let mut phrases = Vec::new();
        if self.duplicates != later.duplicates {
            phrases.push(format!("duplicates: {}", self.duplicates));
        }
        if self.settings != later.settings {
            phrases.push(settings::difference(&self.settings, &settings_of(&later.settings)));
        }
        phrases.join("; ")
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let row = ImportRow {
            state: (self.state as u32).into(),
            crc: 0.into(),
            offset: self.place.offset.into(),
            line: self.place.line.into(),
            consumed_crc: self.place.crc.into(),
            source_len: (self.source.len() as u32).into(),
            duplicates_len: (self.duplicates.len() as u32).into(),
            has_digest: u32::from(self.digest.is_some()).into(),
            first_import_number: self.first_import_number.into(),
            read: self.counts.read.into(),
            stored: self.counts.stored.into(),
            dropped: self.counts.dropped.into(),
            replaced: self.counts.replaced.into(),
            merged: self.counts.merged.into(),
            conflicts: self.counts.conflicts.into(),
            length: self.digest.map_or(0, |digest| digest.length()).into(),
            hash: self.digest.map_or([0; 32], |digest| *digest.hash()),
        };
        let texts = [&self.source, &self.duplicates, &self.settings].map(|text| text.as_bytes());
        let mut bytes = [row.as_bytes(), texts[0], texts[1], texts[2]].concat();
        let crc = crc_of(&bytes);
        bytes[CRC].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    pub(super) fn from_bytes(id: u64, bytes: &[u8]) -> Result<ImportInfo> {
        let damage = |what: &str| damaged(format!("import {id}"), what);
        let (row, names) =
            ImportRow::ref_from_prefix(bytes).map_err(|_| damage("the row is too short"))?;
        if !schema::holds(crc_of(bytes), row.crc.get()) {
            return Err(damage("its checksum does not match"));
        }
        let state = STATES.get(row.state.get() as usize).ok_or(damage("its state is unknown"))?;
        let texts = std::str::from_utf8(names).ok();
        let (source, duplicates, settings) = texts
            .and_then(|texts| {
                let (source, rest) = texts.split_at_checked(row.source_len.get() as usize)?;
                let (rule, settings) = rest.split_at_checked(row.duplicates_len.get() as usize)?;
                Some((source, rule, settings))
            })
            .ok_or(damage("the name of its source or its settings are damaged"))?;
        let digest = match (row.has_digest.get(), row.length.get(), row.hash) {
            (0, 0, hash) if hash == [0; 32] => None,
            (1, length, hash) => Some(SourceDigest::new(length, hash)),
            _ => return Err(damage("the digest of its source is damaged")),
        };
        let parts = [row.stored.get(), row.dropped.get(), row.merged.get()];
        if parts.iter().map(|&part| u128::from(part)).sum::<u128>() != row.read.get().into() {
            return Err(damage("its counts do not add up"));
        }
        Ok(ImportInfo {
            source: source.into(),
            digest,
            duplicates: duplicates.into(),
            settings: settings.into(),
            state: *state,
            place: Checkpoint {
                offset: row.offset.get(),
                line: row.line.get(),
                crc: row.consumed_crc.get(),
            },
            first_import_number: row.first_import_number.get(),
            counts: ImportCounts {
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

/// Reads the whole journal, in order, and compares it with the meta row (the header of the store).
pub(super) fn list(transaction: &ReadTransaction, meta: &Meta) -> Result<Vec<ImportInfo>> {
    let table = transaction.open_table(IMPORTS)?;
    let mut imports = Vec::new();
    let mut digest = Digest::default();
    for row in table.range::<u64>(..)? {
        let (id, row) = row?;
        let id = id.value();
        if id != imports.len() as u64 {
            return Err(damaged("the journal", format!("import {} is missing", imports.len())));
        }
        digest.add(Digest::from_import(id, row.value()));
        imports.push(ImportInfo::from_bytes(id, row.value())?);
    }
    let read: u128 = imports.iter().map(|import| u128::from(import.counts.read)).sum();
    if imports.len() as u64 != meta.imports || digest != meta.imports_digest {
        return Err(damaged("the journal", "its rows are not those that the meta row records"));
    }
    if read != meta.next_import_number.into() {
        let next = meta.next_import_number;
        let what = format!("its imports read {read} records, and the next number is {next}");
        return Err(damaged("the journal", what));
    }
    Ok(imports)
}

/// The journal within a transaction. Each change also updates the counts and the digest in the meta
/// row (the header of the store).
pub(super) struct Journal<'t, 'm> {
    table: Table<'t, u64, &'static [u8]>,
    meta: &'m mut Meta,
}

impl<'t, 'm> Journal<'t, 'm> {
    pub(super) fn open(
        transaction: &'t redb::WriteTransaction,
        meta: &'m mut Meta,
    ) -> Result<Journal<'t, 'm>> {
        Ok(Journal { table: transaction.open_table(IMPORTS)?, meta })
    }

    /// Writes the row of an import; it may replace an earlier row.
    pub(super) fn put(&mut self, id: u64, info: &ImportInfo) -> Result<()> {
        let bytes = info.to_bytes();
        let digest = &mut self.meta.imports_digest;
        match self.table.insert(id, bytes.as_slice())? {
            Some(earlier) => digest.remove(Digest::from_import(id, earlier.value())),
            None => self.meta.imports += 1,
        }
        digest.add(Digest::from_import(id, &bytes));
        Ok(())
    }

    pub(super) fn set_state(&mut self, id: u64, state: ImportState) -> Result<()> {
        let line = self.table.get(id)?.map(|row| ImportInfo::from_bytes(id, row.value()));
        let line = line.transpose()?.ok_or(damaged(format!("import {id}"), "it is missing"))?;
        self.put(id, &ImportInfo { state, ..line })
    }
}

/// Marks delivered imports as finished.
pub(super) fn close(database: &redb::Database, delivered: &[u64]) -> Result<()> {
    let transaction = begin_write(database)?;
    let mut table = transaction.open_table(schema::META)?;
    let mut header = StoreHeader::read(&table, Access::Write)?;
    let mut journal = Journal::open(&transaction, &mut header.meta)?;
    delivered.iter().try_for_each(|&id| journal.set_state(id, ImportState::Finished))?;
    drop(journal);
    header.write(&mut table)?;
    drop(table);
    Ok(transaction.commit()?)
}

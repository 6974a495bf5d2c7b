//! Verification of a store: all counts, digests and checksums are compared with the contents of the
//! store.

use std::path::Path;

use redb::{Database, ReadTransaction};

use super::block::{Block, BucketEntry, Damage, KeySlot, Payload};
use super::error::{Result as Inner, StoreError, damaged, guarded};
use super::file::{check_magic, is_cut_short, open_unwritten};
use super::findings::{RecordCheck, VerifyFinding, VerifyFindings};
use super::journal::ImportInfo;
use super::open::Store;
use super::options::{KeyFunction, StoreOptions, key_of_board};
use super::overflow::OverflowCheck;
use super::overlay::Overlay;
use super::runs::{self, WaitingRuns};
use super::schema::{self, Access, Digest, Meta, StoreHeader, check_claims, read_header};
use super::{journal, kept_games, ledger};
use epdb_chess::codec::key::fast_range;
use epdb_chess::codec::record;

/// Checks a store without changing it. redb's checksums of all used pages are checked first, then
/// every block, checksum, record and count. An empty list means that no damage was found. At most
/// 1000 findings are returned.
///
/// # Errors
/// [`StoreError::NotFound`], [`StoreError::NotAStore`], [`StoreError::UnsupportedVersion`],
/// [`StoreError::InUse`] if a process writes, [`StoreError::Io`]. Damage is not an error here.
///
/// ```
/// use epdb_store::{Store, StoreOptions, verify};
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("empty.epdb");
/// let options = StoreOptions::default();
/// Store::create(&path, &options)?.close()?;
/// assert!(verify(&path, &options)?.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn verify(
    path: impl AsRef<Path>,
    options: &StoreOptions,
) -> Result<Vec<VerifyFinding>, StoreError> {
    let path = path.as_ref();
    let mut findings = VerifyFindings::default();
    if is_cut_short(path) {
        findings.add("the file", "it ends within its first page");
        return Ok(findings.list);
    }
    findings.absorb(check_redb(path, options))?;
    let own_check = Store::open_unchecked(path, path, options)
        .and_then(|store| guarded(path, || check_tables(&store.begin_read()?, path, options)));
    // A writer that died is not damage; redb's check repaired the store in memory.
    let own_check = match own_check {
        Err(StoreError::NotClosed { .. }) => check_repaired(path, options),
        other => other,
    };
    findings.absorb(own_check)?;
    if findings.list.is_empty() {
        findings.absorb(read_by_lookups(path, options))?;
    }
    Ok(findings.list)
}

/// Reads all blocks and chunks as lookups do, from which a wrong key in redb's pages hides a row.
fn read_by_lookups(path: &Path, options: &StoreOptions) -> Result<VerifyFindings, StoreError> {
    let store = match Store::open_unchecked(path, path, options) {
        Err(StoreError::NotClosed { .. }) => return Ok(VerifyFindings::default()),
        store => store?,
    };
    let reader = store.reader()?;
    let mut records = reader.by_key();
    while let Some(record) = records.next_encoded() {
        record?;
    }
    Ok(VerifyFindings::default())
}

/// Number of records of an interrupted import that wait beside the store: see
/// [`StoreStats::waiting_records`](super::StoreStats::waiting_records). The store is not changed, even if
/// its last writer died.
///
/// # Errors
/// The errors of [`verify`], and [`StoreError::Damaged`].
///
/// ```
/// use epdb_store::{Store, StoreOptions, waiting_records};
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("empty.epdb");
/// let options = StoreOptions::default();
/// Store::create(&path, &options)?.close()?;
/// assert_eq!(waiting_records(&path, &options)?, 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn waiting_records(path: impl AsRef<Path>, options: &StoreOptions) -> Result<u64, StoreError> {
    let path = path.as_ref();
    let counted = Store::open_unchecked(path, path, options)
        .and_then(|store| guarded(path, || runs::records_in(&store.begin_read()?)));
    match counted {
        Err(StoreError::NotClosed { .. }) => {
            let database = open_overlay(path, options)?;
            guarded(path, move || runs::records_in(&redb::ReadableDatabase::begin_read(&database)?))
        }
        counted => counted,
    }
}

/// Opens the file with redb; all writes go to memory instead of the file.
fn open_overlay(path: &Path, options: &StoreOptions) -> Result<Database, StoreError> {
    check_magic(path)?;
    let io_error = |error| StoreError::Io { path: path.to_path_buf(), error };
    let file = open_unwritten(path)?;
    let overlay = Overlay::new(file).map_err(io_error)?;
    guarded(path, || {
        let mut builder = Database::builder();
        Ok(builder.set_cache_size(options.memory() / 2).create_with_backend(overlay)?)
    })
}

fn check_redb(path: &Path, options: &StoreOptions) -> Result<VerifyFindings, StoreError> {
    let mut database = open_overlay(path, options)?;
    guarded(path, move || {
        let clean = database.check_integrity();
        drop(database);
        let mut findings = VerifyFindings::default();
        if !clean? {
            findings.add("the file", "redb had to repair it");
        }
        Ok(findings)
    })
}

fn check_repaired(path: &Path, options: &StoreOptions) -> Result<VerifyFindings, StoreError> {
    let database = open_overlay(path, options)?;
    guarded(path, move || {
        let transaction = redb::ReadableDatabase::begin_read(&database)?;
        check_tables(&transaction, path, options)
    })
}

fn check_tables(
    transaction: &ReadTransaction,
    path: &Path,
    options: &StoreOptions,
) -> Inner<VerifyFindings> {
    let StoreHeader { meta, checks } = read_header(transaction, Access::Read)?;
    let mut check = TableCheck {
        key: options.key,
        meta,
        checks,
        records: RecordCheck::new(meta.next_import_number),
        overflow: OverflowCheck::default(),
        blocks: BlockTotals::default(),
        findings: VerifyFindings::default(),
    };
    if let Err(fault) = check_claims(transaction, &meta, path) {
        check.findings.add_fault(fault)?;
    }
    check.run(transaction, path)?;
    Ok(check.findings)
}

/// Findings and totals of the tables that were checked so far. At the end the totals are compared
/// with the meta row (the header of the store).
struct TableCheck {
    key: KeyFunction,
    meta: Meta,
    /// The checksums of the headers of the blocks.
    checks: Vec<u32>,
    records: RecordCheck,
    overflow: OverflowCheck,
    blocks: BlockTotals,
    findings: VerifyFindings,
}

#[derive(Default)]
struct BlockTotals {
    blocks: u64,
    bytes: u64,
    digest: Digest,
    positions: u64,
}

/// Sort key of the entries of a block: key, board and import number.
type EntryOrder = (u64, Vec<u8>, u64);

impl TableCheck {
    fn run(&mut self, transaction: &ReadTransaction, path: &Path) -> Inner<()> {
        for row in transaction.open_table(schema::BLOCKS)?.range::<u64>(..)? {
            let (number, bytes) = row?;
            self.block(number.value(), bytes.value());
        }
        for row in transaction.open_table(schema::OVERFLOW)?.range::<&[u8]>(..)? {
            let (row_key, bytes) = row?;
            let records = &mut self.records;
            let findings = &mut self.findings;
            self.overflow.chunk(self.key, row_key.value(), bytes.value(), records, findings);
        }
        self.overflow.compare(&mut self.findings);
        // A part that could not be read was not counted, so differences in the counts would show
        // nothing new.
        if self.findings.list.is_empty() {
            self.compare();
        }
        let checked = journal::list(transaction, &self.meta)
            .and_then(|imports| self.runs(transaction, &imports, path));
        if let Err(fault) = checked {
            self.findings.add_fault(fault)?;
        }
        if let Err(fault) = ledger::read(transaction, &self.meta) {
            self.findings.add_fault(fault)?;
        }
        match kept_games::verify(transaction) {
            Ok(()) => Ok(()),
            Err(fault) => self.findings.add_fault(fault),
        }
    }

    /// Checks the row of runs, and the file beside the store.
    fn runs(
        &self,
        transaction: &ReadTransaction,
        imports: &[ImportInfo],
        path: &Path,
    ) -> Inner<()> {
        let Some(waiting) = WaitingRuns::read(transaction, &self.meta)? else { return Ok(()) };
        waiting.line(imports)?;
        match waiting.check(path) {
            Err(error) if runs::is_damage(&error) => {
                Err(damaged("the runs of an import", error.to_string()))
            }
            checked => Ok(checked?),
        }
    }

    fn block(&mut self, number: u64, bytes: &[u8]) {
        let place = format!("block {number}");
        if number != self.blocks.blocks {
            self.findings.add(format!("block {}", self.blocks.blocks), "it is missing");
        }
        self.blocks.blocks = number.saturating_add(1);
        self.blocks.bytes += bytes.len() as u64;
        self.blocks.digest.add(Digest::from_block(number, &[bytes]));
        let announced = usize::try_from(number).ok().and_then(|number| self.checks.get(number));
        let Some(&announced) = announced else {
            return self.findings.add(place, format!("the store has {} blocks", self.meta.blocks));
        };
        let mut last: Option<EntryOrder> = None;
        let checked = Block::new(number, bytes).and_then(|block| {
            block.each_entry(announced, |bucket, entry| {
                let Some(this) = self.entry(&place, number, &block, bucket, &entry) else {
                    return self.findings.add(&place, "an entry has no board");
                };
                if last.as_ref().is_some_and(|last| *last >= this) {
                    self.findings.add(&place, "entries are out of order");
                }
                if last.as_ref().is_none_or(|last| (last.0, &last.1) != (this.0, &this.1)) {
                    self.blocks.positions += 1;
                }
                last = Some(this);
            })
        });
        if let Err(Damage(what)) = checked {
            self.findings.add(place, what);
        }
    }

    /// Checks one entry; `None` if it has no board.
    fn entry(
        &mut self,
        place: &str,
        number: u64,
        block: &Block,
        bucket: u32,
        entry: &BucketEntry,
    ) -> Option<EntryOrder> {
        let board = match entry.payload {
            Payload::Record(bytes) => {
                self.records.check(place, entry.import_number, bytes, &mut self.findings);
                record::board_of(bytes).unwrap_or_default()
            }
            Payload::Stub(stub) => stub.board,
        };
        let key = key_of_board(self.key, board)?;
        if let Payload::Stub(stub) = entry.payload {
            let is_alone = self.overflow.announce(key, &stub);
            if !is_alone || entry.import_number != 0 {
                self.findings
                    .add(place, "a stub is not the only entry of its position or has a number");
            }
        }
        let (owner, fraction) = fast_range(key, self.meta.blocks);
        let stored = KeySlot { bucket, fingerprint: entry.fingerprint };
        if owner != number || KeySlot::from_fraction(fraction, block.buckets()) != stored {
            self.findings.add(place, format!("an entry belongs elsewhere (key {key:016x})"));
        }
        Some((key, board.to_vec(), entry.import_number))
    }

    /// Compares the totals with the meta row (the header of the store).
    fn compare(&mut self) {
        let TableCheck { meta, records, overflow, blocks, findings, .. } = self;
        let counts = [
            ("records", meta.records, records.records),
            ("bytes of records", meta.record_bytes, records.record_bytes),
            ("positions", meta.positions, blocks.positions),
            ("overflow positions", meta.overflow, overflow.stubs()),
            ("blocks", meta.blocks, blocks.blocks),
            ("bytes of blocks", meta.block_bytes, blocks.bytes),
            ("chunks", meta.chunks, overflow.chunks),
        ];
        for (what, announced, found) in counts {
            if announced != found {
                findings.add("the meta row", format!("{announced} {what}, found {found}"));
            }
        }
        let digests = [
            ("blocks", meta.blocks_digest, blocks.digest),
            ("chunks", meta.chunks_digest, overflow.digest),
        ];
        for (what, announced, found) in digests {
            if announced != found {
                findings.add("the meta row", format!("the digest of the {what} does not match"));
            }
        }
    }
}

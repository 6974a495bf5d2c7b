//! Looking for damage: everything that a store says of itself is held against what it holds.

use std::collections::HashMap;
use std::path::Path;

use redb::{Database, ReadTransaction};

use super::block::{Block, Damage, Payload, Slot, Stub, chunk};
use super::error::{Fault, Result as Inner, guarded};
use super::overlay::Overlay;
use super::schema::{self, Access, Digest, Header, Meta, spread};
use super::{KeyFunction, Store, StoreError, StoreOptions, journal, key_of_board};
use crate::codec::record;

/// Something that is not as it was written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VerifyFinding {
    /// Where: the table, and in it the block or key.
    pub place: String,
    /// What is wrong there.
    pub what: String,
}

impl std::fmt::Display for VerifyFinding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.place, self.what)
    }
}

/// So many findings are enough to know.
const ENOUGH: usize = 1000;

/// Checks a store without changing it: redb's checksums of all live pages, then every block,
/// checksum, record and count. An empty list says that all is well. At most 1000 findings are
/// given.
///
/// # Errors
/// [`StoreError::NotFound`], [`StoreError::NotAStore`], [`StoreError::UnsupportedVersion`],
/// [`StoreError::InUse`] when a process writes, [`StoreError::Io`]. Damage is no error here.
///
/// ```
/// use epdb::store::{Store, StoreOptions, verify};
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("empty.epdb");
/// let options = StoreOptions::new();
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
    if super::is_cut_short(path) {
        findings.add("the file", "it ends before its first page does");
        return Ok(findings.list);
    }
    let redb_check = check_redb(path, options);
    findings.absorb(redb_check.map(|clean| {
        if clean { Vec::new() } else { vec![finding("the file", "redb had to repair it")] }
    }))?;
    let own_check = Store::open_unchecked(path, options)
        .and_then(|store| guarded(path, || check_tables(&store.begin_read()?, path, options)));
    // The writer that died is no damage; redb's check repaired it in memory.
    let own_check = match own_check {
        Err(StoreError::NotClosed { .. }) => check_repaired(path, options),
        other => other,
    };
    findings.absorb(own_check)?;
    Ok(findings.list)
}

fn finding(place: impl Into<String>, what: impl Into<String>) -> VerifyFinding {
    VerifyFinding { place: place.into(), what: what.into() }
}

#[derive(Default)]
struct VerifyFindings {
    list: Vec<VerifyFinding>,
}

impl VerifyFindings {
    fn add(&mut self, place: impl Into<String>, what: impl Into<String>) {
        if self.list.len() < ENOUGH {
            self.list.push(finding(place, what));
        }
    }

    /// Takes what a check found, and damage that kept it from finding more.
    fn absorb(&mut self, result: Result<Vec<VerifyFinding>, StoreError>) -> Result<(), StoreError> {
        match result {
            Ok(list) => {
                for VerifyFinding { place, what } in list {
                    self.add(place, what);
                }
                Ok(())
            }
            Err(StoreError::Damaged { place, what, .. }) => {
                self.add(place, what);
                Ok(())
            }
            Err(error) => Err(error),
        }
    }
}

/// The file as redb sees it, with writes going to memory.
fn open_overlay(path: &Path, options: &StoreOptions) -> Result<Database, StoreError> {
    super::check_magic(path)?;
    let io_error = |error| StoreError::Io { path: path.to_path_buf(), error };
    let file = super::open_shared(path)?;
    let overlay = Overlay::new(file).map_err(io_error)?;
    guarded(path, || {
        let mut builder = Database::builder();
        Ok(builder.set_cache_size(options.memory_bytes / 2).create_with_backend(overlay)?)
    })
}

fn check_redb(path: &Path, options: &StoreOptions) -> Result<bool, StoreError> {
    let mut database = open_overlay(path, options)?;
    guarded(path, move || {
        let clean = database.check_integrity();
        drop(database);
        Ok(clean?)
    })
}

fn check_repaired(path: &Path, options: &StoreOptions) -> Result<Vec<VerifyFinding>, StoreError> {
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
) -> Inner<Vec<VerifyFinding>> {
    let Header { meta, checks } = super::read_header(transaction, Access::Read)?;
    let mut found = VerifyFindings::default();
    let mut check = Check { key: options.key, meta, checks, found: &mut found };
    if let Err(fault) = super::check_claims(transaction, &meta, path) {
        check.fault(fault)?;
    }
    check.run(transaction)?;
    Ok(found.list)
}

struct Check<'f> {
    key: KeyFunction,
    meta: Meta,
    checks: Vec<u32>,
    found: &'f mut VerifyFindings,
}

/// What was counted, to be held against the meta row.
#[derive(Default)]
struct VerifyCounts {
    records: u64,
    record_bytes: u64,
    positions: u64,
    blocks: u64,
    block_bytes: u64,
    chunks: u64,
    blocks_digest: Digest,
    chunks_digest: Digest,
    /// What the stub of a crowded position announces, by key and board.
    crowded: HashMap<(u64, Vec<u8>), Chunked>,
    numbers: Numbers,
}

/// Which import numbers were met: one bit each, as far as records can reach.
#[derive(Default)]
struct Numbers(Vec<u64>);

impl Numbers {
    /// Whether the number is new.
    fn add(&mut self, number: u64) -> bool {
        let (word, bit) = ((number / 64) as usize, 1 << (number % 64));
        if word >= self.0.len() {
            self.0.resize(word + 1, 0);
        }
        let new = self.0[word] & bit == 0;
        self.0[word] |= bit;
        new
    }
}

impl Check<'_> {
    fn run(&mut self, transaction: &ReadTransaction) -> Inner<()> {
        let mut counted = VerifyCounts::default();
        for row in transaction.open_table(schema::BLOCKS)?.range::<u64>(..)? {
            let (number, bytes) = row?;
            self.block(number.value(), bytes.value(), &mut counted);
        }
        let mut chunks = Chunks::default();
        for row in transaction.open_table(schema::CROWDED)?.range::<&[u8]>(..)? {
            let (key, bytes) = row?;
            self.chunk(key.value(), bytes.value(), &mut chunks, &mut counted);
        }
        self.stubs_and_chunks(&counted, &chunks);
        // Counts say nothing new where something could not be counted.
        if self.found.list.is_empty() {
            self.counts(&counted);
        }
        if let Err(fault) = journal::list(transaction, &self.meta) {
            self.fault(fault)?;
        }
        Ok(())
    }

    fn fault(&mut self, fault: Fault) -> Inner<()> {
        match fault {
            Fault::Damaged { place, what } => {
                self.found.add(place, what);
                Ok(())
            }
            other => Err(other),
        }
    }

    fn block(&mut self, number: u64, bytes: &[u8], counted: &mut VerifyCounts) {
        let place = format!("block {number}");
        if number != counted.blocks {
            self.found.add(format!("block {}", counted.blocks), "it is missing");
        }
        counted.blocks = number.saturating_add(1);
        counted.block_bytes += bytes.len() as u64;
        counted.blocks_digest.add(Digest::of_block(number, bytes));
        let announced = usize::try_from(number).ok().and_then(|number| self.checks.get(number));
        let Some(&announced) = announced else {
            return self.found.add(&place, format!("the store has {} blocks", self.meta.blocks));
        };
        let block = match Block::new(number, bytes) {
            Ok(block) => block,
            Err(Damage(what)) => return self.found.add(place, what),
        };
        let mut last: Option<(u64, Vec<u8>, u64)> = None;
        let walked = block.each_entry(announced, |bucket, entry| {
            let board = match entry.payload {
                Payload::Record(bytes) => {
                    self.record(&place, entry.import_number, bytes, counted);
                    record::board_of(bytes).unwrap_or_default()
                }
                Payload::Stub(stub) => stub.board,
            };
            let Some(key) = key_of_board(self.key, board) else {
                return self.found.add(&place, "an entry has no board");
            };
            if let Payload::Stub(stub) = entry.payload {
                let announced = Chunked::of_stub(&stub);
                let known = counted.crowded.insert((key, board.to_vec()), announced);
                if known.is_some() || entry.import_number != 0 {
                    self.found.add(&place, "a stub is not alone or has a number");
                }
            }
            let (owner, fraction) = spread(key, self.meta.blocks);
            let slot = Slot::of(fraction, block.buckets());
            let stored = Slot { bucket, fingerprint: entry.fingerprint };
            if owner != number || slot != stored {
                self.found.add(&place, format!("an entry belongs elsewhere (key {key:016x})"));
            }
            let this = (key, board.to_vec(), entry.import_number);
            if last.as_ref().is_some_and(|last| *last >= this) {
                self.found.add(&place, "entries are out of order");
            }
            if last.as_ref().is_none_or(|last| (last.0, &last.1) != (this.0, &this.1)) {
                counted.positions += 1;
            }
            last = Some(this);
        });
        if let Err(Damage(what)) = walked {
            self.found.add(place, what);
        }
    }

    fn record(&mut self, place: &str, number: u64, bytes: &[u8], counted: &mut VerifyCounts) {
        counted.records += 1;
        counted.record_bytes += bytes.len() as u64;
        match record::decode(bytes) {
            Ok((_, len)) if len == bytes.len() => {}
            Ok(_) => self.found.add(place, format!("bytes follow record {number}")),
            Err(error) => self.found.add(place, format!("record {number}: {error}")),
        }
        if number >= self.meta.next_import_number {
            self.found.add(place, format!("record {number} has a number not yet given"));
        } else if !counted.numbers.add(number) {
            self.found.add(place, format!("record {number} is there twice"));
        }
    }

    fn chunk(
        &mut self,
        row_key: &[u8],
        bytes: &[u8],
        chunks: &mut Chunks,
        counted: &mut VerifyCounts,
    ) {
        let Some((key, board, first)) = schema::split_crowded_key(row_key) else {
            return self.found.add("crowded positions", "a key is too short");
        };
        let place = format!("crowded position {key:016x}");
        if key_of_board(self.key, board) != Some(key) {
            self.found.add(&place, "its board has another key");
        }
        let bucket = match chunk::read(key, bytes) {
            Ok(bucket) => bucket,
            Err(Damage(what)) => return self.found.add(place, what),
        };
        let digest = Digest::of_chunk(row_key, bytes);
        counted.chunks += 1;
        counted.chunks_digest.add(digest);
        let of = chunks.0.entry((key, board.to_vec())).or_default();
        if of.records == 0 {
            of.first_crc = bucket.crc();
        }
        of.digest.add(digest);
        for entry in bucket.entries() {
            let (fingerprint, number, bytes) = match entry {
                Err(Damage(what)) => return self.found.add(place, what),
                Ok(entry) => match entry.payload {
                    Payload::Record(bytes) => (entry.fingerprint, entry.import_number, bytes),
                    Payload::Stub(_) => return self.found.add(place, "a chunk holds a stub"),
                },
            };
            if fingerprint != 0 {
                self.found.add(&place, "a fingerprint in a chunk is not 0");
            }
            self.record(&place, number, bytes, counted);
            if record::board_of(bytes).ok() != Some(board) {
                self.found.add(&place, "a record of another position");
            }
            if number < first || of.last.is_some_and(|last| last >= number) {
                self.found.add(&place, "records are out of order");
            }
            of.last = Some(number);
            of.records += 1;
            of.bytes += bytes.len() as u64;
        }
    }

    fn stubs_and_chunks(&mut self, counted: &VerifyCounts, chunks: &Chunks) {
        for ((key, board), announced) in &counted.crowded {
            let found = chunks.0.get(&(*key, board.clone()));
            if found.map(|found| Chunked { last: None, ..*found }) != Some(*announced) {
                let what = "its block announces other records than there are";
                self.found.add(format!("crowded position {key:016x}"), what);
            }
        }
        for (key, board) in chunks.0.keys() {
            if !counted.crowded.contains_key(&(*key, board.clone())) {
                let what = "its block does not know it";
                self.found.add(format!("crowded position {key:016x}"), what);
            }
        }
    }

    fn counts(&mut self, counted: &VerifyCounts) {
        let pairs = [
            ("records", self.meta.records, counted.records),
            ("bytes of records", self.meta.record_bytes, counted.record_bytes),
            ("positions", self.meta.positions, counted.positions),
            ("crowded positions", self.meta.crowded, counted.crowded.len() as u64),
            ("blocks", self.meta.blocks, counted.blocks),
            ("bytes of blocks", self.meta.block_bytes, counted.block_bytes),
            ("chunks", self.meta.chunks, counted.chunks),
        ];
        for (what, announced, found) in pairs {
            if announced != found {
                self.found.add("the meta row", format!("{announced} {what}, found {found}"));
            }
        }
        let digests = [
            ("blocks", self.meta.blocks_digest, counted.blocks_digest),
            ("chunks", self.meta.chunks_digest, counted.chunks_digest),
        ];
        for (what, announced, found) in digests {
            if announced != found {
                self.found.add("the meta row", format!("the digest of the {what} does not match"));
            }
        }
    }
}

/// What the chunks of crowded positions hold, by key and board.
#[derive(Default)]
struct Chunks(HashMap<(u64, Vec<u8>), Chunked>);

#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
struct Chunked {
    records: u64,
    bytes: u64,
    first_crc: u32,
    digest: Digest,
    /// The last import number that was met.
    last: Option<u64>,
}

impl Chunked {
    fn of_stub(stub: &Stub) -> Chunked {
        let Stub { records, bytes, first_crc, digest, .. } = *stub;
        Chunked { records, bytes, first_crc, digest, last: None }
    }
}

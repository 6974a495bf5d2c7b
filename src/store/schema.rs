//! The tables of a store, its header, and the transactions that read and write them. The format is
//! `formats/store.md`.

use std::fs;
use std::path::Path;

use redb::{
    Database, OwnedAccessGuard, ReadTransaction, ReadableTable, ReadableTableMetadata, Table,
    TableDefinition, WriteTransaction,
};
use twox_hash::xxhash3_128::Hasher;
use zerocopy::byteorder::little_endian::{U32, U64, U128};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::error::{Fault, Result, damaged};

/// Format version that is written, and the newest that is read.
const VERSION: u32 = 1;
const MAGIC: [u8; 8] = *b"epdb\r\n\x1a\n";

/// The meta table: the rows with the keys [`META_KEY`], [`CHECKS_KEY`], [`ORIGIN_KEY`],
/// [`KEPT_GAMES_KEY`] and [`RUNS_KEY`].
pub(super) const META: TableDefinition<&str, &[u8]> = TableDefinition::new("epdb");
pub(super) const META_KEY: &str = "meta";
/// Key of the row with the checksums of the headers of all blocks.
pub(super) const CHECKS_KEY: &str = "block checks";
/// Key of the row with the origin of the tallies. Only stores that record this origin have the row.
pub(super) const ORIGIN_KEY: &str = "origin of tallies";
/// Key of the row with the number and the digest of the rows of [`KEPT_GAMES`]. The row exists only
/// if this table exists.
pub(super) const KEPT_GAMES_KEY: &str = "kept games";
/// Key of the row with the runs of an import. The row exists only while records wait in them.
pub(super) const RUNS_KEY: &str = "runs";
/// The table of blocks. The key of a row is the number of the block.
pub(super) const BLOCKS: TableDefinition<u64, &[u8]> = TableDefinition::new("blocks");
/// The new blocks, while a merge rewrites all blocks because their number changes.
pub(super) const NEW_BLOCKS: TableDefinition<u64, &[u8]> = TableDefinition::new("new blocks");
/// The table of chunks, which have the records of overflow positions. The key of a row is the
/// position's key, its packed board and the first import number in the chunk.
pub(super) const OVERFLOW: TableDefinition<&[u8], &[u8]> = TableDefinition::new("crowded");
/// The journal: a table with a row for each import. The key of a row is the number of the import.
pub(super) const IMPORTS: TableDefinition<u64, &[u8]> = TableDefinition::new("imports");
/// The table of digests of counted games. Rows are numbered, and the digests ascend from row to
/// row. Only stores that keep digests have the table.
pub(super) const GAME_DIGESTS: TableDefinition<u64, &[u8]> = TableDefinition::new("game digests");
/// The table of kept games. The key of a row is the ID of the game, most significant byte first.
/// Only stores that keep games have the table.
pub(super) const KEPT_GAMES: TableDefinition<u64, &[u8]> = TableDefinition::new("kept games");

/// Average number of entries in a bucket of a block.
pub(super) const ENTRIES_PER_BUCKET: usize = 12;
/// Size in bytes of the redb page that a block should fill.
pub(super) const BLOCK_PAGE_BYTES: usize = 64 << 10;
/// Number of bytes that redb itself uses in the page of a block.
pub(super) const BLOCK_PAGE_OVERHEAD: usize = 64;
/// A position whose entries in a block would take more bytes than this number is an overflow
/// position: its records move to the table [`OVERFLOW`].
pub(super) const MAX_BLOCK_POSITION_BYTES: usize = 8 << 10;
/// Maximum size in bytes of a chunk of an overflow position: with redb's overhead, 32 KiB.
pub(super) const CHUNK_BYTES: usize = (32 << 10) - 256;

/// The meta row: counts and digests of all tables.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Meta {
    /// Number of blocks, at least 1. The keys are spread over the blocks, and each block has a row.
    pub(super) blocks: u64,
    pub(super) records: u64,
    pub(super) positions: u64,
    /// Positions whose records are in the table [`OVERFLOW`].
    pub(super) overflow: u64,
    /// Number of rows of the table [`OVERFLOW`].
    pub(super) chunks: u64,
    /// Number of rows of the journal.
    pub(super) imports: u64,
    /// Import number of the next record. Numbers of dropped records are not used again.
    pub(super) next_import_number: u64,
    /// Sum of the lengths of all encoded records.
    pub(super) record_bytes: u64,
    /// Sum of the lengths of all blocks.
    pub(super) block_bytes: u64,
    /// Number of commits of records.
    pub(super) commit: u64,
    /// Sum of the digests of the rows of each table.
    pub(super) blocks_digest: Digest,
    pub(super) chunks_digest: Digest,
    pub(super) imports_digest: Digest,
    /// Checksum of the row with the checksums of all block headers.
    pub(super) checks_crc: u32,
    /// Checksum of the origin of tallies; 0 without one.
    pub(super) origin_crc: u32,
    /// True if records wait in runs, which the row [`RUNS_KEY`] names.
    pub(super) has_runs: bool,
}

/// The feature *runs*, which a program needs to write the store.
const NEEDS_RUNS: u32 = 1;

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct MetaRow {
    magic: [u8; 8],
    version: U32,
    crc: U32,
    needed_to_read: U32,
    needed_to_write: U32,
    blocks: U64,
    records: U64,
    positions: U64,
    overflow: U64,
    chunks: U64,
    imports: U64,
    next_import_number: U64,
    record_bytes: U64,
    block_bytes: U64,
    commit: U64,
    blocks_digest: U128,
    chunks_digest: U128,
    imports_digest: U128,
    checks_crc: U32,
    origin_crc: U32,
}

/// Length of the magic and the version together. Both have the same offsets in all format versions.
const FIXED: usize = 12;
const CRC_END: usize = 16;
const _: () = assert!(size_of::<MetaRow>() == 160);

impl Meta {
    /// The meta row of an empty store. The store has one block without entries. The length, the
    /// digest and the checksum of this block are not in the row yet.
    pub(super) const EMPTY: Meta = Meta {
        blocks: 1,
        records: 0,
        positions: 0,
        overflow: 0,
        chunks: 0,
        imports: 0,
        next_import_number: 0,
        record_bytes: 0,
        block_bytes: 0,
        commit: 0,
        blocks_digest: Digest(0),
        chunks_digest: Digest(0),
        imports_digest: Digest(0),
        checks_crc: 0,
        origin_crc: 0,
        has_runs: false,
    };

    pub(super) fn to_bytes(self) -> Vec<u8> {
        let mut row = MetaRow {
            magic: MAGIC,
            version: VERSION.into(),
            crc: 0.into(),
            needed_to_read: 0.into(),
            needed_to_write: if self.has_runs { NEEDS_RUNS } else { 0 }.into(),
            blocks: self.blocks.into(),
            records: self.records.into(),
            positions: self.positions.into(),
            overflow: self.overflow.into(),
            chunks: self.chunks.into(),
            imports: self.imports.into(),
            next_import_number: self.next_import_number.into(),
            record_bytes: self.record_bytes.into(),
            block_bytes: self.block_bytes.into(),
            commit: self.commit.into(),
            blocks_digest: self.blocks_digest.0.into(),
            chunks_digest: self.chunks_digest.0.into(),
            imports_digest: self.imports_digest.0.into(),
            checks_crc: self.checks_crc.into(),
            origin_crc: self.origin_crc.into(),
        };
        row.crc = meta_crc(row.as_bytes()).into();
        row.as_bytes().to_vec()
    }

    pub(super) fn from_bytes(bytes: &[u8], access: Access) -> Result<Meta> {
        let version = bytes.get(..FIXED).and_then(|fixed| {
            let (magic, version) = fixed.split_at(MAGIC.len());
            (magic == MAGIC).then_some(u32::from_le_bytes(version.try_into().ok()?))
        });
        match version.ok_or(Fault::NoMeta)? {
            VERSION => {}
            0 => return Err(damaged("the meta row", "its version is 0")),
            found => return Err(Fault::Version { found, supported: VERSION }),
        }
        let row = MetaRow::ref_from_bytes(bytes)
            .map_err(|_| damaged("the meta row", format!("it has {} bytes", bytes.len())))?;
        if !holds(meta_crc(bytes), row.crc.get()) {
            return Err(damaged("the meta row", "its checksum does not match"));
        }
        let unknown = match access {
            Access::Read => row.needed_to_read.get(),
            Access::Write => row.needed_to_read.get() | (row.needed_to_write.get() & !NEEDS_RUNS),
        };
        if unknown != 0 {
            return Err(Fault::Features(unknown));
        }
        if row.blocks.get() == 0 {
            return Err(damaged("the meta row", "it counts no blocks"));
        }
        Ok(Meta {
            blocks: row.blocks.get(),
            records: row.records.get(),
            positions: row.positions.get(),
            overflow: row.overflow.get(),
            chunks: row.chunks.get(),
            imports: row.imports.get(),
            next_import_number: row.next_import_number.get(),
            record_bytes: row.record_bytes.get(),
            block_bytes: row.block_bytes.get(),
            commit: row.commit.get(),
            blocks_digest: Digest(row.blocks_digest.get()),
            chunks_digest: Digest(row.chunks_digest.get()),
            imports_digest: Digest(row.imports_digest.get()),
            checks_crc: row.checks_crc.get(),
            origin_crc: row.origin_crc.get(),
            has_runs: row.needed_to_write.get() & NEEDS_RUNS != 0,
        })
    }

    /// Refuses a header whose counts contradict the numbers of rows or the length of the file.
    pub(super) fn check_claims(&self, rows: &RowCounts, file_bytes: u64) -> Result<()> {
        let at_most = |what: &str, claimed: u64, max: u64| {
            let what = format!("it claims {claimed} {what}, where there can be {max}");
            if claimed > max { Err(damaged("the meta row", what)) } else { Ok(()) }
        };
        let equal = |what: &str, claimed: u64, found: u64| {
            let what = format!("it claims {claimed} {what}, and there are {found}");
            if claimed == found { Ok(()) } else { Err(damaged("the meta row", what)) }
        };
        equal("blocks", self.blocks, rows.blocks)?;
        equal("chunks", self.chunks, rows.chunks)?;
        equal("imports", self.imports, rows.imports)?;
        at_most("bytes of blocks", self.block_bytes, file_bytes)?;
        at_most("bytes of records", self.record_bytes, file_bytes)?;
        at_most("records", self.records, self.record_bytes)?;
        at_most("records", self.records, self.next_import_number)?;
        at_most("positions", self.positions, self.records)?;
        at_most("overflow positions", self.overflow, self.chunks.min(self.positions))
    }
}

pub(super) struct RowCounts {
    pub(super) blocks: u64,
    pub(super) chunks: u64,
    pub(super) imports: u64,
}

/// Purpose of opening a store.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Access {
    Read,
    Write,
}

/// A sum of the digests of rows. It does not depend on the order of the rows.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Digest(pub(super) u128);

impl Digest {
    /// `parts` are the bytes of the block.
    pub(super) fn from_block(number: u64, parts: &[&[u8]]) -> Digest {
        Digest::from_parts(1, &number.to_le_bytes(), parts)
    }

    pub(super) fn from_chunk(key: &[u8], bytes: &[u8]) -> Digest {
        Digest::from_row(2, key, bytes)
    }

    pub(super) fn from_import(id: u64, bytes: &[u8]) -> Digest {
        Digest::from_row(3, &id.to_le_bytes(), bytes)
    }

    pub(super) fn from_game_digests(number: u64, bytes: &[u8]) -> Digest {
        Digest::from_row(4, &number.to_le_bytes(), bytes)
    }

    pub(super) fn from_kept_game(key: u64, bytes: &[u8]) -> Digest {
        Digest::from_row(5, &key.to_le_bytes(), bytes)
    }

    fn from_row(seed: u64, key: &[u8], value: &[u8]) -> Digest {
        Digest::from_parts(seed, key, &[value])
    }

    /// 128-bit XXH3 over key and value, with a seed for each table.
    fn from_parts(seed: u64, key: &[u8], value: &[&[u8]]) -> Digest {
        let mut hasher = Hasher::with_seed(seed);
        hasher.write(key);
        value.iter().for_each(|part| hasher.write(part));
        Digest(hasher.finish_128())
    }

    pub(super) fn add(&mut self, row: Digest) {
        self.0 = self.0.wrapping_add(row.0);
    }

    pub(super) fn remove(&mut self, row: Digest) {
        self.0 = self.0.wrapping_sub(row.0);
    }
}

/// The meta row, and the checksum of each block's header.
#[derive(Clone, Debug)]
pub(super) struct StoreHeader {
    pub(super) meta: Meta,
    pub(super) checks: Vec<u32>,
}

impl StoreHeader {
    pub(super) fn read(
        table: &impl ReadableTable<&'static str, &'static [u8]>,
        access: Access,
    ) -> Result<StoreHeader> {
        let row = table.get(META_KEY)?.ok_or(Fault::NoMeta)?;
        let meta = Meta::from_bytes(row.value(), access)?;
        let damage = |what: &str| damaged("the row of block checks", what);
        let row = table.get(CHECKS_KEY)?.ok_or_else(|| damage("it is missing"))?;
        let (checks, rest) = row.value().as_chunks::<4>();
        if !rest.is_empty() || checks.len() as u64 != meta.blocks {
            return Err(damage("it has checksums for another number of blocks"));
        }
        if crc32c::crc32c(row.value()) != meta.checks_crc {
            return Err(damage("its checksum does not match"));
        }
        let checks = checks.iter().map(|check| u32::from_le_bytes(*check)).collect();
        Ok(StoreHeader { meta, checks })
    }

    pub(super) fn write(
        &mut self,
        table: &mut Table<'_, &'static str, &'static [u8]>,
    ) -> Result<()> {
        let checks: Vec<u8> = self.checks.iter().flat_map(|check| check.to_le_bytes()).collect();
        self.meta.checks_crc = crc32c::crc32c(&checks);
        table.insert(CHECKS_KEY, checks.as_slice())?;
        table.insert(META_KEY, self.meta.to_bytes().as_slice())?;
        Ok(())
    }
}

/// True if a checksum matches; always true while fuzzing.
pub(super) fn holds(found: u32, expected: u32) -> bool {
    cfg!(fuzzing) || found == expected
}

fn meta_crc(row: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&row[..FIXED]), &row[CRC_END..])
}

/// Begins a durable transaction. After the commit, the store can be opened at once even if it was
/// not closed, also for reading only.
pub(super) fn begin_write(database: &Database) -> Result<WriteTransaction> {
    let mut transaction = database.begin_write()?;
    transaction.set_durability(redb::Durability::Immediate)?;
    transaction.set_quick_repair(true);
    Ok(transaction)
}

pub(super) fn read_header(transaction: &ReadTransaction, access: Access) -> Result<StoreHeader> {
    match transaction.open_table(META) {
        Err(redb::TableError::TableDoesNotExist(_)) => Err(Fault::NoMeta),
        table => StoreHeader::read(&table?, access),
    }
}

/// Compares the meta row with the tables' numbers of rows and the length of the file.
pub(super) fn check_claims(transaction: &ReadTransaction, meta: &Meta, path: &Path) -> Result<()> {
    let file_bytes = fs::metadata(path).map_err(redb::StorageError::Io)?.len();
    let rows = RowCounts {
        blocks: transaction.open_table(BLOCKS)?.len()?,
        chunks: transaction.open_table(OVERFLOW)?.len()?,
        imports: transaction.open_table(IMPORTS)?.len()?,
    };
    meta.check_claims(&rows, file_bytes)
}

/// The bytes of a row. They stay valid after the end of the transaction that read them.
pub(super) type RowGuard = OwnedAccessGuard<&'static [u8]>;

/// Reads the value once, in a call that catches panics of redb. Later reads give this slice.
pub(super) fn sized(guard: RowGuard) -> RowGuard {
    std::hint::black_box(guard.value().len());
    guard
}

//! The tables of a store and the rows that are not blocks. The format is `formats/store.md`.

use redb::TableDefinition;
use zerocopy::byteorder::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::error::{Fault, Result, damaged};

/// The format version that is written, and the newest that is read.
pub(super) const VERSION: u32 = 1;
const MAGIC: [u8; 8] = *b"epdb\r\n\x1a\n";

/// One row, under [`META_KEY`].
pub(super) const META: TableDefinition<&str, &[u8]> = TableDefinition::new("epdb");
pub(super) const META_KEY: &str = "meta";
/// Number of a block -> block.
pub(super) const BLOCKS: TableDefinition<u64, &[u8]> = TableDefinition::new("blocks");
/// The blocks of another number of blocks, while a merge rewrites all of them.
pub(super) const NEW_BLOCKS: TableDefinition<u64, &[u8]> = TableDefinition::new("new blocks");
/// Key, packed board and first import number -> chunk of one position's records.
pub(super) const CROWDED: TableDefinition<&[u8], &[u8]> = TableDefinition::new("crowded");
/// Number of an import -> journal row.
pub(super) const IMPORTS: TableDefinition<u64, &[u8]> = TableDefinition::new("imports");

/// A position whose entries in a block would take more bytes than this is crowded: its records
/// move to the table of that name.
pub(super) const CROWDED_BYTES: usize = 8 << 10;
/// A chunk of a crowded position is closed when another record would take it past this many
/// bytes. With what redb adds it then fills a page of 32 KiB.
pub(super) const CHUNK_BYTES: usize = (32 << 10) - 256;

/// What a store knows of itself.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Meta {
    /// Into how many blocks the keys are spread; at least 1.
    pub(super) blocks: u64,
    pub(super) records: u64,
    /// Different positions.
    pub(super) positions: u64,
    /// Positions whose records are in the table of crowded ones.
    pub(super) crowded: u64,
    /// What the next record is numbered. Numbers of dropped records are not used again.
    pub(super) next_import_number: u64,
    /// Sum of the lengths of all encoded records.
    pub(super) record_bytes: u64,
    /// Sum of the lengths of all blocks.
    pub(super) block_bytes: u64,
}

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct MetaRow {
    magic: [u8; 8],
    version: U32,
    crc: U32,
    blocks: U64,
    records: U64,
    positions: U64,
    crowded: U64,
    next_import_number: U64,
    record_bytes: U64,
    block_bytes: U64,
}

/// Magic and version: alike in all versions.
const FIXED: usize = 12;
const CRC_END: usize = 16;
const _: () = assert!(size_of::<MetaRow>() == 72);

impl Meta {
    pub(super) const EMPTY: Meta = Meta {
        blocks: 1,
        records: 0,
        positions: 0,
        crowded: 0,
        next_import_number: 0,
        record_bytes: 0,
        block_bytes: 0,
    };

    pub(super) fn to_bytes(self) -> Vec<u8> {
        let mut row = MetaRow {
            magic: MAGIC,
            version: VERSION.into(),
            crc: 0.into(),
            blocks: self.blocks.into(),
            records: self.records.into(),
            positions: self.positions.into(),
            crowded: self.crowded.into(),
            next_import_number: self.next_import_number.into(),
            record_bytes: self.record_bytes.into(),
            block_bytes: self.block_bytes.into(),
        };
        row.crc = meta_crc(row.as_bytes()).into();
        row.as_bytes().to_vec()
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Result<Meta> {
        let version = bytes.get(..FIXED).and_then(|fixed| {
            let (magic, version) = fixed.split_at(MAGIC.len());
            (magic == MAGIC).then_some(u32::from_le_bytes(version.try_into().ok()?))
        });
        match version.ok_or(Fault::NoMeta)? {
            VERSION => {}
            0 => return Err(damaged("the meta row", "its version is 0")),
            newer => return Err(Fault::Version(newer)),
        }
        let row = MetaRow::ref_from_bytes(bytes)
            .map_err(|_| damaged("the meta row", format!("it has {} bytes", bytes.len())))?;
        if row.crc.get() != meta_crc(bytes) {
            return Err(damaged("the meta row", "its checksum does not match"));
        }
        if row.blocks.get() == 0 {
            return Err(damaged("the meta row", "it counts no blocks"));
        }
        Ok(Meta {
            blocks: row.blocks.get(),
            records: row.records.get(),
            positions: row.positions.get(),
            crowded: row.crowded.get(),
            next_import_number: row.next_import_number.get(),
            record_bytes: row.record_bytes.get(),
            block_bytes: row.block_bytes.get(),
        })
    }
}

fn meta_crc(row: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&row[..FIXED]), &row[CRC_END..])
}

/// Spreads fractions of 2^64 evenly over parts: the part, and the fraction within it. In each
/// part the order of the fractions stays.
pub(super) fn spread(fraction: u64, parts: u64) -> (u64, u64) {
    let product = u128::from(fraction) * u128::from(parts);
    ((product >> 64) as u64, product as u64)
}

/// The key of the first chunk, or of all chunks' common start, of a crowded position.
pub(super) fn crowded_key(key: u64, board: &[u8], import_number: u64) -> Vec<u8> {
    [&key.to_be_bytes(), board, &import_number.to_be_bytes()].concat()
}

/// The parts of a key of the table of crowded positions: position key, board, import number.
pub(super) fn split_crowded_key(bytes: &[u8]) -> Option<(u64, &[u8], u64)> {
    let (key, rest) = bytes.split_first_chunk()?;
    let (board, number) = rest.split_last_chunk()?;
    Some((u64::from_be_bytes(*key), board, u64::from_be_bytes(*number)))
}

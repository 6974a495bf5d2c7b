//! The existing blocks during a merge, and their entries, which go into new blocks.

use std::collections::VecDeque;
use std::ops::Range;

use rayon::prelude::*;
use redb::ReadableTable;

use crate::block::{Block, Damage, Payload, Stub, range_in};
use crate::error::{Result, damaged};
use crate::options::{KeyFunction, key_of_board};
use crate::overflow::PositionId;
use crate::schema::{Digest, StoreHeader};
use epdb_chess::codec::key::fast_range;
use epdb_chess::codec::record;

/// A block that was read for merging. It has its bytes, and its entries with their full keys.
pub(super) struct LoadedBlock {
    pub(super) bytes: Vec<u8>,
    pub(super) entries: Vec<LoadedEntry>,
}

/// An entry, as ranges of the bytes of its block.
pub(super) struct LoadedEntry {
    pub(super) key: u64,
    import_number: u64,
    payload: LoadedPayload,
}

enum LoadedPayload {
    Record(Range<usize>),
    Stub { board: Range<usize>, stub: Stub<'static> },
}

/// An entry that goes into a new block.
pub(super) struct MergedEntry<'b> {
    pub(super) key: u64,
    pub(super) import_number: u64,
    pub(super) payload: MergedPayload<'b>,
}

pub(super) enum MergedPayload<'b> {
    Kept(Payload<'b>),
    Updated(Vec<u8>),
}

impl LoadedBlock {
    /// Reads a block and checks all of it. `announced` is the checksum of the block's header that
    /// the meta table of the store has.
    pub(super) fn new(
        key: KeyFunction,
        number: u64,
        announced: Option<u32>,
        bytes: Option<Vec<u8>>,
    ) -> Result<LoadedBlock> {
        let damage = |what: &str| damaged(format!("block {number}"), what);
        let bytes = bytes.ok_or_else(|| damage("it is missing"))?;
        let announced = announced.ok_or_else(|| damage("the store records fewer blocks"))?;
        let block = Block::new(number, &bytes).map_err(|Damage(what)| damage(what))?;
        let mut entries = Vec::with_capacity(block.entry_count().min(1 << 16) as usize);
        let mut is_keyless = false;
        block
            .each_entry(announced, |_, entry| {
                let (board, payload) = match entry.payload {
                    Payload::Record(record) => (
                        record::board_of(record).unwrap_or_default(),
                        LoadedPayload::Record(range_in(&bytes, record)),
                    ),
                    Payload::Stub(stub) => {
                        let board = range_in(&bytes, stub.board);
                        let payload =
                            LoadedPayload::Stub { board, stub: Stub { board: &[], ..stub } };
                        (stub.board, payload)
                    }
                };
                let key = key_of_board(key, board);
                is_keyless |= key.is_none();
                let key = key.unwrap_or_default();
                entries.push(LoadedEntry { key, import_number: entry.import_number, payload });
            })
            .map_err(|Damage(what)| damage(what))?;
        if is_keyless {
            return Err(damage("a record has no board"));
        }
        Ok(LoadedBlock { bytes, entries })
    }

    /// An entry of the block, unchanged.
    pub(super) fn kept<'b>(&'b self, entry: &'b LoadedEntry) -> MergedEntry<'b> {
        let part = |range: &Range<usize>| self.bytes.get(range.clone()).unwrap_or_default();
        let payload = match &entry.payload {
            LoadedPayload::Record(range) => Payload::Record(part(range)),
            LoadedPayload::Stub { board, stub } => {
                Payload::Stub(Stub { board: part(board), ..*stub })
            }
        };
        let key = entry.key;
        let import_number = entry.import_number;
        MergedEntry { key, import_number, payload: MergedPayload::Kept(payload) }
    }
}

impl<'b> MergedEntry<'b> {
    /// Makes an entry from the stub of a position with more records than fit into a block.
    pub(super) fn from_stub(position: PositionId<'b>, stub: Stub<'b>) -> MergedEntry<'b> {
        let payload = MergedPayload::Kept(Payload::Stub(stub));
        MergedEntry { key: position.key, import_number: 0, payload }
    }

    pub(super) fn payload(&self) -> Payload<'_> {
        match &self.payload {
            MergedPayload::Kept(payload) => *payload,
            MergedPayload::Updated(bytes) => Payload::Record(bytes),
        }
    }

    /// The encoded record; empty for a stub.
    pub(super) fn record(&self) -> &[u8] {
        match self.payload() {
            Payload::Record(record) => record,
            Payload::Stub(_) => &[],
        }
    }

    pub(super) fn board(&self) -> &[u8] {
        match self.payload() {
            Payload::Record(record) => record::board_of(record).unwrap_or_default(),
            Payload::Stub(stub) => stub.board,
        }
    }
}

/// The entries of all existing blocks, in order, for a merge that distributes them over a new
/// number of blocks. A block is loaded when its entries are needed. It is dropped after its last
/// entry was taken.
pub(super) struct ExistingBlocks<'t> {
    key: KeyFunction,
    rows: redb::Range<'t, u64, &'static [u8]>,
    /// Checksums of the headers of the blocks, from the meta table of the store.
    checks: Vec<u32>,
    blocks: u64,
    /// Number of the next block to load.
    next: u64,
    loaded: LoadedBlocks,
    /// The end of the entries that were taken.
    taken: EntryCursor,
    /// Size in bytes of the blocks that are not loaded yet, according to the meta row (the header
    /// of the store). The next field is the digest of these blocks.
    bytes_left: u64,
    digest_left: Digest,
}

#[derive(Default)]
pub(super) struct LoadedBlocks(VecDeque<LoadedBlock>);

impl LoadedBlocks {
    /// The entries between two places.
    pub(super) fn entries(&self, span: Range<EntryCursor>) -> Vec<MergedEntry<'_>> {
        let Range { start, end } = span;
        let mut entries = Vec::new();
        for (place, block) in self.0.iter().enumerate().take(end.block + 1).skip(start.block) {
            let first = if place == start.block { start.entry } else { 0 };
            let stop = if place == end.block { end.entry } else { block.entries.len() };
            let part = block.entries.get(first..stop).unwrap_or_default();
            entries.extend(part.iter().map(|entry| block.kept(entry)));
        }
        entries
    }
}

/// A place between loaded entries.
#[derive(Copy, Clone, Default)]
pub(super) struct EntryCursor {
    block: usize,
    entry: usize,
}

impl<'t> ExistingBlocks<'t> {
    pub(super) fn new(
        table: &'t impl ReadableTable<u64, &'static [u8]>,
        key: KeyFunction,
        header: &StoreHeader,
    ) -> Result<ExistingBlocks<'t>> {
        let StoreHeader { meta, checks } = header;
        Ok(ExistingBlocks {
            key,
            rows: table.range(..meta.blocks)?,
            checks: checks.clone(),
            blocks: meta.blocks,
            next: 0,
            loaded: LoadedBlocks::default(),
            taken: EntryCursor::default(),
            bytes_left: meta.block_bytes,
            digest_left: meta.blocks_digest,
        })
    }

    /// Loads the existing blocks that may have entries of the new blocks below `end` of `blocks`.
    pub(super) fn load(&mut self, end: u64, blocks: u64) -> Result<()> {
        let reach = u128::from(end) * u128::from(self.blocks);
        let mut rows = Vec::new();
        while self.next < self.blocks && u128::from(self.next) * u128::from(blocks) < reach {
            rows.push(self.next_row()?);
        }
        let loaded = rows.into_par_iter().map(|(number, bytes)| {
            let announced = self.checks.get(number as usize).copied();
            LoadedBlock::new(self.key, number, announced, bytes).map(|block| (number, block))
        });
        let loaded: Vec<_> = loaded.collect::<Result<_>>()?;
        for (number, block) in loaded {
            self.bytes_left = self.bytes_left.wrapping_sub(block.bytes.len() as u64);
            self.digest_left.remove(Digest::from_block(number, &[&block.bytes]));
            self.loaded.0.push_back(block);
        }
        Ok(())
    }

    /// The number of the next existing block, and its bytes if it has a row.
    fn next_row(&mut self) -> Result<(u64, Option<Vec<u8>>)> {
        let number = self.next;
        let row = self.rows.next().transpose()?.filter(|(found, _)| found.value() == number);
        self.next += 1;
        Ok((number, row.map(|(_, bytes)| bytes.value().to_vec())))
    }

    /// The entries of the new block `number` of `blocks`, in [`ExistingBlocks::loaded`]. The blocks are
    /// taken in order.
    pub(super) fn take(&mut self, number: u64, blocks: u64) -> Range<EntryCursor> {
        let start = self.taken;
        // The new block ends before the first entry of a later one, or else with all loaded blocks.
        let mut end = EntryCursor { block: self.loaded.0.len(), entry: 0 };
        for (block, loaded) in self.loaded.0.iter().enumerate().skip(start.block) {
            let first = if block == start.block { start.entry } else { 0 };
            let left = loaded.entries.get(first..).unwrap_or_default();
            let mine = left.partition_point(|entry| fast_range(entry.key, blocks).0 <= number);
            if mine < left.len() {
                end = EntryCursor { block, entry: first + mine };
                break;
            }
        }
        self.taken = end;
        start..end
    }

    pub(super) const fn loaded(&self) -> &LoadedBlocks {
        &self.loaded
    }

    /// Drops the blocks whose entries were all taken.
    pub(super) fn drop_taken(&mut self) {
        self.loaded.0.drain(..self.taken.block);
        self.taken.block = 0;
    }

    /// Compares the loaded blocks with the meta row (the header of the store).
    pub(super) fn finish(self) -> Result<()> {
        if (self.bytes_left, self.digest_left) == (0, Digest::default()) {
            return Ok(());
        }
        Err(damaged("the store", "its blocks are not those that the meta row records"))
    }
}

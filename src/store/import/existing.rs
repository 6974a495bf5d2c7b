//! Reading all blocks in order while they are spread over another number of blocks.

use std::collections::VecDeque;

use redb::{Range, ReadableTable};

use super::entry::{LoadedBlock, MergedEntry};
use crate::spread::spread;
use crate::store::error::{Result, damaged};
use crate::store::keys::KeyFunction;
use crate::store::schema::{Digest, StoreHeader};

/// The entries of all blocks, in order. Blocks are loaded when their entries are due and dropped
/// when all of them were taken.
pub(super) struct ExistingBlocks<'t> {
    key: KeyFunction,
    rows: Range<'t, u64, &'static [u8]>,
    /// The checksums that the store keeps of their headers.
    checks: Vec<u32>,
    blocks: u64,
    /// The number of the block to be loaded next.
    next: u64,
    loaded: VecDeque<LoadedBlock>,
    /// How many entries of the first loaded block were taken.
    taken: usize,
    /// What the meta row announces of the blocks that are not yet loaded.
    bytes_left: u64,
    digest_left: Digest,
}

/// A place between the entries that are loaded.
#[derive(Copy, Clone)]
pub(super) struct EntryCursor {
    /// The place of a block among those loaded.
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
            loaded: VecDeque::new(),
            taken: 0,
            bytes_left: meta.block_bytes,
            digest_left: meta.blocks_digest,
        })
    }

    /// Loads the blocks in which entries of the block `number` of so many `blocks` may stand, and
    /// says where these end.
    pub(super) fn load(&mut self, number: u64, blocks: u64) -> Result<EntryCursor> {
        let reach = u128::from(number + 1) * u128::from(self.blocks);
        while self.next < self.blocks && u128::from(self.next) * u128::from(blocks) < reach {
            self.load_next()?;
        }
        for (block, loaded) in self.loaded.iter().enumerate() {
            let start = if block == 0 { self.taken } else { 0 };
            let left = loaded.entries.get(start..).unwrap_or_default();
            let mine = left.partition_point(|entry| spread(entry.key, blocks).0 <= number);
            if mine < left.len() {
                return Ok(EntryCursor { block, entry: start + mine });
            }
        }
        Ok(EntryCursor { block: self.loaded.len(), entry: 0 })
    }

    fn load_next(&mut self) -> Result<()> {
        let number = self.next;
        let row = self.rows.next().transpose()?.filter(|(found, _)| found.value() == number);
        let announced = self.checks.get(number as usize).copied();
        let bytes = row.map(|(_, bytes)| bytes.value().to_vec());
        let block = LoadedBlock::new(self.key, number, announced, bytes)?;
        self.bytes_left = self.bytes_left.wrapping_sub(block.bytes.len() as u64);
        self.digest_left.remove(Digest::of_block(number, &block.bytes));
        self.loaded.push_back(block);
        self.next += 1;
        Ok(())
    }

    /// The entries that were not yet taken, to a place.
    pub(super) fn entries_to(&self, end: EntryCursor) -> Vec<MergedEntry<'_>> {
        let mut entries = Vec::new();
        for (place, block) in self.loaded.iter().take(end.block + 1).enumerate() {
            let start = if place == 0 { self.taken } else { 0 };
            let stop = if place == end.block { end.entry } else { block.entries.len() };
            let part = block.entries.get(start..stop).unwrap_or_default();
            entries.extend(part.iter().map(|entry| block.kept(entry)));
        }
        entries
    }

    /// Takes the entries to a place.
    pub(super) fn take_to(&mut self, end: EntryCursor) {
        self.loaded.drain(..end.block);
        self.taken = end.entry;
    }

    /// Holds what was loaded against what the meta row announces.
    pub(super) fn finish(self) -> Result<()> {
        if (self.bytes_left, self.digest_left) == (0, Digest::default()) {
            return Ok(());
        }
        Err(damaged("the store", "its blocks are not those that the meta row announces"))
    }
}

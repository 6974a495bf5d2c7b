//! Merging of sorted records into the blocks. Each block that changes is read once and written
//! once, in the order of the keys. All threads merge blocks; one thread reads and writes them.
//!
//! Keys are spread evenly over the blocks. If the number of blocks no longer fits the number of
//! records, the merge rewrites all blocks.

use std::ops::Bound;
use std::sync::Mutex;

use rayon::prelude::*;
use redb::{ReadableTable, WriteTransaction};

use super::batch::{Arena, Batch, Incoming};
use super::existing::{ExistingBlocks, LoadedBlock, MergedEntry, MergedPayload};
use super::resolve::{Resolution, Resolver};
use super::sorted::{BLOCKS_AT_ONCE, SortedRecords, records_below};
use crate::block::{BlockWriter, Payload, Stub, width_of};
use crate::error::Result;
use crate::journal::ImportCounts;
use crate::options::KeyFunction;
use crate::overflow::{Action, OverflowTable, PositionId};
use crate::schema::{
    self, BLOCK_PAGE_BYTES, BLOCK_PAGE_OVERHEAD, Digest, MAX_BLOCK_POSITION_BYTES, Meta,
    StoreHeader,
};
use epdb_chess::codec::key::fast_range;
use epdb_chess::error::locked;

/// Merges the records and updates the header. Everything that is read is checked first, so that
/// nothing is built on damaged data. If `is_last` is true, these are the last records of an import;
/// the number of blocks then fits the stored records.
pub(super) fn merge(
    transaction: &WriteTransaction,
    key: KeyFunction,
    header: &mut StoreHeader,
    incoming: &mut SortedRecords,
    resolver: &mut Resolver,
    is_last: bool,
) -> Result<()> {
    let old_blocks = header.meta.blocks;
    let ahead = if is_last { 0.0 } else { incoming.records_ahead() };
    let blocks = choose_blocks(&header.meta, incoming, &resolver.counts, ahead);
    header.meta.next_import_number += incoming.len();
    header.meta.commit += 1;
    let overflow = Mutex::new(OverflowTable::open(transaction)?);
    let mut merge = Merge { key, header, overflow, resolver };
    if blocks == old_blocks {
        merge.update_blocks(transaction, incoming)?;
    } else {
        merge.rewrite_blocks(transaction, blocks, incoming)?;
    }
    let meta = &merge.header.meta;
    let fitting = blocks_for(meta.block_bytes, meta.records);
    let is_misfit = fitting.abs_diff(blocks) > blocks / 12;
    if is_last && is_misfit {
        merge.header.meta.commit += 1;
        let mut empty = Batch::new(0);
        let mut nothing = SortedRecords::from_batch(&mut empty);
        merge.rewrite_blocks(transaction, fitting, &mut nothing)?;
    }
    Ok(())
}

/// A merge of records into all blocks.
struct Merge<'t, 'm, 'r> {
    key: KeyFunction,
    header: &'m mut StoreHeader,
    overflow: Mutex<OverflowTable<'t>>,
    resolver: &'m mut Resolver<'r>,
}

/// A block to which incoming records belong.
struct TouchedBlock<'n> {
    number: u64,
    /// The bytes of the block; `None` if it is missing.
    bytes: Option<Vec<u8>>,
    incoming: &'n mut [Incoming],
}

struct MergedBlock<'r> {
    bytes: Vec<u8>,
    /// Checksum of the header of the block.
    check: u32,
    /// The totals of the store, as if no other block had changed.
    meta: Meta,
    resolver: Resolver<'r>,
}

impl<'r> Merge<'_, '_, 'r> {
    /// Merges the incoming records into the blocks to which they belong.
    fn update_blocks(
        &mut self,
        transaction: &WriteTransaction,
        incoming: &mut SortedRecords,
    ) -> Result<()> {
        let mut table = transaction.open_table(schema::BLOCKS)?;
        let blocks = self.header.meta.blocks;
        while let Some(end) = incoming.end_of_step(blocks) {
            let (arena, mut rest) = incoming.take(end, blocks)?;
            let mut touched = Vec::new();
            while let Some(first) = rest.first() {
                let (number, _) = fast_range(first.key, blocks);
                let (incoming, others) = split_off(rest, number, blocks);
                rest = others;
                let bytes = table.get(number)?.map(|bytes| bytes.value().to_vec());
                touched.push(TouchedBlock { number, bytes, incoming });
            }
            for (number, bytes) in self.merge_touched(arena, touched)? {
                table.insert(number, bytes.as_slice())?;
            }
        }
        Ok(())
    }

    /// Merges incoming records into blocks. Returns the number and the new bytes of each block.
    fn merge_touched(
        &mut self,
        arena: &Arena,
        touched: Vec<TouchedBlock>,
    ) -> Result<Vec<(u64, Vec<u8>)>> {
        let merged = touched.into_par_iter().map(|TouchedBlock { number, bytes, incoming }| {
            let announced = self.header.checks.get(number as usize).copied();
            let loaded = LoadedBlock::new(self.key, number, announced, bytes)?;
            let existing = loaded.entries.iter().map(|entry| loaded.kept(entry)).collect();
            let merged = self.merge_block(arena, number, existing, incoming)?;
            Ok((number, loaded.bytes, merged))
        });
        let merged: Vec<_> = merged.collect::<Result<_>>()?;
        let before = self.header.meta;
        let mut written = Vec::with_capacity(merged.len());
        for (number, old, merged) in merged {
            self.header.remove_block(number, &old);
            if let Some(announced) = self.header.checks.get_mut(number as usize) {
                *announced = merged.check;
            }
            written.push((number, self.count(number, &before, merged)));
        }
        Ok(written)
    }

    /// Rewrites all entries; the number of blocks changes.
    fn rewrite_blocks(
        &mut self,
        transaction: &WriteTransaction,
        blocks: u64,
        incoming: &mut SortedRecords,
    ) -> Result<()> {
        let table = transaction.open_table(schema::BLOCKS)?;
        let mut new_table = transaction.open_table(schema::NEW_BLOCKS)?;
        let mut new_rows = new_table.upper_bound_mut(Bound::<u64>::Unbounded)?;
        let mut existing = ExistingBlocks::new(&table, self.key, self.header)?;
        self.header.begin_blocks(blocks);
        for first in (0..blocks).step_by(BLOCKS_AT_ONCE) {
            let numbers = first..blocks.min(first + BLOCKS_AT_ONCE as u64);
            existing.load(numbers.end, blocks)?;
            let (arena, mut rest) = incoming.take(numbers.end, blocks)?;
            let mut spans = Vec::new();
            for number in numbers.clone() {
                let (mine, others) = split_off(rest, number, blocks);
                rest = others;
                spans.push((number, existing.take(number, blocks), mine));
            }
            let loaded = existing.loaded();
            let merged = spans.into_par_iter().map(|(number, span, mine)| {
                self.merge_block(arena, number, loaded.entries(span), mine)
            });
            let merged: Vec<_> = merged.collect::<Result<_>>()?;
            let before = self.header.meta;
            let mut written = Vec::with_capacity(merged.len());
            for (number, merged) in numbers.zip(merged) {
                self.header.checks.push(merged.check);
                written.push((number, self.count(number, &before, merged)));
            }
            existing.drop_taken();
            self.merge_more(&mut written, blocks, incoming)?;
            for (number, bytes) in written {
                new_rows.insert_before(number, bytes.as_slice())?;
            }
        }
        existing.finish()?;
        new_rows.close()?;
        drop((new_table, table));
        transaction.delete_table(schema::BLOCKS)?;
        transaction.rename_table(schema::NEW_BLOCKS, schema::BLOCKS)?;
        Ok(())
    }

    /// Merges into new blocks what did not fit into memory before, as for a position with very many
    /// records. `written` are neighbouring blocks.
    fn merge_more(
        &mut self,
        written: &mut [(u64, Vec<u8>)],
        blocks: u64,
        incoming: &mut SortedRecords,
    ) -> Result<()> {
        let end = written.last().map_or(0, |(number, _)| number + 1);
        while incoming.next_block(blocks).is_some_and(|next| next < end) {
            let (arena, mut rest) = incoming.take(end, blocks)?;
            let mut touched = Vec::new();
            for (number, bytes) in written.iter_mut() {
                let (incoming, others) = split_off(rest, *number, blocks);
                rest = others;
                if !incoming.is_empty() {
                    let bytes = Some(std::mem::take(bytes));
                    touched.push(TouchedBlock { number: *number, bytes, incoming });
                }
            }
            let mut merged = self.merge_touched(arena, touched)?.into_iter().peekable();
            for (number, bytes) in written.iter_mut() {
                if let Some((_, new)) = merged.next_if(|(merged, _)| merged == number) {
                    *bytes = new;
                }
            }
        }
        Ok(())
    }

    fn merge_block<'b>(
        &self,
        arena: &'b Arena,
        number: u64,
        existing: Vec<MergedEntry<'b>>,
        incoming: &mut [Incoming],
    ) -> Result<MergedBlock<'r>> {
        let meta = self.header.meta;
        let resolver = self.resolver.for_block();
        let mut merger = Merger { meta, arena, overflow: &self.overflow, resolver };
        let (bytes, check) = merger.merge_block(number, existing, incoming)?;
        Ok(MergedBlock { bytes, check, meta: merger.meta, resolver: merger.resolver })
    }

    /// Adds what the merge of a block changed. `before` are the totals with which it began. Returns the
    /// bytes of the block.
    fn count(&mut self, number: u64, before: &Meta, block: MergedBlock<'r>) -> Vec<u8> {
        self.header.meta.add_changes(before, &block.meta);
        self.header.add_block(number, &block.bytes);
        self.resolver.add(block.resolver);
        block.bytes
    }
}

/// Splits the incoming records in two: the records of one block, and the records of later blocks.
fn split_off(
    incoming: &mut [Incoming],
    number: u64,
    blocks: u64,
) -> (&mut [Incoming], &mut [Incoming]) {
    incoming.split_at_mut(records_below(incoming, number + 1, blocks))
}

/// The merge of records into one block.
struct Merger<'m, 't, 'a, 'r> {
    meta: Meta,
    arena: &'a Arena,
    overflow: &'m Mutex<OverflowTable<'t>>,
    resolver: Resolver<'r>,
}

impl<'a> Merger<'_, '_, 'a, '_> {
    /// Merges the existing entries of a block with incoming records. Both must be in order. Returns
    /// the bytes of the block and the checksum of its header.
    fn merge_block<'b>(
        &mut self,
        number: u64,
        existing: Vec<MergedEntry<'b>>,
        mut incoming: &mut [Incoming],
    ) -> Result<(Vec<u8>, u32)>
    where
        'a: 'b,
    {
        self.arena.prefetch(incoming);
        let mut merged = Vec::with_capacity(existing.len() + incoming.len().min(1 << 12));
        let mut existing = existing.into_iter().peekable();
        while let Some(first) = incoming.first() {
            let key = first.key;
            while let Some(entry) = existing.next_if(|entry| entry.key < key) {
                merged.push(entry);
            }
            let mut same_key = Vec::new();
            while let Some(entry) = existing.next_if(|entry| entry.key == key) {
                same_key.push(entry);
            }
            let end = incoming.iter().position(|new| new.key != key);
            let (mine, others) = incoming.split_at_mut(end.unwrap_or(incoming.len()));
            incoming = others;
            self.merge_key(same_key, mine, &mut merged)?;
        }
        merged.extend(existing);
        let Meta { commit, blocks, .. } = self.meta;
        let mut block = BlockWriter::new(number, commit, self.width(), merged.len());
        for entry in &merged {
            let (_, fraction) = fast_range(entry.key, blocks);
            block.push(fraction, entry.import_number, entry.payload());
        }
        Ok(block.finish())
    }

    fn width(&self) -> u8 {
        width_of(self.meta.next_import_number)
    }

    /// Merges the records of one key. They are records of one position, or of several positions
    /// that happen to have the same key.
    fn merge_key<'b>(
        &mut self,
        existing: Vec<MergedEntry<'b>>,
        mut incoming: &mut [Incoming],
        merged: &mut Vec<MergedEntry<'b>>,
    ) -> Result<()>
    where
        'a: 'b,
    {
        let arena = self.arena;
        let mut existing = existing.into_iter().peekable();
        while let Some(first) = incoming.first() {
            let key = first.key;
            let board = arena.board(first);
            while let Some(entry) = existing.next_if(|entry| entry.board() < board) {
                merged.push(entry);
            }
            let mut same = Vec::new();
            while let Some(entry) = existing.next_if(|entry| entry.board() == board) {
                same.push(entry);
            }
            let end = incoming.iter().position(|new| arena.board(new) != board);
            let (mine, others) = incoming.split_at_mut(end.unwrap_or(incoming.len()));
            incoming = others;
            let position = PositionId { key, board };
            match same.first().map(|entry| &entry.payload) {
                Some(&MergedPayload::Kept(Payload::Stub(stub))) => {
                    self.merge_overflow(position, stub, mine, merged)?;
                }
                _ => self.merge_position(position, same, mine, merged)?,
            }
        }
        merged.extend(existing);
        Ok(())
    }

    /// Merges incoming records of a position into its records in a block.
    fn merge_position<'b>(
        &mut self,
        position: PositionId<'b>,
        existing: Vec<MergedEntry<'b>>,
        incoming: &mut [Incoming],
        merged: &mut Vec<MergedEntry<'b>>,
    ) -> Result<()>
    where
        'a: 'b,
    {
        let each_existing = |visit: &mut dyn FnMut(u64, &[u8]) -> Result<bool>| {
            for entry in &existing {
                if !visit(entry.import_number, entry.record())? {
                    break;
                }
            }
            Ok(())
        };
        let count = existing.len() as u64;
        let resolution = self.resolver.resolve(self.arena, incoming, count, &each_existing)?;
        let meta = &mut self.meta;
        if existing.is_empty() {
            meta.positions += 1;
        }
        let counts = &mut self.resolver.counts;
        let mut kept = Vec::with_capacity(existing.len());
        for mut entry in existing {
            let number = entry.import_number;
            let record = entry.record();
            let len = record.len() as u64;
            match resolution.action(counts, self.arena, incoming, number, record) {
                Action::Keep => kept.push(entry),
                Action::Delete => meta.remove_records(1, len),
                Action::Update(bytes) => {
                    meta.remove_records(1, len);
                    meta.add_records(1, bytes.len() as u64);
                    entry.payload = MergedPayload::Updated(bytes.to_vec());
                    kept.push(entry);
                }
            }
        }
        resolution.finish(counts, incoming);
        self.place(position, kept, &resolution, incoming, merged)
    }

    /// Puts the records of a position into its block. If they are too long for the block, puts them
    /// into chunks in the table of overflow positions.
    fn place<'b>(
        &mut self,
        position: PositionId<'b>,
        kept: Vec<MergedEntry<'b>>,
        resolution: &Resolution,
        incoming: &[Incoming],
        merged: &mut Vec<MergedEntry<'b>>,
    ) -> Result<()>
    where
        'a: 'b,
    {
        let width = self.width();
        let stored = || self.resolver.stored(self.arena, resolution, incoming);
        let frame = 2 + usize::from(width);
        let kept_bytes: usize = kept.iter().map(|entry| entry.payload().entry_len(width)).sum();
        let new_bytes: usize = stored().map(|(_, record)| frame + record.len()).sum();
        if kept_bytes + new_bytes > MAX_BLOCK_POSITION_BYTES {
            let records = kept.iter().map(|entry| (entry.import_number, entry.record()));
            let mut stub = Stub { board: position.board, ..Stub::EMPTY };
            let meta = &mut self.meta;
            let records = records.chain(stored());
            locked(self.overflow).append(meta, &position, &mut stub, width, records)?;
            for (_, record) in stored() {
                meta.add_records(1, record.len() as u64);
            }
            meta.overflow += 1;
            merged.push(MergedEntry::from_stub(position, stub));
            return Ok(());
        }
        merged.extend(kept);
        for new in incoming.iter().filter(|new| !new.is_discarded()) {
            let import_number = self.resolver.number(new);
            let payload = match resolution.updated(import_number) {
                Some(bytes) => MergedPayload::Updated(bytes.to_vec()),
                None => MergedPayload::Kept(Payload::Record(self.arena.record(new))),
            };
            let entry = MergedEntry { key: position.key, import_number, payload };
            self.meta.add_records(1, entry.record().len() as u64);
            merged.push(entry);
        }
        Ok(())
    }

    /// Merges incoming records of an overflow position into its chunks.
    fn merge_overflow<'b>(
        &mut self,
        position: PositionId<'b>,
        mut stub: Stub<'b>,
        incoming: &mut [Incoming],
        merged: &mut Vec<MergedEntry<'b>>,
    ) -> Result<()>
    where
        'a: 'b,
    {
        let width = self.width();
        let Merger { meta, arena, overflow, resolver, .. } = self;
        let mut overflow = locked(overflow);
        overflow.check(&position, &stub)?;
        let each_existing = |visit: &mut dyn FnMut(u64, &[u8]) -> Result<bool>| {
            overflow.each_record(&position, visit)
        };
        // Records of the same merge may exist already, so its first number does not separate the two.
        let first = incoming.first().map_or(u64::MAX, |new| resolver.number(new));
        let resolution = resolver.resolve(arena, incoming, stub.records, &each_existing)?;
        if let Resolution::DeleteExisting = resolution {
            overflow.remove_all(meta, &position, &mut stub)?;
            meta.remove_records(stub.records, stub.bytes);
            meta.overflow -= 1;
            resolution.finish(&mut resolver.counts, incoming);
            drop(overflow);
            return self.place(position, Vec::new(), &resolution, incoming, merged);
        }
        if resolution.reads_existing(first) {
            meta.remove_records(stub.records, stub.bytes);
            let counts = &mut resolver.counts;
            overflow.rewrite(meta, &position, &mut stub, width, |number, record| {
                resolution.action(counts, arena, incoming, number, record)
            })?;
            meta.add_records(stub.records, stub.bytes);
        }
        resolution.finish(&mut resolver.counts, incoming);
        let Stub { records, bytes, .. } = stub;
        let stored = resolver.stored(arena, &resolution, incoming);
        overflow.append(meta, &position, &mut stub, width, stored)?;
        meta.add_records(stub.records - records, stub.bytes - bytes);
        merged.push(MergedEntry::from_stub(position, stub));
        Ok(())
    }
}

impl Meta {
    fn add_records(&mut self, records: u64, bytes: u64) {
        self.records += records;
        self.record_bytes += bytes;
    }

    fn remove_records(&mut self, records: u64, bytes: u64) {
        self.records = self.records.saturating_sub(records);
        self.record_bytes = self.record_bytes.saturating_sub(bytes);
    }

    /// Adds the difference that the merge of a block makes to these totals.
    fn add_changes(&mut self, before: &Meta, after: &Meta) {
        let change = |total: &mut u64, before: u64, after: u64| {
            *total = total.wrapping_add(after.wrapping_sub(before));
        };
        change(&mut self.records, before.records, after.records);
        change(&mut self.record_bytes, before.record_bytes, after.record_bytes);
        change(&mut self.positions, before.positions, after.positions);
        change(&mut self.overflow, before.overflow, after.overflow);
        change(&mut self.chunks, before.chunks, after.chunks);
        self.chunks_digest.add(after.chunks_digest);
        self.chunks_digest.remove(before.chunks_digest);
    }
}

impl StoreHeader {
    /// Resets the totals in the header for this number of blocks, of which none is counted yet.
    fn begin_blocks(&mut self, blocks: u64) {
        self.checks.clear();
        let meta = &mut self.meta;
        (meta.blocks, meta.block_bytes, meta.blocks_digest) = (blocks, 0, Digest::default());
    }

    fn add_block(&mut self, number: u64, bytes: &[u8]) {
        self.meta.block_bytes += bytes.len() as u64;
        self.meta.blocks_digest.add(Digest::from_block(number, &[bytes]));
    }

    fn remove_block(&mut self, number: u64, bytes: &[u8]) {
        self.meta.block_bytes = self.meta.block_bytes.wrapping_sub(bytes.len() as u64);
        self.meta.blocks_digest.remove(Digest::from_block(number, &[bytes]));
    }
}

/// Number of blocks that the store should have after these records, and after the records that are
/// `ahead` ([`SortedRecords::records_ahead`]). The share of records that are stored is assumed to be that of the import so far.
fn choose_blocks(meta: &Meta, incoming: &SortedRecords, so_far: &ImportCounts, ahead: f64) -> u64 {
    let count = incoming.len();
    let width = u64::from(width_of(meta.next_import_number + count));
    let fresh = (incoming.record_bytes() + count * (width + 3)) as f64;
    let stored = if so_far.read == 0 { 1.0 } else { so_far.stored as f64 / so_far.read as f64 };
    let stored = stored * (1.0 + ahead);
    let bytes = meta.block_bytes + (fresh * stored) as u64;
    let records = meta.records + (count as f64 * stored) as u64;
    let wanted = blocks_for(bytes, records);
    let most_change = count >= meta.blocks / 2;
    if most_change {
        // A rewrite of all blocks costs little more, so a small deviation is reason enough.
        let is_near = meta.blocks.abs_diff(wanted) <= meta.blocks / 100;
        return if is_near { meta.blocks } else { wanted };
    }
    // Blocks are only added, with a reserve, so that the next merges need no rewrite.
    let missing = wanted.saturating_sub(meta.blocks);
    let reserve = wanted / 16;
    if missing <= meta.blocks / 50 { meta.blocks } else { wanted + reserve }
}

/// Number of blocks for which few blocks are longer than a page. The sizes of redb's pages are
/// powers of two, so a block that is slightly too long takes twice the space. The records of a
/// block are a random sample. So the length of a block varies with the square root of its number of
/// records.
fn blocks_for(bytes: u64, records: u64) -> u64 {
    let page = (BLOCK_PAGE_BYTES - BLOCK_PAGE_OVERHEAD) as f64;
    let entry = bytes as f64 / records.max(1) as f64;
    if bytes as f64 <= page {
        return 1;
    }
    // About one block in a hundred is longer than the mean by 2.3 standard deviations.
    let spread = 2.3 * (page / entry).sqrt() * entry;
    (bytes as f64 / (page - spread).max(page / 2.0)).ceil() as u64
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use epdb_chess::model::{EpdRecord, Position};

    /// A block that outgrows its page takes two.
    #[test]
    fn blocks_fill_their_pages_while_a_store_grows_by_little() {
        let mut batch = Batch::new(1 << 20);
        batch.push(0, &EpdRecord::new(Position::START)).unwrap();
        let one = SortedRecords::from_batch(&mut batch);
        let mut meta = Meta { blocks: 100, ..Meta::EMPTY };
        let entry = 29;
        meta.records = 100 * 2100;
        while meta.records < 200 * 2100 {
            meta.records += meta.records / 200;
            meta.block_bytes = meta.records * entry;
            meta.blocks = choose_blocks(&meta, &one, &ImportCounts::default(), 0.0);
            let mean = meta.block_bytes as f64 / meta.blocks as f64;
            let least_spread = (mean / entry as f64).sqrt() * entry as f64;
            let page = (BLOCK_PAGE_BYTES - BLOCK_PAGE_OVERHEAD) as f64;
            assert!(mean + 1.3 * least_spread < page && mean > 0.85 * page, "{mean}");
        }
        assert!(meta.blocks > 200);
    }
}

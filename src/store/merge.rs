//! Merging a sorted batch into the blocks: each touched block is read once and written once, in
//! order of the keys.
//!
//! Keys are spread evenly over a number of blocks that is chosen so that blocks fill the pages in
//! which redb keeps values, whose sizes are powers of two. When the number no longer fits, the
//! merge writes all blocks anew.

use std::collections::VecDeque;
use std::ops::{Bound, Range};

use redb::{ReadableTable, Table, WriteTransaction};

use super::batch::{Arena, Batch, Incoming};
use super::block::{
    Block, BlockWriter, Bucket, BucketWriter, Damage, Payload, Stub, chunk, width_of,
};
use super::error::{Result, damaged};
use super::journal::ImportCounts;
use super::resolve::{Action, Resolution, Resolver};
use super::schema::{self, CHUNK_BYTES, CROWDED_BYTES, Digest, Header, Meta, spread};
use super::{KeyFunction, key_of_board};
use crate::codec::record;

/// The page that blocks should fill, and what redb needs of it.
const PAGE_BYTES: usize = 64 << 10;
const PAGE_OVERHEAD: usize = 64;

/// Merges the batch and writes into the header what the store then knows of itself. Everything
/// that is read is checked first: nothing is written on what contradicts itself. The `last` batch of an
/// import leaves no more and no fewer blocks than fit, whatever became of duplicates.
pub(super) fn merge(
    transaction: &WriteTransaction,
    key: KeyFunction,
    header: &mut Header,
    batch: &mut Batch,
    resolver: &mut Resolver,
    last: bool,
) -> Result<()> {
    batch.sort();
    let old_blocks = header.meta.blocks;
    let blocks = choose_blocks(&header.meta, batch, &resolver.counts);
    header.meta.next_import_number += batch.len() as u64;
    header.meta.commit += 1;
    let mut merger = Merger {
        key,
        header,
        arena: &batch.arena,
        crowded: transaction.open_table(schema::CROWDED)?,
        resolver,
    };
    if blocks == old_blocks {
        merger.touch_blocks(transaction, &mut batch.index)?;
    } else {
        merger.rewrite_blocks(transaction, blocks, &mut batch.index)?;
    }
    let meta = &merger.header.meta;
    let fitting = blocks_for(meta.block_bytes, meta.records);
    if last && fitting.abs_diff(blocks) > blocks / 8 {
        merger.header.meta.commit += 1;
        merger.rewrite_blocks(transaction, fitting, &mut [])?;
    }
    Ok(())
}

/// How many blocks the store should have with the batch in it, if as much of it is stored as of
/// what the import brought so far.
fn choose_blocks(meta: &Meta, batch: &Batch, so_far: &ImportCounts) -> u64 {
    let width = usize::from(width_of(meta.next_import_number + batch.len() as u64));
    let fresh = (batch.record_bytes() + batch.len() * (width + 3)) as f64;
    let stored = if so_far.read == 0 { 1.0 } else { so_far.stored as f64 / so_far.read as f64 };
    let bytes = meta.block_bytes + (fresh * stored) as u64;
    let records = meta.records + (batch.len() as f64 * stored) as u64;
    let wanted = blocks_for(bytes, records);
    let all_are_touched = batch.len() as u64 >= meta.blocks / 2;
    let (slack, reserve) = if all_are_touched {
        (meta.blocks.abs_diff(wanted), 0)
    } else {
        (wanted.saturating_sub(meta.blocks), wanted / 8)
    };
    let bearable = meta.blocks / if all_are_touched { 100 } else { 8 };
    if slack <= bearable { meta.blocks } else { wanted + reserve }
}

/// So many blocks that few of them outgrow a page. The records of a block are a random sample, so
/// its length varies with the root of their number.
fn blocks_for(bytes: u64, records: u64) -> u64 {
    let page = (PAGE_BYTES - PAGE_OVERHEAD) as f64;
    let entry = bytes as f64 / records.max(1) as f64;
    if bytes as f64 <= page {
        return 1;
    }
    let spread = 2.3 * (page / entry).sqrt() * entry;
    (bytes as f64 / (page - spread).max(page / 2.0)).ceil() as u64
}

struct Merger<'t, 'a, 'r> {
    key: KeyFunction,
    header: &'a mut Header,
    arena: &'a Arena,
    crowded: Table<'t, &'static [u8], &'static [u8]>,
    resolver: &'a mut Resolver<'r>,
}

/// A block read for merging: its bytes, and its entries with their whole keys.
struct LoadedBlock {
    bytes: Vec<u8>,
    entries: Vec<LoadedEntry>,
}

struct LoadedEntry {
    key: u64,
    import_number: u64,
    payload: LoadedPayload,
}

enum LoadedPayload {
    Record(Range<usize>),
    Stub { board: Range<usize>, stub: Stub<'static> },
}

/// An entry on its way into a block.
struct MergedEntry<'b> {
    key: u64,
    import_number: u64,
    payload: MergedPayload<'b>,
}

enum MergedPayload<'b> {
    Kept(Payload<'b>),
    Updated(Vec<u8>),
}

impl MergedPayload<'_> {
    fn payload(&self) -> Payload<'_> {
        match self {
            MergedPayload::Kept(payload) => *payload,
            MergedPayload::Updated(bytes) => Payload::Record(bytes),
        }
    }
}

impl LoadedBlock {
    /// Checks all of a block; `announced` is what the store keeps of its header.
    fn new(key: KeyFunction, number: u64, announced: u32, bytes: Vec<u8>) -> Result<LoadedBlock> {
        let place = |damage: Damage| damaged(format!("block {number}"), damage.0);
        let block = Block::new(number, &bytes).map_err(place)?;
        let mut entries = Vec::with_capacity(block.entry_count().min(1 << 16) as usize);
        let mut keyless = false;
        let at = |part: &[u8]| {
            let start = part.as_ptr() as usize - bytes.as_ptr() as usize;
            start..start + part.len()
        };
        block
            .each_entry(announced, |_, entry| {
                let (board, payload) = match entry.payload {
                    Payload::Record(record) => (
                        record::board_of(record).unwrap_or_default(),
                        LoadedPayload::Record(at(record)),
                    ),
                    Payload::Stub(stub) => {
                        let (board, at) = (stub.board, at(stub.board));
                        (
                            board,
                            LoadedPayload::Stub { board: at, stub: Stub { board: &[], ..stub } },
                        )
                    }
                };
                let key = key_of_board(key, board);
                keyless |= key.is_none();
                let key = key.unwrap_or_default();
                entries.push(LoadedEntry { key, import_number: entry.import_number, payload });
            })
            .map_err(place)?;
        if keyless {
            return Err(damaged(format!("block {number}"), "a record has no board"));
        }
        Ok(LoadedBlock { bytes, entries })
    }

    fn out<'b>(&'b self, entry: &'b LoadedEntry) -> MergedEntry<'b> {
        let part = |range: &Range<usize>| self.bytes.get(range.clone()).unwrap_or_default();
        let payload = match &entry.payload {
            LoadedPayload::Record(range) => Payload::Record(part(range)),
            LoadedPayload::Stub { board, stub } => {
                Payload::Stub(Stub { board: part(board), ..*stub })
            }
        };
        let (key, import_number) = (entry.key, entry.import_number);
        MergedEntry { key, import_number, payload: MergedPayload::Kept(payload) }
    }
}

impl<'a> Merger<'_, 'a, '_> {
    /// Merges into the blocks that incoming records belong to.
    fn touch_blocks(
        &mut self,
        transaction: &WriteTransaction,
        incoming: &mut [Incoming],
    ) -> Result<()> {
        let mut table = transaction.open_table(schema::BLOCKS)?;
        let mut rest = incoming;
        while let Some(first) = rest.first() {
            let (number, _) = spread(first.key, self.header.meta.blocks);
            let (mine, others) = self.split_off(rest, number);
            rest = others;
            let bytes = table.get(number)?.map(|bytes| bytes.value().to_vec());
            let loaded = self.load(number, bytes)?;
            let existing = loaded.entries.iter().map(|entry| loaded.out(entry)).collect();
            let (bytes, check) = self.merge_block(number, existing, mine)?;
            self.header.remove_block(number, &loaded.bytes);
            self.header.add_block(number, &bytes);
            if let Some(announced) = self.header.checks.get_mut(number as usize) {
                *announced = check;
            }
            table.insert(number, bytes.as_slice())?;
        }
        Ok(())
    }

    /// Takes a block as it is in the store.
    fn load(&self, number: u64, bytes: Option<Vec<u8>>) -> Result<LoadedBlock> {
        let place = || format!("block {number}");
        let bytes = bytes.ok_or_else(|| damaged(place(), "it is missing"))?;
        let announced = self.header.checks.get(number as usize).copied();
        let announced = announced.ok_or_else(|| damaged(place(), "it is one too many"))?;
        LoadedBlock::new(self.key, number, announced, bytes)
    }

    /// The incoming records of a block, and those behind.
    fn split_off<'n>(
        &self,
        incoming: &'n mut [Incoming],
        number: u64,
    ) -> (&'n mut [Incoming], &'n mut [Incoming]) {
        let end =
            incoming.partition_point(|new| spread(new.key, self.header.meta.blocks).0 <= number);
        incoming.split_at_mut(end)
    }

    /// Writes all blocks anew, spread over another number of them.
    fn rewrite_blocks(
        &mut self,
        transaction: &WriteTransaction,
        blocks: u64,
        incoming: &mut [Incoming],
    ) -> Result<()> {
        let old_table = transaction.open_table(schema::BLOCKS)?;
        let mut new_table = transaction.open_table(schema::NEW_BLOCKS)?;
        let mut cursor = new_table.upper_bound_mut(Bound::<u64>::Unbounded)?;
        let old_blocks = self.header.meta.blocks;
        let mut old_rows = old_table.range(..old_blocks)?;
        let mut loaded: VecDeque<LoadedBlock> = VecDeque::new();
        // The block in front of which the first entry not yet merged lies.
        let mut first_entry = 0;
        let mut loaded_to = 0;
        let mut rest = incoming;
        let mut new_checks = Vec::new();
        let mut written = (0, Digest::default());
        self.header.meta.blocks = blocks;
        for number in 0..blocks {
            let reach = u128::from(number + 1) * u128::from(old_blocks);
            while loaded_to < old_blocks && u128::from(loaded_to) * u128::from(blocks) < reach {
                let row = old_rows.next().transpose()?;
                let row = row.filter(|(old_number, _)| old_number.value() == loaded_to);
                let block = self.load(loaded_to, row.map(|(_, bytes)| bytes.value().to_vec()))?;
                self.header.remove_block(loaded_to, &block.bytes);
                loaded.push_back(block);
                loaded_to += 1;
            }
            let (mine, others) = self.split_off(rest, number);
            rest = others;
            let mut existing = Vec::new();
            let (mut spent, mut next_entry) = (0, first_entry);
            for block in &loaded {
                let entries = block.entries.get(next_entry..).unwrap_or_default();
                let end = entries.partition_point(|entry| spread(entry.key, blocks).0 <= number);
                existing.extend(entries[..end].iter().map(|entry| block.out(entry)));
                if end < entries.len() {
                    next_entry += end;
                    break;
                }
                (spent, next_entry) = (spent + 1, 0);
            }
            let (bytes, check) = self.merge_block(number, existing, mine)?;
            new_checks.push(check);
            written.0 += bytes.len() as u64;
            written.1.add(Digest::of_block(number, &bytes));
            cursor.insert_before(number, bytes.as_slice())?;
            loaded.drain(..spent);
            first_entry = next_entry;
        }
        let meta = &mut self.header.meta;
        if (meta.block_bytes, meta.blocks_digest) != (0, Digest::default()) {
            return Err(damaged(
                "the store",
                "its blocks are not those that the meta row announces",
            ));
        }
        (meta.block_bytes, meta.blocks_digest) = written;
        self.header.checks = new_checks;
        cursor.close()?;
        drop(old_rows);
        drop((new_table, old_table));
        transaction.delete_table(schema::BLOCKS)?;
        transaction.rename_table(schema::NEW_BLOCKS, schema::BLOCKS)?;
        Ok(())
    }

    /// The bytes of a block out of its existing entries and incoming records, both in order, and the checksum
    /// of its header.
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
        let Meta { commit, blocks, .. } = self.header.meta;
        let mut block = BlockWriter::new(number, commit, self.width(), merged.len());
        for out in &merged {
            let (_, fraction) = spread(out.key, blocks);
            block.push(fraction, out.import_number, out.payload.payload());
        }
        Ok(block.finish())
    }

    fn width(&self) -> u8 {
        width_of(self.header.meta.next_import_number)
    }

    /// Merges the records of one key: of one position, or of several whose keys collide.
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
            let (key, board) = (first.key, arena.board(first));
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
                    self.merge_crowd(position, stub, mine, merged)?;
                }
                _ => self.merge_position(position, same, mine, merged)?,
            }
        }
        merged.extend(existing);
        Ok(())
    }

    /// Merges incoming records of a position into those that its block holds.
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
        let mut resolution =
            self.resolver.resolve(self.arena, incoming, existing.len() as u64, &each_existing)?;
        if existing.is_empty() {
            self.header.meta.positions += 1;
        }
        let counts = &mut self.resolver.counts;
        let mut kept = Vec::with_capacity(existing.len());
        for mut entry in existing {
            let was = entry.record().len() as u64;
            match resolution.action(
                counts,
                self.arena,
                incoming,
                entry.import_number,
                entry.record(),
            ) {
                Action::Keep => kept.push(entry),
                Action::Delete => self.header.meta.remove_records(1, was),
                Action::Update(bytes) => {
                    self.header.meta.remove_records(1, was);
                    self.header.meta.add_records(1, bytes.len() as u64);
                    entry.payload = MergedPayload::Updated(bytes.to_vec());
                    kept.push(entry);
                }
            }
        }
        resolution.finish(&mut self.resolver.counts, incoming);
        self.place(position, kept, &resolution, incoming, merged)
    }

    /// Puts the records of a position into its block, or apart from it if they are too many.
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
        let (records, bytes) = self.stored_size(resolution, incoming);
        self.header.meta.add_records(records, bytes);
        let width = self.width();
        let frame = 2 + u64::from(width);
        let kept_bytes: usize =
            kept.iter().map(|entry| entry.payload.payload().entry_len(width)).sum();
        if kept_bytes as u64 + bytes + records * frame <= CROWDED_BYTES as u64 {
            merged.extend(kept);
            for new in incoming.iter().filter(|new| !new.is_discarded()) {
                let import_number = self.resolver.number(new);
                let payload = match resolution.changed(import_number) {
                    Some(bytes) => MergedPayload::Updated(bytes.to_vec()),
                    None => MergedPayload::Kept(Payload::Record(self.arena.record(new))),
                };
                merged.push(MergedEntry { key: position.key, import_number, payload });
            }
            return Ok(());
        }
        let mut stub = Stub {
            board: position.board,
            records: kept.len() as u64,
            bytes: kept.iter().map(|entry| entry.record().len() as u64).sum(),
            first_crc: 0,
            digest: Digest::default(),
        };
        let existing_records = kept.iter().map(|entry| (entry.import_number, entry.record()));
        self.append(&position, &mut stub, existing_records, resolution, incoming)?;
        stub.records += records;
        stub.bytes += bytes;
        self.header.meta.crowded += 1;
        merged.push(position.stub(stub));
        Ok(())
    }

    /// How many incoming records will be stored, and their bytes.
    fn stored_size(&self, resolution: &Resolution, incoming: &[Incoming]) -> (u64, u64) {
        let len = |new: &Incoming| {
            let changed = resolution.changed(self.resolver.number(new));
            changed.unwrap_or(self.arena.record(new)).len() as u64
        };
        let stored = incoming.iter().filter(|new| !new.is_discarded());
        stored.fold((0, 0), |(records, bytes), new| (records + 1, bytes + len(new)))
    }

    /// Merges incoming records of a position into its chunks.
    fn merge_crowd<'b>(
        &mut self,
        position: PositionId<'b>,
        mut stub: Stub<'b>,
        incoming: &mut [Incoming],
        merged: &mut Vec<MergedEntry<'b>>,
    ) -> Result<()>
    where
        'a: 'b,
    {
        self.check_crowd(&position, &stub)?;
        let crowded = &self.crowded;
        let each_existing = |visit: &mut dyn FnMut(u64, &[u8]) -> Result<bool>| {
            let (first, last) = position.chunk_keys();
            for row in crowded.range(first.as_slice()..=last.as_slice())? {
                let (_, bytes) = row?;
                for (number, record) in read_chunk(position.key, bytes.value())? {
                    if !visit(number, record)? {
                        return Ok(());
                    }
                }
            }
            Ok(())
        };
        let mut resolution =
            self.resolver.resolve(self.arena, incoming, stub.records, &each_existing)?;
        if let Resolution::DeleteExisting = resolution {
            for key in self.chunks(&position)? {
                self.remove_chunk(&mut stub, &key)?;
            }
            self.header.meta.remove_records(stub.records, stub.bytes);
            self.header.meta.crowded -= 1;
            resolution.finish(&mut self.resolver.counts, incoming);
            return self.place(position, Vec::new(), &resolution, incoming, merged);
        }
        if resolution.reads_existing(self.resolver.first_number) {
            self.rewrite_chunks(&position, &mut stub, &mut resolution, incoming)?;
        }
        resolution.finish(&mut self.resolver.counts, incoming);
        let (records, bytes) = self.stored_size(&resolution, incoming);
        self.header.meta.add_records(records, bytes);
        self.append(&position, &mut stub, std::iter::empty(), &resolution, incoming)?;
        stub.records += records;
        stub.bytes += bytes;
        merged.push(position.stub(stub));
        Ok(())
    }

    /// Applies a resolution to the existing records of a crowded position.
    fn rewrite_chunks(
        &mut self,
        position: &PositionId,
        stub: &mut Stub,
        resolution: &mut Resolution,
        incoming: &[Incoming],
    ) -> Result<()> {
        let width = self.width();
        for key in self.chunks(position)? {
            let Some(bytes) = self.crowded.get(key.as_slice())?.map(|row| row.value().to_vec())
            else {
                continue;
            };
            let mut writer = BucketWriter::default();
            let mut is_unchanged = true;
            for (number, record) in read_chunk(position.key, &bytes)? {
                let counts = &mut self.resolver.counts;
                let was = record.len() as u64;
                let becomes = match resolution.action(counts, self.arena, incoming, number, record)
                {
                    Action::Keep => Some(record),
                    Action::Delete => None,
                    Action::Update(bytes) => Some(bytes),
                };
                let (records, bytes) = becomes.map_or((0, 0), |record| (1, record.len() as u64));
                is_unchanged &= becomes == Some(record);
                self.header.meta.remove_records(1, was);
                self.header.meta.add_records(records, bytes);
                stub.records = stub.records - 1 + records;
                stub.bytes = stub.bytes - was + bytes;
                if let Some(record) = becomes {
                    chunk::push(&mut writer, width, number, record);
                }
            }
            match (is_unchanged, writer.is_empty()) {
                (true, _) => {}
                (_, true) => self.remove_chunk(stub, &key)?,
                _ => {
                    let bytes = chunk::finish(&mut writer, position.key, width);
                    self.put_chunk(stub, &key, &bytes)?;
                }
            }
        }
        Ok(())
    }

    /// Appends records to the chunks of a position, the last of which is filled up first.
    fn append<'o>(
        &mut self,
        position: &PositionId,
        stub: &mut Stub,
        existing: impl Iterator<Item = (u64, &'o [u8])>,
        resolution: &'o Resolution,
        incoming: &[Incoming],
    ) -> Result<()>
    where
        'a: 'o,
    {
        let width = self.width();
        let mut writer = BucketWriter::default();
        let mut key = Vec::new();
        let (first, last) = position.chunk_keys();
        let latest = self.crowded.range(first.as_slice()..=last.as_slice())?.next_back();
        if let Some((chunk_key, bytes)) = latest.transpose()? {
            key = chunk_key.value().to_vec();
            for (number, record) in read_chunk(position.key, bytes.value())? {
                chunk::push(&mut writer, width, number, record);
            }
        }
        let first_number = self.resolver.first_number;
        let incoming = incoming.iter().filter(|new| !new.is_discarded()).map(|new| {
            let number = first_number + u64::from(new.nth);
            (number, resolution.changed(number).unwrap_or(self.arena.record(new)))
        });
        let mut full = Vec::new();
        for (number, record) in existing.chain(incoming) {
            if !writer.is_empty() && writer.len() + record.len() + 16 > CHUNK_BYTES {
                full.push((key, chunk::finish(&mut writer, position.key, width)));
                key = Vec::new();
            }
            if writer.is_empty() {
                key = schema::crowded_key(position.key, position.board, number);
            }
            chunk::push(&mut writer, width, number, record);
        }
        if !writer.is_empty() {
            full.push((key, chunk::finish(&mut writer, position.key, width)));
        }
        for (key, bytes) in full {
            self.put_chunk(stub, &key, &bytes)?;
        }
        let first = self.crowded.range(first.as_slice()..=last.as_slice())?.next().transpose()?;
        if let Some((_, bytes)) = first {
            stub.first_crc = open_chunk(position.key, bytes.value())?.crc();
        }
        Ok(())
    }

    /// Holds all chunks of a position against what its stub announces.
    fn check_crowd(&self, position: &PositionId, stub: &Stub) -> Result<()> {
        let (first, last) = position.chunk_keys();
        let mut found = Stub { records: 0, bytes: 0, first_crc: 0, digest: Digest(0), ..*stub };
        for row in self.crowded.range(first.as_slice()..=last.as_slice())? {
            let (key, bytes) = row?;
            let records = read_chunk(position.key, bytes.value())?;
            if found.records == 0 {
                found.first_crc = open_chunk(position.key, bytes.value())?.crc();
            }
            found.records += records.len() as u64;
            found.bytes += records.iter().map(|(_, record)| record.len() as u64).sum::<u64>();
            found.digest.add(Digest::of_chunk(key.value(), bytes.value()));
        }
        if found == *stub {
            return Ok(());
        }
        let place = format!("crowded position {:016x}", position.key);
        Err(damaged(place, "its block announces other records than there are"))
    }

    fn put_chunk(&mut self, stub: &mut Stub, key: &[u8], bytes: &[u8]) -> Result<()> {
        let meta = &mut self.header.meta;
        let new = Digest::of_chunk(key, bytes);
        match self.crowded.insert(key, bytes)? {
            Some(earlier) => {
                let earlier = Digest::of_chunk(key, earlier.value());
                stub.digest.remove(earlier);
                meta.chunks_digest.remove(earlier);
            }
            None => meta.chunks += 1,
        }
        stub.digest.add(new);
        meta.chunks_digest.add(new);
        Ok(())
    }

    fn remove_chunk(&mut self, stub: &mut Stub, key: &[u8]) -> Result<()> {
        let meta = &mut self.header.meta;
        if let Some(earlier) = self.crowded.remove(key)? {
            let earlier = Digest::of_chunk(key, earlier.value());
            stub.digest.remove(earlier);
            meta.chunks_digest.remove(earlier);
            meta.chunks = meta.chunks.saturating_sub(1);
        }
        Ok(())
    }

    /// The keys of a position's chunks.
    fn chunks(&self, position: &PositionId) -> Result<Vec<Vec<u8>>> {
        let (first, last) = position.chunk_keys();
        let rows = self.crowded.range(first.as_slice()..=last.as_slice())?;
        rows.map(|row| Ok(row?.0.value().to_vec())).collect()
    }
}

/// A position as the tables name it.
#[derive(Copy, Clone)]
struct PositionId<'b> {
    key: u64,
    board: &'b [u8],
}

impl<'b> PositionId<'b> {
    fn chunk_keys(&self) -> (Vec<u8>, Vec<u8>) {
        let key = |number| schema::crowded_key(self.key, self.board, number);
        (key(0), key(u64::MAX))
    }

    fn stub(&self, stub: Stub<'b>) -> MergedEntry<'b> {
        let payload = MergedPayload::Kept(Payload::Stub(stub));
        MergedEntry { key: self.key, import_number: 0, payload }
    }
}

impl MergedEntry<'_> {
    /// The encoded record; empty for a stub.
    fn record(&self) -> &[u8] {
        match self.payload.payload() {
            Payload::Record(record) => record,
            Payload::Stub(_) => &[],
        }
    }

    fn board(&self) -> &[u8] {
        match self.payload.payload() {
            Payload::Record(record) => record::board_of(record).unwrap_or_default(),
            Payload::Stub(stub) => stub.board,
        }
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
}

impl Header {
    fn add_block(&mut self, number: u64, bytes: &[u8]) {
        self.meta.block_bytes += bytes.len() as u64;
        self.meta.blocks_digest.add(Digest::of_block(number, bytes));
    }

    fn remove_block(&mut self, number: u64, bytes: &[u8]) {
        self.meta.block_bytes = self.meta.block_bytes.wrapping_sub(bytes.len() as u64);
        self.meta.blocks_digest.remove(Digest::of_block(number, bytes));
    }
}

fn in_crowd(key: u64) -> impl Fn(Damage) -> super::Fault {
    move |damage| damaged(format!("crowded position {key:016x}"), damage.0)
}

fn open_chunk(key: u64, bytes: &[u8]) -> Result<Bucket<'_>> {
    chunk::read(key, bytes).map_err(in_crowd(key))
}

fn read_chunk(key: u64, bytes: &[u8]) -> Result<Vec<(u64, &[u8])>> {
    let records = open_chunk(key, bytes)?.entries().map(|entry| match entry {
        Ok(entry) => match entry.payload {
            Payload::Record(record) => Ok((entry.import_number, record)),
            Payload::Stub(_) => Err(Damage("a chunk holds a stub")),
        },
        Err(damage) => Err(damage),
    });
    records.collect::<std::result::Result<_, _>>().map_err(in_crowd(key))
}

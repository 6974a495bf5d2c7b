//! Merging a sorted batch into the blocks: each touched block is read once and written once, in
//! order of the keys.
//!
//! Keys are spread evenly over a number of blocks that is chosen so that blocks fill the pages in
//! which redb keeps values, whose sizes are powers of two. When the number no longer fits, the
//! merge writes all blocks anew.

use std::collections::VecDeque;
use std::ops::{Bound, Range};

use redb::{ReadableTable, Table, WriteTransaction};

use super::batch::{Arena, Batch, New};
use super::block::{
    Block, BlockWriter, Bucket, BucketWriter, Damage, Payload, Stub, chunk, width_of,
};
use super::error::{Result, damaged};
use super::journal::Counts;
use super::resolve::{Fate, Plan, Resolver};
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
fn choose_blocks(meta: &Meta, batch: &Batch, so_far: &Counts) -> u64 {
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
struct Loaded {
    bytes: Vec<u8>,
    entries: Vec<Old>,
}

struct Old {
    key: u64,
    import_number: u64,
    payload: OldPayload,
}

enum OldPayload {
    Record(Range<usize>),
    Stub { board: Range<usize>, stub: Stub<'static> },
}

/// An entry on its way into a block.
struct Out<'b> {
    key: u64,
    import_number: u64,
    payload: OutPayload<'b>,
}

enum OutPayload<'b> {
    Kept(Payload<'b>),
    Changed(Vec<u8>),
}

impl OutPayload<'_> {
    fn payload(&self) -> Payload<'_> {
        match self {
            OutPayload::Kept(payload) => *payload,
            OutPayload::Changed(bytes) => Payload::Record(bytes),
        }
    }
}

impl Loaded {
    /// Checks all of a block; `announced` is what the store keeps of its header.
    fn new(key: KeyFunction, number: u64, announced: u32, bytes: Vec<u8>) -> Result<Loaded> {
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
                        OldPayload::Record(at(record)),
                    ),
                    Payload::Stub(stub) => {
                        let (board, at) = (stub.board, at(stub.board));
                        (board, OldPayload::Stub { board: at, stub: Stub { board: &[], ..stub } })
                    }
                };
                let key = key_of_board(key, board);
                keyless |= key.is_none();
                let key = key.unwrap_or_default();
                entries.push(Old { key, import_number: entry.import_number, payload });
            })
            .map_err(place)?;
        if keyless {
            return Err(damaged(format!("block {number}"), "a record has no board"));
        }
        Ok(Loaded { bytes, entries })
    }

    fn out<'b>(&'b self, old: &'b Old) -> Out<'b> {
        let part = |range: &Range<usize>| self.bytes.get(range.clone()).unwrap_or_default();
        let payload = match &old.payload {
            OldPayload::Record(range) => Payload::Record(part(range)),
            OldPayload::Stub { board, stub } => Payload::Stub(Stub { board: part(board), ..*stub }),
        };
        let (key, import_number) = (old.key, old.import_number);
        Out { key, import_number, payload: OutPayload::Kept(payload) }
    }
}

impl<'a> Merger<'_, 'a, '_> {
    /// Merges into the blocks that new records belong to.
    fn touch_blocks(&mut self, transaction: &WriteTransaction, news: &mut [New]) -> Result<()> {
        let mut table = transaction.open_table(schema::BLOCKS)?;
        let mut rest = news;
        while let Some(first) = rest.first() {
            let (number, _) = spread(first.key, self.header.meta.blocks);
            let (mine, others) = self.split_off(rest, number);
            rest = others;
            let bytes = table.get(number)?.map(|bytes| bytes.value().to_vec());
            let loaded = self.load(number, bytes)?;
            let olds = loaded.entries.iter().map(|old| loaded.out(old)).collect();
            let (bytes, check) = self.merge_block(number, olds, mine)?;
            self.header.discount_block(number, &loaded.bytes);
            self.header.count_block(number, &bytes);
            if let Some(announced) = self.header.checks.get_mut(number as usize) {
                *announced = check;
            }
            table.insert(number, bytes.as_slice())?;
        }
        Ok(())
    }

    /// Takes a block as it is in the store.
    fn load(&self, number: u64, bytes: Option<Vec<u8>>) -> Result<Loaded> {
        let place = || format!("block {number}");
        let bytes = bytes.ok_or_else(|| damaged(place(), "it is missing"))?;
        let announced = self.header.checks.get(number as usize).copied();
        let announced = announced.ok_or_else(|| damaged(place(), "it is one too many"))?;
        Loaded::new(self.key, number, announced, bytes)
    }

    /// The new records of a block, and those behind.
    fn split_off<'n>(&self, news: &'n mut [New], number: u64) -> (&'n mut [New], &'n mut [New]) {
        let end = news.partition_point(|new| spread(new.key, self.header.meta.blocks).0 <= number);
        news.split_at_mut(end)
    }

    /// Writes all blocks anew, spread over another number of them.
    fn rewrite_blocks(
        &mut self,
        transaction: &WriteTransaction,
        blocks: u64,
        news: &mut [New],
    ) -> Result<()> {
        let old_table = transaction.open_table(schema::BLOCKS)?;
        let mut new_table = transaction.open_table(schema::NEW_BLOCKS)?;
        let mut cursor = new_table.upper_bound_mut(Bound::<u64>::Unbounded)?;
        let old_blocks = self.header.meta.blocks;
        let mut old_rows = old_table.range(..old_blocks)?;
        let mut loaded: VecDeque<Loaded> = VecDeque::new();
        // The block in front of which the first entry not yet merged lies.
        let mut first_entry = 0;
        let mut loaded_to = 0;
        let mut rest = news;
        let mut new_checks = Vec::new();
        let mut written = (0, Digest::default());
        self.header.meta.blocks = blocks;
        for number in 0..blocks {
            let reach = u128::from(number + 1) * u128::from(old_blocks);
            while loaded_to < old_blocks && u128::from(loaded_to) * u128::from(blocks) < reach {
                let row = old_rows.next().transpose()?;
                let row = row.filter(|(old_number, _)| old_number.value() == loaded_to);
                let block = self.load(loaded_to, row.map(|(_, bytes)| bytes.value().to_vec()))?;
                self.header.discount_block(loaded_to, &block.bytes);
                loaded.push_back(block);
                loaded_to += 1;
            }
            let (mine, others) = self.split_off(rest, number);
            rest = others;
            let mut olds = Vec::new();
            let (mut spent, mut next_entry) = (0, first_entry);
            for block in &loaded {
                let entries = block.entries.get(next_entry..).unwrap_or_default();
                let end = entries.partition_point(|old| spread(old.key, blocks).0 <= number);
                olds.extend(entries[..end].iter().map(|old| block.out(old)));
                if end < entries.len() {
                    next_entry += end;
                    break;
                }
                (spent, next_entry) = (spent + 1, 0);
            }
            let (bytes, check) = self.merge_block(number, olds, mine)?;
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

    /// The bytes of a block out of its old entries and new records, both in order, and the checksum
    /// of its header.
    fn merge_block<'b>(
        &mut self,
        number: u64,
        olds: Vec<Out<'b>>,
        mut news: &mut [New],
    ) -> Result<(Vec<u8>, u32)>
    where
        'a: 'b,
    {
        self.arena.touch(news);
        let mut merged = Vec::with_capacity(olds.len() + news.len().min(1 << 12));
        let mut olds = olds.into_iter().peekable();
        while let Some(first) = news.first() {
            let key = first.key;
            while let Some(old) = olds.next_if(|old| old.key < key) {
                merged.push(old);
            }
            let mut same_key = Vec::new();
            while let Some(old) = olds.next_if(|old| old.key == key) {
                same_key.push(old);
            }
            let end = news.iter().position(|new| new.key != key);
            let (mine, others) = news.split_at_mut(end.unwrap_or(news.len()));
            news = others;
            self.merge_key(same_key, mine, &mut merged)?;
        }
        merged.extend(olds);
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
        olds: Vec<Out<'b>>,
        mut news: &mut [New],
        merged: &mut Vec<Out<'b>>,
    ) -> Result<()>
    where
        'a: 'b,
    {
        let arena = self.arena;
        let mut olds = olds.into_iter().peekable();
        while let Some(first) = news.first() {
            let (key, board) = (first.key, arena.board(first));
            while let Some(old) = olds.next_if(|old| old.board() < board) {
                merged.push(old);
            }
            let mut same = Vec::new();
            while let Some(old) = olds.next_if(|old| old.board() == board) {
                same.push(old);
            }
            let end = news.iter().position(|new| arena.board(new) != board);
            let (mine, others) = news.split_at_mut(end.unwrap_or(news.len()));
            news = others;
            let position = Place { key, board };
            match same.first().map(|old| &old.payload) {
                Some(&OutPayload::Kept(Payload::Stub(stub))) => {
                    self.merge_crowd(position, stub, mine, merged)?;
                }
                _ => self.merge_position(position, same, mine, merged)?,
            }
        }
        merged.extend(olds);
        Ok(())
    }

    /// Merges new records of a position into those that its block holds.
    fn merge_position<'b>(
        &mut self,
        position: Place<'b>,
        olds: Vec<Out<'b>>,
        news: &mut [New],
        merged: &mut Vec<Out<'b>>,
    ) -> Result<()>
    where
        'a: 'b,
    {
        let each_old = |visit: &mut dyn FnMut(u64, &[u8]) -> Result<bool>| {
            for old in &olds {
                if !visit(old.import_number, old.record())? {
                    break;
                }
            }
            Ok(())
        };
        let mut plan = self.resolver.decide(self.arena, news, olds.len() as u64, &each_old)?;
        if olds.is_empty() {
            self.header.meta.positions += 1;
        }
        let counts = &mut self.resolver.counts;
        let mut kept = Vec::with_capacity(olds.len());
        for mut old in olds {
            let was = old.record().len() as u64;
            match plan.fate(counts, self.arena, news, old.import_number, old.record()) {
                Fate::Keep => kept.push(old),
                Fate::Remove => self.header.meta.discount(1, was),
                Fate::Change(bytes) => {
                    self.header.meta.discount(1, was);
                    self.header.meta.count(1, bytes.len() as u64);
                    old.payload = OutPayload::Changed(bytes.to_vec());
                    kept.push(old);
                }
            }
        }
        plan.settle(&mut self.resolver.counts, news);
        self.place(position, kept, &plan, news, merged)
    }

    /// Puts the records of a position into its block, or apart from it if they are too many.
    fn place<'b>(
        &mut self,
        position: Place<'b>,
        kept: Vec<Out<'b>>,
        plan: &Plan,
        news: &[New],
        merged: &mut Vec<Out<'b>>,
    ) -> Result<()>
    where
        'a: 'b,
    {
        let (records, bytes) = self.survivors(plan, news);
        self.header.meta.count(records, bytes);
        let width = self.width();
        let frame = 2 + u64::from(width);
        let old_bytes: usize = kept.iter().map(|old| old.payload.payload().entry_len(width)).sum();
        if old_bytes as u64 + bytes + records * frame <= CROWDED_BYTES as u64 {
            merged.extend(kept);
            for new in news.iter().filter(|new| !new.is_gone()) {
                let import_number = self.resolver.number(new);
                let payload = match plan.changed(import_number) {
                    Some(bytes) => OutPayload::Changed(bytes.to_vec()),
                    None => OutPayload::Kept(Payload::Record(self.arena.record(new))),
                };
                merged.push(Out { key: position.key, import_number, payload });
            }
            return Ok(());
        }
        let mut stub = Stub {
            board: position.board,
            records: kept.len() as u64,
            bytes: kept.iter().map(|old| old.record().len() as u64).sum(),
            first_crc: 0,
            digest: Digest::default(),
        };
        let old_records = kept.iter().map(|old| (old.import_number, old.record()));
        self.append(&position, &mut stub, old_records, plan, news)?;
        stub.records += records;
        stub.bytes += bytes;
        self.header.meta.crowded += 1;
        merged.push(position.stub(stub));
        Ok(())
    }

    /// How many new records will be stored, and their bytes.
    fn survivors(&self, plan: &Plan, news: &[New]) -> (u64, u64) {
        let len = |new: &New| {
            let changed = plan.changed(self.resolver.number(new));
            changed.unwrap_or(self.arena.record(new)).len() as u64
        };
        let stored = news.iter().filter(|new| !new.is_gone());
        stored.fold((0, 0), |(records, bytes), new| (records + 1, bytes + len(new)))
    }

    /// Merges new records of a position into its chunks.
    fn merge_crowd<'b>(
        &mut self,
        position: Place<'b>,
        mut stub: Stub<'b>,
        news: &mut [New],
        merged: &mut Vec<Out<'b>>,
    ) -> Result<()>
    where
        'a: 'b,
    {
        self.check_crowd(&position, &stub)?;
        let crowded = &self.crowded;
        let each_old = |visit: &mut dyn FnMut(u64, &[u8]) -> Result<bool>| {
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
        let mut plan = self.resolver.decide(self.arena, news, stub.records, &each_old)?;
        if let Plan::RemoveOld = plan {
            for key in self.chunks(&position)? {
                self.remove_chunk(&mut stub, &key)?;
            }
            self.header.meta.discount(stub.records, stub.bytes);
            self.header.meta.crowded -= 1;
            plan.settle(&mut self.resolver.counts, news);
            return self.place(position, Vec::new(), &plan, news, merged);
        }
        if plan.looks_at_old(self.resolver.first_number) {
            self.rewrite_chunks(&position, &mut stub, &mut plan, news)?;
        }
        plan.settle(&mut self.resolver.counts, news);
        let (records, bytes) = self.survivors(&plan, news);
        self.header.meta.count(records, bytes);
        self.append(&position, &mut stub, std::iter::empty(), &plan, news)?;
        stub.records += records;
        stub.bytes += bytes;
        merged.push(position.stub(stub));
        Ok(())
    }

    /// Applies a plan to the old records of a crowded position.
    fn rewrite_chunks(
        &mut self,
        position: &Place,
        stub: &mut Stub,
        plan: &mut Plan,
        news: &[New],
    ) -> Result<()> {
        let width = self.width();
        for key in self.chunks(position)? {
            let Some(bytes) = self.crowded.get(key.as_slice())?.map(|row| row.value().to_vec())
            else {
                continue;
            };
            let mut writer = BucketWriter::default();
            let mut as_it_was = true;
            for (number, record) in read_chunk(position.key, &bytes)? {
                let counts = &mut self.resolver.counts;
                let was = record.len() as u64;
                let becomes = match plan.fate(counts, self.arena, news, number, record) {
                    Fate::Keep => Some(record),
                    Fate::Remove => None,
                    Fate::Change(bytes) => Some(bytes),
                };
                let (records, bytes) = becomes.map_or((0, 0), |record| (1, record.len() as u64));
                as_it_was &= becomes == Some(record);
                self.header.meta.discount(1, was);
                self.header.meta.count(records, bytes);
                stub.records = stub.records - 1 + records;
                stub.bytes = stub.bytes - was + bytes;
                if let Some(record) = becomes {
                    chunk::push(&mut writer, width, number, record);
                }
            }
            match (as_it_was, writer.is_empty()) {
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
        position: &Place,
        stub: &mut Stub,
        olds: impl Iterator<Item = (u64, &'o [u8])>,
        plan: &'o Plan,
        news: &[New],
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
        let news = news.iter().filter(|new| !new.is_gone()).map(|new| {
            let number = first_number + u64::from(new.nth);
            (number, plan.changed(number).unwrap_or(self.arena.record(new)))
        });
        let mut full = Vec::new();
        for (number, record) in olds.chain(news) {
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
    fn check_crowd(&self, position: &Place, stub: &Stub) -> Result<()> {
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
                let old = Digest::of_chunk(key, earlier.value());
                stub.digest.remove(old);
                meta.chunks_digest.remove(old);
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
            let old = Digest::of_chunk(key, earlier.value());
            stub.digest.remove(old);
            meta.chunks_digest.remove(old);
            meta.chunks = meta.chunks.saturating_sub(1);
        }
        Ok(())
    }

    /// The keys of a position's chunks.
    fn chunks(&self, position: &Place) -> Result<Vec<Vec<u8>>> {
        let (first, last) = position.chunk_keys();
        let rows = self.crowded.range(first.as_slice()..=last.as_slice())?;
        rows.map(|row| Ok(row?.0.value().to_vec())).collect()
    }
}

/// A position as the tables name it.
#[derive(Copy, Clone)]
struct Place<'b> {
    key: u64,
    board: &'b [u8],
}

impl<'b> Place<'b> {
    fn chunk_keys(&self) -> (Vec<u8>, Vec<u8>) {
        let key = |number| schema::crowded_key(self.key, self.board, number);
        (key(0), key(u64::MAX))
    }

    fn stub(&self, stub: Stub<'b>) -> Out<'b> {
        let payload = OutPayload::Kept(Payload::Stub(stub));
        Out { key: self.key, import_number: 0, payload }
    }
}

impl Out<'_> {
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
    fn count(&mut self, records: u64, bytes: u64) {
        self.records += records;
        self.record_bytes += bytes;
    }

    fn discount(&mut self, records: u64, bytes: u64) {
        self.records = self.records.saturating_sub(records);
        self.record_bytes = self.record_bytes.saturating_sub(bytes);
    }
}

impl Header {
    fn count_block(&mut self, number: u64, bytes: &[u8]) {
        self.meta.block_bytes += bytes.len() as u64;
        self.meta.blocks_digest.add(Digest::of_block(number, bytes));
    }

    fn discount_block(&mut self, number: u64, bytes: &[u8]) {
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

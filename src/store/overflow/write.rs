//! Changing the records of overflow positions.

use redb::{ReadableTable, Table, WriteTransaction};

use super::{ChunkWriter, OverflowContents, PositionId, open_chunk, record_of};
use crate::block::{Damage, Stub};
use crate::error::{Fault, Result, damaged};
use crate::schema::{Digest, Meta, OVERFLOW};

/// Treatment of an existing record.
pub(crate) enum Action<'a> {
    Keep,
    Delete,
    /// Replace the record by these bytes.
    Update(&'a [u8]),
}

/// The table of chunks in a write transaction. Each change also updates the stub in the block and
/// the totals in the meta row (the header of the store).
pub(crate) struct OverflowTable<'t>(Table<'t, &'static [u8], &'static [u8]>);

impl<'t> OverflowTable<'t> {
    pub(crate) fn open(transaction: &'t WriteTransaction) -> Result<OverflowTable<'t>> {
        Ok(OverflowTable(transaction.open_table(OVERFLOW)?))
    }

    /// Compares all chunks of a position with its stub.
    pub(crate) fn check(&self, position: &PositionId, stub: &Stub) -> Result<()> {
        let mut found = OverflowContents::default();
        let (first, last) = position.chunk_keys();
        for row in self.0.range(first.as_slice()..=last.as_slice())? {
            let (row_key, bytes) = row?;
            let bytes = bytes.value();
            let bucket = open_chunk(position.key, bytes).map_err(in_overflow(position))?;
            found.add_chunk(row_key.value(), bytes, &bucket);
            for (_, record) in records_of(position, bytes)? {
                found.add_record(record);
            }
        }
        found.compare(&OverflowContents::from_stub(stub)).map_err(in_overflow(position))
    }

    /// Visits the records of a position, in order, until `visit` returns false.
    pub(crate) fn each_record(
        &self,
        position: &PositionId,
        visit: &mut dyn FnMut(u64, &[u8]) -> Result<bool>,
    ) -> Result<()> {
        let (first, last) = position.chunk_keys();
        for row in self.0.range(first.as_slice()..=last.as_slice())? {
            let (_, bytes) = row?;
            for (number, record) in records_of(position, bytes.value())? {
                if !visit(number, record)? {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Keeps, deletes or updates each record of a position, as `action` decides. In chunks that
    /// change, import numbers take `width` bytes.
    pub(crate) fn rewrite<'r>(
        &mut self,
        meta: &mut Meta,
        position: &PositionId,
        stub: &mut Stub,
        width: u8,
        mut action: impl FnMut(u64, &[u8]) -> Action<'r>,
    ) -> Result<()> {
        for row_key in self.row_keys(position)? {
            let row = self.0.get(row_key.as_slice())?.map(|row| row.value().to_vec());
            let Some(bytes) = row else { continue };
            let mut writer = ChunkWriter::new(position.key, width);
            let mut is_changed = false;
            for (number, record) in records_of(position, &bytes)? {
                let kept = match action(number, record) {
                    Action::Keep => Some(record),
                    Action::Delete => None,
                    Action::Update(bytes) => Some(bytes),
                };
                is_changed |= kept != Some(record);
                stub.records -= u64::from(kept.is_none());
                stub.bytes -= record.len() as u64;
                if let Some(kept) = kept {
                    stub.bytes += kept.len() as u64;
                    writer.push(number, kept);
                }
            }
            if !is_changed {
                continue;
            }
            if writer.is_empty() {
                self.remove(meta, stub, &row_key)?;
            } else {
                self.put(meta, stub, &row_key, &writer.finish())?;
            }
        }
        Ok(())
    }

    /// Appends records to a position. The last chunk is filled up before a new chunk begins.
    pub(crate) fn append<'r>(
        &mut self,
        meta: &mut Meta,
        position: &PositionId,
        stub: &mut Stub,
        width: u8,
        records: impl Iterator<Item = (u64, &'r [u8])>,
    ) -> Result<()> {
        let mut writer = ChunkWriter::new(position.key, width);
        let (first, last) = position.chunk_keys();
        let mut row_key = Vec::new();
        if let Some(row) = self.0.range(first.as_slice()..=last.as_slice())?.next_back() {
            let (last_key, bytes) = row?;
            row_key = last_key.value().to_vec();
            for (number, record) in records_of(position, bytes.value())? {
                writer.push(number, record);
            }
        }
        for (number, record) in records {
            if writer.is_full(record) {
                self.put(meta, stub, &row_key, &writer.finish())?;
            }
            if writer.is_empty() {
                row_key = position.chunk_key(number);
            }
            writer.push(number, record);
            stub.records += 1;
            stub.bytes += record.len() as u64;
        }
        if !writer.is_empty() {
            self.put(meta, stub, &row_key, &writer.finish())?;
        }
        if let Some(row) = self.0.range(first.as_slice()..=last.as_slice())?.next() {
            let (_, bytes) = row?;
            let bucket = open_chunk(position.key, bytes.value()).map_err(in_overflow(position))?;
            stub.first_crc = bucket.crc();
        }
        Ok(())
    }

    pub(crate) fn remove_all(
        &mut self,
        meta: &mut Meta,
        position: &PositionId,
        stub: &mut Stub,
    ) -> Result<()> {
        let row_keys = self.row_keys(position)?;
        row_keys.iter().try_for_each(|row_key| self.remove(meta, stub, row_key))
    }

    fn row_keys(&self, position: &PositionId) -> Result<Vec<Vec<u8>>> {
        let (first, last) = position.chunk_keys();
        let rows = self.0.range(first.as_slice()..=last.as_slice())?;
        rows.map(|row| Ok(row?.0.value().to_vec())).collect()
    }

    fn put(&mut self, meta: &mut Meta, stub: &mut Stub, key: &[u8], bytes: &[u8]) -> Result<()> {
        match self.0.insert(key, bytes)? {
            Some(earlier) => {
                let digest = Digest::from_chunk(key, earlier.value());
                stub.digest.remove(digest);
                meta.chunks_digest.remove(digest);
            }
            None => meta.chunks += 1,
        }
        let digest = Digest::from_chunk(key, bytes);
        stub.digest.add(digest);
        meta.chunks_digest.add(digest);
        Ok(())
    }

    fn remove(&mut self, meta: &mut Meta, stub: &mut Stub, key: &[u8]) -> Result<()> {
        if let Some(earlier) = self.0.remove(key)? {
            let digest = Digest::from_chunk(key, earlier.value());
            stub.digest.remove(digest);
            meta.chunks_digest.remove(digest);
            meta.chunks = meta.chunks.saturating_sub(1);
        }
        Ok(())
    }
}

fn in_overflow(position: &PositionId) -> impl Fn(Damage) -> Fault {
    let key = position.key;
    move |damage| damaged(format!("overflow position {key:016x}"), damage.0)
}

/// Checks the checksum of a chunk, and returns its import numbers and records.
fn records_of<'b>(position: &PositionId, bytes: &'b [u8]) -> Result<Vec<(u64, &'b [u8])>> {
    let bucket = open_chunk(position.key, bytes).map_err(in_overflow(position))?;
    let records = bucket.entries().map(|entry| {
        let entry = entry?;
        Ok((entry.import_number, record_of(&entry)?))
    });
    records.collect::<std::result::Result<_, _>>().map_err(in_overflow(position))
}

//! All records in order of their keys. All blocks and chunks are read. At the end their totals are
//! compared with the meta row (the header of the store), so that no record is lost silently.

use std::fmt;
use std::ops::Range;

use super::blocks::BlockRef;
use super::{EncodedRecord, Reader, StoredRecord};
use crate::block::{BucketCursor, Damage, Payload, range_in};
use crate::error::{StoreError, damaged};
use crate::options::key_of_board;
use crate::overflow::OverflowRecords;
use crate::schema::{Digest, Meta};
use epdb_chess::codec::record;
use epdb_chess::model::EpdRecord;

type Result<T> = std::result::Result<T, StoreError>;

/// All records in order of their keys. The iterator decodes them; [`ByKey::next_encoded`] returns
/// the bytes.
pub struct ByKey<'r> {
    reader: &'r Reader,
    /// Number of the next block; `None` at the end.
    next_block: Option<u64>,
    block: Option<OpenBlock<'r>>,
    overflow: Option<OverflowRecords>,
    found: Totals,
    passes_damage: bool,
    /// The first damage that was passed over.
    damage: Option<StoreError>,
}

impl fmt::Debug for ByKey<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ByKey").field("next_block", &self.next_block).finish_non_exhaustive()
    }
}

/// Totals of everything that was read, to be compared with those of the meta row.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
struct Totals {
    records: u64,
    record_bytes: u64,
    positions: u64,
    block_bytes: u64,
    overflow: u64,
    chunks: u64,
    blocks_digest: Digest,
    chunks_digest: Digest,
}

impl Totals {
    fn from_meta(meta: &Meta) -> Totals {
        Totals {
            records: meta.records,
            record_bytes: meta.record_bytes,
            positions: meta.positions,
            block_bytes: meta.block_bytes,
            overflow: meta.overflow,
            chunks: meta.chunks,
            blocks_digest: meta.blocks_digest,
            chunks_digest: meta.chunks_digest,
        }
    }

    /// Describes the first difference from the totals in the meta row (the header of the store).
    fn difference(&self, meta: &Meta) -> Option<String> {
        let announced = Totals::from_meta(meta);
        let counts = [
            ("records", announced.records, self.records),
            ("bytes of records", announced.record_bytes, self.record_bytes),
            ("positions", announced.positions, self.positions),
            ("bytes of blocks", announced.block_bytes, self.block_bytes),
            ("overflow positions", announced.overflow, self.overflow),
            ("chunks", announced.chunks, self.chunks),
        ];
        let wrong = counts.into_iter().find(|(_, announced, found)| announced != found);
        match wrong {
            Some((what, announced, found)) => {
                Some(format!("{what}: {announced} recorded, {found} found"))
            }
            None if *self != announced => Some("the digest of all rows does not match".into()),
            None => None,
        }
    }
}

/// A block whose entries are being read.
struct OpenBlock<'r> {
    number: u64,
    block: BlockRef<'r>,
    bucket: u32,
    cursor: BucketCursor,
    /// Range of the board of the last position.
    board: Range<usize>,
}

/// The next entry of a block: a record, a stub of an overflow position, or the end.
enum BlockEntry {
    Record { import_number: u64, bytes: Range<usize>, is_new_position: bool },
    Overflow(Box<OverflowRecords>),
    End,
}

impl OpenBlock<'_> {
    /// The next entry. The checksum of each bucket is checked before its first entry is returned.
    fn next_entry(&mut self, reader: &Reader) -> Result<BlockEntry> {
        let damaged = |damage| reader.block_damaged(self.number, damage);
        let block = self.block.view();
        let bytes = block.data();
        while self.bucket < block.buckets() {
            let bucket = block.bucket(self.bucket).map_err(damaged)?;
            if self.cursor == BucketCursor::default() {
                bucket.check().map_err(damaged)?;
            }
            let mut entries = bucket.entries_from(self.cursor);
            let Some(entry) = entries.next().transpose().map_err(damaged)? else {
                self.bucket += 1;
                self.cursor = BucketCursor::default();
                continue;
            };
            self.cursor = entries.cursor();
            return match entry.payload {
                Payload::Record(record) => {
                    let no_board = |_| damaged(Damage("a record has no board"));
                    let board = record::board_of(record).map_err(no_board)?;
                    let is_new_position = bytes.get(self.board.clone()) != Some(board);
                    self.board = range_in(bytes, board);
                    let import_number = entry.import_number;
                    let bytes = range_in(bytes, record);
                    Ok(BlockEntry::Record { import_number, bytes, is_new_position })
                }
                Payload::Stub(stub) => {
                    let key = key_of_board(reader.shared.key, stub.board)
                        .ok_or_else(|| damaged(Damage("a stub has no board")))?;
                    self.board = range_in(bytes, stub.board);
                    reader
                        .overflow_records(key, &stub)
                        .map(|overflow| BlockEntry::Overflow(Box::new(overflow)))
                }
            };
        }
        Ok(BlockEntry::End)
    }
}

impl Reader {
    /// All records, in order of position key, packed board and import number. At the end the totals
    /// are compared with those in the header of the store.
    pub fn by_key(&self) -> ByKey<'_> {
        let found = Totals::default();
        ByKey {
            reader: self,
            next_block: Some(0),
            block: None,
            overflow: None,
            found,
            passes_damage: false,
            damage: None,
        }
    }

    /// The record with an import number; `None` if no record has this number. The number of a
    /// duplicate that was left out is not used again. A store has no index of import numbers, so
    /// the store is read until the record is found. In the worst case the whole store is read, one
    /// block at a time. [`Reader::by_import`] returns many records in order of their numbers.
    ///
    /// # Errors
    /// The errors of [`Matches::next_encoded`](crate::Matches::next_encoded).
    ///
    /// ```
    /// use epdb_store::{ImportOptions, Store, StoreOptions};
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("book.epdb");
    /// let store = Store::create(&path, &StoreOptions::default())?;
    /// let mut import = store.importer("by hand", &ImportOptions::default())?;
    /// import.push(&epdb_chess::parse_epd(b"8/8/8/4k3/8/1K6/8/8 b - -")?)?;
    /// import.finish()?;
    /// let reader = store.reader()?;
    /// assert!(reader.record(0)?.is_some());
    /// assert_eq!(reader.record(1)?, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn record(&self, import_number: u64) -> Result<Option<EpdRecord>> {
        if import_number >= self.meta.next_import_number {
            return Ok(None);
        }
        let mut records = self.by_key();
        while let Some(record) = records.next_encoded() {
            let record = record?;
            if record.number() == import_number {
                return record.record().map(Some);
            }
        }
        Ok(None)
    }
}

impl<'r> ByKey<'r> {
    /// Passes over damage, which becomes an error at the end. So who stops early may miss records without an
    /// error.
    pub fn past_damage(self) -> ByKey<'r> {
        ByKey { passes_damage: true, ..self }
    }

    /// The next record; `None` at the end and after an error.
    ///
    /// # Errors
    /// The errors of [`Matches::next_encoded`](crate::Matches::next_encoded). After the last record,
    /// [`StoreError::Damaged`] if the totals of the records differ from those in the header of the
    /// store.
    pub fn next_encoded(&mut self) -> Option<Result<EncodedRecord<'_>>> {
        let (import_number, place) = match self.next_sound() {
            Ok(next) => next?,
            Err(error) => {
                self.end();
                return Some(Err(error));
            }
        };
        let bytes = match &self.overflow {
            Some(overflow) => overflow.bytes(place)?,
            None => self.block.as_ref()?.block.view().data().get(place)?,
        };
        Some(Ok(EncodedRecord::new(import_number, bytes, self.reader)))
    }

    /// The next record, and its place in the block or the overflow that is open.
    fn next_sound(&mut self) -> Result<Option<(u64, Range<usize>)>> {
        while !self.is_over() {
            let record = self.advance();
            match self.reader.intact(record) {
                Err(error @ StoreError::Damaged { .. }) if self.passes_damage => {
                    self.damage.get_or_insert(error);
                    self.pass_over_damage();
                }
                Ok(None) => break,
                next => return next,
            }
        }
        self.damage.take().map_or(Ok(None), Err)
    }

    /// Goes on after the overflow, the bucket or the block that could not be read.
    fn pass_over_damage(&mut self) {
        if self.overflow.take().is_some() {
            return;
        }
        if let Some(block) = &mut self.block {
            block.bucket += 1;
            block.cursor = BucketCursor::default();
        }
    }

    const fn is_over(&self) -> bool {
        self.next_block.is_none() && self.block.is_none() && self.overflow.is_none()
    }

    fn end(&mut self) {
        (self.next_block, self.block, self.overflow) = (None, None, None);
    }

    fn advance(&mut self) -> Result<Option<(u64, Range<usize>)>> {
        loop {
            if let Some(overflow) = &mut self.overflow {
                if let Some((number, bytes)) = overflow.advance(self.reader.path())? {
                    self.count(number, bytes.len())?;
                    return Ok(Some((number, bytes)));
                }
                let contents = overflow.contents();
                self.found.positions += 1;
                self.found.overflow += 1;
                self.found.chunks += contents.chunks;
                self.found.chunks_digest.add(contents.digest);
                self.overflow = None;
            }
            if let Some(block) = &mut self.block {
                match block.next_entry(self.reader)? {
                    BlockEntry::Record { import_number, bytes, is_new_position } => {
                        self.found.positions += u64::from(is_new_position);
                        self.count(import_number, bytes.len())?;
                        return Ok(Some((import_number, bytes)));
                    }
                    BlockEntry::Overflow(overflow) => {
                        self.overflow = Some(*overflow);
                        continue;
                    }
                    BlockEntry::End => self.block = None,
                }
            }
            let Some(number) = self.next_block else { return Ok(None) };
            if number == self.reader.meta.blocks {
                self.next_block = None;
                if self.damage.is_none() {
                    self.compare()?;
                }
                return Ok(None);
            }
            // Before it is opened, because a damaged block is passed over.
            self.next_block = Some(number + 1);
            self.open(number)?;
        }
    }

    fn count(&mut self, import_number: u64, bytes: usize) -> Result<()> {
        if import_number >= self.reader.meta.next_import_number {
            let place = format!("record {import_number}");
            return Err(damaged(place, "it has a number that was not assigned yet")
                .into_error(self.reader.path()));
        }
        self.found.records += 1;
        self.found.record_bytes += bytes as u64;
        Ok(())
    }

    fn open(&mut self, number: u64) -> Result<()> {
        let block = self.reader.blocks.load(number, self.reader.path())?;
        self.found.block_bytes += block.view().len() as u64;
        self.found.blocks_digest.add(block.view().digest());
        let cursor = BucketCursor::default();
        self.block = Some(OpenBlock { number, block, bucket: 0, cursor, board: 0..0 });
        Ok(())
    }

    fn compare(&self) -> Result<()> {
        match self.found.difference(&self.reader.meta) {
            None => Ok(()),
            Some(what) => Err(damaged("the store", what).into_error(self.reader.path())),
        }
    }
}

impl Iterator for ByKey<'_> {
    type Item = Result<StoredRecord>;

    fn next(&mut self) -> Option<Result<StoredRecord>> {
        let next = self.next_encoded()?.and_then(|record| record.decode());
        if next.is_err() {
            self.end();
        }
        Some(next)
    }
}

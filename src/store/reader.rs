//! Reading: a snapshot of a store, and lookups by position in it.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use redb::{OwnedAccessGuard, ReadOnlyTable, ReadTransaction, ReadableTableMetadata};

use super::block::{Block, Bucket, Damage, Payload, Shape, Slot, Stub};
use super::crowd::Crowd;
use super::error::{Result as Inner, damaged, guarded};
use super::scan::{ByImport, ByKey};
use super::schema::{self, Access, Header, Meta, spread};
use super::{Shared, StoreError};
use crate::codec::query::Query;
use crate::codec::record;
use crate::model::EpdRecord;

pub(super) type Guard = OwnedAccessGuard<&'static [u8]>;
type Result<T> = std::result::Result<T, StoreError>;

/// A record as the store holds it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StoredRecord {
    /// Its place among all records ever imported, from 0.
    pub import_number: u64,
    /// The record.
    pub record: EpdRecord,
}

/// A record as the store holds it, not decoded.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct EncodedRecord<'a> {
    /// Its place among all records ever imported, from 0.
    pub import_number: u64,
    /// The bytes of [`crate::codec::record`].
    pub bytes: &'a [u8],
}

/// How much a store holds.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct StoreStats {
    /// Records.
    pub records: u64,
    /// Different positions (STO-01).
    pub positions: u64,
    /// Positions that have so many records that they are kept apart.
    pub crowded_positions: u64,
    /// What the next record will be numbered.
    pub next_import_number: u64,
    /// The lengths of all encoded records together.
    pub record_bytes: u64,
    /// Blocks that the other positions are spread over.
    pub blocks: u64,
    /// The length of the file.
    pub file_bytes: u64,
}

/// A block in memory, its header and directory checked.
struct Kept {
    guard: Guard,
    shape: Shape,
    /// Which of the first buckets were checked: bytes in memory stay as they are, so once is
    /// enough.
    checked: [AtomicU64; 4],
}

impl Kept {
    fn bytes(&self) -> &[u8] {
        self.guard.value()
    }

    /// Checks a bucket, unless that was done before.
    fn check(&self, number: u32, bucket: &Bucket) -> std::result::Result<(), Damage> {
        let bit = 1 << (number % 64);
        let Some(word) = self.checked.get(number as usize / 64) else { return bucket.check() };
        if word.load(Ordering::Relaxed) & bit == 0 {
            bucket.check()?;
            word.fetch_or(bit, Ordering::Relaxed);
        }
        Ok(())
    }

    /// The memory that it takes: redb keeps its whole page, of a power of two.
    fn page_bytes(&self) -> usize {
        (self.bytes().len() + 64).next_power_of_two().max(4096)
    }
}

/// Looks at a value once where redb may still panic: what it gives later it cut out now.
pub(super) fn sized(guard: Guard) -> Guard {
    std::hint::black_box(guard.value().len());
    guard
}

/// A snapshot of a store: what was committed when it was made. Writers do not disturb it and do
/// not wait for it. It can be shared between threads.
///
/// Blocks that were looked at stay in memory until the store's budget is spent, so a reader that
/// is kept answers faster than one made for each lookup. It uses the store's file until it is
/// dropped, and gives [`StoreError::Busy`] once the store is closed.
pub struct Reader {
    pub(super) shared: Arc<Shared>,
    pub(super) meta: Meta,
    /// By number of the block: the checksum of its header.
    pub(super) checks: Vec<u32>,
    pub(super) blocks: ReadOnlyTable<u64, &'static [u8]>,
    crowded: ReadOnlyTable<&'static [u8], &'static [u8]>,
    /// By number of the block.
    cache: Box<[OnceLock<Box<Kept>>]>,
}

impl Reader {
    pub(super) fn new(shared: Arc<Shared>, transaction: ReadTransaction) -> Inner<Reader> {
        let Header { meta, checks } = super::read_header(&transaction, Access::Read)?;
        let blocks = transaction.open_table(schema::BLOCKS)?;
        let crowded = transaction.open_table(schema::CROWDED)?;
        let rows =
            [("blocks", meta.blocks, blocks.len()?), ("chunks", meta.chunks, crowded.len()?)];
        for (what, announced, found) in rows {
            if announced != found {
                let what = format!("{announced} {what} are announced, and there are {found}");
                return Err(damaged("the meta row", what));
            }
        }
        let cache = checks.iter().map(|_| OnceLock::new()).collect();
        Ok(Reader { shared, meta, checks, blocks, crowded, cache })
    }

    /// The records of a position (STO-02), in order of their import numbers.
    ///
    /// ```
    /// use epdb::model::{EpdRecord, Position};
    /// use epdb::store::{ImportOptions, Store, StoreOptions};
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("book.epdb");
    /// let store = Store::create(&path, &StoreOptions::default())?;
    /// let mut import = store.importer("by hand", &ImportOptions::default())?;
    /// import.push(&EpdRecord::new(Position::START))?;
    /// import.finish()?;
    ///
    /// let reader = store.reader()?;
    /// for stored in reader.get(&Position::START) {
    ///     let stored = stored?;
    ///     assert_eq!(stored.import_number, 0);
    ///     assert_eq!(stored.record, EpdRecord::new(Position::START));
    /// }
    /// assert!(reader.contains(&Position::START)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn get(&self, position: impl Into<Query>) -> Matches<'_> {
        self.matches(self.keyed(position))
    }

    /// Whether the store has a record of the position.
    ///
    /// # Errors
    /// As [`Matches::next_encoded`].
    pub fn contains(&self, position: impl Into<Query>) -> Result<bool> {
        self.get(position).next_encoded().transpose().map(|found| found.is_some())
    }

    /// The earliest record of a position.
    ///
    /// # Errors
    /// As [`Matches::next_encoded`].
    pub fn first(&self, position: impl Into<Query>) -> Result<Option<StoredRecord>> {
        self.get(position).next().transpose()
    }

    /// Looks many positions up, in the order that the file likes best, and calls `visit` with each
    /// position's place among them and its records. Where the store is larger than memory this is
    /// many times faster than one lookup after the other.
    ///
    /// ```
    /// use epdb::{codec::direct, model::EpdRecord, model::Position, store};
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("book.epdb");
    /// # let store = store::Store::create(&path, &store::StoreOptions::default())?;
    /// # let mut import = store.importer("by hand", &store::ImportOptions::default())?;
    /// # import.push(&EpdRecord::new(Position::START))?;
    /// # import.finish()?;
    /// let reader = store.reader()?;
    /// let lines = [&b"4k3/8/8/8/8/8/4P3/4K3 w - -"[..], b"8/8/8/4k3/8/1K6/8/8 b - -"];
    /// let queries = lines.iter().filter_map(|line| direct::read_fields(line));
    /// let mut found = 0;
    /// reader.get_batch(queries, |_place, matches| {
    ///     found += matches.count();
    ///     Ok::<(), store::StoreError>(())
    /// })?;
    /// assert_eq!(found, 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of `visit`, which ends the work with its first error.
    pub fn get_batch<Q: Into<Query>, E>(
        &self,
        positions: impl IntoIterator<Item = Q>,
        mut visit: impl FnMut(usize, Matches<'_>) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let queries: Vec<Query> = positions.into_iter().map(|query| self.keyed(query)).collect();
        let mut order: Vec<(u64, usize)> =
            queries.iter().enumerate().map(|(place, query)| (query.key(), place)).collect();
        order.sort_unstable();
        let mut held: Option<(u64, Arc<Kept>)> = None;
        for (key, place) in order {
            let (number, _) = spread(key, self.meta.blocks);
            let block = match &held {
                Some((held, kept)) if *held == number => Ok(BlockRef::Own(Arc::clone(kept))),
                _ => self.block(number),
            };
            if let Ok(BlockRef::Own(kept)) = &block {
                held = Some((number, Arc::clone(kept)));
            }
            visit(place, self.matches_in(queries[place], block))?;
        }
        Ok(())
    }

    /// All records, in order of position key, packed board and import number. What was read is
    /// compared at the end with what the store knows of itself.
    pub fn by_key(&self) -> ByKey<'_> {
        ByKey::new(self)
    }

    /// All records in order of their import numbers, without an index: all blocks are read
    /// several times, and each time as many of the next records are collected as fit into what is
    /// left of the store's budget. A record longer than that is delivered alone.
    pub fn by_import(&self) -> ByImport<'_> {
        ByImport::new(self)
    }

    /// How much the store holds.
    ///
    /// # Errors
    /// [`StoreError::Io`] when the length of the file cannot be had.
    pub fn stats(&self) -> Result<StoreStats> {
        let path = &self.shared.path;
        // A new file has its place by now, or not yet.
        let file = std::fs::metadata(&self.shared.file)
            .or_else(|_| std::fs::metadata(path))
            .map_err(|error| StoreError::Io { path: path.clone(), error })?;
        Ok(StoreStats {
            records: self.meta.records,
            positions: self.meta.positions,
            crowded_positions: self.meta.crowded,
            next_import_number: self.meta.next_import_number,
            record_bytes: self.meta.record_bytes,
            blocks: self.meta.blocks,
            file_bytes: file.len(),
        })
    }

    /// The query with the key under which the store keeps the position.
    fn keyed(&self, query: impl Into<Query>) -> Query {
        let query = query.into();
        Query::new(*query.board(), (self.shared.key)(query.key()))
    }

    fn matches(&self, query: Query) -> Matches<'_> {
        let (number, _) = spread(query.key(), self.meta.blocks);
        self.matches_in(query, self.block(number))
    }

    fn matches_in<'r>(&'r self, query: Query, block: Result<BlockRef<'r>>) -> Matches<'r> {
        let state = match block {
            Ok(block) => State::Block { block, at: None },
            Err(error) => State::Failed(error),
        };
        Matches { reader: self, query, state }
    }

    fn block(&self, number: u64) -> Result<BlockRef<'_>> {
        let slot = usize::try_from(number).ok().and_then(|number| self.cache.get(number));
        if let Some(known) = slot.and_then(OnceLock::get) {
            return Ok(BlockRef::Cached(known));
        }
        let kept = self.load(number)?;
        let bytes = kept.page_bytes();
        let Some(slot) = slot.filter(|_| self.reserve(bytes)) else {
            return Ok(BlockRef::Own(Arc::new(kept)));
        };
        if slot.set(Box::new(kept)).is_err() {
            self.shared.cache_left.fetch_add(bytes, Ordering::Relaxed);
        }
        match slot.get() {
            Some(known) => Ok(BlockRef::Cached(known)),
            None => Err(self.damaged_block(number, Damage("it is missing"))),
        }
    }

    fn load(&self, number: u64) -> Result<Kept> {
        let found = guarded(&self.shared.path, || Ok(self.blocks.get_owned(number)?.map(sized)))?;
        let missing = || self.damaged_block(number, Damage("it is missing"));
        let guard = found.ok_or_else(missing)?;
        let checked = Block::new(number, guard.value())
            .and_then(|block| block.check(self.check_of(number)).map(|()| block.shape()));
        let shape = checked.map_err(|damage| self.damaged_block(number, damage))?;
        Ok(Kept { guard, shape, checked: Default::default() })
    }

    /// What the store keeps of the header of a block.
    pub(super) fn check_of(&self, number: u64) -> u32 {
        let check = usize::try_from(number).ok().and_then(|number| self.checks.get(number));
        check.copied().unwrap_or_default()
    }

    pub(super) fn damaged_block(&self, number: u64, damage: Damage) -> StoreError {
        damaged(format!("block {number}"), damage.0).into_error(&self.shared.path)
    }

    fn reserve(&self, bytes: usize) -> bool {
        let Shared { cache_left, cache_floor, .. } = &*self.shared;
        let take = |left: usize| left.checked_sub(bytes).filter(|rest| rest >= cache_floor);
        cache_left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok()
    }

    /// The records of the position of a stub.
    pub(super) fn crowd(&self, key: u64, stub: Stub) -> Result<Crowd> {
        let [first, last] =
            [0, u64::MAX].map(|number| schema::crowded_key(key, stub.board, number));
        let chunks = guarded(&self.shared.path, || {
            Ok(self.crowded.range_owned::<&[u8]>(first.as_slice()..=last.as_slice())?)
        })?;
        Ok(Crowd::new(key, stub, chunks))
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let held = self.cache.iter().filter_map(OnceLock::get).map(|kept| kept.page_bytes());
        self.shared.cache_left.fetch_add(held.sum(), Ordering::Relaxed);
    }
}

enum BlockRef<'r> {
    Cached(&'r Kept),
    Own(Arc<Kept>),
}

impl BlockRef<'_> {
    fn kept(&self) -> &Kept {
        match self {
            BlockRef::Cached(kept) => kept,
            BlockRef::Own(kept) => kept,
        }
    }
}

/// The records of one position. As an iterator it decodes them;
/// [`Matches::next_encoded`] gives the bytes.
pub struct Matches<'r> {
    reader: &'r Reader,
    query: Query,
    state: State<'r>,
}

enum State<'r> {
    /// In a block; once the first match was found, at this place of its bucket.
    Block {
        block: BlockRef<'r>,
        at: Option<(usize, usize)>,
    },
    Crowd(Box<Crowd>),
    Failed(StoreError),
    Done,
}

/// What the search of a block ends with.
enum Found<'b> {
    Record { import_number: u64, bytes: Range<usize>, at: (usize, usize) },
    Crowd(Stub<'b>),
    Nothing,
}

impl Matches<'_> {
    /// The next record; `None` when there are no more. After an error there are no more.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] when the checksum over the record or what leads to it does not
    /// match; [`StoreError::Io`] when the file cannot be read.
    pub fn next_encoded(&mut self) -> Option<Result<EncodedRecord<'_>>> {
        match self.advance() {
            Err(error) => {
                self.state = State::Done;
                Some(Err(error))
            }
            Ok(None) => {
                self.state = State::Done;
                None
            }
            Ok(Some((import_number, place))) => {
                let bytes = match &self.state {
                    State::Block { block, .. } => block.kept().bytes().get(place)?,
                    State::Crowd(crowd) => crowd.bytes(place)?,
                    _ => return None,
                };
                Some(Ok(EncodedRecord { import_number, bytes }))
            }
        }
    }

    /// The next record's number, and its place in the block or the chunk in hand.
    fn advance(&mut self) -> Result<Option<(u64, Range<usize>)>> {
        if let State::Block { .. } = self.state {
            match self.search_block()? {
                Search::Record { import_number, bytes, at: now } => {
                    if let State::Block { at, .. } = &mut self.state {
                        *at = Some(now);
                    }
                    return Ok(Some((import_number, bytes)));
                }
                Search::Nothing => return Ok(None),
                Search::Crowd(crowd) => self.state = State::Crowd(crowd),
            }
        }
        match std::mem::replace(&mut self.state, State::Done) {
            State::Crowd(mut crowd) => {
                let found = crowd.advance(&self.reader.shared);
                self.state = State::Crowd(crowd);
                found
            }
            State::Failed(error) => Err(error),
            _ => Ok(None),
        }
    }

    fn search_block(&self) -> Result<Search> {
        let State::Block { block, at } = &self.state else { return Ok(Search::Nothing) };
        let (number, fraction) = spread(self.query.key(), self.reader.meta.blocks);
        let found = find(number, block.kept(), fraction, self.query.board().as_bytes(), *at)
            .map_err(|damage| self.reader.damaged_block(number, damage))?;
        Ok(match found {
            Found::Nothing => Search::Nothing,
            Found::Record { import_number, bytes, at } => {
                Search::Record { import_number, bytes, at }
            }
            Found::Crowd(stub) => {
                Search::Crowd(Box::new(self.reader.crowd(self.query.key(), stub)?))
            }
        })
    }
}

/// [`Found`], the crowd opened.
enum Search {
    Record { import_number: u64, bytes: Range<usize>, at: (usize, usize) },
    Crowd(Box<Crowd>),
    Nothing,
}

/// Finds the next entry of a board in a block. The checksum of its bucket is looked at first, so
/// that nothing found is as sure as a record.
fn find<'b>(
    number: u64,
    kept: &'b Kept,
    fraction: u64,
    board: &[u8],
    at: Option<(usize, usize)>,
) -> std::result::Result<Found<'b>, Damage> {
    let block = Block::with_shape(number, kept.bytes(), kept.shape);
    let slot = Slot::of(fraction, block.buckets());
    let bucket = block.bucket(slot.bucket)?;
    let mut entries = match at {
        None => {
            kept.check(slot.bucket, &bucket)?;
            bucket.entries()
        }
        Some(place) => bucket.entries_from(place),
    };
    while let Some(entry) = entries.next_with(slot.fingerprint) {
        let entry = entry?;
        match entry.payload {
            Payload::Stub(stub) if stub.board == board => return Ok(Found::Crowd(stub)),
            Payload::Record(record) if record::board_of(record).is_ok_and(|own| own == board) => {
                let import_number = entry.import_number;
                let bytes = range_in(block.bytes(), record);
                return Ok(Found::Record { import_number, bytes, at: entries.place() });
            }
            _ => {}
        }
    }
    Ok(Found::Nothing)
}

/// Where a slice lies in the one that it was cut from.
pub(super) fn range_in(whole: &[u8], part: &[u8]) -> Range<usize> {
    let start = part.as_ptr() as usize - whole.as_ptr() as usize;
    start..start + part.len()
}

impl Iterator for Matches<'_> {
    type Item = Result<StoredRecord>;

    fn next(&mut self) -> Option<Result<StoredRecord>> {
        let path = &self.reader.shared.path;
        let next = self.next_encoded()?.and_then(|record| decode(record, path));
        if next.is_err() {
            self.state = State::Done;
        }
        Some(next)
    }
}

/// Decodes a record whose checksum was right.
pub(super) fn decode(record: EncodedRecord, path: &std::path::Path) -> Result<StoredRecord> {
    let import_number = record.import_number;
    let place = || format!("record {import_number}");
    match record::decode(record.bytes) {
        Ok((decoded, len)) if len == record.bytes.len() => {
            Ok(StoredRecord { import_number, record: decoded })
        }
        Ok(_) => Err(damaged(place(), "bytes follow the record").into_error(path)),
        Err(error) => Err(damaged(place(), error.to_string()).into_error(path)),
    }
}

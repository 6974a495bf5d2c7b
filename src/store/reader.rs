//! Reading: lookups by position, and all records in order of their keys or of their import.

use std::ops::Range;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};

use redb::{OwnedAccessGuard, OwnedRange, ReadOnlyTable, ReadTransaction, ReadableTableMetadata};

use super::block::{Block, Damage, Payload, Shape, Slot, chunk};
use super::error::{Result as Inner, damaged, guarded};
use super::schema::{self, Meta, spread};
use super::{Shared, StoreError};
use crate::codec::query::Query;
use crate::codec::record;
use crate::model::EpdRecord;

type Guard = OwnedAccessGuard<&'static [u8]>;
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
pub struct Stats {
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

/// A block in memory.
struct Kept {
    guard: Guard,
    shape: Shape,
}

impl Kept {
    fn bytes(&self) -> &[u8] {
        self.guard.value()
    }

    /// The memory that it takes: redb keeps its whole page, of a power of two.
    fn page_bytes(&self) -> usize {
        (self.bytes().len() + 64).next_power_of_two().max(4096)
    }
}

/// Looks at a value once where redb may still panic: what it gives later it cut out now.
fn sized(guard: Guard) -> Guard {
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
    shared: Arc<Shared>,
    meta: Meta,
    blocks: ReadOnlyTable<u64, &'static [u8]>,
    crowded: ReadOnlyTable<&'static [u8], &'static [u8]>,
    /// By number of the block; `None` for a block that has no entry.
    cache: Box<[OnceLock<Option<Box<Kept>>>]>,
}

impl Reader {
    pub(super) fn new(shared: Arc<Shared>, transaction: ReadTransaction) -> Inner<Reader> {
        let meta = super::read_meta(&transaction)?;
        let blocks = transaction.open_table(schema::BLOCKS)?;
        let crowded = transaction.open_table(schema::CROWDED)?;
        // No block is empty, so a sound store has no more slots to cache than this.
        let slots = blocks.len()?.max(meta.blocks.min(1 << 20)).min(meta.blocks);
        let cache = (0..slots).map(|_| OnceLock::new()).collect();
        Ok(Reader { shared, meta, blocks, crowded, cache })
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
                Some((held, kept)) if *held == number => Ok(Some(BlockRef::Own(Arc::clone(kept)))),
                _ => self.block(number),
            };
            if let Ok(Some(BlockRef::Own(kept))) = &block {
                held = Some((number, Arc::clone(kept)));
            }
            visit(place, self.matches_in(queries[place], block))?;
        }
        Ok(())
    }

    /// All records, in order of position key, packed board and import number.
    pub fn by_key(&self) -> ByKey<'_> {
        let range =
            guarded(&self.shared.path, || Ok(self.blocks.range_owned(0..self.meta.blocks)?));
        let (range, failed) = match range {
            Ok(range) => (Some(range), None),
            Err(error) => (None, Some(error)),
        };
        ByKey { reader: self, range, failed, block: None, crowd: None }
    }

    /// All records in order of their import numbers, without an index: all blocks are read
    /// several times, and each time as many of the next records are collected as fit into what is
    /// left of the store's budget. A record longer than that is delivered alone.
    pub fn by_import(&self) -> ByImport<'_> {
        let left = self.shared.cache_left.swap(0, Ordering::Relaxed);
        ByImport {
            reader: self,
            taken: left,
            window: Window::new(left.max(1 << 16), &self.meta),
            next: 0,
            from: 0,
            ended: false,
        }
    }

    /// How much the store holds.
    ///
    /// # Errors
    /// [`StoreError::Io`] when the length of the file cannot be had.
    pub fn stats(&self) -> Result<Stats> {
        let path = &self.shared.path;
        let file = std::fs::metadata(path)
            .map_err(|error| StoreError::Io { path: path.clone(), error })?;
        Ok(Stats {
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

    fn matches_in<'r>(&'r self, query: Query, block: Result<Option<BlockRef<'r>>>) -> Matches<'r> {
        let state = match block {
            Ok(None) => State::Done,
            Ok(Some(block)) => State::Block { block, at: None },
            Err(error) => State::Failed(error),
        };
        Matches { reader: self, query, state }
    }

    fn block(&self, number: u64) -> Result<Option<BlockRef<'_>>> {
        let slot = usize::try_from(number).ok().and_then(|number| self.cache.get(number));
        if let Some(known) = slot.and_then(OnceLock::get) {
            return Ok(known.as_deref().map(BlockRef::Cached));
        }
        let found = guarded(&self.shared.path, || Ok(self.blocks.get_owned(number)?.map(sized)))?;
        let found = found.map(|guard| {
            let shape = Shape::of(guard.value());
            let shape = shape.map_err(|damage| self.damaged_block(number, damage))?;
            Ok(Kept { guard, shape })
        });
        let found = found.transpose()?;
        let bytes = found.as_ref().map_or(0, Kept::page_bytes);
        match slot {
            Some(slot) if self.reserve(bytes) => {
                let mut unused = Some(found);
                let kept = slot.get_or_init(|| unused.take().flatten().map(Box::new));
                if unused.is_some() {
                    self.shared.cache_left.fetch_add(bytes, Ordering::Relaxed);
                }
                Ok(kept.as_deref().map(BlockRef::Cached))
            }
            _ => Ok(found.map(|kept| BlockRef::Own(Arc::new(kept)))),
        }
    }

    fn damaged_block(&self, number: u64, damage: Damage) -> StoreError {
        damaged(format!("block {number}"), damage.0).told(&self.shared.path)
    }

    fn reserve(&self, bytes: usize) -> bool {
        let Shared { cache_left, cache_floor, .. } = &*self.shared;
        let take = |left: usize| left.checked_sub(bytes).filter(|rest| rest >= cache_floor);
        cache_left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok()
    }

    fn crowd(&self, key: u64, board: &[u8]) -> Result<Crowd> {
        let range = schema::crowded_key(key, board, 0)..=schema::crowded_key(key, board, u64::MAX);
        let range = (range.start().as_slice(), range.end().as_slice());
        let chunks = guarded(&self.shared.path, || {
            Ok(self.crowded.range_owned::<&[u8]>(range.0..=range.1)?)
        })?;
        Ok(Crowd { key, board: board.to_vec(), chunks, chunk: None })
    }

    /// Calls `visit` with every record, in no promised order.
    fn each_record(&self, mut visit: impl FnMut(u64, &[u8])) -> Result<()> {
        let mut records = self.by_key();
        while let Some(record) = records.next_encoded() {
            let record = record?;
            visit(record.import_number, record.bytes);
        }
        Ok(())
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let held =
            self.cache.iter().filter_map(|slot| slot.get()?.as_deref()).map(Kept::page_bytes);
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
enum Found {
    Record { import_number: u64, bytes: Range<usize>, at: (usize, usize) },
    Crowd,
    Nothing,
}

impl Matches<'_> {
    /// The next record; `None` when there are no more. After an error there are no more.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] when the checksum over the record or what leads to it does not
    /// match; [`StoreError::Io`] when the file cannot be read.
    pub fn next_encoded(&mut self) -> Option<Result<EncodedRecord<'_>>> {
        if let State::Block { .. } = self.state {
            match self.search_block() {
                Ok(Found::Record { import_number, bytes, at: now }) => {
                    let State::Block { block, at } = &mut self.state else { return None };
                    *at = Some(now);
                    let bytes = block.kept().bytes().get(bytes)?;
                    return Some(Ok(EncodedRecord { import_number, bytes }));
                }
                Ok(Found::Nothing) => self.state = State::Done,
                Ok(Found::Crowd) => {
                    self.state =
                        match self.reader.crowd(self.query.key(), self.query.board().as_bytes()) {
                            Ok(crowd) => State::Crowd(Box::new(crowd)),
                            Err(error) => State::Failed(error),
                        };
                }
                Err(error) => self.state = State::Failed(error),
            }
        }
        if let State::Failed(_) = self.state {
            let State::Failed(error) = std::mem::replace(&mut self.state, State::Done) else {
                return None;
            };
            return Some(Err(error));
        }
        match &mut self.state {
            State::Crowd(crowd) => crowd.next_encoded(&self.reader.shared),
            _ => None,
        }
    }

    fn search_block(&self) -> Result<Found> {
        let State::Block { block, at } = &self.state else { return Ok(Found::Nothing) };
        let (number, fraction) = spread(self.query.key(), self.reader.meta.blocks);
        let block = Block::with_shape(number, block.kept().bytes(), block.kept().shape);
        find(block, fraction, self.query.board().as_bytes(), *at)
            .map_err(|damage| self.reader.damaged_block(number, damage))
    }
}

/// Finds the next entry of a board in a block. The checksum is looked at once, before the first
/// comparison of boards.
fn find(
    block: Block,
    fraction: u64,
    board: &[u8],
    at: Option<(usize, usize)>,
) -> std::result::Result<Found, Damage> {
    let slot = Slot::of(fraction, block.buckets());
    let bucket = block.bucket(slot.bucket)?;
    let mut entries = match at {
        None if !bucket.has(slot.fingerprint) => return Ok(Found::Nothing),
        None => {
            bucket.check()?;
            bucket.entries()
        }
        Some(place) => bucket.entries_from(place),
    };
    while let Some(entry) = entries.next_with(slot.fingerprint) {
        let entry = entry?;
        match entry.payload {
            Payload::Stub(stub) if stub.board == board => return Ok(Found::Crowd),
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
fn range_in(whole: &[u8], part: &[u8]) -> Range<usize> {
    let start = part.as_ptr() as usize - whole.as_ptr() as usize;
    start..start + part.len()
}

impl Iterator for Matches<'_> {
    type Item = Result<StoredRecord>;

    fn next(&mut self) -> Option<Result<StoredRecord>> {
        let path = &self.reader.shared.path;
        Some(self.next_encoded()?.and_then(|record| decode(record, path)))
    }
}

/// Decodes a record whose checksum was right.
fn decode(record: EncodedRecord, path: &std::path::Path) -> Result<StoredRecord> {
    let import_number = record.import_number;
    let place = || format!("record {import_number}");
    match record::decode(record.bytes) {
        Ok((decoded, len)) if len == record.bytes.len() => {
            Ok(StoredRecord { import_number, record: decoded })
        }
        Ok(_) => Err(damaged(place(), "bytes follow the record").told(path)),
        Err(error) => Err(damaged(place(), error.to_string()).told(path)),
    }
}

/// The records of a crowded position, chunk by chunk.
struct Crowd {
    key: u64,
    board: Vec<u8>,
    chunks: OwnedRange<&'static [u8], &'static [u8]>,
    /// The chunk in hand, its checksum checked, and the place behind the last entry given.
    chunk: Option<(Guard, (usize, usize))>,
}

impl Crowd {
    fn next_encoded(&mut self, shared: &Shared) -> Option<Result<EncodedRecord<'_>>> {
        match self.advance(shared) {
            Err(error) => Some(Err(error)),
            Ok(None) => None,
            Ok(Some((import_number, place))) => {
                Some(Ok(EncodedRecord { import_number, bytes: self.bytes(place)? }))
            }
        }
    }

    /// The next record and where it lies in the chunk in hand.
    fn advance(&mut self, shared: &Shared) -> Result<Option<(u64, Range<usize>)>> {
        loop {
            if let Some((guard, place)) = &mut self.chunk {
                match entry_of_chunk(guard.value(), *place) {
                    Err(damage) => return Err(self.damaged(damage, shared)),
                    Ok(None) => self.chunk = None,
                    Ok(Some((import_number, range, now))) => {
                        *place = now;
                        let own = self.bytes(range.clone()).map(record::board_of);
                        if !matches!(own, Some(Ok(board)) if board == self.board) {
                            let damage = Damage("a record of another position");
                            return Err(self.damaged(damage, shared));
                        }
                        return Ok(Some((import_number, range)));
                    }
                }
            }
            let next = guarded(&shared.path, || {
                Ok(self.chunks.next().transpose()?.map(|(_, guard)| sized(guard)))
            });
            match next? {
                None => return Ok(None),
                Some(guard) => {
                    let checked = chunk::read(self.key, guard.value()).map(|_| ());
                    checked.map_err(|damage| self.damaged(damage, shared))?;
                    self.chunk = Some((guard, (0, 0)));
                }
            }
        }
    }

    fn bytes(&self, place: Range<usize>) -> Option<&[u8]> {
        self.chunk.as_ref()?.0.value().get(place)
    }

    fn damaged(&self, damage: Damage, shared: &Shared) -> StoreError {
        damaged(format!("crowded position {:016x}", self.key), damage.0).told(&shared.path)
    }
}

type ChunkEntry = (u64, Range<usize>, (usize, usize));

fn entry_of_chunk(
    bytes: &[u8],
    place: (usize, usize),
) -> std::result::Result<Option<ChunkEntry>, Damage> {
    let mut entries = chunk::bucket(bytes)?.entries_from(place);
    let Some(entry) = entries.next().transpose()? else { return Ok(None) };
    match entry.payload {
        Payload::Record(record) => {
            Ok(Some((entry.import_number, range_in(bytes, record), entries.place())))
        }
        Payload::Stub(_) => Err(Damage("a chunk holds a stub")),
    }
}

/// All records in order of their keys. As an iterator it decodes them; [`ByKey::next_encoded`]
/// gives the bytes.
pub struct ByKey<'r> {
    reader: &'r Reader,
    range: Option<OwnedRange<u64, &'static [u8]>>,
    failed: Option<StoreError>,
    block: Option<OpenBlock>,
    crowd: Option<Crowd>,
}

struct OpenBlock {
    number: u64,
    guard: Guard,
    bucket: u32,
    at: (usize, usize),
}

enum Step {
    Record { import_number: u64, bytes: Range<usize> },
    Crowd(Vec<u8>),
    End,
}

impl OpenBlock {
    /// The next entry, each bucket's checksum checked as it is entered.
    fn step(&mut self) -> std::result::Result<Step, Damage> {
        let bytes = self.guard.value();
        let block = Block::new(self.number, bytes)?;
        if (self.bucket, self.at) == (0, (0, 0)) {
            block.check()?;
        }
        while self.bucket < block.buckets() {
            let bucket = block.bucket(self.bucket)?;
            if self.at == (0, 0) {
                bucket.check()?;
            }
            let mut entries = bucket.entries_from(self.at);
            match entries.next().transpose()? {
                Some(entry) => {
                    self.at = entries.place();
                    return Ok(match entry.payload {
                        Payload::Stub(stub) => Step::Crowd(stub.board.to_vec()),
                        Payload::Record(record) => Step::Record {
                            import_number: entry.import_number,
                            bytes: range_in(bytes, record),
                        },
                    });
                }
                None => {
                    self.bucket += 1;
                    self.at = (0, 0);
                }
            }
        }
        Ok(Step::End)
    }
}

impl ByKey<'_> {
    /// The next record; `None` when there are no more. After an error there are no more.
    ///
    /// # Errors
    /// As [`Matches::next_encoded`].
    pub fn next_encoded(&mut self) -> Option<Result<EncodedRecord<'_>>> {
        match self.advance() {
            Err(error) => {
                self.range = None;
                self.block = None;
                self.crowd = None;
                Some(Err(error))
            }
            Ok(None) => None,
            Ok(Some((import_number, place))) => {
                let bytes = match &self.crowd {
                    Some(crowd) => crowd.bytes(place)?,
                    None => self.block.as_ref()?.guard.value().get(place)?,
                };
                Some(Ok(EncodedRecord { import_number, bytes }))
            }
        }
    }

    fn advance(&mut self) -> Result<Option<(u64, Range<usize>)>> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        let shared = &self.reader.shared;
        loop {
            if let Some(crowd) = &mut self.crowd {
                if let Some(found) = crowd.advance(shared)? {
                    return Ok(Some(found));
                }
                self.crowd = None;
            }
            if let Some(block) = &mut self.block {
                let number = block.number;
                let step =
                    block.step().map_err(|damage| self.reader.damaged_block(number, damage))?;
                match step {
                    Step::Record { import_number, bytes } => {
                        return Ok(Some((import_number, bytes)));
                    }
                    Step::Crowd(board) => {
                        let key = super::key_of_board(shared.key, &board).ok_or_else(|| {
                            self.reader.damaged_block(number, Damage("a stub has no board"))
                        })?;
                        self.crowd = Some(self.reader.crowd(key, &board)?);
                        continue;
                    }
                    Step::End => self.block = None,
                }
            }
            let Some(range) = &mut self.range else { return Ok(None) };
            let next = guarded(&shared.path, || {
                let next = range.next().transpose()?;
                Ok(next.map(|(number, guard)| (number.value(), sized(guard))))
            });
            match next? {
                None => self.range = None,
                Some((number, guard)) => {
                    self.block = Some(OpenBlock { number, guard, bucket: 0, at: (0, 0) });
                }
            }
        }
    }
}

impl Iterator for ByKey<'_> {
    type Item = Result<StoredRecord>;

    fn next(&mut self) -> Option<Result<StoredRecord>> {
        let path = &self.reader.shared.path;
        Some(self.next_encoded()?.and_then(|record| decode(record, path)))
    }
}

/// All records in order of their import. As an iterator it decodes them;
/// [`ByImport::next_encoded`] gives the bytes.
pub struct ByImport<'r> {
    reader: &'r Reader,
    /// What the window took from the budget of cached blocks.
    taken: usize,
    window: Window,
    /// The next record of the window.
    next: usize,
    /// The least import number that the next window may take.
    from: u64,
    ended: bool,
}

impl ByImport<'_> {
    /// The next record; `None` when there are no more. After an error there are no more.
    ///
    /// # Errors
    /// As [`Matches::next_encoded`].
    pub fn next_encoded(&mut self) -> Option<Result<EncodedRecord<'_>>> {
        while self.next == self.window.records.len() {
            if self.ended {
                return None;
            }
            if let Err(error) = self.refill() {
                self.ended = true;
                return Some(Err(error));
            }
        }
        let record = self.window.get(self.next)?;
        self.next += 1;
        Some(Ok(record))
    }

    fn refill(&mut self) -> Result<()> {
        let meta = &self.reader.meta;
        let numbers = meta.next_import_number.max(1);
        let per_number = meta.record_bytes / numbers + Window::PER_RECORD as u64 + 1;
        let likely = self.window.limit as u64 * 15 / 16 / per_number;
        self.window.begin(self.from, self.from.saturating_add(likely.max(1)));
        let window = &mut self.window;
        self.reader.each_record(|number, bytes| window.offer(number, bytes))?;
        self.window.sort();
        self.from = self.window.to;
        self.ended = self.from >= meta.next_import_number;
        self.next = 0;
        Ok(())
    }
}

impl Drop for ByImport<'_> {
    fn drop(&mut self) {
        self.reader.shared.cache_left.fetch_add(self.taken, Ordering::Relaxed);
    }
}

impl Iterator for ByImport<'_> {
    type Item = Result<StoredRecord>;

    fn next(&mut self) -> Option<Result<StoredRecord>> {
        let path = &self.reader.shared.path;
        Some(self.next_encoded()?.and_then(|record| decode(record, path)))
    }
}

/// The records whose import numbers lie in a range, kept within so many bytes by giving up the
/// upper end of the range.
struct Window {
    limit: usize,
    from: u64,
    /// Where the next window begins.
    to: u64,
    records: Vec<(u64, Range<usize>)>,
    arena: Vec<u8>,
}

impl Window {
    const PER_RECORD: usize = size_of::<(u64, Range<usize>)>();

    /// Room is reserved at once, as far as the store can fill it: what is not written to costs
    /// nothing, and growing would copy.
    fn new(limit: usize, meta: &Meta) -> Window {
        let at_most = |count: u64, limit| usize::try_from(count).map_or(limit, |n| n.min(limit));
        let records = at_most(meta.records, limit / (Window::PER_RECORD + 8));
        let arena = at_most(meta.record_bytes, limit);
        let (records, arena) = (super::with_room(records), super::with_room(arena));
        Window { limit, from: 0, to: 0, records, arena }
    }

    fn begin(&mut self, from: u64, to: u64) {
        (self.from, self.to) = (from, to);
        self.records.clear();
        self.arena.clear();
    }

    fn offer(&mut self, number: u64, bytes: &[u8]) {
        if !(self.from..self.to).contains(&number) {
            return;
        }
        let start = self.arena.len();
        self.arena.extend_from_slice(bytes);
        self.records.push((number, start..start + bytes.len()));
        while self.records.len() > 1 && self.len() > self.limit {
            self.halve();
        }
    }

    fn len(&self) -> usize {
        self.arena.len() + self.records.len() * Window::PER_RECORD
    }

    /// Gives up the later half of the records.
    fn halve(&mut self) {
        let half = self.records.len() / 2;
        let (_, (number, _), _) =
            self.records.select_nth_unstable_by_key(half, |(number, _)| *number);
        self.to = *number;
        self.records.truncate(half);
        self.records.sort_unstable_by_key(|(_, range)| range.start);
        let mut end = 0;
        for (_, range) in &mut self.records {
            let len = range.len();
            self.arena.copy_within(range.clone(), end);
            *range = end..end + len;
            end += len;
        }
        self.arena.truncate(end);
    }

    fn sort(&mut self) {
        self.records.sort_unstable_by_key(|(number, _)| *number);
    }

    fn get(&self, place: usize) -> Option<EncodedRecord<'_>> {
        let (import_number, range) = self.records.get(place)?;
        Some(EncodedRecord { import_number: *import_number, bytes: self.arena.get(range.clone())? })
    }
}

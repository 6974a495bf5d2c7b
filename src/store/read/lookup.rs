//! Lookups by position.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use super::blocks::{BlockRef, CheckedBlock};
use super::reader::Reader;
use super::record::{EncodedRecord, StoredRecord};
use crate::codec::query::{Query, Visit};
use crate::codec::record;
use crate::store::block::{BucketCursor, KeySlot, Payload, range_in};
use crate::store::crowd::CrowdRecords;
use crate::store::error::StoreError;
use crate::store::schema::spread;

type Result<T> = std::result::Result<T, StoreError>;

impl Reader {
    /// The records of a position, in order of their import numbers.
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
    /// for stored in reader.matches(&Position::START) {
    ///     let stored = stored?;
    ///     assert_eq!(stored.import_number, 0);
    ///     assert_eq!(stored.record, EpdRecord::new(Position::START));
    /// }
    /// assert!(reader.contains(&Position::START)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn matches(&self, position: impl Into<Query>) -> Matches<'_> {
        let query = self.keyed(position);
        let (number, _) = spread(query.key(), self.meta.blocks);
        Matches::new(self, query, self.blocks.get(number))
    }

    /// Whether the store has a record of the position.
    ///
    /// # Errors
    /// As [`Matches::next_encoded`].
    pub fn contains(&self, position: impl Into<Query>) -> Result<bool> {
        self.matches(position).next_encoded().transpose().map(|found| found.is_some())
    }

    /// The earliest record of a position.
    ///
    /// # Errors
    /// As [`Matches::next_encoded`].
    pub fn first(&self, position: impl Into<Query>) -> Result<Option<StoredRecord>> {
        self.matches(position).next().transpose()
    }

    /// Looks many positions up, in the order that the file likes best, and calls `visit` with each
    /// position's place among them and each of its records, in order of their import numbers.
    /// Where the store is larger than memory this is many times faster than one lookup after the
    /// other.
    ///
    /// ```
    /// use epdb::codec::{identity, query::Visit};
    /// use epdb::store::{ImportOptions, Store, StoreError, StoreOptions};
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("book.epdb");
    /// # let store = Store::create(&path, &StoreOptions::new())?;
    /// # let mut import = store.importer("by hand", &ImportOptions::new())?;
    /// # import.push(&epdb::parse_epd(b"8/8/8/4k3/8/1K6/8/8 b - - id \"K\";")?)?;
    /// # import.finish()?;
    /// let reader = store.reader()?;
    /// let lines = [&b"4k3/8/8/8/8/8/4P3/4K3 w - -"[..], b"8/8/8/4k3/8/1K6/8/8 b - -"];
    /// let queries = lines.iter().filter_map(|line| identity::read_fields(line));
    /// let mut found = Vec::new();
    /// reader.get_batch(queries, |place, record| {
    ///     found.push((place, record.number()));
    ///     Ok::<_, StoreError>(Visit::Continue)
    /// })?;
    /// assert_eq!(found, [(1, 0)]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Matches::next_encoded`], and those of `visit`, which ends the work with its first error.
    pub fn get_batch<Q: Into<Query>, E: From<StoreError>>(
        &self,
        positions: impl IntoIterator<Item = Q>,
        mut visit: impl FnMut(usize, EncodedRecord<'_>) -> std::result::Result<Visit, E>,
    ) -> std::result::Result<(), E> {
        let queries: Vec<Query> = positions.into_iter().map(|query| self.keyed(query)).collect();
        let mut order: Vec<(u64, usize)> =
            queries.iter().enumerate().map(|(place, query)| (query.key(), place)).collect();
        order.sort_unstable();
        let mut held: Option<(u64, Arc<CheckedBlock>)> = None;
        for (key, place) in order {
            let (number, _) = spread(key, self.meta.blocks);
            let block = match &held {
                Some((held, block)) if *held == number => BlockRef::Own(Arc::clone(block)),
                _ => self.blocks.get(number)?,
            };
            if let BlockRef::Own(block) = &block {
                held = Some((number, Arc::clone(block)));
            }
            let mut matches = Matches::new(self, queries[place], Ok(block));
            while let Some(record) = matches.next_encoded() {
                match visit(place, record?)? {
                    Visit::Continue => {}
                    Visit::SkipQuery => break,
                    Visit::Stop => return Ok(()),
                }
            }
        }
        Ok(())
    }

    /// The query with the key under which the store keeps the position.
    fn keyed(&self, query: impl Into<Query>) -> Query {
        let query = query.into();
        Query::new(*query.board(), (self.shared.key)(query.key()))
    }
}

/// The records of one position, in order of their import numbers, each found when it is asked for.
/// As an iterator it decodes them; [`Matches::next_encoded`] does not.
pub struct Matches<'r> {
    reader: &'r Reader,
    query: Query,
    state: State<'r>,
}

impl fmt::Debug for Matches<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Matches").field("query", &self.query).finish_non_exhaustive()
    }
}

enum State<'r> {
    /// In a block; once the first match was found, at this place of its bucket.
    Block {
        block: BlockRef<'r>,
        cursor: Option<BucketCursor>,
    },
    Crowd(Box<CrowdRecords>),
    Failed(StoreError),
    Done,
}

/// What the search of a block ends with.
enum BlockMatch {
    Record { import_number: u64, bytes: Range<usize>, cursor: BucketCursor },
    Crowd(Box<CrowdRecords>),
    Nothing,
}

impl<'r> Matches<'r> {
    fn new(reader: &'r Reader, query: Query, block: Result<BlockRef<'r>>) -> Matches<'r> {
        let state = match block {
            Ok(block) => State::Block { block, cursor: None },
            Err(error) => State::Failed(error),
        };
        Matches { reader, query, state }
    }

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
                    State::Block { block, .. } => block.block().bytes().get(place)?,
                    State::Crowd(crowd) => crowd.bytes(place)?,
                    _ => return None,
                };
                Some(Ok(EncodedRecord::new(import_number, bytes, self.reader.path())))
            }
        }
    }

    /// The next record's number, and its place in the block or the chunk in hand.
    fn advance(&mut self) -> Result<Option<(u64, Range<usize>)>> {
        if let State::Block { block, cursor } = &mut self.state {
            match search(self.reader, &self.query, block.block(), *cursor)? {
                BlockMatch::Record { import_number, bytes, cursor: next } => {
                    *cursor = Some(next);
                    return Ok(Some((import_number, bytes)));
                }
                BlockMatch::Nothing => return Ok(None),
                BlockMatch::Crowd(crowd) => self.state = State::Crowd(crowd),
            }
        }
        match &mut self.state {
            State::Crowd(crowd) => crowd.advance(self.reader.path()),
            state => match std::mem::replace(state, State::Done) {
                State::Failed(error) => Err(error),
                _ => Ok(None),
            },
        }
    }
}

/// Finds the next entry of a position in a block. The checksum of its bucket is looked at first, so
/// that nothing found is as sure as a record.
fn search(
    reader: &Reader,
    query: &Query,
    loaded: &CheckedBlock,
    cursor: Option<BucketCursor>,
) -> Result<BlockMatch> {
    let (number, fraction) = spread(query.key(), reader.meta.blocks);
    let damaged = |damage| reader.blocks.damaged(number, damage);
    let block = loaded.view();
    let slot = KeySlot::of(fraction, block.buckets());
    let bucket = block.bucket(slot.bucket).map_err(damaged)?;
    if cursor.is_none() {
        loaded.check(slot.bucket, &bucket).map_err(damaged)?;
    }
    let mut entries = bucket.entries_from(cursor.unwrap_or_default());
    let board = query.board().as_bytes();
    while let Some(entry) = entries.next_with(slot.fingerprint) {
        let entry = entry.map_err(damaged)?;
        match entry.payload {
            Payload::Stub(stub) if stub.board == board => {
                return Ok(BlockMatch::Crowd(Box::new(reader.crowd(query.key(), &stub)?)));
            }
            Payload::Record(record) if record::board_of(record).is_ok_and(|own| own == board) => {
                let import_number = entry.import_number;
                let (bytes, cursor) = (range_in(block.bytes(), record), entries.cursor());
                return Ok(BlockMatch::Record { import_number, bytes, cursor });
            }
            _ => {}
        }
    }
    Ok(BlockMatch::Nothing)
}

impl Iterator for Matches<'_> {
    type Item = Result<StoredRecord>;

    fn next(&mut self) -> Option<Result<StoredRecord>> {
        let next = self.next_encoded()?.and_then(|record| record.decode());
        if next.is_err() {
            self.state = State::Done;
        }
        Some(next)
    }
}

//! Lookups by position.

use std::fmt;
use std::ops::ControlFlow;
use std::ops::Range;

use super::blocks::BlockRef;
use super::{EncodedRecord, Reader, StoredRecord};
use crate::block::{BucketCursor, Payload, range_in};
use crate::error::{StoreError, damaged};
use crate::overflow::OverflowRecords;
use epdb_chess::codec::key::fast_range;
use epdb_chess::codec::query::{Query, SkipTo};
use epdb_chess::codec::record;

type Result<T> = std::result::Result<T, StoreError>;

/// Number of queries looked up together: about the cache lines that a processor loads at once.
const GROUP: usize = 32;

/// A query of a batch, with its place in the batch.
type NumberedQuery = (usize, Query);

impl Reader {
    /// The records of a position, in order of their import numbers.
    ///
    /// ```
    /// use epdb_chess::model::{EpdRecord, Position};
    /// use epdb_store::{ImportOptions, Store, StoreOptions};
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
    #[inline]
    pub fn matches(&self, position: impl Into<Query>) -> Matches<'_> {
        let query = self.keyed(position);
        let (number, fraction) = fast_range(query.key(), self.meta.blocks);
        let block = self.blocks.for_key(number, fraction, self.path());
        if let Ok(block) = &block {
            block.view().prefetch_bucket(block.slot(fraction).bucket);
        }
        Matches::new(self, query, block)
    }

    /// True if the store has a record of the position.
    ///
    /// # Errors
    /// The errors of [`Matches::next_encoded`].
    pub fn contains(&self, position: impl Into<Query>) -> Result<bool> {
        self.matches(position).next_encoded().transpose().map(|found| found.is_some())
    }

    /// The earliest record of a position.
    ///
    /// # Errors
    /// The errors of [`Matches::next_encoded`].
    pub fn first(&self, position: impl Into<Query>) -> Result<Option<StoredRecord>> {
        self.matches(position).next().transpose()
    }

    /// Looks up many positions in the order that is fastest for the file. Calls `visit` for each
    /// record of a position, in order of import numbers. The first argument is the index of the
    /// position in the batch. If the store is larger than memory, this is many times faster than
    /// one lookup after the other.
    ///
    /// ```
    /// use std::ops::ControlFlow;
    /// use epdb_chess::codec::identity;
    /// use epdb_store::{ImportOptions, Store, StoreError, StoreOptions};
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("book.epdb");
    /// # let store = Store::create(&path, &StoreOptions::default())?;
    /// # let mut import = store.importer("by hand", &ImportOptions::default())?;
    /// # import.push(&epdb_chess::parse_epd(b"8/8/8/4k3/8/1K6/8/8 b - - id \"K\";")?)?;
    /// # import.finish()?;
    /// let reader = store.reader()?;
    /// let lines = [&b"4k3/8/8/8/8/8/4P3/4K3 w - -"[..], b"8/8/8/4k3/8/1K6/8/8 b - -"];
    /// let queries = lines.iter().filter_map(|line| identity::read_fields(line));
    /// let mut found = Vec::new();
    /// reader.get_batch(queries, |place, record| {
    ///     found.push((place, record.number()));
    ///     Ok::<_, StoreError>(ControlFlow::Continue(()))
    /// })?;
    /// assert_eq!(found, [(1, 0)]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Matches::next_encoded`]. Errors of `visit` end the lookup and are passed on.
    pub fn get_batch<Q: Into<Query>, E: From<StoreError>>(
        &self,
        positions: impl IntoIterator<Item = Q>,
        mut visit: impl FnMut(usize, EncodedRecord<'_>) -> std::result::Result<ControlFlow<SkipTo>, E>,
    ) -> std::result::Result<(), E> {
        let mut queries = positions.into_iter().map(|query| self.keyed(query)).enumerate();
        let mut taken: Vec<NumberedQuery> = Vec::with_capacity(GROUP);
        // Queries whose block was not read before. They come last, sorted, so that each block is read once.
        let mut of_unread_blocks = Vec::new();
        loop {
            taken.clear();
            taken.extend(queries.by_ref().take(GROUP).inspect(|(_, query)| self.prefetch(query)));
            if taken.is_empty() {
                return self.visit_unread_blocks(of_unread_blocks, &mut visit);
            }
            let mut group = Vec::with_capacity(GROUP);
            for asked in &taken {
                match self.blocks.known(self.block_of(asked)) {
                    Some(block) => group.push((asked, block)),
                    None => of_unread_blocks.push(*asked),
                }
            }
            if self.visit_group(&group, &mut visit)? == ControlFlow::Break(SkipTo::End) {
                return Ok(());
            }
        }
    }

    /// Looks up queries whose blocks are not cached. The queries are sorted by key, so that each
    /// block is read once, and in the order of the file.
    fn visit_unread_blocks<E: From<StoreError>>(
        &self,
        mut queries: Vec<NumberedQuery>,
        visit: &mut impl FnMut(usize, EncodedRecord<'_>) -> std::result::Result<ControlFlow<SkipTo>, E>,
    ) -> std::result::Result<(), E> {
        queries.sort_unstable_by_key(|(place, query)| (query.key(), *place));
        for of_block in queries.chunk_by(|one, next| self.block_of(one) == self.block_of(next)) {
            let block = self.blocks.get(self.block_of(&of_block[0]), self.path());
            let block = self.intact(block)?;
            for chunk in of_block.chunks(GROUP) {
                let group: Vec<_> = chunk.iter().map(|asked| (asked, block.borrowed())).collect();
                if self.visit_group(&group, visit)? == ControlFlow::Break(SkipTo::End) {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Looks up queries, each in its block. The first cache lines that each query needs are
    /// prefetched for all queries. Only then do the lookups continue, so that the cache misses
    /// overlap.
    fn visit_group<E: From<StoreError>>(
        &self,
        group: &[(&NumberedQuery, BlockRef<'_>)],
        visit: &mut impl FnMut(usize, EncodedRecord<'_>) -> std::result::Result<ControlFlow<SkipTo>, E>,
    ) -> std::result::Result<ControlFlow<SkipTo>, E> {
        let bucket = |(_, query): &NumberedQuery, block: &BlockRef<'_>| {
            block.slot(fast_range(query.key(), self.meta.blocks).1).bucket
        };
        for (asked, block) in group {
            block.view().prefetch_directory(bucket(asked, block));
        }
        for (asked, block) in group {
            block.view().prefetch_bucket(bucket(asked, block));
        }
        for ((place, query), block) in group {
            let mut matches = Matches::new(self, *query, Ok(block.borrowed()));
            while let Some(record) = matches.next_encoded() {
                match visit(*place, record?)? {
                    ControlFlow::Continue(()) => {}
                    ControlFlow::Break(SkipTo::NextQuery) => break,
                    ControlFlow::Break(SkipTo::End) => return Ok(ControlFlow::Break(SkipTo::End)),
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    #[inline]
    fn prefetch(&self, query: &Query) {
        let (number, fraction) = fast_range(query.key(), self.meta.blocks);
        self.blocks.prefetch(number, fraction);
    }

    fn block_of(&self, (_, query): &NumberedQuery) -> u64 {
        fast_range(query.key(), self.meta.blocks).0
    }

    /// The query with the key that the store uses for the position.
    fn keyed(&self, query: impl Into<Query>) -> Query {
        let query = query.into();
        Query::new(*query.board(), (self.shared.key)(query.key()))
    }
}

/// Iterator over the records of one position, in order of their import numbers. A record is
/// searched only when it is requested. The iterator decodes the records; [`Matches::next_encoded`]
/// returns their bytes.
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
    Block { block: BlockRef<'r>, progress: Progress },
    Overflow(Box<OverflowRecords>),
    Failed(StoreError),
    Done,
}

#[derive(Copy, Clone)]
enum Progress {
    NotBegun,
    /// The next entry to compare is at this place of the bucket.
    At(BucketCursor),
    /// No further entry has the fingerprint.
    Over,
}

enum BlockMatch {
    Record { import_number: u64, bytes: Range<usize>, progress: Progress },
    Overflow(Box<OverflowRecords>),
    Nothing,
}

impl<'r> Matches<'r> {
    fn new(reader: &'r Reader, query: Query, block: Result<BlockRef<'r>>) -> Matches<'r> {
        let state = match block {
            Ok(block) => State::Block { block, progress: Progress::NotBegun },
            Err(error) => State::Failed(error),
        };
        Matches { reader, query, state }
    }

    /// The next record; `None` at the end and after an error.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] if a checksum over the record, or over the structures that lead to
    /// it, does not match; [`StoreError::Io`] if the file cannot be read.
    pub fn next_encoded(&mut self) -> Option<Result<EncodedRecord<'_>>> {
        if matches!(self.state, State::Done) {
            return None;
        }
        let found = self.advance().and_then(|found| self.checked(found));
        let found = self.reader.intact(found);
        let Ok(Some((import_number, place))) = found else {
            self.state = State::Done;
            return found.err().map(Err);
        };
        let bytes = self.bytes_at(&place).unwrap_or_default();
        Some(Ok(EncodedRecord::new(import_number, bytes, self.reader)))
    }

    /// Returns `found`, or an error if its range is not in the current block or chunk.
    fn checked(&self, found: Option<(u64, Range<usize>)>) -> Result<Option<(u64, Range<usize>)>> {
        match &found {
            Some((number, place)) if self.bytes_at(place).is_none() => {
                let what = "it ends outside its block";
                Err(damaged(format!("record {number}"), what).into_error(self.reader.path()))
            }
            _ => Ok(found),
        }
    }

    fn bytes_at(&self, place: &Range<usize>) -> Option<&[u8]> {
        match &self.state {
            State::Block { block, .. } => block.view().data().get(place.clone()),
            State::Overflow(overflow) => overflow.bytes(place.clone()),
            State::Failed(_) | State::Done => None,
        }
    }

    /// Import number of the next record, and its range in the current block or chunk.
    fn advance(&mut self) -> Result<Option<(u64, Range<usize>)>> {
        if let State::Block { block, progress } = &mut self.state {
            match search(self.reader, &self.query, block, *progress)? {
                BlockMatch::Record { import_number, bytes, progress: next } => {
                    *progress = next;
                    return Ok(Some((import_number, bytes)));
                }
                BlockMatch::Nothing => return Ok(None),
                BlockMatch::Overflow(overflow) => self.state = State::Overflow(overflow),
            }
        }
        match &mut self.state {
            State::Overflow(overflow) => overflow.advance(self.reader.path()),
            state => match std::mem::replace(state, State::Done) {
                State::Failed(error) => Err(error),
                _ => Ok(None),
            },
        }
    }
}

/// Finds the next entry of a position in a block. The checksum of the bucket is checked first. So
/// it is also certain that a record is absent.
fn search(
    reader: &Reader,
    query: &Query,
    loaded: &BlockRef<'_>,
    progress: Progress,
) -> Result<BlockMatch> {
    let (number, fraction) = fast_range(query.key(), reader.meta.blocks);
    let damaged = |damage| reader.block_damaged(number, damage);
    let block = loaded.view();
    let slot = loaded.slot(fraction);
    let bucket = || block.bucket(slot.bucket).map_err(damaged);
    let mut entries = match progress {
        Progress::NotBegun => {
            let bucket = bucket()?;
            loaded.check(slot.bucket, &bucket).map_err(damaged)?;
            bucket.entries()
        }
        Progress::At(cursor) => bucket()?.entries_from(cursor),
        Progress::Over => return Ok(BlockMatch::Nothing),
    };
    let board = query.board().as_bytes();
    while let Some(entry) = entries.next_with(slot.fingerprint) {
        let entry = entry.map_err(damaged)?;
        match entry.payload {
            Payload::Stub(stub) if stub.board == board => {
                return Ok(BlockMatch::Overflow(Box::new(
                    reader.overflow_records(query.key(), &stub)?,
                )));
            }
            Payload::Record(record) if record::board_of(record).is_ok_and(|own| own == board) => {
                let import_number = entry.import_number;
                let bytes = range_in(block.data(), record);
                let cursor = entries.cursor();
                let is_over = entries.skip_to(slot.fingerprint) == Ok(false);
                let progress = if is_over { Progress::Over } else { Progress::At(cursor) };
                return Ok(BlockMatch::Record { import_number, bytes, progress });
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::{ImportOptions, Store, StoreOptions};
    use epdb_chess::model::Position;

    /// A range outside its block is an error, and not the end of the matches.
    #[test]
    fn a_place_outside_its_block_is_damage() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::create(folder.path().join("a.epdb"), &StoreOptions::default()).unwrap();
        let mut importer = store.importer("a", &ImportOptions::default()).unwrap();
        importer.push(&epdb_chess::model::EpdRecord::new(Position::START)).unwrap();
        importer.finish().unwrap();
        let reader = store.reader().unwrap();
        let mut matches = reader.matches(&Position::START);
        assert!(matches.next_encoded().unwrap().is_ok());
        let error = matches.checked(Some((1, usize::MAX - 1..usize::MAX))).unwrap_err();
        assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
    }
}

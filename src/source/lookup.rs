//! Lookups by position in a store, an archive, a sharded archive, or a base and its delta.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;

use super::shards::{MAX_OPEN, OpenShard, QueriesByShard, ShardReader, VisitError};
use epdb_archive::{Archive, ArchiveError};
use epdb_base::new_file::OfFile;
use epdb_base::threads;
use epdb_chess::codec::query::{Query, SkipTo};
use epdb_chess::codec::record;
use epdb_chess::error::{Error, ErrorKind, Result};
use epdb_chess::model::EpdRecord;
use epdb_chess::text::FormatOptions;
use epdb_store::{EncodedRecord, Reader};

/// Takes the records of many queries. The arguments are the index of a query and one of its
/// records. A break skips the other records of this query, or ends the lookup ([`SkipTo`]).
pub type VisitMatch<'v> = dyn FnMut(usize, Match<'_>) -> Result<ControlFlow<SkipTo>> + 'v;

/// Takes the records of many queries, on several threads at once. The arguments are those of [`VisitMatch`].
pub type VisitOnThreads<'v> = dyn Fn(usize, Match<'_>) -> Result<()> + Sync + 'v;

/// Looks up many positions on all threads, and calls `visit` with each record that is found. The records come
/// in no order; [`Match::number`] is their order.
///
/// # Errors
/// The errors of [`Lookup::get_batch`].
pub fn visit_on_threads(
    source: &dyn Lookup,
    queries: &[Query],
    visit: &VisitOnThreads<'_>,
) -> Result<()> {
    source.visit_on_threads(queries, visit)
}

/// A collection of records that is searched by position: a store, an archive or a sharded archive.
/// Counters, castling dialects and superfluous en passant squares are ignored when positions are
/// compared.
///
/// Only types of this crate implement it. A function that takes a `&dyn Lookup` can search both
/// stores and archives:
///
/// ```
/// use epdb_archive::{Archive, ArchiveWriter, PackOptions};
/// use epdb_chess::model::Position;
/// use epdb_source::Lookup;
///
/// fn number_of_first(source: &dyn Lookup, position: &Position) -> epdb_chess::error::Result<Option<u64>> {
///     let mut matches = source.matches(&position.into());
///     Ok(matches.next_match().transpose()?.map(|found| found.number()))
/// }
///
/// let mut writer = ArchiveWriter::new(Vec::new(), PackOptions::default())?;
/// writer.push(&epdb_chess::parse_epd(b"8/8/8/4k3/8/1K6/8/8 b - -")?)?;
/// let archive = Archive::from_bytes(writer.finish()?)?;
/// assert_eq!(number_of_first(&archive, &Position::START)?, None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Lookup: sealed::Sealed {
    /// The records of a position, ordered by number. Records are read one by one, so reading only
    /// the first record is cheap.
    fn matches(&self, query: &Query) -> Matches<'_>;

    /// Looks up many positions, in the fastest order, and calls `visit` with each record that is
    /// found. The records of one query are ordered by number.
    ///
    /// # Errors
    /// Damage, and errors of the system. Errors of `visit` end the lookup and are passed on.
    fn get_batch(&self, queries: &[Query], visit: &mut VisitMatch<'_>) -> Result<()>;

    /// The records of many positions. The search for a position ends when `is_enough` returns true
    /// for the records that were found so far.
    ///
    /// # Errors
    /// Damage, and errors of the system.
    fn records(
        &self,
        queries: &[Query],
        is_enough: &dyn Fn(&[EpdRecord]) -> bool,
    ) -> Result<Vec<Vec<EpdRecord>>> {
        let mut records = vec![Vec::new(); queries.len()];
        self.get_batch(queries, &mut |place, found| {
            let records = &mut records[place];
            records.push(found.record()?);
            Ok(if is_enough(records) {
                ControlFlow::Break(SkipTo::NextQuery)
            } else {
                ControlFlow::Continue(())
            })
        })?;
        Ok(records)
    }

    /// Receives what lookups of these positions read, with few requests, if the source is at an address.
    /// Lookups that follow then answer at once. Errors are found again by these lookups.
    fn prefetch(&self, _queries: &[Query]) {}

    /// The record with a number, from 0; `None` if the number is too large. An archive finds the
    /// record at once. A store has no index of numbers, so it is read until the record is found.
    ///
    /// # Errors
    /// Damage, and errors of the system.
    fn record(&self, number: u64) -> Result<Option<EpdRecord>>;

    /// The part of the source that has the records of a position. Only a sharded archive has several parts.
    fn part_of(&self, _query: &Query) -> usize {
        0
    }

    /// True if each lookup reads all records, because an archive has no index.
    fn reads_all(&self) -> bool {
        false
    }

    /// Opens a part, so that lookups in it need not.
    ///
    /// # Errors
    /// The part cannot be opened.
    fn open_part(&self, _part: usize) -> Result<()> {
        Ok(())
    }

    /// Reads the manifest of a sharded archive again. Returns true if it was replaced since it was
    /// read last; lookups that begin from now on are in the new shards. False for every other source.
    /// [`repeat_if_replaced`] calls this.
    ///
    /// # Errors
    /// The manifest cannot be read, or is damaged.
    fn read_again(&self) -> Result<bool> {
        Ok(false)
    }
}

/// Calls `read`, which looks up positions in a source. If it fails, and the source is a sharded archive
/// whose manifest was replaced meanwhile, calls it once more. So `read` must begin from nothing: its
/// answers are all from the old shards or all from the new ones.
///
/// ```
/// use epdb_chess::codec::query::Query;
/// use epdb_chess::model::Position;
/// use epdb_source::{Lookup, repeat_if_replaced};
///
/// fn count(source: &dyn Lookup, query: &Query) -> epdb_chess::error::Result<usize> {
///     repeat_if_replaced(source, || {
///         let found = source.records(std::slice::from_ref(query), &|_| false)?;
///         Ok(found[0].len())
///     })
/// }
/// # let mut writer = epdb_archive::ArchiveWriter::new(Vec::new(), Default::default())?;
/// # writer.push(&epdb_chess::parse_epd(b"8/8/8/4k3/8/1K6/8/8 b - -")?)?;
/// # let archive = epdb_archive::Archive::from_bytes(writer.finish()?)?;
/// # assert_eq!(count(&archive, &(&Position::START).into())?, 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Errors of `read`.
pub fn repeat_if_replaced<T>(
    source: &dyn Lookup,
    mut read: impl FnMut() -> Result<T>,
) -> Result<T> {
    match read() {
        Err(error) if is_of_content(&error) && source.read_again().unwrap_or(false) => read(),
        answer => answer,
    }
}

/// True if another content of a file may be the reason of an error.
fn is_of_content(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::InvalidData)
}

impl Lookup for Reader {
    fn matches(&self, query: &Query) -> Matches<'_> {
        Matches(MatchesOf::Store(OfFile::new(Reader::matches(self, query))))
    }

    fn get_batch(&self, queries: &[Query], visit: &mut VisitMatch<'_>) -> Result<()> {
        Reader::get_batch(self, queries, |place, found| visit(place, Match::of_store(found)))
    }

    fn record(&self, number: u64) -> Result<Option<EpdRecord>> {
        Ok(Reader::record(self, number)?)
    }
}

impl Lookup for Archive {
    fn matches(&self, query: &Query) -> Matches<'_> {
        Matches(MatchesOf::Archive(Archive::matches(self, query)))
    }

    fn get_batch(&self, queries: &[Query], visit: &mut VisitMatch<'_>) -> Result<()> {
        Archive::get_batch(self, queries, |place, found| visit(place, Match::of_archive(found)))
    }

    fn prefetch(&self, queries: &[Query]) {
        Archive::prefetch(self, queries).ok();
    }

    fn reads_all(&self) -> bool {
        !self.has_index()
    }

    fn record(&self, number: u64) -> Result<Option<EpdRecord>> {
        if number >= self.len() {
            return Ok(None);
        }
        Ok(Some(Archive::record(self, number)?))
    }
}

impl Lookup for ShardReader {
    fn matches(&self, query: &Query) -> Matches<'_> {
        let shards = self.current();
        let shard = shards.shard_of(query).and_then(|shard| shards.get(shard));
        Matches::read_by(match shard {
            Ok(shard) => ShardMatches { search: Some((shard, *query)), ..ShardMatches::default() },
            Err(error) => ShardMatches { read: [Err(error)].into(), ..ShardMatches::default() },
        })
    }

    fn get_batch(&self, queries: &[Query], visit: &mut VisitMatch<'_>) -> Result<()> {
        each_shard(self, queries, |shard, places| search_shard(shard, queries, places, visit))
    }

    fn prefetch(&self, queries: &[Query]) {
        let shards = self.current();
        let Ok(by_shard) = QueriesByShard::new(&shards, queries) else { return };
        let parts: Vec<(usize, &[usize])> = by_shard.parts().collect();
        for parts in parts.chunks(MAX_OPEN) {
            shards.prefetch(parts, queries);
        }
    }

    fn record(&self, number: u64) -> Result<Option<EpdRecord>> {
        let shards = self.current();
        if number >= shards.manifest().records() {
            return Ok(None);
        }
        let shard = shards.shard_of_record(number)?;
        let record = shard.archive.record(number - shard.first);
        record.map(Some).map_err(|error| shard.failed(error))
    }

    fn part_of(&self, query: &Query) -> usize {
        self.current().part_of(query)
    }

    fn open_part(&self, part: usize) -> Result<()> {
        self.current().get(part).map(drop)
    }

    fn read_again(&self) -> Result<bool> {
        ShardReader::read_again(self)
    }
}

/// Calls `search` with each shard that may have some positions, and with the places of their queries, until it
/// breaks.
fn each_shard(
    shards: &ShardReader,
    queries: &[Query],
    mut search: impl FnMut(&OpenShard, &[usize]) -> Result<ControlFlow<()>>,
) -> Result<()> {
    let shards = shards.current();
    let by_shard = QueriesByShard::new(&shards, queries)?;
    let parts: Vec<(usize, &[usize])> = by_shard.parts().collect();
    for parts in parts.chunks(MAX_OPEN) {
        let received = shards.prefetch(parts, queries);
        for (nth, (shard, places)) in parts.iter().enumerate() {
            let shard = match received.get(nth) {
                Some(Some(shard)) => Arc::clone(shard),
                _ => shards.get(*shard)?,
            };
            if search(&shard, places)?.is_break() {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// Looks up the queries at some places in a shard. Breaks if `visit` ends the lookup.
fn search_shard(
    shard: &OpenShard,
    queries: &[Query],
    places: &[usize],
    visit: &mut VisitMatch<'_>,
) -> Result<ControlFlow<()>> {
    let mut flow = ControlFlow::Continue(());
    let searched =
        shard.archive.get_batch(places.iter().map(|place| &queries[*place]), |place, found| {
            let visited = visit(places[place], Match::of_shard(shard, found));
            if matches!(visited, Ok(ControlFlow::Break(SkipTo::End))) {
                flow = ControlFlow::Break(());
            }
            visited.map_err(VisitError::Visit)
        });
    searched.map_err(|error| error.named(|error| shard.failed(error)))?;
    Ok(flow)
}

pub(super) mod sealed {
    use super::*;

    pub trait Sealed: Sync {
        fn visit_on_threads(&self, queries: &[Query], visit: &VisitOnThreads<'_>) -> Result<()>;
    }

    impl Sealed for Reader {
        fn visit_on_threads(&self, queries: &[Query], visit: &VisitOnThreads<'_>) -> Result<()> {
            threads::each_part(queries, |first, queries| {
                Reader::get_batch(self, queries, |place, found| {
                    visit(first + place, Match::of_store(found)).map(ControlFlow::Continue)
                })
            })
        }
    }

    impl Sealed for Archive {
        fn visit_on_threads(&self, queries: &[Query], visit: &VisitOnThreads<'_>) -> Result<()> {
            self.visit_batch(queries, |place, found| visit(place, Match::of_archive(found)))
        }
    }

    impl Sealed for ShardReader {
        fn visit_on_threads(&self, queries: &[Query], visit: &VisitOnThreads<'_>) -> Result<()> {
            each_shard(self, queries, |shard, places| {
                let own: Vec<Query> = places.iter().map(|place| queries[*place]).collect();
                let searched = shard.archive.visit_batch(&own, |nth, found| {
                    visit(places[nth], Match::of_shard(shard, found)).map_err(VisitError::Visit)
                });
                searched.map_err(|error| error.named(|error| shard.failed(error)))?;
                Ok(ControlFlow::Continue(()))
            })
        }
    }
}

/// A record in its binary form, with its number.
pub(super) type NumberedRecord = (u64, Vec<u8>);

/// Reads the records of a position in their binary form.
pub(super) trait ReadRecords {
    fn next_record(&mut self) -> Option<Result<NumberedRecord>>;
}

/// The records of one position; see [`Lookup::matches`]. The iterator returns decoded records;
/// [`Matches::next_match`] returns records that are not decoded yet.
pub struct Matches<'l>(MatchesOf<'l>);

enum MatchesOf<'l> {
    Store(OfFile<epdb_store::Matches<'l>>),
    Archive(epdb_archive::Matches<'l>),
    /// Records of a shard, or of a base and its delta, and the record that was read last.
    Read(Box<dyn ReadRecords + 'l>, NumberedRecord),
}

/// The records of one position in a shard. This structure owns the shard, because the shard may be closed for
/// other lookups in the meantime. It reads several records at once: first one record, then each time twice as
/// many as before.
#[derive(Default)]
pub(super) struct ShardMatches {
    /// The shard and the position; `None` after the end and after an error.
    search: Option<(Arc<OpenShard>, Query)>,
    /// Number of records that were read.
    count: usize,
    /// Records that were read and not returned yet.
    read: VecDeque<Result<NumberedRecord>>,
}

impl ReadRecords for ShardMatches {
    fn next_record(&mut self) -> Option<Result<NumberedRecord>> {
        if self.read.is_empty() {
            self.read_more();
        }
        self.read.pop_front()
    }
}

impl ShardMatches {
    fn read_more(&mut self) {
        let Some((shard, query)) = self.search.take() else { return };
        // Each read takes as many as all reads before it: few reads for many records, no more than twice
        // the records that are needed.
        let wanted = self.count.max(1);
        let encode = |found: std::result::Result<epdb_archive::Match<'_>, ArchiveError>| {
            let found = found.map_err(|error| shard.failed(error))?;
            Match::of_shard(&shard, found).numbered(0)
        };
        let matches = shard.archive.matches(query).skip(self.count);
        self.read.extend(matches.take(wanted).map(encode));
        self.count += self.read.len();
        if self.read.len() == wanted && self.read.iter().all(Result::is_ok) {
            self.search = Some((shard, query));
        }
    }
}

impl fmt::Debug for Matches<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Matches").finish_non_exhaustive()
    }
}

impl<'l> Matches<'l> {
    pub(super) fn read_by(records: impl ReadRecords + 'l) -> Matches<'l> {
        Matches(MatchesOf::Read(Box::new(records), (0, Vec::new())))
    }

    /// The next record; `None` at the end and after an error.
    ///
    /// # Errors
    /// Damage, and errors of the system.
    pub fn next_match(&mut self) -> Option<Result<Match<'_>>> {
        Some(match &mut self.0 {
            MatchesOf::Store(matches) => {
                matches.next_encoded()?.map(Match::of_store).map_err(Error::from)
            }
            MatchesOf::Archive(matches) => {
                matches.next()?.map(Match::of_archive).map_err(Error::from)
            }
            MatchesOf::Read(records, last) => records.next_record()?.map(|next| {
                *last = next;
                Match::of_bytes(last.0, &last.1)
            }),
        })
    }
}

impl Iterator for Matches<'_> {
    type Item = Result<(u64, EpdRecord)>;

    fn next(&mut self) -> Option<Self::Item> {
        let decode = |found: Match<'_>| Ok((found.number(), found.record()?));
        Some(self.next_match()?.and_then(decode))
    }
}

/// A record that was found, not decoded yet.
pub struct Match<'m> {
    number: u64,
    found: Found<'m>,
    /// The shard in which the record was found, which its errors name.
    shard: Option<&'m OpenShard>,
}

enum Found<'m> {
    Store(OfFile<EncodedRecord<'m>>),
    Archive(epdb_archive::Match<'m>),
    Bytes(&'m [u8]),
}

impl fmt::Debug for Match<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Match").field("number", &self.number).finish_non_exhaustive()
    }
}

impl<'m> Match<'m> {
    fn of_store(found: EncodedRecord<'m>) -> Match<'m> {
        Match { number: found.number(), found: Found::Store(OfFile::new(found)), shard: None }
    }

    fn of_archive(found: epdb_archive::Match<'m>) -> Match<'m> {
        Match { number: found.number(), found: Found::Archive(found), shard: None }
    }

    fn of_shard(shard: &'m OpenShard, found: epdb_archive::Match<'m>) -> Match<'m> {
        Match { shard: Some(shard), ..Match::of_archive(found) }.after(shard.first)
    }

    pub(super) const fn of_bytes(number: u64, record: &'m [u8]) -> Match<'m> {
        Match { number, found: Found::Bytes(record), shard: None }
    }

    /// The same record, whose source has `records` records before it.
    pub(super) fn after(self, records: u64) -> Match<'m> {
        Match { number: records + self.number, ..self }
    }

    /// The number and the binary form of the record. The number also counts the `before` records of the sources
    /// before its own.
    pub(super) fn numbered(&self, before: u64) -> Result<NumberedRecord> {
        let mut record = Vec::new();
        self.encode(&mut record)?;
        Ok((before + self.number, record))
    }

    fn failed(&self, error: ArchiveError) -> Error {
        match self.shard {
            Some(shard) => shard.failed(error),
            None => error.into(),
        }
    }

    /// The number of the record in its source, from 0.
    pub const fn number(&self) -> u64 {
        self.number
    }

    /// The record.
    ///
    /// # Errors
    /// Damage.
    pub fn record(&self) -> Result<EpdRecord> {
        match &self.found {
            Found::Store(found) => Ok(found.record()?),
            Found::Archive(found) => found.record().map_err(|error| self.failed(error)),
            Found::Bytes(record) => Ok(record::decode(record)?.0),
        }
    }

    /// Appends the canonical text without a line end. This is usually faster than decoding the
    /// record.
    ///
    /// # Errors
    /// Damage.
    pub fn write_text(&self, out: &mut Vec<u8>) -> Result<()> {
        match &self.found {
            Found::Store(found) => Ok(found.write_text(out)?),
            Found::Archive(found) => {
                let written = found.write_text(&FormatOptions::default(), out);
                written.map_err(|error| self.failed(error))
            }
            Found::Bytes(record) => Ok(record::write_text(record, out)?),
        }
    }

    /// Appends the record as [`codec::record`](record) encodes it.
    ///
    /// # Errors
    /// Damage, and a record of an archive that has no binary form.
    pub fn encode(&self, out: &mut Vec<u8>) -> Result<()> {
        match self.bytes()? {
            Some(bytes) => out.extend_from_slice(&bytes),
            None => record::encode(&self.record()?, out)?,
        }
        Ok(())
    }

    /// The bytes of the record as [`codec::record`](record) encodes it, if the source stores them.
    /// The checksum of the bytes was checked, but they were not decoded.
    ///
    /// # Errors
    /// Damage.
    pub fn bytes(&self) -> Result<Option<Cow<'_, [u8]>>> {
        match &self.found {
            Found::Store(found) => Ok(Some(found.bytes().into())),
            Found::Archive(found) => {
                let bytes = found.bytes().map_err(|error| self.failed(error))?;
                Ok(bytes.map(Cow::Owned))
            }
            Found::Bytes(record) => Ok(Some((*record).into())),
        }
    }
}

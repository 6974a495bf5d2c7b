//! Lookups by position in a store, an archive, a sharded archive, or a base and its delta.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::fmt;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[cfg(feature = "server")]
use super::address::is_address;
use super::delta::{DeltaPath, is_folded, merged_records, other_base};
use super::format::FileFormat;
use super::local::{Local, no_room_in};
use super::manifest::{Manifest, invalid};
use super::open::{Content, Source};
use super::options::SourceOptions;
use super::shards::{MAX_OPEN, OpenShard, QueriesByShard, ShardReader, ShardedArchive, VisitError};
use elsa::sync::FrozenVec;

use crate::archive::{self, Archive, ArchiveError, ArchiveWriter, PackOptions};
use crate::codec::kept_game;
use crate::codec::query::{Query, SkipTo};
use crate::codec::record;
use crate::codec::tally_origin::TallyOrigin;
use crate::error::{Error, ErrorKind, Result};
use crate::model::{EpdRecord, Game, GameId, Opcode, StandardOpcode};
use crate::new_file::{SpooledFile, file_identity};
use crate::store::{self, EncodedRecord, Reader, Store};
use crate::text::{FormatOptions, epd};

/// Takes the records of many queries. The arguments are the index of a query and one of its
/// records. A break skips the other records of this query, or ends the lookup ([`SkipTo`]).
pub type VisitMatch<'v> = dyn FnMut(usize, Match<'_>) -> Result<ControlFlow<SkipTo>> + 'v;

/// A collection of records that is searched by position: a store, an archive or a sharded archive.
/// Counters, castling dialects and superfluous en passant squares are ignored when positions are
/// compared.
///
/// Only types of this crate implement it. A function that takes a `&dyn Lookup` can search both
/// stores and archives:
///
/// ```
/// use epdb::archive::{Archive, ArchiveWriter, PackOptions};
/// use epdb::model::Position;
/// use epdb::source::Lookup;
///
/// fn number_of_first(source: &dyn Lookup, position: &Position) -> epdb::error::Result<Option<u64>> {
///     let mut matches = source.matches(&position.into());
///     Ok(matches.next_match().transpose()?.map(|found| found.number()))
/// }
///
/// let mut writer = ArchiveWriter::new(Vec::new(), PackOptions::default())?;
/// writer.push(&epdb::parse_epd(b"8/8/8/4k3/8/1K6/8/8 b - -")?)?;
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
            Ok(match is_enough(records) {
                true => ControlFlow::Break(SkipTo::NextQuery),
                false => ControlFlow::Continue(()),
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
/// use epdb::codec::query::Query;
/// use epdb::model::Position;
/// use epdb::source::{Lookup, repeat_if_replaced};
///
/// fn count(source: &dyn Lookup, query: &Query) -> epdb::error::Result<usize> {
///     repeat_if_replaced(source, || {
///         let found = source.records(std::slice::from_ref(query), &|_| false)?;
///         Ok(found[0].len())
///     })
/// }
/// # let mut writer = epdb::archive::ArchiveWriter::new(Vec::new(), Default::default())?;
/// # writer.push(&epdb::parse_epd(b"8/8/8/4k3/8/1K6/8/8 b - -")?)?;
/// # let archive = epdb::archive::Archive::from_bytes(writer.finish()?)?;
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
        Matches(MatchesOf::Store(Reader::matches(self, query)))
    }

    fn get_batch(&self, queries: &[Query], visit: &mut VisitMatch<'_>) -> Result<()> {
        Reader::get_batch(self, queries, |place, found| visit(place, Match(MatchOf::Store(found))))
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
        Archive::get_batch(self, queries, |place, found| {
            visit(place, Match(MatchOf::Archive(found)))
        })
    }

    fn prefetch(&self, queries: &[Query]) {
        Archive::prefetch(self, queries).ok();
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
        Matches(MatchesOf::Shard(match shards.get(shards.shard_of(query)) {
            Ok(shard) => ShardMatches { search: Some((shard, *query)), ..ShardMatches::default() },
            Err(error) => ShardMatches { read: [Err(error)].into(), ..ShardMatches::default() },
        }))
    }

    fn get_batch(&self, queries: &[Query], visit: &mut VisitMatch<'_>) -> Result<()> {
        let shards = self.current();
        let by_shard = QueriesByShard::new(&shards, queries);
        let parts: Vec<(usize, &[usize])> = by_shard.parts().collect();
        for parts in parts.chunks(MAX_OPEN) {
            let received = shards.prefetch(parts, queries);
            for (nth, (shard, places)) in parts.iter().enumerate() {
                let shard = match received.get(nth) {
                    Some(Some(shard)) => Arc::clone(shard),
                    _ => shards.get(*shard)?,
                };
                if search_shard(&shard, queries, places, visit)?.is_break() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn prefetch(&self, queries: &[Query]) {
        let shards = self.current();
        let by_shard = QueriesByShard::new(&shards, queries);
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
        self.current().shard_of(query)
    }

    fn open_part(&self, part: usize) -> Result<()> {
        self.current().get(part).map(drop)
    }

    fn read_again(&self) -> Result<bool> {
        ShardReader::read_again(self)
    }
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
            let visited = visit(places[place], Match(MatchOf::Shard(shard, found)));
            if matches!(visited, Ok(ControlFlow::Break(SkipTo::End))) {
                flow = ControlFlow::Break(());
            }
            visited.map_err(VisitError::Visit)
        });
    searched.map_err(|error| error.named(|error| shard.failed(error)))?;
    Ok(flow)
}

/// Number of positions that are looked up together in a library and its delta.
const SUM_BATCH: usize = 256;

impl Lookup for Sum {
    fn matches(&self, query: &Query) -> Matches<'_> {
        Matches(MatchesOf::Sum(self.records(query), (0, Vec::new())))
    }

    fn get_batch(&self, queries: &[Query], visit: &mut VisitMatch<'_>) -> Result<()> {
        // The last record of each position waits for one to merge with.
        let batch = if self.adds_tallies() { SUM_BATCH } else { queries.len().max(1) };
        for (nth, queries) in queries.chunks(batch).enumerate() {
            let mut visit = |place, found: Match<'_>| visit(nth * batch + place, found);
            if self.get_some(queries, &mut visit)?.is_break() {
                break;
            }
        }
        Ok(())
    }

    fn prefetch(&self, queries: &[Query]) {
        self.parts.iter().for_each(|(_, part)| part.prefetch(queries));
    }

    fn record(&self, number: u64) -> Result<Option<EpdRecord>> {
        let is_before = |(first, _): &&(u64, OpenLookup)| *first <= number;
        let Some((first, part)) = self.parts.iter().rfind(is_before) else { return Ok(None) };
        let Some(record) = part.record(number - first)? else { return Ok(None) };
        if !self.adds_tallies() {
            return Ok(Some(record));
        }
        // A merged record has the number of its first record. So the record with this number is in
        // the last one whose number is not greater.
        let mut found = Vec::new();
        let mut records = self.records(&record.position().into());
        while let Some((own, record)) = records.next_record().transpose()? {
            if own > number {
                break;
            }
            found = record;
        }
        Ok(Some(record::decode(&found)?.0))
    }
}

mod sealed {
    use super::{Archive, OpenLookup, Reader, ShardReader, Sum};

    pub trait Sealed {}

    impl Sealed for Reader {}

    impl Sealed for Archive {}

    impl Sealed for OpenLookup {}

    impl Sealed for ShardReader {}

    impl Sealed for Sum {}
}

/// The records of one position; see [`Lookup::matches`]. The iterator returns decoded records;
/// [`Matches::next_match`] returns records that are not decoded yet.
pub struct Matches<'l>(MatchesOf<'l>);

enum MatchesOf<'l> {
    Store(store::Matches<'l>),
    Archive(archive::Matches<'l>),
    Shard(ShardMatches),
    /// The records of a base and its delta, and the record that was read last.
    Sum(SumRecords<'l>, NumberedRecord),
}

/// The records of one position in a shard. This structure owns the shard, because the shard may be closed for
/// other lookups in the meantime. It reads several records at once: first one record, then each time twice as
/// many as before.
#[derive(Default)]
struct ShardMatches {
    /// The shard and the position; `None` after the end and after an error.
    search: Option<(Arc<OpenShard>, Query)>,
    /// Number of records that were read.
    count: usize,
    /// Records that were read and not returned yet, and the record that was returned last.
    read: VecDeque<Result<(u64, EpdRecord)>>,
    last: Option<(u64, EpdRecord)>,
}

impl ShardMatches {
    fn next_match(&mut self) -> Option<Result<Match<'_>>> {
        if self.read.is_empty() {
            self.read_more();
        }
        match self.read.pop_front()? {
            Ok(found) => {
                let (number, record) = self.last.insert(found);
                Some(Ok(Match(MatchOf::Record(*number, record))))
            }
            Err(error) => Some(Err(error)),
        }
    }

    fn read_more(&mut self) {
        let Some((shard, query)) = self.search.take() else { return };
        let wanted = self.count.max(1);
        let decode = |found: std::result::Result<archive::Match<'_>, ArchiveError>| {
            let read = found.and_then(|found| Ok((shard.first + found.number(), found.record()?)));
            read.map_err(|error| shard.failed(error))
        };
        let matches = shard.archive.matches(query).skip(self.count);
        self.read.extend(matches.take(wanted).map(decode));
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

impl Matches<'_> {
    /// The next record; `None` at the end and after an error.
    ///
    /// # Errors
    /// Damage, and errors of the system.
    pub fn next_match(&mut self) -> Option<Result<Match<'_>>> {
        Some(
            match &mut self.0 {
                MatchesOf::Store(matches) => {
                    matches.next_encoded()?.map(MatchOf::Store).map_err(Error::from)
                }
                MatchesOf::Archive(matches) => {
                    matches.next()?.map(MatchOf::Archive).map_err(Error::from)
                }
                MatchesOf::Shard(matches) => return matches.next_match(),
                MatchesOf::Sum(records, last) => records.next_record()?.map(|next| {
                    *last = next;
                    MatchOf::Sum(last.0, &last.1)
                }),
            }
            .map(Match),
        )
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
pub struct Match<'m>(MatchOf<'m>);

enum MatchOf<'m> {
    Store(EncodedRecord<'m>),
    Archive(archive::Match<'m>),
    Shard(&'m OpenShard, archive::Match<'m>),
    Record(u64, &'m EpdRecord),
    /// A record of a part of a base and its delta, with the number of the first record of the part.
    Part(u64, &'m Match<'m>),
    /// A record of a library and its delta, with its number.
    Sum(u64, &'m [u8]),
}

impl fmt::Debug for Match<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Match").field("number", &self.number()).finish_non_exhaustive()
    }
}

impl Match<'_> {
    /// The number of the record in its source, from 0.
    pub fn number(&self) -> u64 {
        match &self.0 {
            MatchOf::Store(found) => found.number(),
            MatchOf::Archive(found) => found.number(),
            MatchOf::Shard(shard, found) => shard.first + found.number(),
            MatchOf::Record(number, _) | MatchOf::Sum(number, _) => *number,
            MatchOf::Part(first, found) => first + found.number(),
        }
    }

    /// The record.
    ///
    /// # Errors
    /// Damage.
    pub fn record(&self) -> Result<EpdRecord> {
        Ok(match &self.0 {
            MatchOf::Store(found) => found.record()?,
            MatchOf::Archive(found) => found.record()?,
            MatchOf::Shard(shard, found) => found.record().map_err(|error| shard.failed(error))?,
            MatchOf::Record(_, record) => (*record).clone(),
            MatchOf::Part(_, found) => found.record()?,
            MatchOf::Sum(_, record) => record::decode(record)?.0,
        })
    }

    /// Appends the canonical text without a line end. This is usually faster than decoding the
    /// record.
    ///
    /// # Errors
    /// Damage.
    pub fn write_text(&self, out: &mut Vec<u8>) -> Result<()> {
        match &self.0 {
            MatchOf::Store(found) => found.write_text(out)?,
            MatchOf::Archive(found) => found.write_text(&FormatOptions::default(), out)?,
            MatchOf::Shard(shard, found) => {
                let written = found.write_text(&FormatOptions::default(), out);
                written.map_err(|error| shard.failed(error))?;
            }
            MatchOf::Record(_, record) => drop(epd::format(record, &FormatOptions::default(), out)),
            MatchOf::Part(_, found) => found.write_text(out)?,
            MatchOf::Sum(_, record) => record::write_text(record, out)?,
        }
        Ok(())
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
        Ok(match &self.0 {
            MatchOf::Store(found) => Some(found.bytes().into()),
            MatchOf::Archive(found) => found.bytes()?.map(Cow::Owned),
            MatchOf::Shard(shard, found) => {
                found.bytes().map_err(|error| shard.failed(error))?.map(Cow::Owned)
            }
            MatchOf::Record(..) => None,
            MatchOf::Part(_, found) => found.bytes()?,
            MatchOf::Sum(_, record) => Some((*record).into()),
        })
    }
}

/// A record in its binary form, with its number.
type NumberedRecord = (u64, Vec<u8>);

fn numbered(first: u64, found: &Match<'_>) -> Result<NumberedRecord> {
    let mut record = Vec::new();
    found.encode(&mut record)?;
    Ok((first + found.number(), record))
}

/// A base and its delta, which are searched as one.
struct Sum {
    /// The base, then the deltas, each with the number of its first record.
    parts: Vec<(u64, OpenLookup)>,
    /// The origin of both, if the parts are libraries. Then the records of a position are merged, as
    /// `shard merge` merges them.
    origin: Option<TallyOrigin>,
    /// The files from which both were opened.
    state: DeltaState,
}

impl Sum {
    /// # Errors
    /// A delta has other settings than the base, was counted against another base, or only one of
    /// both is a library.
    fn new(base: OpenLookup, deltas: Vec<OpenLookup>, state: DeltaState) -> Result<Sum> {
        let mut origin = base.tally_origin()?;
        let (mut parts, mut first) = (Vec::new(), base.end_of_numbers()?);
        for delta in deltas {
            let theirs = delta.tally_origin()?;
            // A delta without records and origin is new.
            if !delta.is_empty() || theirs.is_some() {
                add_origin(&mut origin, theirs, base.name())
                    .map_err(|error| error.in_source(Arc::clone(delta.name())))?;
            }
            let next = first + delta.end_of_numbers()?;
            parts.push((first, delta));
            first = next;
        }
        parts.insert(0, (0, base));
        Ok(Sum { parts, origin, state })
    }

    fn records(&self, query: &Query) -> SumRecords<'_> {
        let parts = self.parts.iter().map(|part| (part, part.1.matches(query)));
        SumRecords { sum: self, parts: parts.collect(), next: None }
    }

    const fn adds_tallies(&self) -> bool {
        self.origin.is_some()
    }

    /// Looks up positions in each part. Breaks if `visit` ends the lookup.
    fn get_some(&self, queries: &[Query], visit: &mut VisitMatch<'_>) -> Result<ControlFlow<()>> {
        let mut answers: Vec<SumAnswer> = vec![SumAnswer::default(); queries.len()];
        for (first, part) in &self.parts {
            let open: Vec<usize> = (0..queries.len()).filter(|it| !answers[*it].is_full).collect();
            let own: Vec<Query> = open.iter().map(|place| queries[*place]).collect();
            let mut is_ended = false;
            part.get_batch(&own, &mut |nth, found| {
                let place = open[nth];
                let answer = &mut answers[place];
                let flow = match self.adds_tallies() {
                    false => visit(place, Match(MatchOf::Part(*first, &found)))?,
                    true => match self.next_of(answer, numbered(*first, &found)?)? {
                        Some((number, record)) => {
                            visit(place, Match(MatchOf::Sum(number, &record)))?
                        }
                        None => ControlFlow::Continue(()),
                    },
                };
                answer.is_full = flow.is_break();
                is_ended = flow == ControlFlow::Break(SkipTo::End);
                Ok(flow)
            })?;
            if is_ended {
                return Ok(ControlFlow::Break(()));
            }
        }
        let waiting = answers.into_iter().enumerate().filter(|(_, answer)| !answer.is_full);
        for (place, answer) in waiting {
            let Some((number, record)) = answer.waiting else { continue };
            self.refuse_unmatched(&record)?;
            let found = Match(MatchOf::Sum(number, &record));
            if visit(place, found)? == ControlFlow::Break(SkipTo::End) {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Takes the next record of a position. Returns the record before it, unless both are merged.
    fn next_of(
        &self,
        answer: &mut SumAnswer,
        next: NumberedRecord,
    ) -> Result<Option<NumberedRecord>> {
        let Some(last) = &mut answer.waiting else {
            answer.waiting = Some(next);
            return Ok(None);
        };
        let Some(next) = self.merge(last, next)? else { return Ok(None) };
        let last = std::mem::replace(last, next);
        self.refuse_unmatched(&last.1)?;
        Ok(Some(last))
    }

    /// Refuses a record that takes off games which no record before it counts.
    fn refuse_unmatched(&self, record: &[u8]) -> Result<()> {
        let number = Opcode::TALLY_LESS.standard().map_or(0, StandardOpcode::number);
        // Only a record with this byte can have the operation. Most records need no decoding.
        if !record.contains(&number)
            || record::decode(record)?.0.operands(Opcode::TALLY_LESS).is_none()
        {
            return Ok(());
        }
        let delta = self.parts.last().map(|(_, delta)| Arc::clone(delta.name()));
        let what = "takes off games that its base does not count: damaged, or the delta of another library";
        Err(delta.into_iter().fold(invalid(what), Error::in_source))
    }

    /// Merges a record into the previous record, or returns the record.
    fn merge(
        &self,
        last: &mut NumberedRecord,
        next: NumberedRecord,
    ) -> Result<Option<NumberedRecord>> {
        let merged = match self.adds_tallies() {
            true => merged_records(&last.1, &next.1)?,
            false => None,
        };
        let Some(merged) = merged else { return Ok(Some(next)) };
        last.1 = merged;
        Ok(None)
    }

    /// The first part for which `find` returns something.
    fn find<T>(&self, find: impl Fn(&OpenLookup) -> Result<Option<T>>) -> Result<Option<T>> {
        self.parts.iter().find_map(|(_, part)| find(part).transpose()).transpose()
    }
}

/// Adds the origin of a delta to that of its base.
fn add_origin(
    origin: &mut Option<TallyOrigin>,
    theirs: Option<TallyOrigin>,
    base: &str,
) -> Result<()> {
    if settings_of(origin) != settings_of(&theirs) {
        let counted = |origin| match settings_of(origin) {
            Some(settings) => format!("is a library built with `{settings}`"),
            None => "is not a library".to_string(),
        };
        let (ours, theirs) = (counted(origin), counted(&theirs));
        return Err(Error::new(format!("{theirs}, and the base {base} {ours}")));
    }
    let (Some(origin), Some(theirs)) = (origin, theirs) else { return Ok(()) };
    let Some(delta) = theirs.delta else {
        return Err(Error::new(format!(
            "is a library of its own, not the delta of {base}: count its games into a new store by `epdb import \
             STORE GAMES --tally --base {base}`"
        )));
    };
    let games = origin.games.unwrap_or_default();
    if games != delta.base {
        return Err(other_base(delta.base, games));
    }
    origin.games = Some(delta.both);
    theirs.sources.into_iter().for_each(|it| origin.add_source(it));
    Ok(())
}

fn settings_of(origin: &Option<TallyOrigin>) -> Option<&str> {
    origin.as_ref().map(|origin| origin.settings.as_str())
}

/// The state of the lookup of a position in a base and its delta.
#[derive(Clone, Default)]
struct SumAnswer {
    /// The record that was read last. Later records may be merged into it.
    waiting: Option<NumberedRecord>,
    /// True if the caller has enough records.
    is_full: bool,
}

/// The records of a position in a base and its delta.
struct SumRecords<'l> {
    sum: &'l Sum,
    /// The parts that were not read to their ends.
    parts: VecDeque<(&'l (u64, OpenLookup), Matches<'l>)>,
    /// The record that was read last and not returned yet.
    next: Option<NumberedRecord>,
}

impl SumRecords<'_> {
    fn next_record(&mut self) -> Option<Result<NumberedRecord>> {
        let merged = self.next_merged();
        if merged.is_err() {
            self.parts.clear();
        }
        merged.transpose()
    }

    fn next_merged(&mut self) -> Result<Option<NumberedRecord>> {
        let mut sum = self.next.take();
        while let Some(next) = self.read()? {
            self.next = match &mut sum {
                Some(sum) => self.sum.merge(sum, next)?,
                None => {
                    sum = Some(next);
                    continue;
                }
            };
            if self.next.is_some() {
                break;
            }
        }
        if let Some((_, record)) = sum.as_ref().filter(|_| self.sum.adds_tallies()) {
            self.sum.refuse_unmatched(record)?;
        }
        Ok(sum)
    }

    fn read(&mut self) -> Result<Option<NumberedRecord>> {
        while let Some(((first, part), matches)) = self.parts.front_mut() {
            if let Some(found) = matches.next_match() {
                let record = found.and_then(|found| numbered(*first, &found));
                return record.map(Some).map_err(|error| part.named(error));
            }
            self.parts.pop_front();
        }
        Ok(None)
    }
}

/// An open store, archive or sharded archive, or a base and its delta ([`DeltaPath`]); its errors
/// name the file.
///
/// ```
/// use epdb::model::Position;
/// use epdb::source::{Lookup, OpenLookup};
/// use epdb::store::{ImportOptions, Store, StoreOptions};
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("book.epdb");
/// let store = Store::create(&path, &StoreOptions::new())?;
/// let mut import = store.importer("by hand", &ImportOptions::new())?;
/// import.push(&epdb::parse_epd(b"8/8/8/4k3/8/1K6/8/8 b - -")?)?;
/// import.finish()?;
/// store.close()?;
///
/// let book = OpenLookup::open(&path, 64 << 20)?;
/// assert!(book.record(0)?.is_some());
/// assert_eq!(book.matches(&(&Position::START).into()).count(), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct OpenLookup {
    name: Arc<str>,
    opened: Opened,
}

enum Opened {
    Store {
        reader: Box<Reader>,
        /// The reader needs the store to stay open.
        store: Store,
        /// The file, which may be a temporary copy.
        local: Local,
    },
    Archive {
        archive: Box<Archive>,
        /// The file, which may be a temporary copy.
        local: Local,
    },
    Shards(ShardReader),
    Sum(Box<SumReader>),
}

impl fmt::Debug for OpenLookup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenLookup").field("name", &self.name).finish_non_exhaustive()
    }
}

impl OpenLookup {
    /// Opens a store, an archive, the manifest of a sharded archive, or a base and its delta
    /// ([`DeltaPath`]); `-` is standard input. A store or an archive may be compressed. Lookups use
    /// about `memory_bytes`.
    ///
    /// # Errors
    /// The file cannot be opened, or is something else. The error names it.
    pub fn open(path: impl AsRef<Path>, memory_bytes: usize) -> Result<OpenLookup> {
        OpenLookup::new(Source::open(path, &SourceOptions::new())?, memory_bytes)
    }

    /// Does the same as [`OpenLookup::open`], for a source that is already open.
    ///
    /// # Errors
    /// The errors of [`OpenLookup::open`].
    pub fn new(source: Source, memory_bytes: usize) -> Result<OpenLookup> {
        let name = Arc::clone(source.name());
        match source.into_content() {
            Content::Store(local) => OpenLookup::from_store(local, memory_bytes),
            Content::Archive(local) => OpenLookup::from_archive(local, memory_bytes),
            Content::Shards(shards) => Ok(OpenLookup::from_shards(shards, memory_bytes)),
            Content::Delta(pair, _) => {
                let opened = Opened::Sum(Box::new(SumReader::new(pair, memory_bytes, &name)?));
                Ok(OpenLookup { name, opened })
            }
            _ => Err(Error::new("neither a store nor an archive").in_source(name)),
        }
    }

    /// Opens the same file again, also if it is a temporary one, without any lock that a thread may hold. In
    /// a forked process, use this instead of the lookup of the parent process: the threads that hold its
    /// locks are not there.
    ///
    /// # Errors
    /// The errors of [`OpenLookup::open`].
    pub fn reopened(&self, memory_bytes: usize) -> Result<OpenLookup> {
        match &self.opened {
            Opened::Store { local, .. } => OpenLookup::from_store(local.clone(), memory_bytes),
            Opened::Archive { local, .. } => OpenLookup::from_archive(local.clone(), memory_bytes),
            Opened::Shards(_) | Opened::Sum(_) => OpenLookup::open(&*self.name, memory_bytes),
        }
    }

    /// Opens a copy of the last commit of a store, so that the store stays free for a writer.
    ///
    /// # Errors
    /// The store cannot be copied or opened.
    pub fn snapshot(path: impl AsRef<Path>, memory_bytes: usize) -> Result<OpenLookup> {
        OpenLookup::from_store(Local::snapshot(path)?, memory_bytes)
    }

    /// Builds an archive in a temporary file, which `write` fills. `name` is the name of the
    /// archive in errors.
    ///
    /// # Errors
    /// Errors of `write` and of the file.
    pub fn built(
        name: &str,
        options: PackOptions,
        memory_bytes: usize,
        write: impl FnOnce(&mut ArchiveWriter<BufWriter<&mut File>>) -> Result<()>,
    ) -> Result<OpenLookup> {
        let folder = std::env::temp_dir();
        let file = SpooledFile::fill(&folder, |file| {
            let mut writer = ArchiveWriter::new(BufWriter::new(file), options)?;
            write(&mut writer)?;
            Ok::<(), Error>(writer.finish()?.flush()?)
        });
        let file = file.map_err(|error| no_room_in(&folder, error))?;
        OpenLookup::from_archive(Local::temporary(name.to_string(), file), memory_bytes)
    }

    fn from_store(local: Local, memory_bytes: usize) -> Result<OpenLookup> {
        let store = local.store(memory_bytes)?;
        let reader = Box::new(store.reader().map_err(|error| local.failed(error))?);
        let name = local.name().into();
        Ok(OpenLookup { name, opened: Opened::Store { reader, store, local } })
    }

    fn from_archive(local: Local, memory_bytes: usize) -> Result<OpenLookup> {
        let archive = Box::new(local.archive()?.memory_bytes(memory_bytes / 2));
        let name = local.name().into();
        Ok(OpenLookup { name, opened: Opened::Archive { archive, local } })
    }

    fn from_shards(shards: ShardedArchive, memory_bytes: usize) -> OpenLookup {
        let name = Arc::clone(shards.name());
        OpenLookup { name, opened: Opened::Shards(ShardReader::new(shards, memory_bytes / 2)) }
    }

    /// The origin of the tallies; `None` if the source is not a library.
    ///
    /// # Errors
    /// Damage, and errors of the system.
    pub fn tally_origin(&self) -> Result<Option<TallyOrigin>> {
        let origin = match &self.opened {
            Opened::Store { store, .. } => store.tally_origin().map_err(Error::from),
            Opened::Archive { archive, .. } => archive.tally_origin().map_err(Error::from),
            Opened::Shards(shards) => {
                let shards = shards.current();
                let library = shards.manifest().library();
                return Ok(library.map(|library| library.origin.clone()));
            }
            Opened::Sum(sum) => return Ok(sum.current().origin.clone()),
        };
        Ok(origin.map_err(|error| self.named(error))?.map(|(origin, _)| origin))
    }

    /// A number above those of all records.
    fn end_of_numbers(&self) -> Result<u64> {
        match &self.opened {
            Opened::Store { reader, .. } => Ok(reader.stats()?.next_import_number),
            _ => Ok(self.len()),
        }
    }

    /// The name of the source.
    pub const fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// The kept game with an id; `None` if it is not kept.
    ///
    /// # Errors
    /// Damage, and errors of the system.
    pub fn kept_game(&self, id: GameId) -> Result<Option<Game>> {
        let bytes = match &self.opened {
            Opened::Store { reader, .. } => reader.kept_game(id).map_err(Error::from),
            Opened::Archive { archive, .. } => archive.kept_game(id).map_err(Error::from),
            Opened::Shards(shards) => shards.current().kept_game(id),
            Opened::Sum(sum) => return sum.current().find(|part| part.kept_game(id)),
        };
        let Some(bytes) = bytes.map_err(|error| self.named(error))? else { return Ok(None) };
        let no_game = || self.named(Error::new(format!("damaged: kept game {id} is not a game")));
        kept_game::decode(&bytes).map(Some).ok_or_else(no_game)
    }

    /// Number of records. For a base and its delta, this is the sum of both numbers, even if
    /// records of one position are merged.
    pub fn len(&self) -> u64 {
        match &self.opened {
            Opened::Store { reader, .. } => reader.len(),
            Opened::Archive { archive, .. } => archive.len(),
            Opened::Shards(shards) => shards.current().manifest().records(),
            Opened::Sum(sum) => sum.current().parts.iter().map(|(_, part)| part.len()).sum(),
        }
    }

    /// Whether the source has no records.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether a position is found without reading all records. False only for an archive without
    /// an index.
    pub fn has_index(&self) -> bool {
        match &self.opened {
            Opened::Store { .. } | Opened::Shards(_) => true,
            Opened::Archive { archive, .. } => archive.has_index(),
            Opened::Sum(sum) => sum.current().parts.iter().all(|(_, part)| part.has_index()),
        }
    }

    /// True if a lookup may send requests to another machine. Then it may take as long as the
    /// other machine does not answer.
    #[cfg(feature = "server")]
    pub(crate) fn is_remote(&self) -> bool {
        match &self.opened {
            Opened::Store { .. } => false,
            Opened::Archive { archive, .. } => archive.is_remote(),
            Opened::Shards(_) => is_address(Path::new(&*self.name)),
            Opened::Sum(sum) => sum.current().parts.iter().any(|(_, part)| part.is_remote()),
        }
    }

    /// Number of games that are kept. If a base and its delta keep the same game, this game counts
    /// twice.
    ///
    /// # Errors
    /// Damage, and errors of the system.
    pub fn kept_game_count(&self) -> Result<u64> {
        let count = match &self.opened {
            Opened::Store { reader, .. } => reader.kept_game_count().map_err(Error::from),
            Opened::Archive { archive, .. } => archive.kept_game_count().map_err(Error::from),
            Opened::Shards(shards) => {
                Ok(shards.current().manifest().library().map_or(0, |library| library.kept_games))
            }
            Opened::Sum(sum) => {
                return sum.current().parts.iter().map(|(_, it)| it.kept_game_count()).sum();
            }
        };
        count.map_err(|error| self.named(error))
    }

    fn lookup(&self) -> &dyn Lookup {
        match &self.opened {
            Opened::Store { reader, .. } => &**reader,
            Opened::Archive { archive, .. } => &**archive,
            Opened::Shards(shards) => shards,
            Opened::Sum(sum) => sum.current(),
        }
    }

    /// Adds the name of the source to the error of a record that was found.
    pub fn named(&self, error: Error) -> Error {
        match &self.opened {
            Opened::Store { local, .. } => local.failed(error),
            // The parts name themselves.
            Opened::Sum(_) => error,
            Opened::Archive { .. } | Opened::Shards(_) => error.in_source(Arc::clone(&self.name)),
        }
    }
}

impl Lookup for OpenLookup {
    fn matches(&self, query: &Query) -> Matches<'_> {
        self.lookup().matches(query)
    }

    fn get_batch(&self, queries: &[Query], visit: &mut VisitMatch<'_>) -> Result<()> {
        self.lookup().get_batch(queries, visit).map_err(|error| self.named(error))
    }

    fn prefetch(&self, queries: &[Query]) {
        self.lookup().prefetch(queries);
    }

    fn record(&self, number: u64) -> Result<Option<EpdRecord>> {
        self.lookup().record(number).map_err(|error| self.named(error))
    }

    fn part_of(&self, query: &Query) -> usize {
        self.lookup().part_of(query)
    }

    fn open_part(&self, part: usize) -> Result<()> {
        self.lookup().open_part(part).map_err(|error| self.named(error))
    }

    fn read_again(&self) -> Result<bool> {
        match &self.opened {
            Opened::Sum(sum) => sum.read_again(&self.name),
            _ => self.lookup().read_again(),
        }
    }
}

/// A base and its delta, which are opened again after a fold.
struct SumReader {
    pair: DeltaPath,
    memory_bytes: usize,
    first: Sum,
    /// The states that were opened later. All stay open, because lookups may read them.
    later: FrozenVec<Box<Sum>>,
}

impl SumReader {
    fn new(pair: DeltaPath, memory_bytes: usize, name: &Arc<str>) -> Result<SumReader> {
        let first = open_sum(&pair, memory_bytes, name)?;
        Ok(SumReader { pair, memory_bytes, first, later: FrozenVec::new() })
    }

    fn current(&self) -> &Sum {
        let last = self.later.len().checked_sub(1);
        last.and_then(|last| self.later.get(last)).unwrap_or(&self.first)
    }

    /// Opens both again. Returns true if a file was replaced since they were opened.
    fn read_again(&self, name: &Arc<str>) -> Result<bool> {
        let next = open_sum(&self.pair, self.memory_bytes, name)?;
        if next.state == self.current().state {
            return Ok(false);
        }
        self.later.push(Box::new(next));
        Ok(true)
    }
}

/// Opens a base and its delta in one state. Deltas are read from copies, so that they stay free
/// for a writer.
fn open_sum(pair: &DeltaPath, memory_bytes: usize, name: &Arc<str>) -> Result<Sum> {
    let each = memory_bytes / 4;
    for _ in 0..MAX_TRIES {
        let state = DeltaState::read(pair)?;
        state.refuse_repeated().map_err(|error| error.in_source(Arc::clone(name)))?;
        let source = Source::open(&pair.base, &SourceOptions::new())?;
        let base = match source.format() {
            FileFormat::Epdb if source.is_file() => OpenLookup::snapshot(&pair.base, each)?,
            _ => OpenLookup::new(source, memory_bytes / 2)?,
        };
        let files = pair.deltas().into_iter().filter(|delta| delta.exists());
        let mut deltas =
            files.map(|it| OpenLookup::snapshot(it, each)).collect::<Result<Vec<_>>>()?;
        if DeltaState::read(pair)? != state {
            continue;
        }
        if state.is_folding() && is_part_of(&deltas[0], &base)? {
            deltas.remove(0);
        }
        return Sum::new(base, deltas, state);
    }
    Err(Error::new("changes too fast to be opened").in_source(Arc::clone(name)))
}

/// Maximum number of attempts to open a base and its delta while a fold changes both.
const MAX_TRIES: usize = 20;

/// The files of a base and its delta, without the content of the deltas. Two equal states before and
/// after reading show that no fold went on meanwhile.
#[derive(PartialEq)]
struct DeltaState {
    base: Option<Manifest>,
    /// Identities of all files, which are those of the base and then those of
    /// [`DeltaPath::deltas`]; `None` for a file that is missing.
    files: Vec<Option<(u64, u64)>>,
}

impl DeltaState {
    fn read(pair: &DeltaPath) -> Result<DeltaState> {
        let base = match Source::open(&pair.base, &SourceOptions::new())?.into_content() {
            Content::Shards(shards) => Some(shards.manifest().clone()),
            _ => None,
        };
        let identity = |file: PathBuf| fs::metadata(file).ok().map(|found| file_identity(&found));
        Ok(DeltaState { base, files: pair.files().into_iter().map(identity).collect() })
    }

    /// True if a delta is being folded.
    fn is_folding(&self) -> bool {
        self.files.iter().rev().nth(1).is_some_and(Option::is_some)
    }

    /// Refuses a file that is named twice.
    fn refuse_repeated(&self) -> Result<()> {
        let mut files: Vec<_> = self.files.iter().flatten().collect();
        files.sort_unstable();
        match files.array_windows::<2>().any(|[one, next]| one == next) {
            true => Err(Error::new("names one file twice: its records would count twice")),
            false => Ok(()),
        }
    }
}

/// True if the base has the games of a delta that is being folded.
fn is_part_of(delta: &OpenLookup, base: &OpenLookup) -> Result<bool> {
    let Some(folding) = delta.tally_origin()?.and_then(|origin| origin.delta) else {
        return Ok(false);
    };
    let games = base.tally_origin()?.and_then(|origin| origin.games).unwrap_or_default();
    is_folded(games, folding).map_err(|error| error.in_source(Arc::clone(delta.name())))
}

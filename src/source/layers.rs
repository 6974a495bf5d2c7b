//! A base and its delta, which are searched and read as one collection: the records of a position are merged.

use std::collections::{BTreeSet, VecDeque};
use std::fmt;
use std::fs;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use elsa::sync::FrozenVec;

use super::binary::{Stored, VisitStored};
use super::collection::{Collection, CollectionFile, LibraryCounts};
use super::delta::{DeltaPath, is_folded, merged_records, other_base};
use super::format::FileFormat;
use super::lookup::{Lookup, Match, MatchOf, Matches, MatchesOf, VisitMatch};
use super::manifest::{Manifest, invalid};
use super::open::{Content, Source};
use super::options::SourceOptions;
use crate::codec::query::{Query, SkipTo};
use crate::codec::record;
use crate::codec::tally_origin::{GameDigest, GameDigests, GameSet, TallyOrigin};
use crate::error::{Error, Result};
use crate::model::{EpdRecord, GameId, Opcode, StandardOpcode};
use crate::new_file::file_identity;

/// A base and its delta, opened when they are needed. Clones share what is open.
#[derive(Clone)]
pub struct LayersFile {
    name: Arc<str>,
    pair: DeltaPath,
    /// The format of the base.
    format: FileFormat,
    opened: Arc<OnceLock<Arc<Layers>>>,
}

impl fmt::Debug for LayersFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LayersFile").field("name", &self.name).finish_non_exhaustive()
    }
}

impl LayersFile {
    pub(super) fn new(name: Arc<str>, pair: DeltaPath, format: FileFormat) -> LayersFile {
        LayersFile { name, pair, format, opened: Arc::default() }
    }

    /// The format of the base.
    pub(super) const fn format(&self) -> FileFormat {
        self.format
    }

    /// Opens both in one state, or returns what is open. Lookups use about `memory_bytes`.
    ///
    /// # Errors
    /// The errors of [`Collection::open`].
    pub(super) fn layers(&self, memory_bytes: usize) -> Result<Arc<Layers>> {
        if let Some(opened) = self.opened.get() {
            return Ok(Arc::clone(opened));
        }
        let layers = Arc::new(Layers::open(&self.pair, memory_bytes, &self.name)?);
        Ok(Arc::clone(self.opened.get_or_init(|| layers)))
    }

    /// Opens both for lookups that continue after a fold.
    pub(super) fn reader(self, memory_bytes: usize) -> Result<LayersReader> {
        let first = self.layers(memory_bytes)?;
        let LayersFile { name, pair, .. } = self;
        Ok(LayersReader { name, pair, memory_bytes, first, later: FrozenVec::new() })
    }
}

/// A record in its binary form, with its number.
pub(super) type NumberedRecord = (u64, Vec<u8>);

fn numbered(first: u64, found: &Match<'_>) -> Result<NumberedRecord> {
    let mut record = Vec::new();
    found.encode(&mut record)?;
    Ok((first + found.number(), record))
}

/// A base and its delta, both open.
pub(super) struct Layers {
    /// The base, then the deltas, each with the number of its first record.
    pub(super) parts: Vec<(u64, Collection)>,
    /// The origin of both, if the parts are libraries. Then the records of a position are merged, as
    /// `shard merge` merges them.
    pub(super) origin: Option<TallyOrigin>,
    /// The files from which both were opened.
    state: DeltaState,
}

impl Layers {
    /// Opens a base and its delta in one state. Deltas are read from copies, so that they stay free
    /// for a writer.
    fn open(pair: &DeltaPath, memory_bytes: usize, name: &Arc<str>) -> Result<Layers> {
        let each = memory_bytes / 4;
        for _ in 0..MAX_TRIES {
            let state = DeltaState::read(pair)?;
            state.refuse_repeated().map_err(|error| error.in_source(Arc::clone(name)))?;
            let source = Source::open(&pair.base, &SourceOptions::new())?;
            let base = match source.format() {
                FileFormat::Epdb if source.is_file() => Collection::snapshot(&pair.base, each)?,
                _ => Collection::new(source, memory_bytes / 2)?,
            };
            let files = pair.deltas().into_iter().filter(|delta| delta.exists());
            let mut deltas =
                files.map(|it| Collection::snapshot(it, each)).collect::<Result<Vec<_>>>()?;
            if DeltaState::read(pair)? != state {
                continue;
            }
            if state.is_folding() && is_part_of(&deltas[0], &base)? {
                deltas.remove(0);
            }
            return Layers::new(base, deltas, state);
        }
        Err(Error::new("changes too fast to be opened").in_source(Arc::clone(name)))
    }

    /// # Errors
    /// A delta has other settings than the base, was counted against another base, or only one of
    /// both is a library.
    fn new(base: Collection, deltas: Vec<Collection>, state: DeltaState) -> Result<Layers> {
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
        Ok(Layers { parts, origin, state })
    }

    fn records(&self, query: &Query) -> MergedRecords<'_> {
        let parts = self.parts.iter().map(|part| (part, part.1.matches(query)));
        MergedRecords { layers: self, parts: parts.collect(), next: None }
    }

    const fn adds_tallies(&self) -> bool {
        self.origin.is_some()
    }

    /// Looks up positions in each part. Breaks if `visit` ends the lookup.
    fn get_some(&self, queries: &[Query], visit: &mut VisitMatch<'_>) -> Result<ControlFlow<()>> {
        let mut answers: Vec<Answer> = vec![Answer::default(); queries.len()];
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
                            visit(place, Match(MatchOf::Merged(number, &record)))?
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
            let found = Match(MatchOf::Merged(number, &record));
            if visit(place, found)? == ControlFlow::Break(SkipTo::End) {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Takes the next record of a position. Returns the record before it, unless both are merged.
    fn next_of(&self, answer: &mut Answer, next: NumberedRecord) -> Result<Option<NumberedRecord>> {
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
        Err(self.unmatched())
    }

    fn unmatched(&self) -> Error {
        let delta = self.parts.last().map(|(_, delta)| Arc::clone(delta.name()));
        let what = "takes off games that its base does not count: damaged, or the delta of another library";
        delta.into_iter().fold(invalid(what), Error::in_source)
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

    /// Passes on all records: those of the base, then those of each delta. Records that are merged have the place
    /// of the first of them.
    ///
    /// # Errors
    /// Damage, errors of the system, and errors of `visit`.
    pub(super) fn each<E: From<Error>>(
        &self,
        skips_damage: bool,
        visit: &mut VisitStored<'_, E>,
    ) -> Result<ControlFlow<()>, E> {
        let mut read = 0;
        for place in 0..self.parts.len() {
            if self.each_of_part(place, skips_damage, &mut read, visit)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Passes on the records of a part that are not merged into those of the parts before it. `read` counts the
    /// records that were passed on.
    fn each_of_part<E: From<Error>>(
        &self,
        place: usize,
        skips_damage: bool,
        read: &mut u64,
        visit: &mut VisitStored<'_, E>,
    ) -> Result<ControlFlow<()>, E> {
        let mut records = Vec::new();
        let flow = self.parts[place].1.each(skips_damage, &mut |stored| match stored {
            Stored::Record { number, record, .. } => {
                records.push((number, record));
                match records.len() < READ_TOGETHER {
                    true => Ok(ControlFlow::Continue(())),
                    false => self.pass_on(place, &mut records, read, visit),
                }
            }
            damage => visit(damage),
        })?;
        match flow {
            ControlFlow::Continue(()) => self.pass_on(place, &mut records, read, visit),
            ControlFlow::Break(()) => Ok(flow),
        }
    }

    /// Passes on some records of a part. `read` counts the records that were passed on.
    fn pass_on<E: From<Error>>(
        &self,
        place: usize,
        records: &mut Vec<(u64, EpdRecord)>,
        read: &mut u64,
        visit: &mut VisitStored<'_, E>,
    ) -> Result<ControlFlow<()>, E> {
        let first = self.parts[place].0;
        let is_shared = self.shared(place, records)?;
        for ((number, record), is_shared) in records.drain(..).zip(is_shared) {
            let number = first + number;
            let record = match is_shared {
                true => self.merged(number, &record.position().into())?,
                false if place > 0 && record.operands(Opcode::TALLY_LESS).is_some() => {
                    return Err(self.unmatched().into());
                }
                false => Some(record),
            };
            let Some(record) = record else { continue };
            *read += 1;
            if visit(Stored::Record { number, nth: *read, record, raw: &[] })?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Whether other parts have records of the positions of these records of a part, with which they are merged.
    fn shared(&self, place: usize, records: &[(u64, EpdRecord)]) -> Result<Vec<bool>> {
        let mut is_shared = vec![false; records.len()];
        if !self.adds_tallies() {
            return Ok(is_shared);
        }
        let queries: Vec<Query> =
            records.iter().map(|(_, record)| record.position().into()).collect();
        for (other, (_, part)) in self.parts.iter().enumerate() {
            if other != place {
                part.get_batch(&queries, &mut |nth, _| {
                    is_shared[nth] = true;
                    Ok(ControlFlow::Break(SkipTo::NextQuery))
                })?;
            }
        }
        Ok(is_shared)
    }

    /// The merged record with a number; `None` if the record of this number is merged into one before it.
    fn merged(&self, number: u64, query: &Query) -> Result<Option<EpdRecord>> {
        let mut records = self.records(query);
        while let Some((own, record)) = records.next_record().transpose()? {
            if own >= number {
                let is_it = own == number;
                return Ok(is_it.then(|| record::decode(&record)).transpose()?.map(|(it, _)| it));
            }
        }
        Ok(None)
    }

    /// The numbers of records and of kept games. Only the records of deltas are read.
    pub(super) fn counts(&self) -> Result<LibraryCounts> {
        let Some(((_, base), deltas)) = self.parts.split_first() else {
            return Ok(LibraryCounts::default());
        };
        let LibraryCounts { mut records, mut kept_games } = base.counts()?;
        let mut later = BTreeSet::new();
        for (place, (_, delta)) in (1..).zip(deltas) {
            let pass = &mut |_: Stored<'_>| Ok::<_, Error>(ControlFlow::Continue(()));
            let _ = self.each_of_part(place, false, &mut records, pass)?;
            delta.each_kept_game(&mut |id, _| {
                later.insert(id);
                Ok(())
            })?;
        }
        for id in later {
            kept_games += u64::from(base.kept_game_bytes(id)?.is_none());
        }
        Ok(LibraryCounts { records, kept_games })
    }

    /// Calls `visit` with the digest of each game; see [`Collection::each_game`]. A game of several parts has its
    /// highest copy rank.
    pub(super) fn each_game(
        &self,
        visit: &mut dyn FnMut(&GameDigest) -> Result<()>,
    ) -> Result<Option<(TallyOrigin, bool)>> {
        let Some(origin) = &self.origin else { return Ok(None) };
        let Some(((_, base), deltas)) = self.parts.split_first() else { return Ok(None) };
        let mut later = GameDigests::default();
        for (_, delta) in deltas {
            delta.each_game(&mut |game| {
                later.insert(*game);
                Ok(())
            })?;
        }
        let mut games = GameSet::default();
        let mut visit = |game: &GameDigest| {
            games.add(game);
            visit(game)
        };
        let read = base.each_game(&mut |game| match later.copy_rank(game) {
            Some(_) => Ok(()),
            None => visit(game),
        })?;
        later.iter().try_for_each(|game| visit(&game))?;
        let has_games = read.is_some_and(|(_, has_games)| has_games);
        if has_games && Some(games) != origin.games {
            let what = "the games of base and delta are not those that the delta was counted with";
            return Err(invalid(what).in_source(Arc::clone(base.name())));
        }
        Ok(Some((origin.clone(), has_games)))
    }

    /// The highest copy rank with which a part counts a game.
    #[cfg(feature = "library")]
    pub(super) fn copy_rank(&self, game: &GameDigest) -> Result<Option<u32>> {
        let mut ranks = self.parts.iter().map(|(_, part)| part.copy_rank(game));
        ranks.try_fold(None, |highest, rank| Ok(highest.max(rank?)))
    }

    /// Calls `visit` with each kept game, in ascending order of ids. The first part that has a game decides.
    pub(super) fn each_kept_game(
        &self,
        visit: &mut dyn FnMut(GameId, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let Some(((_, base), deltas)) = self.parts.split_first() else { return Ok(()) };
        let mut later = BTreeSet::new();
        for (_, delta) in deltas {
            delta.each_kept_game(&mut |id, _| {
                later.insert(id);
                Ok(())
            })?;
        }
        let of_deltas = |id: GameId, visit: &mut dyn FnMut(GameId, &[u8]) -> Result<()>| {
            let found = deltas.iter().find_map(|(_, delta)| delta.kept_game_bytes(id).transpose());
            found.transpose()?.map_or(Ok(()), |game| visit(id, &game))
        };
        base.each_kept_game(&mut |id, game| {
            while let Some(first) = later.first().copied().filter(|first| *first <= id) {
                later.remove(&first);
                if first < id {
                    of_deltas(first, visit)?;
                }
            }
            visit(id, game)
        })?;
        later.into_iter().try_for_each(|id| of_deltas(id, visit))
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

/// Number of records of a part that are read before their positions are looked up in the other parts.
const READ_TOGETHER: usize = 1024;

/// The state of the lookup of a position in a base and its delta.
#[derive(Clone, Default)]
struct Answer {
    /// The record that was read last. Later records may be merged into it.
    waiting: Option<NumberedRecord>,
    /// True if the caller has enough records.
    is_full: bool,
}

/// The records of a position in a base and its delta.
pub(super) struct MergedRecords<'l> {
    layers: &'l Layers,
    /// The parts that were not read to their ends.
    parts: VecDeque<(&'l (u64, Collection), Matches<'l>)>,
    /// The record that was read last and not returned yet.
    next: Option<NumberedRecord>,
}

impl MergedRecords<'_> {
    pub(super) fn next_record(&mut self) -> Option<Result<NumberedRecord>> {
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
                Some(sum) => self.layers.merge(sum, next)?,
                None => {
                    sum = Some(next);
                    continue;
                }
            };
            if self.next.is_some() {
                break;
            }
        }
        if let Some((_, record)) = sum.as_ref().filter(|_| self.layers.adds_tallies()) {
            self.layers.refuse_unmatched(record)?;
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

/// Number of positions that are looked up together in a library and its delta.
const BATCH: usize = 256;

impl Lookup for Layers {
    fn matches(&self, query: &Query) -> Matches<'_> {
        Matches(MatchesOf::Layers(self.records(query), (0, Vec::new())))
    }

    fn get_batch(&self, queries: &[Query], visit: &mut VisitMatch<'_>) -> Result<()> {
        // The last record of each position waits for one to merge with.
        let batch = if self.adds_tallies() { BATCH } else { queries.len().max(1) };
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
        let is_before = |(first, _): &&(u64, Collection)| *first <= number;
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

/// A base and its delta, which are opened again after a fold.
pub(super) struct LayersReader {
    name: Arc<str>,
    pair: DeltaPath,
    memory_bytes: usize,
    first: Arc<Layers>,
    /// The states that were opened later. All stay open, because lookups may read them.
    later: FrozenVec<Box<Layers>>,
}

impl LayersReader {
    pub(super) const fn name(&self) -> &Arc<str> {
        &self.name
    }

    pub(super) fn current(&self) -> &Layers {
        let last = self.later.len().checked_sub(1);
        last.and_then(|last| self.later.get(last)).unwrap_or(&self.first)
    }

    /// Opens both again. Returns true if a file was replaced since they were opened.
    pub(super) fn read_again(&self) -> Result<bool> {
        let next = Layers::open(&self.pair, self.memory_bytes, &self.name)?;
        if next.state == self.current().state {
            return Ok(false);
        }
        self.later.push(Box::new(next));
        Ok(true)
    }
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
            Content::Collection(CollectionFile::Shards(shards)) => Some(shards.manifest().clone()),
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
fn is_part_of(delta: &Collection, base: &Collection) -> Result<bool> {
    let Some(folding) = delta.tally_origin()?.and_then(|origin| origin.delta) else {
        return Ok(false);
    };
    let games = base.tally_origin()?.and_then(|origin| origin.games).unwrap_or_default();
    is_folded(games, folding).map_err(|error| error.in_source(Arc::clone(delta.name())))
}

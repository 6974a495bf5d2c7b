//! Lookups of positions in an archive of level default.
// The lists of blocks of all queries are sorted together, so that each block is decoded once. The number
// of blocks that are searched at once doubles. So a search for the first record decodes one block, and a
// search for all records uses all threads.

use std::collections::{BTreeMap, BTreeSet};
use std::iter::Peekable;
use std::ops::{ControlFlow, Range};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::vec::IntoIter;

use rayon::prelude::*;

use super::BlockSegment;
use super::block::Block;
use super::index::{BlockIndex, Blocks};
use super::part_entries::PartKeys;
use super::reader::{BlockReader, SIDE_BY_SIDE};
use super::separators::{BoardKey, Separators, board_key};
use crate::columns::Row;
use crate::damage::FirstDamage;
use crate::error::ArchiveError;
use crate::index_entries::BoardMap;
use epdb_base::threads;
use epdb_chess::codec::packed::{self, PackedBoard};
use epdb_chess::codec::query::{Query, SkipTo};
use epdb_chess::model::EpdRecord;

/// Maximum number of blocks that are searched at once for a visitor that takes one record after the other.
const AHEAD: usize = 256;
/// Maximum number of blocks whose bytes are received together.
const TOGETHER: usize = 4096;
/// Number of keys or boards whose lists of blocks a thread finds at a time.
const KEYS_OF_PART: usize = 1 << 12;
/// Approximate memory of a record without operations, in bytes.
const RECORD_MEMORY: usize = 512;

impl BlockReader {
    /// Returns the records of a position, one after the other.
    pub(crate) fn matches(&self, query: &Query) -> Result<BlockMatches<'_>, ArchiveError> {
        let search = Search::new(self, std::slice::from_ref(query));
        let mut damage = FirstDamage::default();
        let lists = if self.has_index() {
            search.lists(&mut damage)?.into_iter().map(|(list, _)| list).collect()
        } else {
            vec![BlockList::Range(0..self.index_blocks())]
        };
        Ok(BlockMatches {
            search,
            index_blocks: QueryBlocks::new(lists),
            ahead: 1,
            searched: Vec::new().into_iter(),
            found: Vec::new().into_iter(),
            damage,
        })
    }

    /// Calls `visit` for each record that is found, with the index of its query and the record. The
    /// records come block by block, so that each block is decoded once. Damaged parts are skipped;
    /// the first of them is the error at the end.
    pub(crate) fn get_batch<E: From<ArchiveError>>(
        &self,
        queries: impl Iterator<Item = Query>,
        visit: &mut impl FnMut(usize, BlockMatch) -> Result<ControlFlow<SkipTo>, E>,
    ) -> Result<(), E> {
        if !self.has_index() {
            return self.scan(queries, visit);
        }
        let search = Search::new(self, &queries.collect::<Vec<Query>>());
        let mut candidates = Candidates::new(&search)?;
        let mut ahead = 1;
        let mut received = 0;
        if self.bytes().is_remote() {
            ahead = AHEAD;
            received = TOGETHER;
        }
        loop {
            let blocks = candidates.next(ahead.max(received))?;
            let Some(last) = blocks.last() else { return Ok(candidates.damage.report()?) };
            self.prefetch_blocks(&blocks)?;
            for found in blocks.chunks(ahead).flat_map(|blocks| search.find(blocks)) {
                for (query, found) in candidates.damage.skip(found)?.unwrap_or_default() {
                    if candidates.is_done[query] {
                        continue;
                    }
                    match visit(query, found)? {
                        ControlFlow::Continue(()) => {}
                        ControlFlow::Break(SkipTo::NextQuery) => candidates.is_done[query] = true,
                        ControlFlow::Break(SkipTo::End) => return Ok(()),
                    }
                }
            }
            ahead = self.twice(ahead, last.segment);
        }
    }

    /// Calls `visit` for each record that is found, on all threads and in any order. Damaged parts are
    /// skipped; the first of them is the error at the end.
    pub(crate) fn visit_batch<E: From<ArchiveError> + Send>(
        &self,
        queries: &[Query],
        visit: &(impl Fn(usize, BlockMatch) -> Result<(), E> + Sync),
    ) -> Result<(), E> {
        if !self.has_index() {
            return self.scan(queries.iter().copied(), &mut |query, found| {
                visit(query, found).map(ControlFlow::Continue)
            });
        }
        let search = Search::new(self, queries);
        let mut candidates = Candidates::new(&search)?;
        loop {
            let blocks = candidates.next(TOGETHER)?;
            if blocks.is_empty() {
                return Ok(candidates.damage.report()?);
            }
            self.prefetch_blocks(&blocks)?;
            let visited = self.each_block(&blocks, |searched, block| {
                let mut found = search.find_in(searched, block)?.into_iter();
                Ok(found.try_for_each(|(query, found)| visit(query, found)))
            });
            for visited in visited {
                candidates.damage.skip(visited)?.unwrap_or(Ok(()))?;
            }
        }
    }

    /// Does the same as [`BlockReader::get_batch`] without an index: searches all blocks.
    fn scan<E: From<ArchiveError>>(
        &self,
        queries: impl Iterator<Item = Query>,
        visit: &mut impl FnMut(usize, BlockMatch) -> Result<ControlFlow<SkipTo>, E>,
    ) -> Result<(), E> {
        let mut wanted = BoardMap::new(queries);
        let search = Search::new(self, &[]);
        let mut damage = FirstDamage::default();
        let mut blocks = self.segments().iter().enumerate().flat_map(|(segment, it)| {
            (0..it.blocks()).map(move |number| SearchedBlock { segment, number, parts: Vec::new() })
        });
        let mut ahead = 1;
        loop {
            let next: Vec<SearchedBlock> = blocks.by_ref().take(ahead).collect();
            let Some(last) = next.last() else { return Ok(damage.report()?) };
            self.prefetch_blocks(&next)?;
            for opened in self.each_block(&next, |searched, block| self.boards(searched, block)) {
                let Some((block, boards)) = damage.skip(opened)? else { continue };
                for (place, number, board) in boards {
                    let matched = OnceLock::new();
                    let found = || {
                        let one = || search.matched(&block, vec![place]);
                        BlockMatch { matched: Arc::clone(matched.get_or_init(one)), nth: 0, number }
                    };
                    if !wanted.visit(&board, |query| visit(query, found()))? {
                        return Ok(());
                    }
                }
                if wanted.is_empty() {
                    return Ok(damage.report()?);
                }
            }
            ahead = self.twice(ahead, last.segment);
        }
    }

    /// A block, and for each of its records the place in the block, the number, and the identity board.
    fn boards(
        &self,
        searched: &SearchedBlock,
        block: Arc<Block>,
    ) -> Result<(Arc<Block>, Vec<BoardInBlock>), ArchiveError> {
        let segment = &self.segments()[searched.segment];
        let places = 0..segment.block_len(block.first()) as usize;
        let numbers = self.numbers_in(searched.segment, &block, places.clone())?;
        let mut boards = Vec::with_capacity(places.len());
        for ((place, row), number) in block.rows_in(places)?.iter().enumerate().zip(numbers) {
            let board = identity_board(row).ok_or_else(|| block.damaged())?;
            boards.push((place, number, board));
        }
        Ok((block, boards))
    }

    /// Twice as many blocks, as far as memory has room for the blocks of a segment.
    fn twice(&self, blocks: usize, segment: usize) -> usize {
        (2 * blocks).min(self.blocks_in_memory(segment)).clamp(1, AHEAD)
    }

    /// Decodes blocks, and passes each to `make`. If they are many, all threads do so.
    fn each_block<T: Send>(
        &self,
        blocks: &[SearchedBlock],
        make: impl Fn(&SearchedBlock, Arc<Block>) -> Result<T, ArchiveError> + Sync,
    ) -> Vec<Result<T, ArchiveError>> {
        let parts = blocks.chunk_by(|one, next| one.segment == next.segment);
        let parts: Vec<&[SearchedBlock]> =
            parts.flat_map(|blocks| blocks.chunks(SIDE_BY_SIDE)).collect();
        let parts = parts.into_par_iter().with_min_len(threads::at_least(1));
        let make_part = |part: &[SearchedBlock]| {
            let opened = self.open(part).into_iter().zip(part);
            opened.map(|(block, searched)| make(searched, block?)).collect::<Vec<_>>()
        };
        parts.flat_map_iter(make_part).collect()
    }

    /// Opens some blocks of a segment. A damaged one does not prevent that the others are opened.
    fn open(&self, blocks: &[SearchedBlock]) -> Vec<Result<Arc<Block>, ArchiveError>> {
        let Some(segment) = blocks.first().map(|block| block.segment) else { return Vec::new() };
        let recent = self.recent_blocks(segment, blocks.len());
        let known = blocks.iter().map(|block| recent?.get((segment, block.number)));
        let known: Vec<Option<Arc<Block>>> = known.collect();
        let unknown = blocks.iter().zip(&known).filter(|(_, known)| known.is_none());
        let mut decoded = match self.blocks(segment, unknown.map(|(block, _)| block.number)) {
            Ok(decoded) => decoded.into_iter(),
            Err(error) if error.is_damage() && blocks.len() > 1 => {
                return blocks.chunks(1).flat_map(|block| self.open(block)).collect();
            }
            Err(error) => return vec![Err(error)],
        };
        let decode = |(block, known): (&SearchedBlock, Option<Arc<Block>>)| {
            if let Some(block) = known {
                return Ok(block);
            }
            let decoded = Arc::new(decoded.next().ok_or(ArchiveError::corrupt("block directory"))?);
            recent.iter().for_each(|recent| recent.put((segment, block.number), &decoded));
            Ok(decoded)
        };
        blocks.iter().zip(known).map(decode).collect()
    }

    /// Receives what a lookup of these queries reads, if the archive is read by ranges.
    pub(crate) fn prefetch(&self, queries: &[Query]) -> Result<(), ArchiveError> {
        if !self.bytes().is_remote() || !self.has_index() {
            return Ok(());
        }
        let search = Search::new(self, queries);
        self.prefetch_blocks(&Candidates::new(&search)?.next(TOGETHER)?)
    }

    /// Receives blocks, if the archive is read by ranges: first all models and directories, and the blocks where
    /// they probably are, then the blocks that are elsewhere.
    fn prefetch_blocks(&self, blocks: &[SearchedBlock]) -> Result<(), ArchiveError> {
        if !self.bytes().is_remote() {
            return Ok(());
        }
        let mut wanted: BTreeMap<usize, BTreeSet<u32>> = BTreeMap::new();
        for block in blocks {
            wanted.entry(block.segment).or_default().insert(block.number);
        }
        let segment = |place: &usize| &self.segments()[*place];
        self.bytes().prefetch(|| {
            let new = wanted.iter().filter(|(place, _)| !self.has_coder(**place));
            Ok(new.flat_map(|(place, blocks)| segment(place).likely_ranges(blocks)).collect())
        })?;
        self.bytes().prefetch(|| {
            let ranges = wanted.iter().map(|(place, blocks)| {
                // Damage is reported when the blocks are opened.
                let ranges = segment(place).ranges(self.bytes(), blocks.iter().copied());
                if ranges.as_ref().is_err_and(ArchiveError::is_damage) {
                    Ok(Vec::new())
                } else {
                    ranges
                }
            });
            Ok(ranges.collect::<Result<Vec<_>, _>>()?.concat())
        })
    }

    /// Numbers of the records at some places of a block.
    fn numbers_in(
        &self,
        segment: usize,
        block: &Block,
        places: Range<usize>,
    ) -> Result<Vec<u64>, ArchiveError> {
        let places = block.first() + places.start as u64..block.first() + places.end as u64;
        self.numbers(&self.segments()[segment], places)
    }

    /// Number of index blocks.
    fn index_blocks(&self) -> u64 {
        self.segments().last().map_or(0, |last| last.first_index_block + last.index_blocks())
    }

    /// Locates an index block. Returns the index of the segment, the number of the block in the
    /// segment, and the range of the records in that block. (A coded block may consist of several
    /// index blocks.)
    fn locate(&self, index_block: u64) -> Result<(usize, u32, Range<usize>), ArchiveError> {
        let corrupt = ArchiveError::corrupt("position index");
        let segments = self.segments();
        let after = segments.partition_point(|segment| segment.first_index_block <= index_block);
        let Some(place) = after.checked_sub(1) else { return Err(corrupt) };
        let segment = &segments[place];
        let nth = index_block - segment.first_index_block;
        if nth >= segment.index_blocks() {
            return Err(corrupt);
        }
        let start = nth * u64::from(segment.index_records);
        let end = (start + u64::from(segment.index_records)).min(segment.span.records.into());
        let block = start / u64::from(segment.block_records);
        let first = block * u64::from(segment.block_records);
        Ok((place, block as u32, (start - first) as usize..(end - first) as usize))
    }
}

/// A search for the positions of some queries.
struct Search<'a> {
    reader: &'a BlockReader,
    /// For each query: the row to search for. `None` if the query can find nothing.
    rows: Vec<Option<WantedRow>>,
    /// True after the record of a match was requested. The threads that search the next blocks then
    /// also decode the matching records.
    are_asked_for: Arc<AtomicBool>,
}

/// A list of blocks, and the index of the query whose position they may have.
type QueryList<'a> = (BlockList<'a>, u32);

impl<'a> Search<'a> {
    fn new(reader: &'a BlockReader, queries: &[Query]) -> Search<'a> {
        let rows = queries.par_iter().with_min_len(threads::at_least(KEYS_OF_PART));
        Search { reader, rows: rows.map(WantedRow::new).collect(), are_asked_for: Arc::default() }
    }

    /// The lists of the blocks that may have the positions. If a part of the index or some separators are damaged,
    /// a query that needs them searches all blocks, and the damage is the error at the end.
    fn lists(&self, damage: &mut FirstDamage) -> Result<Vec<QueryList<'a>>, ArchiveError> {
        let index = self.reader.index()?;
        self.prefetch_lists(index.as_ref())?;
        let sorted = self.reader.segments().iter().filter(|segment| segment.is_sorted());
        let sorted: Vec<&BlockSegment> = sorted.collect();
        let mut lists = Vec::new();
        if !sorted.is_empty() {
            let boards = self.each_row(|row| [board_key(&row.row)]);
            lists = in_parts(&boards, damage, |boards, damage| {
                let find = |segment: &&BlockSegment| self.in_sorted(segment, boards, damage);
                Ok(sorted.iter().map(find).collect::<Result<Vec<_>, _>>()?.concat())
            })?;
        }
        if let Some(index) = index {
            let keys = self.each_row(WantedRow::keys);
            lists.extend(in_parts(&keys, damage, |keys, damage| {
                self.in_index(&index, keys, damage)
            })?);
        }
        Ok(lists)
    }

    /// Calls `make` for the row of each query. Returns the results with the index of the query, in ascending order.
    fn each_row<T: Ord + Send, const N: usize>(
        &self,
        make: impl Fn(&WantedRow) -> [T; N] + Sync,
    ) -> Vec<(T, u32)> {
        let rows = self.rows.par_iter().with_min_len(threads::at_least(KEYS_OF_PART)).enumerate();
        let made = rows.flat_map_iter(|(query, row)| {
            row.iter().flat_map(&make).map(move |made| (made, query as u32))
        });
        let mut made: Vec<(T, u32)> = made.collect();
        threads::sort(&mut made);
        made.dedup();
        made
    }

    /// The blocks of a segment with sorted rows that may have some boards, which ascend.
    fn in_sorted(
        &self,
        segment: &BlockSegment,
        boards: &[(BoardKey, u32)],
        damage: &mut FirstDamage,
    ) -> Result<Vec<QueryList<'a>>, ArchiveError> {
        let separators = segment.separators(self.reader.bytes()).and_then(Separators::search);
        let mut separators = damage.skip(separators)?;
        let first = segment.first_index_block;
        let mut lists = Vec::with_capacity(boards.len());
        for (board, query) in boards {
            let found = separators.as_mut().map(|separators| separators.find(board));
            let blocks = damage.skip(found.transpose())?.flatten();
            let blocks = blocks.unwrap_or_else(|| unlisted(self.reader, segment.index_blocks()));
            lists.push((BlockList::Range(first + blocks.start..first + blocks.end), *query));
        }
        Ok(lists)
    }

    /// The blocks that may have positions with some keys, which ascend, so that each bucket of the index is read
    /// once.
    fn in_index(
        &self,
        index: &BlockIndex<'a>,
        keys: &[(u64, u32)],
        damage: &mut FirstDamage,
    ) -> Result<Vec<QueryList<'a>>, ArchiveError> {
        let mut search = index.search();
        let mut lists = Vec::with_capacity(keys.len());
        for (key, query) in keys {
            let list = damage.skip(search.find(*key))?.map_or_else(
                || BlockList::Range(unlisted(self.reader, self.reader.index_blocks())),
                BlockList::Listed,
            );
            if list.len() > 0 {
                lists.push((list, *query));
            }
        }
        Ok(lists)
    }

    /// Prefetches the parts of the index and the separators that the queries need, if the archive
    /// is read by ranges.
    fn prefetch_lists(&self, index: Option<&BlockIndex<'_>>) -> Result<(), ArchiveError> {
        self.reader.bytes().prefetch(|| {
            let sorted = self.reader.segments().iter().filter(|segment| segment.is_sorted());
            let mut ranges: Vec<Range<u64>> =
                sorted.map(|segment| segment.separators.range()).collect();
            let Some(index) = index else { return Ok(ranges) };
            for key in self.rows.iter().flatten().flat_map(WantedRow::keys) {
                ranges.push(index.range_of(key)?);
            }
            Ok(ranges)
        })
    }

    /// Searches blocks. Returns the matching records of each, with the indices of their queries.
    fn find(&self, blocks: &[SearchedBlock]) -> Vec<Result<Vec<QueryMatch>, ArchiveError>> {
        let mut memory_bytes = 0;
        if self.are_asked_for.load(Ordering::Relaxed) {
            memory_bytes = self.reader.memory_bytes() / 4 / blocks.len().max(1);
        }
        self.reader.each_block(blocks, |searched, block| {
            let found = self.find_in(searched, block)?;
            if let Some((_, first)) = found.first() {
                first.matched.decode_records(memory_bytes);
            }
            Ok(found)
        })
    }

    /// The matching records of a block, each with the index of its query.
    fn find_in(
        &self,
        searched: &SearchedBlock,
        block: Arc<Block>,
    ) -> Result<Vec<QueryMatch>, ArchiveError> {
        let mut found = Vec::new();
        for (range, queries) in &searched.parts {
            let wanted = queries.iter().map(|&query| query as usize);
            let wanted = wanted.filter_map(|query| Some((self.rows[query]?, query)));
            let rows = block.rows_in(range.clone())?;
            let of_part = among(&rows, range.start, wanted.collect());
            found.extend(of_part.ok_or_else(|| block.damaged())?);
        }
        let mut places: Vec<usize> = found.iter().map(|&(place, _)| place).collect();
        places.dedup();
        let (Some(&first), Some(&last)) = (places.first(), places.last()) else {
            return Ok(Vec::new());
        };
        let numbers = self.reader.numbers_in(searched.segment, &block, first..last + 1)?;
        let matched = self.matched(&block, places);
        let mut nth = 0;
        let of = |(place, query)| {
            nth += usize::from(matched.places[nth] != place);
            let number = numbers[place - first];
            (query, BlockMatch { matched: Arc::clone(&matched), nth, number })
        };
        Ok(found.into_iter().map(of).collect())
    }

    fn matched(&self, block: &Arc<Block>, places: Vec<usize>) -> Arc<Matched> {
        let block = Arc::clone(block);
        let are_asked_for = Arc::clone(&self.are_asked_for);
        Arc::new(Matched { block, places, records: OnceLock::new(), are_asked_for })
    }
}

/// Finds lists of blocks on all threads: `find` finds those of some of the ascending items.
fn in_parts<'a, T: Sync>(
    items: &[T],
    damage: &mut FirstDamage,
    find: impl Fn(&[T], &mut FirstDamage) -> Result<Vec<QueryList<'a>>, ArchiveError> + Sync,
) -> Result<Vec<QueryList<'a>>, ArchiveError> {
    let parts = items.par_chunks(KEYS_OF_PART).with_min_len(threads::at_least(1));
    let find_part = |part: &[T]| {
        let mut damage = FirstDamage::default();
        Ok((find(part, &mut damage)?, damage))
    };
    let mut lists = Vec::new();
    for part in parts.map(find_part).collect::<Result<Vec<_>, ArchiveError>>()? {
        let (found, mut of_part) = part;
        damage.skip(of_part.report())?;
        lists.extend(found);
    }
    Ok(lists)
}

/// The blocks that may have some of the positions, in ascending order.
struct Candidates<'a> {
    reader: &'a BlockReader,
    /// The lists of blocks. Numbers below `end` were taken out of them.
    lists: Vec<QueryList<'a>>,
    end: u64,
    /// Number of index blocks whose numbers are taken out of the lists together.
    step: u64,
    /// The next blocks.
    taken: IntoIter<SearchedBlock>,
    /// For each query: true if it needs no further record.
    is_done: Vec<bool>,
    damage: FirstDamage,
}

impl<'a> Candidates<'a> {
    fn new(search: &Search<'a>) -> Result<Candidates<'a>, ArchiveError> {
        let reader = search.reader;
        let mut damage = FirstDamage::default();
        let lists = search.lists(&mut damage)?;
        let total: u64 = lists.iter().map(|(list, _)| list.len()).sum();
        let at_once = (reader.memory_bytes() / 8 / size_of::<(u64, u32)>()).max(1) as u64;
        let step = reader.index_blocks().div_ceil(total.div_ceil(at_once).max(1)).max(1);
        let is_done = vec![false; search.rows.len()];
        let taken = Vec::new().into_iter();
        Ok(Candidates { reader, lists, end: 0, step, taken, is_done, damage })
    }

    /// Returns the next blocks that a query still needs; none at the end.
    fn next(&mut self, maximum: usize) -> Result<Vec<SearchedBlock>, ArchiveError> {
        loop {
            let is_done = &self.is_done;
            let is_wanted = |block: &SearchedBlock| {
                let mut queries = block.parts.iter().flat_map(|(_, queries)| queries);
                queries.any(|query| !is_done[*query as usize])
            };
            let next = self.taken.by_ref().filter(is_wanted).take(maximum);
            let next: Vec<SearchedBlock> = next.collect();
            if !next.is_empty() || self.end >= self.reader.index_blocks() {
                return Ok(next);
            }
            self.take_step()?;
        }
    }

    /// Takes the numbers of the next index blocks out of all lists.
    fn take_step(&mut self) -> Result<(), ArchiveError> {
        self.end += self.step;
        let end = self.end;
        let lists = self.lists.par_iter_mut().with_min_len(threads::at_least(KEYS_OF_PART));
        let pairs = lists.flat_map_iter(|(list, query)| {
            let query = *query;
            std::iter::from_fn(move || list.next_below(end)).map(move |block| Ok((block?, query)))
        });
        let mut pairs = pairs.collect::<Result<Vec<(u64, u32)>, ArchiveError>>()?;
        threads::sort(&mut pairs);
        pairs.dedup();
        let mut blocks = Vec::new();
        for pairs in pairs.chunk_by(|(one, _), (next, _)| one == next) {
            let located = self.reader.locate(pairs[0].0);
            if let Some(located) = self.damage.skip(located)? {
                let queries = pairs.iter().map(|(_, query)| *query);
                SearchedBlock::add_part(&mut blocks, located, queries.collect());
            }
        }
        self.taken = blocks.into_iter();
        Ok(())
    }
}

/// The place of a record in its block, its number, and its identity board.
type BoardInBlock = (usize, u64, PackedBoard);

/// A block to search.
struct SearchedBlock {
    segment: usize,
    number: u32,
    /// The parts of the block to search. Each part is an index block: the range of its records in
    /// the block, and the indices of the queries.
    parts: Vec<(Range<usize>, Vec<u32>)>,
}

impl SearchedBlock {
    /// Adds a located index block to the last block, or as a new block.
    fn add_part(
        blocks: &mut Vec<SearchedBlock>,
        (segment, number, range): (usize, u32, Range<usize>),
        queries: Vec<u32>,
    ) {
        let last =
            blocks.last_mut().filter(|last| (last.segment, last.number) == (segment, number));
        match last {
            Some(last) => last.parts.push((range, queries)),
            None => blocks.push(SearchedBlock { segment, number, parts: vec![(range, queries)] }),
        }
    }
}

/// A list of index blocks, in ascending order.
#[derive(Clone)]
enum BlockList<'a> {
    /// Blocks of a segment whose rows are sorted, or all blocks.
    Range(Range<u64>),
    /// Blocks from the index.
    Listed(Blocks<'a>),
}

impl BlockList<'_> {
    fn len(&self) -> u64 {
        match self {
            BlockList::Range(blocks) => blocks.end.saturating_sub(blocks.start),
            BlockList::Listed(blocks) => blocks.left().into(),
        }
    }

    /// Takes the next number if it is below `end`.
    fn next_below(&mut self, end: u64) -> Option<Result<u64, ArchiveError>> {
        let mut rest = self.clone();
        let next = rest.next()?;
        if next.as_ref().is_ok_and(|next| *next >= end) {
            return None;
        }
        *self = rest;
        Some(next)
    }
}

impl Iterator for BlockList<'_> {
    type Item = Result<u64, ArchiveError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            BlockList::Range(blocks) => blocks.next().map(Ok),
            BlockList::Listed(blocks) => blocks.next().map(|block| block.map(u64::from)),
        }
    }
}

/// The blocks to search where a list of blocks is damaged: all of them, unless they had to be received first.
fn unlisted(reader: &BlockReader, blocks: u64) -> Range<u64> {
    if reader.bytes().is_remote() { 0..0 } else { 0..blocks }
}

/// The index blocks to search for one position, in ascending order.
struct QueryBlocks<'a>(Vec<Peekable<BlockList<'a>>>);

impl<'a> QueryBlocks<'a> {
    fn new(lists: Vec<BlockList<'a>>) -> QueryBlocks<'a> {
        QueryBlocks(lists.into_iter().map(Iterator::peekable).collect())
    }
}

impl Iterator for QueryBlocks<'_> {
    type Item = Result<u64, ArchiveError>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut first: Option<u64> = None;
        for list in &mut self.0 {
            match list.peek() {
                Some(Ok(block)) => first = Some(first.map_or(*block, |first| first.min(*block))),
                Some(Err(_)) => return list.next(),
                None => {}
            }
        }
        let first = first?;
        for list in &mut self.0 {
            list.next_if(|block| block.as_ref().is_ok_and(|block| *block == first));
        }
        Some(Ok(first))
    }
}

/// Iterator over the records of a position. The number of blocks that are decoded at once doubles.
pub(crate) struct BlockMatches<'a> {
    search: Search<'a>,
    index_blocks: QueryBlocks<'a>,
    /// Number of blocks that will be searched next.
    ahead: usize,
    /// Matches of the blocks that were searched last.
    searched: IntoIter<Result<Vec<QueryMatch>, ArchiveError>>,
    /// Matches of the first of them.
    found: IntoIter<QueryMatch>,
    damage: FirstDamage,
}

impl BlockMatches<'_> {
    /// Searches the next blocks. Returns false if there are none.
    fn search_more(&mut self) -> Result<bool, ArchiveError> {
        let reader = self.search.reader;
        let mut blocks = Vec::new();
        while blocks.len() < self.ahead
            && let Some(index_block) = self.index_blocks.next()
        {
            // If its list of blocks cannot be read further, the search ends.
            if let Some(located) = self.damage.skip(reader.locate(index_block?))? {
                SearchedBlock::add_part(&mut blocks, located, vec![0]);
            }
        }
        let Some(last) = blocks.last() else { return Ok(false) };
        self.ahead = reader.twice(self.ahead, last.segment);
        reader.prefetch_blocks(&blocks)?;
        self.searched = self.search.find(&blocks).into_iter();
        Ok(true)
    }
}

impl Iterator for BlockMatches<'_> {
    type Item = Result<BlockMatch, ArchiveError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some((_, found)) = self.found.next() {
                return Some(Ok(found));
            }
            let found = match self.searched.next() {
                Some(found) => self.damage.skip(found),
                None => match self.search_more() {
                    Ok(true) => continue,
                    Ok(false) => return self.damage.report().err().map(Err),
                    Err(error) => Err(error),
                },
            };
            match found {
                Ok(found) => self.found = found.unwrap_or_default().into_iter(),
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

/// A record that was found.
pub(crate) struct BlockMatch {
    matched: Arc<Matched>,
    /// Index of the record among the matches of the block.
    nth: usize,
    number: u64,
}

/// A record that was found, with the index of its query.
type QueryMatch = (usize, BlockMatch);

/// A decoded block with its matches.
struct Matched {
    block: Arc<Block>,
    /// Places of the matching records in the block.
    places: Vec<usize>,
    /// The matching records, decoded when the first of them is requested.
    records: OnceLock<Vec<EpdRecord>>,
    are_asked_for: Arc<AtomicBool>,
}

impl Matched {
    /// Decodes the records if they fit into memory and are not only rows. If this fails, the decoding is repeated
    /// when the caller requests a record, and the caller then gets the error.
    fn decode_records(&self, memory_bytes: usize) {
        let fit = self.places.len() <= memory_bytes / RECORD_MEMORY;
        if fit
            && !self.places.iter().all(|&place| self.block.is_row_alone(place))
            && let Ok(records) = self.block.records_at(&self.places, memory_bytes)
        {
            self.records.get_or_init(|| records);
        }
    }
}

impl BlockMatch {
    /// Number of the record.
    pub(crate) const fn number(&self) -> u64 {
        self.number
    }

    fn place(&self) -> usize {
        self.matched.places[self.nth]
    }

    /// The record.
    pub(crate) fn record(&self) -> Result<EpdRecord, ArchiveError> {
        let Matched { block, places, records, are_asked_for } = &*self.matched;
        if block.is_row_alone(self.place()) {
            return block.record(self.place());
        }
        are_asked_for.store(true, Ordering::Relaxed);
        let all = match records.get() {
            Some(all) => all,
            None => {
                let all = block.records_at(places, usize::MAX)?;
                records.get_or_init(|| all)
            }
        };
        all.get(self.nth).cloned().ok_or_else(|| block.damaged())
    }

    /// Appends the canonical text of the record, without line end.
    pub(crate) fn write_text(&self, out: &mut Vec<u8>) -> Result<(), ArchiveError> {
        self.matched.block.write_record(self.place(), || self.record(), out)
    }
}

/// The position to search for, for one query.
#[derive(Copy, Clone)]
struct WantedRow {
    board: PackedBoard,
    key: u64,
    /// A row that has the position of the board.
    row: Row,
}

impl WantedRow {
    /// `None` if the query's bytes are not a board; such a query finds nothing.
    fn new(query: &Query) -> Option<WantedRow> {
        let (position, _) = packed::decode(query.board().as_ref()).ok()?;
        let row = Row::from_position(&position);
        Some(WantedRow { board: *query.board(), key: query.key(), row })
    }

    /// The keys by which the index may list the blocks: of the position, of White's pieces with all pawns, and of
    /// the pawns.
    fn keys(&self) -> [u64; 3] {
        let parts = PartKeys::of(&self.row);
        [self.key, parts.white, parts.pawns]
    }

    /// True if this is the position of a row; `None` if the row is not a position. Most rows have the identity of
    /// their position as it is, which is faster to compare.
    fn is_position_of(&self, row: &Row) -> Option<bool> {
        Some(row.has_position_of(&self.row) || identity_board(row)? == self.board)
    }
}

/// Finds the rows that match. Returns the place of each, counted from `first`, and the index of its
/// query; `None` if a row is not a position. The pieces are compared first, because this excludes
/// most rows.
fn among(
    rows: &[Row],
    first: usize,
    mut wanted: Vec<(WantedRow, usize)>,
) -> Option<Vec<(usize, usize)>> {
    wanted.sort_by(|(one, _), (other, _)| one.row.pieces().cmp(other.row.pieces()));
    let mut found = Vec::new();
    for (place, row) in (first..).zip(rows) {
        let start = wanted.partition_point(|(wanted, _)| wanted.row.pieces() < row.pieces());
        let same_pieces =
            wanted[start..].iter().take_while(|(wanted, _)| wanted.row.pieces() == row.pieces());
        for (wanted, query) in same_pieces {
            if wanted.is_position_of(row)? {
                found.push((place, *query));
            }
        }
    }
    Some(found)
}

/// The packed identity board of a row; `None` if the row is not a position.
fn identity_board(row: &Row) -> Option<PackedBoard> {
    Some(packed::encode(&row.position()?.identity()))
}

//! Lookups of positions in an archive of level default.
// A heap merges the lists of blocks of all queries, so that each block is decoded once. The number
// of blocks that are decoded in advance doubles with each request. So a search for the first record
// decodes one block, and a search for all records uses all threads.

use std::cell::{Cell, OnceCell};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque};
use std::ops::{ControlFlow, Range};
use std::rc::Rc;
use std::sync::Arc;

use super::block::Block;
use super::index::{BlockIndex, Blocks};
use super::part_entries::PartKeys;
use super::reader::BlockReader;
use super::separators::board_key;
use crate::columns::Row;
use crate::damage::FirstDamage;
use crate::error::ArchiveError;
use crate::index_entries::BoardMap;
use epdb_chess::codec::packed::{self, PackedBoard};
use epdb_chess::codec::query::{Query, SkipTo};
use epdb_chess::model::EpdRecord;

/// Maximum number of blocks that are decoded in advance.
const AHEAD: usize = 256;
/// Maximum number of index blocks whose bytes are received together.
const RECEIVED_TOGETHER: usize = 4096;
/// Approximate memory of a record without operations, in bytes.
const RECORD_MEMORY: usize = 512;

impl BlockReader {
    /// Returns the records of a position, one after the other.
    pub(crate) fn matches(&self, query: &Query) -> Result<BlockMatches<'_>, ArchiveError> {
        let wanted: Wanted = WantedRow::new(0, query).into_iter().collect();
        let mut damage = FirstDamage::default();
        let index_blocks = if self.has_index() {
            let row = wanted.first().copied();
            let queries = std::slice::from_ref(query);
            let mut lists = self.query_blocks(queries, &[row], &mut damage)?;
            lists.pop().unwrap_or_default()
        } else {
            QueryBlocks::all(self)
        };
        let decoded = DecodedBlocks::new(self);
        Ok(BlockMatches { decoded, wanted, index_blocks, found: Vec::new().into_iter(), damage })
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
        let queries: Vec<Query> = queries.collect();
        let mut candidates = Candidates::new(self, &queries)?;
        let mut decoded = DecodedBlocks::new(self);
        let is_remote = self.bytes().is_remote();
        if is_remote {
            decoded.ahead = AHEAD;
        }
        loop {
            if is_remote && candidates.taken.is_empty() {
                self.prefetch_blocks(&mut candidates)?;
            }
            let ahead = if is_remote { 1 } else { decoded.ahead };
            let Some(searched) = candidates.next(ahead)? else { break };
            let found = decoded.find(searched, candidates.upcoming());
            for (place, found) in candidates.damage.skip(found)?.unwrap_or_default() {
                if candidates.is_done[place] {
                    continue;
                }
                match visit(place, found)? {
                    ControlFlow::Continue(()) => {}
                    ControlFlow::Break(SkipTo::NextQuery) => candidates.is_done[place] = true,
                    ControlFlow::Break(SkipTo::End) => return Ok(()),
                }
            }
        }
        Ok(candidates.damage.report()?)
    }

    /// Does the same as [`BlockReader::get_batch`] without an index: searches all blocks.
    fn scan<E: From<ArchiveError>>(
        &self,
        queries: impl Iterator<Item = Query>,
        visit: &mut impl FnMut(usize, BlockMatch) -> Result<ControlFlow<SkipTo>, E>,
    ) -> Result<(), E> {
        let mut wanted = BoardMap::new(queries);
        let mut decoded = DecodedBlocks::new(self);
        let mut damage = FirstDamage::default();
        let blocks = self.index_blocks();
        for number in 0..blocks {
            if wanted.is_empty() {
                break;
            }
            let upcoming = (number + 1..blocks).map(SearchedBlock::unsearched);
            let opened = decoded.open_boards(SearchedBlock::unsearched(number), upcoming);
            let Some((block, boards)) = damage.skip(opened)? else { continue };
            for (place, number, board) in boards {
                let matched = OnceCell::new();
                let found = || {
                    let matched = matched.get_or_init(|| {
                        let block = Arc::clone(&block);
                        let records = OnceCell::new();
                        let are_asked_for = Rc::clone(&decoded.are_asked_for);
                        Rc::new(Matched { block, places: vec![place], records, are_asked_for })
                    });
                    BlockMatch { matched: Rc::clone(matched), nth: 0, number }
                };
                if !wanted.visit(&board, |query| visit(query, found()))? {
                    return Ok(());
                }
            }
        }
        Ok(damage.report()?)
    }

    /// Receives what a lookup of these queries reads, if the archive is read by ranges.
    pub(crate) fn prefetch(&self, queries: &[Query]) -> Result<(), ArchiveError> {
        if self.bytes().is_remote() && self.has_index() {
            self.prefetch_blocks(&mut Candidates::new(self, queries)?)
        } else {
            Ok(())
        }
    }

    /// Takes the next index blocks, and receives them: first all models and directories, and the blocks where
    /// they probably are, then the blocks that are elsewhere.
    fn prefetch_blocks(&self, candidates: &mut Candidates<'_>) -> Result<(), ArchiveError> {
        while candidates.taken.len() < RECEIVED_TOGETHER && candidates.take()? {}
        let mut wanted: BTreeMap<usize, BTreeSet<u32>> = BTreeMap::new();
        for searched in &candidates.taken {
            // A wrong number is reported when the block is opened.
            if let Ok((segment, block, _)) = self.locate(searched.index_block) {
                wanted.entry(segment).or_default().insert(block);
            }
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

    /// Prefetches the parts of the index and the separators that these queries need, if the archive
    /// is read by ranges.
    fn prefetch_lists(
        &self,
        index: Option<&BlockIndex<'_>>,
        queries: &[Query],
        rows: &[Option<WantedRow>],
    ) -> Result<(), ArchiveError> {
        self.bytes().prefetch(|| {
            let sorted = self.segments().iter().filter(|segment| segment.is_sorted());
            let mut ranges: Vec<Range<u64>> =
                sorted.map(|segment| segment.separators.range()).collect();
            let Some(index) = index else { return Ok(ranges) };
            let wanted =
                queries.iter().zip(rows).filter_map(|(query, row)| Some((query, row.as_ref()?)));
            for (query, WantedRow { row, .. }) in wanted {
                let parts = PartKeys::of(row);
                for key in [query.key(), parts.white, parts.pawns] {
                    ranges.push(index.range_of(key)?);
                }
            }
            Ok(ranges)
        })
    }

    /// For each query, the blocks that may have its position. The keys are searched in ascending order, so
    /// that each bucket of the index is read once. If its bucket is damaged, a query searches all
    /// blocks, and the damage is the error at the end.
    fn query_blocks(
        &self,
        queries: &[Query],
        rows: &[Option<WantedRow>],
        damage: &mut FirstDamage,
    ) -> Result<Vec<QueryBlocks<'_>>, ArchiveError> {
        let index = self.index()?;
        self.prefetch_lists(index.as_ref(), queries, rows)?;
        let mut found = Vec::with_capacity(queries.len());
        let mut keys = Vec::new();
        for (place, (query, wanted)) in queries.iter().zip(rows).enumerate() {
            let Some(WantedRow { row, .. }) = wanted else {
                found.push(QueryBlocks::default());
                continue;
            };
            found.push(QueryBlocks::in_sorted(self, row, damage)?);
            let parts = PartKeys::of(row);
            let listed = [query.key(), parts.white, parts.pawns];
            keys.extend(listed.into_iter().enumerate().map(|(kind, key)| (key, place, kind)));
        }
        let Some(index) = index else { return Ok(found) };
        keys.sort_unstable();
        let mut search = index.search();
        for (key, place, kind) in keys {
            let blocks = search.find(key).and_then(ListedBlocks::new);
            match damage.skip(blocks)? {
                Some(blocks) => found[place].listed[kind] = blocks,
                None => found[place] = QueryBlocks::unlisted(self),
            }
        }
        Ok(found)
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

/// The index blocks that may have some of the positions, in ascending order. Each comes with the
/// rows to search for in it.
struct Candidates<'a> {
    /// The next block of each query, with the index of the query.
    heap: BinaryHeap<Reverse<(u64, usize)>>,
    /// For each query: the row to search for. `None` if the query can find nothing.
    rows: Vec<Option<WantedRow>>,
    /// For each query, the blocks after the block that is in the heap.
    lists: Vec<QueryBlocks<'a>>,
    /// Blocks that were taken out of the heap.
    taken: VecDeque<SearchedBlock>,
    /// For each query: true if it needs no further record.
    is_done: Vec<bool>,
    damage: FirstDamage,
}

impl<'a> Candidates<'a> {
    fn new(reader: &'a BlockReader, queries: &[Query]) -> Result<Candidates<'a>, ArchiveError> {
        let rows = queries.iter().enumerate().map(|(place, query)| WantedRow::new(place, query));
        let rows: Vec<Option<WantedRow>> = rows.collect();
        let mut damage = FirstDamage::default();
        let lists = reader.query_blocks(queries, &rows, &mut damage)?;
        let mut candidates = Candidates {
            heap: BinaryHeap::with_capacity(queries.len()),
            lists,
            rows,
            taken: VecDeque::new(),
            is_done: vec![false; queries.len()],
            damage,
        };
        for place in 0..queries.len() {
            candidates.push(place)?;
        }
        Ok(candidates)
    }

    /// Moves the next block of a query into the heap, if there is one.
    fn push(&mut self, place: usize) -> Result<(), ArchiveError> {
        if let Some(block) = self.lists[place].next() {
            self.heap.push(Reverse((block?, place)));
        }
        Ok(())
    }

    /// Returns the next block that a query still needs. First takes blocks out of the heap, until
    /// `ahead` blocks are ready to be returned.
    fn next(&mut self, ahead: usize) -> Result<Option<SearchedBlock>, ArchiveError> {
        loop {
            while self.taken.len() < ahead && self.take()? {}
            let Some(searched) = self.taken.pop_front() else { return Ok(None) };
            if self.is_wanted(&searched) {
                return Ok(Some(searched));
            }
        }
    }

    /// Takes a block out of the heap. Returns false if the heap is empty.
    fn take(&mut self) -> Result<bool, ArchiveError> {
        let Some(&Reverse((index_block, _))) = self.heap.peek() else { return Ok(false) };
        let mut wanted = Vec::new();
        while self.heap.peek().is_some_and(|Reverse((of, _))| *of == index_block) {
            let Some(Reverse((_, place))) = self.heap.pop() else { break };
            if !self.is_done[place] {
                wanted.extend(self.rows[place]);
                self.push(place)?;
            }
        }
        self.taken.push_back(SearchedBlock { index_block, wanted: wanted.into() });
        Ok(true)
    }

    fn is_wanted(&self, searched: &SearchedBlock) -> bool {
        searched.wanted.iter().any(|wanted| !self.is_done[wanted.query])
    }

    /// The blocks that will come next, as far as they are known.
    fn upcoming(&self) -> impl Iterator<Item = SearchedBlock> {
        self.taken.iter().filter(|searched| self.is_wanted(searched)).cloned()
    }
}

/// The place of a record in its block, its number, and its identity board.
type BoardInBlock = (usize, u64, PackedBoard);

/// An index block, and the rows to search for in it.
#[derive(Clone)]
struct SearchedBlock {
    index_block: u64,
    wanted: Wanted,
}

impl SearchedBlock {
    /// A block without rows to search for; the caller looks at all of its rows.
    fn unsearched(index_block: u64) -> SearchedBlock {
        SearchedBlock { index_block, wanted: Wanted::default() }
    }
}

/// A decoded block, and the part of it that was searched.
struct OpenBlock {
    segment: usize,
    block: Arc<Block>,
    part: SearchedPart,
}

/// A part of a decoded block that was searched. It is one index block.
struct SearchedPart {
    /// Range of the part's records in the block.
    range: Range<usize>,
    /// Places of the matching records in the block, in ascending order. Each comes with the index
    /// of its query. `None` if a row is not a position.
    found: Option<Vec<(usize, usize)>>,
    /// The records at these places; `None` if they were not decoded.
    records: Option<Vec<EpdRecord>>,
}

impl SearchedPart {
    /// Searches a part of a block. The matching records are decoded if they fit into
    /// `memory_bytes`.
    fn search(
        block: &Block,
        range: &Range<usize>,
        wanted: &Wanted,
        memory_bytes: usize,
    ) -> SearchedPart {
        let found = if wanted.is_empty() {
            Some(Vec::new())
        } else {
            let rows = block.rows_in(range.clone()).ok();
            rows.and_then(|rows| among(&rows, range.start, wanted))
        };
        let places = found.as_deref().map(places_of).unwrap_or_default();
        let is_made = places.len() <= memory_bytes / RECORD_MEMORY
            && !places.iter().all(|&place| block.is_row_alone(place));
        // If the decoding fails, it is repeated when the caller asks for the record, and the caller
        // then gets the error.
        let records = is_made.then(|| block.records_at(&places, memory_bytes).ok()).flatten();
        SearchedPart { range: range.clone(), found, records }
    }
}

/// Returns the distinct places.
fn places_of(found: &[(usize, usize)]) -> Vec<usize> {
    let mut places: Vec<usize> = found.iter().map(|&(place, _)| place).collect();
    places.dedup();
    places
}

/// A block of a segment to decode.
struct PlannedBlock {
    number: u32,
    /// The parts of the block to search. Each part is an index block: the range of its records in
    /// the block, and the rows to search for.
    parts: Vec<(Range<usize>, Wanted)>,
}

/// A block that was decoded.
struct DecodedBlock {
    /// Index of the segment, and number of the block in the segment.
    place: (usize, u32),
    block: Arc<Block>,
    parts: Vec<SearchedPart>,
}

/// Decoded blocks, in order. The number of blocks that are decoded at once doubles with each
/// request.
struct DecodedBlocks<'a> {
    reader: &'a BlockReader,
    /// The block that was requested last comes first.
    blocks: VecDeque<DecodedBlock>,
    /// Number of blocks that will be decoded at once next time.
    ahead: usize,
    /// True after the record of a match was requested. The threads that decode the next blocks then
    /// also decode the matching records.
    are_asked_for: Rc<Cell<bool>>,
}

impl<'a> DecodedBlocks<'a> {
    fn new(reader: &'a BlockReader) -> DecodedBlocks<'a> {
        DecodedBlocks { reader, blocks: VecDeque::new(), ahead: 1, are_asked_for: Rc::default() }
    }

    /// Opens an index block. `upcoming` are the index blocks that will be requested next.
    fn open(
        &mut self,
        searched: SearchedBlock,
        upcoming: impl Iterator<Item = SearchedBlock>,
    ) -> Result<OpenBlock, ArchiveError> {
        let (segment, number, range) = self.reader.locate(searched.index_block)?;
        while self.blocks.front().is_some_and(|block| block.place != (segment, number)) {
            self.blocks.pop_front();
        }
        if self.blocks.is_empty() {
            let first =
                PlannedBlock { number, parts: vec![(range.clone(), searched.wanted.clone())] };
            self.decode(segment, first, upcoming)?;
        }
        let decoded = self.blocks.front_mut();
        let DecodedBlock { block, parts, .. } =
            decoded.ok_or(ArchiveError::corrupt("block directory"))?;
        let part = match parts.iter().position(|part| part.range == range) {
            Some(place) => parts.swap_remove(place),
            None => SearchedPart::search(block, &range, &searched.wanted, 0),
        };
        Ok(OpenBlock { segment, block: Arc::clone(block), part })
    }

    /// Opens an index block. Returns its block and, for each record of the index block, the place in
    /// the block, the number, and the identity board.
    fn open_boards(
        &mut self,
        searched: SearchedBlock,
        upcoming: impl Iterator<Item = SearchedBlock>,
    ) -> Result<(Arc<Block>, Vec<BoardInBlock>), ArchiveError> {
        let OpenBlock { segment, block, part: SearchedPart { range, .. } } =
            self.open(searched, upcoming)?;
        let rows = block.rows_in(range.clone())?;
        let numbers = self.reader.numbers_in(segment, &block, range.clone())?;
        let mut boards = Vec::with_capacity(range.len());
        for ((place, number), row) in range.zip(numbers).zip(rows.iter()) {
            let board = identity_board(row).ok_or_else(|| block.damaged())?;
            boards.push((place, number, board));
        }
        drop(rows);
        Ok((block, boards))
    }

    /// Decodes a block, and some blocks of the segment that will be requested next.
    fn decode(
        &mut self,
        segment: usize,
        first: PlannedBlock,
        upcoming: impl Iterator<Item = SearchedBlock>,
    ) -> Result<(), ArchiveError> {
        let mut planned = vec![first];
        for SearchedBlock { index_block, wanted } in upcoming {
            let (of, number, range) = self.reader.locate(index_block)?;
            let is_full = of != segment || planned.len() == self.ahead;
            match planned.last_mut().filter(|last| of == segment && last.number == number) {
                Some(last) => last.parts.push((range, wanted)),
                None if is_full => break,
                None => planned.push(PlannedBlock { number, parts: vec![(range, wanted)] }),
            }
        }
        let mut blocks = self.decode_planned(segment, &planned);
        if blocks.is_err() {
            // The sound blocks before and after a damaged one are still decoded. A number that
            // grows from one again keeps the work linear: the damaged block ends few attempts.
            self.ahead = 1;
            if planned.len() > 1 {
                blocks = self.decode_planned(segment, &planned[..1]);
            }
        }
        self.blocks = blocks?;
        self.ahead = (2 * self.ahead).min(self.reader.blocks_in_memory(segment)).clamp(1, AHEAD);
        Ok(())
    }

    fn decode_planned(
        &self,
        segment: usize,
        planned: &[PlannedBlock],
    ) -> Result<VecDeque<DecodedBlock>, ArchiveError> {
        let memory_bytes =
            if self.are_asked_for.get() { self.reader.memory_bytes() / 4 } else { 0 };
        let memory_bytes = memory_bytes / planned.len().max(1);
        let search = |planned: &PlannedBlock, block: Arc<Block>| {
            let parts = planned
                .parts
                .iter()
                .map(|(range, wanted)| SearchedPart::search(&block, range, wanted, memory_bytes));
            let parts = parts.collect();
            DecodedBlock { place: (segment, planned.number), block, parts }
        };
        let recent = self.reader.recent_blocks(segment, planned.len());
        let known: Vec<Option<Arc<Block>>> = planned
            .iter()
            .map(|planned| recent.and_then(|recent| recent.get((segment, planned.number))))
            .collect();
        let unknown = planned.iter().zip(&known).filter(|(_, known)| known.is_none());
        let unknown: Vec<&PlannedBlock> = unknown.map(|(planned, _)| planned).collect();
        let number = |planned: &&PlannedBlock| planned.number;
        let make = |planned: &&PlannedBlock, block| search(planned, Arc::new(block));
        let mut decoded = self.reader.map_blocks(segment, &unknown, number, make)?.into_iter();
        let mut blocks = VecDeque::with_capacity(planned.len());
        for (planned, known) in planned.iter().zip(known) {
            match known {
                Some(block) => blocks.push_back(search(planned, block)),
                None => {
                    let decoded = decoded.next().ok_or(ArchiveError::corrupt("block directory"))?;
                    recent.iter().for_each(|it| it.put(decoded.place, &decoded.block));
                    blocks.push_back(decoded);
                }
            }
        }
        Ok(blocks)
    }

    /// Returns the matching records of an index block, each with the index of its query. `upcoming`
    /// are the index blocks that will be requested next.
    fn find(
        &mut self,
        searched: SearchedBlock,
        upcoming: impl Iterator<Item = SearchedBlock>,
    ) -> Result<Vec<(usize, BlockMatch)>, ArchiveError> {
        if searched.wanted.is_empty() {
            return Ok(Vec::new());
        }
        let OpenBlock { segment, block, part } = self.open(searched, upcoming)?;
        let found = part.found.ok_or_else(|| block.damaged())?;
        let places = places_of(&found);
        let (Some(&first), Some(&last)) = (places.first(), places.last()) else {
            return Ok(Vec::new());
        };
        let numbers = self.reader.numbers_in(segment, &block, first..last + 1)?;
        let records = part.records.map_or_else(OnceCell::new, OnceCell::from);
        let are_asked_for = Rc::clone(&self.are_asked_for);
        let matched = Rc::new(Matched { block, places, records, are_asked_for });
        let mut nth = 0;
        let of = |(place, query)| {
            nth += usize::from(matched.places[nth] != place);
            let number = numbers[place - first];
            (query, BlockMatch { matched: Rc::clone(&matched), nth, number })
        };
        Ok(found.into_iter().map(of).collect())
    }
}

/// The index blocks to search for a position, in ascending order.
#[derive(Clone, Default)]
struct QueryBlocks<'a> {
    /// Ranges of blocks: of segments whose rows are sorted, or of all segments.
    ranges: VecDeque<Range<u64>>,
    /// Blocks from the index, in three lists: the entries of the position, of its pawns, and of
    /// White's pieces with all pawns.
    listed: [ListedBlocks<'a>; 3],
}

/// Blocks from the index.
#[derive(Clone, Default)]
struct ListedBlocks<'a> {
    next: Option<u64>,
    /// The blocks after `next`.
    rest: Blocks<'a>,
}

impl<'a> ListedBlocks<'a> {
    fn new(rest: Blocks<'a>) -> Result<ListedBlocks<'a>, ArchiveError> {
        let mut blocks = ListedBlocks { next: None, rest };
        blocks.advance()?;
        Ok(blocks)
    }

    fn advance(&mut self) -> Result<(), ArchiveError> {
        self.next = self.rest.next().transpose()?.map(u64::from);
        Ok(())
    }
}

impl<'a> QueryBlocks<'a> {
    /// The blocks of segments whose rows are sorted.
    fn in_sorted(
        reader: &BlockReader,
        row: &Row,
        damage: &mut FirstDamage,
    ) -> Result<QueryBlocks<'a>, ArchiveError> {
        let board = board_key(row);
        let mut found = QueryBlocks::default();
        for segment in reader.segments().iter().filter(|segment| segment.is_sorted()) {
            let blocks = segment.separators(reader.bytes()).and_then(|it| it.find(&board));
            let blocks = damage.skip(blocks)?;
            let blocks = blocks.unwrap_or_else(|| unlisted(reader, segment.index_blocks()));
            let first = segment.first_index_block;
            found.ranges.push_back(first + blocks.start..first + blocks.end);
        }
        Ok(found)
    }

    fn all(reader: &BlockReader) -> QueryBlocks<'a> {
        let ranges = VecDeque::from_iter(std::iter::once(0..reader.index_blocks()));
        QueryBlocks { ranges, ..QueryBlocks::default() }
    }

    /// The blocks of a position whose list is damaged.
    fn unlisted(reader: &BlockReader) -> QueryBlocks<'a> {
        let ranges = VecDeque::from([unlisted(reader, reader.index_blocks())]);
        QueryBlocks { ranges, ..QueryBlocks::default() }
    }

    /// Removes a block from the fronts of all lists.
    fn pass(&mut self, block: u64) -> Result<(), ArchiveError> {
        if let Some(range) = self.ranges.front_mut().filter(|range| range.start == block) {
            range.start += 1;
        }
        for listed in &mut self.listed {
            if listed.next == Some(block) {
                listed.advance()?;
            }
        }
        Ok(())
    }
}

/// The blocks to search where a list of blocks is damaged: all of them, unless they had to be received first.
fn unlisted(reader: &BlockReader, blocks: u64) -> Range<u64> {
    if reader.bytes().is_remote() { 0..0 } else { 0..blocks }
}

impl Iterator for QueryBlocks<'_> {
    type Item = Result<u64, ArchiveError>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.ranges.front().is_some_and(Range::is_empty) {
            self.ranges.pop_front();
        }
        let first = self.ranges.front().map(|range| range.start);
        let listed = self.listed.iter().filter_map(|listed| listed.next);
        let block = listed.chain(first).min()?;
        Some(self.pass(block).map(|()| block))
    }
}

/// Iterator over the records of a position. A block is decoded after the matches of the previous
/// block were taken.
pub(crate) struct BlockMatches<'a> {
    decoded: DecodedBlocks<'a>,
    wanted: Wanted,
    index_blocks: QueryBlocks<'a>,
    /// Matches of the last block.
    found: std::vec::IntoIter<(usize, BlockMatch)>,
    damage: FirstDamage,
}

impl Iterator for BlockMatches<'_> {
    type Item = Result<BlockMatch, ArchiveError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some((_, found)) = self.found.next() {
                return Some(Ok(found));
            }
            let Some(block) = self.index_blocks.next() else {
                return self.damage.report().err().map(Err);
            };
            let search =
                |index_block| SearchedBlock { index_block, wanted: Arc::clone(&self.wanted) };
            let upcoming = self.index_blocks.clone().map_while(Result::ok).map(search);
            let found = match block {
                Ok(block) => self.decoded.find(search(block), upcoming),
                // The list of blocks cannot be read further.
                Err(error) => return Some(Err(error)),
            };
            match self.damage.skip(found) {
                Ok(found) => self.found = found.unwrap_or_default().into_iter(),
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

/// A record that was found.
pub(crate) struct BlockMatch {
    matched: Rc<Matched>,
    /// Index of the record among the matches of the block.
    nth: usize,
    number: u64,
}

/// A decoded block with its matches.
struct Matched {
    block: Arc<Block>,
    /// Places of the matching records in the block.
    places: Vec<usize>,
    /// The matching records, decoded when the first of them is requested.
    records: OnceCell<Vec<EpdRecord>>,
    are_asked_for: Rc<Cell<bool>>,
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
        are_asked_for.set(true);
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

/// The rows to search for, of all queries.
type Wanted = Arc<[WantedRow]>;

/// The row to search for, for one query.
#[derive(Copy, Clone)]
struct WantedRow {
    /// Index of the query.
    query: usize,
    board: PackedBoard,
    /// A row that has the pieces of the board.
    row: Row,
}

impl WantedRow {
    /// Makes the row of the query with the index `place`. `None` if the query's bytes are not a
    /// board; such a query finds nothing.
    fn new(place: usize, query: &Query) -> Option<WantedRow> {
        let (position, _) = packed::decode(query.board().as_ref()).ok()?;
        let row = Row::from_position(&position);
        Some(WantedRow { query: place, board: *query.board(), row })
    }
}

/// Finds the rows that match. Returns the place of each, counted from `first`, and the index of its
/// query; `None` if a row is not a position. The pieces are compared first, because this excludes
/// most rows.
fn among(rows: &[Row], first: usize, wanted: &[WantedRow]) -> Option<Vec<(usize, usize)>> {
    let mut found = Vec::new();
    for (place, row) in (first..).zip(rows) {
        for wanted in wanted.iter().filter(|wanted| wanted.row.has_pieces_of(row)) {
            if identity_board(row)? == wanted.board {
                found.push((place, wanted.query));
            }
        }
    }
    Some(found)
}

/// The packed identity board of a row; `None` if the row is not a position.
fn identity_board(row: &Row) -> Option<PackedBoard> {
    Some(packed::encode(&row.position()?.identity()))
}

//! Looking positions up in an archive of level default.

use std::cell::OnceCell;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::ops::Range;
use std::rc::Rc;

use super::block::Block;
use super::index::{BlockIndex, Blocks};
use super::reader::BlockReader;
use crate::archive::error::ArchiveError;
use crate::archive::row::Row;
use crate::archive::scan::BoardMap;
use crate::codec::packed::{self, PackedBoard};
use crate::codec::query::{Query, Visit};
use crate::model::EpdRecord;

/// The most blocks that are decoded before it is known that they are wanted.
const AHEAD: usize = 256;

impl BlockReader {
    /// The records of a position, one after the other.
    pub(in crate::archive) fn matches(
        &self,
        query: &Query,
    ) -> Result<BlockMatches<'_>, ArchiveError> {
        let index_blocks = match self.index()? {
            Some(index) => IndexBlocks::Candidates(index.find(query.key())?),
            None => IndexBlocks::All(0..self.index_blocks()),
        };
        let wanted = Wanted::of([(0, query)].into_iter());
        let decoded = DecodedBlocks::of(self);
        Ok(BlockMatches { decoded, wanted, index_blocks, found: Vec::new().into_iter() })
    }

    /// Calls `visit` with the place of a query and each record of it, block by block, so that each
    /// is decoded once, however many of its records are asked for.
    pub(in crate::archive) fn get_batch<E: From<ArchiveError>>(
        &self,
        queries: impl Iterator<Item = Query>,
        visit: &mut impl FnMut(usize, BlockMatch) -> Result<Visit, E>,
    ) -> Result<(), E> {
        let Some(index) = self.index()? else { return self.scan(queries, visit) };
        let queries: Vec<Query> = queries.collect();
        let mut candidates = Candidates::of(&index, &queries)?;
        let mut decoded = DecodedBlocks::of(self);
        while let Some((block, places)) = candidates.next(decoded.ahead)? {
            let wanted = Wanted::of(places.iter().map(|&place| (place, &queries[place])));
            let found = decoded.find(block, candidates.upcoming(), &wanted)?;
            for (place, found) in found {
                if candidates.is_done[place] {
                    continue;
                }
                match visit(place, found)? {
                    Visit::Continue => {}
                    Visit::SkipQuery => candidates.is_done[place] = true,
                    Visit::Stop => return Ok(()),
                }
            }
        }
        Ok(())
    }

    /// As [`BlockReader::get_batch`], where there is no index: goes through all blocks.
    fn scan<E: From<ArchiveError>>(
        &self,
        queries: impl Iterator<Item = Query>,
        visit: &mut impl FnMut(usize, BlockMatch) -> Result<Visit, E>,
    ) -> Result<(), E> {
        let mut wanted = BoardMap::of(queries);
        let mut decoded = DecodedBlocks::of(self);
        let blocks = self.index_blocks();
        for number in 0..blocks {
            if wanted.is_empty() {
                break;
            }
            let (block, range) = decoded.open(number, number + 1..blocks)?;
            let rows = block.rows_in(range.clone())?;
            let matched = Rc::new(Matched::new(Rc::clone(&block), range.clone()));
            for (place, row) in range.zip(rows.iter()) {
                let board = identity_board(row).ok_or_else(|| block.damaged())?;
                let found = || BlockMatch { matched: Rc::clone(&matched), place };
                if !wanted.visit(&board, |query| visit(query, found()))? {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// How many blocks the position index counts.
    fn index_blocks(&self) -> u64 {
        self.segments().last().map_or(0, |last| last.first_index_block + last.index_blocks())
    }

    /// Where a block of the position index is: the place of the segment, the block there, and the
    /// places of its records in that. The index may count several blocks in one of the segment.
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

/// The blocks that may hold some of the positions, ascending, as the index counts them, each with
/// the places of the queries.
struct Candidates<'a> {
    /// The next block of each query.
    heap: BinaryHeap<Reverse<(u32, usize)>>,
    /// The blocks that come after those.
    lists: Vec<Blocks<'a>>,
    /// Blocks that were taken out of the heap.
    taken: VecDeque<(u64, Vec<usize>)>,
    /// Which queries ask for nothing more.
    is_done: Vec<bool>,
}

impl<'a> Candidates<'a> {
    fn of(index: &BlockIndex<'a>, queries: &[Query]) -> Result<Candidates<'a>, ArchiveError> {
        let lists = queries.iter().map(|query| index.find(query.key()));
        let mut candidates = Candidates {
            heap: BinaryHeap::with_capacity(queries.len()),
            lists: lists.collect::<Result<_, _>>()?,
            taken: VecDeque::new(),
            is_done: vec![false; queries.len()],
        };
        for place in 0..queries.len() {
            candidates.push(place)?;
        }
        Ok(candidates)
    }

    /// Takes the next block of a query into the heap.
    fn push(&mut self, place: usize) -> Result<(), ArchiveError> {
        if let Some(block) = self.lists[place].next() {
            self.heap.push(Reverse((block?, place)));
        }
        Ok(())
    }

    /// The next block with the queries that ask for more; `ahead` blocks are known by then.
    fn next(&mut self, ahead: usize) -> Result<Option<(u64, Vec<usize>)>, ArchiveError> {
        loop {
            while self.taken.len() < ahead && self.take()? {}
            let Some((block, mut places)) = self.taken.pop_front() else { return Ok(None) };
            places.retain(|&place| !self.is_done[place]);
            if !places.is_empty() {
                return Ok(Some((block, places)));
            }
        }
    }

    /// Takes a block out of the heap; false when there is none.
    fn take(&mut self) -> Result<bool, ArchiveError> {
        let Some(&Reverse((block, _))) = self.heap.peek() else { return Ok(false) };
        let mut places = Vec::new();
        while self.heap.peek().is_some_and(|Reverse((of, _))| *of == block) {
            let Some(Reverse((_, place))) = self.heap.pop() else { break };
            if !self.is_done[place] {
                places.push(place);
                self.push(place)?;
            }
        }
        self.taken.push_back((block.into(), places));
        Ok(true)
    }

    /// The blocks that are known to come next.
    fn upcoming(&self) -> impl Iterator<Item = u64> {
        let is_wanted = |places: &[usize]| places.iter().any(|&place| !self.is_done[place]);
        let wanted = self.taken.iter().filter(move |(_, places)| is_wanted(places));
        wanted.map(|&(block, _)| block)
    }
}

/// Blocks that were decoded, in order. The more were asked for the more are decoded at once.
struct DecodedBlocks<'a> {
    reader: &'a BlockReader,
    /// With the place of its segment and its number there; the first is the one that was asked for
    /// last.
    blocks: VecDeque<((usize, u32), Rc<Block>)>,
    /// How many are decoded next.
    ahead: usize,
}

impl<'a> DecodedBlocks<'a> {
    fn of(reader: &'a BlockReader) -> DecodedBlocks<'a> {
        DecodedBlocks { reader, blocks: VecDeque::new(), ahead: 1 }
    }

    /// A block of the position index: the decoded block, and the places of its records in that.
    /// `upcoming` are those that are asked for next.
    fn open(
        &mut self,
        index_block: u64,
        upcoming: impl Iterator<Item = u64>,
    ) -> Result<(Rc<Block>, Range<usize>), ArchiveError> {
        let (segment, number, range) = self.reader.locate(index_block)?;
        while self.blocks.front().is_some_and(|(place, _)| *place != (segment, number)) {
            self.blocks.pop_front();
        }
        if self.blocks.is_empty() {
            self.decode(segment, number, upcoming)?;
        }
        let (_, block) = self.blocks.front().ok_or(ArchiveError::corrupt("block directory"))?;
        Ok((Rc::clone(block), range))
    }

    /// Decodes a block, and some of those that come next in its segment.
    fn decode(
        &mut self,
        segment: usize,
        number: u32,
        upcoming: impl Iterator<Item = u64>,
    ) -> Result<(), ArchiveError> {
        let mut numbers = vec![number];
        for index_block in upcoming {
            let next = self.reader.locate(index_block)?;
            if numbers.len() == self.ahead || next.0 != segment {
                break;
            }
            if numbers.last() != Some(&next.1) {
                numbers.push(next.1);
            }
        }
        let mut blocks = self.reader.scattered_blocks(segment, &numbers);
        if blocks.is_err() && numbers.len() > 1 {
            // What comes before a damaged block is found.
            numbers.truncate(1);
            blocks = self.reader.scattered_blocks(segment, &numbers);
        }
        let places = numbers.into_iter().map(|number| (segment, number));
        self.blocks = places.zip(blocks?.into_iter().map(Rc::new)).collect();
        self.ahead = (2 * self.ahead).min(self.reader.blocks_in_memory(segment)).clamp(1, AHEAD);
        Ok(())
    }

    /// The records of a block of the position index that are wanted, each with the place of its
    /// query. `upcoming` are the blocks that are asked for next.
    fn find(
        &mut self,
        index_block: u64,
        upcoming: impl Iterator<Item = u64>,
        wanted: &Wanted,
    ) -> Result<Vec<(usize, BlockMatch)>, ArchiveError> {
        if wanted.0.is_empty() {
            return Ok(Vec::new());
        }
        let (block, range) = self.open(index_block, upcoming)?;
        let start = range.start;
        let rows = block.rows_in(range)?;
        let found = wanted.among(&rows).ok_or_else(|| block.damaged())?;
        drop(rows);
        let Some((last, _)) = found.last() else { return Ok(Vec::new()) };
        let matched = Rc::new(Matched::new(block, start + found[0].0..start + last + 1));
        let of =
            |(nth, query)| (query, BlockMatch { matched: Rc::clone(&matched), place: start + nth });
        Ok(found.into_iter().map(of).collect())
    }
}

/// Where the records of a position are looked for.
#[derive(Clone)]
enum IndexBlocks<'a> {
    /// In blocks that may have some.
    Candidates(Blocks<'a>),
    /// In all.
    All(Range<u64>),
}

impl Iterator for IndexBlocks<'_> {
    type Item = Result<u64, ArchiveError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            IndexBlocks::Candidates(blocks) => Some(blocks.next()?.map(u64::from)),
            IndexBlocks::All(blocks) => blocks.next().map(Ok),
        }
    }
}

/// The records of a position, found one after the other: blocks are decoded when those of the ones
/// before were taken.
pub(in crate::archive) struct BlockMatches<'a> {
    decoded: DecodedBlocks<'a>,
    wanted: Wanted,
    index_blocks: IndexBlocks<'a>,
    /// Those of the last block.
    found: std::vec::IntoIter<(usize, BlockMatch)>,
}

impl Iterator for BlockMatches<'_> {
    type Item = Result<BlockMatch, ArchiveError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some((_, found)) = self.found.next() {
                return Some(Ok(found));
            }
            let block = self.index_blocks.next()?;
            let upcoming = self.index_blocks.clone().map_while(Result::ok);
            let found = block.and_then(|block| self.decoded.find(block, upcoming, &self.wanted));
            match found {
                Ok(found) => self.found = found.into_iter(),
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

/// A record that was found.
pub(in crate::archive) struct BlockMatch {
    matched: Rc<Matched>,
    /// Its place in the block.
    place: usize,
}

/// A decoded block with records that were found.
struct Matched {
    block: Rc<Block>,
    /// The places of those records, and of others between them.
    range: Range<usize>,
    /// The records of the range, made when there are several and one is asked for.
    records: OnceCell<Vec<EpdRecord>>,
}

impl Matched {
    fn new(block: Rc<Block>, range: Range<usize>) -> Matched {
        Matched { block, range, records: OnceCell::new() }
    }
}

impl BlockMatch {
    /// The number of the record.
    pub(in crate::archive) fn number(&self) -> u64 {
        self.matched.block.first() + self.place as u64
    }

    /// The record.
    pub(in crate::archive) fn record(&self) -> Result<EpdRecord, ArchiveError> {
        let Matched { block, range, records } = &*self.matched;
        if range.len() == 1 || block.is_row_alone(self.place) {
            return block.record(self.place);
        }
        let all = match records.get() {
            Some(all) => all,
            None => {
                let all = block.records_in(range.clone())?;
                records.get_or_init(|| all)
            }
        };
        all.get(self.place - range.start).cloned().ok_or_else(|| block.damaged())
    }

    /// Appends the canonical text of the record, without line end.
    pub(in crate::archive) fn write_text(&self, out: &mut Vec<u8>) -> Result<(), ArchiveError> {
        self.matched.block.write_record(self.place, || self.record(), out)
    }
}

/// What is looked for among rows: for each query its place, its board, and a row with the same
/// pieces.
struct Wanted(Vec<(usize, PackedBoard, Row)>);

impl Wanted {
    fn of<'q>(queries: impl Iterator<Item = (usize, &'q Query)>) -> Wanted {
        let row = |(place, query): (usize, &Query)| {
            // What is no board is not found.
            let (position, _) = packed::decode(query.board().as_ref()).ok()?;
            Some((place, *query.board(), Row::of_position(&position)))
        };
        Wanted(queries.filter_map(row).collect())
    }

    /// Which of some rows have the identity of which queries; `None` when a row is none. The
    /// pieces of most rows rule them out.
    fn among(&self, rows: &[Row]) -> Option<Vec<(usize, usize)>> {
        let mut found = Vec::new();
        for (nth, row) in rows.iter().enumerate() {
            for (place, board, _) in self.0.iter().filter(|(.., like)| like.has_pieces_of(row)) {
                if identity_board(row)? == *board {
                    found.push((nth, *place));
                }
            }
        }
        Some(found)
    }
}

/// The packed identity board of a row; `None` when it is none of a position.
fn identity_board(row: &Row) -> Option<PackedBoard> {
    Some(packed::encode(&row.position()?.identity()))
}

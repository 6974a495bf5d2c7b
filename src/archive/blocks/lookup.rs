//! Looking positions up in an archive of level default.

use std::cell::OnceCell;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::ops::Range;
use std::rc::Rc;

use super::block::Block;
use super::index::{BlockIndex, Blocks};
use super::pawn_entries::pawn_key;
use super::reader::BlockReader;
use super::separators::board_key;
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
        let wanted = Wanted::of([(0, query)].into_iter());
        let index_blocks = match (self.has_index(), wanted.0.first()) {
            (true, Some((.., row))) => {
                QueryBlocks::of(self, self.index()?.as_ref(), query.key(), row)?
            }
            (true, None) => QueryBlocks::default(),
            (false, _) => QueryBlocks::all(self),
        };
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
        if !self.has_index() {
            return self.scan(queries, visit);
        }
        let queries: Vec<Query> = queries.collect();
        let mut candidates = Candidates::of(self, &queries)?;
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
            let OpenBlock { segment, block, range } = decoded.open(number, number + 1..blocks)?;
            let rows = block.rows_in(range.clone())?;
            let matched = Rc::new(Matched::new(Rc::clone(&block), range.clone()));
            let numbers = self.numbers_in(segment, &block, range.clone())?;
            for ((place, number), row) in range.zip(numbers).zip(rows.iter()) {
                let board = identity_board(row).ok_or_else(|| block.damaged())?;
                let found = || BlockMatch { matched: Rc::clone(&matched), place, number };
                if !wanted.visit(&board, |query| visit(query, found()))? {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// The numbers of some records of a block.
    fn numbers_in(
        &self,
        segment: usize,
        block: &Block,
        places: Range<usize>,
    ) -> Result<Vec<u64>, ArchiveError> {
        let places = block.first() + places.start as u64..block.first() + places.end as u64;
        self.numbers(&self.segments()[segment], places)
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
    heap: BinaryHeap<Reverse<(u64, usize)>>,
    /// The blocks that come after those.
    lists: Vec<QueryBlocks<'a>>,
    /// Blocks that were taken out of the heap.
    taken: VecDeque<(u64, Vec<usize>)>,
    /// Which queries ask for nothing more.
    is_done: Vec<bool>,
}

impl<'a> Candidates<'a> {
    fn of(reader: &'a BlockReader, queries: &[Query]) -> Result<Candidates<'a>, ArchiveError> {
        let index = reader.index()?;
        let lists = queries.iter().map(|query| match row_of(query) {
            Some(row) => QueryBlocks::of(reader, index.as_ref(), query.key(), &row),
            None => Ok(QueryBlocks::default()),
        });
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
        self.taken.push_back((block, places));
        Ok(true)
    }

    /// The blocks that are known to come next.
    fn upcoming(&self) -> impl Iterator<Item = u64> {
        let is_wanted = |places: &[usize]| places.iter().any(|&place| !self.is_done[place]);
        let wanted = self.taken.iter().filter(move |(_, places)| is_wanted(places));
        wanted.map(|&(block, _)| block)
    }
}

/// A block of the position index: the decoded block, with the place of its segment, and the places of
/// its records in that.
struct OpenBlock {
    segment: usize,
    block: Rc<Block>,
    range: Range<usize>,
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

    /// A block of the position index. `upcoming` are those that are asked for next.
    fn open(
        &mut self,
        index_block: u64,
        upcoming: impl Iterator<Item = u64>,
    ) -> Result<OpenBlock, ArchiveError> {
        let (segment, number, range) = self.reader.locate(index_block)?;
        while self.blocks.front().is_some_and(|(place, _)| *place != (segment, number)) {
            self.blocks.pop_front();
        }
        if self.blocks.is_empty() {
            self.decode(segment, number, upcoming)?;
        }
        let (_, block) = self.blocks.front().ok_or(ArchiveError::corrupt("block directory"))?;
        Ok(OpenBlock { segment, block: Rc::clone(block), range })
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
        let OpenBlock { segment, block, range } = self.open(index_block, upcoming)?;
        let start = range.start;
        let rows = block.rows_in(range)?;
        let found = wanted.among(&rows).ok_or_else(|| block.damaged())?;
        drop(rows);
        let Some((last, _)) = found.last() else { return Ok(Vec::new()) };
        let (first, range) = (found[0].0, start + found[0].0..start + last + 1);
        let numbers = self.reader.numbers_in(segment, &block, range.clone())?;
        let matched = Rc::new(Matched::new(block, range));
        let of = |(nth, query)| {
            let (place, number) = (start + nth, numbers[nth - first]);
            (query, BlockMatch { matched: Rc::clone(&matched), place, number })
        };
        Ok(found.into_iter().map(of).collect())
    }
}

/// The blocks in which a position is looked for, ascending, as the index counts them.
#[derive(Clone, Default)]
struct QueryBlocks<'a> {
    /// Those of segments whose rows are sorted, or all.
    ranges: VecDeque<Range<u64>>,
    /// Those of the index: with the position, and with its pawns.
    listed: [ListedBlocks<'a>; 2],
}

/// Blocks of the index.
#[derive(Clone, Default)]
struct ListedBlocks<'a> {
    next: Option<u64>,
    /// Those behind it.
    rest: Blocks<'a>,
}

impl<'a> ListedBlocks<'a> {
    fn of(rest: Blocks<'a>) -> Result<ListedBlocks<'a>, ArchiveError> {
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
    /// Those that may have the position with a key and a row.
    fn of(
        reader: &BlockReader,
        index: Option<&BlockIndex<'a>>,
        key: u64,
        row: &Row,
    ) -> Result<QueryBlocks<'a>, ArchiveError> {
        let board = board_key(row);
        let mut found = QueryBlocks::default();
        for segment in reader.segments().iter().filter(|segment| segment.is_sorted()) {
            let blocks = segment.separators(reader.bytes())?.find(&board)?;
            let first = segment.first_index_block;
            found.ranges.push_back(first + blocks.start..first + blocks.end);
        }
        if let Some(index) = index {
            found.listed = [
                ListedBlocks::of(index.find(key)?)?,
                ListedBlocks::of(index.find(pawn_key(row))?)?,
            ];
        }
        Ok(found)
    }

    fn all(reader: &BlockReader) -> QueryBlocks<'a> {
        let ranges = VecDeque::from_iter(std::iter::once(0..reader.index_blocks()));
        QueryBlocks { ranges, ..QueryBlocks::default() }
    }

    /// Goes on behind a block.
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

/// The records of a position, found one after the other: blocks are decoded when those of the ones
/// before were taken.
pub(in crate::archive) struct BlockMatches<'a> {
    decoded: DecodedBlocks<'a>,
    wanted: Wanted,
    index_blocks: QueryBlocks<'a>,
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
    number: u64,
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
    pub(in crate::archive) const fn number(&self) -> u64 {
        self.number
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
        let row = |(place, query): (usize, &Query)| Some((place, *query.board(), row_of(query)?));
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

/// A row with the pieces of a query; what is no board is not found.
fn row_of(query: &Query) -> Option<Row> {
    let (position, _) = packed::decode(query.board().as_ref()).ok()?;
    Some(Row::of_position(&position))
}

/// The packed identity board of a row; `None` when it is none of a position.
fn identity_board(row: &Row) -> Option<PackedBoard> {
    Some(packed::encode(&row.position()?.identity()))
}

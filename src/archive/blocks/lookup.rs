//! Looking positions up in an archive of level default.

use std::cell::OnceCell;
use std::ops::Range;
use std::rc::Rc;

use super::block::Block;
use super::index::BlockIndex;
use super::reader::BlockReader;
use crate::archive::error::ArchiveError;
use crate::archive::row::Row;
use crate::archive::scan::BoardMap;
use crate::codec::packed::{self, PackedBoard};
use crate::codec::query::{Query, Visit};
use crate::model::EpdRecord;

impl BlockReader {
    /// The records of a position, one after the other.
    pub(in crate::archive) fn matches(
        &self,
        query: &Query,
    ) -> Result<BlockMatches<'_>, ArchiveError> {
        let index_blocks = match self.index()? {
            Some(index) => IndexBlocks::Candidates(index.find(query.key())?.into_iter()),
            None => IndexBlocks::All(0..self.index_blocks()),
        };
        let wanted = Wanted::of([(0, query)].into_iter());
        let held = HeldBlock::of(self);
        Ok(BlockMatches { held, wanted, index_blocks, found: Vec::new().into_iter() })
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
        let mut is_done = vec![false; queries.len()];
        let mut held = HeldBlock::of(self);
        for group in candidates(&index, &queries)?.chunk_by(|a, b| a.0 == b.0) {
            let places = group.iter().map(|&(_, place)| place).filter(|&place| !is_done[place]);
            let wanted = Wanted::of(places.map(|place| (place, &queries[place])));
            for (place, found) in held.find(group[0].0.into(), &wanted)? {
                if is_done[place] {
                    continue;
                }
                match visit(place, found)? {
                    Visit::Continue => {}
                    Visit::SkipQuery => is_done[place] = true,
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
        let mut held = HeldBlock::of(self);
        for number in 0..self.index_blocks() {
            if wanted.is_empty() {
                break;
            }
            let (block, range) = held.open(number)?;
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
/// the place of the query.
fn candidates(index: &BlockIndex, queries: &[Query]) -> Result<Vec<(u32, usize)>, ArchiveError> {
    let mut candidates = Vec::new();
    for (place, query) in queries.iter().enumerate() {
        candidates.extend(index.find(query.key())?.into_iter().map(|block| (block, place)));
    }
    candidates.sort_unstable();
    Ok(candidates)
}

/// The block that was decoded last.
struct HeldBlock<'a> {
    reader: &'a BlockReader,
    /// With the place of its segment and its number there.
    last: Option<((usize, u32), Rc<Block>)>,
}

impl<'a> HeldBlock<'a> {
    fn of(reader: &'a BlockReader) -> HeldBlock<'a> {
        HeldBlock { reader, last: None }
    }

    /// A block of the position index: the decoded block, and the places of its records in that.
    fn open(&mut self, index_block: u64) -> Result<(Rc<Block>, Range<usize>), ArchiveError> {
        let (segment, number, range) = self.reader.locate(index_block)?;
        let block = match self.last.take() {
            Some((place, block)) if place == (segment, number) => block,
            _ => Rc::new(self.reader.block(segment, number)?),
        };
        self.last = Some(((segment, number), Rc::clone(&block)));
        Ok((block, range))
    }

    /// The records of a block of the position index that are wanted, each with the place of its
    /// query.
    fn find(
        &mut self,
        index_block: u64,
        wanted: &Wanted,
    ) -> Result<Vec<(usize, BlockMatch)>, ArchiveError> {
        if wanted.0.is_empty() {
            return Ok(Vec::new());
        }
        let (block, range) = self.open(index_block)?;
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
enum IndexBlocks {
    /// In blocks that may have some.
    Candidates(std::vec::IntoIter<u32>),
    /// In all.
    All(Range<u64>),
}

impl Iterator for IndexBlocks {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        match self {
            IndexBlocks::Candidates(blocks) => blocks.next().map(u64::from),
            IndexBlocks::All(blocks) => blocks.next(),
        }
    }
}

/// The records of a position, found one after the other: a block is decoded when those of the one
/// before were taken.
pub(in crate::archive) struct BlockMatches<'a> {
    held: HeldBlock<'a>,
    wanted: Wanted,
    index_blocks: IndexBlocks,
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
            match self.held.find(block, &self.wanted) {
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

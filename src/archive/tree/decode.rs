//! Decoding of the rows of several blocks at the same time.

use super::PositionModel;
use super::context::{Context, ESCAPE, Gain, PieceState};
use super::nodes::{NO_NODE, Path};
use super::prediction::{DecodeHistory, PredictionModes};
use crate::columns::{COLUMNS, Row, is_rank};
use crate::move_links::ReadRows;
use crate::rans::RansDecoder;

impl PositionModel {
    /// Decodes the rows of several blocks. Each block comes with its number of rows. No block may
    /// have more rows than the previous block. The blocks are interleaved in small steps, so that
    /// their cache misses overlap. Damaged bytes are decoded to rows too; the checksum of the block
    /// detects them.
    pub(crate) fn decode<'a>(
        &self,
        blocks: impl Iterator<Item = (RansDecoder<'a>, usize)>,
    ) -> Vec<(RansDecoder<'a>, ReadRows)> {
        let path = self.nodes.path(0);
        let mut blocks: Vec<BlockDecoder> =
            blocks.map(|(decoder, count)| BlockDecoder::new(decoder, count, path)).collect();
        let max_rows = blocks.first().map_or(0, |block| block.count);
        for nth in 0..max_rows {
            let unfinished = blocks.partition_point(|block| block.count > nth);
            let unfinished = &mut blocks[..unfinished];
            // The first row of a block is not predicted.
            let modes = if nth > 0 { self.modes.as_ref() } else { None };
            unfinished.iter_mut().for_each(|block| block.begin(modes));
            self.decode_columns(&mut by_shared(unfinished));
            unfinished.iter_mut().for_each(BlockDecoder::end);
        }
        blocks.into_iter().map(|block| (block.decoder, block.read)).collect()
    }

    /// Decodes the columns of one row of each block. The blocks are sorted by the number of leading
    /// columns that this row shares with an earlier row.
    fn decode_columns(&self, blocks: &mut [&mut BlockDecoder]) {
        let mut coded = 0;
        for (place, column) in (0..COLUMNS).zip(&self.columns) {
            while blocks.get(coded).is_some_and(|block| block.shared <= place) {
                coded += 1;
            }
            let blocks = &mut blocks[..coded];
            blocks.iter_mut().for_each(|block| block.path = column.start);
            for &context in &column.contexts {
                self.step(blocks, place, context);
            }
            blocks.iter_mut().for_each(|block| block.jump(self));
            blocks.iter_mut().for_each(|block| block.read(self, place));
            if self.is_mirrored(place) {
                blocks.iter_mut().for_each(|block| block.take_unusual(self, place));
                continue;
            }
            blocks.iter_mut().for_each(|block| {
                match column.dictionary.get(usize::from(block.symbols[place])) {
                    Some(entry) => block.take(place, entry.value, entry.gain),
                    None => block.take_unusual(self, place),
                }
            });
        }
    }

    /// Steps from the current nodes to those for the next context of a column.
    fn step(&self, blocks: &mut [&mut BlockDecoder], place: usize, context: Context) {
        let nodes = &self.nodes;
        match context {
            Context::Column(column) => {
                let column = usize::from(column) % COLUMNS;
                blocks.iter_mut().for_each(|block| {
                    block.path.step(nodes, block.symbols[column].into());
                });
            }
            _ => blocks.iter_mut().for_each(|block| {
                block.path.step(nodes, block.pieces[place].value(context));
            }),
        }
    }

    /// Decodes the next symbol in a node or its ancestors; [`ESCAPE`] if the value follows in full.
    #[inline]
    fn decode_symbol(&self, mut node: u32, mut chunk: u32, decoder: &mut RansDecoder) -> u16 {
        loop {
            let (symbol, interval) = self.tables.find(chunk, decoder.slot());
            decoder.pass(interval);
            if symbol != ESCAPE {
                return symbol;
            }
            node = self.nodes.parent(node);
            if node == NO_NODE {
                return ESCAPE;
            }
            chunk = self.tables.chunk(self.nodes.symbols(node), decoder.slot());
        }
    }
}

/// Sorts the blocks by the number of leading columns that the next row of each block shares with an
/// earlier row.
fn by_shared<'b, 'a>(blocks: &'b mut [BlockDecoder<'a>]) -> Vec<&'b mut BlockDecoder<'a>> {
    let mut blocks: Vec<&mut BlockDecoder> = blocks.iter_mut().collect();
    blocks.sort_by_cached_key(|block| block.shared as u8);
    blocks
}

struct BlockDecoder<'a> {
    decoder: RansDecoder<'a>,
    /// Number of rows of the block.
    count: usize,
    read: ReadRows,
    history: DecodeHistory,
    /// The last row that was not predicted by a move.
    row: Row,
    symbols: [u16; COLUMNS],
    /// The pieces of `row` before each of its columns.
    pieces: [PieceState; COLUMNS + 1],
    /// Number of leading columns that the next row shares with `row`; all columns if a move
    /// predicts the next row.
    shared: usize,
    is_after_move: bool,
    /// Path to the node of the next symbol.
    path: Path,
    chunk: u32,
}

impl<'a> BlockDecoder<'a> {
    fn new(decoder: RansDecoder<'a>, count: usize, path: Path) -> BlockDecoder<'a> {
        BlockDecoder {
            decoder,
            count,
            read: ReadRows { rows: Vec::with_capacity(count), moves: Vec::new() },
            history: DecodeHistory::default(),
            row: Row::default(),
            symbols: [0; COLUMNS],
            pieces: [PieceState::default(); COLUMNS + 1],
            shared: 0,
            is_after_move: false,
            path,
            chunk: 0,
        }
    }

    fn begin(&mut self, modes: Option<&PredictionModes>) {
        let shared = match modes {
            Some(modes) => self.history.next(modes, &mut self.decoder),
            None => Some(0),
        };
        self.shared = shared.unwrap_or(COLUMNS);
        self.is_after_move = shared.is_none();
    }

    /// Finds the chunk of intervals in which the search for the next symbol begins.
    fn jump(&mut self, model: &PositionModel) {
        let node = model.nodes.symbols(self.path.longest);
        self.chunk = model.tables.chunk(node, self.decoder.slot());
        model.tables.prefetch(self.chunk);
    }

    #[inline]
    fn read(&mut self, model: &PositionModel, place: usize) {
        let node = self.path.longest;
        self.symbols[place] = model.decode_symbol(node, self.chunk, &mut self.decoder);
    }

    /// Adds a symbol that is an escape, or stands for a difference from the first rank.
    fn take_unusual(&mut self, model: &PositionModel, place: usize) {
        let entry = model.columns[place].dictionary.get(usize::from(self.symbols[place]));
        let spelled = || model.spelling.decode(place, &mut self.decoder);
        let coded = entry.map_or_else(spelled, |entry| entry.value);
        let value = model.value_of(place, coded, &self.row);
        self.take(
            place,
            value,
            if is_rank(place) { Gain::from_rank(value) } else { Gain::default() },
        );
    }

    /// Adds the value of a column and its pieces.
    #[inline]
    fn take(&mut self, place: usize, value: u32, gain: Gain) {
        self.row.0[place] = value;
        self.pieces[place + 1] = self.pieces[place];
        self.pieces[place + 1].add(place, gain);
    }

    fn end(&mut self) {
        if !self.is_after_move {
            self.history.restart(&self.row);
        }
        let (row, mv) = self.history.last();
        self.read.push(row, mv);
    }
}

//! Decoding the rows of blocks, several side by side.

use super::context::{Context, ESCAPE, Gain, PieceState};
use super::model::PositionModel;
use super::nodes::{NO_NODE, Path};
use super::prediction::{DecodeHistory, PredictionModes};
use crate::archive::chain::ReadRows;
use crate::archive::rans::RansDecoder;
use crate::archive::row::{COLUMNS, Row, is_rank};

impl PositionModel {
    /// Reads the rows of blocks, each of so many rows, none of more than the one before it, side
    /// by side and in small steps: what one of them waits for, another has. What damaged bytes say
    /// is rows too; the check of the block shows it.
    pub(in crate::archive) fn decode<'a>(
        &self,
        blocks: impl Iterator<Item = (RansDecoder<'a>, usize)>,
    ) -> Vec<(RansDecoder<'a>, ReadRows)> {
        let path = self.nodes.path(0);
        let mut blocks: Vec<BlockDecoder> =
            blocks.map(|(decoder, count)| BlockDecoder::new(decoder, count, path)).collect();
        let most = blocks.first().map_or(0, |block| block.count);
        let mut by_shared = BlocksByShared::default();
        for nth in 0..most {
            let unfinished = blocks.partition_point(|block| block.count > nth);
            let blocks = &mut blocks[..unfinished];
            let modes = self.modes.as_ref().filter(|_| nth > 0);
            blocks.iter_mut().for_each(|block| block.begin(modes));
            by_shared.arrange(blocks);
            self.decode_columns(blocks, &by_shared);
            blocks.iter_mut().for_each(BlockDecoder::end);
        }
        blocks.into_iter().map(|block| (block.decoder, block.read)).collect()
    }

    fn decode_columns(&self, blocks: &mut [BlockDecoder], by_shared: &BlocksByShared) {
        for (place, column) in self.columns.iter().enumerate() {
            let coded = by_shared.coded(place);
            coded.iter().for_each(|&block| blocks[block].path = column.start);
            for &context in &column.contexts {
                coded.iter().for_each(|&block| blocks[block].step(self, place, context));
            }
            coded.iter().for_each(|&block| blocks[block].jump(self));
            coded.iter().for_each(|&block| blocks[block].read(self, place));
            coded.iter().for_each(|&block| blocks[block].update(self, place));
        }
    }

    /// Reads the next symbol in a node, or where that escapes to; [`ESCAPE`] when its value is
    /// spelled.
    fn decode_symbol(&self, mut node: u32, mut chunk: u32, decoder: &mut RansDecoder) -> u16 {
        loop {
            let (symbol, interval) = self.tables.find(chunk, decoder.slot());
            decoder.pass(interval);
            if symbol != ESCAPE {
                return symbol;
            }
            node = self.nodes.get(node).parent;
            if node == NO_NODE {
                return ESCAPE;
            }
            chunk = self.tables.chunk(self.nodes.get(node), decoder.slot());
        }
    }
}

/// The blocks by how many first columns of the next row they have already.
#[derive(Default)]
struct BlocksByShared {
    blocks: Vec<usize>,
    /// How many have at most so many.
    ends: [usize; COLUMNS + 2],
}

impl BlocksByShared {
    fn arrange(&mut self, blocks: &[BlockDecoder]) {
        self.ends = [0; COLUMNS + 2];
        blocks.iter().for_each(|block| self.ends[block.shared + 1] += 1);
        for shared in 1..self.ends.len() {
            self.ends[shared] += self.ends[shared - 1];
        }
        self.blocks.resize(blocks.len(), 0);
        for (nth, block) in blocks.iter().enumerate() {
            self.blocks[self.ends[block.shared]] = nth;
            self.ends[block.shared] += 1;
        }
    }

    /// Those whose next row has a symbol of its own in a column.
    fn coded(&self, column: usize) -> &[usize] {
        &self.blocks[..self.ends[column]]
    }
}

/// Decodes the rows of one block.
struct BlockDecoder<'a> {
    decoder: RansDecoder<'a>,
    /// How many rows the block has, and those read so far.
    count: usize,
    read: ReadRows,
    history: DecodeHistory,
    /// The last row that no move led to, its symbols, and the pieces before each of its columns.
    row: Row,
    symbols: [u16; COLUMNS],
    pieces: [PieceState; COLUMNS + 1],
    /// How many first columns of the next row are those of `row`: all when a move leads to it.
    shared: usize,
    is_after_move: bool,
    /// Where the next symbol is looked for.
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

    /// Goes on to the node for the next context of a column.
    fn step(&mut self, model: &PositionModel, place: usize, context: Context) {
        let value = match context {
            Context::Column(column) => self.symbols[usize::from(column) % COLUMNS].into(),
            _ => self.pieces[place].value(context),
        };
        self.path.step(&model.nodes, value);
    }

    /// Finds where in the node the search begins.
    fn jump(&mut self, model: &PositionModel) {
        let node = model.nodes.get(self.path.longest);
        self.chunk = model.tables.chunk(node, self.decoder.slot());
        model.tables.prefetch(self.chunk);
    }

    /// Reads the next symbol.
    fn read(&mut self, model: &PositionModel, place: usize) {
        let node = self.path.longest;
        self.symbols[place] = model.decode_symbol(node, self.chunk, &mut self.decoder);
    }

    /// Takes in what the symbol means.
    fn update(&mut self, model: &PositionModel, place: usize) {
        let entry = model.columns[place].dictionary.get(usize::from(self.symbols[place]));
        let (value, gain) = match entry {
            Some(entry) if !model.is_mirrored(place) => (entry.value, entry.gain),
            known => {
                let spelled = || model.spelling.decode(place, &mut self.decoder);
                let coded = known.map_or_else(spelled, |entry| entry.value);
                let value = model.value_of(place, coded, &self.row);
                (value, if is_rank(place) { Gain::of(value) } else { Gain::default() })
            }
        };
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

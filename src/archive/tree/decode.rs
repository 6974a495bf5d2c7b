//! Decoding the rows of blocks, several side by side.

use super::context::{Context, ContextState, ESCAPE};
use super::model::PositionModel;
use super::nodes::{NO_NODE, Path};
use super::prediction::{DecodeHistory, PredictionModes};
use crate::archive::rans::RansDecoder;
use crate::archive::row::{COLUMNS, Row};

impl PositionModel {
    /// Reads the rows of blocks, each of so many rows, none of more than the one before it, side
    /// by side and in small steps: what one of them waits for, another has. What damaged bytes say
    /// is rows too; the check of the block shows it.
    pub(in crate::archive) fn decode<'a>(
        &self,
        blocks: impl Iterator<Item = (RansDecoder<'a>, usize)>,
    ) -> Vec<(RansDecoder<'a>, Vec<Row>)> {
        let path = self.nodes.path(0);
        let mut blocks: Vec<BlockDecoder> =
            blocks.map(|(decoder, count)| BlockDecoder::new(decoder, count, path)).collect();
        let most = blocks.first().map_or(0, |block| block.count);
        for nth in 0..most {
            let unfinished = blocks.partition_point(|block| block.count > nth);
            let blocks = &mut blocks[..unfinished];
            let modes = self.modes.as_ref().filter(|_| nth > 0);
            blocks.iter_mut().for_each(|block| block.begin(modes));
            if blocks.iter().any(|block| block.shared.is_some()) {
                self.decode_columns(blocks);
            }
            blocks.iter_mut().for_each(BlockDecoder::end);
        }
        blocks.into_iter().map(|block| (block.decoder, block.rows)).collect()
    }

    fn decode_columns(&self, blocks: &mut [BlockDecoder]) {
        for (place, column) in self.columns.iter().enumerate() {
            blocks.iter_mut().for_each(|block| block.path = column.start);
            for &context in &column.contexts {
                blocks.iter_mut().for_each(|block| block.step(self, context));
            }
            blocks.iter_mut().for_each(|block| block.jump(self));
            blocks.iter_mut().for_each(|block| block.read(self, place));
            blocks.iter_mut().for_each(|block| block.update(self, place));
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

/// Decodes the rows of one block.
struct BlockDecoder<'a> {
    decoder: RansDecoder<'a>,
    /// The rows of the block, and those read so far.
    count: usize,
    rows: Vec<Row>,
    history: DecodeHistory,
    /// The last row that no move led to.
    row: Row,
    state: ContextState,
    /// How many first columns of the next row are those of `row`, whose symbols `symbols` holds;
    /// `None` when a move leads to it.
    shared: Option<usize>,
    symbols: [u16; COLUMNS],
    /// Where the next symbol is looked for.
    path: Path,
    chunk: u32,
}

impl<'a> BlockDecoder<'a> {
    fn new(decoder: RansDecoder<'a>, count: usize, path: Path) -> BlockDecoder<'a> {
        BlockDecoder {
            decoder,
            count,
            rows: Vec::with_capacity(count),
            history: DecodeHistory::default(),
            row: Row::default(),
            state: ContextState::default(),
            shared: Some(0),
            symbols: [0; COLUMNS],
            path,
            chunk: 0,
        }
    }

    fn begin(&mut self, modes: Option<&PredictionModes>) {
        self.shared = match modes {
            Some(modes) => self.history.next(modes, &mut self.decoder),
            None => Some(0),
        };
        self.state = ContextState::default();
    }

    /// Whether the next row has a symbol of its own in a column.
    fn has(&self, place: usize) -> bool {
        self.shared.is_some_and(|shared| place >= shared)
    }

    /// Goes on to the node for the next context.
    fn step(&mut self, model: &PositionModel, context: Context) {
        self.path.step(&model.nodes, self.state.value(context));
    }

    /// Finds where in the node the search begins.
    fn jump(&mut self, model: &PositionModel) {
        let node = model.nodes.get(self.path.longest);
        self.chunk = model.tables.chunk(node, self.decoder.slot());
    }

    /// Reads the next symbol.
    fn read(&mut self, model: &PositionModel, place: usize) {
        if self.has(place) {
            let node = self.path.longest;
            self.symbols[place] = model.decode_symbol(node, self.chunk, &mut self.decoder);
        }
    }

    /// Takes in what the symbol means.
    fn update(&mut self, model: &PositionModel, place: usize) {
        let symbol = self.symbols[place];
        match model.columns[place].dictionary.get(usize::from(symbol)) {
            Some(entry) if !model.is_mirrored(place) => {
                self.row.0[place] = entry.value;
                self.state.add(place, symbol, entry.gain);
            }
            known => {
                if self.has(place) {
                    let spelled = || model.spelling.decode(place, &mut self.decoder);
                    let coded = known.map_or_else(spelled, |entry| entry.value);
                    self.row.0[place] = model.value_of(place, coded, &self.row);
                }
                self.state.update(place, symbol, self.row.0[place]);
            }
        }
    }

    fn end(&mut self) {
        if self.shared.is_some() {
            self.history.restart(&self.row);
        }
        self.rows.push(*self.history.last());
    }
}

//! The position model of a segment: for each column a tree of contexts with the symbols that are
//! frequent there. `formats/archive.md` has it in words.
//!
//! - **Row**: a position as thirteen numbers, the **columns**.
//! - **Dictionary**: the values of a column that have a **symbol**; the **escape** stands for
//!   others, which are **spelled** behind it.
//! - **Context**: something known before a column is coded; [`ContextState`] has the values of all.
//! - **Node**: the symbols that are frequent under some values of contexts, each with its count.
//! - **[`Interval`]**: cumulative frequency and frequency of a symbol in a node; [`SymbolTables`]
//!   has those of all nodes, for the rANS coder in `rans`.
//! - **Prediction mode**: how a row follows from those before it in its block, kept by
//!   `EncodeHistory` and `DecodeHistory`.
//! - **[`TrainingSet`]**: the rows of a segment, of which `TreeBuilder` makes a `ModelSpec` with a
//!   `TreeSpec` for each column: the model before it is written, or after it was read.
//! - **[`PositionModel`]**: the same, ready to code with: [`RowEncoder`] and [`BlockDecoder`].

mod build;
mod candidates;
mod context;
mod file;
mod nodes;
mod prediction;
mod rounded_count;
mod spec;
mod spelling;
mod symbol_tables;
mod table;

pub(super) use build::TrainingSet;

use std::sync::LazyLock;

use super::rans::{Interval, RansDecoder, SCALE};
use super::row::{COLUMNS, RANK_ORDER, RANKS, Row};
use context::{Context, ContextState, ESCAPE};
use nodes::{NO_NODE, Nodes, Path};
use prediction::{DecodeHistory, EncodeHistory, PredictionMode, PredictionModes};
use spelling::Spelling;
use symbol_tables::SymbolTables;
use table::Table;

/// A position model, ready to code with.
#[derive(Debug)]
pub(super) struct PositionModel {
    columns: Vec<Column>,
    nodes: Nodes,
    tables: SymbolTables,
    /// Whether the last rank is coded by its difference to the first.
    mirrors: bool,
    spelling: Spelling,
    /// How rows are predicted from those before, where that is worth it.
    modes: Option<PredictionModes>,
    /// What it takes, about, in bytes: known of a model that was read.
    cost: usize,
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
    fn new(decoder: RansDecoder<'a>, count: usize) -> BlockDecoder<'a> {
        BlockDecoder {
            decoder,
            count,
            rows: Vec::with_capacity(count),
            history: DecodeHistory::default(),
            row: Row::default(),
            state: ContextState::default(),
            shared: Some(0),
            symbols: [0; COLUMNS],
            path: Path::at(0),
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
        if self.has(place) {
            let coded = match model.columns[place].dictionary.get(usize::from(symbol)) {
                Some(&value) => value,
                None => model.spelling.decode(place, &mut self.decoder),
            };
            self.row.0[place] = model.value_of(place, coded, &self.row);
        }
        self.state.update(place, symbol, self.row.0[place]);
    }

    fn end(&mut self) {
        if self.shared.is_some() {
            self.history.restart(&self.row);
        }
        self.rows.push(*self.history.last());
    }
}

#[derive(Debug)]
struct Column {
    contexts: Vec<Context>,
    /// The values that have a symbol, the most frequent first.
    dictionary: Vec<u32>,
    root: u32,
}

impl PositionModel {
    /// What it takes, about, in bytes.
    pub(super) const fn cost(&self) -> usize {
        self.cost
    }

    /// The node that codes a column after what was seen.
    fn node(&self, column: &Column, state: &ContextState) -> u32 {
        let mut path = Path::at(column.root);
        column.contexts.iter().for_each(|&context| path.step(&self.nodes, state.value(context)));
        path.longest
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

    /// Reads the rows of blocks, each of so many rows, none of more than the one before it, side
    /// by side and in small steps: what one of them waits for, another has. What damaged bytes say
    /// is rows too; the check of the block shows it.
    pub(super) fn decode<'a>(
        &self,
        blocks: impl Iterator<Item = (RansDecoder<'a>, usize)>,
    ) -> Vec<(RansDecoder<'a>, Vec<Row>)> {
        let mut blocks: Vec<BlockDecoder> =
            blocks.map(|(decoder, count)| BlockDecoder::new(decoder, count)).collect();
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
            blocks.iter_mut().for_each(|block| block.path = Path::at(column.root));
            for &context in &column.contexts {
                blocks.iter_mut().for_each(|block| block.step(self, context));
            }
            blocks.iter_mut().for_each(|block| block.jump(self));
            blocks.iter_mut().for_each(|block| block.read(self, place));
            blocks.iter_mut().for_each(|block| block.update(self, place));
        }
    }

    /// The value of a column for what was coded.
    fn value_of(&self, column: usize, coded: u32, row: &Row) -> u32 {
        if self.mirrors && column == LAST_RANK { unmirrored(row.0[RANKS], coded) } else { coded }
    }

    /// An encoder that has all intervals at hand.
    pub(super) fn encoder(&self) -> RowEncoder<'_> {
        let mut intervals = Table::with_room_for(self.tables.len());
        let mut symbols = Vec::with_capacity(COLUMNS);
        for (place, node) in self.nodes.each() {
            for (symbol, at) in self.tables.symbols(node) {
                intervals.insert(place, symbol.into(), at);
            }
        }
        for column in &self.columns {
            let mut table = Table::with_room_for(column.dictionary.len());
            for (symbol, &value) in (0..).zip(&column.dictionary) {
                table.insert(0, value, symbol);
            }
            symbols.push(table);
        }
        RowEncoder { model: self, intervals, symbols }
    }
}

/// The model that comes with epdb, for archives that are too small to pay for their own.
pub(super) fn shipped() -> Option<&'static PositionModel> {
    const SHIPPED_BYTES: &[u8] = include_bytes!("../../../formats/data/shipped.bin");
    static SHIPPED: LazyLock<Option<PositionModel>> =
        LazyLock::new(|| PositionModel::read(SHIPPED_BYTES, usize::MAX).ok());
    SHIPPED.as_ref()
}

/// The column of the last rank.
const LAST_RANK: usize = {
    assert!(RANK_ORDER[2] == 7);
    RANKS + 2
};

/// The code of an empty square that faces a piece.
const VACATED: u32 = 13;

/// The code of the piece of the other colour and the same kind; 0 for none.
const fn facing(code: u32) -> u32 {
    match code {
        1..=6 => code + 6,
        7..=12 => code - 6,
        _ => 0,
    }
}

/// What is coded for a column of a row.
fn coded_value(mirrors: bool, row: &Row, column: usize) -> u32 {
    let value = row.0[column];
    if mirrors && column == LAST_RANK { mirrored(row.0[RANKS], value) } else { value }
}

/// Codes the last rank by the first: 0 where the same pieces face each other.
fn mirrored(first: u32, last: u32) -> u32 {
    each_square(first, last, |white, black| match black {
        _ if black == facing(white) => 0,
        0 => VACATED,
        _ => black,
    })
}

/// The last rank that [`mirrored`] codes.
fn unmirrored(first: u32, coded: u32) -> u32 {
    each_square(first, coded, |white, coded| match coded {
        0 => facing(white),
        VACATED => 0,
        _ => coded,
    })
}

fn each_square(first: u32, last: u32, code: impl Fn(u32, u32) -> u32) -> u32 {
    (0..8).fold(0, |rank, file| {
        rank | code(first >> (4 * file) & 15, last >> (4 * file) & 15) << (4 * file)
    })
}

/// Codes rows with a model.
pub(super) struct RowEncoder<'a> {
    model: &'a PositionModel,
    /// The place of the interval of a symbol in a node.
    intervals: Table,
    /// The symbol of a value in each column.
    symbols: Vec<Table>,
}

impl RowEncoder<'_> {
    /// The intervals of the rows of a block.
    pub(super) fn encode(&self, rows: &[Row]) -> Vec<Interval> {
        let mut out = Vec::with_capacity(rows.len() * (COLUMNS + 3));
        self.put_rows(rows, &mut out, |_, _| {});
        out
    }

    /// Adds the bits that each column of the rows of a block takes; what predicts a row from those
    /// before is added to the first.
    pub(super) fn add_bits(&self, rows: &[Row], bits: &mut [f64; COLUMNS]) {
        let price = |interval: &Interval| (f64::from(SCALE) / f64::from(interval.freq)).log2();
        let mut start = 0;
        self.put_rows(rows, &mut Vec::new(), |column, out| {
            bits[column] += out[start..].iter().map(price).sum::<f64>();
            start = out.len();
        });
    }

    /// `after` is called after each column.
    fn put_rows(
        &self,
        rows: &[Row],
        out: &mut Vec<Interval>,
        mut after: impl FnMut(usize, &[Interval]),
    ) {
        let mut history = EncodeHistory::default();
        for row in rows {
            let mut first = 0;
            if let Some(modes) = &self.model.modes
                && let Some(mode) = history.next(row)
            {
                out.push(modes.interval(mode));
                match mode {
                    PredictionMode::Columns(count) => first = count,
                    PredictionMode::Move(predicted) => out.push(predicted.interval()),
                }
                after(0, out);
                if matches!(mode, PredictionMode::Move(_)) {
                    continue;
                }
            }
            self.put_row(row, first, out, &mut after);
        }
    }

    /// `after` is called after each column.
    fn put_row(
        &self,
        row: &Row,
        first: usize,
        out: &mut Vec<Interval>,
        after: &mut impl FnMut(usize, &[Interval]),
    ) {
        let mut state = ContextState::default();
        for (place, column) in self.model.columns.iter().enumerate() {
            let coded = coded_value(self.model.mirrors, row, place);
            let symbol = self.symbols[place].get(0, coded).map_or(ESCAPE, |symbol| symbol as u16);
            if place >= first {
                self.put_symbol(self.model.node(column, &state), symbol, out);
                if symbol == ESCAPE {
                    self.model.spelling.encode(place, coded, out);
                }
            }
            state.update(place, symbol, row.0[place]);
            after(place, out);
        }
    }

    fn put_symbol(&self, mut at: u32, symbol: u16, out: &mut Vec<Interval>) {
        while at != NO_NODE {
            let found = self.intervals.get(at, symbol.into());
            let escape = || self.intervals.get(at, ESCAPE.into());
            let Some(place) = found.or_else(escape) else { return };
            out.push(self.model.tables.at(place));
            if found.is_some() && symbol != ESCAPE {
                return;
            }
            at = self.model.nodes.get(at).parent;
        }
    }
}

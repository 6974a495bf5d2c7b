//! The position model of a segment: for each column a tree of contexts with the symbols that are
//! frequent there. `formats/archive.md` has it in words.

mod candidates;
mod context;
mod file;
mod grow;
mod grown;
mod nodes;
mod shares;
mod short;
mod spelling;
mod table;
mod ways;

pub(super) use grow::Ground;

use std::sync::LazyLock;

use super::rans::{Decoder, SCALE, Share};
use super::row::{COLUMNS, RANK_ORDER, RANKS, Row};
use context::{Context, ESCAPE, Sight};
use nodes::{NO_NODE, Nodes, Path};
use shares::Shares;
use spelling::Spelling;
use table::Table;
use ways::{Follower, Trail, Way, Ways};

/// A position model, ready to code with.
#[derive(Debug)]
pub(super) struct Model {
    columns: Vec<Column>,
    nodes: Nodes,
    shares: Shares,
    /// Whether the last rank is told by its difference to the first.
    mirrors: bool,
    spelling: Spelling,
    /// How rows are told by those before, where that is worth it.
    ways: Option<Ways>,
    /// What it takes, about, in bytes: known of a model that was read.
    cost: usize,
}

/// The reading of one block.
struct Lane<'a> {
    decoder: Decoder<'a>,
    /// The rows of the block, and those read so far.
    count: usize,
    rows: Vec<Row>,
    follower: Follower,
    /// The last row that no move led to.
    row: Row,
    sight: Sight,
    /// How many first columns of the next row are those of `row`, whose symbols `symbols` holds;
    /// `None` when a move leads to it.
    shared: Option<usize>,
    symbols: [u16; COLUMNS],
    /// Where the next symbol is looked for.
    path: Path,
    chunk: u32,
}

impl<'a> Lane<'a> {
    fn new(decoder: Decoder<'a>, count: usize) -> Lane<'a> {
        Lane {
            decoder,
            count,
            rows: Vec::with_capacity(count),
            follower: Follower::default(),
            row: Row::default(),
            sight: Sight::default(),
            shared: Some(0),
            symbols: [0; COLUMNS],
            path: Path::at(0),
            chunk: 0,
        }
    }

    fn begin(&mut self, ways: Option<&Ways>) {
        self.shared = match ways {
            Some(ways) => self.follower.next(ways, &mut self.decoder),
            None => Some(0),
        };
        self.sight = Sight::default();
    }

    /// Whether the next row has a symbol of its own in a column.
    fn has(&self, place: usize) -> bool {
        self.shared.is_some_and(|shared| place >= shared)
    }

    /// Goes on to the node for the next context.
    fn step(&mut self, model: &Model, context: Context) {
        self.path.step(&model.nodes, self.sight.value(context));
    }

    /// Finds where in the node the search begins.
    fn jump(&mut self, model: &Model) {
        let node = model.nodes.get(self.path.longest);
        self.chunk = model.shares.chunk(node, self.decoder.slot());
    }

    /// Reads the next symbol.
    fn read(&mut self, model: &Model, place: usize) {
        if self.has(place) {
            let node = self.path.longest;
            self.symbols[place] = model.decode_symbol(node, self.chunk, &mut self.decoder);
        }
    }

    /// Takes in what the symbol means.
    fn see(&mut self, model: &Model, place: usize) {
        let symbol = self.symbols[place];
        if self.has(place) {
            let told = match model.columns[place].dictionary.get(usize::from(symbol)) {
                Some(&value) => value,
                None => model.spelling.decode(place, &mut self.decoder),
            };
            self.row.0[place] = model.meant(place, told, &self.row);
        }
        self.sight.see(place, symbol, self.row.0[place]);
    }

    fn end(&mut self) {
        if self.shared.is_some() {
            self.follower.told(&self.row);
        }
        self.rows.push(*self.follower.last());
    }
}

#[derive(Debug)]
struct Column {
    contexts: Vec<Context>,
    /// The values that have a symbol, the most frequent first.
    dictionary: Vec<u32>,
    root: u32,
}

impl Model {
    /// What it takes, about, in bytes.
    pub(super) const fn cost(&self) -> usize {
        self.cost
    }

    /// The node that codes a column after what was seen.
    fn node(&self, column: &Column, sight: &Sight) -> u32 {
        let mut path = Path::at(column.root);
        column.contexts.iter().for_each(|&context| path.step(&self.nodes, sight.value(context)));
        path.longest
    }

    /// Reads the next symbol in a node, or where that escapes to; [`ESCAPE`] when its value is
    /// spelled.
    fn decode_symbol(&self, mut node: u32, mut chunk: u32, decoder: &mut Decoder) -> u16 {
        loop {
            let (symbol, share) = self.shares.find(chunk, decoder.slot());
            decoder.pass(share);
            if symbol != ESCAPE {
                return symbol;
            }
            node = self.nodes.get(node).parent;
            if node == NO_NODE {
                return ESCAPE;
            }
            chunk = self.shares.chunk(self.nodes.get(node), decoder.slot());
        }
    }

    /// Reads the rows of blocks, each of so many rows, none of more than the one before it, side
    /// by side and in small steps: what one of them waits for, another has. What damaged bytes say
    /// is rows too; the check of the block tells.
    pub(super) fn decode<'a>(
        &self,
        blocks: impl Iterator<Item = (Decoder<'a>, usize)>,
    ) -> Vec<(Decoder<'a>, Vec<Row>)> {
        let mut lanes: Vec<Lane> =
            blocks.map(|(decoder, count)| Lane::new(decoder, count)).collect();
        let most = lanes.first().map_or(0, |lane| lane.count);
        for nth in 0..most {
            let unfinished = lanes.partition_point(|lane| lane.count > nth);
            let lanes = &mut lanes[..unfinished];
            let ways = self.ways.as_ref().filter(|_| nth > 0);
            lanes.iter_mut().for_each(|lane| lane.begin(ways));
            if lanes.iter().any(|lane| lane.shared.is_some()) {
                self.decode_columns(lanes);
            }
            lanes.iter_mut().for_each(Lane::end);
        }
        lanes.into_iter().map(|lane| (lane.decoder, lane.rows)).collect()
    }

    fn decode_columns(&self, lanes: &mut [Lane]) {
        for (place, column) in self.columns.iter().enumerate() {
            lanes.iter_mut().for_each(|lane| lane.path = Path::at(column.root));
            for &context in &column.contexts {
                lanes.iter_mut().for_each(|lane| lane.step(self, context));
            }
            lanes.iter_mut().for_each(|lane| lane.jump(self));
            lanes.iter_mut().for_each(|lane| lane.read(self, place));
            lanes.iter_mut().for_each(|lane| lane.see(self, place));
        }
    }

    /// The value of a column for what was coded.
    fn meant(&self, column: usize, told: u32, row: &Row) -> u32 {
        if self.mirrors && column == LAST_RANK { unmirrored(row.0[RANKS], told) } else { told }
    }

    /// A coder for rows that has all shares at hand.
    pub(super) fn encoder(&self) -> Encoder<'_> {
        let mut shares = Table::with_room_for(self.shares.len());
        let mut symbols = Vec::with_capacity(COLUMNS);
        for (place, node) in self.nodes.each() {
            for (symbol, share) in self.shares.symbols(node) {
                shares.insert(place, symbol.into(), share);
            }
        }
        for column in &self.columns {
            let mut table = Table::with_room_for(column.dictionary.len());
            for (symbol, &value) in (0..).zip(&column.dictionary) {
                table.insert(0, value, symbol);
            }
            symbols.push(table);
        }
        Encoder { model: self, shares, symbols }
    }
}

/// The model that comes with epdb, for archives that are too small to pay for their own.
pub(super) fn shipped() -> Option<&'static Model> {
    const SHIPPED_BYTES: &[u8] = include_bytes!("../../../formats/data/shipped.bin");
    static SHIPPED: LazyLock<Option<Model>> =
        LazyLock::new(|| Model::read(SHIPPED_BYTES, usize::MAX).ok());
    SHIPPED.as_ref()
}

/// The column of the last rank.
const LAST_RANK: usize = {
    assert!(RANK_ORDER[2] == 7);
    RANKS + 2
};

/// The code that tells an empty square facing a man.
const VACATED: u32 = 13;

/// The man of the other colour that a code stands for; 0 for none.
const fn facing(code: u32) -> u32 {
    match code {
        1..=6 => code + 6,
        7..=12 => code - 6,
        _ => 0,
    }
}

/// What is coded for a column of a row.
fn told(mirrors: bool, row: &Row, column: usize) -> u32 {
    let value = row.0[column];
    if mirrors && column == LAST_RANK { mirrored(row.0[RANKS], value) } else { value }
}

/// Tells the last rank by the first: 0 where the same men face each other.
fn mirrored(first: u32, last: u32) -> u32 {
    each_square(first, last, |white, black| match black {
        _ if black == facing(white) => 0,
        0 => VACATED,
        _ => black,
    })
}

/// The last rank that [`mirrored`] tells.
fn unmirrored(first: u32, told: u32) -> u32 {
    each_square(first, told, |white, told| match told {
        0 => facing(white),
        VACATED => 0,
        _ => told,
    })
}

fn each_square(first: u32, last: u32, code: impl Fn(u32, u32) -> u32) -> u32 {
    (0..8).fold(0, |rank, file| {
        rank | code(first >> (4 * file) & 15, last >> (4 * file) & 15) << (4 * file)
    })
}

/// Codes rows with a model.
pub(super) struct Encoder<'a> {
    model: &'a Model,
    /// The entry of a symbol in a node.
    shares: Table,
    /// The symbol of a value in each column.
    symbols: Vec<Table>,
}

impl Encoder<'_> {
    /// The shares of the rows of a block.
    pub(super) fn encode(&self, rows: &[Row]) -> Vec<Share> {
        let mut out = Vec::with_capacity(rows.len() * (COLUMNS + 3));
        self.put_rows(rows, &mut out, |_, _| {});
        out
    }

    /// Adds the bits that each column of the rows of a block takes; what tells a row by those
    /// before is added to the first.
    pub(super) fn add_bits(&self, rows: &[Row], bits: &mut [f64; COLUMNS]) {
        let price = |share: &Share| (f64::from(SCALE) / f64::from(share.freq)).log2();
        let mut start = 0;
        self.put_rows(rows, &mut Vec::new(), |column, out| {
            bits[column] += out[start..].iter().map(price).sum::<f64>();
            start = out.len();
        });
    }

    /// `after` is called after each column.
    fn put_rows(&self, rows: &[Row], out: &mut Vec<Share>, mut after: impl FnMut(usize, &[Share])) {
        let mut trail = Trail::default();
        for row in rows {
            let mut first = 0;
            if let Some(ways) = &self.model.ways
                && let Some(way) = trail.to(row)
            {
                out.push(ways.share(way));
                match way {
                    Way::Columns(count) => first = count,
                    Way::Move(step) => out.push(step.share()),
                }
                after(0, out);
                if matches!(way, Way::Move(_)) {
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
        out: &mut Vec<Share>,
        after: &mut impl FnMut(usize, &[Share]),
    ) {
        let mut sight = Sight::default();
        for (place, column) in self.model.columns.iter().enumerate() {
            let told = told(self.model.mirrors, row, place);
            let symbol = self.symbols[place].get(0, told).map_or(ESCAPE, |symbol| symbol as u16);
            if place >= first {
                self.put_symbol(self.model.node(column, &sight), symbol, out);
                if symbol == ESCAPE {
                    self.model.spelling.encode(place, told, out);
                }
            }
            sight.see(place, symbol, row.0[place]);
            after(place, out);
        }
    }

    fn put_symbol(&self, mut at: u32, symbol: u16, out: &mut Vec<Share>) {
        while at != NO_NODE {
            let found = self.shares.get(at, symbol.into());
            let escape = || self.shares.get(at, ESCAPE.into());
            let Some(place) = found.or_else(escape) else { return };
            out.push(self.model.shares.at(place));
            if found.is_some() && symbol != ESCAPE {
                return;
            }
            at = self.model.nodes.get(at).parent;
        }
    }
}

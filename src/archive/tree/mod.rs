//! The position model of a segment: for each column a tree of contexts with the symbols that are
//! frequent there. `formats/archive.md` has it in words.

mod candidates;
mod context;
mod file;
mod grow;
mod nodes;
mod shares;
mod spelling;
mod table;

pub(super) use grow::Ground;

use std::sync::LazyLock;

use super::rans::{Decoder, SCALE, Share, normalise};
use super::row::{COLUMNS, RANK_ORDER, RANKS, Row};
use context::{Context, ESCAPE, Sight};
use nodes::{NO_NODE, Nodes, Path};
use shares::Shares;
use spelling::Spelling;
use table::Table;

/// A position model, ready to code with.
#[derive(Debug)]
pub(super) struct Model {
    columns: Vec<Column>,
    nodes: Nodes,
    shares: Shares,
    /// Whether the last rank is told by its difference to the first.
    mirrors: bool,
    spelling: Spelling,
    /// Where rows often begin like the one before: how many columns they have in common with it.
    shared: Option<Shared>,
}

/// The distribution of the number of first columns that a row has in common with the one before.
#[derive(Debug)]
struct Shared([u16; COLUMNS + 2]);

impl Shared {
    fn new(counts: &[u32; COLUMNS + 1]) -> Shared {
        let mut starts = [SCALE as u16; COLUMNS + 2];
        let mut start = 0;
        for (place, freq) in starts.iter_mut().zip(normalise(counts)) {
            *place = start;
            start += freq;
        }
        Shared(starts)
    }

    fn share(&self, count: usize) -> Share {
        Share { start: self.0[count], freq: self.0[count + 1] - self.0[count] }
    }

    fn decode(&self, decoder: &mut Decoder) -> usize {
        let slot = decoder.slot();
        let count = self.0[1..=COLUMNS].iter().take_while(|&&start| start <= slot).count();
        decoder.pass(self.share(count));
        count
    }
}

/// The reading of one block.
struct Lane<'a> {
    decoder: Decoder<'a>,
    /// The rows of the block, and those read so far.
    count: usize,
    rows: Vec<Row>,
    row: Row,
    sight: Sight,
    /// How many columns are those of the row before, which is what `row` and `symbols` hold until
    /// they are overwritten.
    shared: usize,
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
            row: Row::default(),
            sight: Sight::default(),
            shared: 0,
            symbols: [0; COLUMNS],
            path: Path::at(0),
            chunk: 0,
        }
    }

    fn begin(&mut self, shared: Option<&Shared>) {
        self.shared = shared.map_or(0, |shared| shared.decode(&mut self.decoder));
        self.symbols = self.sight.symbols;
        self.sight = Sight::default();
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

    /// Reads the next symbol where the row before does not have it.
    fn read(&mut self, model: &Model, place: usize) {
        if place >= self.shared {
            let node = self.path.longest;
            self.symbols[place] = model.decode_symbol(node, self.chunk, &mut self.decoder);
        }
    }

    /// Takes in what the symbol means.
    fn see(&mut self, model: &Model, place: usize) {
        let symbol = self.symbols[place];
        if place >= self.shared {
            let told = match model.columns[place].dictionary.get(usize::from(symbol)) {
                Some(&value) => value,
                None => model.spelling.decode(place, &mut self.decoder),
            };
            self.row.0[place] = model.meant(place, told, &self.row);
        }
        self.sight.see(place, symbol, self.row.0[place]);
    }
}

/// How many first columns two rows have in common.
fn in_common(a: &Row, b: &Row) -> usize {
    a.0.iter().zip(&b.0).take_while(|(a, b)| a == b).count()
}

#[derive(Debug)]
struct Column {
    contexts: Vec<Context>,
    /// The values that have a symbol, the most frequent first.
    dictionary: Vec<u32>,
    root: u32,
}

impl Model {
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
            let shared = self.shared.as_ref().filter(|_| nth > 0);
            lanes.iter_mut().for_each(|lane| lane.begin(shared));
            for (place, column) in self.columns.iter().enumerate() {
                lanes.iter_mut().for_each(|lane| lane.path = Path::at(column.root));
                for &context in &column.contexts {
                    lanes.iter_mut().for_each(|lane| lane.step(self, context));
                }
                lanes.iter_mut().for_each(|lane| lane.jump(self));
                lanes.iter_mut().for_each(|lane| lane.read(self, place));
                lanes.iter_mut().for_each(|lane| lane.see(self, place));
            }
            lanes.iter_mut().for_each(|lane| lane.rows.push(lane.row));
        }
        lanes.into_iter().map(|lane| (lane.decoder, lane.rows)).collect()
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

/// How many first columns rows have in common with the one before, on average.
pub(super) fn alike(rows: &[Row]) -> f32 {
    let common: usize = rows.windows(2).map(|pair| in_common(&pair[0], &pair[1])).sum();
    common as f32 / rows.len().max(1) as f32
}

/// The model that comes with epdb, for archives that are too small to pay for their own.
pub(super) fn shipped() -> Option<&'static Model> {
    static SHIPPED: LazyLock<Option<Model>> =
        LazyLock::new(|| Model::read(include_bytes!("shipped.bin")));
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
        let mut before: Option<&Row> = None;
        for row in rows {
            let mut first = 0;
            if let (Some(shared), Some(before)) = (&self.model.shared, before) {
                first = in_common(before, row);
                out.push(shared.share(first));
            }
            self.put_row(row, first, &mut out, |_, _| {});
            before = Some(row);
        }
        out
    }

    /// Adds the bits that each column of the rows of a block takes; what tells how many columns a
    /// row shares with the one before is added to the first.
    pub(super) fn add_bits(&self, rows: &[Row], bits: &mut [f64; COLUMNS]) {
        let price = |shares: &[Share]| -> f64 {
            let bits = |share: &Share| (f64::from(SCALE) / f64::from(share.freq)).log2();
            shares.iter().map(bits).sum()
        };
        let mut before: Option<&Row> = None;
        for row in rows {
            let mut first = 0;
            if let (Some(shared), Some(before)) = (&self.model.shared, before) {
                first = in_common(before, row);
                bits[0] += price(&[shared.share(first)]);
            }
            let (mut out, mut start) = (Vec::new(), 0);
            self.put_row(row, first, &mut out, |column, out| {
                bits[column] += price(&out[start..]);
                start = out.len();
            });
            before = Some(row);
        }
    }

    /// `after` is called after each column.
    fn put_row(
        &self,
        row: &Row,
        first: usize,
        out: &mut Vec<Share>,
        mut after: impl FnMut(usize, &[Share]),
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

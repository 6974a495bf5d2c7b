//! The position model of a segment: for each column a tree of contexts with the symbols that are
//! frequent there. `formats/archive.md` has it in words.

mod candidates;
mod context;
mod file;
mod grow;
mod spelling;
mod table;

pub(super) use grow::{Growth, grow};

use std::sync::LazyLock;

use super::rans::{Decoder, SCALE, SCALE_BITS, Share, normalise};
use super::row::{COLUMNS, RANK_ORDER, RANKS, Row};
use context::{Context, ESCAPE, Sight};
use spelling::Spelling;
use table::Table;

/// The parent of a column's outermost node.
const NO_NODE: u32 = u32::MAX;

/// A position model, ready to code with.
#[derive(Debug)]
pub(super) struct Model {
    columns: Vec<Column>,
    nodes: Vec<Node>,
    /// The symbols of all nodes and where their shares start. Behind the last of a node is a start of
    /// [`SCALE`], and [`PADDING`] up to a whole chunk.
    chunks: Vec<Chunk>,
    /// The chunk in which to begin the search in nodes of many symbols.
    jumps: Vec<u16>,
    /// The child of a node by the value of the next context.
    children: Table,
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
struct Lane {
    rows: Vec<Row>,
    row: Row,
    sight: Sight,
    /// How many columns are those of the row before, which is what `row` and `symbols` hold until
    /// they are overwritten.
    shared: usize,
    symbols: [u16; COLUMNS],
}

impl Lane {
    fn new(count: usize) -> Lane {
        Lane {
            rows: Vec::with_capacity(count),
            row: Row::default(),
            sight: Sight::default(),
            shared: 0,
            symbols: [0; COLUMNS],
        }
    }

    fn begin(&mut self, shared: Option<&Shared>, decoder: &mut Decoder) {
        self.shared = shared.map_or(0, |shared| shared.decode(decoder));
        self.symbols = self.sight.symbols;
        self.sight = Sight::default();
    }

    fn read(&mut self, model: &Model, place: usize, column: &Column, decoder: &mut Decoder) {
        let mut symbol = self.symbols[place];
        if place >= self.shared {
            symbol = model.decode_symbol(column, &self.sight, decoder);
            let told = match column.dictionary.get(usize::from(symbol)) {
                Some(&value) => value,
                None => model.spelling.decode(place, decoder),
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

/// The symbols that are frequent in a context; the escape to the parent is one of them.
#[derive(Debug)]
struct Node {
    parent: u32,
    first: u32,
    jump: u32,
    /// How far a slot is shifted for its place in the jumps; [`SCALE_BITS`] in small nodes.
    shift: u8,
}

/// Symbols that are compared at a time, side by side in memory.
const CHUNK: usize = 8;

#[derive(Copy, Clone, Debug)]
#[repr(align(32))]
struct Chunk {
    starts: [u16; CHUNK],
    symbols: [u16; CHUNK],
}

/// Above every slot.
const PADDING: u16 = u16::MAX;

impl Model {
    /// Appends a node. The counts are those of its symbols, the escape included.
    fn push_node(&mut self, parent: u32, symbols: &[u16], counts: &[u32]) -> u32 {
        let first = self.chunks.len();
        let mut starts: Vec<u16> = Vec::with_capacity(symbols.len() + CHUNK);
        let mut start = 0;
        for freq in normalise(counts) {
            starts.push(start);
            start += freq;
        }
        starts.push(SCALE as u16);
        for (nth, part) in starts.chunks(CHUNK).enumerate() {
            let mut chunk = Chunk { starts: [PADDING; CHUNK], symbols: [ESCAPE; CHUNK] };
            chunk.starts[..part.len()].copy_from_slice(part);
            let own = symbols.iter().skip(nth * CHUNK);
            chunk.symbols.iter_mut().zip(own).for_each(|(place, &symbol)| *place = symbol);
            self.chunks.push(chunk);
        }
        let jump = self.jumps.len();
        let mut shift = SCALE_BITS;
        if symbols.len() >= 2 * CHUNK {
            let buckets = symbols.len().next_power_of_two().min(2048);
            shift -= buckets.trailing_zeros();
            let mut place = 0;
            for bucket in 0..buckets {
                let slot = (bucket << shift) as u16;
                while starts[place + 1] <= slot {
                    place += 1;
                }
                self.jumps.push((place / CHUNK) as u16);
            }
        }
        self.nodes.push(Node {
            parent,
            first: first as u32,
            jump: jump as u32,
            shift: shift as u8,
        });
        self.nodes.len() as u32 - 1
    }

    /// The node that codes a column after what was seen.
    fn node(&self, column: &Column, sight: &Sight) -> u32 {
        let mut node = column.root;
        for &context in &column.contexts {
            match self.children.get(node, sight.value(context)) {
                Some(child) => node = child,
                None => break,
            }
        }
        node
    }

    /// The symbol whose share a slot lies in.
    fn find(&self, node: &Node, slot: u16) -> (u16, Share) {
        let mut at = node.first as usize;
        if u32::from(node.shift) < SCALE_BITS {
            at += usize::from(self.jumps[node.jump as usize + usize::from(slot >> node.shift)]);
        }
        // All of a chunk is compared, so that nothing has to be guessed.
        let below = |chunk: &Chunk| {
            usize::from(chunk.starts.iter().map(|&start| u16::from(start <= slot)).sum::<u16>())
        };
        let mut place = below(&self.chunks[at]);
        while place == CHUNK && self.start_of(at + 1) <= slot {
            at += 1;
            place = below(&self.chunks[at]);
        }
        let nth = place.wrapping_sub(1) % CHUNK;
        let chunk = &self.chunks[at];
        let start = chunk.starts[nth];
        let end = if nth + 1 < CHUNK { chunk.starts[nth + 1] } else { self.start_of(at + 1) };
        (chunk.symbols[nth], Share { start, freq: end - start })
    }

    /// The share of the symbol with this place among those of all chunks.
    fn share_at(&self, place: usize) -> Share {
        let start_at = |place: usize| self.chunks[place / CHUNK].starts[place % CHUNK];
        let start = start_at(place);
        Share { start, freq: start_at(place + 1) - start }
    }

    fn start_of(&self, chunk: usize) -> u16 {
        self.chunks.get(chunk).map_or(SCALE as u16, |chunk| chunk.starts[0])
    }

    /// Reads the next symbol of a column; [`ESCAPE`] when its value is spelled.
    fn decode_symbol(&self, column: &Column, sight: &Sight, decoder: &mut Decoder) -> u16 {
        let mut at = self.node(column, sight);
        loop {
            let node = &self.nodes[at as usize];
            let (symbol, share) = self.find(node, decoder.slot());
            decoder.pass(share);
            if symbol != ESCAPE || node.parent == NO_NODE {
                return symbol;
            }
            at = node.parent;
        }
    }

    /// Reads the rows of blocks, each of so many rows, side by side: what one of them waits for,
    /// another has. What damaged bytes say is rows too; the check of the block tells.
    pub(super) fn decode(&self, blocks: &mut [(Decoder, usize)]) -> Vec<Vec<Row>> {
        let most = blocks.iter().map(|&(_, count)| count).max().unwrap_or(0);
        let mut lanes: Vec<Lane> = blocks.iter().map(|&(_, count)| Lane::new(count)).collect();
        for nth in 0..most {
            for ((decoder, count), lane) in blocks.iter_mut().zip(&mut lanes) {
                if nth < *count {
                    lane.begin(self.shared.as_ref().filter(|_| nth > 0), decoder);
                }
            }
            for (place, column) in self.columns.iter().enumerate() {
                for ((decoder, count), lane) in blocks.iter_mut().zip(&mut lanes) {
                    if nth < *count {
                        lane.read(self, place, column, decoder);
                    }
                }
            }
            for (&mut (_, count), lane) in blocks.iter_mut().zip(&mut lanes) {
                if nth < count {
                    lane.rows.push(lane.row);
                }
            }
        }
        lanes.into_iter().map(|lane| lane.rows).collect()
    }

    /// The value of a column for what was coded.
    fn meant(&self, column: usize, told: u32, row: &Row) -> u32 {
        if self.mirrors && column == LAST_RANK { unmirrored(row.0[RANKS], told) } else { told }
    }

    /// A coder for rows that has all shares at hand.
    pub(super) fn encoder(&self) -> Encoder<'_> {
        let mut shares = Table::with_room_for(self.chunks.len() * CHUNK);
        let mut symbols = Vec::with_capacity(COLUMNS);
        for (number, node) in (0..).zip(&self.nodes) {
            let own = self.chunks.iter().enumerate().skip(node.first as usize);
            let places = own.flat_map(|(at, chunk)| {
                let entries = chunk.starts.iter().zip(chunk.symbols).enumerate();
                entries.map(move |(nth, (&start, symbol))| (at * CHUNK + nth, start, symbol))
            });
            for (place, _, symbol) in places.take_while(|&(_, start, _)| u32::from(start) < SCALE) {
                shares.insert(number, symbol.into(), place as u32);
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
            out.push(self.model.share_at(place as usize));
            if found.is_some() && symbol != ESCAPE {
                return;
            }
            at = self.model.nodes[at as usize].parent;
        }
    }
}

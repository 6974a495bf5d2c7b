//! The symbols of nodes and their intervals, in chunks. All symbols of a chunk are compared at
//! once.
// A table from each of the 16,384 slots to a symbol would need one read, but 32 KiB for each node,
// and models have thousands of nodes. A chunk is half a cache line; its seven starts are compared
// at once. In nodes with many symbols a table of jumps finds the first chunk to search.

use super::context::ESCAPE;
use super::spec::NodeSpec;
use crate::rans::{Interval, SCALE, SCALE_BITS, starts_up_to};
use epdb_chess::simd::prefetch;

/// Number of symbols of a chunk, which are compared at once.
const CHUNK: usize = 7;
/// Maximum number of jumps of a node. A jump is the number of the chunk in which a search begins.
const MAX_JUMPS: usize = 2048;
/// Shift for a node of 32 to 63 symbols. A slot, shifted to the right by this number of bits, is the
/// index of its jump. Nodes with more symbols have a lower shift.
const LONG_SHIFT: u32 = SCALE_BITS - 6;
/// Padding of starts: above every slot, with the top bit 0.
const PADDING: u16 = i16::MAX as u16;

/// The symbols of all nodes with their intervals.
#[derive(Debug)]
pub(super) struct SymbolTables {
    chunks: Vec<Chunk>,
    /// For each node with more than one chunk: the numbers of the chunks in which searches begin. The
    /// first chunk of a node is 0. The first entry of the list is 0, and all nodes with a single
    /// chunk use it.
    jumps: Vec<u16>,
}

/// Place of the symbols of a node: their first chunk, and the first jump of the node.
#[derive(Copy, Clone, Debug)]
pub(super) struct NodeSymbols {
    first: u32,
    /// The number of the node's first jump, above the lowest four bits. The lowest four bits
    /// are the number of bits by which a slot is shifted to get the index of its jump. Both are in one
    /// word, so that a [`NodeSymbols`] takes only eight bytes.
    jump: u32,
}

impl NodeSymbols {
    /// Value for a node that does not exist.
    pub(super) const NONE: NodeSymbols = NodeSymbols { first: u32::MAX, jump: 0 };

    pub(super) const fn is_none(self) -> bool {
        self.first == u32::MAX
    }

    const fn new(first: u32, jump: u32, shift: u32) -> NodeSymbols {
        NodeSymbols { first, jump: jump << 4 | shift }
    }

    pub(super) const fn first(self) -> u32 {
        self.first
    }

    const fn jump(self, slot: u16) -> usize {
        (self.jump >> 4) as usize + (slot >> self.shift()) as usize
    }

    const fn shift(self) -> u32 {
        self.jump & 15
    }

    /// True if there are too many symbols for a linear search.
    pub(super) const fn are_many(self) -> bool {
        self.shift() < LONG_SHIFT
    }
}

/// Neighbouring symbols of a node, half a cache line.
#[derive(Copy, Clone, Debug)]
#[repr(align(32))]
struct Chunk {
    /// Starts of the intervals, then the end of the last interval, then [`PADDING`].
    starts: [u16; CHUNK + 1],
    symbols: [u16; CHUNK],
}

impl SymbolTables {
    pub(super) fn new() -> SymbolTables {
        SymbolTables { chunks: Vec::new(), jumps: vec![0] }
    }

    /// Adds the symbols of a node. They are sorted by frequency, with the escape last.
    pub(super) fn push(&mut self, spec: &NodeSpec) -> NodeSymbols {
        let intervals: Vec<(u16, Interval)> = spec.intervals().collect();
        let first = self.chunks.len() as u32;
        self.chunks.extend(intervals.chunks(CHUNK).map(Chunk::new));
        let (jump, shift) = match intervals.len() {
            ..=CHUNK => (0, SCALE_BITS),
            _ => self.push_jumps(&intervals),
        };
        NodeSymbols::new(first, jump, shift)
    }

    /// Appends the jumps of a node. Returns the number of the first jump, and the number of bits by
    /// which a slot is shifted to find its jump.
    fn push_jumps(&mut self, intervals: &[(u16, Interval)]) -> (u32, u32) {
        let first = self.jumps.len() as u32;
        let count = (intervals.len() + 1).next_power_of_two().min(MAX_JUMPS);
        let shift = SCALE_BITS - count.trailing_zeros();
        let mut place = 0;
        for jump in 0..count {
            while intervals[place].1.end() <= (jump << shift) as u16 {
                place += 1;
            }
            self.jumps.push((place / CHUNK) as u16);
        }
        (first, shift)
    }

    /// The chunk of a node where the search for a slot begins.
    #[inline]
    pub(super) fn chunk(&self, node: NodeSymbols, slot: u16) -> u32 {
        node.first + u32::from(self.jumps[node.jump(slot)])
    }

    #[inline]
    pub(super) fn prefetch(&self, chunk: u32) {
        if let Some(chunk) = self.chunks.get(chunk as usize) {
            prefetch(chunk);
        }
    }

    /// Finds the symbol whose interval contains a slot. The symbol is in this chunk or a later one.
    #[inline]
    pub(super) fn find(&self, chunk: u32, slot: u16) -> (u16, Interval) {
        let mut chunk = chunk as usize;
        let mut nth = self.chunks[chunk].place_of(slot);
        while nth == CHUNK && chunk + 1 < self.chunks.len() {
            chunk += 1;
            nth = self.chunks[chunk].place_of(slot);
        }
        let nth = nth.min(CHUNK - 1);
        (self.chunks[chunk].symbols[nth], self.chunks[chunk].interval(nth))
    }

    /// Searches for a symbol in a node with few symbols. Returns its interval. If the node does not
    /// list the symbol, the result is an error with the interval of the escape, if the node has an
    /// escape.
    pub(super) fn search(
        &self,
        node: NodeSymbols,
        symbol: u16,
    ) -> Result<Interval, Option<Interval>> {
        for chunk in &self.chunks[node.first as usize..] {
            if let Some(interval) = chunk.interval_of(symbol) {
                return Ok(interval);
            }
            if chunk.is_last() {
                return Err(chunk.interval_of(ESCAPE));
            }
        }
        Err(None)
    }

    /// The symbols of a node, each with its place for [`SymbolTables::at`].
    pub(super) fn symbols(&self, node: NodeSymbols) -> impl Iterator<Item = (u16, u32)> {
        let first = node.first as usize;
        let own = self.chunks.iter().enumerate().skip(first);
        let entries = own.flat_map(|(at, chunk)| {
            let ends = chunk.starts[1..].iter().zip(chunk.symbols);
            ends.zip(at * CHUNK..).map(|((&end, symbol), place)| (end, symbol, place as u32))
        });
        let mut is_over = false;
        entries.map_while(move |(end, symbol, place)| {
            if is_over {
                return None;
            }
            // The interval of the last symbol of a node ends at the end of the scale.
            is_over = u32::from(end) >= SCALE;
            Some((symbol, place))
        })
    }

    pub(super) fn at(&self, place: u32) -> Interval {
        self.chunks[place as usize / CHUNK].interval(place as usize % CHUNK)
    }
}

impl Chunk {
    /// Makes a chunk of at most [`CHUNK`] neighbours.
    fn new(intervals: &[(u16, Interval)]) -> Chunk {
        let mut chunk = Chunk { starts: [PADDING; CHUNK + 1], symbols: [ESCAPE; CHUNK] };
        for (nth, &(symbol, interval)) in intervals.iter().enumerate() {
            chunk.symbols[nth] = symbol;
            chunk.starts[nth] = interval.start;
            chunk.starts[nth + 1] = interval.end();
        }
        chunk
    }

    /// Place of the symbol whose interval contains a slot; [`CHUNK`] if the slot is after the last
    /// interval. The slot must not be below the first start.
    #[inline]
    fn place_of(&self, slot: u16) -> usize {
        starts_up_to(&self.starts, slot).saturating_sub(1)
    }

    /// True if this is the last chunk of its node.
    const fn is_last(&self) -> bool {
        self.starts[CHUNK] as u32 >= SCALE
    }

    #[inline]
    fn interval_of(&self, symbol: u16) -> Option<Interval> {
        let equal = self
            .symbols
            .iter()
            .rev()
            .fold(0_u32, |equal, &other| equal << 1 | u32::from(other == symbol));
        let nth = equal.trailing_zeros() as usize;
        (nth < CHUNK && u32::from(self.starts[nth]) < SCALE).then(|| self.interval(nth))
    }

    fn interval(&self, nth: usize) -> Interval {
        Interval { start: self.starts[nth], freq: self.starts[nth + 1] - self.starts[nth] }
    }
}

//! Growing of the tree of a column. The rows are sorted by the value of the first context. If a
//! node for the rows with one value saves bits, the node is kept. Its rows are then sorted by the
//! next context, and so on.
// The growth is greedy: a node is kept if the bits that it saves in the rows exceed the estimated
// bits of its description, and its children are tried afterwards. Sorting rows gives all values of
// a context in one pass; a hash table of counts for each value would take more memory and a cache
// miss for each row.

use super::context::ESCAPE;
use super::spec::{MAX_LISTED, NodeSpec};
use std::cmp::Reverse;
use std::sync::LazyLock;

/// Estimated bits of a node in the model, not counting its symbols.
const NODE_BITS: f32 = 16.0;
/// Estimated bits of a symbol in a node's list.
const SYMBOL_BITS: f32 = 6.0;
/// Maximum number of symbols that a node below the root lists.
const MAX_LIST: usize = 700;
/// A value of a context gets no node if fewer rows than this number have the value.
const RARE: usize = 4;
/// Minimum number of rows for a radix sort. Fewer rows are sorted by comparison.
const MANY: usize = 1 << 9;
/// Maximum number of bits of a digit of the radix sort.
const DIGIT_BITS: u32 = 11;

/// The rows from which the tree of a column is made.
pub(super) struct ColumnRows<'a> {
    /// The rows in which the column is coded.
    pub(super) rows: Vec<u32>,
    /// Symbol of each row in the column. The number `escape` stands for the escape.
    pub(super) symbols: &'a [u16],
    /// Number of symbols, which stands for the escape.
    pub(super) escape: u16,
    pub(super) contexts: Vec<ContextValues<'a>>,
}

/// The value of a context for each row.
pub(super) enum ContextValues<'a> {
    /// Symbols of a column. The number `escape` stands for [`ESCAPE`].
    Symbols {
        values: &'a [u16],
        escape: u16,
    },
    Pieces(Vec<u32>),
}

impl ContextValues<'_> {
    /// Converts a value to the form that it has in nodes.
    fn shown(&self, value: u32) -> u32 {
        match self {
            ContextValues::Symbols { escape, .. } if value == u32::from(*escape) => ESCAPE.into(),
            _ => value,
        }
    }

    /// Sorts rows by their values. Returns each value with the number of rows that have it.
    fn sort(&self, rows: &mut [u32], keys: &mut SortKeys) -> Vec<(u32, usize)> {
        match self {
            ContextValues::Symbols { values, .. } => {
                keys.sort(rows, |row| values[row as usize].into())
            }
            ContextValues::Pieces(values) => keys.sort(rows, |row| values[row as usize]),
        }
    }
}

/// Buffers for sorting rows.
#[derive(Default)]
struct SortKeys {
    /// Each key has the value in its high bits and the row in its low bits.
    keys: Vec<u64>,
    sorted: Vec<u64>,
}

impl SortKeys {
    fn sort(&mut self, rows: &mut [u32], value: impl Fn(u32) -> u32) -> Vec<(u32, usize)> {
        let key = |&row: &u32| u64::from(value(row)) << u32::BITS | u64::from(row);
        self.keys.clear();
        self.keys.extend(rows.iter().map(key));
        if rows.len() < MANY {
            self.keys.sort_unstable();
        } else {
            self.sort_many();
        }
        rows.iter_mut().zip(&self.keys).for_each(|(row, &key)| *row = key as u32);
        let alike = self.keys.chunk_by(|&one, &next| value_of(one) == value_of(next));
        alike.map(|keys| (value_of(keys[0]), keys.len())).collect()
    }

    /// Radix sort by values.
    fn sort_many(&mut self) {
        let base = value_of(self.keys[0]);
        let varying = self.keys.iter().fold(0, |varying, &key| varying | (value_of(key) ^ base));
        let bits = u32::BITS - varying.leading_zeros();
        let passes = bits.div_ceil(DIGIT_BITS);
        self.sorted.resize(self.keys.len(), 0);
        for pass in 0..passes {
            let [first, end] = [pass, pass + 1].map(|pass| u32::BITS + bits * pass / passes);
            let mask = (1 << (end - first)) - 1;
            let digit = |key: u64| (key >> first & mask) as usize;
            let mut places = vec![0_u32; mask as usize + 1];
            self.keys.iter().for_each(|&key| places[digit(key)] += 1);
            // The number of rows with a digit becomes the place of the first of them.
            let mut next = 0;
            for place in &mut places {
                let count = *place;
                *place = next;
                next += count;
            }
            for &key in &self.keys {
                let place = &mut places[digit(key)];
                self.sorted[*place as usize] = key;
                *place += 1;
            }
            std::mem::swap(&mut self.keys, &mut self.sorted);
        }
    }
}

const fn value_of(key: u64) -> u32 {
    (key >> u32::BITS) as u32
}

/// The rows, with the nodes in which they are coded.
pub(super) struct CodedInNodes {
    rows: Vec<u32>,
    /// The nodes, each with the end of its rows.
    runs: Vec<(u32, usize)>,
}

impl CodedInNodes {
    /// Adds `rows` rows that are coded in a node.
    fn add(&mut self, node: u32, rows: usize) {
        match self.runs.last_mut() {
            Some((last, end)) if *last == node => *end += rows,
            last => {
                let first = last.map_or(0, |&mut (_, end)| end);
                self.runs.push((node, first + rows));
            }
        }
    }

    pub(super) fn rename(&mut self, numbers: &[u32]) {
        self.runs.iter_mut().for_each(|(node, _)| *node = numbers[*node as usize]);
    }

    /// Returns the nodes with their rows, in the order of the tree.
    pub(super) fn each(&self) -> impl Iterator<Item = (u32, &[u32])> {
        let mut start = 0;
        self.runs.iter().map(move |&(node, end)| {
            let rows = &self.rows[start..end];
            start = end;
            (node, rows)
        })
    }
}

#[derive(Copy, Clone)]
pub(super) enum Purpose<'a> {
    /// The tree is compared with other trees. A bit of the model counts as `model` bits.
    Trial { model: f32 },
    /// The tree is used in a model. `usage` is the estimated number of times that each symbol is
    /// coded in the root. In an open tree every node can escape.
    Use { usage: &'a [u32], open: bool },
}

pub(super) struct TreeBuilder<'a> {
    symbols: &'a [u16],
    escape: u16,
    contexts: &'a [ContextValues<'a>],
    purpose: Purpose<'a>,
    /// For each level and symbol: the node that lists the symbol there, the index of the symbol in
    /// the list, and its cost in bits.
    listed: Vec<Vec<ListedSymbol>>,
    /// For each level of the current path: the node, and the bits of its escape.
    path: Vec<Option<(u32, f32)>>,
    nodes: Vec<NodeSpec>,
    /// Number of symbols in the lists of all nodes.
    listed_symbols: usize,
    /// Count of each symbol; all 0 except while symbols are counted.
    counts: Vec<u32>,
    /// Buffer with room for all symbols and one more.
    noted: Vec<u16>,
    /// Symbols of the rows that were counted last.
    met: Vec<MetSymbol>,
    /// Number of these rows whose symbol is the escape.
    met_escapes: u32,
    bits: f32,
    coded: CodedInNodes,
    keys: SortKeys,
}

/// Result of a [`TreeBuilder`].
pub(super) struct BuiltTree {
    pub(super) nodes: Vec<NodeSpec>,
    /// Estimated bits of data and model, if the tree is a trial.
    pub(super) bits: f32,
    pub(super) coded: CodedInNodes,
}

/// A symbol of some rows: the number of rows that have it, and its current cost in bits.
struct MetSymbol {
    symbol: u16,
    count: u32,
    bits: f32,
}

#[derive(Copy, Clone)]
struct ListedSymbol {
    node: u32,
    place: u16,
    bits: f32,
}

const NOWHERE: ListedSymbol = ListedSymbol { node: u32::MAX, place: 0, bits: 0.0 };

impl<'a> TreeBuilder<'a> {
    pub(super) fn run(column: ColumnRows, purpose: Purpose) -> BuiltTree {
        let ColumnRows { mut rows, symbols, escape, contexts } = column;
        let mut builder = TreeBuilder::new(symbols, escape, &contexts, purpose);
        match purpose {
            Purpose::Use { usage, .. } => builder.start(usage),
            Purpose::Trial { .. } => {
                let mut usage = vec![0; usize::from(escape) + 1];
                rows.iter().for_each(|&row| usage[usize::from(symbols[row as usize])] += 1);
                builder.start(&usage);
            }
        }
        builder.frequent_anywhere(&mut rows);
        let is_open = builder.is_open();
        let TreeBuilder { mut nodes, bits, mut coded, .. } = builder;
        if is_open {
            nodes.iter_mut().for_each(|node| node.escapes += 1);
            nodes[0].list.iter_mut().for_each(|(_, count)| *count += 1);
        }
        coded.rows = rows;
        BuiltTree { nodes, bits, coded }
    }

    fn new(
        symbols: &'a [u16],
        escape: u16,
        contexts: &'a [ContextValues<'a>],
        purpose: Purpose<'a>,
    ) -> TreeBuilder<'a> {
        let levels = contexts.len() + 2;
        let symbol_count = usize::from(escape) + 1;
        TreeBuilder {
            symbols,
            escape,
            contexts,
            purpose,
            listed: vec![vec![NOWHERE; symbol_count]; levels],
            path: vec![None; levels],
            nodes: Vec::new(),
            listed_symbols: 0,
            counts: vec![0; symbol_count],
            noted: vec![0; symbol_count + 1],
            met: Vec::new(),
            met_escapes: 0,
            bits: 0.0,
            coded: CodedInNodes { rows: Vec::new(), runs: Vec::new() },
            keys: SortKeys::default(),
        }
    }

    /// Makes the outermost node, which has all symbols, with these counts.
    fn start(&mut self, usage: &[u32]) {
        let total: f32 = usage.iter().map(|&count| count as f32 + 0.3).sum();
        for (place, &count) in usage.iter().enumerate() {
            let bits = (total / (count as f32 + 0.3)).log2();
            self.listed[0][place] = ListedSymbol { node: 0, place: place as u16, bits };
        }
        let list = (0..usage.len() as u16 - 1).map(|symbol| (symbol, 0)).collect();
        self.listed_symbols = usage.len();
        self.nodes.push(NodeSpec { list, ..NodeSpec::default() });
        self.path[0] = Some((0, 0.0));
    }

    /// Makes the node of the symbols that are frequent in any context, and all nodes below it.
    fn frequent_anywhere(&mut self, rows: &mut [u32]) {
        if !self.split(rows, 1, 0) {
            self.count_met(rows, 0);
        }
    }

    /// Cost in bits of a symbol whose coding begins at this level. If the node of a level does not list the
    /// symbol, the cost has an escape, and the symbol is coded at the level above.
    fn cost(&self, symbol: usize, level: usize) -> f32 {
        let mut bits = 0.0;
        for level in (0..=level).rev() {
            if let Some((node, escape)) = self.path[level] {
                let listed = self.listed[level][symbol];
                if listed.node == node {
                    return bits + listed.bits;
                }
                bits += escape;
            }
        }
        bits
    }

    /// The innermost node of the current path that is at the level `level` or above it.
    fn innermost(&self, level: usize) -> u32 {
        self.path[..=level].iter().rev().flatten().next().map_or(0, |&(node, _)| node)
    }

    /// Counts the symbol of each row in the node that codes it, if this is at `level` or above.
    fn count(&mut self, rows: &[u32], level: usize) {
        self.put(rows, level);
        for &row in rows {
            self.count_symbol(self.symbols[row as usize], 1, level);
        }
    }

    /// Does the same as `count` for the rows that [`TreeBuilder::meet`] counted last.
    fn count_met(&mut self, rows: &[u32], level: usize) {
        self.put(rows, level);
        for place in 0..self.met.len() {
            let MetSymbol { symbol, count, .. } = self.met[place];
            self.count_symbol(symbol, count, level);
        }
        self.count_symbol(self.escape, self.met_escapes, level);
    }

    /// Records that rows are coded at a level or above.
    fn put(&mut self, rows: &[u32], level: usize) {
        self.coded.add(self.innermost(level), rows.len());
        if matches!(self.purpose, Purpose::Trial { .. }) {
            for &row in rows {
                self.bits += self.cost(self.symbols[row as usize].into(), level);
            }
        }
    }

    /// Counts a symbol `times` times in the node where it is coded, at a level or above. Counts the
    /// escapes on the way.
    fn count_symbol(&mut self, symbol: u16, times: u32, level: usize) {
        for level in (0..=level).rev() {
            let Some((node, _)) = self.path[level] else { continue };
            let listed = self.listed[level][usize::from(symbol)];
            let counted = &mut self.nodes[node as usize];
            match counted.list.get_mut(usize::from(listed.place)) {
                Some(entry) if listed.node == node && symbol != self.escape => {
                    entry.1 += times;
                    break;
                }
                _ => counted.escapes += times,
            }
        }
    }

    /// Makes a node for rows with the same contexts if it saves bits, then nodes for the next
    /// context below it. Returns true if the node was made.
    fn split(&mut self, rows: &mut [u32], level: usize, context: u32) -> bool {
        let list = self.worthwhile(rows, level);
        if list.is_empty() || self.listed_symbols + list.len() > MAX_LISTED {
            return false;
        }
        self.listed_symbols += list.len();
        let node = self.nodes.len() as u32;
        let listed: u32 = list.iter().map(|&(_, count)| count).sum();
        let left = rows.len() as f32 - listed as f32 + self.slack();
        let total = listed as f32 + left;
        for (place, &(symbol, count)) in (0..).zip(&list) {
            let bits = (total / count as f32).log2();
            self.listed[level][usize::from(symbol)] = ListedSymbol { node, place, bits };
        }
        self.bits += self.model_bits(list.len());
        let parent = self.innermost(level - 1);
        let list = list.into_iter().map(|(symbol, _)| (symbol, 0)).collect();
        self.nodes.push(NodeSpec { parent, context, list, escapes: 0 });
        let escape = if left > 0.0 { (total / left).log2() } else { 30.0 };
        self.path[level] = Some((node, escape));
        self.below(rows, level);
        self.path[level] = None;
        true
    }

    /// Makes nodes below a node at this level, one for each frequent value of the next context.
    fn below(&mut self, rows: &mut [u32], level: usize) {
        let Some(values) = self.contexts.get(level - 1) else { return self.count_met(rows, level) };
        // Rows with rare values of the context are counted together.
        let mut first = 0;
        let mut end = 0;
        for (value, len) in values.sort(rows, &mut self.keys) {
            let start = end;
            end += len;
            if len < RARE {
                continue;
            }
            self.count(&rows[first..start], level);
            if !self.split(&mut rows[start..end], level + 1, values.shown(value)) {
                self.count_met(&rows[start..end], level);
            }
            first = end;
        }
        self.count(&rows[first..], level);
    }

    /// Assumed count of an escape that never occurs.
    fn slack(&self) -> f32 {
        if self.is_open() { 0.5 } else { 0.0 }
    }

    const fn is_open(&self) -> bool {
        matches!(self.purpose, Purpose::Use { open: true, .. })
    }

    /// Estimated bits of a node that lists this number of symbols.
    fn model_bits(&self, symbols: usize) -> f32 {
        let weight = match self.purpose {
            Purpose::Trial { model } => model,
            Purpose::Use { .. } => 1.0,
        };
        weight * (NODE_BITS + SYMBOL_BITS * symbols as f32)
    }

    /// Returns the symbols that a node for these rows should list; empty if the node saves nothing.
    /// At level 1 the node is made even then. Counts all symbols of the rows.
    fn worthwhile(&mut self, rows: &[u32], level: usize) -> Vec<(u16, u32)> {
        let before = self.meet(rows, level - 1);
        if level > 1 && before < self.model_bits(1) {
            return Vec::new();
        }
        self.met.sort_unstable_by_key(|met| (Reverse(met.count), met.symbol));

        let rows = rows.len() as f32;
        let total = rows + self.slack();
        let total_bits = total.log2();
        let mut best = before;
        let mut best_len = 0;
        let mut listed = 0.0;
        let mut entropy = 0.0;
        let mut rest = before;
        for (len, met) in (1..=MAX_LIST).zip(&self.met) {
            let count = met.count as f32;
            listed += count;
            entropy -= count * log2(met.count);
            rest -= count * met.bits;
            let left = rows - listed;
            let escapes = left + self.slack();
            let leaving = if left > 0.0 { left * (total / escapes).log2() + rest } else { 0.0 };
            let after = entropy + listed * total_bits + leaving + self.model_bits(len);
            if after < best {
                best = after;
                best_len = len;
            }
        }
        let len = if level == 1 { MAX_LIST } else { best_len };
        self.met.iter().take(len).map(|met| (met.symbol, met.count)).collect()
    }

    /// Counts the symbols of some rows. Returns their cost in bits if coded at a level or above.
    fn meet(&mut self, rows: &[u32], level: usize) -> f32 {
        // The processor cannot predict whether a symbol is new, so the symbol is written without a
        // branch.
        let mut met = 0;
        for &row in rows {
            let symbol = self.symbols[row as usize];
            let count = &mut self.counts[usize::from(symbol)];
            self.noted[met] = symbol;
            met += usize::from(*count == 0);
            *count += 1;
        }
        self.met.clear();
        self.met_escapes = 0;
        let mut all_bits = 0.0;
        for place in 0..met {
            let symbol = self.noted[place];
            let count = std::mem::take(&mut self.counts[usize::from(symbol)]);
            let bits = self.cost(symbol.into(), level);
            all_bits += count as f32 * bits;
            if symbol == self.escape {
                self.met_escapes = count
            } else {
                self.met.push(MetSymbol { symbol, count, bits })
            }
        }
        all_bits
    }
}

/// Counts below this number have their logarithms in a table.
const SMALL: usize = 1 << 10;

fn log2(count: u32) -> f32 {
    static LOGARITHMS: LazyLock<[f32; SMALL]> =
        LazyLock::new(|| std::array::from_fn(|count| (count as f32).log2()));
    LOGARITHMS.get(count as usize).copied().unwrap_or_else(|| (count as f32).log2())
}

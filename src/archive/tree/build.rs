//! Building a model from the rows of a segment.

use super::candidates::CANDIDATES;
use super::context::{CONTEXT_BITS, Context, ContextState, ESCAPE};
use super::mirror::{LAST_RANK, coded_value};
use super::prediction::{EncodeHistory, MODES, PredictionMode};
use super::spec::{MAX_DICTIONARY, MAX_LISTED, ModelSpec, NodeSpec, TreeSpec, ordered};
use super::spelling::Counts;
use crate::archive::row::{COLUMNS, Row};
use foldhash::HashMap;
use rayon::prelude::*;
use std::borrow::Cow;
use std::cmp::Reverse;
use std::ops::Range;

/// Estimated bits of a node in the model beside its symbols.
const NODE_BITS: f32 = 14.0;
/// Estimated bits of a symbol in a node's list.
const SYMBOL_BITS: f32 = 8.0;
/// The most symbols of a node under the outermost.
const MAX_LIST: usize = 250;
/// A context that is met more seldom is not looked at.
const RARE: usize = 4;
/// Estimated bits of a row that is predicted by a move.
const MOVE_BITS: f32 = 6.0;
/// Rows that have more columns than this in common with those before, on average, may be predicted
/// from them.
const ALIKE: f32 = 2.5;
/// Of more rows than this a sample chooses between candidates.
const SAMPLE: usize = 1 << 15;

/// How a model is built.
pub(in crate::archive) struct ModelPlan {
    /// The last rank is coded by its difference to the first.
    mirrors: bool,
    /// Rows are predicted from those before.
    has_modes: bool,
    contexts: Vec<&'static [Context]>,
    /// The bits of data and model, by estimate from a sample.
    bits: f32,
}

/// The mode in which each row is predicted from those before it in its block, by number.
fn modes(rows: &[Row], block: usize) -> Vec<u8> {
    let of_block = |rows: &[Row]| {
        let mut history = EncodeHistory::default();
        let modes =
            rows.iter().map(|row| history.next(row).map_or(0, PredictionMode::number) as u8);
        modes.collect::<Vec<u8>>()
    };
    rows.par_chunks(block.max(1)).flat_map_iter(of_block).collect()
}

/// The numbers of some of so many rows, evenly spread in runs.
fn sample(rows: usize) -> Vec<u32> {
    const RUN: usize = 64;
    let step = rows.div_ceil(SAMPLE).max(1);
    (0..rows).filter(|place| (place / RUN).is_multiple_of(step)).map(|place| place as u32).collect()
}

/// What models of the rows of a segment are built from.
pub(in crate::archive) struct TrainingSet<'a> {
    /// Each row by itself.
    alone: CodedRows<'a>,
    /// What is left of the rows when they are predicted from those before, where that may be worth
    /// it.
    predicted: Option<CodedRows<'a>>,
    /// How many rows there are, and how many are predicted in each mode.
    rows: usize,
    modes: [u32; MODES],
}

/// Rows, as far as they are coded by their columns, as symbols of dictionaries.
struct CodedRows<'a> {
    rows: Cow<'a, [Row]>,
    /// The first column of each row that is coded.
    first: Vec<u8>,
    columns: Vec<ColumnSymbols>,
    /// The last rank, coded by its difference to the first.
    mirrored: ColumnSymbols,
}

/// A column of all rows.
struct ColumnSymbols {
    dictionary: Dictionary,
    symbols: Vec<u16>,
}

impl ColumnSymbols {
    /// Only what is coded counts for the dictionary.
    fn of(rows: &[Row], first: &[u8], column: usize, mirrors: bool) -> ColumnSymbols {
        let mut numbers: HashMap<u32, u32> = HashMap::default();
        let mut counts: Vec<(u32, u32)> = Vec::new();
        let mut number = |(row, &first): (_, &u8)| {
            let value = coded_value(mirrors, row, column);
            let number = *numbers.entry(value).or_insert(counts.len() as u32);
            if number as usize == counts.len() {
                counts.push((value, 0));
            }
            counts[number as usize].1 += u32::from(usize::from(first) <= column);
            number
        };
        let values: Vec<u32> = rows.iter().zip(first).map(&mut number).collect();
        let dictionary = Dictionary::of(column, &counts);
        let mut symbols = vec![ESCAPE; counts.len()];
        for (symbol, value) in (0..).zip(&dictionary.values) {
            symbols[numbers[value] as usize] = symbol;
        }
        let symbols = values.into_iter().map(|number| symbols[number as usize]).collect();
        ColumnSymbols { dictionary, symbols }
    }
}

impl<'a> CodedRows<'a> {
    fn new(rows: Cow<'a, [Row]>, first: Vec<u8>) -> CodedRows<'a> {
        let mut columns: Vec<ColumnSymbols> = (0..=COLUMNS)
            .into_par_iter()
            .map(|column| match column {
                COLUMNS => ColumnSymbols::of(&rows, &first, LAST_RANK, true),
                _ => ColumnSymbols::of(&rows, &first, column, false),
            })
            .collect();
        let mirrored = columns.split_off(COLUMNS).remove(0);
        CodedRows { rows, first, columns, mirrored }
    }

    /// Those rows that no move leads to.
    fn predicted(rows: &[Row], modes: &[u8]) -> CodedRows<'a> {
        let coded = rows.iter().zip(modes).filter(|&(_, &mode)| usize::from(mode) <= COLUMNS);
        let (rows, first): (Vec<Row>, Vec<u8>) = coded.unzip();
        CodedRows::new(Cow::Owned(rows), first)
    }
}

impl<'a> TrainingSet<'a> {
    /// Rows that will be coded in blocks of so many.
    pub(in crate::archive) fn of(rows: &'a [Row], block: usize) -> TrainingSet<'a> {
        let of_rows = modes(rows, block);
        let mut modes = [0; MODES];
        of_rows.iter().for_each(|&mode| modes[usize::from(mode)] += 1);
        let alike: u64 = of_rows.iter().map(|&mode| u64::from(mode).min(COLUMNS as u64)).sum();
        let is_alike = alike as f32 > ALIKE * rows.len() as f32;
        TrainingSet {
            alone: CodedRows::new(Cow::Borrowed(rows), vec![0; rows.len()]),
            predicted: is_alike.then(|| CodedRows::predicted(rows, &of_rows)),
            rows: rows.len(),
            modes,
        }
    }

    /// The better plan of a model.
    pub(in crate::archive) fn best_plan(&self) -> ModelPlan {
        let alone = self.plan(false);
        let predicted = self.predicted.is_some().then(|| self.plan(true));
        predicted.filter(|predicted| predicted.bits < alone.bits).unwrap_or(alone)
    }

    /// The rows as they are coded with modes, or without.
    fn coded(&self, has_modes: bool) -> &CodedRows<'a> {
        self.predicted.as_ref().filter(|_| has_modes).unwrap_or(&self.alone)
    }

    /// Plans a model; with modes, rows are predicted from those before.
    pub(in crate::archive) fn plan(&self, has_modes: bool) -> ModelPlan {
        let rows = self.coded(has_modes);
        let sampled = sample(rows.rows.len());
        let best = |mirrors, columns: Range<usize>| -> Vec<(&'static [Context], f32)> {
            let view = TrainingView { rows, mirrors };
            columns.into_par_iter().map(|column| view.best_contexts(&sampled, column)).collect()
        };
        let bits = |columns: &[(_, f32)]| columns.iter().map(|&(_, bits)| bits).sum::<f32>();
        let of_back_ranks = |mirrors| bits(&best(mirrors, LAST_RANK..LAST_RANK + 2));
        let mirrors = of_back_ranks(true) < of_back_ranks(false);
        let columns = best(mirrors, 0..COLUMNS);
        let of_all = rows.rows.len() as f32 / sampled.len().max(1) as f32;
        let moves = (self.rows - rows.rows.len()) as f32;
        let bits = bits(&columns) * of_all + MOVE_BITS * moves;
        let contexts = columns.into_iter().map(|(contexts, _)| contexts).collect();
        ModelPlan { mirrors, has_modes, contexts, bits }
    }

    /// Builds a model. When it is open every node can escape, so that rows which are not among
    /// these can be coded too.
    pub(in crate::archive) fn build(&self, plan: &ModelPlan, open: bool) -> ModelSpec {
        let ModelPlan { mirrors, has_modes, ref contexts, .. } = *plan;
        let rows = self.coded(has_modes);
        let view = TrainingView { rows, mirrors };
        let all: Vec<u32> = (0..rows.rows.len() as u32).collect();
        let columns = (0..COLUMNS)
            .into_par_iter()
            .map(|column| {
                let contexts = contexts[column];
                let (nodes, _) = TreeBuilder::run(&view, &all, column, contexts, open);
                let Dictionary { values, class_lens } = view.symbols(column).dictionary.clone();
                TreeSpec { contexts: contexts.to_vec(), dictionary: values, class_lens, nodes }
            })
            .collect();
        let modes = has_modes.then_some(self.modes);
        ModelSpec { mirrors, columns, spelled: view.spelled(open), modes }
    }
}

/// Rows as a plan has them.
struct TrainingView<'a> {
    rows: &'a CodedRows<'a>,
    mirrors: bool,
}

impl TrainingView<'_> {
    /// The contexts that leave the fewest bits of a column, and these.
    fn best_contexts(&self, sampled: &[u32], column: usize) -> (&'static [Context], f32) {
        let mut best: (&'static [Context], f32) = (&[], f32::INFINITY);
        for &contexts in CANDIDATES[column] {
            let (_, bits) = TreeBuilder::run(self, sampled, column, contexts, false);
            if bits < best.1 {
                best = (contexts, bits);
            }
        }
        best
    }

    fn symbols(&self, column: usize) -> &ColumnSymbols {
        match column {
            LAST_RANK if self.mirrors => &self.rows.mirrored,
            _ => &self.rows.columns[column],
        }
    }

    /// Whether a column of a row is coded, and not known from the rows before.
    fn is_coded(&self, row: u32, column: usize) -> bool {
        usize::from(self.rows.first[row as usize]) <= column
    }

    fn spelled(&self, open: bool) -> Counts {
        let mut counts = Counts::default();
        for column in 0..COLUMNS {
            let symbols = &self.symbols(column).symbols;
            for ((number, row), &symbol) in (0..).zip(&*self.rows.rows).zip(symbols) {
                if symbol == ESCAPE && self.is_coded(number, column) {
                    counts.add(column, coded_value(self.mirrors, row, column));
                }
            }
        }
        if open {
            counts.open();
        }
        counts
    }

    /// The contexts of a row before a column, and the symbol there, as one number to sort by.
    fn key(&self, row: u32, column: usize, contexts: &[Context]) -> u128 {
        let row = row as usize;
        let mut state = ContextState::default();
        for place in 0..column {
            state.update(place, self.symbols(place).symbols[row], self.rows.rows[row].0[place]);
        }
        let path = contexts
            .iter()
            .fold(0, |path, &context| path << CONTEXT_BITS | u128::from(state.value(context)));
        path << 16 | u128::from(self.symbols(column).symbols[row])
    }
}

/// The values of a column that occur more than once: in classes of frequency, the most frequent
/// class first, and in each class in the order of the file.
#[derive(Clone)]
struct Dictionary {
    values: Vec<u32>,
    class_lens: Vec<u32>,
}

impl Dictionary {
    /// Of values and how often they occur.
    fn of(column: usize, counts: &[(u32, u32)]) -> Dictionary {
        let mut frequent: Vec<(u32, u32)> =
            counts.iter().copied().filter(|&(_, count)| count > 1).collect();
        frequent.sort_unstable_by_key(|&(value, count)| (Reverse(count), value));
        frequent.truncate(MAX_DICTIONARY);
        frequent.sort_unstable_by_key(|&(value, count)| {
            (Reverse(count.ilog2()), ordered(column, value))
        });
        let mut class_lens = vec![0; 32];
        for (_, count) in &frequent {
            class_lens[count.ilog2() as usize] += 1;
        }
        Dictionary { values: frequent.into_iter().map(|(value, _)| value).collect(), class_lens }
    }
}

/// Builds the tree of one column.
struct TreeBuilder<'a> {
    keys: &'a [u128],
    depth: usize,
    open: bool,
    /// By level and symbol: the node that lists the symbol there, its place in the list, and the
    /// bits that it costs.
    listed: Vec<Vec<ListedSymbol>>,
    /// The node of each level on the current path, and the bits of its escape.
    path: Vec<Option<(u32, f32)>>,
    nodes: Vec<NodeSpec>,
    /// Symbols in the lists of all nodes.
    listed_symbols: usize,
    counts: Vec<u32>,
    bits: f32,
}

#[derive(Copy, Clone)]
struct ListedSymbol {
    node: u32,
    place: u16,
    bits: f32,
}

const NOWHERE: ListedSymbol = ListedSymbol { node: u32::MAX, place: 0, bits: 0.0 };

/// The number of a symbol among those of a column: the escape comes last.
fn index(symbol: u16, escape: usize) -> usize {
    usize::from(symbol).min(escape)
}

impl<'a> TreeBuilder<'a> {
    /// The nodes, and the bits of data and model by estimate.
    fn run(
        view: &TrainingView,
        rows: &[u32],
        column: usize,
        contexts: &[Context],
        open: bool,
    ) -> (Vec<NodeSpec>, f32) {
        let mut keys: Vec<u128> = rows
            .iter()
            .filter(|&&row| view.is_coded(row, column))
            .map(|&row| view.key(row, column, contexts))
            .collect();
        keys.sort_unstable();
        let symbols = view.symbols(column).dictionary.values.len() + 1;
        let mut usage: Vec<u32> = vec![0; symbols];
        keys.iter().for_each(|&key| usage[index(key as u16, symbols - 1)] += 1);
        let mut builder = TreeBuilder::new(&keys, contexts.len(), symbols, open);
        for _ in 0..2 {
            builder.restart(&usage);
            builder.frequent_anywhere();
            usage.fill(0);
            for (place, &(_, count)) in builder.nodes[0].list.iter().enumerate() {
                usage[place] = count;
            }
            usage[symbols - 1] = builder.nodes[0].escapes;
        }
        let bits = builder.bits;
        let mut nodes = builder.nodes;
        if open {
            nodes.iter_mut().for_each(|node| node.escapes += 1);
            nodes[0].list.iter_mut().for_each(|(_, count)| *count += 1);
        }
        (nodes, bits)
    }

    fn new(keys: &'a [u128], depth: usize, symbols: usize, open: bool) -> TreeBuilder<'a> {
        TreeBuilder {
            keys,
            depth,
            open,
            listed: vec![vec![NOWHERE; symbols]; depth + 2],
            path: vec![None; depth + 2],
            nodes: Vec::new(),
            listed_symbols: 0,
            counts: vec![0; symbols],
            bits: 0.0,
        }
    }

    /// Makes the outermost node, which has all symbols.
    fn restart(&mut self, usage: &[u32]) {
        self.nodes.clear();
        self.bits = 0.0;
        self.listed.iter_mut().flatten().for_each(|listed| *listed = NOWHERE);
        self.path.fill(None);
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

    /// Makes the node of what is frequent in any context, and all below it.
    fn frequent_anywhere(&mut self) {
        let all = self.keys;
        if !self.split(all, 1, 0) {
            self.count(all, 0);
        }
    }

    /// Bits of a symbol at a level or above.
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

    /// Counts the symbols of some rows where they are coded, at a level or above.
    fn count(&mut self, keys: &[u128], level: usize) {
        let escape = self.counts.len() - 1;
        for &key in keys {
            let symbol = index(key as u16, escape);
            self.bits += self.cost(symbol, level);
            for level in (0..=level).rev() {
                let Some((node, _)) = self.path[level] else { continue };
                let listed = self.listed[level][symbol];
                let counted = &mut self.nodes[node as usize];
                match counted.list.get_mut(usize::from(listed.place)) {
                    Some(entry) if listed.node == node && symbol != escape => {
                        entry.1 += 1;
                        break;
                    }
                    _ => counted.escapes += 1,
                }
            }
        }
    }

    /// Makes a node for these rows, which have the contexts so far in common, when it saves bits;
    /// then nodes for the next context below it.
    fn split(&mut self, keys: &[u128], level: usize, context: u32) -> bool {
        let list = self.worthwhile(keys, level);
        if list.is_empty() || self.listed_symbols + list.len() > MAX_LISTED {
            return false;
        }
        self.listed_symbols += list.len();
        let node = self.nodes.len() as u32;
        let listed: u32 = list.iter().map(|&(_, count)| count).sum();
        let left = keys.len() as f32 - listed as f32 + self.slack();
        let total = listed as f32 + left;
        for (place, &(symbol, count)) in (0..).zip(&list) {
            let bits = (total / count as f32).log2();
            self.listed[level][usize::from(symbol)] = ListedSymbol { node, place, bits };
        }
        self.bits += NODE_BITS + SYMBOL_BITS * list.len() as f32;
        let parent = self.path[..level].iter().rev().flatten().next().map_or(0, |&(node, _)| node);
        let list = list.into_iter().map(|(symbol, _)| (symbol, 0)).collect();
        self.nodes.push(NodeSpec { parent, context, list, escapes: 0 });
        let escape = if left > 0.0 { (total / left).log2() } else { 30.0 };
        self.path[level] = Some((node, escape));
        if level > self.depth {
            self.count(keys, level);
        } else {
            let shift = 16 + CONTEXT_BITS as usize * (self.depth - level);
            for group in keys.chunk_by(|a, b| a >> shift == b >> shift) {
                let context = (group[0] >> shift) as u32 & ((1 << CONTEXT_BITS) - 1);
                if group.len() < RARE || !self.split(group, level + 1, context) {
                    self.count(group, level);
                }
            }
        }
        self.path[level] = None;
        true
    }

    /// What an escape that never happens counts as.
    fn slack(&self) -> f32 {
        if self.open { 0.5 } else { 0.0 }
    }

    /// The symbols that a node for these rows should list; none when it saves nothing. What is
    /// frequent anywhere is listed in any case.
    fn worthwhile(&mut self, keys: &[u128], level: usize) -> Vec<(u16, u32)> {
        let escape = self.counts.len() - 1;
        let mut met = Vec::new();
        for &key in keys {
            let symbol = index(key as u16, escape);
            if self.counts[symbol] == 0 {
                met.push(symbol);
            }
            self.counts[symbol] += 1;
        }
        let mut list: Vec<(usize, u32, f32)> = met
            .into_iter()
            .map(|symbol| (symbol, self.counts[symbol], self.cost(symbol, level - 1)))
            .collect();
        list.iter().for_each(|&(symbol, ..)| self.counts[symbol] = 0);
        let before: f32 = list.iter().map(|&(_, count, bits)| count as f32 * bits).sum();
        list.retain(|&(symbol, ..)| symbol != escape);
        list.sort_unstable_by_key(|&(symbol, count, _)| (Reverse(count), symbol));

        let rows = keys.len() as f32;
        let (mut best, mut best_len) = (before, 0);
        let (mut listed, mut entropy, mut rest) = (0.0, 0.0, before);
        for (len, &(_, count, bits)) in (1..=MAX_LIST).zip(&list) {
            let count = count as f32;
            listed += count;
            entropy -= count * count.log2();
            rest -= count * bits;
            let left = rows - listed;
            let escapes = left + self.slack();
            let total = listed + escapes;
            let leaving = if left > 0.0 { left * (total / escapes).log2() + rest } else { 0.0 };
            let after =
                entropy + listed * total.log2() + leaving + NODE_BITS + SYMBOL_BITS * len as f32;
            if after < best {
                (best, best_len) = (after, len);
            }
        }
        list.truncate(if level == 1 { MAX_LIST } else { best_len });
        list.into_iter().map(|(symbol, count, _)| (symbol as u16, count)).collect()
    }
}

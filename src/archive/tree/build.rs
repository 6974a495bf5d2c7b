//! Building a model from the rows of a segment.

use super::candidates::CANDIDATES;
use super::context::{CONTEXT_BITS, Context, ESCAPE, Gain, PieceState};
use super::mirror::{LAST_RANK, coded_value};
use super::prediction::{EncodeHistory, MODES, PredictionMode};
use super::spec::{MAX_DICTIONARY, MAX_LISTED, ModelSpec, NodeSpec, TreeSpec, ordered};
use super::spelling::Counts;
use crate::archive::row::{COLUMNS, EN_PASSANT, RANKS, Row};
use foldhash::HashMap;
use rayon::prelude::*;
use std::borrow::Cow;
use std::cmp::Reverse;
use std::ops::Range;

/// Estimated bits of a node in the model beside its symbols.
const NODE_BITS: f32 = 16.0;
/// Estimated bits of a symbol in a node's list.
const SYMBOL_BITS: f32 = 6.0;
/// The most symbols of a node under the outermost.
const MAX_LIST: usize = 700;
/// A context that is met more seldom is not looked at.
const RARE: usize = 4;
/// Estimated bits of a row that is predicted by a move.
const MOVE_BITS: f32 = 6.0;
/// Rows that have more columns than this in common with those before, on average, may be predicted
/// from them.
const ALIKE: f32 = 2.5;
/// Of more rows than this a sample chooses between candidates.
const SAMPLE: usize = 1 << 15;
/// A smaller sample chooses first, and leaves those that take so many hundredths more than the best.
const FIRST_SAMPLE: usize = 1 << 13;
const CLOSE: f32 = 1.03;

/// How a model is built.
pub(in crate::archive) struct ModelPlan {
    /// The last rank is coded by its difference to the first.
    mirrors: bool,
    /// Rows are predicted from those before.
    has_modes: bool,
    columns: Vec<ColumnPlan>,
}

/// How a model may be built.
struct Outline {
    mirrors: bool,
    has_modes: bool,
    /// Of each column all candidates.
    columns: Vec<Vec<ColumnPlan>>,
    /// The bits of data and model, by estimate from the smaller sample.
    bits: f32,
}

/// How the tree of a column is built.
struct ColumnPlan {
    contexts: &'static [Context],
    /// How often each symbol, and behind them the escape, is left to the outermost node, by estimate
    /// from a sample.
    usage: Vec<u32>,
    /// The bits of the sample and the model.
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

/// The numbers of about `count` of so many rows, evenly spread in runs.
fn sample(rows: usize, count: usize) -> Vec<u32> {
    const RUN: usize = 64;
    let step = rows.div_ceil(count).max(1);
    (0..rows).filter(|place| (place / RUN).is_multiple_of(step)).map(|place| place as u32).collect()
}

/// How many rows each row of a sample stands for.
fn of_all(rows: &CodedRows, sampled: &[u32]) -> f32 {
    rows.rows.len() as f32 / sampled.len().max(1) as f32
}

/// The bits of the best of some plans.
fn least_bits(plans: &[ColumnPlan]) -> f32 {
    plans.iter().map(|plan| plan.bits).fold(f32::INFINITY, f32::min)
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
    /// What was seen of the pieces of each row behind each rank.
    pieces: Vec<Vec<PieceState>>,
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

/// What was seen of the pieces of each row behind each rank.
fn pieces(rows: &[Row]) -> Vec<Vec<PieceState>> {
    let mut states = vec![PieceState::default(); rows.len()];
    let after = |column| {
        for (state, row) in states.iter_mut().zip(rows) {
            state.add(column, Gain::of(row.0[column]));
        }
        states.clone()
    };
    (RANKS..EN_PASSANT).map(after).collect()
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
        let pieces = pieces(&rows);
        CodedRows { rows, first, columns, mirrored, pieces }
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
        let alone = self.outline(false);
        let predicted = self.predicted.is_some().then(|| self.outline(true));
        let better = predicted.filter(|predicted| predicted.bits < alone.bits).unwrap_or(alone);
        self.settle(better)
    }

    /// Plans a model; with modes, rows are predicted from those before.
    pub(in crate::archive) fn plan(&self, has_modes: bool) -> ModelPlan {
        self.settle(self.outline(has_modes))
    }

    /// The rows as they are coded with modes, or without.
    fn coded(&self, has_modes: bool) -> &CodedRows<'a> {
        self.predicted.as_ref().filter(|_| has_modes).unwrap_or(&self.alone)
    }

    /// Tries all candidates on the smaller sample.
    fn outline(&self, has_modes: bool) -> Outline {
        let rows = self.coded(has_modes);
        let sampled = sample(rows.rows.len(), FIRST_SAMPLE);
        let of = |mirrors, columns: Range<usize>| -> Vec<Vec<ColumnPlan>> {
            let view = TrainingView { rows, mirrors };
            let columns = columns.into_par_iter();
            columns.map(|column| view.plans(&sampled, column, CANDIDATES[column])).collect()
        };
        let bits =
            |columns: &[Vec<ColumnPlan>]| columns.iter().map(|it| least_bits(it)).sum::<f32>();
        let back_ranks = LAST_RANK..LAST_RANK + 2;
        let [plain, mirrored] = [false, true].map(|mirrors| of(mirrors, back_ranks.clone()));
        let mirrors = bits(&mirrored) < bits(&plain);
        let mut columns = of(mirrors, 0..back_ranks.start);
        columns.extend(if mirrors { mirrored } else { plain });
        columns.extend(of(mirrors, back_ranks.end..COLUMNS));
        let moves = (self.rows - rows.rows.len()) as f32;
        let bits = bits(&columns) * of_all(rows, &sampled) + MOVE_BITS * moves;
        Outline { mirrors, has_modes, columns, bits }
    }

    /// Chooses between those candidates of each column that are close, by the larger sample.
    fn settle(&self, outline: Outline) -> ModelPlan {
        let Outline { mirrors, has_modes, columns, .. } = outline;
        let rows = self.coded(has_modes);
        let view = TrainingView { rows, mirrors };
        let [first, sampled] = [FIRST_SAMPLE, SAMPLE].map(|count| sample(rows.rows.len(), count));
        let choose = |(column, mut plans): (usize, Vec<ColumnPlan>)| {
            let limit = least_bits(&plans) * CLOSE;
            plans.retain(|plan| plan.bits <= limit);
            let mut scale = of_all(rows, &first);
            if plans.len() > 1 && first.len() < sampled.len() {
                let close: Vec<&'static [Context]> =
                    plans.iter().map(|plan| plan.contexts).collect();
                plans = view.plans(&sampled, column, &close);
                scale = of_all(rows, &sampled);
            }
            let mut best = plans.into_iter().reduce(|a, b| if b.bits < a.bits { b } else { a })?;
            best.usage.iter_mut().for_each(|count| *count = (*count as f32 * scale) as u32);
            Some(best)
        };
        let columns = columns.into_par_iter().enumerate().filter_map(choose).collect();
        ModelPlan { mirrors, has_modes, columns }
    }

    /// Builds a model. When it is open every node can escape, so that rows which are not among
    /// these can be coded too.
    pub(in crate::archive) fn build(&self, plan: &ModelPlan, open: bool) -> ModelSpec {
        let ModelPlan { mirrors, has_modes, columns: ref plans, .. } = *plan;
        let rows = self.coded(has_modes);
        let view = TrainingView { rows, mirrors };
        let all: Vec<u32> = (0..rows.rows.len() as u32).collect();
        let columns = (0..COLUMNS)
            .into_par_iter()
            .map(|column| {
                let ColumnPlan { contexts, usage, .. } = &plans[column];
                let tree = ColumnTree { column, contexts, usage: Some(usage), open };
                let (nodes, _) = TreeBuilder::run(&view, &all, &tree);
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
    /// What a sample says of candidates for the contexts of a column.
    fn plans(
        &self,
        sampled: &[u32],
        column: usize,
        candidates: &[&'static [Context]],
    ) -> Vec<ColumnPlan> {
        let plan = |&contexts: &&'static [Context]| {
            let tree = ColumnTree { column, contexts, usage: None, open: false };
            let (nodes, bits) = TreeBuilder::run(self, sampled, &tree);
            ColumnPlan { contexts, usage: nodes[0].usage(), bits }
        };
        candidates.iter().map(plan).collect()
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

    /// The contexts of some rows before a column, and the symbols there, as numbers to sort by.
    fn keys(&self, rows: &[u32], column: usize, contexts: &[Context]) -> Vec<u128> {
        let symbols = &self.symbols(column).symbols;
        let rows: Vec<u32> =
            rows.iter().copied().filter(|&row| self.is_coded(row, column)).collect();
        let mut keys = vec![0; rows.len()];
        let mut append = |bits: u32, value: &dyn Fn(usize) -> u32| {
            for (key, &row) in keys.iter_mut().zip(&rows) {
                *key = *key << bits | u128::from(value(row as usize));
            }
        };
        let behind = column.min(EN_PASSANT).checked_sub(RANKS + 1);
        let pieces = behind.and_then(|rank| self.rows.pieces.get(rank));
        for &context in contexts {
            match (context, pieces) {
                (Context::Column(earlier), _) => {
                    let symbols = &self.symbols(earlier.into()).symbols;
                    append(CONTEXT_BITS, &|row| symbols[row].into());
                }
                (_, Some(pieces)) => append(CONTEXT_BITS, &|row| pieces[row].value(context)),
                (_, None) => append(CONTEXT_BITS, &|_| 0),
            }
        }
        append(u16::BITS, &|row| symbols[row].into());
        keys
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

/// The tree that is built of a column.
struct ColumnTree<'a> {
    column: usize,
    contexts: &'a [Context],
    /// How often symbols are left to the outermost node; as often as they occur where that is not
    /// known.
    usage: Option<&'a [u32]>,
    open: bool,
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

impl NodeSpec {
    /// How often each symbol was coded, and behind them the escape.
    fn usage(&self) -> Vec<u32> {
        self.list.iter().map(|&(_, count)| count).chain([self.escapes]).collect()
    }
}

/// The number of a symbol among those of a column: the escape comes last.
fn index(symbol: u16, escape: usize) -> usize {
    usize::from(symbol).min(escape)
}

impl<'a> TreeBuilder<'a> {
    /// The nodes, and the bits of data and model by estimate.
    fn run(view: &TrainingView, rows: &[u32], tree: &ColumnTree) -> (Vec<NodeSpec>, f32) {
        let mut keys = view.keys(rows, tree.column, tree.contexts);
        keys.sort_unstable();
        let symbols = view.symbols(tree.column).dictionary.values.len() + 1;
        let mut builder = TreeBuilder::new(&keys, tree.contexts.len(), symbols, tree.open);
        match tree.usage {
            Some(usage) => builder.start(usage),
            None => {
                let mut usage = vec![0; symbols];
                keys.iter().for_each(|&key| usage[index(key as u16, symbols - 1)] += 1);
                builder.start(&usage);
            }
        }
        builder.frequent_anywhere();
        let TreeBuilder { mut nodes, bits, .. } = builder;
        if tree.open {
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

    /// Makes the outermost node, which has all symbols, for such a use of them.
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

//! Building a model from the rows of a segment.

use super::candidates::CANDIDATES;
use super::context::{Context, ESCAPE, Gain, PieceState};
use super::mirror::{LAST_RANK, coded_value};
use super::prediction::{EncodeHistory, MODES, PredictionMode};
use super::spec::{MAX_DICTIONARY, MAX_LISTED, ModelSpec, NodeSpec, TreeSpec, ordered};
use super::spelling::Counts;
use crate::archive::row::{COLUMNS, EN_PASSANT, RANKS, Row};
use foldhash::HashMap;
use rayon::prelude::*;
use std::cmp::Reverse;
use std::ops::{BitOr, Range, Shl};

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
    rows.places.len() as f32 / sampled.len().max(1) as f32
}

/// The bits of the best of some plans.
fn least_bits(plans: &[ColumnPlan]) -> f32 {
    plans.iter().map(|plan| plan.bits).fold(f32::INFINITY, f32::min)
}

/// What models of the rows of a segment are built from.
pub(in crate::archive) struct TrainingSet {
    columns: NumberedColumns,
    /// Each row by itself.
    alone: CodedRows,
    /// What is left of the rows when they are predicted from those before, where that may be worth
    /// it.
    predicted: Option<CodedRows>,
    /// How many rows are predicted in each mode.
    modes: [u32; MODES],
}

/// The place of the last rank among columns, coded by its difference to the first.
const MIRRORED: usize = COLUMNS;

/// All columns of all rows.
type NumberedColumns = Vec<NumberedColumn>;

/// A column of all rows, its values by number.
struct NumberedColumn {
    values: Vec<u32>,
    numbers: Vec<u32>,
}

impl NumberedColumn {
    fn of(rows: &[Row], column: usize) -> NumberedColumn {
        let (column, mirrors) =
            if column == MIRRORED { (LAST_RANK, true) } else { (column, false) };
        let mut known: HashMap<u32, u32> = HashMap::default();
        let mut values: Vec<u32> = Vec::new();
        let mut last = None;
        let number = |row| {
            let value = coded_value(mirrors, row, column);
            match last {
                // Neighbours are often alike.
                Some((before, number)) if before == value => number,
                _ => {
                    let number = *known.entry(value).or_insert(values.len() as u32);
                    if number as usize == values.len() {
                        values.push(value);
                    }
                    last = Some((value, number));
                    number
                }
            }
        };
        let numbers = rows.iter().map(number).collect();
        NumberedColumn { values, numbers }
    }
}

/// Rows, as far as they are coded by their columns.
struct CodedRows {
    /// Which of all.
    places: Vec<u32>,
    /// The first column of each that is coded.
    first: Vec<u8>,
    columns: Vec<ColumnSymbols>,
}

/// The values of a column of some rows.
struct ColumnSymbols {
    dictionary: Dictionary,
    /// The symbol of each value, and how often the value is coded.
    symbols: Vec<u16>,
    counts: Vec<u32>,
}

impl ColumnSymbols {
    /// Only what is coded counts for the dictionary.
    fn of(column: usize, numbered: &NumberedColumn, places: &[u32], first: &[u8]) -> ColumnSymbols {
        let column = if column == MIRRORED { LAST_RANK } else { column };
        let mut counts = vec![0; numbered.values.len()];
        for (&place, &first) in places.iter().zip(first) {
            counts[numbered.numbers[place as usize] as usize] +=
                u32::from(usize::from(first) <= column);
        }
        let dictionary = Dictionary::of(column, &numbered.values, &counts);
        let mut symbols = vec![ESCAPE; counts.len()];
        for (symbol, &number) in (0..).zip(&dictionary.numbers) {
            symbols[number as usize] = symbol;
        }
        ColumnSymbols { dictionary, symbols, counts }
    }
}

impl CodedRows {
    fn new(columns: &NumberedColumns, places: Vec<u32>, first: Vec<u8>) -> CodedRows {
        let columns = columns.par_iter().enumerate();
        let columns = columns
            .map(|(column, numbered)| ColumnSymbols::of(column, numbered, &places, &first))
            .collect();
        CodedRows { places, first, columns }
    }

    /// Those rows that no move leads to.
    fn predicted(columns: &NumberedColumns, modes: &[u8]) -> CodedRows {
        let coded = (0..).zip(modes).filter(|&(_, &mode)| usize::from(mode) <= COLUMNS);
        let (places, first): (Vec<u32>, Vec<u8>) = coded.unzip();
        CodedRows::new(columns, places, first)
    }

    /// Some of these rows, by their numbers among them.
    fn part(&self, columns: &NumberedColumns, rows: &[u32]) -> PartOfRows {
        let places: Vec<u32> = rows.iter().map(|&row| self.places[row as usize]).collect();
        let numbers = |column: usize| {
            let numbers = &columns[column].numbers;
            places.iter().map(move |&place| numbers[place as usize] as usize)
        };
        let symbols = |column: usize| {
            let symbols = &self.columns[column].symbols;
            numbers(column).map(|number| symbols[number]).collect()
        };
        let mut states = vec![PieceState::default(); rows.len()];
        let after = |column: usize| {
            let gains: Vec<Gain> = columns[column].values.iter().map(|&it| Gain::of(it)).collect();
            for (state, number) in states.iter_mut().zip(numbers(column)) {
                state.add(column, gains[number]);
            }
            states.clone()
        };
        PartOfRows {
            first: rows.iter().map(|&row| self.first[row as usize]).collect(),
            pieces: (RANKS..EN_PASSANT).map(after).collect(),
            symbols: (0..columns.len()).into_par_iter().map(symbols).collect(),
        }
    }

    /// All of these rows.
    fn whole(&self, columns: &NumberedColumns) -> PartOfRows {
        let rows: Vec<u32> = (0..self.places.len() as u32).collect();
        self.part(columns, &rows)
    }
}

/// Rows of which a tree is built.
struct PartOfRows {
    /// The first column of each row that is coded.
    first: Vec<u8>,
    /// The symbols of each column.
    symbols: Vec<Vec<u16>>,
    /// What was seen of the pieces of each row behind each rank.
    pieces: Vec<Vec<PieceState>>,
}

impl TrainingSet {
    /// Rows that will be coded in blocks of so many.
    pub(in crate::archive) fn of(rows: &[Row], block: usize) -> TrainingSet {
        let of_rows = modes(rows, block);
        let mut modes = [0; MODES];
        of_rows.iter().for_each(|&mode| modes[usize::from(mode)] += 1);
        let alike: u64 = of_rows.iter().map(|&mode| u64::from(mode).min(COLUMNS as u64)).sum();
        let is_alike = alike as f32 > ALIKE * rows.len() as f32;
        let columns: NumberedColumns =
            (0..=MIRRORED).into_par_iter().map(|column| NumberedColumn::of(rows, column)).collect();
        let all = (0..rows.len() as u32).collect();
        TrainingSet {
            alone: CodedRows::new(&columns, all, vec![0; rows.len()]),
            predicted: is_alike.then(|| CodedRows::predicted(&columns, &of_rows)),
            columns,
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
    fn coded(&self, has_modes: bool) -> &CodedRows {
        self.predicted.as_ref().filter(|_| has_modes).unwrap_or(&self.alone)
    }

    /// Tries all candidates on the smaller sample.
    fn outline(&self, has_modes: bool) -> Outline {
        let rows = self.coded(has_modes);
        let sampled = sample(rows.places.len(), FIRST_SAMPLE);
        let part = rows.part(&self.columns, &sampled);
        let of = |mirrors, columns: Range<usize>| -> Vec<Vec<ColumnPlan>> {
            let view = TrainingView { rows, part: &part, mirrors };
            let columns = columns.into_par_iter();
            columns.map(|column| view.plans(column, CANDIDATES[column])).collect()
        };
        let bits =
            |columns: &[Vec<ColumnPlan>]| columns.iter().map(|it| least_bits(it)).sum::<f32>();
        let back_ranks = LAST_RANK..LAST_RANK + 2;
        let [plain, mirrored] = [false, true].map(|mirrors| of(mirrors, back_ranks.clone()));
        let mirrors = bits(&mirrored) < bits(&plain);
        let mut columns = of(mirrors, 0..back_ranks.start);
        columns.extend(if mirrors { mirrored } else { plain });
        columns.extend(of(mirrors, back_ranks.end..COLUMNS));
        let moves = (self.alone.places.len() - rows.places.len()) as f32;
        let bits = bits(&columns) * of_all(rows, &sampled) + MOVE_BITS * moves;
        Outline { mirrors, has_modes, columns, bits }
    }

    /// Chooses between those candidates of each column that are close, by the larger sample.
    fn settle(&self, outline: Outline) -> ModelPlan {
        let Outline { mirrors, has_modes, columns, .. } = outline;
        let rows = self.coded(has_modes);
        let [first, sampled] = [FIRST_SAMPLE, SAMPLE].map(|count| sample(rows.places.len(), count));
        let part = rows.part(&self.columns, &sampled);
        let view = TrainingView { rows, part: &part, mirrors };
        let choose = |(column, mut plans): (usize, Vec<ColumnPlan>)| {
            let limit = least_bits(&plans) * CLOSE;
            plans.retain(|plan| plan.bits <= limit);
            let mut scale = of_all(rows, &first);
            if plans.len() > 1 && first.len() < sampled.len() {
                let close: Vec<&'static [Context]> =
                    plans.iter().map(|plan| plan.contexts).collect();
                plans = view.plans(column, &close);
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
        let part = rows.whole(&self.columns);
        let view = TrainingView { rows, part: &part, mirrors };
        let columns = (0..COLUMNS)
            .into_par_iter()
            .map(|column| {
                let ColumnPlan { contexts, usage, .. } = &plans[column];
                let tree = ColumnTree { column, contexts, usage: Some(usage), open };
                let (nodes, _) = TreeBuilder::run(&view, &tree);
                let numbered = &self.columns[view.place(column)].values;
                let Dictionary { numbers, class_lens } = &view.column(column).dictionary;
                let dictionary = numbers.iter().map(|&number| numbered[number as usize]).collect();
                let class_lens = class_lens.clone();
                TreeSpec { contexts: contexts.to_vec(), dictionary, class_lens, nodes }
            })
            .collect();
        let modes = has_modes.then_some(self.modes);
        ModelSpec { mirrors, columns, spelled: view.spelled(&self.columns, open), modes }
    }
}

/// Rows as a plan has them.
struct TrainingView<'a> {
    rows: &'a CodedRows,
    part: &'a PartOfRows,
    mirrors: bool,
}

impl TrainingView<'_> {
    /// What a sample says of candidates for the contexts of a column.
    fn plans(&self, column: usize, candidates: &[&'static [Context]]) -> Vec<ColumnPlan> {
        let plan = |&contexts: &&'static [Context]| {
            let tree = ColumnTree { column, contexts, usage: None, open: false };
            let (nodes, bits) = TreeBuilder::run(self, &tree);
            ColumnPlan { contexts, usage: nodes[0].usage(), bits }
        };
        candidates.iter().map(plan).collect()
    }

    /// Where a column stands among all of them.
    fn place(&self, column: usize) -> usize {
        if self.mirrors && column == LAST_RANK { MIRRORED } else { column }
    }

    fn column(&self, column: usize) -> &ColumnSymbols {
        &self.rows.columns[self.place(column)]
    }

    fn spelled(&self, columns: &NumberedColumns, open: bool) -> Counts {
        let mut counts = Counts::default();
        for column in 0..COLUMNS {
            let ColumnSymbols { symbols, counts: coded, .. } = self.column(column);
            let values = &columns[self.place(column)].values;
            for ((&value, &symbol), &count) in values.iter().zip(symbols).zip(coded) {
                if symbol == ESCAPE {
                    (0..count).for_each(|_| counts.add(column, value));
                }
            }
        }
        if open {
            counts.open();
        }
        counts
    }

    /// The rows that have a column of their own, by contexts and symbol.
    fn groups(&self, column: usize, contexts: &[Context]) -> (Vec<Field>, Vec<Group>) {
        let first = self.part.first.iter().enumerate();
        let rows: Vec<u32> = first
            .filter(|&(_, &first)| usize::from(first) <= column)
            .map(|(row, _)| row as u32)
            .collect();
        let behind = column.min(EN_PASSANT).checked_sub(RANKS + 1);
        let pieces = behind.and_then(|rank| self.part.pieces.get(rank));
        let symbols = |column: usize| {
            let symbols = &self.part.symbols[self.place(column)];
            let escape = self.column(column).dictionary.numbers.len() as u32;
            let index = |&row: &u32| u32::from(symbols[row as usize]).min(escape);
            let values: Vec<u32> = rows.iter().map(index).collect();
            (Field::of(&values, escape), values)
        };
        let (fields, values): (Vec<Field>, Vec<Vec<u32>>) = contexts
            .iter()
            .map(|&context| match (context, pieces) {
                (Context::Column(earlier), _) => symbols(earlier.into()),
                (_, Some(pieces)) => {
                    let value = |&row: &u32| pieces[row as usize].value(context);
                    let values: Vec<u32> = rows.iter().map(value).collect();
                    (Field::of(&values, u32::MAX), values)
                }
                (_, None) => (Field::of(&[], u32::MAX), vec![0; rows.len()]),
            })
            .chain([symbols(column)])
            .unzip();
        let groups = match fields.iter().map(Field::bits).sum() {
            0..=u64::BITS => grouped::<u64>(&fields, &values, rows.len()),
            _ => grouped::<u128>(&fields, &values, rows.len()),
        };
        (fields, groups)
    }
}

/// A number that is part of a key: of its bits only those that are not the same in all.
struct Field {
    base: u32,
    varying: u32,
    /// The number that stands for [`ESCAPE`].
    escape: u32,
}

impl Field {
    fn of(values: &[u32], escape: u32) -> Field {
        let base = values.first().copied().unwrap_or(0);
        let varying = values.iter().fold(0, |varying, value| varying | (value ^ base));
        Field { base, varying, escape }
    }

    const fn bits(&self) -> u32 {
        self.varying.count_ones()
    }

    /// Where the bits begin and how many there are, from the highest of them on.
    fn runs(&self) -> impl Iterator<Item = (u32, u32)> {
        let mut rest = self.varying;
        std::iter::from_fn(move || {
            let end = rest.checked_ilog2()? + 1;
            let len = (rest << (u32::BITS - end)).leading_ones();
            rest &= !(u32::MAX >> (u32::BITS - len) << (end - len));
            Some((end - len, len))
        })
    }

    /// The number whose bits are the lowest of a key; those are taken off.
    fn take(&self, key: &mut u128) -> u32 {
        let mut value = self.base & !self.varying;
        let mut rest = self.varying;
        while rest != 0 {
            let place = rest.trailing_zeros();
            let len = (rest >> place).trailing_ones();
            let run = u32::MAX >> (u32::BITS - len);
            value |= (*key as u32 & run) << place;
            rest &= !(run << place);
            *key >>= len;
        }
        value
    }

    /// The same as a context has it.
    fn take_context(&self, key: &mut u128) -> u32 {
        let value = self.take(key);
        if value == self.escape { ESCAPE.into() } else { value }
    }
}

/// Keys that are made together: as many as the nearest cache holds.
const TOGETHER: usize = 1 << 10;

/// Rows that have contexts and symbol in common.
struct Group {
    contexts: u128,
    symbol: u32,
    rows: u32,
}

/// Groups of rows, ascending by the fields of their keys; the last is the symbol.
fn grouped<K>(fields: &[Field], values: &[Vec<u32>], rows: usize) -> Vec<Group>
where
    K: Copy + Ord + From<u32> + Into<u128> + Shl<u32, Output = K> + BitOr<Output = K>,
{
    let mut keys: Vec<K> = vec![0.into(); rows];
    for (part, keys) in keys.chunks_mut(TOGETHER).enumerate() {
        for (field, values) in fields.iter().zip(values) {
            let values = &values[part * TOGETHER..];
            for (place, len) in field.runs() {
                let mask = u32::MAX >> (u32::BITS - len);
                for (key, value) in keys.iter_mut().zip(values) {
                    *key = *key << len | (value >> place & mask).into();
                }
            }
        }
    }
    keys.sort_unstable();
    let group = |rows: &[K]| {
        let mut contexts = rows[0].into();
        let symbol = fields.last().map_or(0, |field| field.take(&mut contexts));
        Group { contexts, symbol, rows: rows.len() as u32 }
    };
    let borders = keys.windows(2).filter(|pair| pair[0] != pair[1]).count();
    let mut groups = Vec::with_capacity(borders + 1);
    groups.extend(keys.chunk_by(K::eq).map(group));
    groups
}

/// The values of a column that occur more than once: in classes of frequency, the most frequent
/// class first, and in each class in the order of the file.
struct Dictionary {
    /// The values by their numbers.
    numbers: Vec<u32>,
    class_lens: Vec<u32>,
}

impl Dictionary {
    /// Of values and how often they occur.
    fn of(column: usize, values: &[u32], counts: &[u32]) -> Dictionary {
        let mut frequent: Vec<(u32, u32)> =
            (0..).zip(counts.iter().copied()).filter(|&(_, count)| count > 1).collect();
        let value = |number: u32| values[number as usize];
        frequent.sort_unstable_by_key(|&(number, count)| (Reverse(count), value(number)));
        frequent.truncate(MAX_DICTIONARY);
        frequent.sort_unstable_by_key(|&(number, count)| {
            (Reverse(count.ilog2()), ordered(column, value(number)))
        });
        let mut class_lens = vec![0; 32];
        for (_, count) in &frequent {
            class_lens[count.ilog2() as usize] += 1;
        }
        Dictionary { numbers: frequent.into_iter().map(|(number, _)| number).collect(), class_lens }
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
    groups: &'a [Group],
    /// The contexts, as the keys of groups have them.
    fields: &'a [Field],
    open: bool,
    /// Whether the bits of the data are asked for.
    estimates: bool,
    /// By level and symbol: the node that lists the symbol there, its place in the list, and the
    /// bits that it costs.
    listed: Vec<Vec<ListedSymbol>>,
    /// The node of each level on the current path, and the bits of its escape.
    path: Vec<Option<(u32, f32)>>,
    nodes: Vec<NodeSpec>,
    /// Symbols in the lists of all nodes.
    listed_symbols: usize,
    /// By symbol, all 0 but while symbols are counted.
    counts: Vec<u32>,
    met: Vec<MetSymbol>,
    bits: f32,
}

/// A symbol of some rows: how many have it, and the bits that it costs so far.
struct MetSymbol {
    symbol: u32,
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

impl NodeSpec {
    /// How often each symbol was coded, and behind them the escape.
    fn usage(&self) -> Vec<u32> {
        self.list.iter().map(|&(_, count)| count).chain([self.escapes]).collect()
    }
}

impl<'a> TreeBuilder<'a> {
    /// The nodes, and the bits of data, where no usage is given, and model by estimate.
    fn run(view: &TrainingView, tree: &ColumnTree) -> (Vec<NodeSpec>, f32) {
        let (fields, groups) = view.groups(tree.column, tree.contexts);
        let symbols = view.column(tree.column).dictionary.numbers.len() + 1;
        let contexts = &fields[..tree.contexts.len()];
        let mut builder = TreeBuilder::new(&groups, contexts, symbols, tree);
        match tree.usage {
            Some(usage) => builder.start(usage),
            None => {
                let mut usage = vec![0; symbols];
                groups.iter().for_each(|group| usage[group.symbol as usize] += group.rows);
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

    fn new(
        groups: &'a [Group],
        fields: &'a [Field],
        symbols: usize,
        tree: &ColumnTree,
    ) -> TreeBuilder<'a> {
        let levels = fields.len() + 2;
        TreeBuilder {
            groups,
            fields,
            open: tree.open,
            estimates: tree.usage.is_none(),
            listed: vec![vec![NOWHERE; symbols]; levels],
            path: vec![None; levels],
            nodes: Vec::new(),
            listed_symbols: 0,
            counts: vec![0; symbols],
            met: Vec::new(),
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
        let all = self.groups;
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
    fn count(&mut self, groups: &[Group], level: usize) {
        let escape = self.counts.len() - 1;
        for group in groups {
            let symbol = group.symbol as usize;
            if self.estimates {
                let cost = self.cost(symbol, level);
                (0..group.rows).for_each(|_| self.bits += cost);
            }
            for level in (0..=level).rev() {
                let Some((node, _)) = self.path[level] else { continue };
                let listed = self.listed[level][symbol];
                let counted = &mut self.nodes[node as usize];
                match counted.list.get_mut(usize::from(listed.place)) {
                    Some(entry) if listed.node == node && symbol != escape => {
                        entry.1 += group.rows;
                        break;
                    }
                    _ => counted.escapes += group.rows,
                }
            }
        }
    }

    /// Makes a node for these rows, which have the contexts so far in common, when it saves bits;
    /// then nodes for the next context below it.
    fn split(&mut self, groups: &[Group], level: usize, context: u32) -> bool {
        let rows: u32 = groups.iter().map(|group| group.rows).sum();
        if level > 1 && (rows as usize) < RARE {
            return false;
        }
        let list = self.worthwhile(groups, rows, level);
        if list.is_empty() || self.listed_symbols + list.len() > MAX_LISTED {
            return false;
        }
        self.listed_symbols += list.len();
        let node = self.nodes.len() as u32;
        let listed: u32 = list.iter().map(|&(_, count)| count).sum();
        let left = rows as f32 - listed as f32 + self.slack();
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
        let depth = self.fields.len();
        if level > depth {
            self.count(groups, level);
        } else {
            let below: u32 = self.fields[level..].iter().map(Field::bits).sum();
            let above = |group: &Group| group.contexts >> below;
            for groups in groups.chunk_by(|a, b| above(a) == above(b)) {
                let context = self.fields[level - 1].take_context(&mut above(&groups[0]));
                if !self.split(groups, level + 1, context) {
                    self.count(groups, level);
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
    fn worthwhile(&mut self, groups: &[Group], rows: u32, level: usize) -> Vec<(u16, u32)> {
        self.meet(groups, level - 1);
        let before: f32 = self.met.iter().map(|met| met.count as f32 * met.bits).sum();
        if level > 1 && before < NODE_BITS + SYMBOL_BITS {
            return Vec::new();
        }
        let escape = self.counts.len() as u32 - 1;
        self.met.retain(|met| met.symbol != escape);
        self.met.sort_unstable_by_key(|met| (Reverse(met.count), met.symbol));

        let rows = rows as f32;
        let total = rows + self.slack();
        let total_bits = total.log2();
        let (mut best, mut best_len) = (before, 0);
        let (mut listed, mut entropy, mut rest) = (0.0, 0.0, before);
        for (len, met) in (1..=MAX_LIST).zip(&self.met) {
            let count = met.count as f32;
            listed += count;
            entropy -= count * count.log2();
            rest -= count * met.bits;
            let left = rows - listed;
            let escapes = left + self.slack();
            let leaving = if left > 0.0 { left * (total / escapes).log2() + rest } else { 0.0 };
            let after =
                entropy + listed * total_bits + leaving + NODE_BITS + SYMBOL_BITS * len as f32;
            if after < best {
                (best, best_len) = (after, len);
            }
        }
        let len = if level == 1 { MAX_LIST } else { best_len };
        self.met.iter().take(len).map(|met| (met.symbol as u16, met.count)).collect()
    }

    /// Counts the symbols of some rows, and says what each costs at a level or above.
    fn meet(&mut self, groups: &[Group], level: usize) {
        self.met.clear();
        for group in groups {
            let symbol = group.symbol as usize;
            if self.counts[symbol] == 0 {
                let bits = self.cost(symbol, level);
                self.met.push(MetSymbol { symbol: group.symbol, count: 0, bits });
            }
            self.counts[symbol] += group.rows;
        }
        for met in &mut self.met {
            met.count = std::mem::take(&mut self.counts[met.symbol as usize]);
        }
    }
}

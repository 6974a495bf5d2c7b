//! Building of a position model from the rows of a segment. A row is a position as thirteen
//! numbers.

use std::cmp::Reverse;
use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;

use super::candidates::CANDIDATES;
use super::context::{Context, Gain, PieceState};
use super::grow::{BuiltTree, CodedInNodes, ColumnRows, ContextValues, Purpose, TreeBuilder};
use super::intervals::{ColumnIntervals, TrainedEncoder};
use super::mirror::{LAST_RANK, coded_value};
use super::prediction::{self, MODES, PredictionMode, Step};
use super::spec::{MAX_DICTIONARY, ModelSpec, TreeSpec, ordered};
use super::spelling::Counts;
use crate::columns::{COLUMNS, EN_PASSANT, RANKS, Row};
use crate::numbered_column::NumberedColumn;

/// Estimated bits of a row that is coded as a move from the previous row.
const MOVE_BITS: f32 = 6.0;
/// Minimum average number of leading columns that rows share with a previous row. If rows share
/// more columns, prediction from previous rows is tried.
const ALIKE: f32 = 2.5;
/// Number of rows above which candidates (lists of contexts) are compared on a sample.
const SAMPLE: usize = 1 << 14;
/// Size of the first, smaller sample. Candidates whose bits are within a factor of [`CLOSE`] of the
/// best are compared again on a larger sample.
const FIRST_SAMPLE: usize = 1 << 12;
const CLOSE: f32 = 1.03;
/// Weight of a bit of the model when a sample is used. It is below 1 because a node also serves
/// rows outside of the sample.
const SAMPLE_MODEL: f32 = 0.65;

pub(crate) struct ModelPlan {
    /// True if the last rank is coded by its difference from the first rank.
    mirrors: bool,
    /// True if rows are predicted from previous rows.
    has_modes: bool,
    columns: Vec<ColumnPlan>,
}

/// Candidates for the plan of a model.
struct Outline {
    mirrors: bool,
    has_modes: bool,
    /// All candidates for each column.
    columns: Vec<Vec<ColumnPlan>>,
    /// Estimated bits of data and model, from the smaller sample.
    bits: f32,
}

struct ColumnPlan {
    contexts: &'static [Context],
    /// For each symbol and for the escape: the number of times that it is coded in the root,
    /// estimated from a sample.
    usage: Vec<u32>,
    /// Estimated bits of the sample and of the model.
    bits: f32,
}

/// Returns the prediction mode of each row; `None` for the first row of a block. `steps` has the
/// step from each row to the next.
fn modes(rows: &[Row], block: usize, steps: &[Option<Step>]) -> Vec<Option<PredictionMode>> {
    let block = block.max(1);
    let blocks = rows.par_chunks(block).zip(steps.par_chunks(block));
    blocks.flat_map_iter(|(rows, steps)| prediction::modes(rows, |place| steps[place])).collect()
}

/// Selects about `count` of `rows` rows, as groups of consecutive rows that are evenly spread.
/// Returns the numbers of these rows.
fn sample(rows: usize, count: usize) -> Vec<u32> {
    const RUN: usize = 64;
    let step = rows.div_ceil(count).max(1);
    let runs = (0..rows).step_by(step * RUN);
    runs.flat_map(|first| first as u32..rows.min(first + RUN) as u32).collect()
}

/// Number of rows that each row of a sample represents.
fn of_all(rows: &CodedRows, sampled: &[u32]) -> f32 {
    rows.places.len() as f32 / sampled.len().max(1) as f32
}

/// Returns the bits of the best plan.
fn min_bits(plans: &[ColumnPlan]) -> f32 {
    plans.iter().map(|plan| plan.bits).fold(f32::INFINITY, f32::min)
}

/// The rows of a segment, for building models.
pub(crate) struct TrainingSet {
    columns: NumberedColumns,
    alone: CodedRows,
    /// The rows with prediction from previous rows, if that may save bits.
    predicted: Option<CodedRows>,
    /// The mode of each row, if prediction may save bits.
    modes: Option<Arc<[Option<PredictionMode>]>>,
    /// The number of rows in each mode.
    mode_counts: [u32; MODES],
}

/// Number of an additional column: the last rank, coded by its difference from the first rank.
const MIRRORED: usize = COLUMNS;

/// All columns of all rows.
type NumberedColumns = Vec<NumberedColumn>;

fn numbered(rows: &[Row], column: usize) -> NumberedColumn {
    let (column, mirrors) = if column == MIRRORED { (LAST_RANK, true) } else { (column, false) };
    NumberedColumn::new(rows.iter().map(|row| coded_value(mirrors, row, column)))
}

/// The rows that are coded by columns, not as a move from the previous row.
struct CodedRows {
    /// Numbers of the rows.
    places: Vec<u32>,
    /// For each row: its first column that is coded.
    first: Vec<u8>,
    columns: Vec<ColumnSymbols>,
}

/// The values of a column of some rows, with their symbols.
struct ColumnSymbols {
    dictionary: Dictionary,
    /// Symbol of each value. A value that is not in the dictionary has the escape, whose number is the number
    /// of symbols.
    symbols: Vec<u16>,
    counts: Vec<u32>,
}

impl ColumnSymbols {
    /// Makes the symbols of a column whose values have these counts.
    fn new(column: usize, numbered: &NumberedColumn, counts: Vec<u32>) -> ColumnSymbols {
        let column = if column == MIRRORED { LAST_RANK } else { column };
        let dictionary = Dictionary::new(column, &numbered.values, &counts);
        let mut symbols = vec![dictionary.numbers.len() as u16; counts.len()];
        for (symbol, &number) in (0..).zip(&dictionary.numbers) {
            symbols[number as usize] = symbol;
        }
        ColumnSymbols { dictionary, symbols, counts }
    }
}

impl CodedRows {
    /// All rows, coded without prediction.
    fn alone(columns: &NumberedColumns, rows: usize) -> CodedRows {
        let symbols = |(column, numbered): (usize, &NumberedColumn)| {
            ColumnSymbols::new(column, numbered, numbered.counts.clone())
        };
        CodedRows {
            places: (0..rows as u32).collect(),
            first: vec![0; rows],
            columns: columns.par_iter().enumerate().map(symbols).collect(),
        }
    }

    /// The rows that are not coded as a move from the previous row.
    fn predicted(columns: &NumberedColumns, modes: &[u8]) -> CodedRows {
        let coded = (0..).zip(modes).filter(|&(_, &mode)| usize::from(mode) <= COLUMNS);
        let (places, first): (Vec<u32>, Vec<u8>) = coded.unzip();
        // Only values that are coded in this column count for the dictionary.
        let symbols = |(column, numbered): (usize, &NumberedColumn)| {
            let mut counts = vec![0; numbered.values.len()];
            let last = if column == MIRRORED { LAST_RANK } else { column };
            for (&place, &first) in places.iter().zip(&first) {
                counts[numbered.numbers[place as usize] as usize] +=
                    u32::from(usize::from(first) <= last);
            }
            ColumnSymbols::new(column, numbered, counts)
        };
        let columns = columns.par_iter().enumerate().map(symbols).collect();
        CodedRows { places, first, columns }
    }

    /// Extracts some of these rows, given by index.
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
            let gains: Vec<Gain> =
                columns[column].values.iter().map(|&it| Gain::from_rank(it)).collect();
            for (state, number) in states.iter_mut().zip(numbers(column)) {
                state.add(column, gains[number]);
            }
            states.clone()
        };
        let (pieces, symbols) = rayon::join(
            || (RANKS..EN_PASSANT).map(after).collect(),
            || (0..columns.len()).into_par_iter().map(symbols).collect(),
        );
        let first: Vec<u8> = rows.iter().map(|&row| self.first[row as usize]).collect();
        PartOfRows {
            last_first: first.iter().copied().max().unwrap_or(0).into(),
            first,
            pieces,
            symbols,
        }
    }

    /// Extracts all of these rows.
    fn whole(&self, columns: &NumberedColumns) -> PartOfRows {
        let rows: Vec<u32> = (0..self.places.len() as u32).collect();
        self.part(columns, &rows)
    }
}

/// Rows from which a tree is built.
struct PartOfRows {
    /// For each row the first column that is coded.
    first: Vec<u8>,
    /// The largest value in `first`.
    last_first: usize,
    symbols: Vec<Vec<u16>>,
    /// For each rank column the pieces of each row up to it, as the state of the contexts.
    pieces: Vec<Vec<PieceState>>,
}

impl TrainingSet {
    /// Makes a training set of rows that will be coded in blocks of `block` rows. `steps` has the
    /// step from each row to the next.
    pub(crate) fn new(rows: &[Row], block: usize, steps: &[Option<Step>]) -> TrainingSet {
        let modes = modes(rows, block, steps);
        let number = |mode: &Option<PredictionMode>| mode.map_or(0, PredictionMode::number);
        let numbers: Vec<u8> = modes.iter().map(|mode| number(mode) as u8).collect();
        let mut mode_counts = [0; MODES];
        numbers.iter().for_each(|&mode| mode_counts[usize::from(mode)] += 1);
        let alike: u64 = numbers.iter().map(|&mode| u64::from(mode).min(COLUMNS as u64)).sum();
        let is_alike = alike as f32 > ALIKE * rows.len() as f32;
        let columns: NumberedColumns =
            (0..=MIRRORED).into_par_iter().map(|column| numbered(rows, column)).collect();
        TrainingSet {
            alone: CodedRows::alone(&columns, rows.len()),
            predicted: is_alike.then(|| CodedRows::predicted(&columns, &numbers)),
            columns,
            modes: is_alike.then(|| modes.into()),
            mode_counts,
        }
    }

    /// Returns the better of the plans with and without prediction from previous rows.
    pub(crate) fn best_plan(&self) -> ModelPlan {
        let has_modes = false;
        let mut best = self.outline(has_modes);
        if self.predicted.is_some() {
            let has_modes = true;
            let predicted = self.outline(has_modes);
            if predicted.bits < best.bits {
                best = predicted;
            }
        }
        self.choose_contexts(best)
    }

    /// Plans a model, with or without prediction from previous rows.
    pub(crate) fn plan(&self, has_modes: bool) -> ModelPlan {
        self.choose_contexts(self.outline(has_modes))
    }

    /// Returns the rows as they are coded: with or without prediction from previous rows.
    fn coded(&self, has_modes: bool) -> &CodedRows {
        match &self.predicted {
            Some(predicted) if has_modes => predicted,
            _ => &self.alone,
        }
    }

    /// Evaluates all candidates on the smaller sample.
    fn outline(&self, has_modes: bool) -> Outline {
        let rows = self.coded(has_modes);
        let sampled = sample(rows.places.len(), FIRST_SAMPLE);
        let part = rows.part(&self.columns, &sampled);
        let of = |mirrors, columns: Range<usize>| -> Vec<Vec<ColumnPlan>> {
            let view = TrainingView { rows, part: &part, mirrors };
            let columns = columns.into_par_iter();
            columns.map(|column| view.plans(column, CANDIDATES[column])).collect()
        };
        let bits = |columns: &[Vec<ColumnPlan>]| columns.iter().map(|it| min_bits(it)).sum::<f32>();
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

    /// Chooses between the remaining candidates of each column on the larger sample.
    fn choose_contexts(&self, outline: Outline) -> ModelPlan {
        let Outline { mirrors, has_modes, columns, .. } = outline;
        let rows = self.coded(has_modes);
        let [first, sampled] = [FIRST_SAMPLE, SAMPLE].map(|count| sample(rows.places.len(), count));
        let part = rows.part(&self.columns, &sampled);
        let view = TrainingView { rows, part: &part, mirrors };
        let choose = |(column, mut plans): (usize, Vec<ColumnPlan>)| {
            let limit = min_bits(&plans) * CLOSE;
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

    /// Builds an open model. It can also code other rows, because every node has an escape.
    pub(crate) fn build_open(&self, plan: &ModelPlan) -> ModelSpec {
        let part = self.coded(plan.has_modes).whole(&self.columns);
        let view = self.view(plan, &part);
        let is_open = true;
        let tree =
            |column: usize| view.tree(&self.columns, &plan.columns[column], column, is_open).0;
        let columns = (0..COLUMNS).into_par_iter().map(tree).collect();
        self.rounded(plan, columns, view.spelled(&self.columns, is_open))
    }

    /// Builds a model, and an encoder of these rows.
    pub(crate) fn build(&self, plan: &ModelPlan) -> (ModelSpec, TrainedEncoder) {
        let part = self.coded(plan.has_modes).whole(&self.columns);
        let view = self.view(plan, &part);
        let is_open = false;
        let tree = |column: usize| {
            let plan = &plan.columns[column];
            let (tree, coded) = view.tree(&self.columns, plan, column, is_open);
            let symbols = &part.symbols[view.place(column)];
            let intervals =
                ColumnIntervals::new(&tree.nodes, &coded, symbols, view.symbols(column));
            (tree, intervals)
        };
        let (columns, intervals) = (0..COLUMNS).into_par_iter().map(tree).unzip();
        let spec = self.rounded(plan, columns, view.spelled(&self.columns, is_open));
        let places = plan.has_modes.then(|| view.rows.places.clone());
        let modes = if plan.has_modes { self.modes.clone() } else { None };
        let encoder = TrainedEncoder::new(&spec, intervals, places, modes);
        (spec, encoder)
    }

    fn view<'a>(&'a self, plan: &ModelPlan, part: &'a PartOfRows) -> TrainingView<'a> {
        TrainingView { rows: self.coded(plan.has_modes), part, mirrors: plan.mirrors }
    }

    fn rounded(&self, plan: &ModelPlan, columns: Vec<TreeSpec>, spelled: Counts) -> ModelSpec {
        let modes = plan.has_modes.then_some(self.mode_counts);
        let mut spec = ModelSpec { mirrors: plan.mirrors, columns, spelled, modes };
        spec.round_counts();
        spec
    }
}

/// Rows as they are coded under a plan.
struct TrainingView<'a> {
    rows: &'a CodedRows,
    part: &'a PartOfRows,
    mirrors: bool,
}

impl TrainingView<'_> {
    /// Returns the finished tree of a column, and the nodes in which the rows are coded.
    fn tree(
        &self,
        columns: &NumberedColumns,
        plan: &ColumnPlan,
        column: usize,
        open: bool,
    ) -> (TreeSpec, CodedInNodes) {
        let ColumnPlan { contexts, ref usage, .. } = *plan;
        let rows = self.column_rows(column, contexts);
        let BuiltTree { nodes, mut coded, .. } =
            TreeBuilder::run(rows, Purpose::Use { usage, open });
        let numbered = &columns[self.place(column)].values;
        let Dictionary { numbers, class_lens } = &self.column(column).dictionary;
        let mut spec = TreeSpec {
            contexts: contexts.to_vec(),
            dictionary: numbers.iter().map(|&number| numbered[number as usize]).collect(),
            class_lens: class_lens.clone(),
            nodes,
        };
        coded.rename(&spec.prune_and_round());
        (spec, coded)
    }

    /// Evaluates lists of contexts for a column on a sample. Returns a plan for each.
    fn plans(&self, column: usize, candidates: &[&'static [Context]]) -> Vec<ColumnPlan> {
        let are_all = self.part.first.len() == self.rows.places.len();
        let purpose = Purpose::Trial { model: if are_all { 1.0 } else { SAMPLE_MODEL } };
        let plan = |&contexts: &&'static [Context]| {
            let built = TreeBuilder::run(self.column_rows(column, contexts), purpose);
            ColumnPlan { contexts, usage: built.nodes[0].usage(), bits: built.bits }
        };
        candidates.iter().map(plan).collect()
    }

    /// Index of a column among all columns.
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
                if symbol == self.symbols(column) {
                    (0..count).for_each(|_| counts.add(column, value));
                }
            }
        }
        if open {
            counts.open();
        }
        counts
    }

    /// Returns the rows from which the tree of a column with these contexts is built.
    fn column_rows(&self, column: usize, contexts: &[Context]) -> ColumnRows<'_> {
        let part = self.part;
        let behind = column.min(EN_PASSANT).checked_sub(RANKS + 1);
        let pieces = behind.and_then(|rank| part.pieces.get(rank));
        let values = |&context: &Context| match context {
            Context::Column(earlier) => {
                let earlier = usize::from(earlier);
                let values = &part.symbols[self.place(earlier)];
                ContextValues::Symbols { values, escape: self.symbols(earlier) }
            }
            _ => ContextValues::Pieces(match pieces {
                Some(pieces) => pieces.iter().map(|pieces| pieces.value(context)).collect(),
                None => vec![0; part.first.len()],
            }),
        };
        let mut rows: Vec<u32> = (0..part.first.len() as u32).collect();
        if column < part.last_first {
            rows.retain(|&row| usize::from(part.first[row as usize]) <= column);
        }
        ColumnRows {
            rows,
            symbols: &part.symbols[self.place(column)],
            escape: self.symbols(column),
            contexts: contexts.iter().map(values).collect(),
        }
    }

    /// Number of symbols of a column. It is also the number that stands for the escape.
    fn symbols(&self, column: usize) -> u16 {
        self.column(column).dictionary.numbers.len() as u16
    }
}

/// The values of a column that occur more than once. They are sorted by class of frequency, the
/// most frequent class first. Class n has the values with counts from 2^n up to 2^(n+1) - 1. The
/// values of a class are in the order of the file.
struct Dictionary {
    /// Numbers of the values.
    numbers: Vec<u32>,
    /// Number of values in each class, by n.
    class_lens: Vec<u32>,
}

impl Dictionary {
    fn new(column: usize, values: &[u32], counts: &[u32]) -> Dictionary {
        let mut frequent: Vec<(u32, u32)> =
            (0..).zip(counts.iter().copied()).filter(|&(_, count)| count > 1).collect();
        let value = |number: u32| values[number as usize];
        if frequent.len() > MAX_DICTIONARY {
            frequent.sort_unstable_by_key(|&(number, count)| (Reverse(count), value(number)));
            frequent.truncate(MAX_DICTIONARY);
        }
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

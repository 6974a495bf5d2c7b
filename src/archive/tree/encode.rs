//! Encoding of the rows of blocks with a position model.
// Rows are encoded column by column, so that the cache misses of different rows overlap. Symbols
// are searched for in the list of their node; one hash table of all nodes was slower.

use super::PositionModel;
use super::context::{ContextState, ESCAPE};
use super::mirror::coded_value;
use super::nodes::{NO_NODE, Path};
use super::prediction::{self, PredictionMode, Step};
use super::table::Table;
use crate::columns::{COLUMNS, Row};
use crate::rans::{Interval, SCALE};

impl PositionModel {
    pub(crate) fn encoder(&self) -> RowEncoder<'_> {
        let long = || self.nodes.each().filter(|(_, node)| node.are_many());
        let count = long().map(|(_, node)| self.tables.symbols(node).count()).sum();
        let mut intervals = Table::with_capacity(count);
        for (place, node) in long() {
            for (symbol, at) in self.tables.symbols(node) {
                intervals.insert(place, symbol.into(), at);
            }
        }
        let mut symbols = Vec::with_capacity(COLUMNS);
        for column in &self.columns {
            let mut table = Table::with_capacity(column.dictionary.len());
            for (symbol, entry) in (0..).zip(&column.dictionary) {
                table.insert(0, entry.value, symbol);
            }
            symbols.push(table);
        }
        RowEncoder { model: self, intervals, symbols }
    }
}

pub(crate) struct RowEncoder<'a> {
    model: &'a PositionModel,
    /// For nodes with many symbols: the place of the interval of each symbol.
    intervals: Table,
    /// For each column: the symbol of each value.
    symbols: Vec<Table>,
}

/// A row whose columns are coded.
#[derive(Copy, Clone)]
struct CodedRow<'a> {
    row: &'a Row,
    state: ContextState,
    path: Path,
    symbol: u16,
}

/// The rows of a block that have coded columns. The row with the most coded columns comes first.
struct CodedRows<'a> {
    rows: Vec<CodedRow<'a>>,
    /// For each row in the order of the block: its first coded column, and its index in `rows`.
    in_block: Vec<(usize, usize)>,
}

impl<'a> CodedRows<'a> {
    /// Adds the rows whose first coded column is `column`. For the columns before `column`, a row
    /// copies the state of the nearest earlier row that was already added.
    fn begin(&mut self, column: usize, rows: &[&'a Row], path: Path) {
        let mut last = None;
        for (&row, (first, place)) in rows.iter().zip(&mut self.in_block) {
            if *first == column {
                *place = self.rows.len();
                let state =
                    last.map_or_else(ContextState::default, |last: usize| self.rows[last].state);
                self.rows.push(CodedRow { row, state, path, symbol: ESCAPE });
            }
            if *first <= column {
                last = Some(*place);
            }
        }
    }
}

/// Intervals of some rows of a block, row by row.
struct IntervalsByRow {
    intervals: Vec<Interval>,
    ends: Vec<usize>,
}

impl IntervalsByRow {
    fn with_capacity(rows: usize) -> IntervalsByRow {
        IntervalsByRow {
            intervals: Vec::with_capacity(rows + rows / 2),
            ends: Vec::with_capacity(rows),
        }
    }

    fn end_row(&mut self) {
        self.ends.push(self.intervals.len());
    }

    fn of_row(&self, nth: usize) -> &[Interval] {
        let start = nth.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.intervals[start..self.ends[nth]]
    }
}

struct BlockIntervals {
    modes: IntervalsByRow,
    /// For each row that no move predicts: its first coded column, and its index among the rows of
    /// a column. `None` for rows that a move predicts.
    coded: Vec<Option<(usize, usize)>>,
    columns: Vec<IntervalsByRow>,
}

impl RowEncoder<'_> {
    pub(crate) fn encode(&self, rows: &[Row]) -> Vec<Interval> {
        let block = self.intervals_of(rows);
        let mut out = Vec::with_capacity(rows.len() * (COLUMNS + 3));
        for (nth, coded) in block.coded.iter().enumerate() {
            out.extend(block.modes.of_row(nth));
            let Some((first, place)) = *coded else { continue };
            block.columns[first..].iter().for_each(|column| out.extend(column.of_row(place)));
        }
        out
    }

    /// Adds the number of bits of each column, summed over the rows of a block. The bits of
    /// prediction modes count for the first column.
    pub(crate) fn add_bits(&self, rows: &[Row], bits: &mut [f64; COLUMNS]) {
        let price = |interval: &Interval| (f64::from(SCALE) / f64::from(interval.freq)).log2();
        let sum = |part: &IntervalsByRow| part.intervals.iter().map(price).sum::<f64>();
        let block = self.intervals_of(rows);
        bits[0] += sum(&block.modes);
        bits.iter_mut().zip(&block.columns).for_each(|(bits, column)| *bits += sum(column));
    }

    /// Finds the intervals of a block column by column, so that cache misses of rows overlap.
    fn intervals_of(&self, rows: &[Row]) -> BlockIntervals {
        let mut modes = IntervalsByRow::with_capacity(rows.len());
        let mut first = Vec::with_capacity(rows.len());
        let step = |place: usize| Step::between(&rows[place], &rows[place + 1]);
        let mut predicted = prediction::modes(rows, step);
        for _ in rows {
            let distribution = self.model.modes.as_ref();
            let mode = distribution.and_then(|modes| Some((modes, predicted.next()??)));
            let mut columns = Some(0);
            if let Some((distribution, mode)) = mode {
                modes.intervals.push(distribution.interval(mode));
                columns = match mode {
                    PredictionMode::Columns(count) => Some(count),
                    PredictionMode::Move(predicted) => {
                        modes.intervals.push(predicted.interval());
                        None
                    }
                };
            }
            modes.end_row();
            first.push(columns);
        }
        let (coded_rows, in_block) = rows
            .iter()
            .zip(&first)
            .filter_map(|(row, first)| first.map(|first| (row, (first, usize::MAX))))
            .unzip::<_, _, Vec<_>, _>();
        let mut coded = CodedRows { rows: Vec::with_capacity(rows.len()), in_block };
        let column = |place: usize| {
            coded.begin(place, &coded_rows, self.model.columns[place].start);
            self.column(place, &mut coded.rows)
        };
        let columns = (0..COLUMNS).map(column).collect();
        let mut places = coded.in_block.into_iter();
        let coded = first.iter().map(|first| first.and_then(|_| places.next())).collect();
        BlockIntervals { modes, coded, columns }
    }

    /// Finds the intervals of a column, and updates the state of the rows.
    fn column(&self, place: usize, rows: &mut [CodedRow]) -> IntervalsByRow {
        let column = &self.model.columns[place];
        let coded = |row: &Row| coded_value(self.model.mirrors, row, place);
        for row in &mut *rows {
            let symbol = self.symbols[place].get(0, coded(row.row));
            row.symbol = symbol.map_or(ESCAPE, |symbol| symbol as u16);
            row.path = column.start;
        }
        for &context in &column.contexts {
            let nodes = &self.model.nodes;
            rows.iter_mut().for_each(|row| row.path.step(nodes, row.state.value(context)));
        }
        rows.iter().for_each(|row| self.prefetch(row.path.longest, row.symbol));
        let mut out = IntervalsByRow::with_capacity(rows.len());
        for row in &mut *rows {
            self.put_symbol(row.path.longest, row.symbol, &mut out.intervals);
            if row.symbol == ESCAPE {
                self.model.spelling.encode(place, coded(row.row), &mut out.intervals);
            }
            out.end_row();
            row.state.update(place, row.symbol, row.row.0[place]);
        }
        out
    }

    /// Prefetches the memory in which a symbol of a node will be searched.
    fn prefetch(&self, at: u32, symbol: u16) {
        let node = self.model.nodes.symbols(at);
        if node.are_many() {
            self.intervals.prefetch(at, symbol.into())
        } else {
            self.model.tables.prefetch(node.first())
        }
    }

    fn put_symbol(&self, mut at: u32, symbol: u16, out: &mut Vec<Interval>) {
        while at != NO_NODE {
            let node = self.model.nodes.symbols(at);
            let found = if node.are_many() {
                self.interval(at, symbol).ok_or_else(|| self.interval(at, ESCAPE))
            } else {
                self.model.tables.search(node, symbol)
            };
            let (interval, is_escape) = match found {
                Ok(interval) => (interval, symbol == ESCAPE),
                Err(Some(escape)) => (escape, true),
                Err(None) => return,
            };
            out.push(interval);
            if !is_escape {
                return;
            }
            at = self.model.nodes.parent(at);
        }
    }

    /// The interval of a symbol in a node with many symbols.
    fn interval(&self, node: u32, symbol: u16) -> Option<Interval> {
        let place = self.intervals.get(node, symbol.into())?;
        Some(self.model.tables.at(place))
    }
}

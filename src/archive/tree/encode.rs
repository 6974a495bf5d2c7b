//! Encoding the rows of blocks.

use super::context::{ContextState, ESCAPE};
use super::mirror::coded_value;
use super::model::PositionModel;
use super::nodes::NO_NODE;
use super::prediction::{EncodeHistory, PredictionMode};
use super::table::Table;
use crate::archive::rans::{Interval, SCALE};
use crate::archive::row::{COLUMNS, Row};

impl PositionModel {
    /// An encoder that has all intervals at hand.
    pub(in crate::archive) fn encoder(&self) -> RowEncoder<'_> {
        let mut intervals = Table::with_room_for(self.tables.len());
        let mut symbols = Vec::with_capacity(COLUMNS);
        for (place, node) in self.nodes.each() {
            for (symbol, at) in self.tables.symbols(node) {
                intervals.insert(place, symbol.into(), at);
            }
        }
        for column in &self.columns {
            let mut table = Table::with_room_for(column.dictionary.len());
            for (symbol, &value) in (0..).zip(&column.dictionary) {
                table.insert(0, value, symbol);
            }
            symbols.push(table);
        }
        RowEncoder { model: self, intervals, symbols }
    }
}

/// Codes rows with a model.
pub(in crate::archive) struct RowEncoder<'a> {
    model: &'a PositionModel,
    /// The place of the interval of a symbol in a node.
    intervals: Table,
    /// The symbol of a value in each column.
    symbols: Vec<Table>,
}

impl RowEncoder<'_> {
    /// The intervals of the rows of a block.
    pub(in crate::archive) fn encode(&self, rows: &[Row]) -> Vec<Interval> {
        let mut out = Vec::with_capacity(rows.len() * (COLUMNS + 3));
        self.put_rows(rows, &mut out, |_, _| {});
        out
    }

    /// Adds the bits that each column of the rows of a block takes; what predicts a row from those
    /// before is added to the first.
    pub(in crate::archive) fn add_bits(&self, rows: &[Row], bits: &mut [f64; COLUMNS]) {
        let price = |interval: &Interval| (f64::from(SCALE) / f64::from(interval.freq)).log2();
        let mut start = 0;
        self.put_rows(rows, &mut Vec::new(), |column, out| {
            bits[column] += out[start..].iter().map(price).sum::<f64>();
            start = out.len();
        });
    }

    /// `after` is called after each column.
    fn put_rows(
        &self,
        rows: &[Row],
        out: &mut Vec<Interval>,
        mut after: impl FnMut(usize, &[Interval]),
    ) {
        let mut history = EncodeHistory::default();
        for row in rows {
            let mut first = 0;
            if let Some(modes) = &self.model.modes
                && let Some(mode) = history.next(row)
            {
                out.push(modes.interval(mode));
                match mode {
                    PredictionMode::Columns(count) => first = count,
                    PredictionMode::Move(predicted) => out.push(predicted.interval()),
                }
                after(0, out);
                if matches!(mode, PredictionMode::Move(_)) {
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
        out: &mut Vec<Interval>,
        after: &mut impl FnMut(usize, &[Interval]),
    ) {
        let mut state = ContextState::default();
        for (place, column) in self.model.columns.iter().enumerate() {
            let coded = coded_value(self.model.mirrors, row, place);
            let symbol = self.symbols[place].get(0, coded).map_or(ESCAPE, |symbol| symbol as u16);
            if place >= first {
                self.put_symbol(self.model.node(column, &state), symbol, out);
                if symbol == ESCAPE {
                    self.model.spelling.encode(place, coded, out);
                }
            }
            state.update(place, symbol, row.0[place]);
            after(place, out);
        }
    }

    fn put_symbol(&self, mut at: u32, symbol: u16, out: &mut Vec<Interval>) {
        while at != NO_NODE {
            let found = self.intervals.get(at, symbol.into());
            let escape = || self.intervals.get(at, ESCAPE.into());
            let Some(place) = found.or_else(escape) else { return };
            out.push(self.model.tables.at(place));
            if found.is_some() && symbol != ESCAPE {
                return;
            }
            at = self.model.nodes.get(at).parent;
        }
    }
}

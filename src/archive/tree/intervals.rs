//! The intervals of the rows from which a model was built. The intervals are found node by node,
//! because the rows are already grouped by node. That is faster than a search for each row.

use std::sync::Arc;

use super::grow::CodedInNodes;
use super::mirror::coded_value;
use super::prediction::{PredictionMode, PredictionModes};
use super::spec::{ModelSpec, NodeSpec};
use super::spelling::Spelling;
use crate::columns::{COLUMNS, Row};
use crate::rans::Interval;

/// The nodes of a path in a tree, from the root, with the intervals of their symbols.
struct OpenPath<'a> {
    tree: &'a [NodeSpec],
    /// The number that stands for the escape: the number of symbols.
    escape: u16,
    nodes: Vec<OpenNode>,
}

/// A node whose intervals are indexed by symbol.
struct OpenNode {
    node: u32,
    /// For each symbol the last node of this depth that lists it, and its interval there.
    intervals: Vec<(u32, Interval)>,
}

impl OpenNode {
    #[inline]
    fn interval(&self, symbol: u16) -> Option<Interval> {
        let (node, interval) = self.intervals[usize::from(symbol)];
        (node == self.node).then_some(interval)
    }
}

const NOWHERE: (u32, Interval) = (u32::MAX, Interval { start: 0, freq: 0 });

impl OpenPath<'_> {
    /// Opens the path to a node, and returns the depth of the node.
    fn go_to(&mut self, node: u32) -> usize {
        let depth = match node {
            0 => 0,
            _ => self.go_to(self.tree[node as usize].parent) + 1,
        };
        if self.nodes.len() == depth {
            let intervals = vec![NOWHERE; usize::from(self.escape) + 1];
            self.nodes.push(OpenNode { node: u32::MAX, intervals });
        }
        let open = &mut self.nodes[depth];
        if open.node != node {
            open.node = node;
            for (symbol, interval) in self.tree[node as usize].intervals() {
                open.intervals[usize::from(symbol.min(self.escape))] = (node, interval);
            }
        }
        depth
    }

    /// Appends the intervals that code a symbol. The coding begins at `depth` of
    /// the path. The intervals of the escapes come first, then the interval of the symbol.
    fn put(&self, depth: usize, symbol: u16, out: &mut Vec<Interval>) {
        for node in self.nodes[..=depth].iter().rev() {
            let found = node.interval(symbol);
            out.extend(found.or_else(|| node.interval(self.escape)));
            if found.is_some() && symbol != self.escape {
                return;
            }
        }
    }
}

pub(super) struct ColumnIntervals {
    rows: Vec<RowIntervals>,
    /// Intervals of the rows that have more than one interval, or a value that is written in full.
    sequences: Vec<Interval>,
    /// End of each sequence in `sequences`.
    ends: Vec<u32>,
}

/// Intervals of one row in a column. If the highest bit is 0, the other bits are a single interval.
/// If the highest bit is 1, the other bits are the number of a sequence. The highest of these other
/// bits is set if the value follows in full.
#[derive(Copy, Clone, Default)]
struct RowIntervals(u32);

const SEQUENCE: u32 = 1 << 31;
const SPELLED: u32 = 1 << 30;

impl RowIntervals {
    const fn one(interval: Interval) -> RowIntervals {
        RowIntervals((interval.start as u32) << 16 | interval.freq as u32)
    }

    const fn sequence(number: u32, is_spelled: bool) -> RowIntervals {
        RowIntervals(SEQUENCE | if is_spelled { SPELLED } else { 0 } | number)
    }

    /// The single interval; `None` for a sequence.
    const fn as_one(self) -> Option<Interval> {
        let interval = Interval { start: (self.0 >> 16) as u16, freq: self.0 as u16 };
        if self.0 & SEQUENCE == 0 { Some(interval) } else { None }
    }

    const fn is_spelled(self) -> bool {
        self.0 & (SEQUENCE | SPELLED) == SEQUENCE | SPELLED
    }

    const fn number(self) -> usize {
        (self.0 & (SPELLED - 1)) as usize
    }
}

impl ColumnIntervals {
    /// Finds the intervals of rows that are coded in the nodes of a tree. In `symbols` the number
    /// `escape` stands for the escape.
    pub(super) fn new(
        tree: &[NodeSpec],
        coded: &CodedInNodes,
        symbols: &[u16],
        escape: u16,
    ) -> ColumnIntervals {
        let mut path = OpenPath { tree, escape, nodes: Vec::new() };
        let mut column = ColumnIntervals {
            rows: vec![RowIntervals::default(); symbols.len()],
            sequences: Vec::new(),
            ends: Vec::new(),
        };
        for (node, rows) in coded.each() {
            let depth = path.go_to(node);
            let innermost = &path.nodes[depth];
            for &row in rows {
                let symbol = symbols[row as usize];
                column.rows[row as usize] = match innermost.interval(symbol) {
                    Some(interval) if symbol != escape => RowIntervals::one(interval),
                    _ => {
                        path.put(depth, symbol, &mut column.sequences);
                        column.ends.push(column.sequences.len() as u32);
                        RowIntervals::sequence(column.ends.len() as u32 - 1, symbol == escape)
                    }
                };
            }
        }
        column
    }

    /// Appends the intervals of a row. Returns true if the value must be spelled out after them.
    #[inline]
    fn put(&self, row: usize, out: &mut Vec<Interval>) -> bool {
        let intervals = self.rows[row];
        if let Some(interval) = intervals.as_one() {
            out.push(interval);
            return false;
        }
        let number = intervals.number();
        let first = number.checked_sub(1).map_or(0, |before| self.ends[before] as usize);
        out.extend_from_slice(&self.sequences[first..self.ends[number] as usize]);
        intervals.is_spelled()
    }
}

/// Encoder of the rows from which a model was built.
pub(crate) struct TrainedEncoder {
    mirrors: bool,
    columns: Vec<ColumnIntervals>,
    spelling: Spelling,
    predictions: Option<Predictions>,
    /// With prediction, the numbers of the rows that no move predicts. The columns have only these.
    places: Option<Vec<u32>>,
}

/// Prediction modes of the rows.
struct Predictions {
    distribution: PredictionModes,
    /// Mode of each row. It is kept from the training, because computing it again would need a
    /// search for a move.
    modes: Arc<[Option<PredictionMode>]>,
}

impl TrainedEncoder {
    /// Makes an encoder for a finished model.
    pub(super) fn new(
        spec: &ModelSpec,
        columns: Vec<ColumnIntervals>,
        places: Option<Vec<u32>>,
        modes: Option<Arc<[Option<PredictionMode>]>>,
    ) -> TrainedEncoder {
        let distribution = spec.modes.as_ref().map(PredictionModes::new);
        let predictions = distribution.zip(modes);
        TrainedEncoder {
            mirrors: spec.mirrors,
            columns,
            spelling: Spelling::new(&spec.spelled),
            predictions: predictions
                .map(|(distribution, modes)| Predictions { distribution, modes }),
            places,
        }
    }

    /// Returns the intervals of the rows of a block. The first row has the number `first`.
    pub(crate) fn encode(&self, first: usize, rows: &[Row]) -> Vec<Interval> {
        let mut out = Vec::with_capacity(rows.len() * (COLUMNS + 3));
        let mut place = match &self.places {
            Some(places) => places.partition_point(|&place| (place as usize) < first),
            None => first,
        };
        for (number, row) in (first..).zip(rows) {
            let first = match &self.predictions {
                Some(Predictions { distribution, modes }) => {
                    put_mode(distribution, modes[number], &mut out)
                }
                None => Some(0),
            };
            if let Some(first) = first {
                self.put_columns(first, place, row, &mut out);
                place += 1;
            }
        }
        out
    }

    fn put_columns(&self, first: usize, place: usize, row: &Row, out: &mut Vec<Interval>) {
        for (column, intervals) in self.columns.iter().enumerate().skip(first) {
            if intervals.put(place, out) {
                self.spelling.encode(column, coded_value(self.mirrors, row, column), out);
            }
        }
    }
}

/// Appends the prediction of a row. Returns its first coded column; `None` if a move predicts it.
fn put_mode(
    modes: &PredictionModes,
    mode: Option<PredictionMode>,
    out: &mut Vec<Interval>,
) -> Option<usize> {
    let Some(mode) = mode else { return Some(0) };
    out.push(modes.interval(mode));
    match mode {
        PredictionMode::Columns(count) => Some(count),
        PredictionMode::Move(predicted) => {
            out.push(predicted.interval());
            None
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::columns::{EN_PASSANT, RANKS, is_rank};
    use crate::tree::{PositionModel, TrainingSet, steps};

    const BLOCK: usize = 64;

    /// Rows that have much in common with previous rows, and also some unique values.
    fn rows(count: usize) -> Vec<Row> {
        let mut state = 1_u64;
        let mut random = |below: u32| {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            (state >> 33) as u32 % below
        };
        let mut row = Row::default();
        let next = |_| {
            let first = random(COLUMNS as u32) as usize;
            for column in first..COLUMNS {
                let common = random(3) + row.0[column.saturating_sub(1)] % 5;
                let rank = (0..8).fold(0, |rank, _| rank << 4 | random(13));
                row.0[column] = match random(40) {
                    0 if is_rank(column) => rank,
                    0 if column > EN_PASSANT => rank,
                    _ if column == RANKS => 0x4235_6324 + common,
                    _ => common,
                };
            }
            row
        };
        (0..count).map(next).collect()
    }

    #[test]
    fn rows_are_coded_as_by_the_model_that_is_read() {
        let rows = rows(20_000);
        let training = TrainingSet::new(&rows, BLOCK, &steps(&rows));
        for has_modes in [false, true] {
            let (spec, encoder) = training.build(&training.plan(has_modes));
            assert!(spec.columns.iter().map(|column| column.nodes.len()).sum::<usize>() > 40);
            let model = PositionModel::read(&spec.write(), usize::MAX).unwrap();
            let expected = model.encoder();
            for (number, block) in rows.chunks(BLOCK).enumerate() {
                assert_eq!(encoder.encode(number * BLOCK, block), expected.encode(block));
            }
        }
    }
}

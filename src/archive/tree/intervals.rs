//! The intervals of the rows of which a model was built: they are looked up while the rows of a node
//! stand side by side.

use super::grow::CodedInNodes;
use super::mirror::coded_value;
use super::prediction::{EncodeHistory, PredictionMode, PredictionModes};
use super::spec::{ModelSpec, NodeSpec};
use super::spelling::Spelling;
use crate::archive::rans::Interval;
use crate::archive::row::{COLUMNS, Row};

/// The nodes of a path in a tree, the outermost first, with the intervals of their symbols.
struct OpenPath<'a> {
    tree: &'a [NodeSpec],
    nodes: Vec<OpenNode>,
}

/// A node whose symbols are laid out.
struct OpenNode {
    node: u32,
    /// By symbol, the escape last: the last node of this depth that has the symbol, and the interval
    /// there.
    intervals: Vec<(u32, Interval)>,
}

const NOWHERE: (u32, Interval) = (u32::MAX, Interval { start: 0, freq: 0 });

impl OpenPath<'_> {
    /// The path that ends in a node, where symbols go up to the escape.
    fn go_to(&mut self, node: u32, escape: u16) -> usize {
        let depth = match node {
            0 => 0,
            _ => self.go_to(self.tree[node as usize].parent, escape) + 1,
        };
        if self.nodes.len() == depth {
            let intervals = vec![NOWHERE; usize::from(escape) + 1];
            self.nodes.push(OpenNode { node: u32::MAX, intervals });
        }
        let open = &mut self.nodes[depth];
        if open.node != node {
            open.node = node;
            for (symbol, interval) in self.tree[node as usize].intervals() {
                open.intervals[usize::from(symbol.min(escape))] = (node, interval);
            }
        }
        depth
    }

    /// Appends what codes a symbol in the node at a depth of the path.
    fn put(&self, depth: usize, symbol: u16, escape: u16, out: &mut Vec<Interval>) {
        for OpenNode { node, intervals } in self.nodes[..=depth].iter().rev() {
            let (listed, interval) = intervals[usize::from(symbol)];
            let is_listed = listed == *node;
            let (of, escape_interval) = intervals[usize::from(escape)];
            if is_listed {
                out.push(interval);
                if symbol != escape {
                    return;
                }
            } else if of == *node {
                out.push(escape_interval);
            }
        }
    }
}

/// What codes a column of rows.
pub(super) struct ColumnIntervals {
    rows: Vec<RowIntervals>,
    /// What codes rows of more than one interval, and of a value that is spelled.
    sequences: Vec<Interval>,
    ends: Vec<u32>,
}

/// What codes a column of a row: an interval, or, with the highest bit, the number of a sequence, and
/// with the next one, of one behind which the value is spelled.
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

    /// The only interval, if there is no other.
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
    /// Of rows that are coded in the nodes of a tree; the symbols go up to the escape.
    pub(super) fn of(
        tree: &[NodeSpec],
        coded: &CodedInNodes,
        symbols: &[u16],
        escape: u16,
    ) -> ColumnIntervals {
        let mut path = OpenPath { tree, nodes: Vec::new() };
        let mut column = ColumnIntervals {
            rows: vec![RowIntervals::default(); symbols.len()],
            sequences: Vec::new(),
            ends: Vec::new(),
        };
        for (node, rows) in coded.each() {
            let depth = path.go_to(node, escape);
            for &row in rows {
                let symbol = symbols[row as usize];
                let first = column.sequences.len();
                path.put(depth, symbol, escape, &mut column.sequences);
                column.rows[row as usize] = column.take(first, symbol == escape);
            }
        }
        column
    }

    /// What codes a row by the sequence that begins there.
    fn take(&mut self, first: usize, is_spelled: bool) -> RowIntervals {
        if let [interval] = self.sequences[first..] && !is_spelled {
            self.sequences.truncate(first);
            return RowIntervals::one(interval);
        }
        self.ends.push(self.sequences.len() as u32);
        RowIntervals::sequence(self.ends.len() as u32 - 1, is_spelled)
    }

    /// Appends what codes a row, and says whether the value is spelled behind it.
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

/// Codes the rows of which a model was built.
pub(in crate::archive) struct TrainedEncoder {
    mirrors: bool,
    columns: Vec<ColumnIntervals>,
    spelling: Spelling,
    modes: Option<PredictionModes>,
    /// The rows that no move leads to, where rows are predicted: the columns have only those.
    places: Option<Vec<u32>>,
}

impl TrainedEncoder {
    /// Of a model that is settled.
    pub(super) fn new(
        spec: &ModelSpec,
        columns: Vec<ColumnIntervals>,
        places: Option<Vec<u32>>,
    ) -> TrainedEncoder {
        TrainedEncoder {
            mirrors: spec.mirrors,
            columns,
            spelling: Spelling::new(&spec.spelled),
            modes: spec.modes.as_ref().map(PredictionModes::new),
            places,
        }
    }

    /// The intervals of the rows of a block, the first of which has this number.
    pub(in crate::archive) fn encode(&self, first: usize, rows: &[Row]) -> Vec<Interval> {
        let mut out = Vec::with_capacity(rows.len() * (COLUMNS + 3));
        let mut history = EncodeHistory::default();
        let mut place = match &self.places {
            Some(places) => places.partition_point(|&place| (place as usize) < first),
            None => first,
        };
        for row in rows {
            if let Some(first) = self.put_mode(history.next(row), &mut out) {
                self.put_columns(first, place, row, &mut out);
                place += 1;
            }
        }
        out
    }

    /// Appends how a row is predicted, and says which of its columns is the first that is coded.
    fn put_mode(
        &self,
        mode: Option<PredictionMode>,
        out: &mut Vec<Interval>,
    ) -> Option<usize> {
        let Some((modes, mode)) = self.modes.as_ref().zip(mode) else { return Some(0) };
        out.push(modes.interval(mode));
        match mode {
            PredictionMode::Columns(count) => Some(count),
            PredictionMode::Move(predicted) => {
                out.push(predicted.interval());
                None
            }
        }
    }

    fn put_columns(&self, first: usize, place: usize, row: &Row, out: &mut Vec<Interval>) {
        for (column, intervals) in self.columns.iter().enumerate().skip(first) {
            if intervals.put(place, out) {
                self.spelling.encode(column, coded_value(self.mirrors, row, column), out);
            }
        }
    }
}

//! The position model of a segment.

use super::context::{Context, Gain};
use super::mirror::{LAST_RANK, unmirrored};
use super::nodes::{Nodes, Path};
use super::prediction::PredictionModes;
use super::spelling::Spelling;
use super::symbol_tables::SymbolTables;
use crate::archive::row::{RANKS, Row};

/// A position model for encoding and decoding.
#[derive(Debug)]
pub(in crate::archive) struct PositionModel {
    pub(super) columns: Vec<Column>,
    pub(super) nodes: Nodes,
    pub(super) tables: SymbolTables,
    /// True if the last rank is coded by its difference to the first.
    pub(super) mirrors: bool,
    pub(super) spelling: Spelling,
    /// Prediction of rows from previous rows, if it pays.
    pub(super) modes: Option<PredictionModes>,
    /// Approximate memory in bytes, of a model that was read.
    pub(super) cost: usize,
}

/// The tree of a column.
#[derive(Debug)]
pub(super) struct Column {
    pub(super) contexts: Vec<Context>,
    /// Values with a symbol, the most frequent first.
    pub(super) dictionary: Vec<Entry>,
    /// Path before the first context.
    pub(super) start: Path,
}

/// A value of a dictionary.
#[derive(Copy, Clone, Debug)]
pub(super) struct Entry {
    pub(super) value: u32,
    /// Pieces that it adds to contexts, if it is a rank and not coded as a difference.
    pub(super) gain: Gain,
}

impl Entry {
    pub(super) fn of(value: u32) -> Entry {
        Entry { value, gain: Gain::of(value) }
    }
}

impl PositionModel {
    /// Approximate memory in bytes.
    pub(in crate::archive) const fn cost(&self) -> usize {
        self.cost
    }

    /// True if a column is coded by its difference to the first rank.
    pub(super) const fn is_mirrored(&self, column: usize) -> bool {
        self.mirrors && column == LAST_RANK
    }

    /// The value of a column from its coded value.
    pub(super) fn value_of(&self, column: usize, coded: u32, row: &Row) -> u32 {
        if self.is_mirrored(column) { unmirrored(row.0[RANKS], coded) } else { coded }
    }
}

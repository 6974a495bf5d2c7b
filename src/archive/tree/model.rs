//! A position model, ready to code with.

use super::context::{Context, ContextState};
use super::mirror::{LAST_RANK, unmirrored};
use super::nodes::{Nodes, Path};
use super::prediction::PredictionModes;
use super::spelling::Spelling;
use super::symbol_tables::SymbolTables;
use crate::archive::row::{RANKS, Row};

/// A position model, ready to code with.
#[derive(Debug)]
pub(in crate::archive) struct PositionModel {
    pub(super) columns: Vec<Column>,
    pub(super) nodes: Nodes,
    pub(super) tables: SymbolTables,
    /// Whether the last rank is coded by its difference to the first.
    pub(super) mirrors: bool,
    pub(super) spelling: Spelling,
    /// How rows are predicted from those before, where that is worth it.
    pub(super) modes: Option<PredictionModes>,
    /// What it takes, about, in bytes: known of a model that was read.
    pub(super) cost: usize,
}

/// The tree of a column.
#[derive(Debug)]
pub(super) struct Column {
    pub(super) contexts: Vec<Context>,
    /// The values that have a symbol, the most frequent first.
    pub(super) dictionary: Vec<u32>,
    pub(super) root: u32,
}

impl PositionModel {
    /// What it takes, about, in bytes.
    pub(in crate::archive) const fn cost(&self) -> usize {
        self.cost
    }

    /// The node that codes a column after what was seen.
    pub(super) fn node(&self, column: &Column, state: &ContextState) -> u32 {
        let mut path = Path::at(column.root);
        column.contexts.iter().for_each(|&context| path.step(&self.nodes, state.value(context)));
        path.longest
    }

    /// The value of a column for what was coded.
    pub(super) fn value_of(&self, column: usize, coded: u32, row: &Row) -> u32 {
        if self.mirrors && column == LAST_RANK { unmirrored(row.0[RANKS], coded) } else { coded }
    }
}

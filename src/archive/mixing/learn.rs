//! Choice of size and training time for the mixing model of a segment.

use super::layout::Layout;
use super::quantise::quantise;
use super::train::train;
use super::{HIDDEN_STEP, MAX_HIDDEN, MixingModel};
use crate::archive::columns::Row;

/// Segments with fewer rows have no mixing model.
const FEW: usize = 500;

/// Minimum number of training examples, unless each row was used [`MAX_PASSES`] times.
const MIN_EXAMPLES: usize = 1 << 15;
const MAX_PASSES: usize = 3;
/// Maximum number of training examples; more examples do not improve the model.
const MAX_EXAMPLES: usize = 1 << 19;
/// Minimum number of records of a large block.
const LARGE_BLOCK: usize = 1024;

/// Number of hidden units for a number of rows.
const fn hidden_units(rows: usize) -> usize {
    match rows {
        ..10_000 => 0,
        10_000..100_000 => 16,
        _ => 32,
    }
}

/// Number of training examples; a row that is used twice counts twice. Large blocks get more
/// examples, because users who choose large blocks want a small file more than a fast writer.
fn examples(rows: usize, block_records: usize) -> usize {
    let wanted = if block_records < LARGE_BLOCK { rows / 2 } else { rows * 9 / 8 };
    wanted.clamp(MIN_EXAMPLES.min(rows * MAX_PASSES), MAX_EXAMPLES)
}

impl MixingModel {
    /// Trains a model for these rows; `None` if there are too few rows for a model to save bytes.
    pub(in crate::archive) fn train(rows: &[Row], block_records: usize) -> Option<MixingModel> {
        let hidden = hidden_units(rows.len());
        let pays = rows.len() >= FEW;
        pays.then(|| MixingModel::with_hidden_units(rows, block_records, hidden))
    }

    /// Trains a model with this number of hidden units, rounded up and bounded.
    pub(in crate::archive) fn with_hidden_units(
        rows: &[Row],
        block_records: usize,
        hidden: usize,
    ) -> MixingModel {
        let hidden = hidden.next_multiple_of(HIDDEN_STEP).min(MAX_HIDDEN);
        MixingModel::learned(rows, hidden, examples(rows.len(), block_records))
    }

    /// Trains a model briefly, for an estimate of the size that full training reaches.
    pub(in crate::archive) fn sketch(rows: &[Row]) -> MixingModel {
        MixingModel::learned(rows, 0, rows.len() / 2)
    }

    /// Trains a model with this number of hidden units and training examples.
    pub(super) fn learned(rows: &[Row], hidden: usize, examples: usize) -> MixingModel {
        let layout = Layout::from_rows(rows);
        let weights = quantise(&layout, hidden, &train(&layout, rows, hidden, examples));
        MixingModel { layout, hidden, weights }
    }
}

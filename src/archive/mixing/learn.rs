//! Making the model of a segment.

use super::layout::Layout;
use super::model::{HIDDEN_STEP, MAX_HIDDEN, MixingModel};
use super::quantise::quantise;
use super::train::train;
use crate::archive::row::Row;

/// Segments of fewer rows have no model of their own.
const FEW: usize = 500;

/// Fewer lessons are not enough, unless each row was learned from so often.
const FEW_LESSONS: usize = 1 << 15;
const MAX_PASSES: usize = 3;
/// More lessons than this show nothing new.
const MAX_LESSONS: usize = 1 << 19;
/// Blocks of as many records and more are large.
const LARGE_BLOCK: usize = 1024;

/// Hidden units for so many rows.
const fn hidden_units(rows: usize) -> usize {
    match rows {
        ..10_000 => 0,
        10_000..100_000 => 16,
        _ => 32,
    }
}

/// Rows to learn from, those that are taken twice counted twice. Who asks for large blocks wants a
/// small file more than a fast writer.
fn lessons(rows: usize, block_records: usize) -> usize {
    let wanted = if block_records < LARGE_BLOCK { rows / 2 } else { rows * 9 / 8 };
    wanted.clamp(FEW_LESSONS.min(rows * MAX_PASSES), MAX_LESSONS)
}

impl MixingModel {
    /// The model that fits these rows, in blocks of so many; `None` for so few that none would pay.
    pub(in crate::archive) fn of(rows: &[Row], block_records: usize) -> Option<MixingModel> {
        let hidden = hidden_units(rows.len());
        let pays = rows.len() >= FEW;
        pays.then(|| MixingModel::with_hidden_units(rows, block_records, hidden))
    }

    /// The model with so many hidden units, rounded up and bounded.
    pub(in crate::archive) fn with_hidden_units(
        rows: &[Row],
        block_records: usize,
        hidden: usize,
    ) -> MixingModel {
        let hidden = hidden.next_multiple_of(HIDDEN_STEP).min(MAX_HIDDEN);
        MixingModel::learned(rows, hidden, lessons(rows.len(), block_records))
    }

    /// A model that learned little, but tells how far others might come.
    pub(in crate::archive) fn sketch(rows: &[Row]) -> MixingModel {
        MixingModel::learned(rows, 0, rows.len() / 2)
    }

    /// The model with so many hidden units that fits these rows, after so many lessons.
    pub(super) fn learned(rows: &[Row], hidden: usize, lessons: usize) -> MixingModel {
        let layout = Layout::of(rows);
        let weights = quantise(&layout, hidden, &train(&layout, rows, hidden, lessons));
        MixingModel { layout, hidden, weights }
    }
}

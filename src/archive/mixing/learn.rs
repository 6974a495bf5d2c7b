//! Making the model of a segment.

use super::layout::Layout;
use super::model::MixingModel;
use super::quantise::quantise;
use super::train::Trainer;
use crate::archive::row::Row;

/// Segments of fewer rows have no model of their own.
const FEW: usize = 500;

/// Hidden units for so many rows.
const fn hidden_units(rows: usize) -> usize {
    match rows {
        ..10_000 => 0,
        10_000..100_000 => 16,
        _ => 32,
    }
}

impl MixingModel {
    /// The model that fits these rows; `None` for so few that none would pay.
    pub(in crate::archive) fn of(rows: &[Row]) -> Option<MixingModel> {
        let pays = rows.len() >= FEW;
        pays.then(|| MixingModel::learned(rows, hidden_units(rows.len())))
    }

    /// The model with so many hidden units that fits these rows.
    pub(super) fn learned(rows: &[Row], hidden: usize) -> MixingModel {
        let layout = Layout::of(rows);
        let weights = quantise(&Trainer::train(&layout, rows, hidden));
        MixingModel { layout, hidden, weights }
    }
}

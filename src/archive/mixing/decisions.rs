//! The sequence of decisions of a row, shared by encoder, decoder and trainer.

use super::layout::{self, BIAS, FIELDS, Layout, STATE_BITS, STATE_FEATURES, STATE_FIELD};
use crate::archive::columns::Row;

/// Coder of decisions. An encoder returns the decision that it gets as an argument. A decoder
/// ignores the argument and returns the decision that it reads.
pub(super) trait Decisions {
    /// Begins a row; no feature is active.
    fn begin(&mut self);

    /// Codes a decision that a unit (an output of the network) predicts.
    fn decide(&mut self, unit: usize, bit: bool) -> bool;

    /// Codes a bit that is true if the value is the first of `possibilities` equally likely values.
    /// There are 2 to 256 possibilities.
    fn is_first(&mut self, possibilities: usize, bit: bool) -> bool;

    /// Codes a byte; all values are equally likely.
    fn byte(&mut self, byte: u8) -> u8;

    /// Activates a feature (an input of the network). It affects the units from `first` on, whose
    /// decisions were not coded yet.
    fn activate(&mut self, feature: usize, first: usize);

    /// Ends a column of the row.
    fn end_column(&mut self, _column: usize) {}
}

/// Codes the decisions of a row, and returns the row.
#[inline(always)]
pub(super) fn pass_row(layout: &Layout, row: &Row, decisions: &mut impl Decisions) -> Row {
    let mut passed = Row::default();
    decisions.begin();
    decisions.activate(BIAS, 0);
    for number in 0..FIELDS {
        let given = layout::get(row, number);
        let (value, nth) = pass_value(layout, number, given, decisions);
        layout::set(&mut passed, number, value);
        let next_unit = layout.first_unit(number + 1);
        if let Some(feature) = nth.and_then(|nth| layout.value_feature(number, nth)) {
            decisions.activate(feature, next_unit);
        }
        if number == STATE_FIELD {
            state_features(value).for_each(|feature| decisions.activate(feature, next_unit));
        }
        if number + 1 == FIELDS || layout::column(number + 1) != layout::column(number) {
            decisions.end_column(layout::column(number));
        }
    }
    passed
}

/// Codes the value of a field. Returns the value, and its index in the list of the field. The index
/// is `None` if the value is not in the list and was coded in full.
#[inline(always)]
fn pass_value(
    layout: &Layout,
    number: usize,
    given: u32,
    decisions: &mut impl Decisions,
) -> (u32, Option<usize>) {
    let values = &layout.fields[number];
    let mut left = usize::from(values.escapes) + values.values.len();
    let first_unit = layout.first_unit(number);
    for (nth, &value) in values.values.iter().enumerate() {
        let is_it = match left {
            1 => true,
            _ if nth < values.units => decisions.decide(first_unit + nth, value == given),
            _ => decisions.is_first(left, value == given),
        };
        if is_it {
            return (value, Some(nth));
        }
        left -= 1;
    }
    if !values.escapes {
        return (0, None);
    }
    let bytes = given.to_le_bytes().map(|byte| decisions.byte(byte));
    (u32::from_le_bytes(bytes), None)
}

/// The active features of a state. There is a feature for Black to move, and one for each castling
/// right.
fn state_features(state: u32) -> impl Iterator<Item = usize> {
    let is_set = move |nth: usize| match nth {
        0 => state & 1 != 0,
        _ => state >> (4 * nth - 3) & 15 != 0,
    };
    (0..STATE_BITS).filter(move |&nth| is_set(nth)).map(|nth| STATE_FEATURES + nth)
}

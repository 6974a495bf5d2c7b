//! The decisions that say a row, in their order: the same for whoever writes, reads or learns them.

use super::field::{self, FIELDS, SQUARES, STATE_FIELD};
use super::layout::{BIAS, Codes, Layout, STATE_BITS, STATE_FEATURES, code_bit, count_feature};
use crate::archive::row::Row;

/// Takes decisions: who writes is given them and returns them, who reads ignores what it is given
/// and returns what it finds.
pub(super) trait Decisions {
    /// A row begins: no feature is active.
    fn begin(&mut self);

    /// A decision that a unit predicts.
    fn decide(&mut self, unit: usize, bit: bool) -> bool;

    /// Whether it is the first of so many possibilities that are equally likely; at least two, at
    /// most 256.
    fn is_first(&mut self, possibilities: usize, bit: bool) -> bool;

    /// Any byte.
    fn byte(&mut self, byte: u8) -> u8;

    /// A feature becomes active: it tells of the units from `first` on, which are still to decide.
    fn activate(&mut self, feature: usize, first: usize);

    /// A column of the row is complete.
    fn end_column(&mut self, _column: usize) {}
}

/// How many pieces of each code were seen.
type Counts = [u8; 16];

/// Passes the decisions of a row, and returns the row that they say.
#[inline(always)]
pub(super) fn pass_row(layout: &Layout, row: &Row, decisions: &mut impl Decisions) -> Row {
    let mut passed = Row::default();
    let mut counts = Counts::default();
    let mut seen = 0;
    decisions.begin();
    decisions.activate(BIAS, 0);
    for number in 0..FIELDS {
        let given = field::get(row, number);
        // A king that stands somewhere stands nowhere else.
        let barred = layout.single_kings(number) & seen;
        let (value, nth) = pass_value(layout, number, given, barred, decisions);
        field::set(&mut passed, number, value);
        let next_unit = layout.first_unit(number + 1);
        if let Some(feature) = nth.and_then(|nth| layout.value_feature(number, nth)) {
            decisions.activate(feature, next_unit);
        }
        if number == STATE_FIELD {
            state_features(value).for_each(|feature| decisions.activate(feature, next_unit));
        }
        if SQUARES.contains(&number) && value > 0 {
            seen |= code_bit(value);
            let count = &mut counts[value as usize & 15];
            *count += 1;
            if let Some(feature) = count_feature(value, *count) {
                decisions.activate(feature, next_unit);
            }
        }
        if number + 1 == FIELDS || field::column(number + 1) != field::column(number) {
            decisions.end_column(field::column(number));
        }
    }
    passed
}

/// Passes the value of a field, which is none of the barred codes, and returns it with its place in
/// the list.
#[inline(always)]
fn pass_value(
    layout: &Layout,
    number: usize,
    given: u32,
    barred: Codes,
    decisions: &mut impl Decisions,
) -> (u32, Option<usize>) {
    let values = &layout.fields[number];
    let mut left = usize::from(values.escapes) + values.values.len() - barred.count_ones() as usize;
    let first_unit = layout.first_unit(number);
    for (nth, &value) in values.values.iter().enumerate() {
        if barred & code_bit(value) != 0 {
            continue;
        }
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

/// The features of a state: Black to move, and each right that there is.
fn state_features(state: u32) -> impl Iterator<Item = usize> {
    let is_set = move |nth: usize| match nth {
        0 => state & 1 != 0,
        _ => state >> (4 * nth - 3) & 15 != 0,
    };
    (0..STATE_BITS).filter(move |&nth| is_set(nth)).map(|nth| STATE_FEATURES + nth)
}

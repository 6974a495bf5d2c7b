//! Layout of the network: the units and features of each field.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::Range;

use crate::archive::columns::{EN_PASSANT, FORM, FULLMOVE, HALFMOVE, RANKS, Row, STATE};

/// Number of fields of a row: form, state, the squares in the order of the rank columns, en passant
/// file and counters.
pub(super) const FIELDS: usize = 69;
pub(super) const FORM_FIELD: usize = 0;
pub(super) const STATE_FIELD: usize = 1;
/// Numbers of the fields that have the piece codes of the squares.
pub(super) const SQUARES: Range<usize> = 2..66;
pub(super) const HALFMOVE_FIELD: usize = 68;

/// The highest code of a piece on a square.
pub(super) const LAST_PIECE: u32 = 12;

/// Returns the column that has a field, and the lowest bit of the field in this column.
const fn place(field: usize) -> (usize, u32) {
    match field {
        FORM_FIELD => (FORM, 0),
        STATE_FIELD => (STATE, 0),
        66 => (EN_PASSANT, 0),
        67 => (FULLMOVE, 0),
        HALFMOVE_FIELD => (HALFMOVE, 0),
        _ => (RANKS + (field - SQUARES.start) / 8, 4 * ((field - SQUARES.start) % 8) as u32),
    }
}

/// The column of a row that has a field.
pub(super) const fn column(field: usize) -> usize {
    place(field).0
}

/// Value of a field of a row.
pub(super) fn get(row: &Row, field: usize) -> u32 {
    let (column, shift) = place(field);
    let value = row.0[column];
    if SQUARES.contains(&field) { value >> shift & 15 } else { value }
}

/// Sets a field, which must be 0 before.
pub(super) fn set(row: &mut Row, field: usize, value: u32) {
    let (column, shift) = place(field);
    row.0[column] |= value << shift;
}

/// Maximum number of values in the list of a field.
pub(super) const MAX_VALUES: usize = 255;
/// Maximum number of units (outputs of the network) of a field.
pub(super) const MAX_UNITS: usize = 64;
/// Minimum number of occurrences of a decision that has its own unit (an output of the network), in
/// a segment of `rows` rows. In a small segment, a unit must save more bytes than its weights take.
/// In a large segment, it must also be worth its time.
const fn often(rows: usize) -> usize {
    match rows {
        ..256 => 4,
        256..2_000 => rows / 64,
        2_000..30_000 => 30,
        _ => rows / 600,
    }
}

/// Feature that is active in every row.
pub(super) const BIAS: usize = 0;
/// Index of the first feature of the state. The state is the side to move and the castling rights.
/// The first feature stands for Black to move. Each of the next four features stands for a castling
/// right.
pub(super) const STATE_FEATURES: usize = 1;
/// Number of features of the state. A feature is an input of the network.
pub(super) const STATE_BITS: usize = 5;
/// Index of the first feature that stands for a value of a field.
const VALUE_FEATURES: usize = STATE_FEATURES + STATE_BITS;

/// The values of a field.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct FieldValues {
    /// Values in the list, the most frequent first.
    pub(super) values: Vec<u32>,
    /// Number of values with a unit of their own. A unit is an output of the network.
    pub(super) units: usize,
    /// True if the field can have values that are not in the list. Such values are coded in full.
    pub(super) escapes: bool,
}

/// All fields, with the numbers of their units and features.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) fields: Vec<FieldValues>,
    /// First unit of each field, then the end of all units.
    first_unit: Vec<usize>,
    /// For each field: the feature of the second value in its list. The first value has no feature.
    first_feature: Vec<usize>,
    /// First unit that each feature affects.
    starts: Vec<usize>,
}

impl Layout {
    pub(super) fn new(fields: Vec<FieldValues>) -> Layout {
        let mut first_unit = vec![0];
        let mut units = 0;
        for field in &fields {
            units += field.units;
            first_unit.push(units);
        }
        let start_of = |field: usize| first_unit.get(field).copied().unwrap_or(units);
        let mut starts = vec![0; STATE_FEATURES];
        starts.resize(VALUE_FEATURES, start_of(SQUARES.start));
        let mut first_feature = Vec::with_capacity(FIELDS);
        for (number, field) in fields.iter().enumerate() {
            first_feature.push(starts.len());
            if has_value_features(number) {
                let features = field.values.len().saturating_sub(1);
                starts.resize(starts.len() + features, start_of(number + 1));
            }
        }
        Layout { fields, first_unit, first_feature, starts }
    }

    /// Makes a layout for some rows.
    pub(super) fn from_rows(rows: &[Row]) -> Layout {
        let often = often(rows.len());
        let squares = counted_squares(rows);
        let counted = |field| match SQUARES.contains(&field) {
            true => present((0..).zip(squares[field - SQUARES.start])),
            false => counted(rows, field),
        };
        let fields = (0..FIELDS).map(|field| values_of(counted(field), rows.len(), often));
        Layout::new(fields.collect())
    }

    pub(super) fn units(&self) -> usize {
        self.first_unit.last().copied().unwrap_or(0)
    }

    pub(super) fn features(&self) -> usize {
        self.starts.len()
    }

    /// The first unit of a field.
    pub(super) fn first_unit(&self, field: usize) -> usize {
        self.first_unit[field]
    }

    /// First unit that a feature affects.
    pub(super) fn start(&self, feature: usize) -> usize {
        self.starts[feature]
    }

    /// Feature of a value in the list of a field; `None` if the value has no feature.
    pub(super) fn value_feature(&self, field: usize, nth: usize) -> Option<usize> {
        let has_one = has_value_features(field) && nth > 0;
        has_one.then(|| self.first_feature[field] + nth - 1)
    }
}

/// True if the values of a field are features. The values of the state are not, because each bit of
/// the state has a feature. The values of the last field are not, because no unit comes after that
/// field.
const fn has_value_features(field: usize) -> bool {
    field != STATE_FIELD && field != HALFMOVE_FIELD
}

/// Makes the list of a field from the counts of its values in `rows` rows.
fn values_of(mut listed: Vec<(u32, usize)>, rows: usize, often: usize) -> FieldValues {
    listed.sort_by_key(|&(value, count)| (Reverse(count), value));
    let escapes = listed.len() > MAX_VALUES;
    listed.truncate(MAX_VALUES);
    let (mut units, mut left) = (0, rows);
    for &(_, count) in listed.iter().take(MAX_UNITS) {
        if left < often || left == count {
            break;
        }
        units += 1;
        left -= count;
    }
    FieldValues { values: listed.into_iter().map(|(value, _)| value).collect(), units, escapes }
}

/// The values of a field, with counts.
fn counted(rows: &[Row], number: usize) -> Vec<(u32, usize)> {
    let mut low = [0; 256];
    let mut others: BTreeMap<u32, usize> = BTreeMap::new();
    for row in rows {
        let value = get(row, number);
        match low.get_mut(value as usize) {
            Some(count) => *count += 1,
            None => *others.entry(value).or_default() += 1,
        }
    }
    present((0..).zip(low).chain(others))
}

/// The values whose count is not 0.
fn present(counts: impl Iterator<Item = (u32, usize)>) -> Vec<(u32, usize)> {
    counts.filter(|&(_, count)| count > 0).collect()
}

/// For each square the count of each code.
fn counted_squares(rows: &[Row]) -> Vec<[usize; 16]> {
    let mut counts = vec![[0; 16]; SQUARES.len()];
    for row in rows {
        for (rank, counts) in row.0[RANKS..].iter().zip(counts.as_chunks_mut::<8>().0) {
            for (file, counts) in counts.iter_mut().enumerate() {
                counts[(rank >> (4 * file) & 15) as usize] += 1;
            }
        }
    }
    counts
}

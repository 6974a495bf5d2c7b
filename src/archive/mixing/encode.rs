//! Encoding the rows of blocks with a mixing model.

use super::MixingModel;
use super::decisions::{Decisions, pass_row};
use super::network::Network;
use super::vectors::{self, Work};
use crate::archive::columns::{COLUMNS, Row};
use crate::archive::rans::{Interval, SCALE};

/// Encoder of rows with a model.
pub(in crate::archive) struct RowEncoder<'a> {
    model: &'a MixingModel,
}

impl MixingModel {
    pub(in crate::archive) const fn encoder(&self) -> RowEncoder<'_> {
        RowEncoder { model: self }
    }
}

impl RowEncoder<'_> {
    /// Returns the intervals of the rows of a block.
    pub(in crate::archive) fn encode(&self, rows: &[Row]) -> Vec<Interval> {
        vectors::run(self.model.hidden, Encoding { model: self.model, rows }).0
    }

    /// Adds the number of bits of each column, summed over the rows of a block.
    pub(in crate::archive) fn add_bits(&self, rows: &[Row], bits: &mut [f64; COLUMNS]) {
        let price = |interval: &Interval| (f64::from(SCALE) / f64::from(interval.freq)).log2();
        let encoding = Encoding { model: self.model, rows };
        let (intervals, column_ends) = vectors::run(self.model.hidden, encoding);
        let mut start = 0;
        for ends in column_ends {
            for (bits, end) in bits.iter_mut().zip(ends) {
                *bits += intervals[start..end].iter().map(price).sum::<f64>();
                start = end;
            }
        }
    }
}

/// Work that encodes rows. It returns the coding intervals of the rows. For each row it also
/// returns the ends of the intervals of each column.
struct Encoding<'a> {
    model: &'a MixingModel,
    rows: &'a [Row],
}

impl Work for Encoding<'_> {
    type Output = (Vec<Interval>, Vec<[usize; COLUMNS]>);

    #[inline(always)]
    fn run<const HIDDEN: usize>(self) -> Self::Output {
        let mut written = WrittenDecisions {
            network: Network::<HIDDEN>::new(self.model),
            out: Vec::new(),
            column_ends: [0; COLUMNS],
        };
        let mut column_ends = Vec::with_capacity(self.rows.len());
        for row in self.rows {
            pass_row(&self.model.layout, row, &mut written);
            column_ends.push(written.column_ends);
        }
        (written.out, column_ends)
    }
}

/// Encoder of decisions as intervals.
struct WrittenDecisions<'a, const HIDDEN: usize> {
    network: Network<'a, HIDDEN>,
    out: Vec<Interval>,
    /// End of the intervals of each column of the last row.
    column_ends: [usize; COLUMNS],
}

/// Interval of the result `bit` of a decision that is true with probability `one` / [`SCALE`].
pub(super) const fn interval(bit: bool, one: u16) -> Interval {
    match bit {
        true => Interval { start: 0, freq: one },
        false => Interval { start: one, freq: SCALE as u16 - one },
    }
}

/// The probability of the first of `possibilities` equally likely values.
pub(super) const fn first_of(possibilities: usize) -> u16 {
    (SCALE as usize / possibilities) as u16
}

impl<const HIDDEN: usize> Decisions for WrittenDecisions<'_, HIDDEN> {
    #[inline(always)]
    fn begin(&mut self) {
        self.network.clear();
    }

    #[inline(always)]
    fn decide(&mut self, unit: usize, bit: bool) -> bool {
        let one = self.network.probability(unit);
        self.out.push(interval(bit, one));
        bit
    }

    #[inline(always)]
    fn is_first(&mut self, possibilities: usize, bit: bool) -> bool {
        self.out.push(interval(bit, first_of(possibilities)));
        bit
    }

    #[inline(always)]
    fn byte(&mut self, byte: u8) -> u8 {
        self.out.push(Interval::byte(byte));
        byte
    }

    #[inline(always)]
    fn activate(&mut self, feature: usize, first: usize) {
        self.network.activate(feature, first);
    }

    #[inline(always)]
    fn end_column(&mut self, column: usize) {
        self.column_ends[column] = self.out.len();
    }
}

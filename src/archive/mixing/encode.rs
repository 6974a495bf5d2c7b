//! Encoding the rows of blocks.

use super::decisions::{Decisions, pass_row};
use super::model::MixingModel;
use super::network::Network;
use crate::archive::rans::{Interval, SCALE};
use crate::archive::row::{COLUMNS, Row};

/// Codes rows with a model.
pub(in crate::archive) struct RowEncoder<'a> {
    model: &'a MixingModel,
}

impl MixingModel {
    pub(in crate::archive) const fn encoder(&self) -> RowEncoder<'_> {
        RowEncoder { model: self }
    }
}

impl RowEncoder<'_> {
    /// The intervals of the rows of a block.
    pub(in crate::archive) fn encode(&self, rows: &[Row]) -> Vec<Interval> {
        let mut written = WrittenDecisions::new(self.model);
        for row in rows {
            pass_row(&self.model.layout, row, &mut written);
        }
        written.out
    }

    /// Adds the bits that each column of the rows of a block takes.
    pub(in crate::archive) fn add_bits(&self, rows: &[Row], bits: &mut [f64; COLUMNS]) {
        let price = |interval: &Interval| (f64::from(SCALE) / f64::from(interval.freq)).log2();
        let mut written = WrittenDecisions::new(self.model);
        for row in rows {
            pass_row(&self.model.layout, row, &mut written);
            let mut start = 0;
            for (bits, end) in bits.iter_mut().zip(written.column_ends) {
                *bits += written.out[start..end].iter().map(price).sum::<f64>();
                start = end;
            }
            written.out.clear();
        }
    }
}

/// Decisions as intervals.
struct WrittenDecisions<'a> {
    network: Network<'a>,
    out: Vec<Interval>,
    /// Where the intervals of each column of the last row end.
    column_ends: [usize; COLUMNS],
}

impl<'a> WrittenDecisions<'a> {
    fn new(model: &'a MixingModel) -> WrittenDecisions<'a> {
        let (network, column_ends) = (Network::new(model), [0; COLUMNS]);
        WrittenDecisions { network, out: Vec::new(), column_ends }
    }
}

/// The interval of a decision that is true with a probability of [`SCALE`].
pub(super) const fn interval(bit: bool, one: u16) -> Interval {
    match bit {
        true => Interval { start: 0, freq: one },
        false => Interval { start: one, freq: SCALE as u16 - one },
    }
}

/// The probability of the first of some possibilities that are equally likely.
pub(super) const fn first_of(possibilities: usize) -> u16 {
    (SCALE as usize / possibilities) as u16
}

impl Decisions for WrittenDecisions<'_> {
    fn begin(&mut self) {
        self.network.clear();
    }

    fn decide(&mut self, unit: usize, bit: bool) -> bool {
        let one = self.network.probability(unit);
        self.out.push(interval(bit, one));
        bit
    }

    fn is_first(&mut self, possibilities: usize, bit: bool) -> bool {
        self.out.push(interval(bit, first_of(possibilities)));
        bit
    }

    fn byte(&mut self, byte: u8) -> u8 {
        self.out.push(Interval::byte(byte));
        byte
    }

    fn activate(&mut self, feature: usize) {
        self.network.activate(feature);
    }

    fn end_column(&mut self, column: usize) {
        self.column_ends[column] = self.out.len();
    }
}

//! Decoding the rows of blocks.

use super::decisions::{Decisions, pass_row};
use super::encode::{first_of, interval};
use super::model::MixingModel;
use super::network::Network;
use crate::archive::rans::RansDecoder;
use crate::archive::row::Row;

impl MixingModel {
    /// Reads the rows of blocks, each of so many rows. What damaged bytes say is rows too; the check
    /// of the block shows it.
    pub(in crate::archive) fn decode<'a>(
        &self,
        blocks: impl Iterator<Item = (RansDecoder<'a>, usize)>,
    ) -> Vec<(RansDecoder<'a>, Vec<Row>)> {
        let nothing = Row::default();
        let decoded = blocks.map(|(decoder, count)| {
            let mut read = ReadDecisions { network: Network::new(self), decoder };
            let rows = (0..count).map(|_| pass_row(&self.layout, &nothing, &mut read)).collect();
            (read.decoder, rows)
        });
        decoded.collect()
    }
}

/// Decisions from the bytes of a block.
struct ReadDecisions<'m, 'b> {
    network: Network<'m>,
    decoder: RansDecoder<'b>,
}

impl ReadDecisions<'_, '_> {
    fn read(&mut self, one: u16) -> bool {
        let bit = self.decoder.slot() < one;
        self.decoder.pass(interval(bit, one));
        bit
    }
}

impl Decisions for ReadDecisions<'_, '_> {
    fn begin(&mut self) {
        self.network.clear();
    }

    fn decide(&mut self, unit: usize, _: bool) -> bool {
        let one = self.network.probability(unit);
        self.read(one)
    }

    fn is_first(&mut self, possibilities: usize, _: bool) -> bool {
        self.read(first_of(possibilities))
    }

    fn byte(&mut self, _: u8) -> u8 {
        self.decoder.byte()
    }

    fn activate(&mut self, feature: usize) {
        self.network.activate(feature);
    }
}

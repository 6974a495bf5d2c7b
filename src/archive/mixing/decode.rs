//! Decoding the rows of blocks with a mixing model.

use super::MixingModel;
use super::decisions::{Decisions, pass_row};
use super::encode::{first_of, interval};
use super::network::Network;
use super::vectors::{self, Work};
use crate::archive::columns::Row;
use crate::archive::move_links::ReadRows;
use crate::archive::rans::RansDecoder;

impl MixingModel {
    /// Decodes the rows of blocks; each block comes with its number of rows. Damaged bytes are
    /// decoded to rows too; the checksum of the block detects them.
    pub(in crate::archive) fn decode<'a>(
        &self,
        blocks: impl Iterator<Item = (RansDecoder<'a>, usize)>,
    ) -> Vec<(RansDecoder<'a>, ReadRows)> {
        vectors::run(self.hidden, Decoding { model: self, blocks })
    }
}

/// Work that decodes blocks with a mixing model.
struct Decoding<'m, B> {
    model: &'m MixingModel,
    blocks: B,
}

impl<'b, B: Iterator<Item = (RansDecoder<'b>, usize)>> Work for Decoding<'_, B> {
    type Output = Vec<(RansDecoder<'b>, ReadRows)>;

    #[inline(always)]
    fn run<const HIDDEN: usize>(self) -> Self::Output {
        let nothing = Row::default();
        let mut decoded = Vec::new();
        for (decoder, count) in self.blocks {
            let network = Network::<HIDDEN>::new(self.model);
            let mut read = ReadDecisions { network, decoder };
            let mut rows = Vec::with_capacity(count);
            for _ in 0..count {
                rows.push(pass_row(&self.model.layout, &nothing, &mut read));
            }
            decoded.push((read.decoder, ReadRows { rows, moves: Vec::new() }));
        }
        decoded
    }
}

/// Decoder of decisions from the bytes of a block.
struct ReadDecisions<'m, 'b, const HIDDEN: usize> {
    network: Network<'m, HIDDEN>,
    decoder: RansDecoder<'b>,
}

impl<const HIDDEN: usize> ReadDecisions<'_, '_, HIDDEN> {
    #[inline(always)]
    fn read(&mut self, one: u16) -> bool {
        let bit = self.decoder.slot() < one;
        self.decoder.pass(interval(bit, one));
        bit
    }
}

impl<const HIDDEN: usize> Decisions for ReadDecisions<'_, '_, HIDDEN> {
    #[inline(always)]
    fn begin(&mut self) {
        self.network.clear();
    }

    #[inline(always)]
    fn decide(&mut self, unit: usize, _: bool) -> bool {
        let one = self.network.probability(unit);
        self.read(one)
    }

    #[inline(always)]
    fn is_first(&mut self, possibilities: usize, _: bool) -> bool {
        self.read(first_of(possibilities))
    }

    #[inline(always)]
    fn byte(&mut self, _: u8) -> u8 {
        self.decoder.byte()
    }

    #[inline(always)]
    fn activate(&mut self, feature: usize, first: usize) {
        self.network.activate(feature, first);
    }
}

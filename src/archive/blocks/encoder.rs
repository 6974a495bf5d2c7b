//! Encoding the rows of a block by whichever model.

use crate::archive::rans::Interval;
use crate::archive::row::{COLUMNS, Row};
use crate::archive::{mixing, tree};

/// Codes the rows of blocks.
pub(super) enum BlockEncoder<'a> {
    /// By a position model.
    Tree(tree::RowEncoder<'a>),
    /// By a mixing model.
    Mixing(mixing::RowEncoder<'a>),
}

impl BlockEncoder<'_> {
    /// The intervals of the rows of a block.
    pub(super) fn encode(&self, rows: &[Row]) -> Vec<Interval> {
        match self {
            BlockEncoder::Tree(encoder) => encoder.encode(rows),
            BlockEncoder::Mixing(encoder) => encoder.encode(rows),
        }
    }

    /// Adds the bits that each column of the rows of a block takes.
    pub(super) fn add_bits(&self, rows: &[Row], bits: &mut [f64; COLUMNS]) {
        match self {
            BlockEncoder::Tree(encoder) => encoder.add_bits(rows, bits),
            BlockEncoder::Mixing(encoder) => encoder.add_bits(rows, bits),
        }
    }
}

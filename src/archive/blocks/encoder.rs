//! Sizes of the rows of a block under either model.

use crate::archive::row::{COLUMNS, Row};
use crate::archive::{mixing, tree};

/// Encoder of the rows of blocks.
pub(super) enum BlockEncoder<'a> {
    /// By a position model.
    Tree(tree::RowEncoder<'a>),
    /// By a mixing model.
    Mixing(mixing::RowEncoder<'a>),
}

impl BlockEncoder<'_> {
    /// Adds the number of bits of each column of the rows of a block.
    pub(super) fn add_bits(&self, rows: &[Row], bits: &mut [f64; COLUMNS]) {
        match self {
            BlockEncoder::Tree(encoder) => encoder.add_bits(rows, bits),
            BlockEncoder::Mixing(encoder) => encoder.add_bits(rows, bits),
        }
    }
}

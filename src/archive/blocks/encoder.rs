//! What the rows of a block take by whichever model.

use crate::archive::row::{COLUMNS, Row};
use crate::archive::{mixing, tree};

/// Would code the rows of blocks.
pub(super) enum BlockEncoder<'a> {
    /// By a position model.
    Tree(tree::RowEncoder<'a>),
    /// By a mixing model.
    Mixing(mixing::RowEncoder<'a>),
}

impl BlockEncoder<'_> {
    /// Adds the bits that each column of the rows of a block takes.
    pub(super) fn add_bits(&self, rows: &[Row], bits: &mut [f64; COLUMNS]) {
        match self {
            BlockEncoder::Tree(encoder) => encoder.add_bits(rows, bits),
            BlockEncoder::Mixing(encoder) => encoder.add_bits(rows, bits),
        }
    }
}

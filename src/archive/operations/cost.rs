//! The cost of the operations of a block: approximately the bytes of memory that decoding takes.
//! Coded operations must be long enough for their cost, so that a short hostile block cannot use
//! much memory.

use epdb_chess::model::{Operand, TallyPart};

/// Cost of an operation, an operand without its text, or a move of a tally: about its memory.
const EACH: usize = 32;
/// Cost of a part of a tally, in approximate bytes of memory.
const OF_PART: usize = 16;
/// Maximum cost of a block whose operations have no bytes.
pub(super) const FREE: usize = 4096;
/// Cost that each byte of coded operations allows in addition.
pub(super) const OF_BYTE: usize = 512;
/// Maximum cost. A byte of a record costs at most 32, and a block has at most 32 MiB of records.
const MAX: usize = 1 << 30;

/// Returns the maximum cost of `bytes` bytes of coded operations.
pub(super) fn paid_by(bytes: usize) -> usize {
    bytes.saturating_mul(OF_BYTE).saturating_add(FREE).min(MAX)
}

/// Returns the minimum number of bytes that coded operations of this cost must have.
pub(super) const fn bytes_for(cost: usize) -> usize {
    cost.saturating_sub(FREE).div_ceil(OF_BYTE)
}

/// Cost of the parts and moves of a tally, in approximate bytes of memory.
pub(super) fn cost_of_tally(parts: &[TallyPart]) -> usize {
    parts.iter().map(|part| OF_PART + EACH * part.moves.len()).sum()
}

/// The cost of decoding all operations so far, in about bytes of memory, and its limit.
#[derive(Debug)]
pub(super) struct Cost {
    spent: usize,
    limit: usize,
}

impl Cost {
    /// Begins with a cost of 0. `limit` is the maximum cost.
    pub(super) const fn up_to(limit: usize) -> Cost {
        Cost { spent: 0, limit }
    }

    pub(super) const fn spent(&self) -> usize {
        self.spent
    }

    /// Adds the cost of an operation. `None` if the cost then exceeds the limit.
    pub(super) fn operation(&mut self) -> Option<()> {
        self.add(EACH)
    }

    /// Adds the cost of an operand with its text.
    pub(super) fn operand(&mut self, operand: &Operand) -> Option<()> {
        let text = match operand {
            Operand::Str(text) | Operand::Token(text) => text.len(),
            Operand::Tally(tally) => cost_of_tally(tally.parts()),
            _ => 0,
        };
        self.add(EACH + text)
    }

    pub(super) const fn left(&self) -> usize {
        self.limit.saturating_sub(self.spent)
    }

    /// Adds the cost of a list of `moves` moves whose text is not made. The cost is a lower bound
    /// of the length of the text.
    pub(super) fn list(&mut self, moves: usize) -> Option<()> {
        self.add((3 * moves).saturating_sub(1))
    }

    /// Adds the cost of a text of `len` bytes that is not made.
    pub(super) fn bytes(&mut self, len: usize) -> Option<()> {
        self.add(len)
    }

    /// Adds the cost of a text that is inserted later.
    pub(super) fn text(&mut self, text: &[u8]) -> Option<()> {
        self.add(text.len())
    }

    fn add(&mut self, cost: usize) -> Option<()> {
        self.spent += cost;
        (self.spent <= self.limit).then_some(())
    }
}

//! What the operations of a block cost whoever decodes them.

use crate::model::{Operand, TallyPart};

/// What an operation or an operand costs, beside the bytes of its text, and each move of a tally: about
/// its memory.
const EACH: usize = 32;
/// What a part of a tally costs.
const OF_PART: usize = 16;
/// What the records of a block may cost whatever the length of their coded operations, and for each
/// byte of that.
pub(super) const FREE: usize = 4096;
pub(super) const OF_BYTE: usize = 512;
/// What they may cost at the most. A byte of an EPD record costs 32 or less, and a block has 32 MiB
/// of them or less.
const MOST: usize = 1 << 30;

/// What so many bytes of coded operations pay for.
pub(super) fn paid_by(bytes: usize) -> usize {
    bytes.saturating_mul(OF_BYTE).saturating_add(FREE).min(MOST)
}

/// The fewest bytes that pay for a cost.
pub(super) const fn bytes_for(cost: usize) -> usize {
    cost.saturating_sub(FREE).div_ceil(OF_BYTE)
}

/// What the parts and moves of a tally cost.
pub(super) fn cost_of_tally(parts: &[TallyPart]) -> usize {
    parts.iter().map(|part| OF_PART + EACH * part.moves.len()).sum()
}

/// What the records so far cost.
#[derive(Debug)]
pub(super) struct Cost {
    spent: usize,
    limit: usize,
}

impl Cost {
    /// Nothing yet, and no more than a limit.
    pub(super) const fn up_to(limit: usize) -> Cost {
        Cost { spent: 0, limit }
    }

    pub(super) const fn spent(&self) -> usize {
        self.spent
    }

    /// Counts an operation; `None` when that is more than may be spent.
    pub(super) fn operation(&mut self) -> Option<()> {
        self.add(EACH)
    }

    /// Counts an operand with its text.
    pub(super) fn operand(&mut self, operand: &Operand) -> Option<()> {
        let text = match operand {
            Operand::Str(text) | Operand::Token(text) => text.len(),
            Operand::Tally(tally) => cost_of_tally(tally.parts()),
            _ => 0,
        };
        self.add(EACH + text)
    }

    /// What may still be spent.
    pub(super) const fn left(&self) -> usize {
        self.limit.saturating_sub(self.spent)
    }

    /// Counts a list of so many moves whose text is left out: what that takes at least.
    pub(super) fn list(&mut self, moves: usize) -> Option<()> {
        self.add((3 * moves).saturating_sub(1))
    }

    /// Counts so many bytes of a text that is left out.
    pub(super) fn bytes(&mut self, len: usize) -> Option<()> {
        self.add(len)
    }

    /// Counts the bytes of a text that is put in later.
    pub(super) fn text(&mut self, text: &[u8]) -> Option<()> {
        self.add(text.len())
    }

    fn add(&mut self, cost: usize) -> Option<()> {
        self.spent += cost;
        (self.spent <= self.limit).then_some(())
    }
}

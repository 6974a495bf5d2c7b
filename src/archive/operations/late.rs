//! Lazy texts: the texts of records that are skipped on the way to others are made only if a later record
//! needs them.

use std::sync::Arc;

use super::form::Form;
use super::lists::{self, RecordLists};
use super::root::PositionOf;
use crate::model::Operand;
use crate::model::rules::Move;
use crate::text::san;

/// The operands of an opcode in the last record with it.
#[derive(Clone, Default)]
pub(super) struct Before {
    /// In a skipped record, moves have no SANs, and lazy texts are empty.
    operands: Vec<Operand>,
    passed: Option<PassedOperands>,
}

/// The data from which the texts of an opcode in a skipped record are made.
#[derive(Clone)]
struct PassedOperands {
    record: Arc<PassedRecord>,
    /// Number of the opcode.
    field: usize,
    /// True if each move is made in the position after the previous ones.
    is_line: bool,
}

/// The data from which the texts of a skipped record are made.
pub(super) struct PassedRecord {
    pub(super) position: PositionOf,
    pub(super) lists: RecordLists,
    /// Lazy texts, by number of the opcode and place among its operands.
    pub(super) texts: Vec<((usize, usize), LateText)>,
}

/// The data from which a text is made.
pub(super) enum LateText {
    /// SANs.
    Moves(Vec<Move>),
    /// From the lists of the record.
    Derived(Form),
}

impl Before {
    /// Sets operands with their texts.
    pub(super) fn set(&mut self, operands: &[Operand]) {
        self.operands.clear();
        self.operands.extend_from_slice(operands);
        self.passed = None;
    }

    /// Sets operands of a skipped record; the opcode is given by its number.
    pub(super) fn pass(
        operands: Vec<Operand>,
        (field, is_line): (usize, bool),
        record: &Arc<PassedRecord>,
    ) -> Before {
        let record = Arc::clone(record);
        Before { operands, passed: Some(PassedOperands { record, field, is_line }) }
    }

    /// Text of the operand at a place.
    pub(super) fn text(&self, place: usize) -> Option<Vec<u8>> {
        let operand = self.operands.get(place)?;
        let Some(passed) = &self.passed else { return Some(operand.text()) };
        match operand {
            Operand::Move { mv, .. } => passed.san(&self.operands[..place], *mv),
            _ => passed.record.text((passed.field, place)).or_else(|| Some(operand.text())),
        }
    }
}

impl PassedOperands {
    fn san(&self, before: &[Operand], mv: Move) -> Option<Vec<u8>> {
        let mut now = self.record.position.playable()?;
        for operand in before.iter().filter(|_| self.is_line) {
            if let Operand::Move { mv, .. } = operand {
                now = now.after(*mv);
            }
        }
        Some(san::format(&now, mv).as_bytes().to_vec())
    }
}

impl PassedRecord {
    /// A text, if it is lazy.
    fn text(&self, place: (usize, usize)) -> Option<Vec<u8>> {
        let (_, text) = self.texts.iter().find(|(of, _)| *of == place)?;
        let root = self.position.playable()?;
        match text {
            LateText::Moves(moves) => Some(lists::text_of(&root, moves)),
            LateText::Derived(form) => self.lists.derived(&root, *form),
        }
    }
}

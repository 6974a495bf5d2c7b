//! Lazy texts. A decoder skips some records on its way to other records. The texts of skipped
//! records are made only if a later record needs them.

use std::cell::OnceCell;
use std::sync::Arc;

use super::lists::{self, RecordLists, TextKind};
use crate::columns::Row;
use epdb_chess::model::rules::{Move, Playable};
use epdb_chess::model::{Operand, Position};
use epdb_chess::text::san;

/// The operands of an opcode in the last record that has it.
#[derive(Clone, Default)]
pub(super) struct PreviousOperands {
    /// The operands. In a skipped record, moves have no SANs, and lazy texts are empty.
    operands: Vec<Operand>,
    passed: Option<SkippedOperands>,
}

/// The data that is kept of a skipped record, so that the texts of an opcode can still be made.
#[derive(Clone)]
struct SkippedOperands {
    record: Arc<SkippedRecord>,
    /// Number of the opcode.
    field: usize,
    /// True if the moves are a line: each move is made in the position after the previous moves.
    is_line: bool,
}

/// The data that is kept of a skipped record, so that its texts can still be made.
pub(super) struct SkippedRecord {
    pub(super) position: PositionOf,
    pub(super) lists: RecordLists,
    /// Lazy texts, each with the number of its opcode and its place among the operands.
    pub(super) texts: Vec<((usize, usize), LazyText)>,
}

/// The data from which a text is made.
pub(super) enum LazyText {
    /// The SANs of these moves.
    Moves(Vec<Move>),
    /// A text that is derived from the lists of the record.
    Derived(TextKind),
}

impl PreviousOperands {
    /// Sets operands whose texts are made already.
    pub(super) fn set(&mut self, operands: &[Operand]) {
        self.operands.clear();
        self.operands.extend_from_slice(operands);
        self.passed = None;
    }

    /// Makes the operands of an opcode in a skipped record. `field` is the number of the opcode.
    pub(super) fn pass(
        operands: Vec<Operand>,
        field: usize,
        is_line: bool,
        record: &Arc<SkippedRecord>,
    ) -> PreviousOperands {
        let record = Arc::clone(record);
        PreviousOperands { operands, passed: Some(SkippedOperands { record, field, is_line }) }
    }

    pub(super) fn text(&self, place: usize) -> Option<Vec<u8>> {
        let operand = self.operands.get(place)?;
        let Some(passed) = &self.passed else { return Some(operand.text()) };
        match operand {
            Operand::Move { mv, .. } => passed.san(&self.operands[..place], *mv),
            _ => passed.record.text((passed.field, place)).or_else(|| Some(operand.text())),
        }
    }
}

impl SkippedOperands {
    fn san(&self, before: &[Operand], mv: Move) -> Option<Vec<u8>> {
        let mut now = self.record.position.playable()?;
        for operand in before {
            if let Operand::Move { mv, .. } = operand
                && self.is_line
            {
                now = now.after(*mv);
            }
        }
        Some(san::format(&now, mv).as_bytes().to_vec())
    }
}

impl SkippedRecord {
    /// Makes the text of an operand, if it is lazy.
    fn text(&self, place: (usize, usize)) -> Option<Vec<u8>> {
        let (_, text) = self.texts.iter().find(|(of, _)| *of == place)?;
        let root = self.position.playable()?;
        match text {
            LazyText::Moves(moves) => Some(lists::text_of(&root, moves)),
            LazyText::Derived(text_kind) => self.lists.derived(&root, *text_kind),
        }
    }
}

/// The position of a record, or its row.
#[derive(Copy, Clone)]
pub(crate) enum PositionOf {
    Position(Position),
    Row(Row),
}

impl PositionOf {
    /// The position with its legal moves, if it is playable.
    pub(super) fn playable(&self) -> Option<Playable> {
        match self {
            PositionOf::Position(position) => Playable::new(position).ok(),
            PositionOf::Row(row) => Playable::new(&row.position()?).ok(),
        }
    }
}

/// The position of a record with its legal moves, made on demand: most skipped records need none.
pub(super) struct Root {
    position: PositionOf,
    playable: OnceCell<Option<Playable>>,
}

impl Root {
    pub(super) const fn new(position: PositionOf) -> Root {
        Root { position, playable: OnceCell::new() }
    }

    pub(super) fn get(&self) -> Option<&Playable> {
        self.playable.get_or_init(|| self.position.playable()).as_ref()
    }
}

//! Choice of the kinds of texts by an encoder.

use super::field::FieldModel;
use super::lists::{self, RecordLists, TextKind};
use epdb_chess::model::rules::Playable;
use epdb_chess::model::{Opcode, Operand, Operation};

/// Kinds of the texts of a record, by operation and operand.
#[derive(Default)]
pub(super) struct TextKinds(Vec<Vec<TextKind>>);

impl TextKinds {
    /// Chooses the kinds for the operations of a record. `field` returns the model of an opcode.
    pub(super) fn choose<'a>(
        root: Option<&Playable>,
        given: &[Operation],
        field: impl Fn(Opcode) -> Option<&'a FieldModel>,
    ) -> TextKinds {
        let mut lists = RecordLists::default();
        let mut text_kinds = TextKinds::default();
        for operation in given {
            let field = field(operation.opcode);
            let text_kind = |(place, operand): (usize, &Operand)| match operand {
                Operand::Str(text) | Operand::Token(text) => {
                    let before = field.and_then(|field| field.text_before(place));
                    repeated(before, text).unwrap_or_else(|| lists.note(root, text))
                }
                _ => TextKind::Plain,
            };
            text_kinds.0.push(operation.operands.iter().enumerate().map(text_kind).collect());
        }
        if let Some(root) = root {
            text_kinds.derive(root, given, &lists);
        }
        text_kinds
    }

    /// Finds the texts that are derived from the lists of the record.
    fn derive(&mut self, root: &Playable, given: &[Operation], lists: &RecordLists) {
        let derived = [TextKind::Coordinates, TextKind::Pairs]
            .map(|text_kind| (text_kind, lists.derived(root, text_kind)));
        for (operation, text_kinds) in given.iter().zip(&mut self.0) {
            for (operand, text_kind) in operation.operands.iter().zip(text_kinds) {
                let (Operand::Str(text) | Operand::Token(text)) = operand else { continue };
                if matches!(text_kind, TextKind::Moves | TextKind::Numbers) {
                    continue;
                }
                let mut derived = derived.iter();
                if let Some((found, _)) = derived.find(|(_, own)| own.as_deref() == Some(text)) {
                    *text_kind = *found;
                }
            }
        }
    }

    pub(super) fn text_kind(&self, operation: usize, operand: usize) -> TextKind {
        let text_kinds = self.0.get(operation);
        text_kinds
            .and_then(|text_kinds| text_kinds.get(operand))
            .copied()
            .unwrap_or(TextKind::Plain)
    }
}

/// The kind of a text that follows from the text in the previous record; `None` for others.
fn repeated(before: Option<Vec<u8>>, text: &[u8]) -> Option<TextKind> {
    let before = before?;
    if before == text {
        return Some(TextKind::Same);
    }
    (lists::successor(&before).as_deref() == Some(text)).then_some(TextKind::Successor)
}

//! Choice of the forms of texts by an encoder.

use super::field::FieldModel;
use super::form::Form;
use super::lists::{self, RecordLists};
use crate::model::rules::Playable;
use crate::model::{Opcode, Operand, Operation};

/// Forms of the texts of a record, by operation and operand.
#[derive(Default)]
pub(super) struct TextForms(Vec<Vec<Form>>);

impl TextForms {
    /// Chooses the forms for the operations of a record. `follows`: a move led to it; `field` returns the
    /// model of an opcode.
    pub(super) fn of<'a>(
        root: Option<&Playable>,
        follows: bool,
        given: &[Operation],
        field: impl Fn(Opcode) -> Option<&'a FieldModel>,
    ) -> TextForms {
        let mut lists = RecordLists::default();
        let mut forms = TextForms::default();
        for operation in given {
            let field = field(operation.opcode);
            let form = |(place, operand): (usize, &Operand)| match operand {
                Operand::Str(text) | Operand::Token(text) => {
                    let before = field.and_then(|field| field.text_before(place));
                    repeated(before, text, follows).unwrap_or_else(|| lists.note(root, text))
                }
                _ => Form::Plain,
            };
            forms.0.push(operation.operands.iter().enumerate().map(form).collect());
        }
        if let Some(root) = root {
            forms.derive(root, given, &lists);
        }
        forms
    }

    /// Finds the texts that are derived from the lists of the record.
    fn derive(&mut self, root: &Playable, given: &[Operation], lists: &RecordLists) {
        let derived =
            [Form::Coordinates, Form::Pairs].map(|form| (form, lists.derived(root, form)));
        for (operation, forms) in given.iter().zip(&mut self.0) {
            for (operand, form) in operation.operands.iter().zip(forms) {
                let (Operand::Str(text) | Operand::Token(text)) = operand else { continue };
                if matches!(form, Form::Moves | Form::Numbers) {
                    continue;
                }
                let mut derived = derived.iter();
                if let Some((found, _)) = derived.find(|(_, own)| own.as_deref() == Some(text)) {
                    *form = *found;
                }
            }
        }
    }

    /// The form of a text.
    pub(super) fn form(&self, operation: usize, operand: usize) -> Form {
        let forms = self.0.get(operation);
        forms.and_then(|forms| forms.get(operand)).copied().unwrap_or(Form::Plain)
    }
}

/// The form of a text that is predicted by the previous record. A result from the side to move's view
/// changes its sign with each move.
fn repeated(before: Option<Vec<u8>>, text: &[u8], follows: bool) -> Option<Form> {
    let before = before?;
    let is = |other: Option<Vec<u8>>| other.as_deref() == Some(text);
    if follows && is(lists::negated(&before)) {
        Some(Form::Negated)
    } else if before == text {
        Some(Form::Same)
    } else {
        is(lists::successor(&before)).then_some(Form::Successor)
    }
}

//! The state while one line is read, and its diagnostics.
//!
//! Each of the other files of this module reads one part of a line, through methods of [`Reader`].

use std::borrow::Cow;

use crate::model::rules::Playable;
use crate::model::{Opcode, Operand, Operation, Position, StandardOpcode};
use crate::text::charset::{Charset, decode};
use crate::text::diagnostic::{Diagnostic, shown};
use crate::text::options::{ParseOptions, Profile};
use crate::text::scan::Word;

/// An operation of the line, and its place in the line.
#[derive(Clone)]
pub(super) struct Placed {
    pub(super) operation: Operation,
    pub(super) at: usize,
}

/// An operation (`pm` or `sm`) that should have one move and has several. The right move is the
/// first move in `pv` or `sv`. So the choice is made after `pv` or `sv` is read.
pub(super) struct Choice {
    pub(super) opcode: Opcode,
    pub(super) at: usize,
    pub(super) text: Vec<u8>,
    pub(super) moves: Vec<Operand>,
}

/// Number of operations for which memory is reserved. Few records have more.
const USUAL_OPERATIONS: usize = 8;

pub(super) struct Reader<'o, 'w> {
    pub(super) options: &'o ParseOptions,
    pub(super) warnings: &'w mut Vec<Diagnostic>,
    pub(super) operations: Vec<Placed>,
    /// Texts that could not be read and are kept as operands of `noop`, with their places.
    pub(super) salvaged: Vec<(usize, Operand)>,
    pub(super) choices: Vec<Choice>,
    /// Index of the last operation, if it is `am`, `bm` or `pv`, to which the next move may belong.
    pub(super) moves_before: Option<usize>,
    /// The position for move generation, prepared when the first move is read.
    playable: Option<Option<Playable>>,
}

impl<'o, 'w> Reader<'o, 'w> {
    pub(super) const fn new(options: &'o ParseOptions, warnings: &'w mut Vec<Diagnostic>) -> Self {
        Reader {
            options,
            warnings,
            operations: Vec::new(),
            salvaged: Vec::new(),
            choices: Vec::new(),
            moves_before: None,
            playable: None,
        }
    }

    pub(super) fn is_lenient(&self) -> bool {
        self.options.profile == Profile::Lenient
    }

    /// Finds the entry of an opcode in the table of standard opcodes, if this revision of the
    /// standard has the opcode.
    pub(super) fn standard(&self, opcode: Opcode) -> Option<&'static StandardOpcode> {
        opcode.standard().filter(|entry| entry.in_1994 || !self.options.revision_1994)
    }

    /// Returns the position for move generation; `None` if no moves can be made in it.
    pub(super) fn playable(&mut self, position: &Position) -> Option<Playable> {
        *self.playable.get_or_insert_with(|| Playable::new(position).ok())
    }
}

/// Methods for diagnostics.
impl Reader<'_, '_> {
    pub(super) fn warn(&mut self, code: &'static str, at: usize, message: impl Into<String>) {
        self.warnings.push(Diagnostic::warning(code, at + 1, message));
    }

    pub(super) fn repaired(
        &mut self,
        code: &'static str,
        at: usize,
        message: impl Into<String>,
        before: &[u8],
        after: &[u8],
    ) {
        let warning = Diagnostic::warning(code, at + 1, message).with_repair(before, after);
        self.warnings.push(warning);
    }

    /// The index of the next warning, from which [`Reader::forget_since`] withdraws warnings.
    pub(super) const fn mark(&self) -> usize {
        self.warnings.len()
    }

    pub(super) fn forget_since(&mut self, mark: usize) {
        self.warnings.truncate(mark);
    }
}

/// Methods for operations.
impl Reader<'_, '_> {
    pub(super) fn add(&mut self, opcode: Opcode, operands: Vec<Operand>, at: usize) {
        let mut operation = Operation { opcode, operands };
        operation.settle();
        if self.operations.is_empty() {
            self.operations.reserve(USUAL_OPERATIONS);
        }
        self.operations.push(Placed { operation, at });
    }

    pub(super) fn add_integer(&mut self, opcode: Opcode, value: i128, at: usize) {
        self.add(opcode, vec![Operand::Integer(value)], at);
    }

    /// Salvages a text: it is kept as an operand of `noop`, with a warning.
    pub(super) fn salvage(&mut self, code: &'static str, text: Word, why: &str) {
        let kept = readable(text.trimmed().text, self.options.charset);
        let message = format!("{why}; {} kept as noop", shown(text.text));
        let mut after = b"noop ".to_vec();
        let operand = Operand::string(kept);
        operand.write_to(&mut after);
        self.repaired(code, text.at, message, text.text, &after);
        self.salvaged.push((text.at, operand));
    }
}

/// Converts bytes to the text of a string. They are decoded from the character set to UTF-8; quotes
/// become apostrophes and control bytes become blanks.
pub(super) fn readable(bytes: &[u8], charset: Option<Charset>) -> Cow<'_, [u8]> {
    if is_readable(bytes) {
        return Cow::Borrowed(bytes);
    }
    decode(bytes, charset)
        .bytes()
        .map(|byte| match byte {
            b'"' => b'\'',
            byte if byte < b' ' || byte == 0x7f => b' ',
            byte => byte,
        })
        .collect()
}

/// Whether bytes are the text of a string already: printable ASCII without quotes.
fn is_readable(bytes: &[u8]) -> bool {
    // Without a branch, so that the compiler looks at many bytes at a time.
    bytes.iter().fold(true, |is, byte| is & matches!(byte, b' ' | b'!' | b'#'..=b'~'))
}

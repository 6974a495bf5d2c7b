//! The text of one operation, split into operands.

use crate::model::{Opcode, Operand};
use crate::text::codes;
use crate::text::diagnostic::Diagnostic;
use crate::text::scan::{Word, is_blank};

/// An operand before its type is known.
#[derive(Copy, Clone, Debug)]
pub(in crate::text) enum Raw<'a> {
    /// A quoted string: the text between the quotes, and true if it has a closing quote.
    Str(Word<'a>, bool),
    /// An unquoted word.
    Token(Word<'a>),
}

impl<'a> Raw<'a> {
    pub(in crate::text) const fn at(&self) -> usize {
        match self {
            Raw::Str(inner, _) => inner.at - 1,
            Raw::Token(word) => word.at,
        }
    }

    pub(in crate::text) const fn end(&self) -> usize {
        match self {
            Raw::Str(inner, closed) => inner.end() + *closed as usize,
            Raw::Token(word) => word.end(),
        }
    }

    /// Returns the opcode that an unquoted word may be.
    pub(in crate::text) fn as_opcode(&self) -> Option<Opcode> {
        match self {
            Raw::Token(word) => Opcode::new(word.text).ok(),
            Raw::Str(..) => None,
        }
    }
}

/// An operation of the line: its opcode and its operands, which end at the semicolon. In the
/// lenient profile the semicolon may be missing; the operands then end at the next opcode.
pub(super) struct Segment<'a, 's> {
    pub(super) opcode: Opcode,
    /// The whole text of the operation.
    pub(super) text: Word<'a>,
    /// All operands up to the semicolon, even if a semicolon is missing among them.
    pub(super) raws: &'s [Raw<'a>],
}

impl<'a> Segment<'a, '_> {
    pub(super) const fn at(&self) -> usize {
        self.text.at
    }

    /// Returns the text before an operand, which is given by its index.
    pub(super) fn text_before(&self, operand: usize) -> Word<'a> {
        match self.raws.get(operand) {
            Some(raw) => self.text.part(0, raw.at() - self.text.at).trimmed(),
            None => self.text,
        }
    }

    pub(super) fn error(&self, code: &'static str, what: impl std::fmt::Display) -> Diagnostic {
        Diagnostic::error(code, self.text.column(), format!("`{}` {what}", self.opcode))
    }

    pub(super) fn arity(&self, wanted: &str) -> Diagnostic {
        let what = format!("takes {wanted}, not {} operands", self.raws.len());
        self.error(codes::E_EPD_ARITY, what)
    }
}

/// The operands of an operation as the record has them, and the number of operands in the text from
/// which they were read.
pub(super) struct Taken {
    /// `None` if the operands are chosen later; see `Choice`.
    pub(super) operands: Option<Vec<Operand>>,
    pub(super) count: usize,
}

impl Taken {
    pub(super) const fn new(operands: Vec<Operand>, count: usize) -> Taken {
        Taken { operands: Some(operands), count }
    }
}

pub(in crate::text) fn split_operands<'a>(text: Word<'a>, escapes: bool, raws: &mut Vec<Raw<'a>>) {
    raws.clear();
    let mut from = 0;
    while let Some(place) = text.text[from..].iter().position(|&byte| !is_blank(byte)) {
        let start = from + place;
        if text.text[start] == b'"' {
            let end = string_end(text.text, start + 1, escapes);
            let inner = text.part(start + 1, end.unwrap_or(text.text.len()));
            raws.push(Raw::Str(inner, end.is_some()));
            from = end.map_or(text.text.len(), |quote| quote + 1);
        } else {
            let ends = |&byte: &u8| is_blank(byte) || byte == b'"';
            let end =
                text.text[start..].iter().position(ends).map_or(text.text.len(), |p| start + p);
            raws.push(Raw::Token(text.part(start, end)));
            from = end;
        }
    }
}

/// Whether a move that follows the operation may belong to it.
pub(super) fn takes_more_moves(opcode: Opcode) -> bool {
    matches!(opcode, Opcode::AM | Opcode::BM | Opcode::PV)
}

/// Finds the quote that ends a string whose first byte is at `start`; `None` if the string is left
/// open.
///
/// A quote ends the string. But if `escapes` is true, a quote after a backslash normally belongs to the
/// string. Such a quote ends the string only if [`follows_string`] accepts the text after the quote.
pub(in crate::text) fn string_end(text: &[u8], start: usize, escapes: bool) -> Option<usize> {
    let mut from = start;
    loop {
        let quote = from + memchr::memchr(b'"', text.get(from..)?)?;
        let escaped = escapes && quote > start && text[quote - 1] == b'\\';
        if !escaped || follows_string(&text[quote + 1..]) {
            return Some(quote);
        }
        from = quote + 1;
    }
}

/// Whether a text can follow a string. It can if there are only blanks before a semicolon or the
/// end. It also can if it begins with a blank, and the next quote (if there is one) clearly begins
/// another string.
///
/// The text after any string in a canonical line is like this, so a canonical line is never read as
/// if it had escapes.
fn follows_string(behind: &[u8]) -> bool {
    match behind.iter().position(|&byte| !is_blank(byte)) {
        None => true,
        Some(place) if behind[place] == b';' => true,
        Some(blanks) => blanks > 0 && next_string_is_whole(behind),
    }
}

/// True if the next quote clearly begins a string. It must follow a blank. The quote after it must
/// be followed by a blank, a semicolon or the end. Also true if there is no quote.
fn next_string_is_whole(text: &[u8]) -> bool {
    let Some(open) = memchr::memchr(b'"', text) else { return true };
    let opens = open > 0 && is_blank(text[open - 1]);
    opens
        && memchr::memchr(b'"', &text[open + 1..]).is_some_and(|len| {
            text.get(open + 1 + len + 1).is_none_or(|&byte| is_blank(byte) || byte == b';')
        })
}

//! Strings: where they end, and what bytes they hold.

use std::borrow::Cow;

use super::Reader;
use crate::model::Operand;
use crate::text::codes;
use crate::text::diagnostic::Diagnostic;
use crate::text::scan::{Word, is_blank};

/// The most bytes of a string.
const LONGEST: usize = 255;

/// The place of the quote that ends a string whose first byte is at `start`; `None` when it is
/// left open.
///
/// A quote ends the string. Only where `escapes` are looked for, one behind a backslash does not,
/// unless the text behind it reads as what follows a string.
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

/// Whether this can be what follows a string: the end of the operation, or a blank where the next
/// quote, if there is one, plainly begins a string of its own.
///
/// All canonical text is such, so that it is never read as if it had escapes.
fn follows_string(behind: &[u8]) -> bool {
    match behind.iter().position(|&byte| !is_blank(byte)) {
        None => true,
        Some(place) if behind[place] == b';' => true,
        Some(blanks) => blanks > 0 && next_string_is_whole(behind),
    }
}

/// Whether the next quote stands behind a blank, and the one after it before a blank, a semicolon
/// or the end; or there is none.
fn next_string_is_whole(text: &[u8]) -> bool {
    let Some(open) = memchr::memchr(b'"', text) else { return true };
    let opens = open > 0 && is_blank(text[open - 1]);
    opens
        && memchr::memchr(b'"', &text[open + 1..]).is_some_and(|len| {
            text.get(open + 1 + len + 1).is_none_or(|&byte| is_blank(byte) || byte == b';')
        })
}

/// Bytes as a string can hold them: quotes as apostrophes, control bytes as blanks, what is not
/// UTF-8 read as Latin-1.
pub(super) fn readable(bytes: &[u8]) -> Vec<u8> {
    let utf8 = match std::str::from_utf8(bytes) {
        Ok(_) => Cow::Borrowed(bytes),
        Err(_) => Cow::Owned(bytes.iter().map(|&b| char::from(b)).collect::<String>().into_bytes()),
    };
    utf8.iter()
        .map(|&byte| match byte {
            b'"' => b'\'',
            byte if byte < b' ' || byte == 0x7f => b' ',
            byte => byte,
        })
        .collect()
}

impl Reader<'_, '_> {
    /// Reads the inside of a quoted string.
    pub(super) fn read_string(&mut self, inner: Word, closed: bool) -> Result<Operand, Diagnostic> {
        if !self.is_lenient() {
            return strict_string(inner);
        }
        if !closed {
            let message = "string left open; closed at the end of the line";
            let mut after = inner.text.to_vec();
            after.push(b'"');
            self.repaired(codes::W_LEN_QUOTE, inner.at, message, inner.text, &after);
        }
        let text = self.without_escapes(inner);
        Ok(self.string_of(Word { at: inner.at, text: &text }))
    }

    /// A string operand of bytes as the line has them.
    pub(super) fn string_of(&mut self, word: Word) -> Operand {
        let text = readable(word.text);
        if std::str::from_utf8(word.text).is_err() {
            let message = "string read as Latin-1 and written in UTF-8";
            self.repaired(codes::W_LEN_LATIN1, word.at, message, word.text, &text);
        }
        if text.len() > LONGEST {
            let message = format!("a string of {} bytes, more than {LONGEST}", text.len());
            self.warn(codes::W_LEN_STRLEN, word.at, message);
        }
        Operand::string(text)
    }

    /// Reads `\"` as an apostrophe. Every quote that is left inside a string is such a one.
    fn without_escapes<'a>(&mut self, inner: Word<'a>) -> Cow<'a, [u8]> {
        if memchr::memchr(b'"', inner.text).is_none() {
            return Cow::Borrowed(inner.text);
        }
        let mut text = Vec::with_capacity(inner.text.len());
        for &byte in inner.text {
            if byte == b'"' {
                text.pop();
                text.push(b'\'');
            } else {
                text.push(byte);
            }
        }
        let message = "escaped quote in a string; written as an apostrophe";
        self.repaired(codes::W_LEN_ESCAPE, inner.at, message, inner.text, &text);
        Cow::Owned(text)
    }
}

fn strict_string(inner: Word) -> Result<Operand, Diagnostic> {
    if let Some(place) = inner.text.iter().position(|&byte| byte < b' ' || byte == 0x7f) {
        let message = format!("control byte 0x{:02X} in a string", inner.text[place]);
        return Err(Diagnostic::error(codes::E_EPD_CTRL, inner.column() + place, message));
    }
    if inner.text.len() > LONGEST {
        let message = format!("a string of {} bytes, more than {LONGEST}", inner.text.len());
        return Err(Diagnostic::error(codes::E_EPD_STRLEN, inner.column(), message));
    }
    Ok(Operand::string(inner.text))
}

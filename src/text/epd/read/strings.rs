//! Strings: where they end, and what bytes they hold.

use crate::text::charset::{Charset, decode};
use crate::text::scan::is_blank;

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

/// Bytes as a string can hold them: text of a character set in UTF-8, quotes as apostrophes, control
/// bytes as blanks.
pub(super) fn readable(bytes: &[u8], charset: Option<Charset>) -> Vec<u8> {
    decode(bytes, charset)
        .bytes()
        .map(|byte| match byte {
            b'"' => b'\'',
            byte if byte < b' ' || byte == 0x7f => b' ',
            byte => byte,
        })
        .collect()
}

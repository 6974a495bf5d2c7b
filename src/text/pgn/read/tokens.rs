//! Tokens of movetext, as bytes.

use std::borrow::Cow;

use crate::text::pgn::ending::Spelled;
use crate::text::typography::{Typographic, character_length, in_ascii};

/// Maximum number of characters of a string, and of a line with its end, in the standard.
pub(super) const SPEC_LENGTH: usize = 255;

/// Whether a byte may be part of a symbol. These are the bytes of the standard's symbols, of
/// results and of promotions such as `e8/Q`, and all bytes beyond ASCII.
pub(super) const fn is_symbol(byte: u8) -> bool {
    SYMBOLS[byte as usize]
}

static SYMBOLS: [bool; 256] = symbols();

const fn symbols() -> [bool; 256] {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        let c = byte as u8;
        table[byte] = c.is_ascii_alphanumeric()
            || c >= 0x80
            || matches!(c, b'_' | b'+' | b'#' | b'=' | b':' | b'-' | b'/' | b'~');
        byte += 1;
    }
    table
}

/// Returns the symbol at the start of a text, with `(Q)` or `e.p.` if it follows directly.
/// Typographic blanks and periods end a symbol.
pub(super) fn symbol(text: &[u8]) -> &[u8] {
    let mut end = 0;
    while let Some(&byte) = text.get(end).filter(|byte| is_symbol(**byte)) {
        let rest = &text[end..];
        let ends = |found: &Typographic| found.ascii == " " || found.is_period();
        if byte >= 0x80 && Typographic::at_start(rest).as_ref().is_some_and(ends) {
            break;
        }
        end += character_length(rest);
    }
    match &text[end..] {
        [b'(', piece, b')', ..] if end > 0 && piece.is_ascii_alphabetic() => &text[..end + 3],
        [b'.', b'p', b'.', ..] if text[..end].ends_with(b"e") => &text[..end + 3],
        _ => &text[..end],
    }
}

/// Converts typographic characters of a symbol, such as hyphens, to ASCII.
pub(super) fn plain_symbol(text: &[u8]) -> Cow<'_, [u8]> {
    let is_ascii = text.is_ascii();
    let plain = if is_ascii { None } else { in_ascii(text, Typographic::is_of_word) };
    plain.map_or(Cow::Borrowed(text), Cow::Owned)
}

/// Length of the termination marker at the start of a text; `None` if it may be castling.
pub(super) fn marker_length(text: &[u8]) -> Option<usize> {
    let found = Spelled::at_start(text)?;
    (!found.may_be_castling(&text[..found.len])).then_some(found.len)
}

/// Termination markers that are found without a blank after a move. If one marker is the end of
/// another, the longer one comes first.
const GLUED: [&str; 12] = [
    "1/2-1/2",
    "1-0",
    "0-1",
    "1:0",
    "0:1",
    "1\u{2013}0",
    "0\u{2013}1",
    "1/2\u{2013}1/2",
    "1/2",
    "\u{bd}\u{2013}\u{bd}",
    "\u{bd}-\u{bd}",
    "\u{bd}",
];

/// Length of the text before a termination marker at the end of a symbol. `None` if the symbol ends
/// with no marker, or if the text before it cannot be a move.
pub(super) fn glued_marker(text: &[u8]) -> Option<usize> {
    let marker = GLUED.into_iter().find(|marker| text.ends_with(marker.as_bytes()))?;
    let head = &text[..text.len() - marker.len()];
    let may_end_a_move = |byte: &u8| {
        matches!(byte, b'1'..=b'8' | b'+' | b'#' | b'O' | b'o' | b'0' | b')' | b'.')
            || byte.is_ascii_alphabetic()
    };
    (head.len() > 1 && head.last().is_some_and(may_end_a_move)).then_some(head.len())
}

/// Length of an HTML tag without attributes, or of `&nbsp;`, at the start of a text.
pub(super) fn markup_length(text: &[u8]) -> Option<usize> {
    const BLANK: &[u8] = b"&nbsp;";
    if text.starts_with(BLANK) {
        return Some(BLANK.len());
    }
    let rest = text.strip_prefix(b"<")?;
    let rest = rest.strip_prefix(b"/").unwrap_or(rest);
    let letters = rest.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    let end =
        [&b">"[..], b"/>", b" />"].into_iter().find(|end| rest[letters..].starts_with(end))?;
    let is_tag = (1..=10).contains(&letters);
    is_tag.then_some(text.len() - rest.len() + letters + end.len())
}

/// Spellings of a null move: first the spelling that epdb writes, then those of other programs.
const NULL_MOVES: [&[u8]; 5] = [b"--", b"Z0", b"0000", b"null", b"pass"];

/// Spellings of a null move with characters that are not part of symbols.
const NULL_MOVE_SIGNS: [&[u8]; 2] = [b"@@@@", b"<>"];

/// Length of the null move at the start of a text. Letters may have either case.
pub(super) fn null_move(text: &[u8]) -> Option<usize> {
    if let Some(signs) = NULL_MOVE_SIGNS.into_iter().find(|signs| text.starts_with(signs)) {
        return Some(signs.len());
    }
    let symbol = symbol(text);
    NULL_MOVES.iter().any(|null| symbol.eq_ignore_ascii_case(null)).then_some(symbol.len())
}

/// Returns the NAG for a sign of printed annotation, in ASCII, Latin-1 or UTF-8.
pub(super) fn position_sign(text: &[u8]) -> Option<u8> {
    Some(match &*plain_symbol(text) {
        b"\xe2\x96\xa1" => 7,
        b"=" => 10,
        b"~" | b"\xe2\x88\x9e" => 13,
        b"+=" | b"+/=" | b"\xe2\xa9\xb2" => 14,
        b"=+" | b"=/+" | b"\xe2\xa9\xb1" => 15,
        b"+/-" | b"\xb1" | b"\xc2\xb1" => 16,
        b"-/+" | b"\xe2\x88\x93" => 17,
        b"+-" => 18,
        b"-+" => 19,
        b"N" => 146,
        b"D" => 220,
        _ => return None,
    })
}

/// Returns the value of decimal digits; `None` if it is too large for a move number.
pub(super) fn number(digits: &[u8]) -> Option<u32> {
    digits.iter().try_fold(0u32, |number, digit| {
        number.checked_mul(10)?.checked_add(u32::from(digit - b'0'))
    })
}

//! Tokens of movetext, as bytes.

use std::borrow::Cow;

use crate::text::pgn::ending::Spelled;
use crate::text::pgn::source::MAX_TOKEN;
use crate::text::san;
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
/// Typographic blanks and periods end a symbol, and so does its length, since the rest of a line of
/// symbols without blanks is not looked through for each of them.
pub(super) fn symbol(text: &[u8]) -> &[u8] {
    let mut end = 0;
    while let Some(&byte) = text.get(end).filter(|byte| is_symbol(**byte) && end < MAX_TOKEN) {
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
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    in_ascii(text, Typographic::is_of_word).map_or(Cow::Borrowed(text), Cow::Owned)
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

/// Signs of printed annotation and their NAGs (`formats/notes/text_profiles.md`, section 4). If one sign is
/// the start of another, the longer one comes first.
const SIGNS: [(&str, u8); 42] = [
    ("\u{203c}", 3),
    ("\u{2047}", 4),
    ("\u{2049}", 5),
    ("\u{2048}", 6),
    ("\u{25a1}", 7),
    ("=/\u{221e}", 44),
    ("=\u{221e}", 44),
    ("\u{221e}/=", 44),
    ("\u{221e}", 13),
    ("~", 13),
    ("\u{2a72}", 14),
    ("+/=", 14),
    ("+=", 14),
    ("\u{2a71}", 15),
    ("=/+", 15),
    ("=+", 15),
    ("=", 10),
    ("\u{b1}", 16),
    ("+/-", 16),
    ("\u{2213}", 17),
    ("-/+", 17),
    ("+-", 18),
    ("-+", 19),
    ("\u{2a00}", 22),
    ("\u{2299}", 22),
    ("\u{27f3}", 32),
    ("\u{2191}\u{2191}", 32),
    ("\u{2191}", 36),
    ("\u{2192}", 40),
    ("\u{21c6}", 132),
    ("\u{21c4}", 132),
    ("\u{2295}", 138),
    ("\u{2a01}", 138),
    ("\u{2206}", 140),
    ("\u{25b3}", 140),
    ("\u{394}", 140),
    ("\u{2207}", 141),
    ("\u{2313}", 142),
    ("RR", 145),
    ("TN", 146),
    ("N", 146),
    ("D", 220),
];

/// Returns the NAGs of a symbol that consists of signs of printed annotation, in ASCII, Latin-1 or
/// UTF-8. `None` for any other symbol.
pub(super) fn annotation_signs(text: &[u8]) -> Option<Vec<u8>> {
    let plain = plain_symbol(text);
    let mut rest = &*plain;
    let mut nags = Vec::new();
    while !rest.is_empty() {
        let known = SIGNS.iter().find(|(sign, _)| rest.starts_with(sign.as_bytes()));
        let (len, nag) = match known {
            Some((sign, nag)) => (sign.len(), *nag),
            // The sign of $16 in Latin-1.
            None if rest[0] == 0xb1 => (1, 16),
            None => return None,
        };
        // Letters are signs only if nothing else is in the symbol.
        if rest[0].is_ascii_alphabetic() && len < plain.len() {
            return None;
        }
        nags.push(nag);
        rest = &rest[len..];
    }
    if nags.is_empty() { None } else { Some(nags) }
}

/// Whether a symbol in English may be a move, or a part of one. The game cannot go on without it.
/// That is so if it has a letter and a digit, if it may be castling or a null move, and if it has
/// only letters of pieces and files, such as `exd` and `Nx`.
pub(super) fn may_be_move(text: &[u8]) -> bool {
    /// Length of `Nbxd`, the longest move without a rank.
    const MAX_SHORT: usize = 4;
    let plain = plain_symbol(text);
    let text = &*plain;
    let is_letter = |byte: &u8| byte.is_ascii_alphabetic() || *byte >= 0x80;
    let has_digit = text.iter().any(u8::is_ascii_digit);
    let is_short = text.len() <= MAX_SHORT
        && text.first().is_some_and(u8::is_ascii_alphabetic)
        && text.iter().all(|byte| b"KQRBNPabcdefghx:-=".contains(byte));
    let is_one_letter = matches!(text, [letter] if letter.is_ascii_alphabetic());
    has_digit && text.iter().any(is_letter)
        || san::circles(text).is_some() && text != b"-"
        || is_short
        || is_one_letter
}

/// Returns the value of decimal digits; `None` if it is too large for a move number, or if the text
/// has other bytes.
pub(super) fn number(digits: &[u8]) -> Option<u32> {
    digits.iter().try_fold(0u32, |number, digit| {
        number.checked_mul(10)?.checked_add(char::from(*digit).to_digit(10)?)
    })
}

//! The words of movetext, as bytes.

use crate::model::GameResult;

/// The most characters that a string of the standard has, and the most that a line of it
/// has with its end.
pub(super) const SPEC_LENGTH: usize = 255;

/// The characters of symbols, with those of results, of `e8/Q`, and all beyond ASCII.
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

/// Termination markers with blanks in them.
pub(super) const SPACED_MARKERS: [&[u8]; 3] = [b"1/2 - 1/2", b"1 - 0", b"0 - 1"];

/// The symbol that text begins with; `(Q)` and `e.p.` behind one belong to it.
pub(super) fn symbol(text: &[u8]) -> &[u8] {
    if let Some(b'0' | b'1') = text.first() {
        let spaced = SPACED_MARKERS.into_iter().find(|marker| text.starts_with(marker));
        if let Some(marker) = spaced {
            return marker;
        }
    }
    let end = text.iter().take_while(|byte| is_symbol(**byte)).count();
    match &text[end..] {
        [b'(', piece, b')', ..] if end > 0 && piece.is_ascii_alphabetic() => &text[..end + 3],
        [b'.', b'p', b'.', ..] if text[..end].ends_with(b"e") => &text[..end + 3],
        _ => &text[..end],
    }
}

/// The termination markers, each with what it says and whether it is one of the four. Where one
/// ends with another, the longer one comes first.
const MARKERS: [(&[u8], GameResult, bool); 16] = [
    (b"1/2-1/2", GameResult::Draw, true),
    (b"1-0", GameResult::WhiteWins, true),
    (b"0-1", GameResult::BlackWins, true),
    (b"*", GameResult::Unknown, true),
    (b"1 - 0", GameResult::WhiteWins, false),
    (b"0 - 1", GameResult::BlackWins, false),
    (b"1/2 - 1/2", GameResult::Draw, false),
    (b"1\xe2\x80\x930", GameResult::WhiteWins, false),
    (b"0\xe2\x80\x931", GameResult::BlackWins, false),
    (b"1/2\xe2\x80\x931/2", GameResult::Draw, false),
    (b"1/2", GameResult::Draw, false),
    (b"\xc2\xbd\xe2\x80\x93\xc2\xbd", GameResult::Draw, false),
    (b"\xc2\xbd-\xc2\xbd", GameResult::Draw, false),
    (b"\xc2\xbd", GameResult::Draw, false),
    (b"\xbd-\xbd", GameResult::Draw, false),
    (b"\xbd", GameResult::Draw, false),
];

/// What a termination marker says, and whether it is one of the four.
pub(super) fn termination_marker(text: &[u8]) -> Option<(GameResult, bool)> {
    if !matches!(text.first(), Some(b'0' | b'1' | b'*' | 0x80..)) {
        return None;
    }
    let (_, result, canonical) = MARKERS.into_iter().find(|(marker, ..)| *marker == text)?;
    Some((result, canonical))
}

/// The length of what stands before a termination marker in a symbol that ends with one, when it
/// may be a move.
pub(super) fn glued_marker(text: &[u8]) -> Option<usize> {
    let (marker, ..) = MARKERS.into_iter().find(|(marker, ..)| text.ends_with(marker))?;
    let head = &text[..text.len() - marker.len()];
    let may_end_a_move = |byte: &u8| {
        matches!(byte, b'1'..=b'8' | b'+' | b'#' | b'O' | b'o' | b'0' | b')' | b'.')
            || byte.is_ascii_alphabetic()
    };
    (head.len() > 1 && head.last().is_some_and(may_end_a_move)).then_some(head.len())
}

/// What stands for a null move, as it is written and in files of other programs.
const NULL_MOVES: [&[u8]; 5] = [b"--", b"Z0", b"0000", b"null", b"pass"];

/// The same in characters that are no symbol.
const NULL_MOVE_SIGNS: [&[u8]; 2] = [b"@@@@", b"<>"];

/// The length of the null move that text begins with; letters count in either case.
pub(super) fn null_move(text: &[u8]) -> Option<usize> {
    if let Some(signs) = NULL_MOVE_SIGNS.into_iter().find(|signs| text.starts_with(signs)) {
        return Some(signs.len());
    }
    let symbol = symbol(text);
    NULL_MOVES.iter().any(|null| symbol.eq_ignore_ascii_case(null)).then_some(symbol.len())
}

/// The NAG that a sign of printed annotation stands for, in ASCII, Latin-1 or UTF-8.
pub(super) fn position_sign(text: &[u8]) -> Option<u8> {
    Some(match text {
        b"\xe2\x96\xa1" => 7,
        b"=" => 10,
        b"~" | b"\xe2\x88\x9e" => 13,
        b"+=" | b"+/=" | b"\xe2\xa9\xb2" => 14,
        b"=+" | b"=/+" | b"\xe2\xa9\xb1" => 15,
        b"+/-" | b"\xb1" | b"\xc2\xb1" => 16,
        b"-/+" | b"\xe2\x88\x93" => 17,
        b"+-" | b"+\xe2\x88\x92" => 18,
        b"-+" | b"\xe2\x88\x92+" => 19,
        b"N" => 146,
        b"D" => 220,
        _ => return None,
    })
}

/// The value of decimal digits, if it is one that a move can have.
pub(super) fn number(digits: &[u8]) -> Option<u32> {
    digits.iter().try_fold(0u32, |number, digit| {
        number.checked_mul(10)?.checked_add(u32::from(digit - b'0'))
    })
}

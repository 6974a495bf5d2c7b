//! Characters that word processors and web pages use in place of ASCII.

use super::charset::from_windows_1252;

/// A typographic character in the place of syntax, and the ASCII text with the same meaning.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Typographic {
    pub(super) character: char,
    /// Size in bytes of the character in the text.
    pub(super) len: usize,
    /// The ASCII text: a blank, a hyphen, a quote, an apostrophe, `x`, `/`, periods, or nothing.
    pub(super) ascii: &'static str,
}

impl Typographic {
    /// Returns the typographic character with which a text begins. The character is in UTF-8, or in
    /// Windows-1252 if the bytes are not UTF-8.
    pub(super) fn at_start(text: &[u8]) -> Option<Typographic> {
        let first = *text.first().filter(|byte| **byte >= 0x80)?;
        let (character, len) = match first_character(text) {
            Some(character) => (character, character.len_utf8()),
            None => (from_windows_1252(first), 1),
        };
        Some(Typographic { character, len, ascii: ascii(character)? })
    }

    /// Whether the character separates words or has no meaning.
    pub(super) fn is_blank(&self) -> bool {
        matches!(self.ascii, "" | " ")
    }

    pub(super) fn is_period(&self) -> bool {
        self.ascii.starts_with('.')
    }

    /// True if the character may be part of a word of syntax, such as a move. Such a character
    /// means a hyphen, `x`, `/` or no character at all.
    pub(super) fn is_of_word(&self) -> bool {
        matches!(self.ascii, "" | "-" | "x" | "/")
    }

    /// Whether the character begins or ends a string.
    pub(super) fn is_quote(&self) -> bool {
        matches!(self.ascii, "\"" | "'")
    }
}

/// Length of the first character of a text in bytes; 1 if it is not UTF-8.
pub(super) fn character_length(text: &[u8]) -> usize {
    first_character(text).map_or(1, char::len_utf8)
}

/// Writes a text with ASCII in place of the typographic characters for which `taken` returns true.
/// `None` if the text has no such character.
pub(super) fn in_ascii(text: &[u8], taken: impl Fn(&Typographic) -> bool) -> Option<Vec<u8>> {
    let mut ascii = Vec::with_capacity(text.len());
    let mut rest = text;
    let mut is_changed = false;
    while !rest.is_empty() {
        let found = Typographic::at_start(rest).filter(&taken);
        let length = found.map_or_else(|| character_length(rest), |found| found.len);
        ascii.extend_from_slice(found.map_or(&rest[..length], |found| found.ascii.as_bytes()));
        is_changed |= found.is_some();
        rest = &rest[length..];
    }
    is_changed.then_some(ascii)
}

/// Whether a character is invisible, so that a message must name it.
pub(super) fn is_invisible(character: char) -> bool {
    matches!(ascii(character), Some("" | " "))
}

/// Spells a character for messages.
pub(super) fn shown_character(character: char) -> String {
    format!("U+{:04X}", u32::from(character))
}

fn first_character(text: &[u8]) -> Option<char> {
    let longest = &text[..text.len().min(4)];
    (1..=longest.len()).find_map(|len| std::str::from_utf8(&longest[..len]).ok()?.chars().next())
}

const fn ascii(character: char) -> Option<&'static str> {
    Some(match character {
        '\u{85}' | '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' => " ",
        '\u{2028}' | '\u{2029}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => " ",
        '\u{ad}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' => "",
        '\u{2060}'..='\u{2069}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' => "",
        '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{fe58}' | '\u{fe63}' | '\u{ff0d}' => "-",
        '\u{ab}' | '\u{bb}' | '\u{201c}'..='\u{201f}' | '\u{2033}' | '\u{ff02}' => "\"",
        '\u{b4}' | '\u{2018}'..='\u{201b}' | '\u{2032}' | '\u{ff07}' => "'",
        '\u{d7}' => "x",
        '\u{2044}' | '\u{2215}' => "/",
        '\u{2024}' => ".",
        '\u{2025}' => "..",
        '\u{2026}' => "...",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_stand_for_ascii_in_either_charset() {
        for (text, len, ascii) in [
            (&b"\xc2\xa0e4"[..], 2, " "),
            (b"\xa0e4", 1, " "),
            (b"\xe2\x80\x8be4", 3, ""),
            (b"\xe2\x80\x930", 3, "-"),
            (b"\x960", 1, "-"),
            (b"\xe2\x88\x921", 3, "-"),
            (b"\xe2\x80\x9cx", 3, "\""),
            (b"\x93x", 1, "\""),
            (b"\xe2\x80\xa6c5", 3, "..."),
            (b"\x85c5", 1, "..."),
        ] {
            let found = Typographic::at_start(text).map(|it| (it.len, it.ascii));
            assert_eq!(found, Some((len, ascii)), "{text:?}");
        }
        for text in
            [&b""[..], b"e4", b"-", "\u{e9}".as_bytes(), "\u{bd}".as_bytes(), b"\xe9", b"\x80"]
        {
            assert_eq!(Typographic::at_start(text), None, "{text:?}");
        }
    }
}

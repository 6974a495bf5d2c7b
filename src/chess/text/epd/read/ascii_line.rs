//! Lines with typographic characters. They are read as ASCII text with the same meaning; strings
//! stay unchanged.

use super::string_end;
use crate::text::codes;
use crate::text::diagnostic::Diagnostic;
use crate::text::scan::BYTE_ORDER_MARK;
use crate::text::scan::is_blank;
use crate::text::typography::{Typographic, character_length, in_ascii, shown_character};

/// A line in ASCII, except for its strings.
#[derive(Default)]
pub(super) struct AsciiLine {
    pub(super) text: Vec<u8>,
    /// For each replaced character, the places of its end: in `text`, and in the original line.
    replaced: Vec<(usize, usize)>,
    /// The first replaced character, and its place in the original line.
    first: Option<(char, usize)>,
}

/// Number of words of the line before its operations.
const FIELDS: usize = 4;

impl AsciiLine {
    /// Replaces the typographic characters of a line; `None` if there is nothing to replace.
    pub(super) fn parse(line: &[u8]) -> Option<AsciiLine> {
        if line.is_ascii() {
            return None;
        }
        let mut ascii = AsciiLine::default();
        let mut at = if line.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
        ascii.text.extend_from_slice(&line[..at]);
        let mut words = 0;
        let mut word_end = at;
        let mut takes_signs = false;
        while let Some(&byte) = line.get(at) {
            let rest = &line[at..];
            if at >= word_end && word_length(rest) > 0 {
                let word = &rest[..word_length(rest)];
                takes_signs = is_of_signs(word, words < FIELDS);
                word_end = at + word.len();
                words += 1;
            }
            let found = Typographic::at_start(rest);
            at += match found {
                _ if byte == b'"' => ascii.copy(&rest[..quoted_length(rest)]),
                Some(quote) if quote.ascii == "\"" => match closing_quote(&rest[quote.len..]) {
                    Some((length, close)) => ascii.replace_quotes(quote, length, close, at, rest),
                    None => ascii.copy(&rest[..quote.len]),
                },
                Some(found) if found.is_blank() || takes_signs && !found.is_quote() => {
                    ascii.replace(found, at)
                }
                _ => ascii.copy(&rest[..character_length(rest)]),
            };
        }
        if ascii.first.is_some() { Some(ascii) } else { None }
    }

    fn copy(&mut self, text: &[u8]) -> usize {
        self.text.extend_from_slice(text);
        text.len()
    }

    /// Replaces a character of the line by ASCII. Returns the character's length in bytes.
    fn replace(&mut self, found: Typographic, at: usize) -> usize {
        self.first.get_or_insert((found.character, at));
        self.text.extend_from_slice(found.ascii.as_bytes());
        self.replaced.push((self.text.len(), at + found.len));
        found.len
    }

    /// Replaces the quotes around a string of `length` bytes. Returns the length of the string with
    /// its quotes, in the line.
    fn replace_quotes(
        &mut self,
        quote: Typographic,
        length: usize,
        close: Option<Typographic>,
        at: usize,
        rest: &[u8],
    ) -> usize {
        let open = self.replace(quote, at);
        self.copy(&rest[open..open + length]);
        let end = open + length;
        match close {
            Some(close) => end + self.replace(close, at + end),
            None => end + self.copy(b"\""),
        }
    }

    /// Converts a place in this text to a place in the line.
    fn place_in_line(&self, place: usize) -> usize {
        let before = self.replaced.partition_point(|(here, _)| *here <= place);
        let replaced = before.checked_sub(1).and_then(|last| self.replaced.get(last));
        replaced.map_or(place, |(here, there)| there + (place - here))
    }

    /// Converts the column of a finding about this text to a column of the original line.
    pub(super) fn correct(&self, finding: &mut Diagnostic) {
        finding.column = self.place_in_line(finding.column.saturating_sub(1)) + 1;
    }

    /// Makes the warning about all replaced characters.
    pub(super) fn warning(&self, line: &[u8]) -> Option<Diagnostic> {
        let (character, place) = self.first?;
        let name = shown_character(character);
        let message = match self.replaced.len() {
            1 => format!("{name} outside of strings; read as ASCII"),
            count => format!("{name} and {} more outside of strings; read as ASCII", count - 1),
        };
        let warning = Diagnostic::warning(codes::W_LEN_UNICODE, place + 1, message);
        Some(warning.with_repair(line, self.text.as_slice()))
    }
}

/// Length of the string at the start of a text, with its quotes. The text begins with a quote.
fn quoted_length(text: &[u8]) -> usize {
    string_end(text, 1, true).map_or(text.len(), |quote| quote + 1)
}

/// Length of a string after a typographic quote, and the typographic quote that ends it. The quote
/// is `None` if an ASCII quote ends the string. Returns `None` if no quote follows.
fn closing_quote(text: &[u8]) -> Option<(usize, Option<Typographic>)> {
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        let found = Typographic::at_start(&text[at..]).filter(|found| found.ascii == "\"");
        if byte == b'"' || found.is_some() {
            return Some((at, found));
        }
        at += character_length(&text[at..]);
    }
    None
}

/// Length in bytes of the word at the start of a text.
fn word_length(text: &[u8]) -> usize {
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        let ends = |found: Typographic| matches!(found.ascii, " " | "\"");
        let found = Typographic::at_start(&text[at..]);
        if is_blank(byte) || matches!(byte, b'"' | b';') || found.is_some_and(ends) {
            break;
        }
        at += character_length(&text[at..]);
    }
    at
}

/// True if a word is syntax, such as a move, number or field. Hyphens in it are syntax too.
fn is_of_signs(word: &[u8], is_field: bool) -> bool {
    let Some(ascii) = in_ascii(word, |found| !found.is_quote()) else { return false };
    let is_sign = |byte: &u8| {
        matches!(byte, b'0'..=b'9' | b'a'..=b'h' | b'K' | b'Q' | b'R' | b'B' | b'N' | b'P')
            || b"Oox-+#=!?.:/,".contains(byte)
    };
    let has_sense = is_field || ascii.iter().any(u8::is_ascii_alphanumeric);
    has_sense && ascii.iter().all(is_sign)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn places_are_those_of_the_line() {
        let line =
            "8/8\u{a0}w \u{2013} id \u{201c}a\u{2013}b\u{201d}; c0 \"\u{a0}\u{201c}\"; x\u{200b}y;";
        let ascii = AsciiLine::parse(line.as_bytes()).unwrap();
        let text = String::from_utf8(ascii.text.clone()).unwrap();
        assert_eq!(text, "8/8 w - id \"a\u{2013}b\"; c0 \"\u{a0}\u{201c}\"; xy;");
        for part in ["w ", "id", "a\u{2013}b", "c0", "y;"] {
            let place = ascii.place_in_line(text.find(part).unwrap());
            assert_eq!(Some(place), line.find(part), "{part}");
        }
        for same in
            ["8/8 w - - id \"\u{a0}\";", "id \u{e9};", "\u{feff}8/8 w", "id Tal\u{2013}Fischer;"]
        {
            assert!(AsciiLine::parse(same.as_bytes()).is_none(), "{same}");
        }
    }
}

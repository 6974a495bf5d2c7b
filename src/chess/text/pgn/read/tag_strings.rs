//! The strings of tag pairs.

use std::borrow::Cow;
use std::io::Read;
use std::ops::Range;

use super::GameReader;
use super::report::{Codes, STRING, UNICODE};
use super::tokens::SPEC_LENGTH;
use super::{Extras, Stop};
use crate::model::is_well_known_tag;
use crate::text::charset::decode;
use crate::text::pgn::source::is_quote_before_bracket;
use crate::text::pgn::write;
use crate::text::typography::Typographic;

/// Maximum number of further lines that are searched for the end of a tag.
pub(super) const MAX_LINES: usize = 8;

/// The spelling of a string in the text. Places count from its first byte.
struct Written {
    /// The text between the quotes.
    text: Range<usize>,
    end: usize,
    /// A deviation from the standard.
    fault: Option<(Codes, &'static str)>,
}

impl Written {
    const fn new(text: Range<usize>, end: usize) -> Written {
        Written { text, end, fault: None }
    }

    const fn with_fault(self, codes: Codes, message: &'static str) -> Written {
        Written { fault: Some((codes, message)), ..self }
    }
}

impl<R: Read> GameReader<R> {
    /// Reads the value of the tag `name`; `None` if no string is here.
    pub(super) fn tag_value(&mut self, name: &str) -> Result<Option<String>, Stop> {
        let before = self.source.at;
        self.next_byte(Extras::Skip)?;
        let open = self.source.at;
        let line_end = self.source.end_of_line(open)?;
        let line = self.source.slice(open..line_end);
        let written = match line.first() {
            Some(b'"') => match self.closed_string(open, line_end) {
                Some(written) => Some(written),
                None => match self.string_of_lines(open, line_end)? {
                    Some(written) => Some(written),
                    None => Some(open_string(self.source.slice(open..line_end))),
                },
            },
            _ if begins_with_quote(line) => Some(oddly_quoted_string(line)),
            _ if is_well_known_tag(name) => bare_string(line),
            _ => None,
        };
        self.source.at = before;
        let Some(written) = written else { return Ok(None) };
        self.next_byte(Extras::Keep)?;
        self.take_string(open, &written).map(Some)
    }

    /// Reads a string that is closed in its line.
    fn closed_string(&mut self, open: usize, line_end: usize) -> Option<Written> {
        let close = closing_quote(self.source.slice(open + 1..line_end))? + 1;
        // The search from the end of the line is made once for all tags of a line.
        if !self.source.has_quote_before_bracket(open + close + 1) {
            return Some(Written::new(1..close, close + 1));
        }
        let line = self.source.slice(open..line_end);
        if !is_stray_quote(&line[close + 1..]) {
            return Some(Written::new(1..close, close + 1));
        }
        let close = quote_before_bracket(&line[1..]).map_or(close, |place| place + 1);
        let message = "a quote inside the string without a backslash; kept";
        Some(Written::new(1..close, close + 1).with_fault(STRING, message))
    }

    /// Reads a string that ends in one of the next lines. No tag may begin before its end. An empty
    /// line is allowed only just before the closing quote.
    fn string_of_lines(&mut self, open: usize, line_end: usize) -> Result<Option<Written>, Stop> {
        if self.source.slice(open..line_end).trim_ascii_end().ends_with(b"]") {
            return Ok(None);
        }
        let mut end = line_end;
        let mut has_empty_line = false;
        for _ in 0..MAX_LINES {
            let Some(line) = self.next_line(end)? else { break };
            end = line.end;
            let text = self.source.slice(line.clone());
            let start = text.trim_ascii_start();
            if start.starts_with(b"[") || has_empty_line && !matches!(start, [] | [b'"', ..]) {
                break;
            }
            has_empty_line |= start.is_empty();
            if let Some(quote) = quote_before_bracket(text) {
                let quote = line.start + quote - open;
                let message = "a line break in the string; read as a blank";
                return Ok(Some(Written::new(1..quote, quote + 1).with_fault(STRING, message)));
            }
        }
        Ok(None)
    }

    /// Takes the value of a string that begins here, and reports its faults.
    fn take_string(&mut self, open: usize, written: &Written) -> Result<String, Stop> {
        let text = open + written.text.start..open + written.text.end;
        let place = open..open + written.end;
        self.source.at = place.end;
        let bytes = unescape(&join_lines(self.source.slice(text.clone())));
        let value = decode(&bytes, self.options.charset);
        let recoded = matches!(value, Cow::Owned(_));
        let value = value.into_owned();
        if recoded {
            self.note_windows_1252(text)?;
        }
        if let Some((codes, message)) = written.fault {
            self.repair(codes, place.clone(), write::quoted(&value), message)?;
        }
        if value.chars().count() > SPEC_LENGTH {
            self.keep(STRING, open, "the string is longer than 255 characters; kept")?;
        }
        if value.contains(|c: char| c.is_ascii_control()) {
            let value = value.replace(|c: char| c.is_ascii_control(), " ");
            let message = "a control character in the string; read as a blank";
            self.repair(STRING, place, write::quoted(&value), message)?;
            return Ok(value);
        }
        Ok(value)
    }
}

/// Reads a string that is not closed. It ends with its line, or before a bracket at its end.
fn open_string(line: &[u8]) -> Written {
    let text = line.trim_ascii_end();
    let end = text.strip_suffix(b"]").unwrap_or(text).len();
    let text_end = without_last_quote(&line[1..end]).map_or(end, |text| text.len() + 1);
    Written::new(1..text_end, end).with_fault(STRING, "the string is not closed; closed here")
}

/// Reads a string in quotes other than `"`. It ends before the first `]` that follows a quote. If
/// there is none, it ends before the first `]`, or with its line.
fn oddly_quoted_string(line: &[u8]) -> Written {
    let brackets = || (0..line.len()).filter(|place| line[*place] == b']');
    let is_closed = |place: &usize| without_last_quote(line[..*place].trim_ascii_end()).is_some();
    let end = brackets().find(is_closed).or_else(|| brackets().next()).unwrap_or(line.len());
    let mut start = 0;
    let mut text = line[..end].trim_ascii_end();
    let end = text.len();
    while let Some(length) = quote_length(&text[start..]) {
        start += length;
    }
    while let Some(shorter) = without_last_quote(text).filter(|it| it.len() >= start) {
        text = shorter;
    }
    let is_ascii = line[..end].iter().take(start).all(u8::is_ascii);
    let codes = if is_ascii { STRING } else { UNICODE };
    Written::new(start..text.len(), end)
        .with_fault(codes, "other quotes than `\"` around the string")
}

/// Reads a string without quotes. It ends before a bracket in the same line.
fn bare_string(line: &[u8]) -> Option<Written> {
    let end = line.iter().position(|byte| matches!(byte, b'[' | b']' | b'{' | b'"'))?;
    let text = line[..end].trim_ascii_end();
    if line[end] != b']' || text.is_empty() {
        return None;
    }
    let written = Written::new(0..text.len(), text.len());
    Some(written.with_fault(STRING, "no quotes around the string"))
}

/// Finds the closing quote in the text after the opening quote.
fn closing_quote(line: &[u8]) -> Option<usize> {
    let mut escaped = false;
    line.iter().position(|&byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    })
}

/// Whether the text after a quote shows that the quote is part of the string, if another quote with
/// a bracket after it follows in the line.
fn is_stray_quote(behind: &[u8]) -> bool {
    !matches!(behind.trim_ascii_start().first(), None | Some(b']' | b'[' | b'{' | b';'))
}

/// Finds the first quote that precedes a `]`.
fn quote_before_bracket(line: &[u8]) -> Option<usize> {
    (0..line.len()).find(|&place| is_quote_before_bracket(line, place))
}

/// Removes the backslashes before quotes and backslashes; keeps other backslashes.
fn unescape(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let [first, behind @ ..] = rest {
        rest = behind;
        match (first, behind) {
            (b'\\', [second @ (b'"' | b'\\'), behind @ ..]) => {
                out.push(*second);
                rest = behind;
            }
            _ => out.push(*first),
        }
    }
    out
}

/// Joins the lines of a string. Each line end, with the blanks around it, becomes one blank. At the
/// start and the end of the string, line ends and blanks are dropped.
fn join_lines(text: &[u8]) -> Cow<'_, [u8]> {
    let is_line_end = |byte: &u8| matches!(byte, b'\n' | b'\r');
    if !text.iter().any(is_line_end) {
        return Cow::Borrowed(text);
    }
    let lines = text.split(is_line_end).map(<[u8]>::trim_ascii).filter(|line| !line.is_empty());
    Cow::Owned(lines.collect::<Vec<_>>().join(&b' '))
}

pub(super) fn begins_with_quote(text: &[u8]) -> bool {
    quote_length(text).is_some()
}

/// Length of the quote at the start of a text.
fn quote_length(text: &[u8]) -> Option<usize> {
    match text.first()? {
        b'"' | b'\'' | b'`' => Some(1),
        _ => Typographic::at_start(text).filter(Typographic::is_quote).map(|quote| quote.len),
    }
}

/// Removes the quote at the end of a text; `None` if there is no quote.
fn without_last_quote(text: &[u8]) -> Option<&[u8]> {
    (1..=text.len().min(3)).rev().find_map(|length| {
        let (before, last) = text.split_at(text.len() - length);
        (quote_length(last) == Some(length)).then_some(before)
    })
}

//! Words of a line with their places, and checks that apply to the lines of every format.

use super::codes;
use super::diagnostic::{Diagnostic, shown};
use crate::model::Position;
use crate::model::rules::legality;

/// Whether a byte separates words. Control bytes other than white space count as blanks, because
/// they have been refused or reported before the line is split.
pub(super) const fn is_blank(byte: u8) -> bool {
    byte <= b' ' || byte == 0x7f
}

/// Whether a byte is white space, which may separate words without a warning.
pub(super) const fn is_white_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | 0x0b | 0x0c | b'\r')
}

/// A part of a line, with its place.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Word<'a> {
    /// Place of the first byte in the raw line, from 0.
    pub(super) at: usize,
    pub(super) text: &'a [u8],
}

impl<'a> Word<'a> {
    /// The column for diagnostics, from 1.
    pub(super) const fn column(&self) -> usize {
        self.at + 1
    }

    /// The place after the last byte.
    pub(super) const fn end(&self) -> usize {
        self.at + self.text.len()
    }

    /// Returns the bytes between two places, both relative to this part.
    pub(super) fn part(&self, from: usize, to: usize) -> Word<'a> {
        let to = to.min(self.text.len());
        let from = from.min(to);
        Word { at: self.at + from, text: &self.text[from..to] }
    }

    /// Returns this part without blanks at either end.
    pub(super) fn trimmed(&self) -> Word<'a> {
        let from = self.text.iter().position(|&byte| !is_blank(byte)).unwrap_or(self.text.len());
        let to = self.text.iter().rposition(|&byte| !is_blank(byte)).map_or(from, |last| last + 1);
        self.part(from, to)
    }

    /// Splits off the first word (bytes up to a blank). Returns the word and the rest.
    pub(super) fn split_word(&self) -> (Word<'a>, Word<'a>) {
        let rest = self.trimmed_start();
        let end = rest.text.iter().position(|&byte| is_blank(byte)).unwrap_or(rest.text.len());
        (rest.part(0, end), rest.part(end, rest.text.len()))
    }

    /// Returns this part without blanks at its start.
    pub(super) fn trimmed_start(&self) -> Word<'a> {
        let from = self.text.iter().position(|&byte| !is_blank(byte)).unwrap_or(self.text.len());
        self.part(from, self.text.len())
    }
}

/// Refuses, for the strict profile, a text that is not in canonical form.
pub(super) fn refuse_other_than(
    canonical: &[u8],
    text: &[u8],
    code: &'static str,
) -> Result<(), Diagnostic> {
    if canonical == text {
        return Ok(());
    }
    let same = canonical.iter().zip(text).take_while(|(a, b)| a == b).count();
    let wanted = match canonical.get(same..) {
        Some([]) | None => "the end of the line".into(),
        Some(rest) => shown(rest),
    };
    let message = format!("not canonical: expected {wanted} here");
    Err(Diagnostic::error(code, same + 1, message))
}

/// Refuses control bytes other than white space, and a byte order mark.
pub(super) fn refuse_control_bytes(line: &[u8]) -> Result<(), Diagnostic> {
    let (place, what) = if line.starts_with(BYTE_ORDER_MARK) {
        (0, "byte order mark".into())
    } else if let Some(place) = line.iter().position(|&byte| is_control(byte)) {
        (place, format!("control byte 0x{:02X}", line[place]))
    } else {
        return Ok(());
    };
    Err(Diagnostic::error(codes::E_EPD_CTRL, place + 1, what))
}

/// Makes a warning if the position cannot arise in a game.
pub(super) fn illegal_position(position: &Position, at: usize) -> Option<Diagnostic> {
    let flags = legality(position);
    if flags.is_legal() {
        return None;
    }
    let reasons: Vec<&str> = flags.reasons().collect();
    let message = format!("illegal position: {}", reasons.join(", "));
    Some(Diagnostic::warning(codes::W_POS_ILLEGAL, at + 1, message))
}

pub(super) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// True if a line without blanks at its start is a comment. Besides `#`, test suites use `%`, `;`,
/// `//` and braces around the whole line. A JSON object is not a comment.
pub(crate) fn is_comment(line: &[u8]) -> bool {
    match line {
        [b'#' | b'%' | b';', ..] | [b'/', b'/', ..] => true,
        [b'{', b'"', ..] => false,
        [b'{', .., last] => *last == b'}',
        _ => false,
    }
}

/// Whether a byte is a control byte other than white space.
pub(super) const fn is_control(byte: u8) -> bool {
    is_blank(byte) && !is_white_space(byte)
}

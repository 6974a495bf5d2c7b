//! Separators of tokens: white space, blank lines, byte order marks, control bytes.

use std::io::Read;

use super::GameReader;
use super::report::UNICODE;
use super::{Extras, Stop};
use crate::text::codes;
use crate::text::typography::{Typographic, shown_character};

impl<R: Read> GameReader<R> {
    /// Goes to the next byte that is neither white space nor part of a `%` line, and returns it;
    /// `None` at the end of the stream.
    pub(super) fn next_byte(&mut self, extras: Extras) -> Result<Option<u8>, Stop> {
        loop {
            self.source.want_token()?;
            let rest = self.source.rest();
            let blanks = rest.iter().take_while(|byte| is_white_space(**byte)).count();
            match rest.get(blanks) {
                None if blanks == 0 => return Ok(None),
                None => self.source.at += blanks,
                Some(b'%') if self.is_line_start(self.source.at + blanks) => {
                    self.source.at += blanks;
                    self.escape(extras)?;
                }
                Some(0xef) if rest[blanks..].starts_with(BYTE_ORDER_MARK) => {
                    self.source.at += blanks + BYTE_ORDER_MARK.len();
                }
                Some(0x80..) if let Some(blank) = typographic_blank(&rest[blanks..]) => {
                    self.source.at += blanks;
                    self.pass_typographic_blank(blank, extras)?;
                }
                Some(&byte) if byte < b' ' || byte == 0x7f => {
                    self.source.at += blanks;
                    let at = self.source.at;
                    self.source.at += 1;
                    if extras == Extras::Keep {
                        let message = format!("control byte 0x{byte:02X} read as a blank");
                        let codes = (codes::E_PGN_TOKEN, codes::W_LEN_CTRL);
                        self.repair(codes, at..at + 1, " ", message)?;
                    }
                }
                Some(&byte) => {
                    self.source.at += blanks;
                    return Ok(Some(byte));
                }
            }
        }
    }

    /// Skips a typographic character that means a blank or nothing.
    fn pass_typographic_blank(&mut self, blank: Typographic, extras: Extras) -> Result<(), Stop> {
        let at = self.source.at;
        self.source.at += blank.len;
        if extras == Extras::Skip {
            return Ok(());
        }
        let verb = if blank.ascii.is_empty() { "dropped" } else { "read as a blank" };
        let message = format!("{} between tokens; {verb}", shown_character(blank.character));
        self.repair(UNICODE, at..at + blank.len, blank.ascii, message)
    }

    pub(super) fn is_line_start(&self, at: usize) -> bool {
        matches!(self.source.before(at), b'\n' | b'\r')
    }

    /// True if the line of a place has only blanks before the place.
    pub(super) fn is_first_in_line(&self, at: usize) -> bool {
        // The search ends at the first byte that is not a blank, because a line may be very long.
        let before = self.source.slice(0..at).iter().rev();
        let mut others = before.filter(|byte| !matches!(byte, b' ' | b'\t' | 0x0b | 0x0c | 0x80..));
        others.next().is_none_or(|byte| matches!(byte, b'\n' | b'\r'))
    }

    /// Skips the white space after the game.
    pub(super) fn skip_blank_lines(&mut self) -> Result<(), Stop> {
        loop {
            self.source.want_token()?;
            let rest = self.source.rest();
            let blanks = rest.iter().take_while(|byte| is_white_space(**byte)).count();
            let all = blanks == rest.len();
            self.source.at += blanks;
            if !all || blanks == 0 {
                return Ok(());
            }
        }
    }
}

/// The typographic character with which a text begins, if it means a blank or nothing.
fn typographic_blank(text: &[u8]) -> Option<Typographic> {
    Typographic::at_start(text).filter(Typographic::is_blank)
}

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Removes all blanks, including typographic ones, from the start of a text.
pub(super) fn trim_blanks(mut text: &[u8]) -> &[u8] {
    loop {
        text = text.trim_ascii_start();
        match typographic_blank(text) {
            Some(blank) => text = &text[blank.len..],
            None => return text,
        }
    }
}

pub(super) const fn is_white_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | 0x0b | 0x0c | b'\r')
}

/// Whether a text has two line ends with only blanks between them.
pub(super) fn has_blank_line(text: &[u8]) -> bool {
    let mut ends = 0;
    for (place, byte) in text.iter().enumerate() {
        match byte {
            b'\n' if place > 0 && text[place - 1] == b'\r' => {}
            b'\n' | b'\r' => ends += 1,
            // Any other byte means that the line is a `%` line and not blank.
            byte if is_white_space(*byte) || *byte >= 0x80 => {}
            _ => ends = 0,
        }
        if ends == 2 {
            return true;
        }
    }
    false
}

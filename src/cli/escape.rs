//! Text on its way to a terminal, which must not obey it: control characters are shown.

use std::borrow::Cow;
use std::fmt::Write;

use super::locale::Letters;

/// The text with its control characters as escapes: `\n`, `\x1b`, `\u{9b}`.
pub(crate) fn escaped(text: &str, letters: Letters) -> Cow<'_, str> {
    let is_all_shown = letters == Letters::All || text.is_ascii();
    if is_all_shown && !text.contains(char::is_control) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    text.chars().for_each(|letter| push(&mut out, letter, letters));
    Cow::Owned(out)
}

fn push(out: &mut String, letter: char, letters: Letters) {
    let pushed = match letter {
        '\u{80}'.. if letters == Letters::Ascii => out.write_char('?'),
        '\n' => out.write_str("\\n"),
        '\r' => out.write_str("\\r"),
        '\t' => out.write_str("\\t"),
        '\0'..='\x7f' if letter.is_control() => write!(out, "\\x{:02x}", u32::from(letter)),
        _ if letter.is_control() => write!(out, "\\u{{{:x}}}", u32::from(letter)),
        _ => out.write_char(letter),
    };
    // A string takes all that is written to it.
    pushed.unwrap_or_default();
}

/// Lines of any bytes as a terminal may have them: line ends and tabs stay, other control
/// characters and bytes that are no UTF-8 become escapes, or `?` where only ASCII is shown.
pub(crate) struct Lines {
    letters: Letters,
    /// The beginning of a character that was cut in two.
    rest: Vec<u8>,
}

impl Lines {
    /// At the start of the first line.
    pub(crate) const fn new(letters: Letters) -> Lines {
        Lines { letters, rest: Vec::new() }
    }

    /// The next bytes.
    pub(crate) fn escaped(&mut self, bytes: &[u8]) -> String {
        self.rest.extend_from_slice(bytes);
        let mut out = String::with_capacity(self.rest.len());
        let mut start = 0;
        loop {
            let rest = &self.rest[start..];
            let (text, wrong) = match str::from_utf8(rest) {
                Ok(text) => (text, None),
                Err(error) => {
                    let valid = str::from_utf8(&rest[..error.valid_up_to()]).unwrap_or_default();
                    (valid, error.error_len())
                }
            };
            for letter in text.chars() {
                match letter {
                    '\n' | '\t' => out.push(letter),
                    _ => push(&mut out, letter, self.letters),
                }
            }
            start += text.len();
            let Some(wrong) = wrong else { break };
            push_bytes(&mut out, &self.rest[start..start + wrong], self.letters);
            start += wrong;
        }
        self.rest.drain(..start);
        out
    }

    /// What is left of a character that did not come whole.
    pub(crate) fn rest(&mut self) -> String {
        let mut out = String::new();
        push_bytes(&mut out, &std::mem::take(&mut self.rest), self.letters);
        out
    }
}

fn push_bytes(out: &mut String, bytes: &[u8], letters: Letters) {
    for byte in bytes {
        match letters {
            Letters::All => write!(out, "\\x{byte:02x}").unwrap_or_default(),
            Letters::Ascii => out.push('?'),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_shown_and_letters_stay() {
        let shown = |text| escaped(text, Letters::All).into_owned();
        assert_eq!(shown("Zürich.epd"), "Zürich.epd");
        assert_eq!(shown("a\x1b[31m\u{9b}0m\x07\x7f\n\t"), r"a\x1b[31m\u{9b}0m\x07\x7f\n\t");
        assert_eq!(escaped("Zü\u{9b}rich\t♔", Letters::Ascii), "Z??rich\\t?");
    }

    #[test]
    fn lines_are_escaped_wherever_they_are_cut() {
        let bytes = b"a\tb\nZ\xc3\xbcrich \xc2\x9b1m \x9b \x1b]0;\x07\r\n\xe2\x82";
        let expected = "a\tb\nZürich \\u{9b}1m \\x9b \\x1b]0;\\x07\\r\n\\xe2\\x82";
        let ascii = "a\tb\nZ?rich ?1m ? \\x1b]0;\\x07\\r\n??";
        for (letters, expected) in [(Letters::All, expected), (Letters::Ascii, ascii)] {
            for cut in 0..=bytes.len() {
                let mut lines = Lines::new(letters);
                let (first, second) = bytes.split_at(cut);
                let shown = lines.escaped(first) + &lines.escaped(second) + &lines.rest();
                assert_eq!(shown, expected, "{cut}");
            }
        }
    }
}

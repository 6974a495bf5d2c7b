//! Text that may say again what was asked, as it may stand in an answer or the log.

use std::borrow::Cow;

/// A text with its control characters escaped: nothing in it passes for another line or commands a terminal.
pub(super) fn one_line(text: &str) -> Cow<'_, str> {
    if !text.contains(char::is_control) {
        return Cow::Borrowed(text);
    }
    let mut line = String::with_capacity(text.len() + 8);
    for character in text.chars() {
        match character.is_control() {
            true => line.extend(character.escape_default()),
            false => line.push(character),
        }
    }
    Cow::Owned(line)
}

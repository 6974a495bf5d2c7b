//! Words of a line and their places.

/// Whether a byte separates words. Control bytes that are no white space have been refused or
/// reported before anything is split here, so they count as blanks too.
pub(super) const fn is_blank(byte: u8) -> bool {
    byte <= b' ' || byte == 0x7f
}

/// Whether a byte is white space: what may stand between words without a warning.
pub(super) const fn is_white_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | 0x0b | 0x0c | b'\r')
}

/// A piece of a line that knows where it stands.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Word<'a> {
    /// Place of the first byte in the raw line, from 0.
    pub(super) at: usize,
    /// The bytes.
    pub(super) text: &'a [u8],
}

impl<'a> Word<'a> {
    /// The place as diagnostics say it: from 1.
    pub(super) const fn column(&self) -> usize {
        self.at + 1
    }

    /// The place just behind.
    pub(super) const fn end(&self) -> usize {
        self.at + self.text.len()
    }

    /// The piece from one place to another, both counted within this one.
    pub(super) fn part(&self, from: usize, to: usize) -> Word<'a> {
        let to = to.min(self.text.len());
        let from = from.min(to);
        Word { at: self.at + from, text: &self.text[from..to] }
    }

    /// Without blanks at either end.
    pub(super) fn trimmed(&self) -> Word<'a> {
        let from = self.text.iter().position(|&byte| !is_blank(byte)).unwrap_or(self.text.len());
        let to = self.text.iter().rposition(|&byte| !is_blank(byte)).map_or(from, |last| last + 1);
        self.part(from, to)
    }

    /// Takes the first run of bytes that are no blanks, and gives what follows it.
    pub(super) fn split_word(&self) -> (Word<'a>, Word<'a>) {
        let rest = self.trimmed_start();
        let end = rest.text.iter().position(|&byte| is_blank(byte)).unwrap_or(rest.text.len());
        (rest.part(0, end), rest.part(end, rest.text.len()))
    }

    /// Without blanks at the start.
    pub(super) fn trimmed_start(&self) -> Word<'a> {
        let from = self.text.iter().position(|&byte| !is_blank(byte)).unwrap_or(self.text.len());
        self.part(from, self.text.len())
    }
}

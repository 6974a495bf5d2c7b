//! Words of a line, with their places.

/// Whether a byte separates words. Control bytes other than white space count as blanks, because they
/// have been refused or reported before the line is split.
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
    /// The bytes.
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

    /// The part from one place to another, both relative to this part.
    pub(super) fn part(&self, from: usize, to: usize) -> Word<'a> {
        let to = to.min(self.text.len());
        let from = from.min(to);
        Word { at: self.at + from, text: &self.text[from..to] }
    }

    /// This part without blanks at either end.
    pub(super) fn trimmed(&self) -> Word<'a> {
        let from = self.text.iter().position(|&byte| !is_blank(byte)).unwrap_or(self.text.len());
        let to = self.text.iter().rposition(|&byte| !is_blank(byte)).map_or(from, |last| last + 1);
        self.part(from, to)
    }

    /// Splits off the first run of bytes other than blanks, and returns it and the rest.
    pub(super) fn split_word(&self) -> (Word<'a>, Word<'a>) {
        let rest = self.trimmed_start();
        let end = rest.text.iter().position(|&byte| is_blank(byte)).unwrap_or(rest.text.len());
        (rest.part(0, end), rest.part(end, rest.text.len()))
    }

    /// This part without blanks at its start.
    pub(super) fn trimmed_start(&self) -> Word<'a> {
        let from = self.text.iter().position(|&byte| !is_blank(byte)).unwrap_or(self.text.len());
        self.part(from, self.text.len())
    }
}

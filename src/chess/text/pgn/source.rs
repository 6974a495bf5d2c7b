//! The bytes of a stream of games. The whole current game stays in memory, because the bytes of a
//! refused game are returned unchanged.

use std::io::{self, Read, Write};
use std::ops::Range;

use memchr::{memchr2, memmem, memrchr2};

use crate::text::lines::read_more;

/// Maximum length of a token, except comments and escapes. A longer symbol is refused.
pub(super) const MAX_TOKEN: usize = 512;

/// Start of a line that always begins a game.
const FIRST_TAG: &[u8] = b"[Event \"";

/// The reason why a game cannot be read further.
#[derive(Debug)]
pub(super) enum Broken {
    Io(io::Error),
    /// The game has more bytes than the limit.
    TooLong,
}

impl From<io::Error> for Broken {
    fn from(error: io::Error) -> Broken {
        Broken::Io(error)
    }
}

/// The stream. Places are numbers of bytes from the start of the current game.
pub(super) struct Source<R> {
    input: R,
    limit: usize,
    buffer: Vec<u8>,
    /// Start of the current game in the buffer. The byte before it is kept too.
    start: usize,
    filled: usize,
    at_end: bool,
    /// Place of the next byte of the game.
    pub(super) at: usize,
    /// Offset of the game's first byte in its line, in bytes.
    first_before: usize,
    /// Number of bytes before the game.
    dropped: u64,
    /// The last place whose line and column were computed.
    counted: Counted,
    /// The rest of a line up to its end, which was searched last. Many tags may be in one line, and
    /// each asks for its end.
    line: Range<usize>,
    /// The last quote before a bracket in `line`, if it was searched.
    last_quote: Option<Option<usize>>,
}

#[derive(Copy, Clone)]
struct Counted {
    at: usize,
    line: u64,
    /// Offset of the place in its line, in bytes.
    before: usize,
}

impl<R: Read> Source<R> {
    pub(super) fn new(input: R, limit: usize) -> Source<R> {
        Source {
            input,
            limit,
            buffer: vec![b'\n'],
            start: 1,
            filled: 1,
            at_end: false,
            at: 0,
            first_before: 0,
            dropped: 0,
            counted: Counted { at: 0, line: 1, before: 0 },
            line: 0..0,
            last_quote: None,
        }
    }

    /// Sets the number of the first line of the stream.
    pub(super) fn set_first_line(&mut self, line: u64) {
        self.counted.line = line;
    }

    /// Number of bytes before the next byte.
    pub(super) const fn offset(&self) -> u64 {
        self.dropped + self.at as u64
    }

    /// Number of lines before the next byte, if the next byte begins a line.
    pub(super) fn lines(&mut self) -> u64 {
        self.count_to(self.at);
        self.counted.line - 1
    }

    /// Whether the end of the stream was read.
    pub(super) const fn is_at_end(&self) -> bool {
        self.at_end
    }

    /// Drops the bytes that were read. The next byte is the first byte of the next game.
    pub(super) fn begin_game(&mut self) {
        self.count_to(self.at);
        self.counted.at = 0;
        self.first_before = self.counted.before;
        self.start += self.at;
        self.dropped += self.at as u64;
        if (self.line.start..=self.line.end).contains(&self.at) {
            // The line is searched already, so the rest of it is too.
            self.line = 0..self.line.end - self.at;
            self.last_quote = self.last_quote.map(|quote| quote?.checked_sub(self.at));
        } else {
            self.line = 0..0;
            self.last_quote = None;
        }
        self.at = 0;
    }

    /// The bytes in memory that have not been read.
    pub(super) fn rest(&self) -> &[u8] {
        self.buffer.get(self.start + self.at..self.filled).unwrap_or_default()
    }

    /// The bytes of a range that are in memory.
    pub(super) fn slice(&self, range: Range<usize>) -> &[u8] {
        let end = (self.start + range.end).min(self.filled);
        self.buffer.get(self.start + range.start..end).unwrap_or_default()
    }

    pub(super) fn before(&self, at: usize) -> u8 {
        self.buffer.get(self.start + at - 1).copied().unwrap_or(b'\n')
    }

    /// Reads from the stream until a whole token is in memory, or until the stream ends.
    #[inline]
    pub(super) fn want_token(&mut self) -> Result<(), Broken> {
        while self.rest().len() < MAX_TOKEN && !self.at_end {
            self.more()?;
        }
        Ok(())
    }

    /// Finds the first byte that is `a` or `b`, beginning at the place `from`. Returns its place,
    /// or the end of the stream.
    pub(super) fn find(&mut self, from: usize, a: u8, b: u8) -> Result<usize, Broken> {
        let mut searched = from;
        loop {
            let known = self.buffer.get(self.start + searched..self.filled).unwrap_or_default();
            if let Some(place) = memchr2(a, b, known) {
                return Ok(searched + place);
            }
            searched += known.len();
            if self.at_end {
                return Ok(searched);
            }
            self.more()?;
        }
    }

    /// Returns the end of the line that contains the place `from`.
    pub(super) fn end_of_line(&mut self, from: usize) -> Result<usize, Broken> {
        if !self.line.contains(&from) {
            self.line = from..self.find(from, b'\n', b'\r')?;
            self.last_quote = None;
        }
        Ok(self.line.end)
    }

    /// Whether a quote before a bracket follows in the line that [`Source::end_of_line`] searched
    /// last, at the place `from` or after it.
    pub(super) fn has_quote_before_bracket(&mut self, from: usize) -> bool {
        let Range { start, end } = self.line;
        let quote = self.last_quote.unwrap_or_else(|| {
            let line = self.slice(start..end);
            let is_last = |&place: &usize| is_quote_before_bracket(line, place);
            (0..line.len()).rev().find(is_last).map(|place| start + place)
        });
        self.last_quote = Some(quote);
        quote.is_some_and(|quote| from <= quote)
    }

    /// Finds the next line that begins a game, in the bytes from `from` to `to` that are in memory.
    pub(super) fn find_first_tag(&self, from: usize, to: usize) -> Option<usize> {
        let text = self.slice(from..to);
        // Most comments are short and within one line.
        memchr2(b'\n', b'\r', text)?;
        memmem::find_iter(text, FIRST_TAG)
            .find(|&place| matches!(self.before(from + place), b'\n' | b'\r'))
            .map(|place| from + place)
    }

    /// Finds the first line of the game so far of at least `length` bytes, and returns its start.
    pub(super) fn long_line(&mut self, length: usize) -> Option<usize> {
        let read = self.slice(0..self.at);
        // Each step goes to the start of the last line that begins within the next `length` bytes.
        let mut start = 0;
        while start + length <= read.len() {
            match memrchr2(b'\n', b'\r', &read[start..start + length]) {
                Some(end) => start += end + 1,
                None => return Some(start),
            }
        }
        None
    }

    /// Returns line and column of a place, both from 1.
    pub(super) fn place(&mut self, at: usize) -> (u64, usize) {
        self.count_to(at);
        (self.counted.line, self.counted.before + 1)
    }

    /// Computes line and column of a place. It counts from the place of the last call, forward or
    /// back, so that bytes are not counted over and over.
    fn count_to(&mut self, at: usize) {
        let Counted { at: last, line, before } = self.counted;
        let from = last.min(at);
        let to = last.max(at);
        let between = self.slice(from..to);
        let ends = line_ends(between, self.before(from));
        let last_end = |text| memrchr2(b'\n', b'\r', text).map(|end| end + 1);
        let (line, before) = match last_end(between) {
            None if at < last => (line, before - (last - at)),
            None => (line, before + (at - last)),
            Some(end) if last < at => (line + ends, at - last - end),
            Some(_) => match last_end(self.slice(0..at)) {
                Some(start) => (line - ends, at - start),
                None => (line - ends, self.first_before + at),
            },
        };
        self.counted = Counted { at, line, before };
    }

    fn more(&mut self) -> Result<(), Broken> {
        if self.filled - self.start > self.limit {
            return Err(Broken::TooLong);
        }
        Ok(self.fill()?)
    }

    fn fill(&mut self) -> io::Result<()> {
        if self.start > 1 {
            self.buffer.copy_within(self.start - 1..self.filled, 0);
            self.filled -= self.start - 1;
            self.start = 1;
        }
        let count = read_more(&mut self.input, &mut self.buffer, self.filled)?;
        self.filled += count;
        self.at_end |= count == 0;
        Ok(())
    }

    /// Copies the game from its start up to the next line that begins with an `Event` tag.
    pub(super) fn copy_long_game(&mut self, sink: &mut dyn Write) -> io::Result<()> {
        loop {
            let known = self.filled - self.start;
            let next_game = self.find_first_tag(self.at.max(1), known);
            self.at = match next_game {
                Some(place) => place,
                None if self.at_end => known,
                // A tag may be split at the end of the bytes in memory.
                None => known.saturating_sub(FIRST_TAG.len()).max(self.at),
            };
            sink.write_all(self.slice(0..self.at))?;
            self.begin_game();
            if next_game.is_some() || self.at_end {
                return Ok(());
            }
            self.fill()?;
        }
    }
}

/// Whether a byte of a line is a quote, and a `]` follows it.
pub(super) fn is_quote_before_bracket(line: &[u8], place: usize) -> bool {
    line[place] == b'"' && line[place + 1..].trim_ascii_start().starts_with(b"]")
}

/// Number of line ends in a text. `before` is the byte before the text, which may be the CR of a CR
/// LF. The loop goes over all bytes without a branch, so the compiler can use vectors.
pub fn line_ends(text: &[u8], before: u8) -> u64 {
    let count = |counted: u8| -> u64 {
        let of = |part: &[u8]| part.iter().map(|byte| u8::from(*byte == counted)).sum::<u8>();
        text.chunks(255).map(|part| u64::from(of(part))).sum()
    };
    let returns = count(b'\r');
    let first = u64::from(before == b'\r' && text.first() == Some(&b'\n'));
    match returns {
        0 => count(b'\n') - first,
        _ => {
            let behind = text.get(1..).unwrap_or_default();
            let is_pair = |(a, b): (&u8, &u8)| u8::from(*a == b'\r') & u8::from(*b == b'\n');
            let of = |(a, b): (&[u8], &[u8])| a.iter().zip(b).map(is_pair).sum::<u8>();
            let pairs: u64 = text.chunks(255).zip(behind.chunks(255)).map(of).map(u64::from).sum();
            returns + count(b'\n') - pairs - first
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_with_every_kind_of_end_once() {
        for (text, before, ends) in [
            (&b"a\nb\n"[..], b'x', 2),
            (b"\na\n", b'\r', 1),
            (b"\ra\n", b'\r', 2),
            (b"a\r\nb\rc\n\r", b'\n', 4),
            (b"\n\n\r\n\r\r", b'\r', 4),
            (b"", b'\r', 0),
        ] {
            assert_eq!(line_ends(text, before), ends, "{text:?}");
        }
        assert_eq!(line_ends(&[b'\n'; 1000], b'\n'), 1000);
        assert_eq!(line_ends(&b"\r\n".repeat(1000), b'\n'), 1000);
        assert_eq!(line_ends(&b"\n\r".repeat(1000), b'\n'), 1001);
    }
}

//! Splitting of a stream into lines. Lines may have any bytes and any length; memory is bounded.

use std::fmt;
use std::io::{self, Read, Write};

use memchr::memchr2;

use super::codes;
use super::diagnostic::Diagnostic;
use super::options::Profile;

/// Maximum length of a line in the EPD specification: in bytes, without the line end.
pub const SPEC_LINE_LIMIT: usize = 4095;

/// Returns the default maximum length of a line, in bytes without the line end: [`SPEC_LINE_LIMIT`]
/// in the strict profile, 1 MiB in the others.
pub const fn default_limit(profile: Profile) -> usize {
    match profile {
        Profile::Strict => SPEC_LINE_LIMIT,
        Profile::Standard | Profile::Lenient => 1 << 20,
    }
}

const CHUNK: usize = 64 * 1024;

/// Splits a stream into lines. LF, CR LF and a lone CR end a line; the last line may lack its end.
/// A line over the limit is reported and can be copied in pieces. So memory stays below the limit
/// plus 128 KiB.
///
/// ```
/// use epdb_chess::text::lines::{LineReader, Next};
/// let mut reader = LineReader::new(&b"one\r\ntwo"[..], 1024);
/// let mut lines = Vec::new();
/// while let Some(next) = reader.next_line()? {
///     if let Next::Line(line) = next {
///         lines.push((line.number, line.text.to_vec(), line.end));
///     }
/// }
/// assert_eq!(lines, [(1, b"one".to_vec(), 5), (2, b"two".to_vec(), 8)]);
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct LineReader<R> {
    input: R,
    limit: usize,
    buffer: Vec<u8>,
    /// Start of the bytes that were read but not returned yet: `buffer[start..filled]`.
    start: usize,
    filled: usize,
    at_end: bool,
    number: u64,
    /// Number of bytes of the stream before `buffer[start]`.
    offset: u64,
    /// True if the rest of a line over the limit has not been read yet.
    in_long_line: bool,
}

impl<R> fmt::Debug for LineReader<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LineReader")
            .field("limit", &self.limit)
            .field("number", &self.number)
            .finish_non_exhaustive()
    }
}

/// The next item of the stream.
#[derive(Debug)]
pub enum Next<'a> {
    /// A line.
    Line(RawLine<'a>),
    /// A line over the limit. [`LineReader::copy_long_line`] copies all bytes of the line. Without
    /// this call the line is skipped.
    TooLong {
        /// Number of the line, from 1.
        number: u64,
        /// The first bytes of the line, up to the limit.
        head: &'a [u8],
    },
}

/// One line of the stream.
#[derive(Copy, Clone, Debug)]
pub struct RawLine<'a> {
    /// Number of the line, from 1.
    pub number: u64,
    /// The bytes without the line end.
    pub text: &'a [u8],
    /// The bytes with the line end.
    pub raw: &'a [u8],
    /// Offset of the first byte after the line and its line end, in bytes from the start of the
    /// stream.
    pub end: u64,
}

/// The end of a line, as an index into the bytes of several lines.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct LineEnd {
    /// The end of the text of the line.
    pub text: usize,
    /// The end of the line with its line end.
    pub raw: usize,
}

impl<R: Read> LineReader<R> {
    /// Creates a reader of lines of at most `limit` bytes, not counting their line ends.
    /// [`default_limit`] is the usual limit.
    pub fn new(input: R, limit: usize) -> LineReader<R> {
        LineReader {
            input,
            limit,
            buffer: Vec::new(),
            start: 0,
            filled: 0,
            at_end: false,
            number: 0,
            offset: 0,
            in_long_line: false,
        }
    }

    /// Reads the next line; `None` at the end of the stream.
    ///
    /// # Errors
    /// Errors of the stream.
    pub fn next_line(&mut self) -> io::Result<Option<Next<'_>>> {
        if self.in_long_line {
            self.copy_long_line(&mut io::sink())?;
        }
        let mut searched = 0;
        let (length, end_length) = loop {
            let waiting = &self.buffer[self.start..self.filled];
            match memchr2(b'\r', b'\n', &waiting[searched..]) {
                Some(place) => {
                    let length = searched + place;
                    match end_of_line(&waiting[length..], self.at_end) {
                        Some(end_length) => break (length, end_length),
                        None => searched = length,
                    }
                }
                None => searched = waiting.len(),
            }
            if self.at_end {
                if self.start == self.filled {
                    return Ok(None);
                }
                break (searched, 0);
            }
            if searched > self.limit {
                break (searched, 0);
            }
            self.fill()?;
        };
        self.number += 1;
        let number = self.number;
        if length > self.limit {
            self.in_long_line = true;
            let head = &self.buffer[self.start..self.start + self.limit];
            return Ok(Some(Next::TooLong { number, head }));
        }
        let raw = self.start..self.start + length + end_length;
        self.start = raw.end;
        self.offset += raw.len() as u64;
        let raw = &self.buffer[raw];
        let line = RawLine { number, text: &raw[..length], raw, end: self.offset };
        Ok(Some(Next::Line(line)))
    }

    /// Returns complete lines from the buffer, at most `max_lines`, without reading from the stream.
    /// Stops before a line over the limit. Appends the end of each line to `ends`. An end is an
    /// index into the returned bytes, plus `before`.
    pub fn lines_at_hand(
        &mut self,
        max_lines: usize,
        before: usize,
        ends: &mut Vec<LineEnd>,
    ) -> &[u8] {
        let max_lines = if self.in_long_line { 0 } else { max_lines };
        // A CR at the end of the buffer is left to `next_line`, which sees the byte after it.
        let at_end = false;
        let waiting = &self.buffer[self.start..self.filled];
        let mut end = 0;
        let mut count = 0;
        for place in memchr::memchr2_iter(b'\r', b'\n', waiting) {
            // The LF of a CR LF was already consumed with its CR.
            if place < end {
                continue;
            }
            let Some(end_length) = end_of_line(&waiting[place..], at_end) else { break };
            if count == max_lines || place - end > self.limit {
                break;
            }
            end = place + end_length;
            count += 1;
            ends.push(LineEnd { text: before + place, raw: before + end });
        }
        let lines = self.start..self.start + end;
        self.start = lines.end;
        self.offset += end as u64;
        self.number += count as u64;
        &self.buffer[lines]
    }

    /// Sets the number of the first line, for a stream that is a part of a text.
    pub const fn set_first_line(&mut self, line: u64) {
        self.number = line.saturating_sub(1);
    }

    /// Number of the last line that was returned, or 0.
    pub const fn number(&self) -> u64 {
        self.number
    }

    /// Whether [`LineReader::next_line`] can return the next line or the end of the stream from the
    /// buffer alone.
    pub fn is_waiting(&self) -> bool {
        let waiting = &self.buffer[self.start..self.filled];
        let end = memchr2(b'\r', b'\n', waiting);
        self.at_end
            || waiting.len() > self.limit
            || end.is_some_and(|place| end_of_line(&waiting[place..], self.at_end).is_some())
    }

    /// Reads from the stream once, even if a complete line is in the buffer.
    ///
    /// # Errors
    /// Errors of the stream.
    pub fn read_more(&mut self) -> io::Result<()> {
        if self.at_end { Ok(()) } else { self.fill() }
    }

    /// Copies the whole line that was just reported as too long, with its end, and returns the
    /// number of bytes. If no such line was reported, copies nothing and returns 0.
    ///
    /// # Errors
    /// Errors of the stream and of the sink.
    pub fn copy_long_line(&mut self, sink: &mut dyn Write) -> io::Result<u64> {
        let before = self.offset;
        while self.in_long_line {
            let waiting = &self.buffer[self.start..self.filled];
            let mut taken = waiting.len();
            if let Some(place) = memchr2(b'\r', b'\n', waiting) {
                taken = place;
                if let Some(end_length) = end_of_line(&waiting[place..], self.at_end) {
                    taken += end_length;
                    self.in_long_line = false;
                }
            } else if self.at_end {
                self.in_long_line = false;
            }
            sink.write_all(&waiting[..taken])?;
            self.start += taken;
            self.offset += taken as u64;
            if self.in_long_line {
                self.fill()?;
            }
        }
        Ok(self.offset - before)
    }

    /// Offset in the stream of the first byte that has not been returned as part of a line.
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    /// Makes space in the buffer, and reads more bytes to its end.
    fn fill(&mut self) -> io::Result<()> {
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.filled, 0);
            self.filled -= self.start;
            self.start = 0;
        }
        let count = read_more(&mut self.input, &mut self.buffer, self.filled)?;
        self.filled += count;
        self.at_end |= count == 0;
        Ok(())
    }
}

/// Makes space for a chunk in a buffer, and reads once, after the first `filled` bytes. Returns the
/// number of bytes that were read; 0 at the end of the input.
pub fn read_more(input: &mut impl Read, buffer: &mut Vec<u8>, filled: usize) -> io::Result<usize> {
    if buffer.len() < filled + CHUNK {
        buffer.resize(filled + CHUNK, 0);
    }
    loop {
        match input.read(&mut buffer[filled..]) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}

/// Length of the line end with which the bytes begin. `None` if the bytes are a single CR, and
/// input that follows may begin with the LF.
fn end_of_line(bytes: &[u8], at_end: bool) -> Option<usize> {
    match bytes {
        [b'\r', b'\n', ..] => Some(2),
        [b'\r'] if !at_end => None,
        _ => Some(1),
    }
}

/// Splits bytes into lines, each with its line end.
pub fn split(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let at_end = true;
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let end = memchr2(b'\r', b'\n', rest).map_or(rest.len(), |place| {
            place + end_of_line(&rest[place..], at_end).unwrap_or_default()
        });
        let (line, behind) = rest.split_at(end);
        rest = behind;
        (!line.is_empty()).then_some(line)
    })
}

/// Makes the error for a line over the limit.
pub fn too_long(limit: usize) -> Diagnostic {
    let message = format!("the line is longer than {limit} bytes");
    Diagnostic::error(codes::E_EPD_LINELEN, limit + 1, message)
}

#[cfg(test)]
#[allow(clippy::expect_used)]
mod tests {
    use super::*;

    /// A reader that returns one byte at a time.
    struct Slow<'a>(&'a [u8]);

    impl Read for Slow<'_> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let Some((first, rest)) = self.0.split_first() else { return Ok(0) };
            out[0] = *first;
            self.0 = rest;
            Ok(1)
        }
    }

    #[test]
    fn bytes_are_split_into_the_lines_of_a_reader() {
        for bytes in ["", "a", "a\n", "\n", "\r", "a\r\nb\rc\n\nd", "a\n\r", "\r\r\n\n\r\n"] {
            let read = lines(bytes.as_bytes(), 1024);
            let split: Vec<&[u8]> = split(bytes.as_bytes()).collect();
            assert!(split.iter().eq(read.iter().map(|(_, raw, _)| raw)), "{bytes:?}");
        }
    }

    fn lines(input: impl Read, limit: usize) -> Vec<(u64, Vec<u8>, u64)> {
        let mut reader = LineReader::new(input, limit);
        let mut lines = Vec::new();
        loop {
            match reader.next_line().expect("no error in memory") {
                None => return lines,
                Some(Next::Line(line)) => {
                    assert!(line.raw.starts_with(line.text));
                    lines.push((line.number, line.raw.to_vec(), line.end));
                }
                Some(Next::TooLong { number, head }) => {
                    assert_eq!(head.len(), limit);
                    let head = head.to_vec();
                    let mut all = Vec::new();
                    let count = reader.copy_long_line(&mut all).expect("no error in memory");
                    assert_eq!(count, all.len() as u64);
                    assert!(all.starts_with(&head));
                    lines.push((number, all, reader.offset()));
                }
            }
        }
    }

    /// Reads the lines of the input by groups: all complete lines of the buffer at a time.
    fn lines_at_hand(input: impl Read, limit: usize, most: usize) -> Vec<Vec<u8>> {
        let mut reader = LineReader::new(input, limit);
        let mut lines = Vec::new();
        loop {
            let mut ends = Vec::new();
            let number = reader.number();
            let bytes = reader.lines_at_hand(most, 7, &mut ends).to_vec();
            assert!(ends.len() <= most);
            let mut start = 0;
            for LineEnd { text, raw } in &ends {
                assert!(!bytes[start..text - 7].iter().any(|byte| b"\r\n".contains(byte)));
                lines.push(bytes[start..raw - 7].to_vec());
                start = raw - 7;
            }
            assert_eq!((start, reader.number()), (bytes.len(), number + ends.len() as u64));
            if !ends.is_empty() {
                continue;
            }
            match reader.next_line().expect("no error in memory") {
                None => return lines,
                Some(Next::Line(line)) => lines.push(line.raw.to_vec()),
                Some(Next::TooLong { .. }) => {
                    assert_eq!(reader.lines_at_hand(most, 7, &mut ends), b"");
                    let mut all = Vec::new();
                    reader.copy_long_line(&mut all).expect("no error in memory");
                    lines.push(all);
                }
            }
        }
    }

    /// Lines with every kind of line end are read; no byte of the stream is lost.
    #[test]
    fn lines_of_every_kind_come_out_whole() {
        let input = b"a\nbb\r\n\rccc\r\n\n\rd\r\r\nlonger than ten\r\nlonger than ten\relf";
        for limit in [3, 10, 1000] {
            let fast = lines(&input[..], limit);
            assert_eq!(fast, lines(Slow(input), limit));
            let raw: Vec<Vec<u8>> = fast.iter().map(|(_, raw, _)| raw.clone()).collect();
            for most in [1, 3, 100] {
                assert_eq!(lines_at_hand(&input[..], limit, most), raw);
                assert_eq!(lines_at_hand(Slow(input), limit, most), raw);
            }
            let joined: Vec<u8> = fast.iter().flat_map(|(_, raw, _)| raw.clone()).collect();
            assert_eq!(joined, input);
            let mut end = 0;
            for (index, (number, raw, offset)) in fast.iter().enumerate() {
                end += raw.len() as u64;
                assert_eq!((*number, *offset), (index as u64 + 1, end));
            }
        }
        let texts: Vec<Vec<u8>> = lines(&input[..], 1000).into_iter().map(|line| line.1).collect();
        let wanted: [&[u8]; 11] = [
            b"a\n",
            b"bb\r\n",
            b"\r",
            b"ccc\r\n",
            b"\n",
            b"\r",
            b"d\r",
            b"\r\n",
            b"longer than ten\r\n",
            b"longer than ten\r",
            b"elf",
        ];
        assert_eq!(texts, wanted);
    }

    /// A line over the limit is skipped in bounded memory, unless it is copied.
    #[test]
    fn a_long_line_is_skipped_in_bounded_memory() {
        let input = io::repeat(b'x').take(20 << 20).chain(&b"\nnext\n"[..]);
        let mut reader = LineReader::new(input, 1 << 16);
        assert!(matches!(
            reader.next_line().expect("no error in memory"),
            Some(Next::TooLong { number: 1, .. })
        ));
        match reader.next_line().expect("no error in memory") {
            Some(Next::Line(line)) => assert_eq!((line.number, line.text), (2, &b"next"[..])),
            other => panic!("{other:?}"),
        }
        assert!(reader.buffer.len() <= (1 << 16) + 2 * CHUNK);
    }
}

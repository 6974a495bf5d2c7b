//! Conversion of text in other encodings to UTF-8.

use std::fmt;
use std::io::{self, Read};
use std::str::FromStr;

use encoding_rs::{Decoder, DecoderResult, Encoding, UTF_16BE, UTF_16LE};

use super::notes::Notes;
use epdb_chess::error::At;
use epdb_chess::text::pgn::Charset;
use epdb_chess::text::{Diagnostic, codes};

const BUFFER: usize = 16 * 1024;
/// U+FFFD in UTF-8.
const REPLACEMENT: &[u8] = "\u{fffd}".as_bytes();

/// A character set, named as in the WHATWG Encoding Standard.
///
/// ```
/// use epdb_source::{Source, SourceOptions, TextEncoding};
/// let cyrillic: TextEncoding = "windows-1251".parse()?;
/// let line = b"8/8/8/4k3/8/1K6/8/8 b - - id \"\xd2\xe0\xeb\xfc\";\n";
/// let source = Source::from_bytes("a.epd", line, &SourceOptions { encoding: Some(cyrillic), ..Default::default() })?;
/// let record = source.records().next().expect("a record")?;
/// assert!(record.to_string().contains("\"Таль\""));
/// assert!("windows-1".parse::<TextEncoding>().is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct TextEncoding(&'static Encoding);

impl TextEncoding {
    /// The name in the WHATWG Encoding Standard.
    pub fn name(self) -> &'static str {
        self.0.name()
    }
}

impl FromStr for TextEncoding {
    type Err = UnknownEncoding;

    /// Parses a name, in any case.
    fn from_str(name: &str) -> Result<TextEncoding, UnknownEncoding> {
        let encoding = Encoding::for_label_no_replacement(name.as_bytes());
        encoding.map(TextEncoding).ok_or(UnknownEncoding)
    }
}

/// The character set of text, as a user names it.
///
/// ```
/// use epdb_source::TextCharset;
/// assert_eq!("latin-1".parse::<TextCharset>()?.name(), "latin-1");
/// assert_eq!("iso-8859-2".parse::<TextCharset>()?.name(), "ISO-8859-2");
/// # Ok::<(), epdb_source::UnknownEncoding>(())
/// ```
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum TextCharset {
    /// A character set that the readers of lines and games decode themselves.
    Plain(Charset),
    /// Another encoding, which is converted to UTF-8 first.
    Encoding(TextEncoding),
}

impl TextCharset {
    /// The character set that the readers of lines and games decode; `None` if it is converted first.
    pub const fn charset(self) -> Option<Charset> {
        match self {
            TextCharset::Plain(charset) => Some(charset),
            TextCharset::Encoding(_) => None,
        }
    }

    /// The encoding that is converted first, if any.
    pub const fn encoding(self) -> Option<TextEncoding> {
        match self {
            TextCharset::Plain(_) => None,
            TextCharset::Encoding(encoding) => Some(encoding),
        }
    }

    /// The name.
    pub fn name(self) -> &'static str {
        match self {
            TextCharset::Plain(Charset::Utf8) => "utf-8",
            TextCharset::Plain(Charset::Latin1) => "latin-1",
            TextCharset::Encoding(encoding) => encoding.name(),
        }
    }
}

impl FromStr for TextCharset {
    type Err = UnknownEncoding;

    /// ISO 8859-1 is read literally, not as Windows-1252 as in browsers.
    fn from_str(name: &str) -> Result<TextCharset, UnknownEncoding> {
        Ok(match name.to_ascii_lowercase().as_str() {
            "utf-8" | "utf8" => TextCharset::Plain(Charset::Utf8),
            "latin-1" | "latin1" | "iso-8859-1" => TextCharset::Plain(Charset::Latin1),
            name => TextCharset::Encoding(name.parse()?),
        })
    }
}

/// Error of a name that no encoding has.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct UnknownEncoding;

impl fmt::Display for UnknownEncoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "no such character set: there are utf-8, latin-1, windows-1250 to windows-1258, \
             iso-8859-2 to iso-8859-16, koi8-r, koi8-u, macintosh, gbk, gb18030, big5, shift_jis, \
             euc-jp and euc-kr; https://encoding.spec.whatwg.org/#names-and-labels lists all names",
        )
    }
}

impl std::error::Error for UnknownEncoding {}

/// The encoding of a text in UTF-16; `None` for other text. UTF-16 is recognised by its byte order
/// mark, or by its first characters if they are ASCII: every second byte is then zero.
pub(super) fn of_utf16(start: &[u8]) -> Option<TextEncoding> {
    let is_text = |byte: u8| matches!(byte, b' '..=b'~' | b'\t' | b'\r' | b'\n');
    let pairs = || start.chunks_exact(2);
    match start {
        [0xff, 0xfe, 0, 0, ..] => None,
        [0xff, 0xfe, ..] => Some(TextEncoding(UTF_16LE)),
        [0xfe, 0xff, ..] => Some(TextEncoding(UTF_16BE)),
        _ if start.len() < 8 => None,
        _ if pairs().all(|pair| is_text(pair[0]) && pair[1] == 0) => Some(TextEncoding(UTF_16LE)),
        _ if pairs().all(|pair| is_text(pair[1]) && pair[0] == 0) => Some(TextEncoding(UTF_16BE)),
        _ => None,
    }
}

/// Converts an input to UTF-8 and drops its byte order mark. A byte order mark of UTF-8 or UTF-16
/// overrides the encoding. Bytes that are not a character become U+FFFD, with a warning.
pub(super) struct Transcoder<R> {
    input: R,
    encoding: TextEncoding,
    decoder: Decoder,
    /// Bytes that are not decoded yet: `bytes[start..filled]`.
    bytes: Box<[u8]>,
    start: usize,
    filled: usize,
    at_end: bool,
    is_done: bool,
    /// Number of bytes that were decoded.
    offset: u64,
    /// Text that was not returned yet: `text[given..written]`.
    text: Box<[u8]>,
    given: usize,
    written: usize,
    /// Number of line feeds in the text so far.
    lines: u64,
    notes: Notes,
}

impl<R: Read> Transcoder<R> {
    pub(super) fn new(input: R, encoding: TextEncoding, notes: Notes) -> Transcoder<R> {
        Transcoder {
            input,
            encoding,
            decoder: encoding.0.new_decoder(),
            bytes: vec![0; BUFFER].into(),
            start: 0,
            filled: 0,
            at_end: false,
            is_done: false,
            offset: 0,
            text: vec![0; BUFFER].into(),
            given: 0,
            written: 0,
            lines: 0,
            notes,
        }
    }

    fn decode(&mut self) -> io::Result<()> {
        if self.start == self.filled && !self.at_end {
            self.filled = self.input.read(&mut self.bytes)?;
            self.start = 0;
            self.at_end = self.filled == 0;
        }
        let bytes = &self.bytes[self.start..self.filled];
        let room = self.text.len() - REPLACEMENT.len();
        let text = &mut self.text[..room];
        let (result, read, mut written) =
            self.decoder.decode_to_utf8_without_replacement(bytes, text, self.at_end);
        self.start += read;
        self.offset += read as u64;
        self.lines += memchr::memchr_iter(b'\n', &text[..written]).count() as u64;
        match result {
            DecoderResult::InputEmpty => self.is_done = self.at_end,
            DecoderResult::OutputFull => {}
            DecoderResult::Malformed(..) => {
                let message = format!(
                    "byte {}: not a character of {}; read as U+FFFD",
                    self.offset,
                    self.encoding.name()
                );
                let warning = Diagnostic::warning(codes::W_SOURCE_CHARSET, 1, message);
                self.notes.add(At::Line(self.lines + 1), warning);
                self.text[written..written + REPLACEMENT.len()].copy_from_slice(REPLACEMENT);
                written += REPLACEMENT.len();
            }
        }
        self.given = 0;
        self.written = written;
        Ok(())
    }
}

impl<R: Read> Read for Transcoder<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.given == self.written && !self.is_done && !out.is_empty() {
            self.decode()?;
        }
        let count = out.len().min(self.written - self.given);
        out[..count].copy_from_slice(&self.text[self.given..self.given + count]);
        self.given += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn utf16(text: &str, little: bool) -> Vec<u8> {
        let bytes = |unit: u16| if little { unit.to_le_bytes() } else { unit.to_be_bytes() };
        text.encode_utf16().flat_map(bytes).collect()
    }

    /// Both byte orders, with and without a mark; characters outside the basic plane.
    #[test]
    fn utf16_is_recognised_and_read() {
        let text =
            format!("8/8/8/4k3/8/1K6/8/8 b - - c0 \"{}\u{1d11e}é\";\r\n", "x".repeat(40_000));
        for little in [true, false] {
            for mark in ["", "\u{feff}"] {
                let bytes = utf16(&format!("{mark}{text}"), little);
                let encoding = of_utf16(&bytes[..16]).unwrap();
                let mut read = String::new();
                Transcoder::new(&bytes[..], encoding, Notes::default())
                    .read_to_string(&mut read)
                    .unwrap();
                assert_eq!(read, text);
            }
        }
        for other in [&b"8/8/8/4k3/8/1K6/8"[..], b"\xff\xfe\0\0", b"8\0", b"\xef\xbb\xbf8/8/8", b""]
        {
            assert_eq!(of_utf16(other), None);
        }
    }

    /// A fault is located, and the text after it is read.
    #[test]
    fn what_is_not_a_character_is_a_warning() {
        for (bytes, wanted, places) in [
            (&b"8\0\n\0\0\xd8x\0\n\0y\0"[..], "8\n\u{fffd}x\ny", &[2][..]),
            (b"8\0/", "8\u{fffd}", &[1]),
        ] {
            let notes = Notes::default();
            let mut read = String::new();
            let mut transcoder = Transcoder::new(bytes, TextEncoding(UTF_16LE), notes.clone());
            transcoder.read_to_string(&mut read).unwrap();
            assert_eq!(read, wanted);
            let found: Vec<At> = notes.take().into_iter().map(|(at, _)| at).collect();
            assert_eq!(found, places.iter().map(|line| At::Line(*line)).collect::<Vec<_>>());
        }
    }
}

//! The character set of text that is read.

use std::str::FromStr;

use epdb::source::{TextEncoding, UnknownEncoding};
use epdb::text::pgn::Charset;

/// The character set of text, as it was named.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum TextCharset {
    /// One that the readers of lines and games know.
    Plain(Charset),
    /// Another one, which is read as UTF-8.
    Encoding(TextEncoding),
}

impl TextCharset {
    pub(crate) fn charset(self) -> Option<Charset> {
        match self {
            TextCharset::Plain(charset) => Some(charset),
            TextCharset::Encoding(_) => None,
        }
    }

    pub(crate) fn encoding(self) -> Option<TextEncoding> {
        match self {
            TextCharset::Plain(_) => None,
            TextCharset::Encoding(encoding) => Some(encoding),
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            TextCharset::Plain(Charset::Utf8) => "utf-8",
            TextCharset::Plain(Charset::Latin1) => "latin-1",
            TextCharset::Encoding(encoding) => encoding.name(),
        }
    }
}

impl FromStr for TextCharset {
    type Err = UnknownEncoding;

    /// ISO 8859-1 is itself here and not Windows-1252, as which browsers read it.
    fn from_str(name: &str) -> Result<TextCharset, UnknownEncoding> {
        Ok(match name.to_ascii_lowercase().as_str() {
            "utf-8" | "utf8" => TextCharset::Plain(Charset::Utf8),
            "latin-1" | "latin1" | "iso-8859-1" => TextCharset::Plain(Charset::Latin1),
            name => TextCharset::Encoding(name.parse()?),
        })
    }
}

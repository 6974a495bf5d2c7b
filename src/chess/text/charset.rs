//! The character sets UTF-8, Windows-1252 and Latin-1.

use std::borrow::Cow;

/// A character set for the bytes of text.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug, Default)]
pub enum Charset {
    /// UTF-8, which has every character.
    #[default]
    Utf8,
    /// ISO 8859-1, the character set of the standard and of PGC.
    Latin1,
}

/// Decodes text: as Latin-1 if `declared` says so, otherwise as UTF-8. If the text is not valid
/// UTF-8, it is decoded as Windows-1252.
pub fn decode(bytes: &[u8], declared: Option<Charset>) -> Cow<'_, str> {
    if declared == Some(Charset::Latin1) {
        return from_latin1(bytes);
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(bytes.iter().map(|&byte| from_windows_1252(byte)).collect()),
    }
}

/// Decodes Latin-1. ASCII is not copied.
pub fn from_latin1(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) if bytes.is_ascii() => Cow::Borrowed(text),
        _ => Cow::Owned(bytes.iter().map(|&byte| char::from(byte)).collect()),
    }
}

/// Returns the character of a byte in Windows-1252. Five bytes have no character there and stay
/// Latin-1.
pub(super) fn from_windows_1252(byte: u8) -> char {
    match WINDOWS_1252.get(usize::from(byte.wrapping_sub(0x80))) {
        Some(&character) => character,
        None => char::from(byte),
    }
}

/// The characters of the bytes 0x80 to 0x9F in Windows-1252. Five bytes have no character there and
/// stay the control characters of Latin-1.
const WINDOWS_1252: [char; 32] = [
    '\u{20ac}', '\u{81}', '\u{201a}', '\u{192}', '\u{201e}', '\u{2026}', '\u{2020}', '\u{2021}',
    '\u{2c6}', '\u{2030}', '\u{160}', '\u{2039}', '\u{152}', '\u{8d}', '\u{17d}', '\u{8f}',
    '\u{90}', '\u{2018}', '\u{2019}', '\u{201c}', '\u{201d}', '\u{2022}', '\u{2013}', '\u{2014}',
    '\u{2dc}', '\u{2122}', '\u{161}', '\u{203a}', '\u{153}', '\u{9d}', '\u{17e}', '\u{178}',
];

/// A character that Latin-1 does not have (E-PGC-CHARSET).
#[derive(Copy, Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0:?} is not in Latin-1")]
pub struct NotLatin1(pub char);

/// Appends text as Latin-1, and returns the number of characters that became `?`. With `translit`,
/// each character that Latin-1 lacks becomes `?`.
///
/// # Errors
/// [`NotLatin1`] with the first character that Latin-1 lacks; then nothing is appended.
pub(crate) fn put_latin1(text: &str, translit: bool, out: &mut Vec<u8>) -> Result<u64, NotLatin1> {
    put_bytes(text, translit, out, |c| u8::try_from(c).ok())
}

/// Does the same as [`put_latin1`], for text that [`decode`] will read back. Some control
/// characters have bytes that mean other characters in Windows-1252. They count as characters that
/// Latin-1 lacks.
pub(super) fn put_latin1_text(
    text: &str,
    translit: bool,
    out: &mut Vec<u8>,
) -> Result<u64, NotLatin1> {
    let byte_of = |c| u8::try_from(c).ok().filter(|&byte| from_windows_1252(byte) == c);
    put_bytes(text, translit, out, byte_of)
}

fn put_bytes(
    text: &str,
    translit: bool,
    out: &mut Vec<u8>,
    byte_of: impl Fn(char) -> Option<u8>,
) -> Result<u64, NotLatin1> {
    if text.is_ascii() {
        out.extend_from_slice(text.as_bytes());
        return Ok(0);
    }
    let start = out.len();
    let mut replaced = 0;
    for c in text.chars() {
        match byte_of(c) {
            Some(byte) => out.push(byte),
            None if translit => {
                out.push(b'?');
                replaced += 1;
            }
            None => {
                out.truncate(start);
                return Err(NotLatin1(c));
            }
        }
    }
    Ok(replaced)
}

/// Appends text as ASCII, with `?` for all other characters. Returns the number of characters that
/// became `?`.
pub(super) fn put_ascii(text: &str, out: &mut Vec<u8>) -> u64 {
    out.extend(text.chars().map(|c| if c.is_ascii() { c as u8 } else { b'?' }));
    text.chars().filter(|c| !c.is_ascii()).count() as u64
}

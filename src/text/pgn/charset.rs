//! Latin-1 and UTF-8.

use std::borrow::Cow;

/// How the characters of games are written as bytes.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug, Default)]
pub enum Charset {
    /// UTF-8, which can say every game.
    #[default]
    Utf8,
    /// ISO 8859-1, the character set of the standard and of PGC.
    Latin1,
}

/// Reads text: as the character set says, or, when none is declared, as UTF-8 if it is that and as
/// Latin-1 if not. Bytes that a declared UTF-8 cannot have are read as Latin-1 too.
pub(super) fn decode(bytes: &[u8], declared: Option<Charset>) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) if declared != Some(Charset::Latin1) || bytes.is_ascii() => Cow::Borrowed(text),
        _ => Cow::Owned(from_latin1(bytes)),
    }
}

/// The text of Latin-1 bytes.
pub fn from_latin1(bytes: &[u8]) -> String {
    bytes.iter().map(|&byte| char::from(byte)).collect()
}

/// A character that Latin-1 does not have (E-PGC-CHARSET).
#[derive(Copy, Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0:?} is not in Latin-1")]
pub struct NotLatin1(pub char);

/// Appends text as Latin-1 bytes; with `translit` characters that Latin-1 does not have become
/// `?`. Returns how many did.
///
/// # Errors
/// [`NotLatin1`], with the first such character; nothing is appended then.
pub fn put_latin1(text: &str, translit: bool, out: &mut Vec<u8>) -> Result<u64, NotLatin1> {
    if text.is_ascii() {
        out.extend_from_slice(text.as_bytes());
        return Ok(0);
    }
    let (start, mut replaced) = (out.len(), 0);
    for c in text.chars() {
        match u8::try_from(c) {
            Ok(byte) => out.push(byte),
            Err(_) if translit => {
                out.push(b'?');
                replaced += 1;
            }
            Err(_) => {
                out.truncate(start);
                return Err(NotLatin1(c));
            }
        }
    }
    Ok(replaced)
}

/// Appends text in ASCII, with `?` for all other characters. Returns how many there were.
pub(super) fn put_ascii(text: &str, out: &mut Vec<u8>) -> u64 {
    out.extend(text.chars().map(|c| if c.is_ascii() { c as u8 } else { b'?' }));
    text.chars().filter(|c| !c.is_ascii()).count() as u64
}

//! The text of a move.

use std::fmt::{self, Write};
use std::str::FromStr;

/// The text of one move in Standard Algebraic Notation: at most seven ASCII bytes.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct San {
    /// The text, padded with zero bytes.
    text: [u8; 7],
    len: u8,
}

impl San {
    /// Takes text of at most seven bytes, which need not be the text of a legal move.
    ///
    /// # Errors
    /// [`SanError`] when the text is longer than seven bytes, or has a byte that no text of a move
    /// has.
    pub const fn new(text: &[u8]) -> Result<San, SanError> {
        if text.len() > 7 {
            return Err(SanError::Length);
        }
        let mut bytes = [0; 7];
        let mut i = 0;
        while i < text.len() {
            if !text[i].is_ascii_graphic() {
                return Err(SanError::Byte);
            }
            bytes[i] = text[i];
            i += 1;
        }
        Ok(San { text: bytes, len: text.len() as u8 })
    }

    /// A move without text.
    pub const NONE: San = San { text: [0; 7], len: 0 };

    /// Builds the text from the first `len` of these bytes, which are printable ASCII.
    pub fn from_parts(mut bytes: [u8; 7], len: usize) -> San {
        let len = len.min(7);
        bytes[len..].fill(0);
        San { text: bytes, len: len as u8 }
    }

    /// The bytes of the text.
    pub fn as_bytes(&self) -> &[u8] {
        &self.text[..usize::from(self.len)]
    }
}

/// Reason why bytes are not the text of a move.
#[derive(Copy, Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SanError {
    /// The text has more than seven bytes.
    #[error("the SAN of a move has at most seven characters")]
    Length,
    /// A byte is a blank, a control byte, or not ASCII.
    #[error("the SAN of a move has printing ASCII characters only")]
    Byte,
}

impl TryFrom<&[u8]> for San {
    type Error = SanError;

    fn try_from(text: &[u8]) -> Result<San, SanError> {
        San::new(text)
    }
}

impl FromStr for San {
    type Err = SanError;

    fn from_str(text: &str) -> Result<San, SanError> {
        San::new(text.as_bytes())
    }
}

impl fmt::Display for San {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_bytes().iter().try_for_each(|&byte| f.write_char(char::from(byte)))
    }
}

impl fmt::Debug for San {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

//! Diagnostics: findings about a line, with their places.

use std::fmt;

use super::options::Setting;
use super::typography::{is_invisible, shown_character};

/// The severity of a [`Diagnostic`].
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum Severity {
    /// The line was read, with a repair or a doubt.
    Warning,
    /// The line was rejected.
    Error,
}

/// One finding about a line.
///
/// Its text is `COL: error[CODE]: message`. Callers that know the file and the line number add them
/// at the front: `suite.epd:12:45: error[E-EPD-QUOTE]: string is not closed`. [`super::codes`]
/// explains all codes.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{column}: {severity}[{code}]: {message}")]
pub struct Diagnostic {
    /// Warning or error.
    pub severity: Severity,
    /// The stable code, such as `E-EPD-QUOTE` or `W-LEN-UNQUOTED`.
    pub code: &'static str,
    /// The place in the raw line: the number of the byte, from 1.
    pub column: usize,
    /// The message: the text that was found, and then the text that was expected, or the repair.
    pub message: String,
    /// The bytes that a repair changed.
    pub repair: Option<Repair>,
    /// Number of findings that this diagnostic represents. It is 1, except for `W-LEN-MORE`.
    pub findings: u32,
    /// The setting that would accept the line.
    pub setting: Option<Setting>,
}

impl Diagnostic {
    /// Makes an error at a column.
    pub fn error(code: &'static str, column: usize, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(Severity::Error, code, column, message.into())
    }

    /// Makes a warning at a column.
    pub fn warning(code: &'static str, column: usize, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(Severity::Warning, code, column, message.into())
    }

    const fn new(
        severity: Severity,
        code: &'static str,
        column: usize,
        message: String,
    ) -> Diagnostic {
        Diagnostic { severity, code, column, message, repair: None, findings: 1, setting: None }
    }

    /// Adds the setting that would accept the line.
    pub fn with_setting(self, setting: Setting) -> Diagnostic {
        Diagnostic { setting: Some(setting), ..self }
    }

    /// Adds the bytes that the repair changed.
    pub fn with_repair(self, before: impl Into<Vec<u8>>, after: impl Into<Vec<u8>>) -> Diagnostic {
        let repair = Repair { before: before.into(), after: after.into() };
        Diagnostic { repair: Some(repair), ..self }
    }
}

crate::error::error_from!(Diagnostic: |_| crate::error::ErrorKind::InvalidData);

/// The bytes that a repair removed, and the bytes that it put in their place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Repair {
    /// The bytes of the line.
    pub before: Vec<u8>,
    /// The bytes that were read instead.
    pub after: Vec<u8>,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Severity::Warning => "warning",
            Severity::Error => "error",
        })
    }
}

/// Spells bytes of a line for a message: at most 40 characters. Bytes that are not UTF-8 become
/// escapes; control characters and other invisible characters become code points.
pub(super) fn shown(bytes: &[u8]) -> String {
    const MAX: usize = 40;
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(4 * MAX)]);
    let mut shown = String::new();
    for c in text.chars().take(MAX) {
        if is_invisible(c) || c.is_control() {
            shown.push_str(&shown_character(c));
        } else {
            shown.push(c);
        }
    }
    if text.chars().nth(MAX).is_some() || bytes.len() > 4 * MAX {
        shown.push('…');
    }
    format!("`{shown}`")
}

//! What a reader has to say about a line, and where.

use std::fmt;

use super::options::Setting;
use super::typography::{is_invisible, shown_character};

/// How much a [`Diagnostic`] weighs.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum Severity {
    /// The line was read; something in it was repaired or is doubtful.
    Warning,
    /// The line was not read.
    Error,
}

/// One finding about a line.
///
/// Its text form is `COL: error[CODE]: message`; who knows the file and the line number puts them
/// in front: `suite.epd:12:45: error[E-EPD-QUOTE]: string is not closed`. All codes with their
/// meanings are in [`super::codes`].
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{column}: {severity}[{code}]: {message}")]
pub struct Diagnostic {
    /// Warning or error.
    pub severity: Severity,
    /// The stable code, such as `E-EPD-QUOTE` or `W-LEN-UNQUOTED`.
    pub code: &'static str,
    /// The place in the raw line: bytes, counted from 1.
    pub column: usize,
    /// What was met, and what was expected or done.
    pub message: String,
    /// What a repair changed.
    pub repair: Option<Repair>,
    /// How many findings this one stands for: one, but for `W-LEN-MORE`.
    pub findings: u32,
    /// The setting with which the line would be read.
    pub setting: Option<Setting>,
}

impl Diagnostic {
    /// An error at a column.
    pub fn error(code: &'static str, column: usize, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(Severity::Error, code, column, message.into())
    }

    /// A warning at a column.
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

    /// The same finding with the setting that would take the line.
    pub fn with_setting(self, setting: Setting) -> Diagnostic {
        Diagnostic { setting: Some(setting), ..self }
    }

    /// The same finding with what the repair changed.
    pub fn with_repair(self, before: impl Into<Vec<u8>>, after: impl Into<Vec<u8>>) -> Diagnostic {
        let repair = Repair { before: before.into(), after: after.into() };
        Diagnostic { repair: Some(repair), ..self }
    }
}

crate::error::error_from!(Diagnostic);

/// The bytes that a repair took away and those it put in their place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Repair {
    /// As the line had it.
    pub before: Vec<u8>,
    /// As it was read.
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

/// Bytes of a line as they are shown in a message: at most 40 characters, bytes that are not UTF-8 made
/// visible, and control characters and others without a shape by their code point.
pub(super) fn shown(bytes: &[u8]) -> String {
    const MOST: usize = 40;
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(4 * MOST)]);
    let mut shown = String::new();
    for c in text.chars().take(MOST) {
        match c {
            _ if is_invisible(c) || c.is_control() => shown.push_str(&shown_character(c)),
            _ => shown.push(c),
        }
    }
    if text.chars().nth(MOST).is_some() || bytes.len() > 4 * MOST {
        shown.push('…');
    }
    format!("`{shown}`")
}

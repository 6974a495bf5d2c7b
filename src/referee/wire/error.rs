//! What is wrong with a message.

use crate::error::error_from;
use crate::text::Diagnostic;

/// Why a line is no message that the two sides of a match understand.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{code}: {message}")]
pub struct WireError {
    /// The stable code, such as `E-REF-NOREFREQ` or `E-MOVE-ILLEGAL`.
    pub code: &'static str,
    /// What was met, and what was expected.
    pub message: String,
}

impl WireError {
    /// An error with one of the codes of [`crate::text::codes`].
    pub fn new(code: &'static str, message: impl Into<String>) -> WireError {
        WireError { code, message: message.into() }
    }
}

/// What a fault says to a client that has not signed on, such as one on a line that outlived the referee
/// before.
pub const NOT_SIGNED_ON: &str = "nobody has signed on";

impl From<Diagnostic> for WireError {
    fn from(finding: Diagnostic) -> WireError {
        let message = format!("column {}: {}", finding.column, finding.message);
        WireError { code: finding.code, message }
    }
}

error_from!(WireError);

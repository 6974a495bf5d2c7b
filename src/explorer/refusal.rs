//! Refused questions.

use std::fmt;

use epdb_chess::error::Error;

/// The reason why a question has no answer.
#[derive(Debug)]
pub enum Refusal {
    /// The query is not valid.
    BadRequest(String),
    /// Something does not exist.
    NotFound(String),
    /// A source cannot be read, although the query is valid.
    Failed(Error),
}

impl Refusal {
    pub(crate) fn bad_request(text: impl Into<String>) -> Refusal {
        Refusal::BadRequest(text.into())
    }

    pub(crate) fn not_found(text: impl Into<String>) -> Refusal {
        Refusal::NotFound(text.into())
    }

    /// The status in HTTP.
    pub const fn status(&self) -> u16 {
        match self {
            Refusal::BadRequest(_) => 400,
            Refusal::NotFound(_) => 404,
            Refusal::Failed(_) => 500,
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::BadRequest(text) | Refusal::NotFound(text) => f.write_str(text),
            Refusal::Failed(error) => error.fmt(f),
        }
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Refusal {
        Refusal::Failed(error)
    }
}

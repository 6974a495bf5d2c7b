//! The one error of the crate, and the one shape of a place.
//!
//! Every room below has errors of its own, which say exactly what is wrong with a value, some bytes
//! or a file. Whoever works with files and whole collections gets an [`Error`], to which all of them
//! convert: it says what could not be done, where, and why.

use std::any::Any;
use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::sync::Arc;

/// The result of what works with files.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The message of a panic, if it is text.
///
/// ```
/// let panic = std::panic::catch_unwind(|| panic!("at move {}", 1)).unwrap_err();
/// assert_eq!(epdb::error::panic_text(&*panic), "at move 1");
/// ```
pub fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("no reason given")
}

/// Does work of a thread whose panic nobody else would see: it becomes an error. What the work had
/// begun to change must not be used after one.
///
/// # Errors
/// The errors of the work, and its panic.
#[cfg(feature = "source")]
pub(crate) fn caught<T, E: From<Error>>(work: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = panic_text(&*panic);
        Err(Error::new(format!("internal error: a thread panicked: {text}")).into())
    })
}

/// A location: a source and a place in it.
///
/// ```
/// use epdb::error::{At, Place};
/// assert_eq!(Place::new("suite.epd", At::Line(12)).to_string(), "suite.epd:12");
/// assert_eq!(Place::new("book.epb", At::Record(3)).to_string(), "book.epb: record 3");
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Place {
    /// The name of the source as the user gave it; `-` for standard input.
    pub source: Arc<str>,
    /// Place in the source.
    pub at: At,
}

/// A place in a source.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum At {
    /// Nowhere in particular.
    Whole,
    /// A line of text, from 1.
    Line(u64),
    /// A column of a line of text, both from 1; columns count bytes.
    Column {
        /// The line.
        line: u64,
        /// The byte in it.
        column: usize,
    },
    /// A record of a binary source, from 1.
    Record(u64),
    /// A game of a binary source, from 1.
    Game(u64),
    /// A byte of a binary source, from 0.
    Byte(u64),
}

impl At {
    /// The line and column of a byte of a text.
    ///
    /// ```
    /// use epdb::error::At;
    /// assert_eq!(At::byte_of("one\ntwo", 5), At::Column { line: 2, column: 2 });
    /// ```
    pub fn byte_of(text: &str, byte: usize) -> At {
        let before = text.get(..byte).unwrap_or(text);
        let line = before.matches('\n').count() as u64 + 1;
        let column = before.len() - before.rfind('\n').map_or(0, |end| end + 1) + 1;
        At::Column { line, column }
    }
}

impl Place {
    /// A place in a source.
    pub fn new(source: impl Into<Arc<str>>, at: At) -> Place {
        Place { source: source.into(), at }
    }

    /// The number of the line, record or game; 0 where there is none.
    pub const fn number(&self) -> u64 {
        match self.at {
            At::Line(number) | At::Record(number) | At::Game(number) => number,
            At::Column { line, .. } => line,
            At::Whole | At::Byte(_) => 0,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Place { source, at } = self;
        match at {
            At::Whole => f.write_str(source),
            At::Line(line) => write!(f, "{source}:{line}"),
            At::Column { line, column } => write!(f, "{source}:{line}:{column}"),
            At::Record(number) => write!(f, "{source}: record {number}"),
            At::Game(number) => write!(f, "{source}: game {number}"),
            At::Byte(offset) => write!(f, "{source}: byte {offset}"),
        }
    }
}

/// An error: the failed action, its location, and the cause.
///
/// Its text says all of it on one line. [`source`](StdError::source) is the error of the module that
/// failed, by which programs tell one failure from another.
///
/// ```
/// use std::error::Error as _;
/// let error = epdb::Error::new("cannot read on")
///     .because(std::io::Error::other("the disk is gone"))
///     .in_source("suite.epd");
/// assert_eq!(error.to_string(), "suite.epd: cannot read on: the disk is gone");
/// assert!(error.source().is_some_and(|cause| cause.is::<std::io::Error>()));
/// ```
pub struct Error(Box<Parts>);

struct Parts {
    what: String,
    place: Option<Place>,
    cause: Option<Box<dyn StdError + Send + Sync>>,
}

impl Error {
    /// An error that has no cause but what it says.
    pub fn new(what: impl Into<String>) -> Error {
        Error(Box::new(Parts { what: what.into(), place: None, cause: None }))
    }

    /// An error with nothing to say beyond its cause.
    pub fn from_cause(cause: impl Into<Box<dyn StdError + Send + Sync>>) -> Error {
        Error::new("").because(cause)
    }

    /// The same error with its cause.
    #[must_use]
    pub fn because(mut self, cause: impl Into<Box<dyn StdError + Send + Sync>>) -> Error {
        self.0.cause = Some(cause.into());
        self
    }

    /// The same error at a place, unless it has a more exact one in the same source.
    #[must_use]
    pub fn at(mut self, place: Place) -> Error {
        let is_exact = self.0.place.as_ref().is_some_and(|known| {
            known.source == place.source && known.at != At::Whole && place.at == At::Whole
        });
        if !is_exact {
            self.0.place = Some(place);
        }
        self
    }

    /// The same error in a source, at no place in particular.
    #[must_use]
    pub fn in_source(self, name: impl Into<Arc<str>>) -> Error {
        self.at(Place::new(name, At::Whole))
    }

    /// Location of the error, if known.
    pub const fn place(&self) -> Option<&Place> {
        self.0.place.as_ref()
    }

    /// Kind of the system error, if the system failed.
    pub fn io_kind(&self) -> Option<io::ErrorKind> {
        let mut cause = self.source();
        while let Some(error) = cause {
            if let Some(error) = error.downcast_ref::<io::Error>() {
                return Some(error.kind());
            }
            cause = error.source();
        }
        None
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.cause.as_deref().map(|cause| cause as &(dyn StdError + 'static))
    }
}

impl fmt::Debug for Error {
    /// The text: it is what a `main` that returns the error prints.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Error {
    /// The place, what could not be done, and the cause. A place that the cause names is said once.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Parts { what, place, cause } = &*self.0;
        let mut cause = cause.as_ref().map(ToString::to_string);
        if let (Some(Place { at: At::Column { column, .. }, .. }), Some(text)) = (place, &cause)
            && let Some(rest) = text.strip_prefix(&format!("{column}: "))
        {
            cause = Some(rest.to_string());
        }
        let place = place.as_ref().map(ToString::to_string).filter(|place| {
            let rest = cause.as_ref().and_then(|cause| cause.strip_prefix(place.as_str()));
            !rest.is_some_and(|rest| rest.starts_with(':'))
        });
        let what = Some(what.clone()).filter(|what| !what.is_empty());
        let parts: Vec<String> = [place, what, cause].into_iter().flatten().collect();
        f.write_str(&parts.join(": "))
    }
}

impl From<Error> for io::Error {
    fn from(cause: Error) -> io::Error {
        io::Error::other(cause)
    }
}

impl From<io::Error> for Error {
    fn from(cause: io::Error) -> Error {
        Error::from_cause(cause)
    }
}

/// Makes the errors of a room, which know no place, convert to [`Error`].
macro_rules! error_from {
    ($($cause:ty),+ $(,)?) => {$(
        impl From<$cause> for $crate::Error {
            fn from(cause: $cause) -> $crate::Error {
                $crate::Error::from_cause(cause)
            }
        }
    )+};
}
pub(crate) use error_from;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_says_each_part_once() {
        let cause = || io::Error::other("store.epdb: damaged");
        let error = Error::from_cause(cause()).in_source("store.epdb");
        assert_eq!(error.to_string(), "store.epdb: damaged");
        let error = Error::from_cause(cause()).in_source("store");
        assert_eq!(error.to_string(), "store: store.epdb: damaged");
        let error = Error::new("cannot read on").because(cause()).in_source("a");
        assert_eq!(error.to_string(), "a: cannot read on: store.epdb: damaged");
        assert_eq!(error.io_kind(), Some(io::ErrorKind::Other));
    }

    #[test]
    fn an_exact_place_stays() {
        let line = Place::new("a", At::Column { line: 3, column: 7 });
        let error = Error::new("wrong").at(line.clone()).in_source("a");
        assert_eq!(error.place(), Some(&line));
        assert_eq!(line.number(), 3);
        assert_eq!(error.to_string(), "a:3:7: wrong");
    }
}

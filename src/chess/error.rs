//! The error of functions that work with files and collections, and the places in sources that
//! errors name.
//!
//! Modules have their own error types for values, bytes and files. All these types convert to
//! [`Error`], which adds the operation that failed and its place.

use std::any::Any;
use std::cell::Cell;
use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

/// Result of functions that work with files.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Message of a panic, if it is text.
///
/// ```
/// let panic = std::panic::catch_unwind(|| panic!("at move {}", 1)).unwrap_err();
/// assert_eq!(epdb_chess::error::panic_text(&*panic), "at move 1");
/// ```
pub fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("no reason given")
}

/// Runs the work of a thread and converts a panic to an error. After a panic, do not use values
/// that the work was changing.
///
/// # Errors
/// The error of `work`, or its panic as an error.
pub fn caught<T, E: From<Error>>(work: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = panic_text(&*panic);
        Err(Error::new(format!("internal error: a thread panicked: {text}")).into())
    })
}

thread_local! {
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Keeps the panic hook from printing a panic that is about to be caught. The previous hook still
/// sees every other panic.
pub fn quietly<T>(work: impl FnOnce() -> T) -> T {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let earlier = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !QUIET.get() {
                earlier(info);
            }
        }));
    });
    let before = QUIET.replace(true);
    let result = work();
    QUIET.set(before);
    result
}

/// Locks a value, also if a thread panicked while it had the lock.
pub fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A place in a source.
///
/// ```
/// use epdb_chess::error::{At, Place};
/// assert_eq!(Place::new("suite.epd", At::Line(12)).to_string(), "suite.epd:12");
/// assert_eq!(Place::new("book.epb", At::Record(3)).to_string(), "book.epb: record 3");
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Place {
    /// The name of the source as the user gave it; `-` for standard input.
    pub source: Arc<str>,
    /// Position in the source.
    pub at: At,
    /// Values of the row of a table that are not in its record.
    pub row: Option<Arc<TableRow>>,
}

/// Values of a row of a Parquet table of records that are about the game of the position. They are
/// not operations, so the record of the row does not have them. Each value may be missing.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct TableRow {
    /// The result of the game: `1-0`, `1/2-1/2` or `0-1`.
    pub result: Option<&'static str>,
    /// Plies before the position.
    pub ply: Option<i64>,
    /// The number of the game, from 0.
    pub game: Option<u64>,
    /// Milliseconds that the mover has left after its move.
    pub clock_ms: Option<i64>,
    /// Milliseconds that the mover used for its move.
    pub elapsed_ms: Option<i64>,
}

/// A position in a source.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum At {
    /// The source as a whole.
    Whole,
    /// A line of text, from 1.
    Line(u64),
    /// A column of a line of text.
    Column {
        /// Number of the line, from 1.
        line: u64,
        /// Number of the byte in the line, from 1.
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
    /// Returns the line and column of a byte of a text.
    ///
    /// ```
    /// use epdb_chess::error::At;
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
    /// Makes a place.
    pub fn new(source: impl Into<Arc<str>>, at: At) -> Place {
        Place { source: source.into(), at, row: None }
    }

    /// Number of the line, record or game; 0 for a byte or the whole source.
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
        let Place { source, at, .. } = self;
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

/// The kind of an [`Error`], for programs that act on it.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The operating system failed to read or write, for this reason.
    Io(io::ErrorKind),
    /// A file, a record or another thing that was named does not exist.
    NotFound,
    /// A file that was to be created exists.
    AlreadyExists,
    /// Text or bytes are not valid, or a file is damaged. [`Error::place`] is the place.
    InvalidData,
    /// The file was written by a later version of epdb.
    Unsupported,
    /// Another process, or another part of this process, uses the file; try again later.
    InUse,
    /// A limit of a format or of memory was exceeded.
    LimitExceeded,
    /// Another reason, which the text of the error says.
    Other,
}

impl ErrorKind {
    fn from_io(error: &io::Error) -> ErrorKind {
        if let Some(error) = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>()) {
            return error.kind();
        }
        ErrorKind::from(error.kind())
    }
}

impl From<io::ErrorKind> for ErrorKind {
    fn from(kind: io::ErrorKind) -> ErrorKind {
        match kind {
            io::ErrorKind::NotFound => ErrorKind::NotFound,
            io::ErrorKind::AlreadyExists => ErrorKind::AlreadyExists,
            io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => ErrorKind::InvalidData,
            kind => ErrorKind::Io(kind),
        }
    }
}

/// Error of an operation on files or collections.
///
/// [`Error::kind`] and [`Error::place`] are for programs. The text is one line: the place, the
/// operation that failed, and the cause. [`source`](StdError::source) returns the cause: the error
/// of the module that failed.
///
/// ```
/// use epdb_chess::error::ErrorKind;
/// let error = epdb_chess::Error::new("cannot read on")
///     .because(std::io::Error::other("the disk is gone"))
///     .in_source("suite.epd");
/// assert_eq!(error.to_string(), "suite.epd: cannot read on: the disk is gone");
/// assert_eq!(error.kind(), ErrorKind::Io(std::io::ErrorKind::Other));
/// let error = epdb_chess::Error::from(std::io::Error::from(std::io::ErrorKind::NotFound));
/// assert_eq!(error.kind(), ErrorKind::NotFound);
/// ```
pub struct Error(Box<Parts>);

struct Parts {
    /// The kind of the error; `None` if the cause determines it.
    kind: Option<ErrorKind>,
    what: String,
    place: Option<Place>,
    cause: Option<Box<dyn StdError + Send + Sync>>,
}

impl Error {
    /// Makes an error without a cause.
    pub fn new(what: impl Into<String>) -> Error {
        Error(Box::new(Parts { kind: None, what: what.into(), place: None, cause: None }))
    }

    /// Makes an error with the text of its cause.
    pub fn from_cause(cause: impl Into<Box<dyn StdError + Send + Sync>>) -> Error {
        Error::new("").because(cause)
    }

    /// Returns the error with a cause.
    #[must_use]
    pub fn because(mut self, cause: impl Into<Box<dyn StdError + Send + Sync>>) -> Error {
        self.0.cause = Some(cause.into());
        self
    }

    /// Returns the error with a place. A place that names only the source does not replace a more
    /// exact place in the same source.
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

    /// Returns the error with the name of its source, without a position in the source.
    #[must_use]
    pub fn in_source(self, name: impl Into<Arc<str>>) -> Error {
        self.at(Place::new(name, At::Whole))
    }

    /// The place, if it is known.
    pub const fn place(&self) -> Option<&Place> {
        self.0.place.as_ref()
    }

    /// The kind: the kind of the cause, unless the module that failed set another.
    pub fn kind(&self) -> ErrorKind {
        if let Some(kind) = self.0.kind {
            return kind;
        }
        let mut cause = self.source();
        while let Some(error) = cause {
            if let Some(error) = error.downcast_ref::<Error>() {
                return error.kind();
            }
            if let Some(error) = error.downcast_ref::<io::Error>() {
                return ErrorKind::from_io(error);
            }
            cause = error.source();
        }
        ErrorKind::Other
    }

    /// Returns the error with this kind.
    #[must_use]
    pub fn with_kind(mut self, kind: ErrorKind) -> Error {
        self.0.kind = Some(kind);
        self
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.cause.as_deref().map(|cause| cause as &(dyn StdError + 'static))
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Parts { what, place, cause, .. } = &*self.0;
        let mut parts = f.debug_struct("Error");
        parts.field("kind", &self.kind()).field("what", what);
        parts.field("place", place).field("cause", cause).finish()
    }
}

impl fmt::Display for Error {
    /// Writes the place, the operation and the cause. If the text of the cause begins with the same
    /// place, the place is not repeated.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Parts { what, place, cause, .. } = &*self.0;
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

/// Converts errors of a module, which have no place, to [`Error`]. A function of the error gives
/// the kind.
#[doc(hidden)]
#[macro_export]
macro_rules! error_from {
    ($($cause:ty: $kind:expr),+ $(,)?) => {$(
        impl From<$cause> for $crate::Error {
            fn from(cause: $cause) -> $crate::Error {
                let kind: fn(&$cause) -> $crate::error::ErrorKind = $kind;
                let kind = kind(&cause);
                $crate::Error::from_cause(cause).with_kind(kind)
            }
        }
    )+};
}
pub use crate::error_from;

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
        assert_eq!(error.kind(), ErrorKind::Io(io::ErrorKind::Other));
    }

    #[test]
    fn an_error_inside_of_an_io_error_keeps_its_kind() {
        let inner = Error::new("later").with_kind(ErrorKind::Unsupported);
        let error = Error::new("cannot read").because(io::Error::from(inner)).in_source("a");
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(
            format!("{error:?}").starts_with("Error { kind: Unsupported, what: \"cannot read\"")
        );
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

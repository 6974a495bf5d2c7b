//! Errors of the library as exceptions of Python.

use std::error::Error as _;

use epdb_chess::error::{At, Error, ErrorKind};
use epdb_chess::text::Diagnostic;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

/// The start of the name of a temporary file. Random characters and `-` follow, and then the name for messages.
pub(crate) const TEMPORARY: &str = "epdb-python-";
/// Number of random characters.
pub(crate) const RANDOM: usize = 12;

/// A text whose names of temporary files are those for messages.
pub(crate) fn with_given_names(text: &str) -> String {
    let start = std::env::temp_dir().join(TEMPORARY).display().to_string();
    let mut parts = text.split(&start);
    let mut named = parts.next().unwrap_or_default().to_string();
    named.extend(parts.map(|part| part.get(RANDOM + 1..).unwrap_or(part)));
    named
}

/// A class of `epdb_chess._values`.
macro_rules! class {
    ($function:ident, $name:literal) => {
        pub(crate) fn $function(py: Python<'_>) -> PyResult<&Bound<'_, PyType>> {
            static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
            CLASS.import(py, "epdb_chess._values", $name)
        }
    };
}

class!(move_class, "Move");
class!(token_class, "Token");
class!(rejected_class, "Rejected");
class!(explored_class, "Explored");
class!(explored_move_class, "ExploredMove");
class!(entry_class, "Entry");
class!(game_class, "Game");
class!(written_class, "Written");
class!(read_report_class, "ReadReport");
class!(warning_class, "EpdbWarning");
class!(epdb_error_class, "EpdbError");
class!(missing_file_class, "MissingFileError");
class!(file_in_the_way_class, "FileInTheWayError");

/// The Python exception for an error of the Rust crate.
pub(crate) fn raised(py: Python<'_>, error: &Error) -> PyErr {
    let place = error.place();
    let file = place.map(|place| place.source.to_string());
    let (line, column) = match place.map(|place| place.at) {
        Some(At::Line(line) | At::Record(line) | At::Game(line)) => (Some(line), None),
        Some(At::Column { line, column }) => (Some(line), Some(column)),
        _ => (None, None),
    };
    let mut cause = error.source();
    let mut diagnostic = None;
    while let Some(error) = cause {
        diagnostic = diagnostic.or(error.downcast_ref::<Diagnostic>());
        cause = error.source();
    }
    let column = column.or(diagnostic.map(|found| found.column));
    let class = match error.kind() {
        ErrorKind::NotFound => missing_file_class(py),
        ErrorKind::AlreadyExists => file_in_the_way_class(py),
        _ => epdb_error_class(py),
    };
    let code = diagnostic.map(|found| found.code);
    exception(class, &error.to_string(), file, line, column, code)
}

/// The Python exception for an error in a text that is not in a file.
pub(crate) fn refused(py: Python<'_>, found: &Diagnostic) -> PyErr {
    let text = format!("column {found}");
    exception(epdb_error_class(py), &text, None, Some(1), Some(found.column), Some(found.code))
}

/// The Python exception for an existing file that must not be replaced.
pub(crate) fn file_in_the_way(py: Python<'_>, path: &std::path::Path) -> PyErr {
    let file = path.display().to_string();
    let text = format!("{file} exists: force=True replaces it");
    exception(file_in_the_way_class(py), &text, Some(file), None, None, None)
}

/// The Python exception for an error without a file, line or column.
pub(crate) fn invalid(py: Python<'_>, message: &str) -> PyErr {
    exception(epdb_error_class(py), message, None, None, None, None)
}

fn exception(
    class: PyResult<&Bound<'_, PyType>>,
    message: &str,
    file: Option<String>,
    line: Option<u64>,
    column: Option<usize>,
    code: Option<&str>,
) -> PyErr {
    let message = for_python(&with_given_names(message));
    let file = file.as_deref().map(with_given_names);
    let made = class.and_then(|class| class.call1((message, file, line, column, code)));
    made.map_or_else(|error| error, PyErr::from_value)
}

/// Words of messages for the command line, and those for Python.
const WORDS: [(&str, &str); 6] = [
    ("`epdb help where`", "`help(epdb_chess.where)`"),
    ("--score-view white", "label_view=\"white\""),
    ("--score-view mover", "label_view=\"mover\""),
    ("the expression of --where", "the expression `where`"),
    ("give --force", "give force=True"),
    ("give more --memory", "give more memory"),
];

/// A message that names the help and the arguments of Python instead of those of the program.
pub(crate) fn for_python(message: &str) -> String {
    let mut message = message.to_string();
    for (word, replacement) in WORDS {
        message = message.replace(word, replacement);
    }
    message
}

/// Converts the errors of the library in a result.
pub(crate) trait OrRaise<T> {
    /// The value, or the Python exception for the error.
    fn or_raise(self, py: Python<'_>) -> PyResult<T>;
}

impl<T> OrRaise<T> for Result<T, Error> {
    fn or_raise(self, py: Python<'_>) -> PyResult<T> {
        self.map_err(|error| raised(py, &error))
    }
}

impl<T> OrRaise<T> for Result<T, Diagnostic> {
    fn or_raise(self, py: Python<'_>) -> PyResult<T> {
        self.map_err(|found| refused(py, &found))
    }
}

//! What a run says beside its data: notes on standard error, which `--quiet` leaves out.

use std::fmt;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use super::escape::escaped;
use super::locale::Letters;

static QUIET: AtomicBool = AtomicBool::new(false);

/// Leaves out all notes from now on; errors are still printed.
pub(crate) fn be_quiet() {
    QUIET.store(true, Ordering::Relaxed);
}

/// Whether notes are left out.
pub(crate) fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

/// Prints a line that is no error: a summary, a warning, a hint. That nobody can read it is no
/// reason to fail.
pub(crate) fn print_note(text: fmt::Arguments<'_>) {
    if !is_quiet() {
        print_line(&text.to_string());
    }
}

/// Prints a line on standard error, `--quiet` or not. Names of files and parts of data are in it,
/// so what a terminal would obey is shown as escapes.
pub(crate) fn print_line(text: &str) {
    let err = io::stderr();
    let letters = Letters::of(&err);
    writeln!(err.lock(), "{}", escaped(text, letters)).ok();
}

/// [`print_note`] of a format string and what goes into it.
macro_rules! note {
    ($($text:tt)*) => { $crate::cli::message::print_note(format_args!($($text)*)) };
}
pub(crate) use note;

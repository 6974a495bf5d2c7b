//! What the environment says of the characters that terminals have.

use std::env;
use std::io::IsTerminal;

/// Which characters are shown as they are.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Letters {
    /// All.
    All,
    /// Those of ASCII; the others as `?`.
    Ascii,
}

impl Letters {
    /// All, unless the stream is a terminal and the locale `C` or `POSIX`: into files and pipes text goes
    /// as it is.
    pub(crate) fn of(stream: &impl IsTerminal) -> Letters {
        if stream.is_terminal() { Letters::of_terminal() } else { Letters::All }
    }

    /// Those of a terminal. Where nothing names a locale, all.
    pub(crate) fn of_terminal() -> Letters {
        match locale().as_str() {
            "c" | "posix" => Letters::Ascii,
            _ => Letters::All,
        }
    }
}

/// Whether the locale says that texts are UTF-8.
pub(crate) fn is_utf8() -> bool {
    let locale = locale();
    locale.contains("utf-8") || locale.contains("utf8")
}

/// The locale of characters in lower case; empty where nothing names one.
fn locale() -> String {
    let mut values =
        ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().filter_map(|name| env::var(name).ok());
    values.find(|value| !value.is_empty()).unwrap_or_default().to_lowercase()
}

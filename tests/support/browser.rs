//! A browser, where one is installed.

use std::io::Write;
use std::path::PathBuf;

/// The first of these that is installed.
pub(crate) fn browser() -> Option<PathBuf> {
    ["chromium", "chromium-browser", "google-chrome"].into_iter().find_map(installed)
}

/// Where a program is.
pub(crate) fn installed(name: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&folders).map(|folder| folder.join(name)).find(|place| place.is_file())
}

/// Says that a test is skipped, not by a macro of printing, whose output is kept from whoever runs the tests.
pub(crate) fn skipped(what: &str, why: &str) {
    std::io::stderr().write_all(format!("skipped: {what}: {why}\n").as_bytes()).unwrap();
}

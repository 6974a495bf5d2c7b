//! A browser, if one is installed.

use std::path::PathBuf;

/// The first of these that is installed.
pub(crate) fn browser() -> Option<PathBuf> {
    ["chromium", "chromium-browser", "google-chrome"].into_iter().find_map(installed)
}

/// The path of a program.
pub(crate) fn installed(name: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&folders).map(|folder| folder.join(name)).find(|place| place.is_file())
}

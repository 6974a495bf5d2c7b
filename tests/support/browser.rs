//! A browser and what controls it, if they are installed.

use std::path::{Path, PathBuf};

/// The first of these that is installed.
pub(crate) fn browser() -> Option<PathBuf> {
    ["chromium", "chromium-browser", "google-chrome"].into_iter().find_map(installed)
}

/// The path of a program.
pub(crate) fn installed(name: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&folders).map(|folder| folder.join(name)).find(|place| place.is_file())
}

/// The browser, node and the scripts of the tests, or why they cannot run.
pub(crate) fn tools() -> Result<[PathBuf; 3], &'static str> {
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser");
    let browser = browser().ok_or("no chromium is installed")?;
    let node = installed("node").ok_or("no node is installed")?;
    if scripts.join("node_modules/playwright-core").exists() {
        Ok([browser, node, scripts])
    } else {
        Err("`npm ci` was not run in tests/browser")
    }
}

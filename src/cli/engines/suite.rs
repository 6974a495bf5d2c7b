//! The files of a run.

use std::path::{Path, PathBuf};

use crate::cli::args::ReadArgs;
use crate::cli::source;
use epdb::engine;
use epdb::library::run_file::RunSuite;

/// The names of files, as a run documents them.
pub(super) fn shown_files(files: &[PathBuf]) -> String {
    let names = source::or_stdin(files).into_iter().map(|path| path.display().to_string());
    names.collect::<Vec<_>>().join(" ")
}

/// Reads the sources before the run; `None` when one of them can be read only once. Diagnostics are
/// reported by the run itself.
///
/// # Errors
/// A source cannot be opened or is damaged.
pub(super) fn survey(
    files: &[PathBuf],
    read: &ReadArgs,
    are_games: bool,
) -> anyhow::Result<Option<RunSuite>> {
    let is_file = |path: &&Path| path.metadata().is_ok_and(|found| found.is_file());
    let paths = source::or_stdin(files);
    if !paths.iter().all(is_file) {
        return Ok(None);
    }
    let options = read.source_options(are_games);
    Ok(Some(engine::survey(shown_files(files), paths, &options)?))
}

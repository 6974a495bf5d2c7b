//! Tables of the names of openings.

use std::path::PathBuf;

use super::message::note;
use epdb::library::names::Names;

/// Reads files of names, and says which of their columns are left out.
pub(crate) fn read_names(files: &[PathBuf]) -> anyhow::Result<Names> {
    let mut names = Names::new();
    files.iter().try_for_each(|file| names.add_file(file))?;
    for (place, found) in names.warnings() {
        note!("{}:{}:{found}", place.source, place.number());
    }
    Ok(names)
}

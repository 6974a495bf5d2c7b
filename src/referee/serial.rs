//! Serial lines and pseudo terminals.

use std::fs::{File, OpenOptions};
use std::path::Path;

use crate::error::{Error, Result};

/// Opens a line for reading and for writing.
///
/// # Errors
/// It cannot be opened.
pub(super) fn open(path: &Path) -> Result<(File, File)> {
    let file = OpenOptions::new().read(true).write(true).open(path);
    let file = file.map_err(|error| {
        Error::new("cannot open the line").because(error).in_source(path.display().to_string())
    })?;
    Ok((file.try_clone()?, file))
}

//! Opening books of Polyglot as files.

use std::path::Path;

use super::input;
use crate::codec::polyglot::Book;
use crate::error::{Error, Result};

/// Reads an opening book of Polyglot, or standard input for `-`. Its first bytes may be any, so that
/// only a name that ends in `.gz` or `.zst` says that it is compressed.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("book.bin");
/// std::fs::write(&path, [0; 17])?;
/// let error = epdb::source::open_book(&path).expect_err("a byte too many");
/// assert!(error.to_string().contains("book.bin: byte 16: this is no Polyglot book"));
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// It cannot be read, or is no book. The error names it.
pub fn open_book(path: impl AsRef<Path>) -> Result<Book> {
    let path = path.as_ref();
    let bytes = input::open_named(path)?;
    let named = |error| Error::from_cause(error).in_source(path.to_string_lossy());
    Book::read(bytes).map_err(named)
}

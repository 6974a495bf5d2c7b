//! Books as the arguments name them.

use std::path::Path;

use crate::cli::message::note;
use epdb::codec::polyglot::{Book, Disorder};
use epdb::source::open_book;

/// Reads a book, and says where it is not in order.
pub(super) fn open(path: &Path) -> anyhow::Result<Book> {
    let book = open_book(path)?;
    if let Some(Disorder { count, first }) = book.disorder() {
        note!(
            "epdb: {}: {count} entries stand out of order, the first at byte {first}; read by key",
            path.display()
        );
    }
    Ok(book)
}

//! Books that are read into memory.

use std::io::{self, Read};

use super::book_move::BookMove;
use super::{ENTRY_LEN, Entry};
use crate::error::ErrorKind;

/// A whole book, in ascending order of the keys. It takes as much memory as its file has bytes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Book {
    entries: Vec<Entry>,
    disorder: Option<Disorder>,
}

/// The entries of a file that are out of order: their key is smaller than the key of the previous
/// entry. A program that looks up a position in the file may not find them.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Disorder {
    /// Number of the entries that are out of order.
    pub count: u64,
    /// Offset in the file, in bytes, of the first entry that is out of order.
    pub first: u64,
}

/// Error of reading a book.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BookError {
    /// The input failed.
    #[error("cannot read on: {0}")]
    Io(#[from] io::Error),
    /// The bytes are not a book.
    #[error("byte {offset}: this is no Polyglot book: {reason}")]
    NoBook {
        /// The offset of the first byte that is wrong.
        offset: u64,
        /// Kind of the error.
        reason: NoBook,
    },
}

/// Reason why bytes are not a book.
#[derive(Copy, Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NoBook {
    /// The file ends inside an entry.
    #[error("behind {entries} entries of 16 bytes stand {bytes} more")]
    Remainder {
        /// Number of whole entries.
        entries: u64,
        /// Number of bytes after the whole entries.
        bytes: usize,
    },
    /// An entry has a move that no piece can make.
    #[error("entry {entry} has the move {bits:#06x}, which no piece can make")]
    Move {
        /// The number of the entry, from 1.
        entry: u64,
        /// The bits of the move.
        bits: u16,
    },
}

crate::error::error_from!(BookError: |error| match error {
    BookError::Io(error) => error.kind().into(),
    BookError::NoBook { .. } => ErrorKind::InvalidData,
});

/// Number of bytes of one read, a multiple of the length of an entry.
const CHUNK: usize = ENTRY_LEN << 12;

impl Book {
    /// Reads all entries. A file whose entries are out of order is read too; see
    /// [`Book::disorder`]. Entries without a move, or with a weight of 0, are also read.
    ///
    /// # Errors
    /// The input fails, its length is not a multiple of an entry's length, or a move in it is not
    /// valid.
    pub fn read(mut input: impl Read) -> Result<Book, BookError> {
        let mut book = Book::default();
        let mut last_key = 0;
        let mut chunk = Vec::with_capacity(CHUNK);
        loop {
            chunk.clear();
            input.by_ref().take(CHUNK as u64).read_to_end(&mut chunk)?;
            let (entries, rest) = chunk.as_chunks::<ENTRY_LEN>();
            for bytes in entries {
                book.push(Entry::from_bytes(bytes), &mut last_key)?;
            }
            if !rest.is_empty() {
                let entries = book.entries.len() as u64;
                let reason = NoBook::Remainder { entries, bytes: rest.len() };
                return Err(BookError::NoBook { offset: book.bytes(), reason });
            }
            if chunk.len() < CHUNK {
                break;
            }
        }
        if book.disorder.is_some() {
            book.entries.sort_by_key(|entry| entry.key);
        }
        Ok(book)
    }

    fn push(&mut self, entry: Entry, last_key: &mut u64) -> Result<(), BookError> {
        let offset = self.bytes();
        if entry.mv != BookMove::NONE && entry.mv.coordinates().is_none() {
            let reason =
                NoBook::Move { entry: self.entries.len() as u64 + 1, bits: entry.mv.bits() };
            // The move follows the key.
            let offset = offset + size_of_val(&entry.key) as u64;
            return Err(BookError::NoBook { offset, reason });
        }
        if entry.key < *last_key {
            let Disorder { count, first } =
                self.disorder.unwrap_or(Disorder { count: 0, first: offset });
            self.disorder = Some(Disorder { count: count + 1, first });
        }
        *last_key = entry.key;
        self.entries.push(entry);
        Ok(())
    }

    /// Size in bytes of the entries that were read.
    fn bytes(&self) -> u64 {
        (self.entries.len() * ENTRY_LEN) as u64
    }

    /// All entries, sorted by key. Entries of the same key are in the order of the file.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The entries of a key, in the order of the file. In a book that Polyglot wrote, the largest
    /// weight comes first.
    pub fn entries_of(&self, key: u64) -> &[Entry] {
        let start = self.entries.partition_point(|entry| entry.key < key);
        let len = self.entries[start..].partition_point(|entry| entry.key == key);
        &self.entries[start..start + len]
    }

    /// The entries, grouped by position.
    pub fn positions(&self) -> impl Iterator<Item = &[Entry]> {
        self.entries.chunk_by(|entry, next| entry.key == next.key)
    }

    /// The entries that are out of order in the file; `None` if all are in order.
    pub const fn disorder(&self) -> Option<Disorder> {
        self.disorder
    }
}

impl FromIterator<Entry> for Book {
    /// Makes a book from entries in any order. Entries of the same key keep their order.
    fn from_iter<I: IntoIterator<Item = Entry>>(entries: I) -> Book {
        let mut entries: Vec<Entry> = entries.into_iter().collect();
        entries.sort_by_key(|entry| entry.key);
        Book { entries, disorder: None }
    }
}

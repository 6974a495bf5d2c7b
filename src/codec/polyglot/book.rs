//! Books read.

use std::io::{self, Read};

use super::book_move::BookMove;
use super::{ENTRY_LEN, Entry};
use crate::error::ErrorKind;

/// A whole book, in ascending order of the keys. It takes as much memory as the file has bytes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Book {
    entries: Vec<Entry>,
    disorder: Option<Disorder>,
}

/// Entries of a file whose key is smaller than that of the entry before: whoever looks a position up
/// in the file may not find them.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Disorder {
    /// Number of bytes.
    pub count: u64,
    /// The byte at which the first of them begins.
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
        /// The place of the first byte that cannot be right.
        offset: u64,
        /// Kind of the error.
        reason: NoBook,
    },
}

/// Reason why bytes are not a book.
#[derive(Copy, Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NoBook {
    /// The end of the file is no end of an entry.
    #[error("behind {entries} entries of 16 bytes stand {bytes} more")]
    Remainder {
        /// Whole entries.
        entries: u64,
        /// Bytes behind them.
        bytes: usize,
    },
    /// The move of an entry is one that no piece can make.
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

/// Number of bytes of one read: whole entries.
const CHUNK: usize = ENTRY_LEN << 12;

impl Book {
    /// Reads all entries. A file of which some stand out of order is read all the same, and
    /// [`Book::disorder`] says so; so are entries without a move or with a weight of 0.
    ///
    /// # Errors
    /// The input fails, its length is not a multiple of an entry, or a move in it is not valid.
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
            let (entry, bits) = (self.entries.len() as u64 + 1, entry.mv.bits());
            let reason = NoBook::Move { entry, bits };
            return Err(BookError::NoBook { offset: offset + 8, reason });
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

    /// Number of bytes of the entries.
    fn bytes(&self) -> u64 {
        (self.entries.len() * ENTRY_LEN) as u64
    }

    /// All entries by key; those of one key in the order of the file.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The entries of a key in the order of the file: the largest weight first, where a book is as
    /// Polyglot writes it.
    pub fn entries_of(&self, key: u64) -> &[Entry] {
        let start = self.entries.partition_point(|entry| entry.key < key);
        let len = self.entries[start..].partition_point(|entry| entry.key == key);
        &self.entries[start..start + len]
    }

    /// The entries position by position.
    pub fn positions(&self) -> impl Iterator<Item = &[Entry]> {
        self.entries.chunk_by(|entry, next| entry.key == next.key)
    }

    /// Number of entries out of order in the file.
    pub const fn disorder(&self) -> Option<Disorder> {
        self.disorder
    }
}

impl FromIterator<Entry> for Book {
    /// A book of entries that come in any order; those of one key stay in theirs.
    fn from_iter<I: IntoIterator<Item = Entry>>(entries: I) -> Book {
        let mut entries: Vec<Entry> = entries.into_iter().collect();
        entries.sort_by_key(|entry| entry.key);
        Book { entries, disorder: None }
    }
}

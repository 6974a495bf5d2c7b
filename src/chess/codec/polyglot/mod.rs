//! Opening books of Polyglot (`.bin`): moves with weights by position key. `formats/notes/polyglot.md`
//! says how epdb reads and writes them.
//!
//! A book has keys but no positions, so the position of a key must come from elsewhere. Keys are
//! those of [`polyglot_key`](super::key::polyglot_key).
//!
//! ```
//! use epdb_chess::codec::key::polyglot_key;
//! use epdb_chess::codec::polyglot::{Book, BookMove, Entry, Writer};
//! use epdb_chess::model::{Position, rules::Playable};
//!
//! let key = polyglot_key(&Position::START);
//! let entry = |mv: &str, weight| {
//!     let mv: epdb_chess::model::rules::Move = mv.parse().expect("coordinates");
//!     Entry { key, mv: BookMove::from(mv), weight, learn: 0 }
//! };
//! let mut writer = Writer::new(Vec::new());
//! writer.write_position(&mut [entry("d2d4", 1), entry("e2e4", 2)])?;
//! let bytes = writer.finish()?;
//!
//! let book = Book::read(&bytes[..])?;
//! let start = Playable::new(&Position::START).expect("playable");
//! let best = book.entries_of(key)[0].mv.legal_in(&start).expect("a legal move");
//! assert_eq!(best.to_string(), "e2e4");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod book;
mod book_move;

use std::cmp::{Ordering, Reverse};
use std::io::{self, Write};

pub use book::{Book, BookError, Disorder, NoBook};
pub use book_move::BookMove;
use byteorder::{BigEndian, ByteOrder};

/// Size in bytes of an entry.
pub const ENTRY_LEN: usize = 16;

/// A move of a position, with its weight.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct Entry {
    /// The [key](crate::codec::key::polyglot_key) of the position.
    pub key: u64,
    /// The move.
    pub mv: BookMove,
    /// Weight of the move among the moves of the position; 0 means never.
    pub weight: u16,
    /// Learning data of an engine, in its own form; usually 0.
    pub learn: u32,
}

impl Entry {
    /// Reads an entry from its bytes. Any bytes are accepted.
    pub fn from_bytes(bytes: &[u8; ENTRY_LEN]) -> Entry {
        Entry {
            key: BigEndian::read_u64(&bytes[..8]),
            mv: BookMove::from_bits(BigEndian::read_u16(&bytes[8..10])),
            weight: BigEndian::read_u16(&bytes[10..12]),
            learn: BigEndian::read_u32(&bytes[12..]),
        }
    }

    /// Writes the entry as bytes.
    pub fn to_bytes(&self) -> [u8; ENTRY_LEN] {
        let mut bytes = [0; ENTRY_LEN];
        BigEndian::write_u64(&mut bytes[..8], self.key);
        BigEndian::write_u16(&mut bytes[8..10], self.mv.bits());
        BigEndian::write_u16(&mut bytes[10..12], self.weight);
        BigEndian::write_u32(&mut bytes[12..], self.learn);
        bytes
    }

    /// Compares entries in the order of Polyglot's books: by key, then the largest weight first.
    /// Polyglot does not define the order of equal weights; here, the move with the smaller bits
    /// comes first.
    pub fn book_order(&self, other: &Entry) -> Ordering {
        let rank = |entry: &Entry| (entry.key, Reverse(entry.weight), entry.mv, entry.learn);
        rank(self).cmp(&rank(other))
    }
}

/// Writes a book, entry by entry, in ascending order of the keys.
#[derive(Debug)]
pub struct Writer<W> {
    output: W,
    last_key: u64,
    entries: u64,
}

impl<W: Write> Writer<W> {
    /// Begins a book without entries. Each entry is written by its own call, so `output` should be
    /// buffered.
    pub const fn new(output: W) -> Writer<W> {
        Writer { output, last_key: 0, entries: 0 }
    }

    /// Writes an entry after the earlier ones.
    ///
    /// # Errors
    /// The output fails, or the key is smaller than the last key.
    pub fn write(&mut self, entry: &Entry) -> io::Result<()> {
        if entry.key < self.last_key {
            let text = format!("the key {:016x} follows {:016x}", entry.key, self.last_key);
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        self.output.write_all(&entry.to_bytes())?;
        self.last_key = entry.key;
        self.entries += 1;
        Ok(())
    }

    /// Sorts the entries of one position into [the order of books](Entry::book_order), and writes
    /// them.
    ///
    /// # Errors
    /// The errors of [`Writer::write`].
    pub fn write_position(&mut self, entries: &mut [Entry]) -> io::Result<()> {
        entries.sort_by(Entry::book_order);
        entries.iter().try_for_each(|entry| self.write(entry))
    }

    /// Number of entries that were written.
    pub const fn entries(&self) -> u64 {
        self.entries
    }

    /// Flushes the output and returns it.
    ///
    /// # Errors
    /// Errors of the output.
    pub fn finish(mut self) -> io::Result<W> {
        self.output.flush()?;
        Ok(self.output)
    }
}

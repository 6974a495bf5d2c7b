//! Opening books of Polyglot (`.bin`): moves with weights by position key. What is read and written
//! of them is said in `formats/polyglot.md`.
//!
//! A book holds keys, not positions: whose key it is must come from elsewhere. Keys are those of
//! [`polyglot_key`](super::key::polyglot_key).
//!
//! ```
//! use epdb::codec::key::polyglot_key;
//! use epdb::codec::polyglot::{Book, BookMove, Entry, Writer};
//! use epdb::model::{Position, rules::Playable};
//!
//! let key = polyglot_key(&Position::START);
//! let entry = |mv: &str, weight| {
//!     let mv: epdb::model::rules::Move = mv.parse().expect("coordinates");
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
mod entry;
mod writer;

pub use book::{Book, BookError, Disorder, NoBook};
pub use book_move::BookMove;
pub use entry::{ENTRY_LEN, Entry};
pub use writer::Writer;

//! Books written.

use std::io::{self, Write};

use super::entry::Entry;

/// Writes a book, entry by entry, in ascending order of the keys.
#[derive(Debug)]
pub struct Writer<W> {
    output: W,
    last_key: u64,
    entries: u64,
}

impl<W: Write> Writer<W> {
    /// A book of no entries yet. Each is written by a call of its own: give an output that buffers.
    pub const fn new(output: W) -> Writer<W> {
        Writer { output, last_key: 0, entries: 0 }
    }

    /// Writes an entry behind those before it.
    ///
    /// # Errors
    /// What the output says; or the key is smaller than that of the entry before.
    pub fn write(&mut self, entry: &Entry) -> io::Result<()> {
        if entry.key < self.last_key {
            let text = format!("the key {:016x} stands behind {:016x}", entry.key, self.last_key);
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        self.output.write_all(&entry.to_bytes())?;
        self.last_key = entry.key;
        self.entries += 1;
        Ok(())
    }

    /// Writes the entries of one position in [their order](Entry::book_order), into which they are
    /// brought.
    ///
    /// # Errors
    /// As [`Writer::write`].
    pub fn write_position(&mut self, entries: &mut [Entry]) -> io::Result<()> {
        entries.sort_by(Entry::book_order);
        entries.iter().try_for_each(|entry| self.write(entry))
    }

    /// How many entries were written.
    pub const fn entries(&self) -> u64 {
        self.entries
    }

    /// The output, to which everything has been handed.
    ///
    /// # Errors
    /// What the output says.
    pub fn finish(mut self) -> io::Result<W> {
        self.output.flush()?;
        Ok(self.output)
    }
}

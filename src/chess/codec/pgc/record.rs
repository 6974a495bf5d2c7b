//! The records of a PGC stream.

use std::fmt;
use std::io::{self, Read};

use super::error::{PgcError, PgcErrorKind};
use super::marker;
use crate::codec::error::DecodeError;
use crate::codec::item::Cursor;
use crate::text::lines::read_more;

/// One record: its marker and items.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Record<'a> {
    /// 0x00: no meaning.
    Noop,
    /// 0x01: a whole game in reduced export format.
    ReducedGame {
        /// The values of the seven tag roster, in Latin-1.
        roster: [&'a [u8]; 7],
        /// The ordinals of the moves.
        moves: &'a [u8],
    },
    /// 0x02: a tag pair, in Latin-1.
    Tag {
        /// The name.
        name: &'a [u8],
        /// The value, without escapes.
        value: &'a [u8],
    },
    /// 0x03 and 0x04: ordinals of moves of the current line.
    Moves(&'a [u8]),
    /// 0x05: a general game begins.
    GameBegin,
    /// 0x06: a general game ends.
    GameEnd,
    /// 0x07: a NAG on the last move.
    Nag(u8),
    /// 0x08: a variation begins, in place of the last move.
    VariationBegin,
    /// 0x09: a variation ends.
    VariationEnd,
    /// 0x0a: the text after a `%` in column 1, in Latin-1.
    Escape(&'a [u8]),
}

/// Maximum length of a record: a reduced game with the longest strings and all moves.
const MAX_LEN: usize = 1 + 7 * 256 + 2 + 65_535;

/// Splits a stream into records, in bounded memory.
///
/// ```
/// use epdb_chess::codec::pgc::{Record, Records};
/// let mut records = Records::new(&b"\x05\x03\x02\x0d\x0c\x06"[..]);
/// let mut seen = Vec::new();
/// while let Some(record) = records.next_record()? {
///     seen.push((record.offset, record.bytes.len()));
/// }
/// assert_eq!(seen, [(0, 1), (1, 4), (5, 1)]);
/// # Ok::<(), epdb_chess::codec::pgc::RecordError>(())
/// ```
pub struct Records<R> {
    input: R,
    buffer: Vec<u8>,
    start: usize,
    filled: usize,
    at_end: bool,
    /// Number of bytes of the stream before `start`.
    offset: u64,
    /// Length of the record that was returned last.
    given: usize,
}

impl<R> fmt::Debug for Records<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Records").field("offset", &self.offset).finish_non_exhaustive()
    }
}

/// A record and its place.
#[derive(Clone, Debug)]
pub struct Located<'a> {
    /// The offset of the marker in the stream.
    pub offset: u64,
    /// The bytes of the record.
    pub bytes: &'a [u8],
    /// The content of the record.
    pub record: Record<'a>,
}

/// The reason why the next record cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// Errors of the input.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The bytes are not a record. The rest of the stream cannot be read.
    #[error(transparent)]
    Pgc(#[from] PgcError),
}

impl<R: Read> Records<R> {
    /// Reads records from a stream.
    pub fn new(input: R) -> Records<R> {
        Records {
            input,
            buffer: Vec::new(),
            start: 0,
            filled: 0,
            at_end: false,
            offset: 0,
            given: 0,
        }
    }

    /// The offset of the next record.
    pub const fn offset(&self) -> u64 {
        self.offset + self.given as u64
    }

    /// Reads the next record; `None` at the end of the stream.
    ///
    /// # Errors
    /// [`RecordError`]. After bytes that are not a record, each further call returns the same
    /// error.
    pub fn next_record(&mut self) -> Result<Option<Located<'_>>, RecordError> {
        self.offset = self.offset();
        self.start += std::mem::take(&mut self.given);
        while self.filled - self.start < MAX_LEN && !self.at_end {
            self.fill()?;
        }
        let offset = self.offset;
        let rest = &self.buffer[self.start..self.filled];
        if rest.is_empty() {
            return Ok(None);
        }
        let mut cursor = Cursor::new(rest);
        let record = parse(&mut cursor).map_err(|kind| PgcError { offset, kind })?;
        self.given = cursor.offset();
        Ok(Some(Located { offset, bytes: &rest[..self.given], record }))
    }

    /// Sets the offset of the first record, for a stream that is a part of another.
    pub(super) const fn set_offset(&mut self, offset: u64) {
        self.offset = offset;
    }

    /// Makes the next call return the last record again.
    pub(super) const fn put_back(&mut self) {
        self.given = 0;
    }

    fn fill(&mut self) -> io::Result<()> {
        self.buffer.copy_within(self.start..self.filled, 0);
        self.filled -= self.start;
        self.start = 0;
        let count = read_more(&mut self.input, &mut self.buffer, self.filled)?;
        self.filled += count;
        self.at_end |= count == 0;
        Ok(())
    }
}

/// Reads one record.
pub(super) fn parse<'a>(cursor: &mut Cursor<'a>) -> Result<Record<'a>, PgcErrorKind> {
    let truncated = |_: DecodeError| PgcErrorKind::Truncated;
    Ok(match cursor.int_1().map_err(truncated)? {
        marker::NOOP => Record::Noop,
        marker::REDUCED_GAME => {
            let mut roster = [&[][..]; 7];
            for value in &mut roster {
                *value = cursor.string_1().map_err(truncated)?;
            }
            Record::ReducedGame { roster, moves: cursor.mvseq_2().map_err(truncated)? }
        }
        marker::TAG => Record::Tag {
            name: cursor.string_1().map_err(truncated)?,
            value: cursor.string_1().map_err(truncated)?,
        },
        marker::SHORT_MOVES => Record::Moves(cursor.mvseq_1().map_err(truncated)?),
        marker::LONG_MOVES => Record::Moves(cursor.mvseq_2().map_err(truncated)?),
        marker::GAME_BEGIN => Record::GameBegin,
        marker::GAME_END => Record::GameEnd,
        marker::NAG => Record::Nag(cursor.int_1().map_err(truncated)?),
        marker::VARIATION_BEGIN => Record::VariationBegin,
        marker::VARIATION_END => Record::VariationEnd,
        marker::ESCAPE => Record::Escape(cursor.string_2().map_err(truncated)?),
        other => return Err(PgcErrorKind::Marker(other)),
    })
}

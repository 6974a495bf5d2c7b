//! PGC, the binary form of games. The format is `formats/pgc.md`.
//!
//! A file is a sequence of records. A game is a single record in the reduced form, or all records
//! from a begin record to an end record.

mod error;
mod explain;
mod read;
mod record;
mod write;

pub use error::{PgcEncodeError, PgcError, PgcErrorKind};
pub use explain::Explainer;
pub use read::{PgcRead, PgcReader, WholeGames};
pub use record::{Located, Record, RecordError, Records};
pub use write::{PgcEncodeOptions, encode};

/// The first byte of each kind of record.
mod marker {
    pub(super) const NOOP: u8 = 0x00;
    pub(super) const REDUCED_GAME: u8 = 0x01;
    pub(super) const TAG: u8 = 0x02;
    pub(super) const SHORT_MOVES: u8 = 0x03;
    pub(super) const LONG_MOVES: u8 = 0x04;
    pub(super) const GAME_BEGIN: u8 = 0x05;
    pub(super) const GAME_END: u8 = 0x06;
    pub(super) const NAG: u8 = 0x07;
    pub(super) const VARIATION_BEGIN: u8 = 0x08;
    pub(super) const VARIATION_END: u8 = 0x09;
    pub(super) const ESCAPE: u8 = 0x0a;
}

/// Prefixes of escape records with a special meaning: they carry data for which PGC has no record.
/// A real escape that begins with `pgcx:` gets another `pgcx:` in front.
mod extension {
    pub(super) const PREFIX: &[u8] = b"pgcx:";
    /// The checksum of the game that follows. It is written twice, so that damage to one byte
    /// cannot remove it without notice.
    pub(super) const CHECKSUM: &[u8] = b"pgcx:k:";
    /// A comment on the last move, in Latin-1.
    pub(super) const COMMENT: &[u8] = b"pgcx:c:";
    /// A comment before the first move of a line, in Latin-1.
    pub(super) const COMMENT_BEFORE: &[u8] = b"pgcx:s:";
    /// A comment in UTF-8.
    pub(super) const COMMENT_UTF8: &[u8] = b"pgcx:u:";
    /// The value, in UTF-8, of the tag in the previous record.
    pub(super) const TAG: &[u8] = b"pgcx:t:";
    /// The first move of the next record is a null move. Its ordinal is the number of legal moves,
    /// so that a reader that does not know this prefix refuses the game.
    pub(super) const NULL_MOVE: &[u8] = b"pgcx:n:";
    /// A real escape (the text of a `%` line), in UTF-8.
    pub(super) const ESCAPE: &[u8] = b"pgcx:e:";
    /// The continuation of the text in the previous record.
    pub(super) const MORE: &[u8] = b"pgcx:+:";

    /// Shortens a value that does not fit into a tag record. The result has at most 255 characters;
    /// `?` replaces each character that Latin-1 lacks.
    pub(super) fn latin1_of(value: &str) -> Vec<u8> {
        value.chars().take(255).map(|c| u8::try_from(c).unwrap_or(b'?')).collect()
    }
}

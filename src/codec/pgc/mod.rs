//! PGC, the binary form of games (SPEC section 13). The format is `formats/pgc.md`.
//!
//! A file is a sequence of records; a game is one record of the reduced form, or all records from
//! a begin to an end.

mod error;
mod explain;
mod read;
mod record;
mod write;

pub use error::{PgcError, PgcErrorKind, PgcWriteError};
pub use explain::Explainer;
pub use read::{PgcRead, PgcReader};
pub use record::{Located, Record, RecordError, Records};
pub use write::{Comments, PgcWriteOptions, encode};

/// The first bytes of every record.
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

/// What escape records begin with that carry comments (PGC-24), and real escapes that begin so.
mod extension {
    pub(super) const PREFIX: &[u8] = b"pgcx:";
    /// A comment on the last move.
    pub(super) const COMMENT: &[u8] = b"pgcx:c:";
    /// A comment before the first move of a line.
    pub(super) const COMMENT_BEFORE: &[u8] = b"pgcx:s:";
    /// More of the comment in the record before.
    pub(super) const MORE: &[u8] = b"pgcx:+:";
}

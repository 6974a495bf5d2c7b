//! Errors of reading and writing PGC.

use crate::error::ErrorKind;
use crate::model::BuildError;
use crate::text::codes;
use crate::text::pgn::{NotLatin1, TagError};

/// Error in PGC bytes, with its place.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("byte {offset}: error[{}]: {kind}", kind.code())]
pub struct PgcError {
    /// The offset in the stream of the refused record, or of the refused byte in it.
    pub offset: u64,
    /// Kind of the error.
    pub kind: PgcErrorKind,
}

/// Kind of a [`PgcError`].
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PgcErrorKind {
    /// The stream ends inside a record.
    #[error("the input ends inside a record")]
    Truncated,
    /// A marker that no version of the format has. The rest of the stream cannot be read, because
    /// records have no length.
    #[error("unknown marker 0x{0:02x}")]
    Marker(u8),
    /// An ordinal for which there is no move.
    #[error("move ordinal {ordinal}, but there are {legal} legal moves")]
    Ordinal {
        /// Ordinal in the bytes.
        ordinal: u8,
        /// Number of legal moves.
        legal: u16,
    },
    /// A null move whose ordinal is not the number of legal moves.
    #[error(
        "a null move with ordinal {ordinal}: it has that of the number of legal moves, {legal}"
    )]
    NullMove {
        /// Ordinal in the bytes.
        ordinal: u8,
        /// Number of legal moves.
        legal: u16,
    },
    /// A game inside a game.
    #[error("a game begins inside a game")]
    Nested,
    /// A record outside of games that must be inside a game.
    #[error("record 0x{0:02x} outside of a game")]
    Outside(u8),
    /// The stream ends inside a game.
    #[error("the input ends inside a game")]
    NoEnd,
    /// A tag after the first move, NAG or variation.
    #[error("a tag after the first move, NAG or variation")]
    TagOrder,
    /// A second tag of the same name.
    #[error("a second tag of this name")]
    TagDuplicate,
    /// Tags that a game cannot have.
    #[error(transparent)]
    Tags(TagError),
    /// A `FEN` tag with a valid position, but in a spelling that the format does not allow.
    #[error("the FEN tag is `{found}`; expected `{expected}`")]
    Fen {
        /// Value of the tag; a long one is cut.
        found: String,
        /// Canonical FEN of the position and its counters.
        expected: String,
    },
    /// The game has more bytes than the limit.
    #[error("the game has more than {0} bytes")]
    TooLong(usize),
    /// The checksum of the game's bytes is not the expected one.
    #[error("the checksum is {expected:08X}, that of the game {found:08X}")]
    Checksum {
        /// Checksum in the stream.
        expected: u32,
        /// Checksum of the bytes.
        found: u32,
    },
    /// An invalid checksum, or one that is not written twice in the same way.
    #[error("a damaged checksum: it must stand twice before its game, eight hexadecimal digits")]
    ChecksumForm,
    /// A game without a checksum after a game that has one.
    #[error("a game without a checksum, where games before it have one: a piece of a damaged game")]
    NoChecksum,
    /// Text carried by escape records that is not UTF-8.
    #[error("a carried text that is not UTF-8")]
    NotUtf8,
    /// A carried tag value that does not agree with the value in the tag record.
    #[error("the carried value of a tag is not the one that the tag record begins")]
    TagMismatch,
    /// A part of a game at a place where it is not allowed.
    #[error(transparent)]
    Build(BuildError),
}

impl PgcErrorKind {
    /// The stable code of the diagnostic.
    pub const fn code(&self) -> &'static str {
        match self {
            PgcErrorKind::Truncated => codes::E_PGC_TRUNC,
            PgcErrorKind::Marker(_) => codes::E_PGC_MARKER,
            PgcErrorKind::Ordinal { .. } | PgcErrorKind::NullMove { .. } => codes::E_PGC_ORDINAL,
            PgcErrorKind::Nested => codes::E_PGC_NEST,
            PgcErrorKind::Outside(_) => codes::E_PGC_OUTSIDE,
            PgcErrorKind::NoEnd => codes::E_PGC_NOEND,
            PgcErrorKind::TagOrder => codes::E_PGC_TAGORDER,
            PgcErrorKind::TagDuplicate => codes::E_PGC_TAGDUP,
            PgcErrorKind::Tags(error) => match error {
                TagError::NoFen | TagError::Contradiction | TagError::Fen(_) => codes::E_PGC_SETUP,
                error => error.code(),
            },
            PgcErrorKind::Fen { .. } => codes::E_PGC_SETUP,
            PgcErrorKind::Checksum { .. }
            | PgcErrorKind::ChecksumForm
            | PgcErrorKind::NoChecksum => codes::E_PGC_CHECKSUM,
            PgcErrorKind::NotUtf8 | PgcErrorKind::TagMismatch => codes::E_PGC_EXT,
            PgcErrorKind::TooLong(_) => codes::E_PGC_SIZE,
            PgcErrorKind::Build(error) => build_code(error),
        }
    }

    /// Whether the reader no longer knows where the next record begins.
    pub const fn ends_the_stream(&self) -> bool {
        matches!(self, PgcErrorKind::Truncated | PgcErrorKind::Marker(_))
    }
}

const fn build_code(error: &BuildError) -> &'static str {
    match error {
        BuildError::NotPlayable => codes::E_PGC_SETUP,
        BuildError::NagPlace => codes::E_PGC_NAGPLACE,
        BuildError::VariationPlace | BuildError::TooDeep => codes::E_PGC_RAVPLACE,
        BuildError::VariationEnd => codes::E_PGC_RAVEND,
        BuildError::VariationEmpty => codes::E_PGC_RAVEMPTY,
        BuildError::VariationOpen => codes::E_PGC_RAVOPEN,
        BuildError::TagName | BuildError::TooManyTags => codes::E_PGN_TAG,
        BuildError::ControlCharacter => codes::E_PGC_CHARSET,
        BuildError::Illegal | BuildError::NullMoveInCheck => codes::E_PGC_ORDINAL,
        BuildError::TooLarge => codes::E_PGC_SIZE,
    }
}

/// Error of a game that cannot be written in PGC.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PgcEncodeError {
    /// The game has a comment, and no option says what to do with comments.
    #[error("PGC has no comments: drop them (lossy) or let escape records carry them (ext)")]
    Comment,
    /// The game has a null move, and no option lets an escape record carry it.
    #[error("PGC has no null moves (ply {ply}): let an escape record carry them (ext)")]
    NullMove {
        /// The number of the null move in its line, from 1.
        ply: u32,
    },
    /// A tag name or value is longer than 255 bytes. The string is the name of the tag.
    #[error("the tag {0} is longer than 255 bytes")]
    StringLength(String),
    /// An escape is longer than 65,535 bytes.
    #[error("an escape is longer than 65,535 bytes")]
    EscapeLength,
    /// Latin-1 lacks a character.
    #[error(transparent)]
    Charset(#[from] NotLatin1),
    /// The ordinal of a move does not fit into one byte.
    #[error("the ordinal of the move at ply {ply} is {ordinal}; the largest is 255")]
    Ordinal255 {
        /// The number of the move in its line, from 1.
        ply: u32,
        /// The ordinal of the move.
        ordinal: u16,
    },
}

impl PgcEncodeError {
    /// The stable code of the diagnostic.
    pub const fn code(&self) -> &'static str {
        match self {
            PgcEncodeError::Comment => codes::E_PGC_COMMENT,
            PgcEncodeError::NullMove { .. } => codes::E_PGC_NULL,
            PgcEncodeError::StringLength(_) | PgcEncodeError::EscapeLength => codes::E_PGC_STRLEN,
            PgcEncodeError::Charset(_) => codes::E_PGC_CHARSET,
            PgcEncodeError::Ordinal255 { .. } => codes::E_PGC_ORDINAL255,
        }
    }
}

crate::error::error_from!(PgcError: |_| ErrorKind::InvalidData, PgcEncodeError: |_| ErrorKind::Other);

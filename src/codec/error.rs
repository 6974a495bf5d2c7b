//! Errors of decoding and encoding records.

use crate::error::ErrorKind;

/// Why bytes were refused, and the place.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("byte {offset}: {kind}")]
#[non_exhaustive]
pub struct DecodeError {
    /// The place of the first byte that cannot be right, counted from 0 at the start of the slice
    /// or stream that was read.
    pub offset: u64,
    /// What is wrong there.
    pub kind: DecodeErrorKind,
}

impl DecodeError {
    /// An error at a place of a slice.
    pub(crate) const fn new(offset: usize, kind: DecodeErrorKind) -> DecodeError {
        DecodeError { offset: offset as u64, kind }
    }

    /// The same error when the slice began at byte `base` of something larger.
    #[must_use]
    pub fn after(self, base: u64) -> DecodeError {
        DecodeError { offset: base.saturating_add(self.offset), ..self }
    }
}

/// What is wrong with bytes that were refused.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeErrorKind {
    /// The bytes end before the item does.
    #[error("the data end inside {0}")]
    Truncated(&'static str),
    /// The bytes say something that no writer means.
    #[error("this is no {0}")]
    Corrupt(&'static str),
    /// The bytes have a meaning, but a writer says it otherwise: one value, one encoding.
    #[error("not the canonical encoding: {0}")]
    NonCanonical(&'static str),
    /// A later version of the format.
    #[error("format version {found}, this reader knows up to {supported}")]
    UnsupportedVersion {
        /// As the bytes say.
        found: u8,
        /// The newest that is read.
        supported: u8,
    },
    /// The bytes say something that this version leaves to later ones.
    #[error("{what} {value:#04x} is reserved: a later version of epdb may have written it")]
    Reserved {
        /// What it would be.
        what: &'static str,
        /// As the bytes say.
        value: u8,
    },
    /// The bytes are not those that were written.
    #[error("checksum {computed:08x}, expected {stored:08x}: the data are damaged")]
    Checksum {
        /// As the bytes say.
        stored: u32,
        /// Of the bytes that are there.
        computed: u32,
    },
    /// A count that no writer reaches.
    #[error("{found} {what}, the limit is {limit}")]
    LimitExceeded {
        /// Of what.
        what: &'static str,
        /// As the bytes say.
        found: u64,
        /// The most that is read.
        limit: u64,
    },
    /// A frame of a stream that does not follow on the one before it.
    #[error("a frame after {found} records stands after {expected}: frames are lost or misplaced")]
    Sequence {
        /// As the frame says.
        found: u64,
        /// As it should say.
        expected: u64,
    },
    /// A move ordinal that is not below the number of legal moves.
    #[error("move ordinal {ordinal}, but there are {legal} legal moves")]
    Ordinal {
        /// As the bytes say.
        ordinal: u16,
        /// How many moves are legal in the position that it counts in.
        legal: u16,
    },
}

/// Why a value has no encoding.
///
/// None of these can come from text that was read: they are values put together by hand against
/// the documentation of their types.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// A move operand that is not legal in the position it belongs to, or does not bear its
    /// canonical SAN.
    #[error("{opcode}: {san} is not the canonical text of a legal move here")]
    Move {
        /// Of the operation.
        opcode: crate::model::Opcode,
        /// The text of the move.
        san: crate::model::San,
    },
    /// An integer below the smallest `i64` or above the largest `u64`.
    #[error("{opcode}: {value} does not fit eight bytes")]
    Integer {
        /// Of the operation.
        opcode: crate::model::Opcode,
        /// The operand.
        value: i128,
    },
    /// A string with a quote or control byte in it, or unquoted text that is empty or has anything
    /// but printing ASCII, a blank, a semicolon or a quote in it: EPD text cannot say it.
    #[error("{opcode}: an operand that EPD text cannot say")]
    Text {
        /// Of the operation.
        opcode: crate::model::Opcode,
    },
    /// Bytes that are said to be a record and are none.
    #[error("these bytes are no record")]
    NoRecord,
    /// A fullmove number of 0.
    #[error("the fullmove number is 0")]
    FullmoveNumber,
    /// A length over the limit of the format.
    #[error("{found} {what}, the limit is {limit}")]
    LimitExceeded {
        /// Of what.
        what: &'static str,
        /// As it is.
        found: u64,
        /// The most that can be written.
        limit: u64,
    },
}

impl DecodeError {
    /// The kind of [`crate::Error`] to which this error converts.
    pub(crate) const fn error_kind(&self) -> ErrorKind {
        match self.kind {
            DecodeErrorKind::UnsupportedVersion { .. } | DecodeErrorKind::Reserved { .. } => {
                ErrorKind::Unsupported
            }
            DecodeErrorKind::LimitExceeded { .. } => ErrorKind::LimitExceeded,
            _ => ErrorKind::InvalidData,
        }
    }
}

crate::error::error_from!(DecodeError: DecodeError::error_kind, EncodeError: |_| ErrorKind::Other);

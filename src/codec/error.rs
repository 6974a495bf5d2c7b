//! Errors of decoding and encoding records.

use crate::error::ErrorKind;

/// Error in bytes, with its place.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("byte {offset}: {kind}")]
#[non_exhaustive]
pub struct DecodeError {
    /// The place of the first byte that cannot be right, counted from 0 at the start of the slice
    /// or stream that was read.
    pub offset: u64,
    /// Kind of the error.
    pub kind: DecodeErrorKind,
}

impl DecodeError {
    /// An error at a place of a slice.
    pub(crate) const fn new(offset: usize, kind: DecodeErrorKind) -> DecodeError {
        DecodeError { offset: offset as u64, kind }
    }

    /// The same error when the slice began at byte `base` of something larger.
    #[must_use]
    pub(crate) fn after(self, base: u64) -> DecodeError {
        DecodeError { offset: base.saturating_add(self.offset), ..self }
    }
}

/// Kind of a [`DecodeError`].
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeErrorKind {
    /// The bytes end before the item does.
    #[error("the data end inside {0}")]
    Truncated(&'static str),
    /// The bytes are not valid.
    #[error("this is no {0}")]
    Corrupt(&'static str),
    /// The bytes are a valid encoding, but not the canonical one.
    #[error("not the canonical encoding: {0}")]
    NonCanonical(&'static str),
    /// A later version of the format.
    #[error("format version {found}, this reader knows up to {supported}")]
    UnsupportedVersion {
        /// Value in the bytes.
        found: u8,
        /// Newest version that this epdb reads.
        supported: u8,
    },
    /// A value that is reserved for later versions.
    #[error("{what} {value:#04x} is reserved: a later version of epdb may have written it")]
    Reserved {
        /// Part of the record.
        what: &'static str,
        /// As the bytes say.
        value: u8,
    },
    /// The bytes are not those that were written.
    #[error("checksum {computed:08x}, expected {stored:08x}: the data are damaged")]
    Checksum {
        /// As the bytes say.
        stored: u32,
        /// Checksum of the bytes.
        computed: u32,
    },
    /// A number above the limit of the format.
    #[error("{found} {what}, the limit is {limit}")]
    LimitExceeded {
        /// The counted item.
        what: &'static str,
        /// As the bytes say.
        found: u64,
        /// Limit for reading.
        limit: u64,
    },
    /// A frame of a stream that does not follow on the one before it.
    #[error("a frame after {found} records stands after {expected}: frames are lost or misplaced")]
    Sequence {
        /// Number in the frame.
        found: u64,
        /// Expected number.
        expected: u64,
    },
    /// A move ordinal that is not below the number of legal moves.
    #[error("move ordinal {ordinal}, but there are {legal} legal moves")]
    Ordinal {
        /// As the bytes say.
        ordinal: u16,
        /// Number of legal moves in the position.
        legal: u16,
    },
}

/// Error of a value without an encoding.
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
        /// Opcode of the operation.
        opcode: crate::model::Opcode,
        /// Text of the move.
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
    /// Bytes that are not a record.
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
        /// Actual number.
        found: u64,
        /// Limit for writing.
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

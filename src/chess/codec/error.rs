//! Errors of decoding and encoding records.

use crate::error::ErrorKind;

/// Error in bytes that were read, with its place.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("byte {offset}: {kind}")]
#[non_exhaustive]
pub struct DecodeError {
    /// The offset of the first byte that is wrong, in bytes from the start of the slice or stream that was
    /// read.
    pub offset: u64,
    /// Kind of the error.
    pub kind: DecodeErrorKind,
}

impl DecodeError {
    /// Makes an error at a place of a slice.
    pub(crate) const fn new(offset: usize, kind: DecodeErrorKind) -> DecodeError {
        DecodeError { offset: offset as u64, kind }
    }

    /// Moves the place of the error, if the slice began at byte `base` of larger data.
    #[must_use]
    pub fn after(self, base: u64) -> DecodeError {
        DecodeError { offset: base.saturating_add(self.offset), ..self }
    }
}

/// Kind of a [`DecodeError`].
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeErrorKind {
    /// The bytes end inside an item.
    #[error("the data end inside {0}")]
    Truncated(&'static str),
    /// The bytes are not valid.
    #[error("this is no {0}")]
    Corrupt(&'static str),
    /// The bytes are a valid encoding, but not the canonical one.
    #[error("not the canonical encoding: {0}")]
    NonCanonical(&'static str),
    /// The bytes have a later version of the format.
    #[error("format version {found}, this reader knows up to {supported}")]
    UnsupportedVersion {
        /// Version in the bytes.
        found: u8,
        /// Newest version that this version of epdb reads.
        supported: u8,
    },
    /// The bytes have a value that is reserved for later versions.
    #[error("{what} {value:#04x} is reserved: a later version of epdb may have written it")]
    Reserved {
        /// Part of the record.
        what: &'static str,
        /// Value in the bytes.
        value: u8,
    },
    /// The bytes differ from those for which the checksum was computed.
    #[error("checksum {computed:08x}, expected {stored:08x}: the data are damaged")]
    Checksum {
        /// Checksum in the bytes.
        stored: u32,
        /// Checksum of the bytes.
        computed: u32,
    },
    /// A number is above the limit of the format.
    #[error("{found} {what}, the limit is {limit}")]
    LimitExceeded {
        /// The counted item.
        what: &'static str,
        /// Number in the bytes.
        found: u64,
        /// Limit for reading.
        limit: u64,
    },
    /// A frame of a stream does not follow the frame before it.
    #[error("a frame after {found} records stands after {expected}: frames are lost or misplaced")]
    Sequence {
        /// Number of records in the stream before this frame, according to the frame.
        found: u64,
        /// Number of records that were read before this frame.
        expected: u64,
    },
    /// A move ordinal is not below the number of legal moves.
    #[error("move ordinal {ordinal}, but there are {legal} legal moves")]
    Ordinal {
        /// Ordinal in the bytes.
        ordinal: u16,
        /// Number of legal moves in the position.
        legal: u16,
    },
}

/// Error about a value that cannot be encoded.
///
/// No value that was read from text causes such an error. Only code that breaks the documentation
/// of a type can make these values.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// A move operand is not legal in its position, or its text is not the canonical SAN of the
    /// move.
    #[error("{opcode}: {san} is not the canonical text of a legal move here")]
    Move {
        /// Opcode of the operation.
        opcode: crate::model::Opcode,
        /// Text of the move.
        san: crate::model::San,
    },
    /// An integer is below the smallest `i64` or above the largest `u64`.
    #[error("{opcode}: {value} does not fit eight bytes")]
    Integer {
        /// Opcode of the operation.
        opcode: crate::model::Opcode,
        /// The operand.
        value: i128,
    },
    /// EPD text cannot express the operand. A string must have no quote and no control byte. An
    /// unquoted operand must be printing ASCII, must not be empty, and must have no blank,
    /// semicolon or quote.
    #[error("{opcode}: an operand that EPD text cannot express")]
    Text {
        /// Opcode of the operation.
        opcode: crate::model::Opcode,
    },
    /// The bytes are not a record.
    #[error("these bytes are no record")]
    NoRecord,
    /// The fullmove number is 0.
    #[error("the fullmove number is 0")]
    FullmoveNumber,
    /// A length is over the limit of the format.
    #[error("{found} {what}, the limit is {limit}")]
    LimitExceeded {
        /// The counted item.
        what: &'static str,
        /// Actual number.
        found: u64,
        /// Limit for writing.
        limit: u64,
    },
}

impl DecodeError {
    /// The kind of [`crate::Error`] to which this error converts.
    pub const fn error_kind(&self) -> ErrorKind {
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

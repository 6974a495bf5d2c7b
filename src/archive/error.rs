//! Errors of an archive.

use std::io;

use epdb_chess::error::ErrorKind;

/// Error of writing or reading an archive.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArchiveError {
    /// Error of the operating system.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The file ends before its footer: the writer did not finish, or the end was lost.
    #[error("truncated: {0}")]
    Truncated(&'static str),
    /// The file was cut off while it was open, or its disk fails.
    #[error("the file was cut off at byte {byte} while it was open, or cannot be read there")]
    CutOff {
        /// The first byte that cannot be read, or the first byte of its page.
        byte: u64,
    },
    /// The file is not an archive.
    #[error("not an epdb archive")]
    NotAnArchive,
    /// A later version of the format.
    #[error("format version {found}, this reader knows up to {supported}")]
    UnsupportedVersion {
        /// Version of the file.
        found: u16,
        /// The newest version that is read.
        supported: u16,
    },
    /// A required part that this reader does not know.
    #[error(
        "the archive needs a part of kind {kind}, which this epdb does not know; use a newer epdb"
    )]
    UnknownSection {
        /// Number of the kind of the part.
        kind: u32,
    },
    /// Flags that this reader does not know.
    #[error("the {part} has unknown flags {flags:#x}; use a newer epdb")]
    UnknownFlags {
        /// Part of the file.
        part: &'static str,
        /// The unknown flags.
        flags: u32,
    },
    /// A coding that this reader does not know.
    #[error("records in coding {coder}, which this epdb does not know; use a newer epdb")]
    UnknownCoder {
        /// Number of the coding.
        coder: u8,
    },
    /// Operands of a kind that this reader does not know.
    #[error("operands of kind {kind}, which this epdb does not know; use a newer epdb")]
    UnknownOperand {
        /// Number of the kind.
        kind: u8,
    },
    /// Texts in a form that this reader does not know.
    #[error("texts in form {form}, which this epdb does not know; use a newer epdb")]
    UnknownText {
        /// Number of the form.
        form: u8,
    },
    /// The bytes are not the bytes that were written, or no writer produces such bytes.
    #[error("damaged: {part}{}", place(*.number))]
    Corrupt {
        /// Part of the file.
        part: &'static str,
        /// Number of the part, from 0: for example of a segment, a block or a record. `None` if no
        /// number is known.
        number: Option<u64>,
    },
    /// A part of the file needs more memory than the reader is allowed to use.
    #[error("{part}{} needs more memory than allowed; raise the memory limit", place(*.number))]
    MemoryExceeded {
        /// Part of the file.
        part: &'static str,
        /// Number of the part, from 0: for example of a segment, a block or a record. `None` if no
        /// number is known.
        number: Option<u64>,
    },
    /// A record number that the archive does not have.
    #[error("no record {number}: the number of records is {records}")]
    NoRecord {
        /// The requested number, from 0.
        number: u64,
        /// Number of records.
        records: u64,
    },
    /// A quantity exceeds a limit of the format.
    #[error("{found} {what}, the limit is {limit}")]
    LimitExceeded {
        /// The quantity.
        what: &'static str,
        /// Value of the quantity.
        found: u64,
        /// The highest value that is written or read.
        limit: u64,
    },
    /// A record that cannot be encoded.
    #[error(transparent)]
    Encode(#[from] epdb_chess::codec::error::EncodeError),
    /// Two kept games with one id.
    #[error(transparent)]
    EqualIds(#[from] epdb_chess::codec::kept_game::EqualIds),
    /// Bytes that are not a record.
    #[error(transparent)]
    Decode(#[from] epdb_chess::codec::error::DecodeError),
    /// An archive of level fast that is read by ranges.
    #[error("an archive of level fast is read from a file: copy it to this machine")]
    NeedsFile,
    /// The archive keeps no verbatim text.
    #[error("the archive was not packed verbatim, so its input cannot be restored")]
    NotVerbatim,
}

/// Reason for refusing a part, from code that does not know where the part is in the file.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Refusal {
    /// No writer produces the bytes of the part.
    Damaged,
    /// The part needs more memory than is allowed.
    Memory,
    /// The part has an operand of a kind that this reader does not know.
    UnknownOperand(u8),
    /// The part has a text of a form that this reader does not know.
    UnknownText(u8),
}

impl Refusal {
    pub(super) const fn at(self, part: &'static str, number: u64) -> ArchiveError {
        let number = Some(number);
        match self {
            Refusal::Damaged => ArchiveError::Corrupt { part, number },
            Refusal::Memory => ArchiveError::MemoryExceeded { part, number },
            Refusal::UnknownOperand(kind) => ArchiveError::UnknownOperand { kind },
            Refusal::UnknownText(form) => ArchiveError::UnknownText { form },
        }
    }
}

fn place(number: Option<u64>) -> String {
    number.map_or_else(String::new, |number| format!(" {number}"))
}

impl ArchiveError {
    pub(super) const fn corrupt(part: &'static str) -> ArchiveError {
        ArchiveError::Corrupt { part, number: None }
    }

    pub(super) const fn corrupt_at(part: &'static str, number: u64) -> ArchiveError {
        ArchiveError::Corrupt { part, number: Some(number) }
    }
}

impl ArchiveError {
    /// True if bytes of the archive are missing or are not the bytes that were written. Then other parts
    /// may be readable.
    pub const fn is_damage(&self) -> bool {
        matches!(
            self,
            ArchiveError::Corrupt { .. } | ArchiveError::Truncated(_) | ArchiveError::Decode(_)
        )
    }

    fn error_kind(&self) -> ErrorKind {
        match self {
            ArchiveError::Io(error) => error.kind().into(),
            ArchiveError::Truncated(_)
            | ArchiveError::CutOff { .. }
            | ArchiveError::NotAnArchive
            | ArchiveError::Corrupt { .. } => ErrorKind::InvalidData,
            ArchiveError::UnsupportedVersion { .. }
            | ArchiveError::UnknownSection { .. }
            | ArchiveError::UnknownFlags { .. }
            | ArchiveError::UnknownCoder { .. }
            | ArchiveError::UnknownOperand { .. }
            | ArchiveError::UnknownText { .. } => ErrorKind::Unsupported,
            ArchiveError::MemoryExceeded { .. } | ArchiveError::LimitExceeded { .. } => {
                ErrorKind::LimitExceeded
            }
            ArchiveError::NoRecord { .. } => ErrorKind::NotFound,
            ArchiveError::Decode(error) => error.error_kind(),
            _ => ErrorKind::Other,
        }
    }
}

epdb_chess::error::error_from!(ArchiveError: ArchiveError::error_kind);

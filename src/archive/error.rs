//! What can go wrong with an archive.

use std::io;

/// Why an archive could not be written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArchiveError {
    /// The system's word on the file.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The file ends before its footer: the writer never finished, or the end is lost.
    #[error("truncated: {0}")]
    Truncated(&'static str),
    /// This is something else than an archive.
    #[error("not an epdb archive")]
    NotAnArchive,
    /// A later version of the format.
    #[error("format version {found}, this reader knows up to {supported}")]
    UnsupportedVersion {
        /// As the file says.
        found: u16,
        /// The newest that is read.
        supported: u16,
    },
    /// A part that cannot be left out and that this reader does not know.
    #[error(
        "a part of kind {kind} is needed, which this version of epdb does not know; read it with a later one"
    )]
    UnknownSection {
        /// Its kind.
        kind: u32,
    },
    /// Flags that this reader does not know.
    #[error(
        "the {part} has flags {flags:#x}, which this version of epdb does not know; read it with a later one"
    )]
    UnknownFlags {
        /// Which part of the file.
        part: &'static str,
        /// The flags that are not known.
        flags: u32,
    },
    /// A coding that this reader does not know.
    #[error(
        "records in coding {coder}, which this version of epdb does not know; read them with a later one"
    )]
    UnknownCoder {
        /// Its number.
        coder: u8,
    },
    /// The bytes are not those that were written, or say something that no writer means.
    #[error("damaged: {part}{}", place(*.number))]
    Corrupt {
        /// Which part of the file.
        part: &'static str,
        /// Which of these parts, from 0: a segment, a block or a record, as the part says.
        number: Option<u64>,
    },
    /// What the file says takes more memory than reading it may.
    #[error("{part}{} takes more memory than is allowed: allow more", place(*.number))]
    MemoryExceeded {
        /// Which part of the file.
        part: &'static str,
        /// Which of these parts, from 0: a segment, a block or a record, as the part says.
        number: Option<u64>,
    },
    /// A record number that the archive does not have.
    #[error("record {number}, but the archive has {records}")]
    NoRecord {
        /// The number asked for, from 0.
        number: u64,
        /// How many records there are.
        records: u64,
    },
    /// More than the format holds.
    #[error("{what} of {found}, the limit is {limit}")]
    LimitExceeded {
        /// Which quantity.
        what: &'static str,
        /// As it is.
        found: u64,
        /// The most that is written or read.
        limit: u64,
    },
    /// A record that text could not say.
    #[error(transparent)]
    Encode(#[from] crate::codec::error::EncodeError),
    /// Bytes that were handed over as a record are none.
    #[error(transparent)]
    Decode(#[from] crate::codec::error::DecodeError),
    /// The archive keeps no verbatim text.
    #[error("the archive was packed without the text of its input")]
    NotVerbatim,
}

/// Why a part cannot be read, for those who do not know where it is in the file.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Refusal {
    /// Its bytes say nothing that a writer means.
    Damaged,
    /// It takes more memory than is allowed.
    Memory,
}

impl Refusal {
    /// The error for a part.
    pub(super) const fn at(self, part: &'static str, number: u64) -> ArchiveError {
        let number = Some(number);
        match self {
            Refusal::Damaged => ArchiveError::Corrupt { part, number },
            Refusal::Memory => ArchiveError::MemoryExceeded { part, number },
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

crate::error::error_from!(ArchiveError);

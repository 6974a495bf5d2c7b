//! Errors of a store, and the conversion of redb's errors and panics.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use epdb_chess::codec::kept_game::EqualIds;
use epdb_chess::error::{ErrorKind, panic_text, quietly};

/// Error of a store. Every message names the file and the remedy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The file exists already; [`Store::create`](super::Store::create) replaces nothing.
    #[error("{path}: exists already; open it or choose another name", path = path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// Another process created the file after this process began it.
    #[error(
        "{path}: the store is in use: another process created it in the meantime, and this one added \
         nothing to it; try again when that process has finished",
        path = path.display()
    )]
    CreatedMeanwhile {
        /// The file.
        path: PathBuf,
    },
    /// There is no such file.
    #[error("{path}: there is no such store", path = path.display())]
    NotFound {
        /// The file.
        path: PathBuf,
    },
    /// The file is not a store.
    #[error("{path}: this is not an epdb store: {what}", path = path.display())]
    NotAStore {
        /// The file.
        path: PathBuf,
        /// Content that was found instead.
        what: String,
    },
    /// The store was written by a later epdb.
    #[error(
        "{path}: the store has format version {found}, and this epdb reads version {supported}; \
         use a newer epdb",
        path = path.display()
    )]
    UnsupportedVersion {
        /// The file.
        path: PathBuf,
        /// The version in the file.
        found: u32,
        /// The newest version that this epdb reads.
        supported: u32,
    },
    /// The store was written by a later epdb of the same format version.
    #[error(
        "{path}: the store uses features that this epdb does not know (flags {flags:#x}); use a \
         newer epdb",
        path = path.display()
    )]
    UnsupportedFeatures {
        /// The file.
        path: PathBuf,
        /// The unknown flags.
        flags: u32,
    },
    /// Another process, or another [`Store`](super::Store) of this process, has the file open for
    /// writing; where processes cannot share a store, or for reading.
    #[error(
        "{path}: another process uses this store (only one may write); try again when it has \
         finished",
        path = path.display()
    )]
    InUse {
        /// The file.
        path: PathBuf,
    },
    /// Another operation of this process excludes the requested one.
    #[error("{path}: {what}", path = path.display())]
    Busy {
        /// The file.
        path: PathBuf,
        /// The operation that has to end first.
        what: &'static str,
    },
    /// The store was opened for reading only.
    #[error("{path}: the store is open for reading only; open it for writing", path = path.display())]
    ReadOnly {
        /// The file.
        path: PathBuf,
    },
    /// The last writer did not close the store; only a process with write access can repair it.
    #[error(
        "{path}: the store was not closed; open it once for writing, which repairs it",
        path = path.display()
    )]
    NotClosed {
        /// The file.
        path: PathBuf,
    },
    /// Two kept games with one id.
    #[error("{path}: {error}", path = path.display())]
    EqualIds {
        /// The store.
        path: PathBuf,
        /// The games.
        error: EqualIds,
    },
    /// The bytes of the file are not the bytes that were written. Damaged data is never returned.
    #[error("{path}: damaged: {place}: {what}; run verify for a complete list", path = path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Place of the damage: the table, and in it the block, the bucket or the key.
        place: String,
        /// Description of the damage.
        what: String,
    },
    /// An import was interrupted, and its source no longer begins with the bytes that the import
    /// had consumed.
    #[error(
        "{path}: the import of {source_name} stopped after line {line}, and the source has \
         changed before that line since; restart the import to read it from its beginning",
        path = path.display()
    )]
    SourceChanged {
        /// The store.
        path: PathBuf,
        /// The name of the source.
        source_name: String,
        /// The last line that the earlier run consumed.
        line: u64,
    },
    /// An import was interrupted, and the attempt to continue it has other settings.
    #[error(
        "{path}: the import of {source_name} stopped after line {line} and had other settings \
         ({found}); continue it with those, or restart it",
        path = path.display()
    )]
    SettingsChanged {
        /// The store.
        path: PathBuf,
        /// The name of the source.
        source_name: String,
        /// The last line that the earlier run consumed.
        line: u64,
        /// The settings of the earlier run that differ.
        found: String,
    },
    /// Records of an interrupted import wait in runs beside the store, and the runs are missing or
    /// damaged.
    #[error(
        "{path}: records of the interrupted import of {source_name} wait in runs, which cannot be \
         read ({what}): import {source_name} again with --restart, which reads it from its beginning",
        path = path.display()
    )]
    RunsLost {
        /// The store.
        path: PathBuf,
        /// The name of the source.
        source_name: String,
        /// Description of the damage.
        what: String,
    },
    /// A record cannot be encoded: see [`epdb_chess::codec::record::encode`].
    #[error("{path}: a record cannot be stored: {error}", path = path.display())]
    Encode {
        /// The store.
        path: PathBuf,
        /// Reason why the record cannot be encoded.
        #[source]
        error: epdb_chess::codec::error::EncodeError,
    },
    /// The operating system failed to read or write.
    #[error("{path}: {error}", path = path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The operating system's reason.
        #[source]
        error: io::Error,
    },
}

impl StoreError {
    fn error_kind(&self) -> ErrorKind {
        match self {
            StoreError::Exists { .. } => ErrorKind::AlreadyExists,
            StoreError::NotFound { .. } => ErrorKind::NotFound,
            StoreError::NotAStore { .. }
            | StoreError::Damaged { .. }
            | StoreError::RunsLost { .. } => ErrorKind::InvalidData,
            StoreError::UnsupportedVersion { .. } | StoreError::UnsupportedFeatures { .. } => {
                ErrorKind::Unsupported
            }
            StoreError::InUse { .. }
            | StoreError::CreatedMeanwhile { .. }
            | StoreError::Busy { .. } => ErrorKind::InUse,
            StoreError::Io { error, .. } => error.kind().into(),
            _ => ErrorKind::Other,
        }
    }

    /// Path of the store.
    pub fn path(&self) -> &Path {
        match self {
            StoreError::Exists { path }
            | StoreError::CreatedMeanwhile { path }
            | StoreError::NotFound { path }
            | StoreError::NotAStore { path, .. }
            | StoreError::UnsupportedVersion { path, .. }
            | StoreError::UnsupportedFeatures { path, .. }
            | StoreError::InUse { path }
            | StoreError::Busy { path, .. }
            | StoreError::ReadOnly { path }
            | StoreError::NotClosed { path }
            | StoreError::Damaged { path, .. }
            | StoreError::SourceChanged { path, .. }
            | StoreError::SettingsChanged { path, .. }
            | StoreError::RunsLost { path, .. }
            | StoreError::EqualIds { path, .. }
            | StoreError::Encode { path, .. }
            | StoreError::Io { path, .. } => path,
        }
    }
}

impl From<StoreError> for epdb_chess::Error {
    fn from(cause: StoreError) -> epdb_chess::Error {
        let name = cause.path().display().to_string();
        let kind = cause.error_kind();
        epdb_chess::Error::from_cause(cause).with_kind(kind).in_source(name)
    }
}

/// Error of a function that does not know the path of the store. [`Fault::into_error`] adds the
/// path.
#[derive(Debug)]
pub(super) enum Fault {
    Redb(redb::Error),
    /// A cursor found keys out of order, which only damage can cause.
    Unordered,
    Damaged {
        place: String,
        what: String,
    },
    /// Unsupported format version.
    Version {
        found: u32,
        supported: u32,
    },
    /// Unknown flags in the meta row (the header of the store).
    Features(u32),
    NoMeta,
    EqualIds(EqualIds),
    /// An error that already has the form for the caller.
    Store(StoreError),
}

pub(super) type Result<T> = std::result::Result<T, Fault>;

pub(super) fn damaged(place: impl Into<String>, what: impl Into<String>) -> Fault {
    Fault::Damaged { place: place.into(), what: what.into() }
}

macro_rules! fault_from {
    ($($error:ty),*) => {$(
        impl From<$error> for Fault {
            fn from(error: $error) -> Fault {
                Fault::Redb(error.into())
            }
        }
    )*};
}
fault_from!(
    io::Error,
    redb::StorageError,
    redb::TableError,
    redb::TransactionError,
    redb::CommitError,
    redb::DatabaseError,
    redb::CompactionError,
    redb::SetDurabilityError
);

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Fault {
        Fault::Store(error)
    }
}

impl From<EqualIds> for Fault {
    fn from(error: EqualIds) -> Fault {
        Fault::EqualIds(error)
    }
}

impl From<redb::CursorError> for Fault {
    fn from(error: redb::CursorError) -> Fault {
        match error {
            redb::CursorError::Storage(error) => error.into(),
            _ => Fault::Unordered,
        }
    }
}

impl Fault {
    /// The error for the caller.
    pub(super) fn into_error(self, path: &Path) -> StoreError {
        let path = path.to_path_buf();
        let file = |what: String| (String::from("the file"), what);
        let (place, what) = match self {
            Fault::Store(error) => return error,
            Fault::Version { found, supported } => {
                return StoreError::UnsupportedVersion { path, found, supported };
            }
            Fault::Features(flags) => return StoreError::UnsupportedFeatures { path, flags },
            Fault::EqualIds(error) => return StoreError::EqualIds { path, error },
            Fault::NoMeta => {
                let what = "it is a redb file with other tables".into();
                return StoreError::NotAStore { path, what };
            }
            Fault::Damaged { place, what } => (place, what),
            Fault::Unordered => file("keys of a table are out of order".into()),
            Fault::Redb(error) => match error {
                redb::Error::Io(error) => match error.kind() {
                    io::ErrorKind::NotFound => return StoreError::NotFound { path },
                    io::ErrorKind::InvalidData => file(error.to_string()),
                    io::ErrorKind::UnexpectedEof => {
                        file("it is shorter than its header announces".into())
                    }
                    _ => return StoreError::Io { path, error },
                },
                redb::Error::DatabaseAlreadyOpen => return StoreError::InUse { path },
                redb::Error::RepairAborted => return StoreError::NotClosed { path },
                redb::Error::TransactionInProgress => {
                    return StoreError::Busy { path, what: "a reader is still open" };
                }
                redb::Error::DatabaseClosed => {
                    return StoreError::Busy { path, what: "the store was closed" };
                }
                redb::Error::PreviousIo => {
                    let error = io::Error::other("an earlier access failed; open the store again");
                    return StoreError::Io { path, error };
                }
                other => file(other.to_string()),
            },
        };
        StoreError::Damaged { path, place, what }
    }
}

/// Runs code that calls redb. redb panics if a file breaks its invariants, so a damaged file can
/// cause a panic. Such a panic is caught here and becomes [`StoreError::Damaged`].
///
/// `AssertUnwindSafe` is right, because no partial change is visible afterwards. redb poisons a
/// write transaction whose operation panicked, and never commits it. Its read transactions do not
/// change. The values that `work` changes are dropped after any error: an importer drops its batch,
/// and a lookup drops its result.
pub(super) fn guarded<T>(
    path: &Path,
    work: impl FnOnce() -> Result<T>,
) -> std::result::Result<T, StoreError> {
    let outcome = quietly(|| catch_unwind(AssertUnwindSafe(work)));
    outcome
        .unwrap_or_else(|panic| {
            let why = panic_text(panic.as_ref());
            Err(damaged("the file", format!("reading it failed an assertion ({why})")))
        })
        .map_err(|fault| fault.into_error(path))
}

//! Files that are watched for changes.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::SystemTime;

use super::open::open;
use super::served::Served;
use crate::error::{Error, Result};
use crate::new_file::file_identity;
use crate::server::settings::SourceSpec;
use crate::source::{DeltaPath, FileFormat, is_address, stamp_at};
use crate::store;

/// A watched file and the source that is served from it.
#[derive(Debug)]
pub(super) struct Watched {
    spec: SourceSpec,
    /// The file, or the files of a base and its delta.
    files: Vec<PathBuf>,
    served: RwLock<Arc<Served>>,
    /// Locked while the file is opened; requests do not wait for this lock.
    stamps: Mutex<Stamps>,
}

/// Stamps of the files; `None` if the first file could not be read.
#[derive(Debug)]
struct Stamps {
    /// The stamp of the file when it was opened.
    opened: Option<FileStamps>,
    /// The stamp of the file at the last attempt to open it.
    tried: Option<FileStamps>,
    /// The stamp of the file at the last check.
    seen: Option<FileStamps>,
}

/// The stamps of the files of a source; `None` for a file that is missing.
type FileStamps = Vec<Option<Stamp>>;

impl Watched {
    pub(super) fn open(spec: &SourceSpec, memory_bytes: usize) -> Result<Watched> {
        // The stamp is read first, so that a file which changes while it is opened is opened again.
        let files = DeltaPath::files(&spec.path);
        let now = stamps_of(&files);
        let served = RwLock::new(Arc::new(open(spec, memory_bytes)?));
        let stamps = Mutex::new(Stamps { opened: now.clone(), tried: now.clone(), seen: now });
        Ok(Watched { spec: spec.clone(), files, served, stamps })
    }

    pub(super) fn served(&self) -> Arc<Served> {
        Arc::clone(&self.served.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn stamps(&self) -> MutexGuard<'_, Stamps> {
        self.stamps.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// True if this source has the specification `spec`, and its file has not changed since it was opened.
    pub(super) fn is_as(&self, spec: &SourceSpec) -> bool {
        self.spec == *spec && self.stamps().opened == stamps_of(&self.files)
    }

    /// Opens the file again if it has changed and nobody writes to it, and returns the new source.
    /// If it cannot be opened, the old source is served until the file changes again.
    pub(super) fn look(&self, memory_bytes: usize) -> Option<Arc<Served>> {
        let Watched { spec, served, .. } = self;
        let mut stamps = self.stamps();
        let now = stamps_of(&self.files);
        let is_settled = now == stamps.seen;
        stamps.seen = now.clone();
        if now.is_none() || now == stamps.tried || !is_settled || self.is_being_written() {
            return None;
        }
        stamps.tried = now.clone();
        match open(spec, memory_bytes) {
            Ok(opened) => {
                let opened = Arc::new(opened);
                stamps.opened = now;
                *served.write().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&opened);
                Some(opened)
            }
            Err(error) => {
                let error = Error::to_string(&error);
                tracing::error!(
                    source = spec.name,
                    error,
                    "cannot be opened again: served as before"
                );
                None
            }
        }
    }

    fn is_being_written(&self) -> bool {
        let is_delta = self.files.len() > 1;
        let is_store = is_delta || self.served().format() == FileFormat::Epdb;
        let is_written = |file| store::is_being_written(file).unwrap_or(false);
        is_store && self.files.last().is_some_and(is_written)
    }
}

fn stamps_of(files: &[PathBuf]) -> Option<FileStamps> {
    let stamps: FileStamps = files.iter().map(|file| Stamp::read(file).ok()).collect();
    stamps.first()?.is_some().then_some(stamps)
}

/// Properties that change when a file is replaced or written.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Stamp {
    File {
        len: u64,
        modified: Option<SystemTime>,
        file: (u64, u64),
    },
    /// The stamp of the object at an address.
    Object(String),
}

impl Stamp {
    fn read(path: &Path) -> Result<Stamp> {
        if is_address(path) {
            return stamp_at(path).map(Stamp::Object);
        }
        let metadata = fs::metadata(path)?;
        let (len, modified) = (metadata.len(), metadata.modified().ok());
        Ok(Stamp::File { len, modified, file: file_identity(&metadata) })
    }
}

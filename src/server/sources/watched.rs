//! Files that are watched for changes.

use std::fs;
use std::mem;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant, SystemTime};

use super::open::{open, renew};
use crate::settings::SourceSpec;
use epdb_base::new_file::file_identity;
use epdb_chess::error::{Error, Result, locked};
use epdb_explorer::Served;
use epdb_source::{DeltaPath, check_interval, is_address, stamp_at};
use epdb_store::{CommitId, last_commit};

/// A source that is served, and its watched files.
#[derive(Debug)]
pub(super) struct Watched {
    spec: SourceSpec,
    /// The file, or the files of a base and its delta.
    files: Vec<WatchedFile>,
    served: RwLock<Arc<Served>>,
    /// Locked while the file is opened; requests do not wait for this lock.
    stamps: Mutex<Stamps>,
    /// True if the last check found the files that are served.
    is_current: AtomicBool,
}

/// A file, or an object at an address.
#[derive(Debug)]
struct WatchedFile {
    path: PathBuf,
    /// The last check of an object; `None` for a file.
    checked: Mutex<Option<ObjectCheck>>,
}

#[derive(Clone, Debug)]
struct ObjectCheck {
    time: Instant,
    stamp: Option<Stamp>,
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
        let file = |path| WatchedFile { path, checked: Mutex::default() };
        let files: Vec<_> = DeltaPath::files_of(&spec.path).into_iter().map(file).collect();
        // The stamp is read first, so that a file which changes while it is opened is opened again.
        let now = stamps_of(&files, CheckObjects::Now);
        let served = RwLock::new(Arc::new(open(spec, memory_bytes)?));
        let stamps = Mutex::new(Stamps { opened: now.clone(), tried: now.clone(), seen: now });
        let is_current = AtomicBool::new(true);
        Ok(Watched { spec: spec.clone(), files, served, stamps, is_current })
    }

    /// True if the last check found the files that are served.
    pub(super) fn is_current(&self) -> bool {
        self.is_current.load(Ordering::Relaxed)
    }

    pub(super) fn served(&self) -> Arc<Served> {
        Arc::clone(&self.served.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn stamps(&self) -> MutexGuard<'_, Stamps> {
        locked(&self.stamps)
    }

    /// True if this source has the specification `spec`, and its file has not changed since it was opened.
    pub(super) fn is_as(&self, spec: &SourceSpec) -> bool {
        if self.spec != *spec {
            return false;
        }
        let now = stamps_of(&self.files, CheckObjects::Now);
        self.stamps().opened == now
    }

    /// Opens the file again if it has changed, and returns the new source. A store is opened again at each
    /// commit, also while a process writes to it, so that the writer can reuse the space of earlier commits.
    /// If the file cannot be opened, the old source is served until the file changes again.
    pub(super) fn look(&self, memory_bytes: usize) -> Option<Arc<Served>> {
        let Watched { spec, served, .. } = self;
        // Another machine may not answer for a long time, and a reload needs the lock.
        let now = stamps_of(&self.files, CheckObjects::InTime);
        let mut stamps = self.stamps();
        self.is_current.store(now == stamps.opened, Ordering::Relaxed);
        let seen = mem::replace(&mut stamps.seen, now.clone());
        if now.is_none() || now == stamps.tried || !is_settled(&now, &seen) {
            return None;
        }
        stamps.tried = now.clone();
        let old = self.served();
        let renewed = if old.lookup().is_current() {
            open(spec, memory_bytes)
        } else {
            // Another file may have the name of the store.
            renew(spec, &old, memory_bytes).or_else(|_| open(spec, memory_bytes))
        };
        match renewed {
            Ok(opened) => {
                let opened = Arc::new(opened);
                stamps.opened = now;
                self.is_current.store(true, Ordering::Relaxed);
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
}

/// When to send a request for the stamp of an object at an address.
#[derive(Copy, Clone, PartialEq, Eq)]
enum CheckObjects {
    /// At once.
    Now,
    /// If the last request is old enough.
    InTime,
}

/// True if two checks agree, except for stores, which can be opened at any time.
fn is_settled(now: &Option<FileStamps>, seen: &Option<FileStamps>) -> bool {
    let (Some(now), Some(seen)) = (now, seen) else { return now == seen };
    let is_store = |stamp: &Option<Stamp>| matches!(stamp, Some(Stamp::Store { .. }));
    now.iter().zip(seen).all(|(now, seen)| now == seen || is_store(now))
}

fn stamps_of(files: &[WatchedFile], check: CheckObjects) -> Option<FileStamps> {
    let stamps: FileStamps = files.iter().map(|file| file.stamp(check)).collect();
    stamps.first()?.is_some().then_some(stamps)
}

impl WatchedFile {
    /// The stamp; `None` if it cannot be read.
    fn stamp(&self, check: CheckObjects) -> Option<Stamp> {
        let WatchedFile { path, checked } = self;
        if !is_address(path) {
            return Stamp::of_file(path).ok();
        }
        let last = locked(checked).clone();
        let interval = check_interval().unwrap_or(Duration::MAX);
        if let Some(last) = &last
            && check == CheckObjects::InTime
            && last.time.elapsed() < interval
        {
            return last.stamp.clone();
        }
        let stamp = match stamp_at(path) {
            Ok(stamp) => Some(Stamp::Object(stamp)),
            Err(error) => {
                if last.is_some_and(|last| last.stamp.is_some()) {
                    tracing::warn!(%error, "cannot be checked for changes: served as before");
                }
                None
            }
        };
        *locked(checked) = Some(ObjectCheck { time: Instant::now(), stamp: stamp.clone() });
        stamp
    }
}

/// Properties that change when a file is replaced or written.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Stamp {
    File {
        len: u64,
        modified: Option<SystemTime>,
        file: (u64, u64),
    },
    /// The file of a store, and its last commit.
    Store {
        file: (u64, u64),
        commit: CommitId,
    },
    /// The stamp of the object at an address.
    Object(String),
}

impl Stamp {
    fn of_file(path: &Path) -> Result<Stamp> {
        let metadata = fs::metadata(path)?;
        let file = file_identity(&metadata);
        Ok(match last_commit(path) {
            Some(commit) => Stamp::Store { file, commit },
            None => Stamp::File { len: metadata.len(), modified: metadata.modified().ok(), file },
        })
    }
}

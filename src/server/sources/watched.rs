//! A file behind a source, looked at time and again.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use super::open::open;
use super::served::Served;
use super::stamp::Stamp;
use crate::error::{Error, Result};
use crate::server::settings::SourceSpec;
use crate::source::FileFormat;
use crate::store;

/// A file behind a source, and what is served of it.
#[derive(Debug)]
pub(super) struct Watched {
    spec: SourceSpec,
    served: RwLock<Arc<Served>>,
    /// Held while it is opened; who serves it does not wait for that.
    stamps: Mutex<Stamps>,
}

/// The file at several times; `None` where it could not be told.
#[derive(Debug)]
struct Stamps {
    /// When it was opened.
    opened: Option<Stamp>,
    /// When it was last tried to open it.
    tried: Option<Stamp>,
    /// When it was looked at last.
    seen: Option<Stamp>,
}

impl Watched {
    pub(super) fn open(spec: &SourceSpec, memory: usize) -> Result<Watched> {
        // What changes while it is opened is opened again.
        let now = Stamp::of(&spec.path).ok();
        let served = RwLock::new(Arc::new(open(spec, memory)?));
        let stamps = Mutex::new(Stamps { opened: now, tried: now, seen: now });
        Ok(Watched { spec: spec.clone(), served, stamps })
    }

    pub(super) fn served(&self) -> Arc<Served> {
        Arc::clone(&self.served.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn stamps(&self) -> MutexGuard<'_, Stamps> {
        self.stamps.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether it is what a specification asks for, as the file is now.
    pub(super) fn is_as(&self, spec: &SourceSpec) -> bool {
        self.spec == *spec && self.stamps().opened == Stamp::of(&spec.path).ok()
    }

    /// Opens the file anew if it changed and nobody writes to it, and gives what is served from then on. Where
    /// it cannot be opened, what is served stays, until the file changes again.
    pub(super) fn look(&self, memory: usize) -> Option<Arc<Served>> {
        let Watched { spec, served, .. } = self;
        let mut stamps = self.stamps();
        let now = Stamp::of(&spec.path).ok();
        let is_settled = now == stamps.seen;
        stamps.seen = now;
        if now.is_none() || now == stamps.tried || !is_settled || self.is_being_written() {
            return None;
        }
        stamps.tried = now;
        match open(spec, memory) {
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
                    "cannot be opened anew: served as before"
                );
                None
            }
        }
    }

    fn is_being_written(&self) -> bool {
        let is_store = self.served().format() == FileFormat::Epdb;
        is_store && store::is_being_written(&self.spec.path).unwrap_or(false)
    }
}

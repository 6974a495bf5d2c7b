//! A file behind a source, looked at time and again.

use std::sync::Arc;

use super::open::open;
use super::served::Served;
use super::stamp::Stamp;
use crate::error::{Error, Result};
use crate::server::settings::SourceSpec;
use crate::source::FileFormat;
use crate::store;

/// A file behind a source, and what is served of it.
#[derive(Clone, Debug)]
pub(super) struct Watched {
    served: Arc<Served>,
    /// The file when it was opened; `None` where it could not be told.
    opened: Option<Stamp>,
    /// The file when it was looked at last.
    seen: Option<Stamp>,
}

impl Watched {
    pub(super) fn open(spec: &SourceSpec, memory: usize) -> Result<Watched> {
        // What changes while it is opened is opened again.
        let stamp = Stamp::of(&spec.path).ok();
        let served = Arc::new(open(spec, memory)?);
        Ok(Watched { served, opened: stamp, seen: stamp })
    }

    pub(super) const fn served(&self) -> &Arc<Served> {
        &self.served
    }

    /// Whether it is what a specification asks for, as the file is now.
    pub(super) fn is_as(&self, spec: &SourceSpec) -> bool {
        self.served.spec() == spec && self.opened == Stamp::of(&spec.path).ok()
    }

    /// Opens the file anew if it changed and nobody writes to it; says whether it did. Where it cannot be opened,
    /// what is served stays, until the file changes again.
    pub(super) fn look(&mut self, memory: usize) -> bool {
        let spec = self.served.spec();
        let now = Stamp::of(&spec.path).ok();
        let is_settled = now == self.seen;
        self.seen = now;
        if now.is_none() || now == self.opened || !is_settled || self.is_being_written() {
            return false;
        }
        self.opened = now;
        match open(spec, memory) {
            Ok(served) => {
                tracing::info!(source = spec.name, records = served.lookup().len(), "opened anew");
                self.served = Arc::new(served);
                true
            }
            Err(error) => {
                let error = Error::to_string(&error);
                tracing::error!(
                    source = spec.name,
                    error,
                    "cannot be opened anew: served as before"
                );
                false
            }
        }
    }

    fn is_being_written(&self) -> bool {
        let is_store = self.served.format() == FileFormat::Epdb;
        is_store && store::is_being_written(&self.served.spec().path).unwrap_or(false)
    }
}

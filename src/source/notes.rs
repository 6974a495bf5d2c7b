//! Warnings that belong to no line or game of a source, such as those of its decompression. The
//! source reports them when it was read.

use std::sync::{Arc, Mutex, PoisonError};

use crate::error::At;
use crate::text::Diagnostic;

/// Maximum number of warnings that are kept; the rest are counted.
const MAX_NOTES: usize = 1000;

/// Warnings about an input, which all of its decoders share.
#[derive(Clone, Default, Debug)]
pub(super) struct Notes(Arc<Mutex<Vec<(At, Diagnostic)>>>);

impl Notes {
    /// Adds a warning. If there are too many, the last one counts the rest.
    pub(super) fn add(&self, at: At, warning: Diagnostic) {
        let mut notes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if notes.len() < MAX_NOTES {
            notes.push((at, warning));
        } else if let Some((_, last)) = notes.last_mut() {
            last.findings = last.findings.saturating_add(1);
        }
    }

    /// Takes the warnings so far.
    pub(super) fn take(&self) -> Vec<(At, Diagnostic)> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

//! Warnings that belong to no line or game of a source, such as those of its decompression. The
//! source reports them when it was read.

use std::sync::{Arc, Mutex, PoisonError};

use epdb_chess::error::At;
use epdb_chess::text::Diagnostic;

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

#[cfg(test)]
mod tests {
    use super::*;
    use epdb_chess::text::codes;

    /// A file of any size has a bounded number of warnings, and none of them is lost from the count.
    #[test]
    fn the_last_warning_counts_the_rest() {
        let notes = Notes::default();
        let decoder = notes.clone();
        for line in 0..MAX_NOTES as u64 + 10 {
            let warning = Diagnostic::warning(codes::W_SOURCE_CHARSET, 1, "a byte");
            decoder.add(At::Line(line + 1), warning);
        }
        let found = notes.take();
        assert_eq!(found.len(), MAX_NOTES);
        let counted: u32 = found.iter().map(|(_, warning)| warning.findings).sum();
        assert_eq!(counted as usize, MAX_NOTES + 10);
        assert!(decoder.take().is_empty());
    }

    #[test]
    fn warnings_are_taken_once() {
        let notes = Notes::default();
        notes.add(At::Whole, Diagnostic::warning(codes::W_SOURCE_TRAILING, 1, "2 bytes"));
        assert_eq!(notes.take().len(), 1);
        assert!(notes.take().is_empty());
    }
}

//! Rows that were put into the order of their numbers.

use std::sync::{Arc, Mutex, PoisonError};

use crate::archive::row::Row;

/// Rows of a segment in the order of their numbers.
pub(super) struct Window {
    /// The place of the segment.
    pub(super) segment: usize,
    /// The number of the first.
    pub(super) first: u64,
    pub(super) rows: Vec<Row>,
}

impl Window {
    /// The number behind the last.
    pub(super) const fn end(&self) -> u64 {
        self.first + self.rows.len() as u64
    }
}

/// The rows that were put into order last.
#[derive(Default)]
pub(super) struct LastWindow(Mutex<Option<Arc<Window>>>);

impl LastWindow {
    /// The rows, if a record of a segment is among them.
    pub(super) fn with(&self, segment: usize, number: u64) -> Option<Arc<Window>> {
        let last = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        last.filter(|it| it.segment == segment && (it.first..it.end()).contains(&number))
    }

    pub(super) fn set(&self, window: Option<Arc<Window>>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = window;
    }
}

//! Windows of rows in the original order.

use std::sync::{Arc, Mutex, PoisonError};

use crate::archive::row::Row;

/// Rows of a segment in order of their numbers.
pub(super) struct Window {
    /// Place of the segment.
    pub(super) segment: usize,
    /// Number of the first row.
    pub(super) first: u64,
    pub(super) rows: Vec<Row>,
}

impl Window {
    /// Number after the last row.
    pub(super) const fn end(&self) -> u64 {
        self.first + self.rows.len() as u64
    }
}

/// The window that was made last.
#[derive(Default)]
pub(super) struct LastWindow(Mutex<Option<Arc<Window>>>);

impl LastWindow {
    /// The window, if it has a record of a segment.
    pub(super) fn with(&self, segment: usize, number: u64) -> Option<Arc<Window>> {
        let last = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        last.filter(|it| it.segment == segment && (it.first..it.end()).contains(&number))
    }

    pub(super) fn set(&self, window: Option<Arc<Window>>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = window;
    }
}

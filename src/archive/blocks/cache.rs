//! Caches of a reader. One cache has the values of segments, such as models. Another has the last
//! window: rows that were put into their original order. A third has the blocks that were searched
//! last.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::block::Block;
use crate::columns::Row;
use crate::error::{ArchiveError, Refusal};

const MAX_CACHED: usize = 256;

/// A cache of values of segments. The values that were used last are kept.
pub(super) struct SegmentCache<T> {
    /// The segment's index and the value, for each cached value. The one used last comes first.
    kept: Mutex<Vec<(usize, Slot<T>)>>,
    /// Name of the values in errors.
    part: &'static str,
    /// Approximate memory of a value, in bytes.
    cost: fn(&T) -> usize,
    /// Approximate limit of the memory of all values, in bytes.
    memory_bytes: usize,
}

/// A value, which is made by the first thread that needs it.
type Slot<T> = Arc<OnceLock<Result<T, Refusal>>>;

/// A value that is in use.
pub(super) struct Shared<T> {
    slot: Slot<T>,
    part: &'static str,
    /// Index of the segment of the value.
    place: usize,
}

impl<T> SegmentCache<T> {
    pub(super) fn new(
        part: &'static str,
        cost: fn(&T) -> usize,
        memory_bytes: usize,
    ) -> SegmentCache<T> {
        SegmentCache { kept: Mutex::default(), part, cost, memory_bytes }
    }

    /// Returns the value of the segment with the index `place`. The first thread that needs the
    /// value calls `read` to make it. Meanwhile other threads can work on other segments.
    pub(super) fn get(
        &self,
        place: usize,
        read: impl FnOnce() -> Result<T, Refusal>,
    ) -> Result<Shared<T>, ArchiveError> {
        let slot = self.slot(place);
        slot.get_or_init(read);
        let shared = Shared { slot, part: self.part, place };
        shared.get()?;
        Ok(shared)
    }

    /// Returns the value of a segment if it was made already.
    pub(super) fn made(&self, place: usize) -> Option<Result<Shared<T>, ArchiveError>> {
        let slot = self.slot(place);
        slot.get()?;
        let shared = Shared { slot, part: self.part, place };
        Some(shared.get().map(drop).map(|()| shared))
    }

    fn slot(&self, place: usize) -> Slot<T> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        // A refusal is not kept: in a browser, the built-in model comes after the first request.
        kept.retain(|(of, slot)| *of != place || !matches!(slot.get(), Some(Err(_))));
        match kept.iter().position(|&(of, _)| of == place) {
            Some(at) => kept[..=at].rotate_right(1),
            None => kept.insert(0, (place, Slot::default())),
        }
        let mut number = 0;
        let mut cost = 0;
        kept.retain(|(_, slot)| {
            number += 1;
            cost += slot.get().and_then(|value| value.as_ref().ok()).map_or(0, self.cost);
            number == 1 || number <= MAX_CACHED && cost <= self.memory_bytes
        });
        Arc::clone(&kept[0].1)
    }
}

impl<T> Shared<T> {
    /// Returns the value, or an error if its bytes are damaged or it is too large.
    pub(super) fn get(&self) -> Result<&T, ArchiveError> {
        let value = self.slot.get().map_or(Err(&Refusal::Damaged), Result::as_ref);
        value.map_err(|refusal| refusal.at(self.part, self.place as u64))
    }
}

/// Rows of a sorted segment, in the original order of the records.
pub(super) struct Window {
    /// Index of the segment.
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

    /// The rows with some numbers, which the window has.
    pub(super) fn rows(&self, numbers: &Range<u64>) -> &[Row] {
        &self.rows[(numbers.start - self.first) as usize..(numbers.end - self.first) as usize]
    }
}

/// The last window that was made; `None` before the first.
#[derive(Default)]
pub(super) struct LastWindow(Mutex<Option<Arc<Window>>>);

impl LastWindow {
    /// Returns the window if it has the record `number` of a segment.
    pub(super) fn with(&self, segment: usize, number: u64) -> Option<Arc<Window>> {
        let last = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        last.filter(|it| it.segment == segment && (it.first..it.end()).contains(&number))
    }

    pub(super) fn set(&self, window: Option<Arc<Window>>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = window;
    }
}

/// The blocks that were searched last. Positions one move apart are often in one block.
#[derive(Default)]
pub(super) struct RecentBlocks(Mutex<VecDeque<(BlockPlace, Arc<Block>)>>);

/// Index of a segment, and number of a block in the segment.
type BlockPlace = (usize, u32);

impl RecentBlocks {
    pub(super) const MAX: usize = 32;

    pub(super) fn get(&self, place: BlockPlace) -> Option<Arc<Block>> {
        let mut blocks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = blocks.iter().position(|(of, _)| *of == place)?;
        let found = blocks.remove(at)?;
        let block = Arc::clone(&found.1);
        blocks.push_front(found);
        Some(block)
    }

    pub(super) fn put(&self, place: BlockPlace, block: &Arc<Block>) {
        let mut blocks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        blocks.truncate(RecentBlocks::MAX - 1);
        blocks.push_front((place, Arc::clone(block)));
    }
}

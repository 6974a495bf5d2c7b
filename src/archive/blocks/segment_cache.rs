//! What is read of segments and kept once it was needed.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::archive::error::{ArchiveError, Refusal};

/// The most segments of which something is kept.
const KEPT: usize = 256;

/// The values of the segments that were used last.
pub(super) struct SegmentCache<T> {
    /// With the places of their segments, the last used first.
    kept: Mutex<Vec<(usize, Slot<T>)>>,
    /// What a value is called in errors.
    part: &'static str,
    /// What a value takes, about, in bytes.
    cost: fn(&T) -> usize,
    /// What the kept values may take, about, in bytes.
    memory: usize,
}

/// A value, made once by whoever needs it first.
type Slot<T> = Arc<OnceLock<Result<T, Refusal>>>;

/// A value that is in use.
pub(super) struct Shared<T> {
    slot: Slot<T>,
    part: &'static str,
    /// The place of its segment.
    place: usize,
}

impl<T> SegmentCache<T> {
    pub(super) fn new(part: &'static str, cost: fn(&T) -> usize, memory: usize) -> SegmentCache<T> {
        SegmentCache { kept: Mutex::default(), part, cost, memory }
    }

    /// The value of the segment at a place. Whoever needs it first makes it by `read`, while others
    /// go on with theirs.
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

    fn slot(&self, place: usize) -> Slot<T> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        match kept.iter().position(|&(of, _)| of == place) {
            Some(at) => kept[..=at].rotate_right(1),
            None => kept.insert(0, (place, Slot::default())),
        }
        let (mut number, mut cost) = (0, 0);
        kept.retain(|(_, slot)| {
            number += 1;
            cost += slot.get().and_then(|value| value.as_ref().ok()).map_or(0, self.cost);
            number == 1 || number <= KEPT && cost <= self.memory
        });
        Arc::clone(&kept[0].1)
    }
}

impl<T> Shared<T> {
    /// The value; an error where its bytes are damaged or it is too large.
    pub(super) fn get(&self) -> Result<&T, ArchiveError> {
        let value = self.slot.get().map_or(Err(&Refusal::Damaged), Result::as_ref);
        value.map_err(|refusal| refusal.at(self.part, self.place as u64))
    }
}

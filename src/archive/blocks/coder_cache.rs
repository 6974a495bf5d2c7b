//! Coders of segments that are kept once they were needed.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::coder::SegmentCoder;
use crate::archive::error::{ArchiveError, Refusal};

/// The most coders that are kept.
const KEPT: usize = 16;

/// The coders that were used last.
pub(super) struct CoderCache {
    /// With the places of their segments, the last used first.
    kept: Mutex<Vec<(usize, Slot)>>,
    /// What the models of the kept coders may take, about, in bytes.
    memory: usize,
}

/// A coder, made once by whoever needs it first.
type Slot = Arc<OnceLock<Result<SegmentCoder, Refusal>>>;

/// A coder that is in use.
pub(super) struct SharedCoder {
    slot: Slot,
    /// The place of its segment.
    place: usize,
}

impl CoderCache {
    pub(super) fn new(memory: usize) -> CoderCache {
        CoderCache { kept: Mutex::default(), memory }
    }

    /// The coder of the segment at a place. Whoever needs it first makes it by `read`, while others
    /// go on with theirs.
    pub(super) fn get(
        &self,
        place: usize,
        read: impl FnOnce() -> Result<SegmentCoder, Refusal>,
    ) -> Result<SharedCoder, ArchiveError> {
        let slot = self.slot(place);
        slot.get_or_init(read);
        let shared = SharedCoder { slot, place };
        shared.get()?;
        Ok(shared)
    }

    fn slot(&self, place: usize) -> Slot {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        match kept.iter().position(|&(of, _)| of == place) {
            Some(at) => kept[..=at].rotate_right(1),
            None => kept.insert(0, (place, Slot::default())),
        }
        let (mut number, mut cost) = (0, 0);
        kept.retain(|(_, slot)| {
            number += 1;
            cost += slot.get().and_then(|coder| coder.as_ref().ok()).map_or(0, SegmentCoder::cost);
            number == 1 || number <= KEPT && cost <= self.memory
        });
        Arc::clone(&kept[0].1)
    }
}

impl SharedCoder {
    /// The coder; an error where its model is damaged or too large.
    pub(super) fn get(&self) -> Result<&SegmentCoder, ArchiveError> {
        let coder = self.slot.get().map_or(Err(&Refusal::Damaged), Result::as_ref);
        coder.map_err(|refusal| refusal.at("model", self.place as u64))
    }
}

//! The blocks of a snapshot: read and checked when they are needed, and kept while memory lasts.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use redb::ReadOnlyTable;

use crate::store::block::{Block, BlockShape, Bucket, Damage};
use crate::store::error::{StoreError, damaged, guarded};
use crate::store::row::{RowGuard, sized};
use crate::store::shared::Shared;

type Result<T> = std::result::Result<T, StoreError>;

/// A block in memory, its header and directory checked.
pub(super) struct CheckedBlock {
    number: u64,
    guard: RowGuard,
    shape: BlockShape,
    /// Which of the first buckets were checked: bytes in memory stay as they are, so once is
    /// enough.
    checked: [AtomicU64; 4],
}

impl CheckedBlock {
    pub(super) fn bytes(&self) -> &[u8] {
        self.guard.value()
    }

    /// The block, with the header's shape at hand.
    pub(super) fn view(&self) -> Block<'_> {
        Block::with_shape(self.number, self.bytes(), self.shape)
    }

    /// Checks a bucket, unless that was done before.
    pub(super) fn check(&self, number: u32, bucket: &Bucket) -> std::result::Result<(), Damage> {
        let bit = 1 << (number % 64);
        let Some(word) = self.checked.get(number as usize / 64) else { return bucket.check() };
        if word.load(Ordering::Relaxed) & bit == 0 {
            bucket.check()?;
            word.fetch_or(bit, Ordering::Relaxed);
        }
        Ok(())
    }

    /// The memory that it takes: redb keeps its whole page, of a power of two.
    fn page_bytes(&self) -> usize {
        (self.bytes().len() + 64).next_power_of_two().max(4096)
    }
}

/// A block that is kept, or one for which there was no room.
pub(super) enum BlockRef<'r> {
    Kept(&'r CheckedBlock),
    Own(Arc<CheckedBlock>),
}

impl BlockRef<'_> {
    pub(super) fn block(&self) -> &CheckedBlock {
        match self {
            BlockRef::Kept(block) => block,
            BlockRef::Own(block) => block,
        }
    }
}

/// The blocks of a snapshot.
pub(super) struct Blocks {
    shared: Arc<Shared>,
    table: ReadOnlyTable<u64, &'static [u8]>,
    /// By number of the block: the checksum of its header.
    checks: Vec<u32>,
    /// By number of the block.
    kept: Box<[OnceLock<Box<CheckedBlock>>]>,
}

impl Blocks {
    pub(super) fn new(
        shared: Arc<Shared>,
        table: ReadOnlyTable<u64, &'static [u8]>,
        checks: Vec<u32>,
    ) -> Blocks {
        let kept = checks.iter().map(|_| OnceLock::new()).collect();
        Blocks { shared, table, checks, kept }
    }

    /// A block, which stays in memory if there is room for it.
    pub(super) fn get(&self, number: u64) -> Result<BlockRef<'_>> {
        let slot = usize::try_from(number).ok().and_then(|number| self.kept.get(number));
        if let Some(kept) = slot.and_then(OnceLock::get) {
            return Ok(BlockRef::Kept(kept));
        }
        let block = self.load(number)?;
        let bytes = block.page_bytes();
        let Some(slot) = slot.filter(|_| self.reserve(bytes)) else {
            return Ok(BlockRef::Own(Arc::new(block)));
        };
        if slot.set(Box::new(block)).is_err() {
            self.shared.cache_left.fetch_add(bytes, Ordering::Relaxed);
        }
        match slot.get() {
            Some(kept) => Ok(BlockRef::Kept(kept)),
            None => Err(self.damaged(number, Damage("it is missing"))),
        }
    }

    /// Reads a block, checks its header and directory, and does not keep it.
    pub(super) fn load(&self, number: u64) -> Result<CheckedBlock> {
        let guard = guarded(&self.shared.path, || Ok(self.table.get_owned(number)?.map(sized)))?;
        let guard = guard.ok_or_else(|| self.damaged(number, Damage("it is missing")))?;
        let announced = usize::try_from(number).ok().and_then(|number| self.checks.get(number));
        let shape = Block::new(number, guard.value())
            .and_then(|block| {
                block.check(announced.copied().unwrap_or_default())?;
                Ok(block.shape())
            })
            .map_err(|damage| self.damaged(number, damage))?;
        Ok(CheckedBlock { number, guard, shape, checked: Default::default() })
    }

    pub(super) fn damaged(&self, number: u64, damage: Damage) -> StoreError {
        damaged(format!("block {number}"), damage.0).into_error(&self.shared.path)
    }

    fn reserve(&self, bytes: usize) -> bool {
        let Shared { cache_left, cache_floor, .. } = &*self.shared;
        let take = |left: usize| left.checked_sub(bytes).filter(|rest| rest >= cache_floor);
        cache_left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok()
    }
}

impl Drop for Blocks {
    fn drop(&mut self) {
        let held = self.kept.iter().filter_map(OnceLock::get).map(|block| block.page_bytes());
        self.shared.cache_left.fetch_add(held.sum(), Ordering::Relaxed);
    }
}

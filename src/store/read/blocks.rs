//! Cache of the blocks of a snapshot. A block is read and checked when it is needed, and then kept
//! if the memory budget allows.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use redb::ReadOnlyTable;

use crate::simd::prefetch;
use crate::store::block::{Block, BlockShape, Bucket, Damage, KeySlot};
use crate::store::error::{StoreError, damaged, guarded};
use crate::store::options::Shared;
use crate::store::schema::{RowGuard, sized};

type Result<T> = std::result::Result<T, StoreError>;

/// A block in memory whose header and directory were checked.
pub(super) struct CheckedBlock {
    number: u64,
    guard: RowGuard,
    shape: BlockShape,
    /// One bit for each of the first 256 buckets. The bit is set after the bucket was checked.
    /// Bytes in memory do not change, so one check is enough.
    checked: [AtomicU64; 4],
}

impl CheckedBlock {
    #[inline]
    pub(super) fn bytes(&self) -> &[u8] {
        self.guard.value()
    }

    /// View of the block.
    #[inline]
    pub(super) fn view(&self) -> Block<'_> {
        Block::with_shape(self.number, self.bytes(), self.shape)
    }

    /// Slot of a key. `fraction` is the place of the key within the key range of the block.
    #[inline]
    pub(super) fn slot(&self, fraction: u64) -> KeySlot {
        KeySlot::from_fraction(fraction, self.shape.buckets)
    }

    /// Checks a bucket, unless it was checked before.
    #[inline]
    pub(super) fn check(&self, number: u32, bucket: &Bucket) -> std::result::Result<(), Damage> {
        let bit = 1 << (number % 64);
        let Some(word) = self.checked.get(number as usize / 64) else { return bucket.check() };
        if word.load(Ordering::Relaxed) & bit == 0 {
            bucket.check()?;
            word.fetch_or(bit, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Memory of the block: redb keeps its whole page, whose size is a power of two.
    fn page_bytes(&self) -> usize {
        (self.bytes().len() + 64).next_power_of_two().max(4096)
    }
}

/// A block in the cache, or a block that did not fit into the cache.
pub(super) enum BlockRef<'r> {
    Borrowed(&'r CheckedBlock),
    Own(Box<CheckedBlock>),
}

impl BlockRef<'_> {
    #[inline]
    pub(super) fn block(&self) -> &CheckedBlock {
        match self {
            BlockRef::Borrowed(block) => block,
            BlockRef::Own(block) => block,
        }
    }
}

/// The blocks of a snapshot.
pub(super) struct Blocks {
    shared: Arc<Shared>,
    table: ReadOnlyTable<u64, &'static [u8]>,
    /// Checksum of the header of each block.
    checks: Vec<u32>,
    /// The cached blocks, by number.
    cached: Box<[OnceLock<Box<CheckedBlock>>]>,
}

impl Blocks {
    pub(super) fn new(
        shared: Arc<Shared>,
        table: ReadOnlyTable<u64, &'static [u8]>,
        checks: Vec<u32>,
    ) -> Blocks {
        let cached = checks.iter().map(|_| OnceLock::new()).collect();
        Blocks { shared, table, checks, cached }
    }

    fn slot(&self, number: u64) -> Option<&OnceLock<Box<CheckedBlock>>> {
        usize::try_from(number).ok().and_then(|number| self.cached.get(number))
    }

    /// Prefetches the cache slot of a block.
    #[inline]
    pub(super) fn prefetch(&self, number: u64) {
        if let Some(slot) = self.slot(number) {
            prefetch(slot);
        }
    }

    /// Returns a block if it is in the cache.
    #[inline]
    pub(super) fn cached(&self, number: u64) -> Option<&CheckedBlock> {
        self.slot(number).and_then(OnceLock::get).map(Box::as_ref)
    }

    /// Returns a block. It then stays in the cache if the memory budget allows.
    #[inline]
    pub(super) fn get(&self, number: u64) -> Result<BlockRef<'_>> {
        match self.cached(number) {
            Some(kept) => Ok(BlockRef::Borrowed(kept)),
            None => self.load_and_keep(number),
        }
    }

    #[cold]
    fn load_and_keep(&self, number: u64) -> Result<BlockRef<'_>> {
        let slot = self.slot(number);
        let block = self.load(number)?;
        let bytes = block.page_bytes();
        let Some(slot) = slot.filter(|_| self.reserve(bytes)) else {
            return Ok(BlockRef::Own(Box::new(block)));
        };
        if slot.set(Box::new(block)).is_err() {
            self.shared.cache_left.fetch_add(bytes, Ordering::Relaxed);
        }
        match slot.get() {
            Some(kept) => Ok(BlockRef::Borrowed(kept)),
            None => Err(self.damaged(number, Damage("it is missing"))),
        }
    }

    /// Reads a block and checks its header and directory, without caching it.
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
        let held = self.cached.iter().filter_map(OnceLock::get).map(|block| block.page_bytes());
        self.shared.cache_left.fetch_add(held.sum(), Ordering::Relaxed);
    }
}

//! The blocks of a snapshot. A process that writes reads them with redb and keeps them in memory; see
//! `mapped.rs` for the others. A block is checked when it is first needed.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use redb::ReadOnlyTable;

use super::mapped::{BucketInMemory, MappedBlocks};
use crate::block::{Block, BlockShape, Bucket, Damage, KeySlot};
use crate::error::{StoreError, damaged, guarded};
use crate::options::Shared;
use crate::schema::{RowGuard, sized};
use epdb_base::mapped_file::MappedFile;
use epdb_chess::simd::prefetch;

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
    fn view(&self) -> Block<'_> {
        let (head, data) = self.guard.value().split_at(self.shape.data_start());
        Block::of_parts(self.number, self.shape, head, data)
    }

    /// Checks a bucket, unless it was checked before.
    #[inline]
    fn check(&self, number: u32, bucket: &Bucket) -> std::result::Result<(), Damage> {
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
        (self.guard.value().len() + 64).next_power_of_two().max(4096)
    }
}

/// A block whose header and directory were checked.
pub(super) enum BlockRef<'r> {
    Cached(&'r CheckedBlock),
    /// A block that did not fit into the cache.
    Own(Box<CheckedBlock>),
    /// A block in the mapped file, or a view of another one.
    View(Block<'r>),
    /// A block in the mapped file that was not read before.
    Bucket(Box<BucketInMemory<'r>>),
}

impl BlockRef<'_> {
    #[inline]
    pub(super) fn view(&self) -> Block<'_> {
        match self {
            BlockRef::Cached(block) => block.view(),
            BlockRef::Own(block) => block.view(),
            BlockRef::View(block) => *block,
            BlockRef::Bucket(bucket) => bucket.view(),
        }
    }

    /// The same block for as long as this reference lives.
    pub(super) fn borrowed(&self) -> BlockRef<'_> {
        match self {
            BlockRef::Cached(block) => BlockRef::Cached(block),
            BlockRef::Own(block) => BlockRef::Cached(block),
            BlockRef::View(block) => BlockRef::View(*block),
            BlockRef::Bucket(bucket) => BlockRef::View(bucket.view()),
        }
    }

    /// Slot of a key. `fraction` is the place of the key within the key range of the block.
    #[inline]
    pub(super) fn slot(&self, fraction: u64) -> KeySlot {
        KeySlot::from_fraction(fraction, self.view().buckets())
    }

    /// Checks a bucket. A bucket in memory is checked only once.
    #[inline]
    pub(super) fn check(&self, number: u32, bucket: &Bucket) -> std::result::Result<(), Damage> {
        match self {
            BlockRef::Cached(block) => block.check(number, bucket),
            BlockRef::Own(block) => block.check(number, bucket),
            BlockRef::View(_) | BlockRef::Bucket(_) => bucket.check(),
        }
    }
}

pub(super) enum Blocks {
    /// Read by redb, and kept in memory.
    Cached(CachedBlocks),
    Mapped(MappedBlocks),
}

impl Blocks {
    /// Prefetches what a lookup of a key needs first. `fraction` is the place of the key within the
    /// key range of the block.
    #[inline]
    pub(super) fn prefetch(&self, number: u64, fraction: u64) {
        match self {
            Blocks::Cached(blocks) => blocks.prefetch(number),
            Blocks::Mapped(blocks) => blocks.prefetch(number, fraction),
        }
    }

    /// Returns a block if it was read before.
    #[inline]
    pub(super) fn known(&self, number: u64) -> Option<BlockRef<'_>> {
        match self {
            Blocks::Cached(blocks) => blocks.cached(number).map(BlockRef::Cached),
            Blocks::Mapped(blocks) => blocks.known(number).map(BlockRef::View),
        }
    }

    /// Returns a block. `path` is the path of the store, for messages.
    #[inline]
    pub(super) fn get(&self, number: u64, path: &Path) -> Result<BlockRef<'_>> {
        match self {
            Blocks::Cached(blocks) => blocks.get(number),
            Blocks::Mapped(blocks) => {
                blocks.get(number).map(BlockRef::View).map_err(|fault| fault.into_error(path))
            }
        }
    }

    /// Returns a block for the lookup of one key. `fraction` is the place of the key within the key range of
    /// the block.
    #[inline]
    pub(super) fn for_key(&self, number: u64, fraction: u64, path: &Path) -> Result<BlockRef<'_>> {
        if let Some(block) = self.known(number) {
            return Ok(block);
        }
        match self {
            Blocks::Cached(_) => self.get(number, path),
            Blocks::Mapped(blocks) => match blocks.read_bucket(number, fraction) {
                Ok(bucket) => Ok(BlockRef::Bucket(Box::new(bucket))),
                Err(fault) => Err(fault.into_error(path)),
            },
        }
    }

    /// Reads a block and checks its header and directory, without keeping it in memory.
    pub(super) fn load(&self, number: u64, path: &Path) -> Result<BlockRef<'_>> {
        match self {
            Blocks::Cached(blocks) => {
                blocks.load(number).map(|block| BlockRef::Own(Box::new(block)))
            }
            Blocks::Mapped(_) => self.get(number, path),
        }
    }

    /// The result of reading blocks, or the error that the mapped file was cut off meanwhile. Every
    /// result goes through this function after it was computed.
    #[inline]
    pub(super) fn intact<T>(&self, result: Result<T>, path: &Path) -> Result<T> {
        match self {
            Blocks::Mapped(blocks) if result.is_err() || blocks.file().has_fault() => {
                examined(blocks.file(), result, path)
            }
            _ => result,
        }
    }
}

#[cold]
fn examined<T>(file: &MappedFile, result: Result<T>, path: &Path) -> Result<T> {
    match file.unreadable_from() {
        Some(byte) => {
            let what = "the file was cut off there while it was open, or cannot be read there";
            Err(damaged(format!("byte {byte}"), what).into_error(path))
        }
        None => result,
    }
}

/// The blocks of a snapshot that redb reads. They stay in memory if the memory budget allows.
pub(super) struct CachedBlocks {
    shared: Arc<Shared>,
    table: ReadOnlyTable<u64, &'static [u8]>,
    /// Checksum of the header of each block.
    checks: Vec<u32>,
    /// The cached blocks, by number.
    cached: Box<[OnceLock<Box<CheckedBlock>>]>,
}

impl CachedBlocks {
    pub(super) fn new(
        shared: Arc<Shared>,
        table: ReadOnlyTable<u64, &'static [u8]>,
        checks: Vec<u32>,
    ) -> CachedBlocks {
        let cached = checks.iter().map(|_| OnceLock::new()).collect();
        CachedBlocks { shared, table, checks, cached }
    }

    fn slot(&self, number: u64) -> Option<&OnceLock<Box<CheckedBlock>>> {
        usize::try_from(number).ok().and_then(|number| self.cached.get(number))
    }

    /// Prefetches the cache slot of a block.
    #[inline]
    fn prefetch(&self, number: u64) {
        if let Some(slot) = self.slot(number) {
            prefetch(slot);
        }
    }

    #[inline]
    fn cached(&self, number: u64) -> Option<&CheckedBlock> {
        self.slot(number).and_then(OnceLock::get).map(Box::as_ref)
    }

    /// Returns a block. It then stays in the cache if the memory budget allows.
    #[inline]
    fn get(&self, number: u64) -> Result<BlockRef<'_>> {
        match self.cached(number) {
            Some(kept) => Ok(BlockRef::Cached(kept)),
            None => self.load_and_keep(number),
        }
    }

    #[cold]
    fn load_and_keep(&self, number: u64) -> Result<BlockRef<'_>> {
        let slot = self.slot(number);
        let block = self.load(number)?;
        let bytes = block.page_bytes();
        let slot = match slot {
            Some(slot) if self.shared.reserve(bytes) => slot,
            _ => return Ok(BlockRef::Own(Box::new(block))),
        };
        // Another thread may have loaded the block meanwhile.
        if slot.set(Box::new(block)).is_err() {
            self.shared.give_back(bytes);
        }
        match slot.get() {
            Some(kept) => Ok(BlockRef::Cached(kept)),
            None => Err(self.damaged(number, Damage("it is missing"))),
        }
    }

    /// Reads a block and checks its header and directory, without caching it.
    fn load(&self, number: u64) -> Result<CheckedBlock> {
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

    fn damaged(&self, number: u64, damage: Damage) -> StoreError {
        damaged(format!("block {number}"), damage.0).into_error(&self.shared.path)
    }
}

impl Drop for CachedBlocks {
    fn drop(&mut self) {
        let held = self.cached.iter().filter_map(OnceLock::get).map(|block| block.page_bytes());
        self.shared.give_back(held.sum());
    }
}

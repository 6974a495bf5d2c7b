//! The blocks of a store that is open for reading only. They are read from the mapped file, through
//! redb's pages but without its cache.
// For a record of 36 bytes, redb copies the page of its block, 64 KiB, into its cache. With 10 million
// records, a lookup then took 16.8 µs, and 2.2 µs in the map.

use std::io;
use std::sync::{Arc, OnceLock};

use redb::StorageBackend;
use redb::backends::FileBackend;

use crate::block::{Block, BlockShape, Damage, KeySlot, PAST_THE_END};
use crate::error::{Fault, Result, damaged};
use crate::options::Shared;
use crate::pages::{self, FileSnapshot, Leaf, NumberedTree};
use epdb_base::mapped_file::MappedFile;

/// The blocks of a snapshot in the mapped file.
pub(super) struct MappedBlocks {
    shared: Arc<Shared>,
    file: MappedFile,
    /// The same file. What is read for the first time is read through it, because that takes less time
    /// than a page fault.
    unmapped: FileBackend,
    tree: NumberedTree,
    /// Checksum of the header of each block.
    checks: Vec<u32>,
    /// The blocks whose header and directory were checked.
    known: Box<[OnceLock<KnownBlock>]>,
}

/// A block whose header and directory were checked.
struct KnownBlock {
    /// Offset in the file.
    start: usize,
    len: usize,
    shape: BlockShape,
    /// A copy of header and directory, if the memory budget allows. The copies are close together. In the
    /// map, each header is in a page of its own, so a lookup waits longer for it.
    head: Option<Box<[u8]>>,
}

/// A known block, and one of its buckets, which was read into memory.
pub(super) struct BucketInMemory<'b> {
    block: Block<'b>,
    /// Offset of the bucket in the bytes of all buckets.
    start: usize,
    bytes: Vec<u8>,
}

impl BucketInMemory<'_> {
    /// View of the block that has only the bucket.
    pub(super) fn view(&self) -> Block<'_> {
        self.block.with_part(self.start, &self.bytes)
    }
}

/// Number of bytes from the start of a large page that usually have the header and directory of its block.
const HEAD_BYTES: usize = 1 << 10;

impl MappedBlocks {
    /// Maps the file of a store; `None` if the table of blocks is not found, so that redb has to read
    /// the file. A transaction of the snapshot must live as long as the blocks.
    pub(super) fn open(
        snapshot: &FileSnapshot,
        shared: Arc<Shared>,
        checks: Vec<u32>,
    ) -> Result<Option<MappedBlocks>> {
        let file = MappedFile::new(&snapshot.file, &shared.path)?;
        let Some(tree) = pages::blocks_tree(&file, &snapshot.header)? else { return Ok(None) };
        if file.has_fault() {
            return Err(cut_off());
        }
        let unmapped = FileBackend::new(snapshot.file.try_clone()?)?;
        let known = checks.iter().map(|_| OnceLock::new()).collect();
        Ok(Some(MappedBlocks { shared, file, unmapped, tree, checks, known }))
    }

    /// Returns a block whose header and directory were checked, now or before.
    pub(super) fn get(&self, number: u64) -> Result<Block<'_>> {
        match self.known(number) {
            Some(block) => Ok(block),
            None => {
                self.find(number).and_then(|known| self.view(number, known).ok_or_else(cut_off))
            }
        }
    }

    /// Returns a block that was checked before.
    #[inline]
    pub(super) fn known(&self, number: u64) -> Option<Block<'_>> {
        self.view(number, self.slot(number)?.get()?)
    }

    #[inline]
    fn slot(&self, number: u64) -> Option<&OnceLock<KnownBlock>> {
        self.known.get(usize::try_from(number).ok()?)
    }

    #[inline]
    fn view<'b>(&'b self, number: u64, known: &'b KnownBlock) -> Option<Block<'b>> {
        let KnownBlock { start, len, shape, head } = known;
        let data_start = start + shape.data_start();
        let head = match head {
            Some(copy) => copy,
            None => self.file.bytes(*start..data_start)?,
        };
        let data = self.file.bytes(data_start..start + len)?;
        Some(Block::of_parts(number, *shape, head, data))
    }

    /// Prefetches what leads to the bucket of a key in a known block. `fraction` is the place of the key
    /// within the key range of the block.
    #[inline]
    pub(super) fn prefetch(&self, number: u64, fraction: u64) {
        if let Some(block) = self.known(number) {
            block.prefetch_directory(KeySlot::from_fraction(fraction, block.buckets()).bucket);
        }
    }

    /// Finds a block, and reads the bucket of a key into memory.
    #[cold]
    pub(super) fn read_bucket(&self, number: u64, fraction: u64) -> Result<BucketInMemory<'_>> {
        let known = self.find(number)?;
        let block = self.view(number, known).ok_or_else(cut_off)?;
        let slot = KeySlot::from_fraction(fraction, block.buckets());
        let range = block.bucket_range(slot.bucket);
        // The mapped bytes are not touched: that would be a read for each page of them.
        let Some(mapped) = block.data().get(range.clone()) else {
            return Err(damaged(format!("block {number}"), PAST_THE_END.0));
        };
        let data_start = known.start + known.shape.data_start();
        let bytes = self.read(data_start + range.start, mapped.len())?;
        Ok(BucketInMemory { block, start: range.start, bytes })
    }

    /// Finds a block through the pages, checks its header and directory, and remembers it.
    #[cold]
    fn find(&self, number: u64) -> Result<&KnownBlock> {
        let damage = |damage: Damage| damaged(format!("block {number}"), damage.0);
        let missing = || damage(Damage("it is missing"));
        let slot = self.slot(number).ok_or_else(missing)?;
        let announced = self.checks.get(number as usize).ok_or_else(missing)?;
        let read_start = |start| self.read(start, HEAD_BYTES);
        let Leaf { place: page, start: mut leaf } =
            self.tree.leaf_of(number, |range| self.file.bytes(range), read_start)?;
        let block = pages::value_in_leaf(&leaf, page.len(), number).ok_or_else(missing)?;
        let header = leaf.get(block.start..).unwrap_or_default();
        let shape = BlockShape::parse(header, block.len()).map_err(damage)?;
        let head_end = block.start + shape.data_start();
        if leaf.len() < head_end {
            leaf.extend(self.read(page.start + leaf.len(), head_end - leaf.len())?);
        }
        let head = leaf.get(block.start..head_end).ok_or_else(cut_off)?;
        let data_len = block.len() - head.len();
        Block::of_parts(number, shape, head, &[])
            .check_head(*announced, data_len)
            .map_err(damage)?;
        Ok(slot.get_or_init(|| {
            let copy = if self.shared.reserve(head.len()) { Some(head.into()) } else { None };
            KnownBlock { start: page.start + block.start, len: block.len(), shape, head: copy }
        }))
    }

    /// Reads bytes of the file, but not through the map.
    fn read(&self, start: usize, len: usize) -> Result<Vec<u8>> {
        let mut bytes = vec![0; len];
        self.unmapped.read(start as u64, &mut bytes)?;
        Ok(bytes)
    }

    pub(super) fn file(&self) -> &MappedFile {
        &self.file
    }
}

impl Drop for MappedBlocks {
    fn drop(&mut self) {
        let copies =
            self.known.iter().filter_map(OnceLock::get).filter_map(|known| known.head.as_ref());
        self.shared.give_back(copies.map(|copy| copy.len()).sum());
    }
}

/// The error of a file that ends too early. [`super::Reader::intact`] adds the place.
fn cut_off() -> Fault {
    io::Error::from(io::ErrorKind::UnexpectedEof).into()
}

#[cfg(all(test, unix))]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs::OpenOptions;
    use std::num::NonZeroU64;
    use std::ops::ControlFlow;
    use std::path::Path;
    use std::sync::Arc;
    use std::sync::atomic::Ordering;

    use crate::read::blocks::Blocks;
    use crate::{ImportOptions, Reader, Store, StoreError, StoreOptions};
    use epdb_chess::model::EpdRecord;

    /// A record of its own position for each number below 8^6.
    fn record(number: usize, text: &str) -> EpdRecord {
        let pawn = |rank: usize| ["P7", "1P6", "2P5", "3P4", "4P3", "5P2", "6P1", "7P"][rank % 8];
        let [a, b, c, d] = [number, number / 8, number / 64, number / 512].map(pawn);
        let black = pawn(number / 4096).to_lowercase();
        let line = format!("4k3/{black}/{a}/{b}/{c}/{d}/8/4K3 w - - {text}");
        epdb_chess::parse_epd(line.as_bytes()).unwrap()
    }

    /// Writes a store and closes it. Record 7 is an overflow position.
    fn write_store(path: &Path, records: usize, crowd: usize) {
        let store =
            Store::create(path, &StoreOptions { memory_bytes: 1 << 20, ..Default::default() })
                .unwrap();
        let mut importer = store
            .importer(
                "all",
                &ImportOptions { commit_every: NonZeroU64::new(5000), ..Default::default() },
            )
            .unwrap();
        for number in 0..records {
            importer.push(&record(number, &format!("id \"{number}\";"))).unwrap();
        }
        for number in 0..crowd {
            importer.push(&record(7, &format!("ce {number};"))).unwrap();
        }
        importer.finish().unwrap();
        store.close().unwrap();
    }

    /// A reader over the mapped file, and one that reads through redb.
    fn readers(path: &Path) -> (Reader, Reader) {
        let store = Store::open_read_only(path, &StoreOptions::default()).unwrap();
        let mapped = store.reader().unwrap();
        assert!(matches!(mapped.blocks, Blocks::Mapped(_)));
        let shared = Arc::clone(&store.shared);
        let cached = Reader::new(shared, store.begin_read().unwrap(), None).unwrap();
        assert!(matches!(cached.blocks, Blocks::Cached(_)));
        (mapped, cached)
    }

    fn found(reader: &Reader, record: &EpdRecord) -> Vec<(u64, Vec<u8>)> {
        let mut matches = reader.matches(record.position());
        let mut found = Vec::new();
        while let Some(record) = matches.next_encoded() {
            let record = record.unwrap();
            found.push((record.number(), record.bytes().to_vec()));
        }
        found
    }

    fn batch(reader: &Reader, records: &[EpdRecord]) -> Vec<(usize, u64, Vec<u8>)> {
        let mut found = Vec::new();
        let queries = records.iter().map(EpdRecord::position);
        reader
            .get_batch(queries, |place, record| {
                found.push((place, record.number(), record.bytes().to_vec()));
                Ok::<_, StoreError>(ControlFlow::Continue(()))
            })
            .unwrap();
        found.sort_unstable();
        found
    }

    #[test]
    fn the_map_and_redb_give_the_same_records() {
        let folder = tempfile::tempdir().unwrap();
        for (records, crowd) in [(0, 0), (1, 0), (700, 3), (30_000, 4000)] {
            let path = folder.path().join(format!("{records}.epdb"));
            write_store(&path, records, crowd);
            let (mapped, cached) = readers(&path);
            let queries: Vec<_> =
                (0..32_768).step_by(13).chain([7]).map(|number| record(number, "")).collect();
            // Twice: the first lookup of a block finds its place, and the second one knows it.
            for _ in 0..2 {
                for query in &queries {
                    assert_eq!(found(&mapped, query), found(&cached, query));
                }
                let of_batch = batch(&mapped, &queries);
                assert_eq!(of_batch, batch(&cached, &queries));
                assert!(records < 30_000 || of_batch.len() > 4000 + 30_000 / 13);
            }
            let all = |reader: &Reader| {
                let by_key: Vec<_> = reader.by_key().map(|record| record.unwrap()).collect();
                let by_import: Vec<_> = reader.by_import().map(|record| record.unwrap()).collect();
                (by_key, by_import)
            };
            assert_eq!(all(&mapped), all(&cached));
            assert_eq!(mapped.len(), (records + crowd) as u64);
        }
    }

    /// Copies of directories come out of the memory budget, and a reader without memory needs none.
    #[test]
    fn directories_are_kept_within_the_budget() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.epdb");
        write_store(&path, 30_000, 0);
        let (rich, _) = readers(&path);
        let (poor, cached) = readers(&path);
        let left = |reader: &Reader| reader.shared.cache_left.load(Ordering::Relaxed);
        let all = left(&rich);
        poor.shared.cache_left.store(0, Ordering::Relaxed);
        for _ in 0..2 {
            for query in (0..30_000).step_by(41).map(|number| record(number, "")) {
                let expected = found(&cached, &query);
                assert_eq!(found(&rich, &query), expected);
                assert_eq!(found(&poor, &query), expected);
            }
        }
        assert_eq!(left(&poor), 0);
        assert!(left(&rich) < all - 30_000 / 12 * 4, "{all}, {}", left(&rich));
        let shared = Arc::clone(&rich.shared);
        drop(rich);
        assert_eq!(shared.cache_left.load(Ordering::Relaxed), all);
    }

    /// A batch that comes first finds each block only once it needs it.
    #[test]
    fn a_batch_on_a_new_reader_finds_all_blocks() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.epdb");
        write_store(&path, 20_000, 0);
        let (mapped, cached) = readers(&path);
        let queries: Vec<_> = (0..20_000).map(|number| record(number, "")).collect();
        assert_eq!(batch(&mapped, &queries), batch(&cached, &queries));
    }

    /// If the file is cut off while it is mapped, reading gives errors that name the place.
    #[test]
    fn a_file_that_is_cut_off_gives_errors() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cut.epdb");
        write_store(&path, 30_000, 400);
        for (is_warm, len) in [(false, 0), (true, 0), (true, 100_000), (true, 300_001)] {
            write_again(&path);
            let store = Store::open_read_only(&path, &StoreOptions::default()).unwrap();
            let reader = store.reader().unwrap();
            let queries: Vec<_> = (0..30_000).step_by(31).map(|n| record(n, "")).collect();
            if is_warm {
                queries.iter().for_each(|query| assert_eq!(found(&reader, query).len(), 1));
            }
            OpenOptions::new().write(true).open(&path).unwrap().set_len(len).unwrap();
            let mut errors = 0;
            for query in &queries {
                match reader.first(query.position()) {
                    Ok(found) => assert_eq!(found.unwrap().record.position(), query.position()),
                    Err(error) => {
                        let message = error.to_string();
                        assert!(
                            message.contains("byte ") && message.contains("cut off"),
                            "{message}"
                        );
                        errors += 1;
                    }
                }
            }
            assert!(errors > 100, "{errors}");
            let error = reader.by_key().find_map(|record| record.err()).unwrap();
            assert!(error.to_string().contains("cut off"), "{error}");
        }
    }

    /// Replaces a file by a copy, so that its old bytes are there again.
    fn write_again(path: &Path) {
        let sound = path.with_extension("sound");
        if !sound.exists() {
            std::fs::copy(path, &sound).unwrap();
        }
        std::fs::remove_file(path).unwrap();
        std::fs::copy(sound, path).unwrap();
    }

    /// A forked child reads on, and does not release the locks of its parent.
    #[cfg(target_os = "linux")]
    #[allow(unsafe_code)]
    #[test]
    fn a_forked_child_keeps_the_locks_of_its_parent() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("forked.epdb");
        write_store(&path, 5000, 0);
        let store = Store::open_read_only(&path, &StoreOptions::default()).unwrap();
        let reader = store.reader().unwrap();
        // SAFETY: the child allocates memory, which glibc allows after a fork, takes no lock that
        // another thread may hold, and ends without running anything of its parent.
        unsafe {
            match libc::fork() {
                0 => {
                    let is_found = reader.contains(record(17, "").position()).unwrap_or(false);
                    let is_refused = matches!(store.reader(), Err(StoreError::Busy { .. }));
                    drop((reader, store));
                    libc::_exit(i32::from(!is_found || !is_refused));
                }
                child => {
                    let mut status = -1;
                    assert_eq!(libc::waitpid(child, &mut status, 0), child);
                    assert_eq!(status, 0);
                }
            }
        }
        let writer = Store::open(&path, &StoreOptions::default()).unwrap();
        for round in 0..10 {
            let options =
                ImportOptions { on_duplicate: crate::OnDuplicate::Replace, ..Default::default() };
            let mut importer = writer.importer(&format!("{round}"), &options).unwrap();
            (0..5000).for_each(|number| importer.push(&record(number, "")).unwrap());
            importer.finish().unwrap();
        }
        let numbers: Vec<_> =
            reader.by_import().map(|record| record.unwrap().import_number).collect();
        assert!(numbers.into_iter().eq(0..5000));
    }
}

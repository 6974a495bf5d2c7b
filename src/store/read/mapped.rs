//! The blocks of a store that is open for reading only. They are read from the mapped file, through
//! redb's pages but without its cache.
// For a record of 36 bytes, redb copies the page of its block, 64 KiB, into its cache. With 10 million
// records, a lookup then took 16.8 µs, and 2.2 µs in the map.

use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::block::{Block, Damage, KeySlot};
use crate::error::{Result, damaged};
use crate::pages::{self, FileSnapshot, NumberedTree};
use epdb_base::mapped_file::MappedFile;
use epdb_chess::simd::prefetch;

/// The blocks of a snapshot in the mapped file.
pub(super) struct MappedBlocks {
    file: MappedFile,
    tree: NumberedTree,
    /// Checksum of the header of each block.
    checks: Vec<u32>,
    /// [`BlockPlace`] of each block whose header and directory were checked; 0 for other blocks.
    places: Box<[AtomicU64]>,
}

impl MappedBlocks {
    /// Maps the file of a store; `None` if the table of blocks is not found, so that redb has to read
    /// the file. A transaction of the snapshot must live as long as the blocks.
    pub(super) fn open(
        snapshot: &FileSnapshot,
        path: &Path,
        checks: Vec<u32>,
    ) -> Result<Option<MappedBlocks>> {
        let file = MappedFile::new(&snapshot.file, path)?;
        let Some(tree) = pages::blocks_tree(&file, &snapshot.header)? else { return Ok(None) };
        if file.has_fault() {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
        }
        let places = checks.iter().map(|_| AtomicU64::new(0)).collect();
        Ok(Some(MappedBlocks { file, tree, checks, places }))
    }

    /// Returns a block whose header and directory were checked, now or before.
    #[inline]
    pub(super) fn get(&self, number: u64) -> Result<Block<'_>> {
        match self.known(number) {
            Some(block) => Ok(block),
            None => self.find_and_remember(number),
        }
    }

    /// Returns a block that was checked before.
    #[inline]
    pub(super) fn known(&self, number: u64) -> Option<Block<'_>> {
        let place = self.place(number)?;
        let data_start = place.start + Block::data_start_of(place.buckets);
        let head = self.file.bytes(place.start..data_start)?;
        let end = data_start + Block::data_len(head)?;
        Block::checked_before(number, self.file.bytes(place.start..end)?, place.buckets)
    }

    #[inline]
    fn place(&self, number: u64) -> Option<BlockPlace> {
        let place = self.places.get(usize::try_from(number).ok()?)?;
        BlockPlace::unpack(place.load(Ordering::Relaxed))
    }

    /// Prefetches the parts of a known block that lead to the bucket of a key. `fraction` is the
    /// place of the key within the key range of the block.
    #[inline]
    pub(super) fn prefetch(&self, number: u64, fraction: u64) {
        let Some(BlockPlace { start, buckets }) = self.place(number) else { return };
        let slot = KeySlot::from_fraction(fraction, buckets);
        let end = start + Block::data_start_of(buckets);
        for at in [start, start + Block::directory_entry_of(slot.bucket), end - 1] {
            if let Some([byte, ..]) = self.file.bytes(at..end) {
                prefetch(byte);
            }
        }
    }

    #[cold]
    fn find_and_remember(&self, number: u64) -> Result<Block<'_>> {
        let (block, start) = self.find(number)?;
        let place = BlockPlace { start, buckets: block.buckets() };
        let slot = usize::try_from(number).ok().and_then(|number| self.places.get(number));
        if let (Some(slot), Some(packed)) = (slot, place.pack()) {
            slot.store(packed, Ordering::Relaxed);
        }
        Ok(block)
    }

    /// Finds a block through the pages, and checks its header and directory.
    pub(super) fn load(&self, number: u64) -> Result<Block<'_>> {
        self.find(number).map(|(block, _)| block)
    }

    /// A checked block and its offset in the file.
    fn find(&self, number: u64) -> Result<(Block<'_>, usize)> {
        let damage = |damage: Damage| damaged(format!("block {number}"), damage.0);
        let missing = || damage(Damage("it is missing"));
        let range = self.tree.find(number, |range| self.file.bytes(range))?.ok_or_else(missing)?;
        let announced = usize::try_from(number).ok().and_then(|number| self.checks.get(number));
        let announced = *announced.ok_or_else(missing)?;
        let Range { start, .. } = range;
        let block = Block::new(number, self.file.bytes(range).ok_or_else(missing)?);
        let checked = block.and_then(|block| block.check(announced).map(|()| block));
        checked.map(|block| (block, start)).map_err(damage)
    }

    /// The file.
    pub(super) fn file(&self) -> &MappedFile {
        &self.file
    }
}

/// The place of a block in the file, which takes eight bytes in memory. The number of buckets is part
/// of the place, so that a lookup finds the entry of its bucket in the directory before it has read
/// the header.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
struct BlockPlace {
    /// Offset of the block in the file.
    start: usize,
    buckets: u32,
}

impl BlockPlace {
    /// Bits of the number of buckets. 44 bits are left for the offset: 16 TiB.
    const BUCKET_BITS: u32 = 20;

    /// The place as a number, never 0; `None` if it does not fit.
    fn pack(self) -> Option<u64> {
        let start = u64::try_from(self.start).ok()?;
        let fits = start.leading_zeros() >= Self::BUCKET_BITS
            && (1..1 << Self::BUCKET_BITS).contains(&self.buckets);
        fits.then_some(start << Self::BUCKET_BITS | u64::from(self.buckets))
    }

    #[inline]
    fn unpack(packed: u64) -> Option<BlockPlace> {
        let start = usize::try_from(packed >> Self::BUCKET_BITS).ok()?;
        let buckets = (packed & ((1 << Self::BUCKET_BITS) - 1)) as u32;
        (buckets > 0).then_some(BlockPlace { start, buckets })
    }
}

#[cfg(all(test, unix))]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs::OpenOptions;
    use std::num::NonZeroU64;
    use std::ops::ControlFlow;
    use std::sync::Arc;

    use super::*;
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

    #[test]
    fn places_take_eight_bytes() {
        for (start, buckets) in [(16, 1), (4112, 150), ((1 << 44) - 1, (1 << 20) - 1)] {
            let place = BlockPlace { start, buckets };
            assert_eq!(BlockPlace::unpack(place.pack().unwrap()), Some(place));
        }
        for (start, buckets) in [(16, 0), (16, 1 << 20), (1 << 44, 1)] {
            assert_eq!(BlockPlace { start, buckets }.pack(), None);
        }
        assert_eq!(BlockPlace::unpack(0), None);
    }
}

//! The games that a library counts: each is found by a table and one group of digests.

use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use epdb_archive::ReadRanges;
use epdb_chess::codec::tally_origin::{
    GameDigest, GameDigests, TallyLedger, TallyOrigin, copy_rank_of, digest_of, with_copy_rank,
};

use super::*;

/// A library without records that counts this number of games.
fn library(games: u32) -> Vec<u8> {
    let mut digests = GameDigests::default();
    for nth in 0..games {
        digests.insert(digest(nth));
    }
    let mut writer = ArchiveWriter::new(Vec::new(), PackOptions::default()).unwrap();
    writer.set_tally_ledger(TallyLedger { origin: TallyOrigin::default(), games: Some(digests) });
    writer.finish().unwrap()
}

fn digest(nth: u32) -> GameDigest {
    digest_of(blake3::hash(&nth.to_le_bytes()).as_bytes(), nth)
}

#[test]
fn each_game_is_found_with_its_copy_rank() {
    for games in [0, 1, 1023, 1024, 1025, 5000] {
        let archive = Archive::from_bytes(library(games)).unwrap();
        archive.verify().unwrap();
        assert_eq!(archive.tally_origin().unwrap().unwrap().1, Some(games.into()));
        for nth in 0..games + 100 {
            let found = archive.counted_game(&with_copy_rank(digest(nth), 0)).unwrap();
            assert_eq!(found.as_ref().map(copy_rank_of), (nth < games).then_some(nth));
        }
    }
}

/// Damage of a group is an error for its games, and for no others.
#[test]
fn games_of_sound_groups_are_found() {
    let (games, sound) = (5000, library(5000));
    let section = Archive::from_bytes(sound.clone()).unwrap().parts();
    let section = section.into_iter().find(|part| part.name == "digests of games").unwrap();
    let mut bytes = sound;
    bytes[section.offset as usize + 1500 * 16 + 3] ^= 4;
    let archive = Archive::from_bytes(bytes).unwrap();
    let mut damaged = 0;
    for nth in 0..games {
        match archive.counted_game(&digest(nth)) {
            Ok(found) => assert_eq!(found, Some(digest(nth))),
            Err(error) => {
                assert_eq!(error.to_string(), "damaged: digests of games 1");
                damaged += 1;
            }
        }
    }
    assert_eq!(damaged, 1024);
    assert!(archive.verify().is_err() && archive.tally_ledger().is_err());
}

#[derive(Debug)]
struct Counted {
    bytes: Vec<u8>,
    read: AtomicU64,
}

impl ReadRanges for Counted {
    fn size(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn read_ranges(&self, ranges: &[Range<u64>]) -> io::Result<Vec<Vec<u8>>> {
        let read = |range: &Range<u64>| {
            self.read.fetch_add(range.end - range.start, Ordering::Relaxed);
            self.bytes[range.start as usize..range.end as usize].to_vec()
        };
        Ok(ranges.iter().map(read).collect())
    }

    fn prefetch(&self, _: &[Range<u64>]) -> io::Result<()> {
        Ok(())
    }
}

/// A library of another machine is asked for a game without reading the digests of all others.
#[test]
fn a_game_is_found_by_little_of_the_file() {
    let file = Arc::new(Counted { bytes: library(100_000), read: AtomicU64::new(0) });
    let archive = Archive::from_ranges(Arc::clone(&file) as Arc<dyn ReadRanges>).unwrap();
    assert_eq!(archive.counted_game(&digest(7)).unwrap(), Some(digest(7)));
    let read = file.read.load(Ordering::Relaxed);
    assert!(read < 200_000, "{read} bytes of {}", file.bytes.len());
}

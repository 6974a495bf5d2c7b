//! Batches of incoming records. Records are collected until the memory budget is used up, and are
//! then sorted by key.

use std::io::{self, Write};

use rayon::slice::ParallelSliceMut;

use crate::options::with_capacity;
use epdb_base::spill::write_record;
use epdb_chess::codec::error::EncodeError;
use epdb_chess::codec::record;
use epdb_chess::model::EpdRecord;

/// A record that is being imported.
#[derive(Copy, Clone, Debug)]
pub(super) struct Incoming {
    pub(super) key: u64,
    /// Offset of the record in the arena; [`Incoming::DISCARDED`] if it will not be stored.
    at: u32,
    /// Place among the records of the batch.
    pub(super) nth: u32,
}

impl Incoming {
    const DISCARDED: u32 = u32::MAX;

    pub(super) fn discard(&mut self) {
        self.at = Incoming::DISCARDED;
    }

    pub(super) fn is_discarded(&self) -> bool {
        self.at == Incoming::DISCARDED
    }
}

/// The bytes of all incoming records, one after another.
pub(super) struct Arena(Vec<u8>);

impl Arena {
    /// The encoded record; empty if the record is discarded.
    pub(super) fn record(&self, new: &Incoming) -> &[u8] {
        if new.is_discarded() {
            return &[];
        }
        let Some((len, rest)) =
            self.0.get(new.at as usize..).and_then(|rest| rest.split_first_chunk())
        else {
            return &[];
        };
        rest.get(..u32::from_le_bytes(*len) as usize).unwrap_or_default()
    }

    /// Touches all records first, because they are scattered over the arena: their cache misses
    /// then overlap. Without this step, waiting for one miss after the other would take half the
    /// time of a merge.
    pub(super) fn prefetch(&self, incoming: &[Incoming]) {
        let byte = |at: usize| self.0.get(at).copied().unwrap_or_default();
        let seen = incoming.iter().fold(0, |seen, new| {
            let at = new.at as usize;
            seen ^ byte(at) ^ byte(at + 32)
        });
        std::hint::black_box(seen);
    }

    /// The packed identity board of a record.
    pub(super) fn board(&self, new: &Incoming) -> &[u8] {
        record::board_of(self.record(new)).unwrap_or_default()
    }
}

/// The largest offset at which another record may begin.
const MAX_BYTES: usize = Incoming::DISCARDED as usize - record::MAX_LEN - 8;

/// Number of records that are touched together before they are written.
const PREFETCHED: usize = 256;

/// Incoming records within a budget of memory.
pub(super) struct Batch {
    pub(super) arena: Arena,
    pub(super) index: Vec<Incoming>,
    limit: usize,
}

impl Batch {
    /// A batch of at most `limit` bytes. The address space is reserved at once; it takes no memory
    /// until it is written to.
    pub(super) fn new(limit: usize) -> Batch {
        let limit = limit.min(MAX_BYTES);
        let arena = Arena(with_capacity(limit));
        Batch { arena, index: with_capacity(limit / 32), limit }
    }

    pub(super) fn push(&mut self, key: u64, record: &EpdRecord) -> Result<(), EncodeError> {
        self.put(key, |bytes| record::encode(record, bytes))
    }

    pub(super) fn push_encoded(&mut self, key: u64, record: &[u8]) -> Result<(), EncodeError> {
        self.put(key, |bytes| {
            bytes.extend_from_slice(record);
            Ok(())
        })
    }

    /// Adds an encoded record whose place among all records is known.
    pub(super) fn push_numbered(
        &mut self,
        key: u64,
        nth: u32,
        record: &[u8],
    ) -> Result<(), EncodeError> {
        self.put(key, |bytes| {
            bytes.extend_from_slice(record);
            Ok(())
        })?;
        if let Some(last) = self.index.last_mut() {
            last.nth = nth;
        }
        Ok(())
    }

    /// Writes the records as a run, in the order of their keys. `first` is the place of the first record
    /// of the batch among all records that wait.
    pub(super) fn write_run(&mut self, first: u32, out: &mut impl Write) -> io::Result<()> {
        self.sort_by_key();
        for part in self.index.chunks(PREFETCHED) {
            self.arena.prefetch(part);
            for new in part {
                let nth = (first + new.nth).to_le_bytes();
                write_record(out, &new.key.to_be_bytes(), [&nth, self.arena.record(new)])?;
            }
        }
        Ok(())
    }

    fn put(
        &mut self,
        key: u64,
        encode: impl FnOnce(&mut Vec<u8>) -> Result<(), EncodeError>,
    ) -> Result<(), EncodeError> {
        let bytes = &mut self.arena.0;
        let at = bytes.len();
        if at > MAX_BYTES {
            let what = "bytes of records in a commit";
            let limit = MAX_BYTES as u64;
            return Err(EncodeError::LimitExceeded { what, found: at as u64, limit });
        }
        // Room for the length, which is known only after the record is encoded.
        bytes.extend_from_slice(&0_u32.to_le_bytes());
        let start = bytes.len();
        if let Err(error) = encode(bytes) {
            bytes.truncate(at);
            return Err(error);
        }
        let len = (bytes.len() - start) as u32;
        bytes[at..start].copy_from_slice(&len.to_le_bytes());
        let nth = self.index.len() as u32;
        self.index.push(Incoming { key, at: at as u32, nth });
        Ok(())
    }

    pub(super) fn is_full(&self) -> bool {
        self.arena.0.len() + self.index.len() * size_of::<Incoming>() >= self.limit
    }

    pub(super) fn len(&self) -> usize {
        self.index.len()
    }

    pub(super) fn record_bytes(&self) -> usize {
        self.arena.0.len() - 4 * self.index.len()
    }

    /// Sorts the index by key, packed board and place in the batch.
    pub(super) fn sort(&mut self) {
        self.sort_by_key();
        self.sort_boards();
    }

    /// Sorts the index by key and place in the batch.
    fn sort_by_key(&mut self) {
        self.index.par_sort_unstable_by_key(|new| (new.key, new.nth));
    }

    /// Sorts the records of each key by their packed boards. The index must be sorted by key and place.
    pub(super) fn sort_boards(&mut self) {
        let arena = &self.arena;
        for run in self.index.chunk_by_mut(|a, b| a.key == b.key) {
            let Some((first, rest)) = run.split_first() else { continue };
            if rest.iter().any(|new| arena.board(new) != arena.board(first)) {
                run.sort_by(|a, b| arena.board(a).cmp(arena.board(b)));
            }
        }
    }

    pub(super) fn clear(&mut self) {
        self.arena.0.clear();
        self.index.clear();
    }
}

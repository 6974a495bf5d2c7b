//! The records of a crowded position, which are in chunks apart from its block.

use std::ops::Range;

use redb::OwnedRange;

use super::block::{Damage, Payload, Stub, chunk};
use super::error::{damaged, guarded};
use super::reader::{Guard, range_in, sized};
use super::schema::Digest;
use super::{Shared, StoreError};
use crate::codec::record;

type Result<T> = std::result::Result<T, StoreError>;

/// Iterator over the records of a crowded position, chunk by chunk. At the end what was read is
/// compared with what the stub announces.
pub(super) struct Crowd {
    key: u64,
    board: Vec<u8>,
    announced: Contents,
    found: Contents,
    chunks: Option<OwnedRange<&'static [u8], &'static [u8]>>,
    /// The chunk in hand, its checksum checked, and the place behind the last entry given.
    chunk: Option<(Guard, (usize, usize))>,
    last_number: Option<u64>,
}

/// What the chunks of a position hold.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Contents {
    pub(super) chunks: u64,
    pub(super) records: u64,
    pub(super) bytes: u64,
    first_crc: u32,
    pub(super) digest: Digest,
}

impl Contents {
    /// What a stub says of its chunks, of their number nothing.
    fn of_stub(stub: &Stub) -> Contents {
        let Stub { records, bytes, first_crc, digest, .. } = *stub;
        Contents { chunks: 0, records, bytes, first_crc, digest }
    }
}

/// The number of a record, and its place in the chunk in hand.
type Located = (u64, Range<usize>);

impl Crowd {
    /// The chunks, from the first to the last, and what their stub says of them.
    pub(super) fn new(
        key: u64,
        stub: Stub,
        chunks: OwnedRange<&'static [u8], &'static [u8]>,
    ) -> Crowd {
        let (announced, found) = (Contents::of_stub(&stub), Contents::default());
        let board = stub.board.to_vec();
        let (chunks, chunk, last_number) = (Some(chunks), None, None);
        Crowd { key, board, announced, found, chunks, chunk, last_number }
    }

    /// The next record; after the last one, or an error, there are no more.
    pub(super) fn advance(&mut self, shared: &Shared) -> Result<Option<Located>> {
        let found = self.step(shared);
        if !matches!(found, Ok(Some(_))) {
            (self.chunks, self.chunk) = (None, None);
        }
        found
    }

    fn step(&mut self, shared: &Shared) -> Result<Option<Located>> {
        loop {
            if let Some(record) = self.next_of_chunk().map_err(|what| self.damaged(what, shared))? {
                return Ok(Some(record));
            }
            let Some(chunks) = &mut self.chunks else { return Ok(None) };
            let next = guarded(&shared.path, || {
                let next = chunks.next().transpose()?;
                Ok(next.map(|(key, chunk)| (key.value().to_vec(), sized(chunk))))
            })?;
            let opened = match next {
                Some((key, guard)) => self.open(&key, guard).map(|()| true),
                None => self.compare().map(|()| false),
            };
            if !opened.map_err(|what| self.damaged(what, shared))? {
                return Ok(None);
            }
        }
    }

    fn open(&mut self, key: &[u8], guard: Guard) -> std::result::Result<(), Damage> {
        let bytes = guard.value();
        let crc = chunk::read(self.key, bytes)?.crc();
        if self.found.chunks == 0 {
            self.found.first_crc = crc;
            if crc != self.announced.first_crc {
                return Err(Damage("its block knows another first chunk"));
            }
        }
        self.found.chunks += 1;
        self.found.digest.add(Digest::of_chunk(key, bytes));
        self.chunk = Some((guard, (0, 0)));
        Ok(())
    }

    fn next_of_chunk(&mut self) -> std::result::Result<Option<Located>, Damage> {
        let Some((guard, place)) = &mut self.chunk else { return Ok(None) };
        let bytes = guard.value();
        let mut entries = chunk::bucket(bytes)?.entries_from(*place);
        let Some(entry) = entries.next().transpose()? else {
            self.chunk = None;
            return Ok(None);
        };
        let Payload::Record(record) = entry.payload else {
            return Err(Damage("a chunk holds a stub"));
        };
        if !record::board_of(record).is_ok_and(|board| board == self.board) {
            return Err(Damage("a record of another position"));
        }
        if self.last_number.is_some_and(|last| last >= entry.import_number) {
            return Err(Damage("records are out of order"));
        }
        *place = entries.place();
        self.last_number = Some(entry.import_number);
        self.found.records += 1;
        self.found.bytes += record.len() as u64;
        Ok(Some((entry.import_number, range_in(bytes, record))))
    }

    /// Holds what was read against what the stub announces.
    fn compare(&self) -> std::result::Result<(), Damage> {
        if (Contents { chunks: 0, ..self.found }) == self.announced {
            Ok(())
        } else {
            Err(Damage("its block announces other records than there are"))
        }
    }

    /// What was read so far.
    pub(super) fn contents(&self) -> Contents {
        self.found
    }

    /// The bytes at a place of the chunk in hand.
    pub(super) fn bytes(&self, place: Range<usize>) -> Option<&[u8]> {
        self.chunk.as_ref()?.0.value().get(place)
    }

    fn damaged(&self, damage: Damage, shared: &Shared) -> StoreError {
        damaged(format!("crowded position {:016x}", self.key), damage.0).into_error(&shared.path)
    }
}

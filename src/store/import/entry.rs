//! Entries on their way from one version of a block into the next.

use std::ops::Range;

use crate::codec::record;
use crate::store::block::{Block, Damage, Payload, Stub, range_in};
use crate::store::crowd::PositionId;
use crate::store::error::{Result, damaged};
use crate::store::keys::{KeyFunction, key_of_board};

/// A block read for merging: its bytes, and its entries with their whole keys.
pub(super) struct LoadedBlock {
    pub(super) bytes: Vec<u8>,
    pub(super) entries: Vec<LoadedEntry>,
}

/// An entry by its places in the bytes of its block.
pub(super) struct LoadedEntry {
    pub(super) key: u64,
    import_number: u64,
    payload: LoadedPayload,
}

enum LoadedPayload {
    Record(Range<usize>),
    Stub { board: Range<usize>, stub: Stub<'static> },
}

/// An entry on its way into a block.
pub(super) struct MergedEntry<'b> {
    pub(super) key: u64,
    pub(super) import_number: u64,
    pub(super) payload: MergedPayload<'b>,
}

pub(super) enum MergedPayload<'b> {
    Kept(Payload<'b>),
    Updated(Vec<u8>),
}

impl LoadedBlock {
    /// Checks all of a block; `announced` is what the store keeps of its header.
    pub(super) fn new(
        key: KeyFunction,
        number: u64,
        announced: Option<u32>,
        bytes: Option<Vec<u8>>,
    ) -> Result<LoadedBlock> {
        let damage = |what: &str| damaged(format!("block {number}"), what);
        let bytes = bytes.ok_or_else(|| damage("it is missing"))?;
        let announced = announced.ok_or_else(|| damage("it is one too many"))?;
        let block = Block::new(number, &bytes).map_err(|Damage(what)| damage(what))?;
        let mut entries = Vec::with_capacity(block.entry_count().min(1 << 16) as usize);
        let mut is_keyless = false;
        block
            .each_entry(announced, |_, entry| {
                let (board, payload) = match entry.payload {
                    Payload::Record(record) => (
                        record::board_of(record).unwrap_or_default(),
                        LoadedPayload::Record(range_in(&bytes, record)),
                    ),
                    Payload::Stub(stub) => {
                        let board = range_in(&bytes, stub.board);
                        let payload =
                            LoadedPayload::Stub { board, stub: Stub { board: &[], ..stub } };
                        (stub.board, payload)
                    }
                };
                let key = key_of_board(key, board);
                is_keyless |= key.is_none();
                let key = key.unwrap_or_default();
                entries.push(LoadedEntry { key, import_number: entry.import_number, payload });
            })
            .map_err(|Damage(what)| damage(what))?;
        if is_keyless {
            return Err(damage("a record has no board"));
        }
        Ok(LoadedBlock { bytes, entries })
    }

    /// An entry of the block as it is.
    pub(super) fn kept<'b>(&'b self, entry: &'b LoadedEntry) -> MergedEntry<'b> {
        let part = |range: &Range<usize>| self.bytes.get(range.clone()).unwrap_or_default();
        let payload = match &entry.payload {
            LoadedPayload::Record(range) => Payload::Record(part(range)),
            LoadedPayload::Stub { board, stub } => {
                Payload::Stub(Stub { board: part(board), ..*stub })
            }
        };
        let (key, import_number) = (entry.key, entry.import_number);
        MergedEntry { key, import_number, payload: MergedPayload::Kept(payload) }
    }
}

impl<'b> MergedEntry<'b> {
    /// The stub of a crowded position.
    pub(super) fn of_stub(position: PositionId<'b>, stub: Stub<'b>) -> MergedEntry<'b> {
        let payload = MergedPayload::Kept(Payload::Stub(stub));
        MergedEntry { key: position.key, import_number: 0, payload }
    }

    pub(super) fn payload(&self) -> Payload<'_> {
        match &self.payload {
            MergedPayload::Kept(payload) => *payload,
            MergedPayload::Updated(bytes) => Payload::Record(bytes),
        }
    }

    /// The encoded record; empty for a stub.
    pub(super) fn record(&self) -> &[u8] {
        match self.payload() {
            Payload::Record(record) => record,
            Payload::Stub(_) => &[],
        }
    }

    /// The packed identity board.
    pub(super) fn board(&self) -> &[u8] {
        match self.payload() {
            Payload::Record(record) => record::board_of(record).unwrap_or_default(),
            Payload::Stub(stub) => stub.board,
        }
    }
}

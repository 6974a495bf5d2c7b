//! Verification of overflow positions: the stubs in the blocks are compared with the chunks of
//! records.

use std::collections::HashMap;

use super::{OTHER_RECORDS, OverflowContents, PositionId, open_chunk, split_chunk_key};
use crate::block::{Damage, Payload, Stub};
use crate::findings::{RecordCheck, VerifyFindings};
use crate::options::{KeyFunction, key_of_board};
use crate::schema::Digest;
use epdb_chess::codec::record;

/// Key and board of a position.
type OwnedId = (u64, Vec<u8>);

/// Contents of the overflow positions (positions with more records than fit into a block). One map
/// has the contents according to the stubs, another has the contents that were found in the chunks.
#[derive(Default)]
pub(crate) struct OverflowCheck {
    announced: HashMap<OwnedId, OverflowContents>,
    found: HashMap<OwnedId, FoundOverflow>,
    /// Number of rows of the table of chunks.
    pub chunks: u64,
    pub digest: Digest,
}

#[derive(Default)]
struct FoundOverflow {
    contents: OverflowContents,
    last_number: Option<u64>,
}

impl OverflowCheck {
    /// Number of overflow positions that have a stub in a block.
    pub(crate) fn stubs(&self) -> u64 {
        self.announced.len() as u64
    }

    /// Adds the stub of a position; false if the position already has a stub.
    pub(crate) fn announce(&mut self, key: u64, stub: &Stub) -> bool {
        let announced = OverflowContents::from_stub(stub);
        self.announced.insert((key, stub.board.to_vec()), announced).is_none()
    }

    /// Checks a row of the table of chunks.
    pub(crate) fn chunk(
        &mut self,
        map: KeyFunction,
        row_key: &[u8],
        bytes: &[u8],
        records: &mut RecordCheck,
        findings: &mut VerifyFindings,
    ) {
        let Some((PositionId { key, board }, first)) = split_chunk_key(row_key) else {
            return findings.add("overflow positions", "a key is too short");
        };
        let place = place_of(key);
        if key_of_board(map, board) != Some(key) {
            findings.add(&place, "its board has another key");
        }
        let bucket = match open_chunk(key, bytes) {
            Ok(bucket) => bucket,
            Err(Damage(what)) => return findings.add(place, what),
        };
        self.chunks += 1;
        self.digest.add(Digest::from_chunk(row_key, bytes));
        let found = self.found.entry((key, board.to_vec())).or_default();
        found.contents.add_chunk(row_key, bytes, &bucket);
        for entry in bucket.entries() {
            let (fingerprint, number, bytes) = match entry {
                Err(Damage(what)) => return findings.add(place, what),
                Ok(entry) => match entry.payload {
                    Payload::Record(bytes) => (entry.fingerprint, entry.import_number, bytes),
                    Payload::Stub(_) => return findings.add(place, "a chunk holds a stub"),
                },
            };
            if fingerprint != 0 {
                findings.add(&place, "a fingerprint in a chunk is not 0");
            }
            records.check(&place, number, bytes, findings);
            if record::board_of(bytes).ok() != Some(board) {
                findings.add(&place, "a record of another position");
            }
            if number < first || found.last_number.is_some_and(|last| last >= number) {
                findings.add(&place, "records are out of order");
            }
            found.last_number = Some(number);
            found.contents.add_record(bytes);
        }
    }

    /// Compares stubs and chunks. Call this after all stubs and all chunks were added.
    pub(crate) fn compare(&self, findings: &mut VerifyFindings) {
        for (position, announced) in &self.announced {
            let found = self.found.get(position);
            if !found.is_some_and(|found| found.contents.agrees_with(announced)) {
                findings.add(place_of(position.0), OTHER_RECORDS);
            }
        }
        for position in self.found.keys() {
            if !self.announced.contains_key(position) {
                findings.add(place_of(position.0), "its block has no stub of it");
            }
        }
    }
}

fn place_of(key: u64) -> String {
    format!("overflow position {key:016x}")
}

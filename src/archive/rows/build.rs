//! Building of a segment of rows (records of fixed size).

use zerocopy::IntoBytes;

use super::directory::Further;
use super::row::{FastRow, HAS_FURTHER, MAX_PLACE, in_heap, inline};
use crate::error::ArchiveError;
use crate::file::check;
use epdb_chess::codec::{packed, record};
use epdb_chess::model::EpdRecord;

/// Records of an unfinished segment.
#[derive(Default)]
pub(crate) struct RowSegmentBuilder {
    rows: Vec<FastRow>,
    heap: Vec<u8>,
}

/// The encoded rows of a segment.
pub(crate) struct EncodedRows {
    pub identity: u32,
    rows: Vec<FastRow>,
    pub heap: Vec<u8>,
}

impl EncodedRows {
    /// The bytes of the rows.
    pub(crate) fn rows(&self) -> &[u8] {
        self.rows.as_bytes()
    }
}

impl RowSegmentBuilder {
    /// Memory in bytes.
    pub(crate) fn memory_used(&self) -> usize {
        size_of_val(&self.rows[..]) + self.heap.len()
    }

    /// Adds a record. `further` is the range of further records with the same key. If there is such
    /// a range, or if the record does not fit into a row, the record is put into the heap. The heap
    /// is the section for records of any length.
    pub(crate) fn push(
        &mut self,
        record: &EpdRecord,
        further: Option<Further>,
    ) -> Result<(), ArchiveError> {
        let identity = record.position().identity();
        let board = packed::encode(&identity);
        let board = board.as_plain().copied();
        let row = match (board, inline(record, &identity)) {
            (Some(board), Some(rest)) if further.is_none() => FastRow::new(board, rest),
            (board, _) => {
                let place = self.heap.len() as u64;
                if place > MAX_PLACE {
                    return Err(ArchiveError::LimitExceeded {
                        what: "bytes of records that do not fit into rows",
                        found: place,
                        limit: MAX_PLACE,
                    });
                }
                self.heap.extend_from_slice(&[0; 4]);
                self.heap.extend_from_slice(further.as_slice().as_bytes());
                record::encode(record, &mut self.heap)?;
                let has_further = if further.is_some() { HAS_FURTHER } else { 0 };
                let rest = in_heap(place, self.heap.len() - place as usize) | has_further;
                FastRow::new(board.unwrap_or_default(), rest)
            }
        };
        self.rows.push(row);
        Ok(())
    }

    /// Ends the segment and sets the checksums in its rows and heap. `first` is the number of its
    /// first record. The next record begins another segment.
    pub(crate) fn finish(&mut self, first: u64) -> EncodedRows {
        let RowSegmentBuilder { mut rows, mut heap } = std::mem::take(self);
        let identity = crc32c::crc32c_append(crc32c::crc32c(rows.as_bytes()), &heap);
        let starts: Vec<usize> =
            rows.iter().filter_map(|row| Some(row.place()? as usize)).collect();
        let mut ends = starts.iter().skip(1).copied().chain([heap.len()]);
        for (number, row) in (first..).zip(&mut rows) {
            row.seal(identity, number);
            if let (Some(start), Some(end)) = (row.place(), row.place().and_then(|_| ends.next()))
                && let Some((check, record)) =
                    heap[start as usize..end].split_first_chunk_mut::<4>()
            {
                *check = check::placed(identity, number, record).to_le_bytes();
            }
        }
        EncodedRows { identity, rows, heap }
    }
}

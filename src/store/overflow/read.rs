//! Reading the records of an overflow position.

use std::ops::Range;
use std::path::Path;

use redb::{OwnedRange, ReadOnlyTable};

use super::{OverflowContents, PositionId, open_chunk, record_of, reopen_chunk};
use crate::block::{BucketCursor, Damage, Stub, range_in};
use crate::error::{StoreError, damaged, guarded};
use crate::schema::{RowGuard, sized};
use epdb_chess::codec::record;

type Result<T> = std::result::Result<T, StoreError>;

/// Reader of the records of an overflow position, chunk by chunk. At the end the totals are
/// compared with the stub, the entry of the position in its block.
pub(crate) struct OverflowRecords {
    key: u64,
    board: Vec<u8>,
    announced: OverflowContents,
    found: OverflowContents,
    /// The remaining chunks; `None` at the end.
    chunks: Option<OwnedRange<&'static [u8], &'static [u8]>>,
    /// The current chunk, which was checked, and the place after the last returned entry.
    chunk: Option<(RowGuard, BucketCursor)>,
    last_number: Option<u64>,
}

/// Import number of a record, and its range in the current chunk.
type Located = (u64, Range<usize>);

impl OverflowRecords {
    /// Makes a reader for the position with this key and stub. `path` is for messages.
    pub(crate) fn new(
        path: &Path,
        table: &ReadOnlyTable<&'static [u8], &'static [u8]>,
        key: u64,
        stub: &Stub,
    ) -> Result<OverflowRecords> {
        let (first, last) = PositionId { key, board: stub.board }.chunk_keys();
        let chunks =
            guarded(path, || Ok(table.range_owned::<&[u8]>(first.as_slice()..=last.as_slice())?))?;
        Ok(OverflowRecords {
            key,
            board: stub.board.to_vec(),
            announced: OverflowContents::from_stub(stub),
            found: OverflowContents::default(),
            chunks: Some(chunks),
            chunk: None,
            last_number: None,
        })
    }

    /// The next record; `None` after the last one or after an error.
    pub(crate) fn advance(&mut self, path: &Path) -> Result<Option<Located>> {
        let located = self.next_located(path);
        if !matches!(located, Ok(Some(_))) {
            (self.chunks, self.chunk) = (None, None);
        }
        located
    }

    fn next_located(&mut self, path: &Path) -> Result<Option<Located>> {
        loop {
            if let Some(record) = self.next_of_chunk().map_err(|what| self.damaged(what, path))? {
                return Ok(Some(record));
            }
            let Some(chunks) = &mut self.chunks else { return Ok(None) };
            let next = guarded(path, || {
                let next = chunks.next().transpose()?;
                Ok(next.map(|(key, chunk)| (key.value().to_vec(), sized(chunk))))
            })?;
            let Some((row_key, guard)) = next else {
                let compared = self.found.compare(&self.announced);
                return compared.map(|()| None).map_err(|what| self.damaged(what, path));
            };
            self.open(&row_key, guard).map_err(|what| self.damaged(what, path))?;
        }
    }

    fn open(&mut self, row_key: &[u8], guard: RowGuard) -> std::result::Result<(), Damage> {
        let bytes = guard.value();
        self.found.add_chunk(row_key, bytes, &open_chunk(self.key, bytes)?);
        if !self.found.begins_as(&self.announced) {
            return Err(Damage("its first chunk is not that of its block"));
        }
        self.chunk = Some((guard, BucketCursor::default()));
        Ok(())
    }

    fn next_of_chunk(&mut self) -> std::result::Result<Option<Located>, Damage> {
        let Some((guard, cursor)) = &mut self.chunk else { return Ok(None) };
        let bytes = guard.value();
        let mut entries = reopen_chunk(bytes)?.entries_from(*cursor);
        let Some(entry) = entries.next().transpose()? else {
            self.chunk = None;
            return Ok(None);
        };
        let record = record_of(&entry)?;
        if !record::board_of(record).is_ok_and(|board| board == self.board) {
            return Err(Damage("a record of another position"));
        }
        if self.last_number.is_some_and(|last| last >= entry.import_number) {
            return Err(Damage("records are out of order"));
        }
        *cursor = entries.cursor();
        self.last_number = Some(entry.import_number);
        self.found.add_record(record);
        Ok(Some((entry.import_number, range_in(bytes, record))))
    }

    /// Totals of the records that were read so far.
    pub(crate) fn contents(&self) -> OverflowContents {
        self.found
    }

    /// The bytes of a range of the current chunk.
    pub(crate) fn bytes(&self, place: Range<usize>) -> Option<&[u8]> {
        self.chunk.as_ref()?.0.value().get(place)
    }

    fn damaged(&self, damage: Damage, path: &Path) -> StoreError {
        damaged(format!("overflow position {:016x}", self.key), damage.0).into_error(path)
    }
}

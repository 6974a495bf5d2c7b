//! The coder of a segment: decodes its blocks.

use std::borrow::Cow;
use std::sync::Arc;

use super::block::{self, Block, BlockRecords};
use super::{BlockSegment, EncodedBlock};
use crate::columns::Row;
use crate::error::{ArchiveError, Refusal};
use crate::file::bytes::take_sized;
use crate::file::ranges::ArchiveBytes;
use crate::file::sections::Section;
use crate::file::{CODER_SHIPPED, CODER_TREE, check};
use crate::move_links::ReadRows;
use crate::operations::InitialModel;
use crate::rans::RansDecoder;
use crate::tree::{self, PositionModel};

/// The coder of a segment, ready to decode.
pub(super) struct SegmentCoder {
    rows: RowCoder,
    /// Initial model for the operations of each block.
    operations: Arc<InitialModel>,
}

enum RowCoder {
    Tree(Box<PositionModel>),
    /// Position model that is built into epdb.
    Shipped(&'static PositionModel),
    /// Text under zstd, without a model.
    Text,
}

/// The bytes from which the coder of a segment is made. They are not checked yet.
pub(super) struct CoderBytes<'a> {
    model: Cow<'a, [u8]>,
    operation_start: Cow<'a, [u8]>,
}

impl<'a> CoderBytes<'a> {
    pub(super) fn read(
        segment: &BlockSegment,
        file: &'a ArchiveBytes,
    ) -> Result<CoderBytes<'a>, ArchiveError> {
        // The directory is needed next, and is near the model.
        let sections = [segment.model, segment.operation_start, segment.directory];
        file.prefetch(|| Ok(sections.iter().map(Section::range).collect()))?;
        Ok(CoderBytes {
            model: file.read(segment.model.range(), "model")?,
            operation_start: file.read(segment.operation_start.range(), "start of operations")?,
        })
    }
}

impl SegmentCoder {
    /// Reads the coder of a segment; refuses a model that needs more than about `memory_bytes`.
    pub(super) fn read(
        segment: &BlockSegment,
        bytes: &CoderBytes<'_>,
        memory_bytes: usize,
    ) -> Result<SegmentCoder, Refusal> {
        let model = || {
            if segment.model.holds(&bytes.model) {
                Ok(&*bytes.model)
            } else {
                Err(Refusal::Damaged)
            }
        };
        let rows = match segment.coder {
            CODER_TREE => RowCoder::Tree(Box::new(PositionModel::read(model()?, memory_bytes)?)),
            CODER_SHIPPED => RowCoder::Shipped(tree::shipped().ok_or(Refusal::Damaged)?),
            _ => RowCoder::Text,
        };
        let operations = match segment.operation_start {
            Section { len: 0, .. } => InitialModel::default(),
            section if section.holds(&bytes.operation_start) => {
                InitialModel::read(&bytes.operation_start).ok_or(Refusal::Damaged)?
            }
            _ => return Err(Refusal::Damaged),
        };
        Ok(SegmentCoder { rows, operations: Arc::new(operations) })
    }

    /// Returns an encoder with the model of the segment, for measuring sizes; `None` for text.
    pub(super) fn encoder(&self) -> Option<tree::RowEncoder<'_>> {
        match &self.rows {
            RowCoder::Tree(model) => Some(model.encoder()),
            RowCoder::Shipped(model) => Some(model.encoder()),
            RowCoder::Text => None,
        }
    }

    /// Decodes the rows of blocks. Each block comes with its number of rows. No block may have more
    /// rows than the previous block. Returns `None` if the segment has text.
    fn decode_rows<'a>(
        &self,
        blocks: impl Iterator<Item = (RansDecoder<'a>, usize)>,
    ) -> Option<Vec<(RansDecoder<'a>, ReadRows)>> {
        match &self.rows {
            RowCoder::Tree(model) => Some(model.decode(blocks)),
            RowCoder::Shipped(model) => Some(model.decode(blocks)),
            RowCoder::Text => None,
        }
    }

    /// Approximate memory of the segment's model, in bytes.
    pub(super) fn cost(&self) -> usize {
        match &self.rows {
            RowCoder::Tree(model) => model.cost(),
            RowCoder::Shipped(_) | RowCoder::Text => 0,
        }
    }

    /// Decodes blocks of a segment; a damaged block becomes `None`. The operations of a block are
    /// decoded later, with at most `memory_bytes` bytes of memory.
    pub(super) fn decode(
        &self,
        segment: &BlockSegment,
        blocks: &[EncodedBlock],
        memory_bytes: usize,
    ) -> Vec<Option<Block>> {
        let identity = segment.span.identity;
        let mut coded = Vec::new();
        let mut tails = Vec::new();
        for block in blocks {
            let mut rows = &*block.bytes;
            let mut tail: &[u8] = &[];
            if segment.has_operations {
                tail = rows;
                rows = take_sized(&mut tail).unwrap_or_default();
            }
            coded.push((RansDecoder::new(rows), block.records as usize));
            tails.push(tail.to_vec());
        }
        let Some(decoded) = self.decode_rows(coded.into_iter()) else {
            return blocks.iter().map(|block| decode_text(identity, block)).collect();
        };
        let parts = decoded.into_iter().zip(tails).zip(blocks);
        parts
            .map(|(((decoder, read), operations), &EncodedBlock { first, .. })| {
                let place = check::place(identity, first);
                let holds = decoder.is_done(block::check(place, &read.rows, &operations))
                    && read.rows.iter().any(Row::has_operations) != operations.is_empty();
                let read = if segment.is_flipped { read.flipped() } else { read };
                let start = Arc::clone(&self.operations);
                let records = BlockRecords::Rows { read, operations, start, memory_bytes };
                holds.then(|| Block::new(first, records))
            })
            .collect()
    }
}

fn decode_text(identity: u32, block: &EncodedBlock) -> Option<Block> {
    // The bytes are copied, because zstd must not see bytes that another process may change.
    let bytes = block.bytes.to_vec();
    let frame = check::strip_placed(identity, block.first, &bytes)?;
    let text = block::unpack(frame, block.records)?;
    Some(Block::new(block.first, BlockRecords::Text(text)))
}

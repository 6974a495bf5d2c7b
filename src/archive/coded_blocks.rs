//! Coding of a segment of level default. Other threads do this while the writer takes the records
//! of the next segment.

use super::blocks::{
    self, Arrangement, BlockSegmentBuilder, CodedSegment, PartEntries, RecordKeys,
};
use super::error::ArchiveError;
use super::file::sink::Sink;
use super::options::{PackOptions, SortedSizes};

/// A coded segment, with the data by which its records are found.
pub(super) struct CodedBlocks {
    pub(super) segment: CodedSegment,
    /// Identity that the checksums of the segment cover.
    pub(super) identity: u32,
    /// Records in each index block but the last.
    pub(super) index_records: u32,
    /// The section with the original order, if the records were sorted and keep their numbers.
    pub(super) order: Option<Vec<u8>>,
    /// The section of separators. `None` if records are found by the index, or if there is none.
    pub(super) separators: Option<Vec<u8>>,
    /// The keys of the records, in the order in which they are coded, if they are found by the index.
    pub(super) keys: Vec<RecordKeys>,
    /// Sizes of the segment, if its records are sorted because of the options.
    pub(super) sizes: Option<SortedSizes>,
}

impl CodedBlocks {
    /// Codes the records of a segment. If `may_have_separators` is true, their order may change so that
    /// they are found by separators.
    pub(super) fn new(
        mut records: BlockSegmentBuilder,
        options: &PackOptions,
        may_have_separators: bool,
    ) -> Result<CodedBlocks, ArchiveError> {
        records.make_rows()?;
        let coding = Coding { options, may_have_separators };
        if options.sorted { coding.in_sorted_order(records) } else { coding.as_numbered(records) }
    }
}

/// The options by which a segment is coded.
struct Coding<'o> {
    options: &'o PackOptions,
    may_have_separators: bool,
}

impl Coding<'_> {
    /// Codes records that keep their numbers.
    fn as_numbered(&self, mut records: BlockSegmentBuilder) -> Result<CodedBlocks, ArchiveError> {
        let index_records = self.index_records(&records)?;
        let (segment, arrangement) = if self.may_have_separators {
            records.code_for_lookup(index_records)?
        } else {
            records.code_for_numbers(index_records)?
        };
        Ok(self.coded(records, segment, arrangement, index_records))
    }

    /// Sorts records, which get new numbers, and codes them.
    fn in_sorted_order(
        &self,
        mut records: BlockSegmentBuilder,
    ) -> Result<CodedBlocks, ArchiveError> {
        let (_, _, given) = self.code_and_measure(&mut records, Arrangement::Original)?;
        let arrangement = Arrangement::Renumbered;
        records.sort(arrangement);
        let (segment, index_records, sorted) = self.code_and_measure(&mut records, arrangement)?;
        let sizes = Some(SortedSizes { sorted, given });
        let coded = self.coded(records, segment, arrangement, index_records);
        Ok(CodedBlocks { sizes, ..coded })
    }

    /// Codes records. Returns the segment, the records of an index block, and the size in bytes.
    fn code_and_measure(
        &self,
        records: &mut BlockSegmentBuilder,
        arrangement: Arrangement,
    ) -> Result<(CodedSegment, u32, u64), ArchiveError> {
        let index_records = self.index_records(records)?;
        let segment = records.code(index_records)?;
        let size = self.size(records, &segment, arrangement, index_records)?;
        Ok((segment, index_records, size))
    }

    fn coded(
        &self,
        records: BlockSegmentBuilder,
        segment: CodedSegment,
        arrangement: Arrangement,
        index_records: u32,
    ) -> CodedBlocks {
        let has_separators = arrangement != Arrangement::Original && self.may_have_separators;
        CodedBlocks {
            segment,
            identity: records.identity(),
            index_records,
            order: (arrangement == Arrangement::Sorted).then(|| records.order_section()),
            separators: has_separators.then(|| records.separators_section(index_records)),
            keys: if has_separators { Vec::new() } else { records.record_keys() },
            sizes: None,
        }
    }

    fn index_records(&self, records: &BlockSegmentBuilder) -> Result<u32, ArchiveError> {
        self.options.block_records.map_or_else(|| records.records_of_a_block(), Ok)
    }

    /// Approximate number of bytes of a segment: its coded records, and the data for finding them.
    fn size(
        &self,
        records: &BlockSegmentBuilder,
        segment: &CodedSegment,
        arrangement: Arrangement,
        index_records: u32,
    ) -> Result<u64, ArchiveError> {
        let finding = match arrangement {
            _ if !self.options.index => 0,
            Arrangement::Renumbered if self.may_have_separators => {
                records.separators_section(index_records).len()
            }
            _ => self.index_len(records, index_records)?,
        };
        Ok((segment.len() + finding) as u64)
    }

    /// Number of bytes that a position index of only these records would take.
    fn index_len(
        &self,
        records: &BlockSegmentBuilder,
        index_records: u32,
    ) -> Result<usize, ArchiveError> {
        let mut entries = PartEntries::new(self.options.memory_bytes / 8);
        let keys = records.record_keys();
        entries.push_segment(&keys, 0, index_records)?;
        let blocks = keys.len().div_ceil(index_records as usize) as u32;
        let mut out = Sink::new(Vec::new());
        blocks::write_index(entries, blocks, 0, &mut out)?;
        Ok(out.finish()?.len())
    }
}

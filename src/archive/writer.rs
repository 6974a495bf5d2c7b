//! Writing archives.

use std::fmt;
use std::io::{self, Write};

use byteorder::{BigEndian, ByteOrder};
use zerocopy::IntoBytes;

use super::blocks::{self, Arrangement, BlockSegmentBuilder, CodedSegment, Mixing, PartEntries};
use super::error::ArchiveError;
use super::file::sections::{Section, SectionEntry, SectionKind};
use super::file::sink::Sink;
use super::file::{CODER_MIXING, CODER_ROWS, CODER_TREE, Footer, Header, SORTED, SegmentEntry};
use super::index_entries::IndexEntries;
use super::kept_games::KeptGamesWriter;
use super::rows::{
    self, BuiltDirectory, DirectoryBuilder, DirectoryLines, Further, RowSegmentBuilder,
};
use super::verbatim::VerbatimWriter;
use crate::codec::key::{board_key, position_key};
use crate::codec::record;
use crate::codec::tally_origin::{GameDigest, TallyLedger};
use crate::model::EpdRecord;
use crate::spill::Sorter;
use crate::text::{FormatOptions, epd};

/// Coding of the records.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum Level {
    /// Records are rows of fixed size. The archive is several times larger than at the other
    /// levels, and lookups are the fastest.
    Fast,
    /// Records are coded in blocks, by a model of the positions. The archive is small.
    #[default]
    Default,
    /// Records are coded in blocks, by a neural network. The archive is the smallest, but packing
    /// and reading are several times slower. A segment is written as at level default if that is
    /// shorter, so an archive is never larger than at level default.
    Max,
}

/// Options for writing an archive.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PackOptions {
    level: Level,
    index: bool,
    block_records: Option<u32>,
    sorted: bool,
    verbatim: bool,
    segment_records: u32,
    memory_bytes: usize,
    hidden_units: Option<u8>,
}

impl Default for PackOptions {
    fn default() -> PackOptions {
        PackOptions {
            level: Level::Default,
            index: true,
            block_records: None,
            sorted: false,
            verbatim: false,
            segment_records: 1 << 20,
            memory_bytes: 256 << 20,
            hidden_units: None,
        }
    }
}

impl PackOptions {
    /// The default options: level default, an index of positions, and blocks of 128 records, or
    /// fewer if they are long.
    pub fn new() -> PackOptions {
        PackOptions::default()
    }

    /// The options for an archive of a slice (a part of the input). Such an archive is later merged
    /// with those of the other slices.
    pub fn of_slice() -> PackOptions {
        PackOptions::new().level(Level::Fast).sorted(true)
    }

    /// Sets the coding of the records. The default is level default.
    #[must_use]
    pub const fn level(mut self, level: Level) -> PackOptions {
        self.level = level;
        self
    }

    /// Sets whether the archive has a position index; by default it has. Without an index, an
    /// archive is smaller by one to two bytes for each record, but a lookup by position reads the
    /// whole archive.
    #[must_use]
    pub const fn index(mut self, index: bool) -> PackOptions {
        self.index = index;
        self
    }

    /// Sets the number of records in a block, from 1 to 65,535. More records make a smaller archive
    /// and slower access. The default is 128. In segments with operations the default is 80. If the
    /// operations are long, it is 164 / (*a* + 1), where *a* is the average number of bytes of a
    /// record's coded operations.
    #[must_use]
    pub fn block_records(mut self, block_records: impl Into<Option<u32>>) -> PackOptions {
        self.block_records = block_records.into();
        self
    }

    /// Sorts the records. At level fast, with an index, a lookup then touches memory only once, and
    /// the archive is a seventh smaller. At levels default and max, an archive of unrelated
    /// positions becomes smaller. But an archive of games grows, because in games each position
    /// predicts the next one. See [`ArchiveWriter::finish_measured`].
    #[must_use]
    pub const fn sorted(mut self, sorted: bool) -> PackOptions {
        self.sorted = sorted;
        self
    }

    /// Makes it possible to restore the input byte for byte
    /// ([`Archive::restore`](super::Archive::restore)). The writer must then also get the files and
    /// the bytes that belong to no record: see [`ArchiveWriter::begin_file`],
    /// [`ArchiveWriter::push_line`] and [`ArchiveWriter::push_aside`]. The records stay in their
    /// order.
    #[must_use]
    pub const fn verbatim(mut self, verbatim: bool) -> PackOptions {
        self.verbatim = verbatim;
        self
    }

    /// Sets the maximum number of records of a segment. Each segment of level default has its own
    /// model. So more records make a smaller archive, and take more memory during writing.
    #[must_use]
    pub const fn segment_records(mut self, segment_records: u32) -> PackOptions {
        self.segment_records = segment_records;
        self
    }

    /// At level max, codes all segments by a network with this number of hidden units, even if
    /// another coding is shorter. The number is rounded up to a multiple of 8, and is at most 64.
    /// By default the shortest coding is used.
    #[must_use]
    pub const fn hidden_units(mut self, hidden_units: u8) -> PackOptions {
        self.hidden_units = Some(hidden_units);
        self
    }

    /// Returns the use of mixing models (neural networks) that follows from the level and the
    /// options.
    fn mixing(&self) -> Mixing {
        match (self.level, self.hidden_units) {
            (Level::Max, Some(hidden)) => Mixing::Always(hidden.into()),
            (Level::Max, None) => Mixing::WhereShorter,
            _ => Mixing::Never,
        }
    }

    /// Sets the approximate memory for writing, in bytes. The default is 256 MiB, and the minimum
    /// is 32 MiB.
    #[must_use]
    pub const fn memory_bytes(mut self, memory_bytes: usize) -> PackOptions {
        self.memory_bytes = memory_bytes;
        self
    }
}

/// Bytes of memory that coding takes for each byte of a record that is not coded yet.
const CODING_FACTOR: usize = 8;
const MIN_MEMORY: usize = 32 << 20;
/// Maximum number of segments with separators. The number is small, because a lookup looks into
/// each of these segments.
const MAX_SORTED: usize = 64;

/// Two sizes of the records of a sorted archive (level default or max): in the sorted order, and in
/// the given order. Both include the data by which records are found, and both are sizes at level
/// default.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct SortedSizes {
    /// Size in bytes of the records in the sorted order.
    pub sorted: u64,
    /// Size in bytes of the records in the order in which they were added.
    pub given: u64,
}

/// Writes an archive from front to back: it needs no seeking.
///
/// ```
/// use epdb::archive::{Archive, PackOptions, ArchiveWriter};
/// use epdb::model::Opcode;
/// let mut writer = ArchiveWriter::new(Vec::new(), PackOptions::default())?;
/// writer.push(&epdb::parse_epd(b"4k3/8/8/8/8/8/4P3/4K3 w - - id \"E.01\";")?)?;
/// let archive = Archive::from_bytes(writer.finish()?)?;
/// assert_eq!(archive.record(0)?.text_of(Opcode::ID), Some(b"E.01".to_vec()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ArchiveWriter<W> {
    out: Sink<W>,
    options: PackOptions,
    /// Records of the unfinished segment, at levels default and max.
    blocks_waiting: BlockSegmentBuilder,
    /// Records of the unfinished segment, at level fast.
    rows_waiting: RowSegmentBuilder,
    segments: Vec<SegmentEntry>,
    sections: Vec<SectionEntry>,
    /// Entries of the position index, at level fast.
    keys: IndexEntries,
    /// Entries of the position index, at levels default and max.
    entries: PartEntries,
    /// Records of a sorted archive of level fast. They are written at the end, in the order of
    /// their keys.
    unsorted: Option<Sorter>,
    /// Number of records so far.
    records: u64,
    blocks: u64,
    /// Number of segments with separators.
    sorted_segments: usize,
    sorted_sizes: Option<SortedSizes>,
    side: Option<VerbatimWriter>,
    ledger: Option<TallyLedger>,
    /// Digests of the games that the tallies count.
    games: Sorter,
    kept_games: KeptGamesWriter,
    line: Vec<u8>,
}

impl<W> fmt::Debug for ArchiveWriter<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ArchiveWriter")
            .field("options", &self.options)
            .field("records", &self.len())
            .finish_non_exhaustive()
    }
}

impl<W> ArchiveWriter<W> {
    /// Number of records so far.
    pub const fn len(&self) -> u64 {
        match &self.unsorted {
            Some(unsorted) => self.records + unsorted.len(),
            None => self.records,
        }
    }

    /// True if there is no record yet.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<W: Write> ArchiveWriter<W> {
    /// Begins an archive.
    ///
    /// # Errors
    /// Errors of writing.
    pub fn new(out: W, options: PackOptions) -> Result<ArchiveWriter<W>, ArchiveError> {
        let memory_bytes = options.memory_bytes.max(MIN_MEMORY);
        // At level fast the records are sorted only for the index.
        let may_sort = !options.verbatim && (options.index || options.level != Level::Fast);
        let options = PackOptions { sorted: options.sorted && may_sort, ..options };
        let has_directory = options.sorted && options.level == Level::Fast;
        let mut out = Sink::new(out);
        out.put(Header::new().as_bytes())?;
        let block_records = options.block_records.map(|records| records.clamp(1, u16::MAX.into()));
        let segment_records = options.segment_records.max(1);
        Ok(ArchiveWriter {
            out,
            options: PackOptions { memory_bytes, block_records, segment_records, ..options },
            blocks_waiting: BlockSegmentBuilder::from(0, options.index),
            rows_waiting: RowSegmentBuilder::default(),
            segments: Vec::new(),
            sections: Vec::new(),
            keys: IndexEntries::new(memory_bytes / 4),
            entries: PartEntries::new(memory_bytes / 8),
            unsorted: has_directory.then(|| Sorter::new(std::env::temp_dir(), memory_bytes / 4)),
            records: 0,
            blocks: 0,
            sorted_segments: 0,
            sorted_sizes: None,
            side: options.verbatim.then(VerbatimWriter::new),
            ledger: None,
            games: Sorter::new(std::env::temp_dir(), memory_bytes / 8),
            kept_games: KeptGamesWriter::new(memory_bytes / 8),
            line: Vec::new(),
        })
    }

    /// Adds the next record.
    ///
    /// # Errors
    /// Errors of writing, and [`ArchiveError::Encode`] for a record that has no encoding.
    pub fn push(&mut self, record: &EpdRecord) -> Result<(), ArchiveError> {
        match self.options.level {
            Level::Fast if self.len() >= rows::MAX_RECORDS => Err(ArchiveError::LimitExceeded {
                what: "records at level fast",
                found: self.len() + 1,
                limit: rows::MAX_RECORDS,
            }),
            Level::Fast => {
                if let Some(unsorted) = &mut self.unsorted {
                    self.line.clear();
                    record::encode(record, &mut self.line)?;
                    let key = position_key(record.position()).to_be_bytes();
                    return Ok(unsorted.push(&key, &self.line)?);
                }
                if self.options.index {
                    self.keys.push((position_key(record.position()), self.records as u32))?;
                }
                self.push_row(record, None)
            }
            Level::Default | Level::Max => {
                self.blocks_waiting.push(record)?;
                self.end_record()
            }
        }
    }

    /// Adds the next record in its binary form, as [`record::encode`] writes it.
    ///
    /// # Errors
    /// The errors of [`ArchiveWriter::push`], and [`ArchiveError::Decode`] for bytes that are not a record.
    pub fn push_encoded(&mut self, bytes: &[u8]) -> Result<(), ArchiveError> {
        match (self.options.level, &mut self.unsorted) {
            (Level::Default | Level::Max, _) => {
                self.blocks_waiting.push_encoded(bytes)?;
                self.end_record()
            }
            (Level::Fast, Some(unsorted)) if unsorted.len() < rows::MAX_RECORDS => {
                record::len_of(bytes)?;
                let key = board_key(record::board_of(bytes)?)?;
                Ok(unsorted.push(&key.to_be_bytes(), bytes)?)
            }
            _ => self.push(&record::decode(bytes)?.0),
        }
    }

    /// Writes the sorted records and returns their directory.
    fn put_sorted(&mut self, unsorted: Sorter) -> Result<DirectoryLines, ArchiveError> {
        let mut builder = DirectoryBuilder::new(unsorted.len(), self.options.memory_bytes / 8);
        let mut sorted = unsorted.finish()?;
        let mut put = |record: &[u8], further| {
            let (record, _) = record::decode(record).map_err(io::Error::other)?;
            self.push_row(&record, further)
        };
        while let Some((key, record)) = sorted.next_entry()? {
            builder.push(BigEndian::read_u64(key), record, &mut put)?;
        }
        let BuiltDirectory { mut further, directory } = builder.finish(&mut put)?;
        while let Some((_, record)) = further.next_entry()? {
            put(record, None)?;
        }
        Ok(directory)
    }

    fn push_row(
        &mut self,
        record: &EpdRecord,
        further: Option<Further>,
    ) -> Result<(), ArchiveError> {
        self.rows_waiting.push(record, further)?;
        self.end_record()
    }

    /// Counts a record, and ends its segment if that is full.
    fn end_record(&mut self) -> Result<(), ArchiveError> {
        self.records += 1;
        let memory_bytes = self.options.memory_bytes / 2;
        let is_full = self.records - self.segment_start()
            == u64::from(self.options.segment_records)
            || match self.options.level {
                Level::Fast => {
                    // The sorter of sorted records takes memory too.
                    let memory_bytes =
                        if self.options.sorted { memory_bytes / 2 } else { memory_bytes };
                    self.rows_waiting.memory_used() > memory_bytes.min(64 << 20)
                }
                Level::Default | Level::Max => {
                    self.blocks_waiting.is_full()
                        || self.blocks_waiting.memory_used() * CODING_FACTOR > memory_bytes
                }
            };
        if is_full { self.end_segment() } else { Ok(()) }
    }

    /// Number of the first record of the unfinished segment.
    fn segment_start(&self) -> u64 {
        let last = self.segments.last();
        last.map_or(0, |last| last.first_record.get() + u64::from(last.records.get()))
    }

    /// Begins a file of a verbatim archive. Its name is a relative path with `/` between the parts.
    /// No part may be `.` or `..`, or have a `\` or a control character; otherwise the file is not
    /// written by `epdb export --verbatim`.
    ///
    /// # Errors
    /// Errors of writing.
    pub fn begin_file(&mut self, name: &str) -> Result<(), ArchiveError> {
        self.side.as_mut().map_or(Ok(()), |side| side.file(name))
    }

    /// Adds bytes to the current file of a verbatim archive. These bytes, including line ends,
    /// belong to no record.
    ///
    /// # Errors
    /// Errors of writing.
    pub fn push_aside(&mut self, raw: &[u8]) -> Result<(), ArchiveError> {
        self.side.as_mut().map_or(Ok(()), |side| side.aside(raw))
    }

    /// Adds the next record and, in a verbatim archive, the bytes of its line, including the line
    /// end.
    ///
    /// # Errors
    /// The errors of [`ArchiveWriter::push`].
    pub fn push_line(&mut self, record: &EpdRecord, raw: &[u8]) -> Result<(), ArchiveError> {
        if let Some(side) = &mut self.side {
            self.line.clear();
            epd::format(record, &FormatOptions::default(), &mut self.line);
            self.line.push(b'\n');
            side.record(&self.line, raw)?;
        }
        self.push(record)
    }

    /// Sets the origin of the tallies among the records, and the digests of the games that they
    /// count.
    pub fn set_tally_ledger(&mut self, ledger: TallyLedger) {
        self.ledger = Some(ledger);
    }

    /// Adds the digest of a game to a ledger of [`ArchiveWriter::set_tally_ledger`] that has digests. Each
    /// game is added once. The digests need not fit into memory.
    ///
    /// # Errors
    /// Errors of writing.
    pub fn count_game(&mut self, digest: &GameDigest) -> Result<(), ArchiveError> {
        Ok(self.games.push(digest, &[])?)
    }

    /// Adds a game that a position lists, as [`kept_game`](crate::codec::kept_game) encodes it. A
    /// game may be added several times.
    ///
    /// # Errors
    /// Errors of writing.
    pub fn keep_game(&mut self, game: &[u8]) -> Result<(), ArchiveError> {
        Ok(self.kept_games.push(game)?)
    }

    fn end_segment(&mut self) -> Result<(), ArchiveError> {
        let first = self.segment_start();
        if self.records == first {
            return Ok(());
        }
        let mut segment = SegmentEntry {
            first_record: first.into(),
            first_block: self.blocks.into(),
            records: ((self.records - first) as u32).into(),
            block_records: 1.into(),
            identity: 0.into(),
            coder: CODER_ROWS,
            flags: 0,
            index_records: (self
                .options
                .block_records
                .unwrap_or(blocks::MAX_RECORDS_WITH_OPERATIONS) as u16)
                .into(),
        };
        match self.options.level {
            Level::Fast => self.put_rows(&mut segment)?,
            Level::Default | Level::Max => self.put_blocks(&mut segment)?,
        }
        self.segments.push(segment);
        Ok(())
    }

    fn put_rows(&mut self, segment: &mut SegmentEntry) -> Result<(), ArchiveError> {
        let encoded = self.rows_waiting.finish(segment.first_record.get());
        segment.identity = encoded.identity.into();
        self.out.align()?;
        self.put_section(SectionKind::Rows, encoded.rows())?;
        if !encoded.heap.is_empty() {
            self.put_section(SectionKind::Heap, &encoded.heap)?;
        }
        self.blocks += u64::from(segment.records.get());
        Ok(())
    }

    fn put_blocks(&mut self, segment: &mut SegmentEntry) -> Result<(), ArchiveError> {
        let next = BlockSegmentBuilder::from(self.records, self.options.index);
        let mut waiting = std::mem::replace(&mut self.blocks_waiting, next);
        let mixing = self.options.mixing();
        let may_sort = self.may_have_separators();
        let given = if self.options.sorted {
            let block_records = self.block_records(&waiting)?;
            let coded = waiting.code(block_records, Mixing::Never)?;
            let given = self.size(&waiting, &coded, (Arrangement::Original, block_records))?;
            waiting.sort(Arrangement::Renumbered);
            Some(given)
        } else {
            None
        };
        let block_records = self.block_records(&waiting)?;
        segment.index_records = (block_records as u16).into();
        let (coded, arrangement) = if let Some(given) = given {
            let arrangement = Arrangement::Renumbered;
            let coded = waiting.code(block_records, mixing)?;
            let at_default = match mixing {
                Mixing::Never => None,
                _ => Some(waiting.code(block_records, Mixing::Never)?),
            };
            let at_default = at_default.as_ref().unwrap_or(&coded);
            let sorted = self.size(&waiting, at_default, (arrangement, block_records))?;
            let sizes = self.sorted_sizes.get_or_insert_default();
            sizes.given += given;
            sizes.sorted += sorted;
            (coded, arrangement)
        } else if may_sort {
            waiting.code_for_lookup(block_records, mixing)?
        } else {
            waiting.code_for_numbers(block_records, mixing)?
        };
        segment.block_records = coded.block_records.into();
        segment.identity = waiting.identity().into();
        (segment.coder, segment.flags) = (coded.coder, coded.flags);
        if [CODER_TREE, CODER_MIXING].contains(&coded.coder) {
            self.put_section(SectionKind::Model, &coded.model)?;
        }
        if !coded.operation_start.is_empty() {
            self.put_section(SectionKind::OperationStart, &coded.operation_start)?;
        }
        self.put_section(SectionKind::BlockDirectory, &coded.directory)?;
        self.out.begin();
        coded.blocks.iter().try_for_each(|block| self.out.put(block))?;
        self.end_section(SectionKind::Blocks);
        if arrangement == Arrangement::Sorted {
            self.put_section(SectionKind::Order, &waiting.order_section())?;
        }
        if arrangement != Arrangement::Original && may_sort {
            self.put_section(SectionKind::Separators, &waiting.separators_section(block_records))?;
            self.sorted_segments += 1;
        } else if self.options.index {
            push_blocks(&mut self.entries, &waiting, (self.blocks, block_records))?;
        }
        self.blocks += u64::from(segment.records.get().div_ceil(block_records));
        Ok(())
    }

    /// Number of records in a block of a segment.
    fn block_records(&self, segment: &BlockSegmentBuilder) -> Result<u32, ArchiveError> {
        self.options.block_records.map_or_else(|| segment.records_of_a_block(), Ok)
    }

    /// True if the positions of the next segment can be found by separators.
    const fn may_have_separators(&self) -> bool {
        self.options.index && self.sorted_segments < MAX_SORTED
    }

    /// Approximate number of bytes of a segment: its coded records, and the data for finding them.
    /// An index block has `block_records` records.
    fn size(
        &self,
        segment: &BlockSegmentBuilder,
        coded: &CodedSegment,
        (arrangement, block_records): (Arrangement, u32),
    ) -> Result<u64, ArchiveError> {
        let finding = match arrangement {
            _ if !self.options.index => 0,
            Arrangement::Renumbered if self.may_have_separators() => {
                segment.separators_section(block_records).len()
            }
            _ => self.index_len(segment, block_records)?,
        };
        Ok((coded.len() + finding) as u64)
    }

    /// Number of bytes that a position index of only the records of a segment would take.
    fn index_len(
        &self,
        segment: &BlockSegmentBuilder,
        block_records: u32,
    ) -> Result<usize, ArchiveError> {
        let mut entries = PartEntries::new(self.options.memory_bytes / 8);
        push_blocks(&mut entries, segment, (0, block_records))?;
        let blocks = segment.blocks(block_records).count() as u32;
        let mut out = Sink::new(Vec::new());
        blocks::write_index(entries, blocks, 0, &mut out)?;
        Ok(out.finish()?.len())
    }

    /// Writes a section of the current segment.
    fn put_section(&mut self, kind: SectionKind, bytes: &[u8]) -> Result<(), ArchiveError> {
        self.out.begin();
        self.out.put(bytes)?;
        self.end_section(kind);
        Ok(())
    }

    fn end_section(&mut self, kind: SectionKind) {
        let segment = Some(self.segments.len() as u32);
        self.sections.push(SectionEntry::new(kind, segment, self.out.end()));
    }

    /// Writes the remaining records, the index and the footer, and returns the output.
    ///
    /// # Errors
    /// Errors of writing.
    pub fn finish(self) -> Result<W, ArchiveError> {
        Ok(self.finish_measured()?.0)
    }

    /// Does the same as [`ArchiveWriter::finish`], and returns sizes. They tell the caller if
    /// sorting made the archive larger. `None` if the archive was not sorted, or is of level fast.
    ///
    /// # Errors
    /// Errors of writing.
    pub fn finish_measured(mut self) -> Result<(W, Option<SortedSizes>), ArchiveError> {
        let unsorted = self.unsorted.take();
        let directory = unsorted.map(|unsorted| self.put_sorted(unsorted)).transpose()?;
        self.end_segment()?;
        let segments = self.out.section(self.segments.as_bytes())?;
        // The checksum of the segment table covers the identities of all segments, and so all
        // records.
        let identity = segments.check;
        let mut sections = self.sections;
        let mut list = |kind: SectionKind, section: Section| {
            sections.push(SectionEntry::new(kind, None, section));
        };
        list(SectionKind::SegmentTable, segments);
        match self.options.level {
            _ if !self.options.index => {}
            Level::Fast if let Some(lines) = directory => {
                let (directory, guide) = lines.write(identity, &mut self.out)?;
                list(SectionKind::RowDirectory, directory);
                list(SectionKind::RowGuide, guide);
            }
            Level::Fast => {
                let (index, lists) = rows::write_index(self.keys, identity, &mut self.out)?;
                list(SectionKind::RecordIndex, index);
                if lists.len > 0 {
                    list(SectionKind::Lists, lists);
                }
            }
            Level::Default | Level::Max
                if self.sorted_segments > 0 && self.sorted_segments == self.segments.len() => {}
            Level::Default | Level::Max => {
                self.out.begin();
                blocks::write_index(
                    self.entries,
                    index_block(self.blocks)?,
                    identity,
                    &mut self.out,
                )?;
                list(SectionKind::BlockIndex, self.out.end());
            }
        }
        if let Some(side) = self.side {
            self.out.begin();
            side.write_names(&mut self.out)?;
            list(SectionKind::FileNames, self.out.end());
            self.out.begin();
            side.finish(identity, &mut self.out)?;
            list(SectionKind::SideData, self.out.end());
        }
        if let Some(TallyLedger { origin, games }) = self.ledger {
            list(SectionKind::TallyOrigin, self.out.section(&origin.to_bytes())?);
            if let Some(games) = games {
                games.iter().try_for_each(|digest| self.games.push(&digest, &[]))?;
                let mut sorted = self.games.finish()?;
                self.out.begin();
                while let Some((digest, _)) = sorted.next_entry()? {
                    self.out.put(digest)?;
                }
                list(SectionKind::GameDigests, self.out.end());
            }
        }
        if let Some(section) = self.kept_games.write(&mut self.out)? {
            list(SectionKind::KeptGames, section);
        }
        let flags = if self.options.sorted { SORTED } else { 0 };
        let table = sections.as_bytes();
        self.out.put(table)?;
        let count = sections.len() as u32;
        let footer = Footer::new(self.out.offset(), self.records, flags, table, count);
        self.out.put(footer.as_bytes())?;
        Ok((self.out.finish()?, self.sorted_sizes))
    }
}

/// Adds the records of a segment to the entries of the index. Its index blocks are numbered from
/// `first` on, and have `block_records` records.
fn push_blocks(
    entries: &mut PartEntries,
    segment: &BlockSegmentBuilder,
    (first, block_records): (u64, u32),
) -> Result<(), ArchiveError> {
    for (block, records) in (first..).zip(segment.blocks(block_records)) {
        let block = index_block(block)?;
        for (&key, row) in records {
            entries.push(key, row, block)?;
        }
    }
    Ok(())
}

/// Converts the number of an index block to the type that numbers have in the position index.
fn index_block(number: u64) -> Result<u32, ArchiveError> {
    let limit = u32::MAX.into();
    u32::try_from(number).map_err(|_| ArchiveError::LimitExceeded {
        what: "blocks",
        found: number,
        limit,
    })
}

//! Writing archives.

use std::fmt;
use std::io::{self, Write};

use byteorder::{BigEndian, ByteOrder};
use zerocopy::IntoBytes;

use super::about::{self, About};
use super::blocks::{self, BlockSegmentBuilder, PartEntries, index_block};
use super::coded_blocks::CodedBlocks;
use super::error::ArchiveError;
use super::file::heads;
use super::file::sections::{Section, SectionEntry, SectionKind};
use super::file::sink::{CACHE_LINE, Sink};
use super::file::{CODER_ROWS, CODER_TREE, FileId, Footer, Header, SORTED, SegmentEntry};
use super::game_digests;
use super::index_entries::IndexEntries;
use super::kept_games::KeptGamesWriter;
use super::options::{Level, PackOptions, SortedSizes};
use super::rows::{
    self, BuiltDirectory, DirectoryBuilder, DirectoryLines, Further, RowSegmentBuilder,
};
use super::verbatim::VerbatimWriter;
use epdb_base::new_file::temp_dir;
use epdb_base::spill::Sorter;
use epdb_base::threads::Spawned;
use epdb_chess::codec::key::{board_key, position_key};
use epdb_chess::codec::record;
use epdb_chess::codec::tally_origin::{GameDigest, TallyLedger};
use epdb_chess::model::EpdRecord;
use epdb_chess::text::{FormatOptions, epd};

/// Bytes of memory that coding takes for each byte of a record that is not coded yet.
const CODING_FACTOR: usize = 8;
const MIN_MEMORY: usize = 32 << 20;
/// Memory in bytes that rows take at most before their segment ends.
const MAX_WAITING_ROWS: usize = 64 << 20;
/// Maximum number of segments with separators. The number is small, because a lookup looks into
/// each of these segments.
const MAX_SORTED: usize = 64;

/// Writes an archive from front to back: it needs no seeking. [`Packed::header`] improves the file if it
/// can be written over the first bytes.
///
/// ```
/// use epdb_archive::{Archive, PackOptions, ArchiveWriter};
/// use epdb_chess::model::Opcode;
/// let mut writer = ArchiveWriter::new(Vec::new(), PackOptions::default())?;
/// writer.push(&epdb_chess::parse_epd(b"4k3/8/8/8/8/8/4P3/4K3 w - - id \"E.01\";")?)?;
/// let archive = Archive::from_bytes(writer.finish()?)?;
/// assert_eq!(archive.record(0)?.text_of(Opcode::ID), Some(b"E.01".to_vec()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ArchiveWriter<W> {
    out: Sink<W>,
    options: PackOptions,
    /// Records of the unfinished segment, at level default.
    blocks_waiting: BlockSegmentBuilder,
    /// Records of the unfinished segment, at level fast.
    rows_waiting: RowSegmentBuilder,
    /// Number of the first record of the unfinished segment.
    segment_start: u64,
    /// The segment that other threads are coding, at level default.
    coding: Option<(SegmentEntry, Spawned<Result<CodedBlocks, ArchiveError>>)>,
    segments: Vec<SegmentEntry>,
    sections: Vec<SectionEntry>,
    /// Entries of the position index, at level fast.
    keys: IndexEntries,
    /// Entries of the position index, at level default.
    entries: PartEntries,
    /// Records of a sorted archive of level fast, which are written at the end in key order.
    unsorted: Option<Sorter>,
    records: u64,
    blocks: u64,
    /// Number of segments with separators.
    sorted_segments: usize,
    /// The separators of segments, with the number of the segment.
    separators: Vec<(u32, Vec<u8>)>,
    sorted_sizes: Option<SortedSizes>,
    side: Option<VerbatimWriter>,
    about: About,
    ledger: Option<TallyLedger>,
    /// Digests of the games that the tallies count.
    games: Sorter,
    kept_games: KeptGamesWriter,
    line: Vec<u8>,
}

/// A complete archive; see [`ArchiveWriter::finish_packed`].
#[derive(Debug)]
#[non_exhaustive]
pub struct Packed<W> {
    /// The output.
    pub out: W,
    /// Bytes to write over the first bytes of the output, if that is possible. They show that the start
    /// and the end of the file belong together. Without them, a reader finds this out by reading some
    /// records of each segment.
    pub header: Vec<u8>,
    /// Sizes that tell if sorting made the archive larger. `None` if the archive was not sorted, or is of
    /// level fast.
    pub sorted_sizes: Option<SortedSizes>,
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
        out.put(Header::new(FileId::default()).as_bytes())?;
        let block_records = options.block_records.map(|records| records.clamp(1, u16::MAX.into()));
        let segment_records = options.segment_records.max(1);
        Ok(ArchiveWriter {
            out,
            options: PackOptions { memory_bytes, block_records, segment_records, ..options },
            blocks_waiting: BlockSegmentBuilder::from(0, options.index),
            rows_waiting: RowSegmentBuilder::default(),
            segment_start: 0,
            coding: None,
            segments: Vec::new(),
            sections: Vec::new(),
            keys: IndexEntries::new(memory_bytes / 4),
            entries: PartEntries::new(memory_bytes / 8),
            unsorted: has_directory.then(|| Sorter::new(temp_dir(), memory_bytes / 4)),
            records: 0,
            blocks: 0,
            sorted_segments: 0,
            separators: Vec::new(),
            sorted_sizes: None,
            side: options.verbatim.then(VerbatimWriter::new),
            about: About::default(),
            ledger: None,
            games: Sorter::new(temp_dir(), memory_bytes / 8),
            kept_games: KeptGamesWriter::new(memory_bytes / 8),
            line: Vec::new(),
        })
    }

    /// Adds the next record.
    ///
    /// # Errors
    /// Errors of writing, and [`ArchiveError::Encode`] for a record that cannot be encoded.
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
            Level::Default => {
                self.blocks_waiting.push(record)?;
                self.end_record()
            }
        }
    }

    /// Adds the next record in its binary form, as [`record::encode`] writes it.
    ///
    /// # Errors
    /// The errors of [`ArchiveWriter::push`], and [`ArchiveError::Decode`] for bytes that are not a record.
    /// At level default a board that is not valid may be an error of a later call.
    pub fn push_encoded(&mut self, bytes: &[u8]) -> Result<(), ArchiveError> {
        match (self.options.level, &mut self.unsorted) {
            (Level::Default, _) => {
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
        let waiting_bytes = self.options.memory_bytes / 2;
        let is_full = self.records - self.segment_start == u64::from(self.options.segment_records)
            || match self.options.level {
                Level::Fast => {
                    // The sorter of sorted records takes memory too.
                    let rows_bytes =
                        if self.options.sorted { waiting_bytes / 2 } else { waiting_bytes };
                    self.rows_waiting.memory_used() > rows_bytes.min(MAX_WAITING_ROWS)
                }
                Level::Default => {
                    self.blocks_waiting.is_full()
                        || self.blocks_waiting.memory_used() * CODING_FACTOR > waiting_bytes
                }
            };
        if is_full { self.end_segment() } else { Ok(()) }
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

    /// Sets facts about the data.
    pub fn set_about(&mut self, about: About) {
        self.about = about;
    }

    /// Sets the ledger: the origin of the tallies in the records, and the digests of the games that the
    /// tallies count.
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

    /// Adds a game that a position lists, as [`kept_game`](epdb_chess::codec::kept_game) encodes it. A
    /// game may be added several times.
    ///
    /// # Errors
    /// Errors of writing.
    pub fn keep_game(&mut self, game: &[u8]) -> Result<(), ArchiveError> {
        Ok(self.kept_games.push(game)?)
    }

    fn end_segment(&mut self) -> Result<(), ArchiveError> {
        let first = self.segment_start;
        if self.records == first {
            return Ok(());
        }
        self.segment_start = self.records;
        let index_records =
            self.options.block_records.unwrap_or(blocks::MAX_RECORDS_WITH_OPERATIONS);
        let segment = SegmentEntry {
            first_record: first.into(),
            first_block: self.blocks.into(),
            records: ((self.records - first) as u32).into(),
            block_records: 1.into(),
            identity: 0.into(),
            coder: CODER_ROWS,
            flags: 0,
            index_records: (index_records as u16).into(),
        };
        match self.options.level {
            Level::Fast => self.put_rows(segment),
            Level::Default => self.code_waiting(segment),
        }
    }

    fn put_rows(&mut self, mut segment: SegmentEntry) -> Result<(), ArchiveError> {
        let encoded = self.rows_waiting.finish(segment.first_record.get());
        segment.identity = encoded.identity.into();
        let mut parts = vec![(SectionKind::Rows, vec![encoded.rows()])];
        if !encoded.heap.is_empty() {
            parts.push((SectionKind::Heap, vec![&encoded.heap]));
        }
        self.blocks += u64::from(segment.records.get());
        self.put_segment(segment, &parts)
    }

    /// Writes the head of a segment and its sections, each of which consists of pieces.
    fn put_segment(
        &mut self,
        segment: SegmentEntry,
        parts: &[(SectionKind, Vec<&[u8]>)],
    ) -> Result<(), ArchiveError> {
        let number = Some(self.segments.len() as u32);
        let mut offset = self.out.offset() + heads::len(parts.len()) as u64;
        let mut entries = Vec::with_capacity(parts.len());
        for (kind, pieces) in parts {
            if *kind == SectionKind::Rows {
                offset = offset.next_multiple_of(CACHE_LINE);
            }
            let check = pieces.iter().fold(0, |check, piece| crc32c::crc32c_append(check, piece));
            let len = pieces.iter().map(|piece| piece.len() as u64).sum();
            entries.push(SectionEntry::new(*kind, number, Section { offset, len, check }));
            offset += len;
        }
        let head = self.out.section(&heads::bytes(&segment, &entries))?;
        self.sections.push(SectionEntry::new(SectionKind::SegmentHead, number, head));
        self.sections.extend(entries);
        for (kind, pieces) in parts {
            if *kind == SectionKind::Rows {
                self.out.align()?;
            }
            pieces.iter().try_for_each(|piece| self.out.put(piece))?;
        }
        self.segments.push(segment);
        Ok(())
    }

    /// Lets other threads code the waiting records. Meanwhile writes the segment before them.
    // One segment at a time: its own blocks are coded on all threads, and whether it may have
    // separators depends on the segments before it.
    fn code_waiting(&mut self, segment: SegmentEntry) -> Result<(), ArchiveError> {
        let before = self.take_coded()?;
        let next = BlockSegmentBuilder::from(self.records, self.options.index);
        let waiting = std::mem::replace(&mut self.blocks_waiting, next);
        let options = self.options.clone();
        let may_have_separators = options.index && self.sorted_segments < MAX_SORTED;
        let code = move || CodedBlocks::new(waiting, &options, may_have_separators);
        self.coding = Some((segment, Spawned::new(code)));
        if let Some((segment, coded)) = before {
            self.put_blocks(segment, coded)?;
        }
        Ok(())
    }

    /// Waits for the segment that other threads are coding; `None` if there is none.
    fn take_coded(&mut self) -> Result<Option<(SegmentEntry, CodedBlocks)>, ArchiveError> {
        let Some((segment, coding)) = self.coding.take() else { return Ok(None) };
        let coded = coding.join()?;
        self.sorted_segments += usize::from(coded.separators.is_some());
        if let Some(sizes) = coded.sizes {
            let all = self.sorted_sizes.get_or_insert_default();
            all.given += sizes.given;
            all.sorted += sizes.sorted;
        }
        Ok(Some((segment, coded)))
    }

    fn put_blocks(
        &mut self,
        mut segment: SegmentEntry,
        blocks: CodedBlocks,
    ) -> Result<(), ArchiveError> {
        let coded = &blocks.segment;
        segment.first_block = self.blocks.into();
        segment.block_records = coded.block_records.into();
        segment.index_records = (blocks.index_records as u16).into();
        segment.identity = blocks.identity.into();
        segment.coder = coded.coder;
        segment.flags = coded.flags;
        let mut parts = Vec::new();
        if coded.coder == CODER_TREE {
            parts.push((SectionKind::Model, vec![&coded.model[..]]));
        }
        if !coded.operation_start.is_empty() {
            parts.push((SectionKind::OperationStart, vec![&coded.operation_start]));
        }
        parts.push((SectionKind::BlockDirectory, vec![&coded.directory]));
        parts.push((SectionKind::Blocks, coded.blocks.iter().map(|block| &block[..]).collect()));
        if let Some(order) = &blocks.order {
            parts.push((SectionKind::Order, vec![order]));
        }
        if let Some(separators) = blocks.separators {
            self.separators.push((self.segments.len() as u32, separators));
        } else {
            self.entries.push_segment(&blocks.keys, self.blocks, blocks.index_records)?;
        }
        self.blocks += u64::from(segment.records.get().div_ceil(blocks.index_records));
        self.put_segment(segment, &parts)
    }

    /// Writes the remaining records, the index and the footer, and returns the output.
    ///
    /// # Errors
    /// Errors of writing.
    pub fn finish(self) -> Result<W, ArchiveError> {
        Ok(self.finish_packed()?.out)
    }

    /// Does the same as [`ArchiveWriter::finish`], and also returns the final header and sizes.
    ///
    /// # Errors
    /// Errors of writing.
    pub fn finish_packed(mut self) -> Result<Packed<W>, ArchiveError> {
        let unsorted = self.unsorted.take();
        let directory = unsorted.map(|unsorted| self.put_sorted(unsorted)).transpose()?;
        self.end_segment()?;
        if let Some((segment, coded)) = self.take_coded()? {
            self.put_blocks(segment, coded)?;
        }
        // The checksum of the segment table covers the identities of all segments, and so all
        // records.
        let identity = crc32c::crc32c(self.segments.as_bytes());
        let mut sections = self.sections;
        let list = |sections: &mut Vec<SectionEntry>, kind, section| {
            sections.push(SectionEntry::new(kind, None, section));
        };
        if let Some(side) = self.side {
            self.out.begin();
            side.write_names(&mut self.out)?;
            list(&mut sections, SectionKind::FileNames, self.out.end());
            self.out.begin();
            side.finish(identity, &mut self.out)?;
            list(&mut sections, SectionKind::SideData, self.out.end());
        }
        if let Some(TallyLedger { mut origin, games }) = self.ledger {
            origin.games = None;
            if let Some(games) = games {
                games.iter().try_for_each(|digest| self.games.push(&digest, &[]))?;
                let (section, set) = game_digests::write(self.games.finish()?, &mut self.out)?;
                list(&mut sections, SectionKind::GameDigests, section);
                origin.games = Some(set);
            }
            list(&mut sections, SectionKind::TallyOrigin, self.out.section(&origin.to_bytes())?);
        }
        if let Some(section) = self.kept_games.write(&mut self.out)? {
            list(&mut sections, SectionKind::KeptGames, section);
        }
        let about = self.about.written().to_bytes();
        if about.len() > about::MAX_BYTES {
            return Err(ArchiveError::LimitExceeded {
                what: "bytes of facts about the data",
                found: about.len() as u64,
                limit: about::MAX_BYTES as u64,
            });
        }
        list(&mut sections, SectionKind::About, self.out.section(&about)?);
        // What lookups read first is the end of the file, which a reader elsewhere requests first.
        for (segment, separators) in self.separators {
            let section = self.out.section(&separators)?;
            sections.push(SectionEntry::new(SectionKind::Separators, Some(segment), section));
        }
        match self.options.level {
            _ if !self.options.index => {}
            Level::Fast if let Some(lines) = directory => {
                let (directory, guide) = lines.write(identity, &mut self.out)?;
                list(&mut sections, SectionKind::RowDirectory, directory);
                list(&mut sections, SectionKind::RowGuide, guide);
            }
            Level::Fast => {
                let (index, lists) = rows::write_index(self.keys, identity, &mut self.out)?;
                list(&mut sections, SectionKind::RecordIndex, index);
                if lists.len > 0 {
                    list(&mut sections, SectionKind::Lists, lists);
                }
            }
            Level::Default
                if self.sorted_segments > 0 && self.sorted_segments == self.segments.len() => {}
            Level::Default => {
                self.out.begin();
                blocks::write_index(
                    self.entries,
                    index_block(self.blocks)?,
                    identity,
                    &mut self.out,
                )?;
                list(&mut sections, SectionKind::BlockIndex, self.out.end());
            }
        }
        list(&mut sections, SectionKind::SegmentTable, self.out.section(self.segments.as_bytes())?);
        let flags = if self.options.sorted { SORTED } else { 0 };
        let table = sections.as_bytes();
        self.out.put(table)?;
        let count = sections.len() as u32;
        let footer = Footer::new(self.out.offset(), self.records, flags, table, count);
        self.out.put(footer.as_bytes())?;
        Ok(Packed {
            out: self.out.finish()?,
            header: Header::new(footer.id).as_bytes().to_vec(),
            sorted_sizes: self.sorted_sizes,
        })
    }
}

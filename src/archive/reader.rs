//! Reading archives.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::fs::File;
use std::ops::{Deref, Range};
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use memmap2::Mmap;
use zerocopy::FromBytes;

use super::block_index::BlockIndex;
use super::error::{ArchiveError, Refusal};
use super::fast::{FastRow, FastSegment, RecordIndex};
use super::layout::{CODER_SHIPPED, CODER_TREE, Footer, Header, SORTED};
use super::row::{COLUMNS, NAMES, Row};
use super::sections::{Section, SectionEntry, SectionKind, SectionTable};
use super::segment::{Block, SegmentCoder};
use super::segments::{self, Segment};
use super::side::{self, Restored};
use super::sorter::KeySorter;
use super::tree::{self, PositionModel};
use super::{Level, directory, map};
use crate::codec::key::position_key;
use crate::codec::packed::{self, PackedBoard};
use crate::codec::query::Query;
use crate::model::EpdRecord;
use crate::text::{WriteOptions, epd};

/// Models of segments that are kept once they were needed.
const KEPT_MODELS: usize = 16;
/// Blocks that are decoded side by side.
const SIDE_BY_SIDE: u32 = 16;
/// What reading may take if nothing is said, in bytes.
const DEFAULT_MEMORY: usize = 256 << 20;
/// What reading may take in any case, in bytes.
const LEAST_MEMORY: usize = 16 << 20;
/// Records of level fast whose text makes a piece.
const FAST_STEP: u64 = 4096;
/// Queries that are looked up side by side at level fast.
const BATCH: usize = 64;

enum Bytes {
    Mapped(Mmap),
    Owned(Vec<u8>),
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Bytes::Mapped(map) => map,
            Bytes::Owned(bytes) => bytes,
        }
    }
}

/// An archive, open for reading.
///
/// Opening reads the header, the footer and about 130 bytes a segment (a segment holds about a
/// million records); everything else is read, and its check verified, when it is needed. An archive can be
/// shared between threads, and the file between processes.
pub struct Archive {
    bytes: Bytes,
    footer: Footer,
    sections: SectionTable,
    segments: Vec<Segment>,
    /// What the checks of the index and of the side data begin with.
    identity: u32,
    index: Option<Index>,
    coders: Mutex<Vec<(usize, SharedCoder)>>,
    /// What reading may take, about, in bytes.
    memory: usize,
}

impl fmt::Debug for Archive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Archive")
            .field("segments", &self.segments.len())
            .field("memory", &self.memory)
            .finish_non_exhaustive()
    }
}

/// What decodes a segment, made once by whoever needs it first.
type SharedCoder = Arc<OnceLock<Result<SegmentCoder, Refusal>>>;

/// The position index of a file.
#[derive(Copy, Clone)]
enum Index {
    /// From positions to blocks.
    Blocks(Section),
    /// From positions to records, and lists of those that share a key.
    Records { lines: Section, lists: Section },
}

/// A part of the file, for those who want to know where the bytes are.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ArchivePart {
    /// What it is.
    pub name: &'static str,
    /// The number of its segment.
    pub segment: Option<u64>,
    /// Where it begins in the file.
    pub offset: u64,
    /// Its bytes.
    pub len: u64,
}

impl Archive {
    /// Opens a file.
    ///
    /// The file is mapped into memory. When another process cuts it off while it is open, reading
    /// ends the process with SIGBUS; when another process writes into it, checks fail. Writers of
    /// epdb never do either.
    ///
    /// # Errors
    /// [`ArchiveError`] when the file cannot be read, is no archive, is truncated or damaged in
    /// the parts that are read here, or has a later version.
    pub fn open(path: impl AsRef<Path>) -> Result<Archive, ArchiveError> {
        let file = File::open(path)?;
        if file.metadata()?.len() == 0 {
            return Err(ArchiveError::NotAnArchive);
        }
        Archive::new(Bytes::Mapped(map::map(&file)?))
    }

    /// Reads an archive that is in memory.
    ///
    /// # Errors
    /// As [`Archive::open`].
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Archive, ArchiveError> {
        Archive::new(Bytes::Owned(bytes))
    }

    fn new(bytes: Bytes) -> Result<Archive, ArchiveError> {
        Header::check(&bytes)?;
        let footer = *Footer::of(&bytes)?;
        let sections = SectionTable::read(&bytes, &footer)?;
        let segments = segments::read(&bytes, &sections)?;
        if footer.records.get() != segments.last().map_or(0, Segment::end) {
            return Err(ArchiveError::corrupt("footer"));
        }
        let is_fast = segments.first().map(Segment::is_fast);
        let lists = sections.of_file(SectionKind::Lists).unwrap_or_default();
        let blocks = sections.of_file(SectionKind::BlockIndex);
        let index = match (blocks, sections.of_file(SectionKind::RecordIndex)) {
            (None, None) => None,
            (Some(blocks), None) if is_fast != Some(true) => Some(Index::Blocks(blocks)),
            (None, Some(lines)) if is_fast != Some(false) => Some(Index::Records { lines, lists }),
            _ => return Err(ArchiveError::corrupt("section table")),
        };
        let table = sections.of_file(SectionKind::SegmentTable).unwrap_or_default();
        let has_names = sections.of_file(SectionKind::FileNames).is_some();
        if has_names != sections.of_file(SectionKind::SideData).is_some() {
            return Err(ArchiveError::corrupt("section table"));
        }
        let identity = table.check;
        let coders = Mutex::default();
        let memory = DEFAULT_MEMORY;
        Ok(Archive { bytes, footer, sections, segments, identity, index, coders, memory })
    }

    /// Bounds what reading takes beside what it returns, about, in bytes: 256 MiB if nothing is
    /// said, and never less than 16 MiB. Archives that ask for more are refused with
    /// [`ArchiveError::MemoryExceeded`]; most that epdb writes take a few MiB.
    #[must_use]
    pub fn memory_bytes(self, memory: usize) -> Archive {
        Archive { memory: memory.max(LEAST_MEMORY), coders: Mutex::default(), ..self }
    }

    /// How many records there are.
    pub fn len(&self) -> u64 {
        self.footer.records.get()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The level at which the archive was packed.
    pub fn level(&self) -> Level {
        let is_fast = self.segments.first().is_some_and(Segment::is_fast);
        if is_fast { Level::Fast } else { Level::Default }
    }

    /// Whether positions are found without reading the whole archive.
    pub fn has_index(&self) -> bool {
        self.index.is_some()
    }

    /// The parts of the file in their order.
    pub fn parts(&self) -> Vec<ArchivePart> {
        let whole =
            |name, offset, len| ArchivePart { name, segment: None, offset, len: len as u64 };
        let sections = self.sections.each().map(|listed| ArchivePart {
            name: listed.kind.map_or("part that is not known", SectionKind::name),
            segment: listed.segment.map(u64::from),
            offset: listed.section.offset,
            len: listed.section.len,
        });
        let footer = self.bytes.len() - size_of::<Footer>();
        let table = self.footer.sections.get() as usize * size_of::<SectionEntry>();
        let ends = [
            whole("section table", (footer - table) as u64, table),
            whole("footer", footer as u64, size_of::<Footer>()),
        ];
        let header = [whole("header", 0, size_of::<Header>())];
        header.into_iter().chain(sections).chain(ends).collect()
    }

    /// How many bytes each column of the positions takes in the blocks, and the operations; empty
    /// when nothing is coded by columns. All blocks are read.
    ///
    /// # Errors
    /// [`ArchiveError::Corrupt`] for damage.
    pub fn column_bytes(&self) -> Result<Vec<(&'static str, f64)>, ArchiveError> {
        let mut bits = [0.0; COLUMNS];
        let mut operations = 0;
        let mut any = false;
        for (place, segment) in self.segments.iter().enumerate() {
            if segment.is_fast() {
                continue;
            }
            let shared = self.coder(place)?;
            let Some(model) = decoder(&shared, place)?.model() else { continue };
            any = true;
            let encoder = model.encoder();
            for number in 0..segment.blocks() {
                let (block, _) = self.block(place, number)?;
                encoder.add_bits(block.rows().unwrap_or_default(), &mut bits);
                operations += block.operation_bytes();
            }
        }
        if !any {
            return Ok(Vec::new());
        }
        let columns = NAMES.into_iter().zip(bits.map(|bits| bits / 8.0));
        Ok(columns.chain([("operations", operations as f64)]).collect())
    }

    /// The place of the segment that has a record.
    fn segment_of(&self, number: u64) -> Result<usize, ArchiveError> {
        if number >= self.len() {
            return Err(ArchiveError::NoRecord { number, records: self.len() });
        }
        Ok(self.segments.partition_point(|segment| segment.first_record <= number) - 1)
    }

    /// The segment that has a record, its place, and the record's number in it.
    fn locate(&self, number: u64) -> Result<(&Segment, usize, u32), ArchiveError> {
        let place = self.segment_of(number)?;
        let segment = &self.segments[place];
        Ok((segment, place, (number - segment.first_record) as u32))
    }

    /// What decodes a segment. Whoever needs it first makes it, while others go on with theirs.
    fn coder(&self, place: usize) -> Result<SharedCoder, ArchiveError> {
        let shared = self.shared_coder(place);
        shared.get_or_init(|| self.read_coder(place));
        decoder(&shared, place)?;
        Ok(shared)
    }

    fn shared_coder(&self, place: usize) -> SharedCoder {
        let mut kept = self.coders.lock().unwrap_or_else(PoisonError::into_inner);
        match kept.iter().position(|&(of, _)| of == place) {
            Some(at) => kept[..=at].rotate_right(1),
            None => kept.insert(0, (place, SharedCoder::default())),
        }
        let (mut number, mut cost) = (0, 0);
        kept.retain(|(_, shared)| {
            number += 1;
            cost +=
                shared.get().and_then(|codec| codec.as_ref().ok()).map_or(0, SegmentCoder::cost);
            number == 1 || number <= KEPT_MODELS && cost <= self.memory / 4
        });
        Arc::clone(&kept[0].1)
    }

    fn read_coder(&self, place: usize) -> Result<SegmentCoder, Refusal> {
        let segment = &self.segments[place];
        Ok(match segment.coder {
            CODER_TREE => {
                let bytes = segment.model.checked(&self.bytes, "model");
                let bytes = bytes.map_err(|_| Refusal::Damaged)?;
                SegmentCoder::Tree(Box::new(PositionModel::read(bytes, self.memory / 2)?))
            }
            CODER_SHIPPED => SegmentCoder::Shipped(tree::shipped().ok_or(Refusal::Damaged)?),
            _ => SegmentCoder::Text,
        })
    }

    fn fast(&self, place: usize) -> Result<FastSegment<'_>, ArchiveError> {
        let segment = &self.segments[place];
        let rows = segment.model.of(&self.bytes, "rows")?;
        let rows = <[FastRow]>::ref_from_bytes(rows)
            .map_err(|_| ArchiveError::corrupt_at("rows", place as u64))?;
        let heap = segment.blocks.of(&self.bytes, "heap")?;
        Ok(FastSegment { rows, heap, first: segment.first_record, identity: segment.identity })
    }

    /// A block of a segment that is not of rows, and the number of its first record.
    fn block(&self, place: usize, number: u32) -> Result<(Block, u64), ArchiveError> {
        let mut blocks = self.blocks(place, number..number + 1)?;
        blocks.pop().ok_or(ArchiveError::corrupt("block directory"))
    }

    /// Blocks of a segment that is not of rows, each with the number of its first record.
    fn blocks(&self, place: usize, numbers: Range<u32>) -> Result<Vec<(Block, u64)>, ArchiveError> {
        let segment = &self.segments[place];
        let shared = self.coder(place)?;
        let codec = decoder(&shared, place)?;
        let directory = segment.directory.of(&self.bytes, "block directory")?;
        let all = segment.blocks.of(&self.bytes, "blocks")?;
        let mut coded = Vec::with_capacity(numbers.len());
        for number in numbers {
            let (start, len) = directory::find(directory, number)?;
            let bytes = start.checked_add(len).and_then(|end| all.get(start..end));
            let bytes = bytes.ok_or(ArchiveError::corrupt_at("block directory", number.into()))?;
            coded.push((bytes, segment.first_of(number)));
        }
        let blocks = codec.decode(segment, &coded, self.memory / 4).into_iter().zip(&coded);
        blocks
            .map(|(block, &(_, first))| {
                let block = block.ok_or(ArchiveError::corrupt_at("block of record", first))?;
                Ok((block, first))
            })
            .collect()
    }

    /// The record with a number, counted from 0 in the order of the archive.
    ///
    /// # Errors
    /// [`ArchiveError::NoRecord`] behind the end; [`ArchiveError::Corrupt`] for damage.
    pub fn record(&self, number: u64) -> Result<EpdRecord, ArchiveError> {
        let (segment, place, nth) = self.locate(number)?;
        if segment.is_fast() {
            return self.fast(place)?.record(nth);
        }
        let (block, first) = self.block(place, nth / segment.block_records)?;
        let record = block.record((number - first) as usize);
        record.ok_or_else(|| refused(&block, first))
    }

    /// The records with these numbers, in order.
    ///
    /// ```
    /// use epdb::archive::{Archive, PackOptions, ArchiveWriter};
    /// # let mut writer = ArchiveWriter::new(Vec::new(), PackOptions::default())?;
    /// # for number in 1..5 {
    /// #     let line = format!("4k3/8/8/8/8/8/4P3/4K3 w - - 0 {number}");
    /// #     writer.push(&epdb::parse_epd(line.as_bytes())?)?;
    /// # }
    /// let archive = Archive::from_bytes(writer.finish()?)?;
    /// for record in archive.iter(1..3) {
    ///     println!("{}", String::from_utf8_lossy(&epdb::format_epd(&record?)));
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn iter(&self, range: Range<u64>) -> ArchiveRecords<'_> {
        let end = range.end.min(self.len());
        ArchiveRecords { archive: self, next: range.start, end, block: Vec::new().into_iter() }
    }

    /// Appends the canonical text of records, a line each, without making records of them where
    /// that can be avoided.
    ///
    /// # Errors
    /// [`ArchiveError::Corrupt`] for damage.
    pub fn write_text(&self, range: Range<u64>, out: &mut Vec<u8>) -> Result<(), ArchiveError> {
        self.each_text(range, out, |_| Ok(()))
    }

    /// As [`Archive::write_text`], in pieces of whole lines: calls `visit` with what there is, from
    /// which it may take what it likes, so that memory need not hold all of it.
    ///
    /// # Errors
    /// [`ArchiveError::Corrupt`] for damage, and what `visit` returns.
    pub fn each_text<E: From<ArchiveError>>(
        &self,
        range: Range<u64>,
        out: &mut Vec<u8>,
        mut visit: impl FnMut(&mut Vec<u8>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut next = range.start;
        let end = range.end.min(self.len());
        while next < end {
            let (segment, place, nth) = self.locate(next)?;
            if segment.is_fast() {
                let rows = self.fast(place)?;
                let stop = end.min(segment.end()).min(next + FAST_STEP);
                for nth in nth..nth + (stop - next) as u32 {
                    rows.write_text(nth, out)?;
                    out.push(b'\n');
                }
                next = stop;
                visit(out)?;
                continue;
            }
            let rows = (segment.block_records as usize).saturating_mul(2 * size_of::<Row>());
            let together = (self.memory / 4 / rows.max(1)).clamp(1, SIDE_BY_SIDE as usize) as u32;
            let number = nth / segment.block_records;
            let last = (end - 1).min(segment.end() - 1) - segment.first_record;
            let last = (last / u64::from(segment.block_records)) as u32;
            for (block, first) in self.blocks(place, number..(last + 1).min(number + together))? {
                let stop = end.min(first + segment.block_len(first));
                let written =
                    block.write_text((next - first) as usize, (stop - next) as usize, out);
                written.ok_or_else(|| refused(&block, first))?;
                next = stop;
                visit(out)?;
            }
        }
        Ok(())
    }

    /// All records of a position with their numbers, ascending. Positions are compared, not only
    /// their keys.
    ///
    /// # Errors
    /// [`ArchiveError::Corrupt`] for damage.
    pub fn find(&self, query: impl Into<Query>) -> Result<Vec<(u64, EpdRecord)>, ArchiveError> {
        let mut found = Vec::new();
        if let Some(index) = self.record_index()? {
            let query: Query = query.into();
            index.find(query.key(), |number| {
                let (segment, nth) = self.row(number)?;
                if segment.is_of(nth, query.board())? {
                    found.push((number.into(), segment.record(nth)?));
                }
                Ok(())
            })?;
            return Ok(found);
        }
        self.find_many([query], |_, number, record| {
            found.push((number, record));
            true
        })?;
        Ok(found)
    }

    /// Looks many positions up: calls `visit` with the place of a query, and the number and record,
    /// for each record of each query, until it returns false. The records of one query come in
    /// ascending order; queries come in no promised order: that of the archive's blocks, so that
    /// each is decoded once, however many of its records are asked for.
    ///
    /// ```
    /// use epdb::archive::{Archive, PackOptions, ArchiveWriter};
    /// use epdb::{codec::identity, codec::query::Query, model::Position};
    /// # let mut writer = ArchiveWriter::new(Vec::new(), PackOptions::default())?;
    /// # writer.push(&epdb::parse_epd(b"rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1")?)?;
    /// # writer.push(&epdb::parse_epd(b"4k3/8/8/8/8/8/4P3/4K3 w - - id \"E.01\";")?)?;
    /// let archive = Archive::from_bytes(writer.finish()?)?;
    /// // Positions, or whatever else becomes a `Query`: text need not become positions first.
    /// let positions = [Position::START];
    /// let lines = [b"4k3/8/8/8/8/8/4P3/4K3 w - - 3 40"];
    /// let identities = lines.iter().filter_map(|line| identity::read_fields(*line));
    /// let queries = positions.iter().map(Query::from).chain(identities.map(Query::from));
    /// let mut found = Vec::new();
    /// archive.find_many(queries, |query, number, record| {
    ///     found.push((query, number, epdb::format_epd(&record)));
    ///     true
    /// })?;
    /// found.sort();
    /// assert_eq!(found[1], (1, 1, b"4k3/8/8/8/8/8/4P3/4K3 w - - id \"E.01\";".to_vec()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`ArchiveError::Corrupt`] for damage.
    pub fn find_many<Q: Into<Query>>(
        &self,
        queries: impl IntoIterator<Item = Q>,
        mut visit: impl FnMut(usize, u64, EpdRecord) -> bool,
    ) -> Result<(), ArchiveError> {
        let queries = queries.into_iter().map(Q::into);
        if let Some(index) = self.record_index()? {
            return self.find_rows(index, queries, |query, number, segment, nth| {
                Ok(visit(query, number, segment.record(nth)?))
            });
        }
        let queries = &*queries.collect::<Vec<Query>>();
        let Some(index) = self.block_index()? else { return self.scan(queries, visit) };
        // The index may count several blocks in what is one of the segment.
        let mut last: Option<((usize, u32), (Block, u64))> = None;
        for (block, wanted) in blocks_of(&index, queries)? {
            let (place, nth) = self.place_of_block(block)?;
            let segment = &self.segments[place];
            let start = nth * segment.index_records;
            let number = start / segment.block_records;
            let (_, (block, first)) = match last.take() {
                Some(last) if last.0 == (place, number) => last,
                _ => ((place, number), self.block(place, number)?),
            };
            let from = (segment.first_record + u64::from(start) - first) as usize;
            let end = from + segment.index_records as usize;
            let range = from..end.min(segment.block_len(first) as usize);
            let wanted = Wanted::new(queries, &wanted);
            if !visit_records(&block, first, range, &wanted, &mut visit)? {
                break;
            }
            last = Some(((place, number), (block, first)));
        }
        Ok(())
    }

    /// Looks through all records.
    fn scan(
        &self,
        queries: &[Query],
        mut visit: impl FnMut(usize, u64, EpdRecord) -> bool,
    ) -> Result<(), ArchiveError> {
        let mut wanted: HashMap<PackedBoard, Vec<usize>> = HashMap::new();
        for (number, query) in queries.iter().enumerate() {
            wanted.entry(*query.board()).or_default().push(number);
        }
        for (number, record) in (0..).zip(self.iter(0..self.len())) {
            let record = record?;
            let board = packed::pack(&record.position().identity());
            for &query in wanted.get(&board).into_iter().flatten() {
                if !visit(query, number, record.clone()) {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn place_of_block(&self, block: u64) -> Result<(usize, u32), ArchiveError> {
        let corrupt = ArchiveError::corrupt("position index");
        let after = self.segments.partition_point(|segment| segment.first_block <= block);
        let Some(place) = after.checked_sub(1) else { return Err(corrupt) };
        let segment = &self.segments[place];
        let nth = block - segment.first_block;
        if nth < segment.index_blocks() { Ok((place, nth as u32)) } else { Err(corrupt) }
    }

    /// As [`Archive::find_many`], with the canonical text of each record, without line end: at
    /// level fast no record is made for it.
    ///
    /// # Errors
    /// [`ArchiveError::Corrupt`] for damage.
    pub fn find_text<Q: Into<Query>>(
        &self,
        queries: impl IntoIterator<Item = Q>,
        mut visit: impl FnMut(usize, u64, &[u8]) -> bool,
    ) -> Result<(), ArchiveError> {
        let mut line = Vec::new();
        if let Some(index) = self.record_index()? {
            let queries = queries.into_iter().map(Q::into);
            return self.find_rows(index, queries, |query, number, segment, nth| {
                line.clear();
                segment.write_text(nth, &mut line)?;
                Ok(visit(query, number, &line))
            });
        }
        self.find_many(queries, |query, number, record| {
            line.clear();
            epd::write(&record, &WriteOptions::default(), &mut line);
            visit(query, number, &line)
        })
    }

    /// Calls `visit` with the place of a query and the number of a record for each record of each
    /// query, as [`Archive::find_many`] does. At level fast records are compared and not made:
    /// the fastest way to know which positions are there.
    ///
    /// # Errors
    /// [`ArchiveError::Corrupt`] for damage.
    pub fn find_numbers<Q: Into<Query>>(
        &self,
        queries: impl IntoIterator<Item = Q>,
        mut visit: impl FnMut(usize, u64),
    ) -> Result<(), ArchiveError> {
        if let Some(index) = self.record_index()? {
            let queries = queries.into_iter().map(Q::into);
            return self.find_rows(index, queries, |query, number, _, _| {
                visit(query, number);
                Ok(true)
            });
        }
        self.find_many(queries, |query, number, _| {
            visit(query, number);
            true
        })
    }

    /// Looks up in the index of level fast, in the order of the queries: calls `visit` with the
    /// place of a query, the number of a record of it, and where that is, until it returns false.
    ///
    /// Queries are taken in batches. Their lines, then their rows, are prefetched while the others
    /// are read and checked: so nothing waits for memory.
    fn find_rows(
        &self,
        index: RecordIndex,
        queries: impl Iterator<Item = Query>,
        mut visit: impl FnMut(usize, u64, FastSegment, u32) -> Result<bool, ArchiveError>,
    ) -> Result<(), ArchiveError> {
        let mut queries = queries.enumerate();
        let (mut batch, mut candidates) = (Vec::with_capacity(BATCH), Vec::with_capacity(BATCH));
        loop {
            batch.clear();
            for (place, query) in queries.by_ref().take(BATCH) {
                index.prefetch(query.key());
                batch.push((place, query));
            }
            if batch.is_empty() {
                return Ok(());
            }
            candidates.clear();
            for (nth_query, (_, query)) in batch.iter().enumerate() {
                index.find(query.key(), |number| {
                    let (segment, nth) = self.row(number)?;
                    segment.prefetch(nth);
                    candidates.push((nth_query, segment, nth));
                    Ok(())
                })?;
            }
            for &(nth_query, segment, nth) in &candidates {
                let (place, query) = &batch[nth_query];
                if segment.is_of(nth, query.board())?
                    && !visit(*place, segment.first + u64::from(nth), segment, nth)?
                {
                    return Ok(());
                }
            }
        }
    }

    /// The index of level fast, if there is one.
    fn record_index(&self) -> Result<Option<RecordIndex<'_>>, ArchiveError> {
        let Some(Index::Records { lines, lists }) = self.index else { return Ok(None) };
        let lines = lines.of(&self.bytes, "position index")?;
        let lists = lists.of(&self.bytes, "lists of equal keys")?;
        RecordIndex::new(lines, lists, self.identity).map(Some)
    }

    /// The index of level default, if there is one.
    fn block_index(&self) -> Result<Option<BlockIndex<'_>>, ArchiveError> {
        let Some(Index::Blocks(section)) = self.index else { return Ok(None) };
        BlockIndex::new(section.of(&self.bytes, "position index")?, self.identity).map(Some)
    }

    /// The row of a record at level fast: its segment, and its number there.
    fn row(&self, number: u32) -> Result<(FastSegment<'_>, u32), ArchiveError> {
        let segment = self.fast(self.segment_of(number.into())?)?;
        Ok((segment, (u64::from(number) - segment.first) as u32))
    }

    /// Whether the input can be had back byte for byte.
    pub fn is_verbatim(&self) -> bool {
        self.sections.of_file(SectionKind::SideData).is_some()
    }

    /// Whether the order of the records is not that of the input.
    pub fn is_sorted(&self) -> bool {
        self.footer.flags.get() & SORTED != 0
    }

    /// The names of the files of a verbatim archive, in their order.
    ///
    /// # Errors
    /// [`ArchiveError::NotVerbatim`], and [`ArchiveError::Corrupt`] for damage.
    pub fn file_names(&self) -> Result<Vec<String>, ArchiveError> {
        let kind = SectionKind::FileNames;
        let section = self.sections.of_file(kind).ok_or(ArchiveError::NotVerbatim)?;
        side::names(section.checked(&self.bytes, kind.name())?)
    }

    /// Gives the input of a verbatim archive back, piece by piece: each file's name, then its
    /// bytes.
    ///
    /// # Errors
    /// [`ArchiveError::NotVerbatim`], [`ArchiveError::Corrupt`] for damage, and what `visit`
    /// returns.
    pub fn restore<E: From<ArchiveError>>(
        &self,
        visit: impl FnMut(Restored<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let Some(side) = self.sections.of_file(SectionKind::SideData) else {
            return Err(ArchiveError::NotVerbatim.into());
        };
        let side = side.of(&self.bytes, "side data")?;
        let names = self.file_names()?;
        let mut next = 0;
        let records = side::restore(
            side,
            self.identity,
            &names,
            self.memory / 4,
            |records, out| {
                let end = next + records;
                if end > self.len() {
                    return Err(ArchiveError::corrupt("side data"));
                }
                self.each_text(next..end, out, |text| match text.len() <= self.memory / 4 {
                    true => Ok(()),
                    false => Err(Refusal::Memory.at("text of the record", next)),
                })?;
                next = end;
                Ok(())
            },
            visit,
        )?;
        if records == self.len() { Ok(()) } else { Err(ArchiveError::corrupt("side data").into()) }
    }

    /// Reads everything and checks every part: checksums, that each record can be read, and that
    /// the position index leads to each record and to no more than there are.
    ///
    /// # Errors
    /// The first damage found.
    pub fn verify(&self) -> Result<(), ArchiveError> {
        self.verify_gaps()?;
        for listed in self.sections.each() {
            let name = listed.kind.map_or("part that is not known", SectionKind::name);
            listed.section.checked(&self.bytes, name)?;
        }
        for segment in self.segments.iter().filter(|segment| !segment.is_fast()) {
            let directory = segment.directory.of(&self.bytes, "block directory")?;
            directory::check(directory, segment.blocks(), segment.blocks.len as usize)?;
        }
        if self.is_verbatim() {
            self.restore(|_| Ok::<(), ArchiveError>(()))?;
        }
        match self.record_index()? {
            Some(index) => self.verify_record_index(&index),
            None => self.verify_blocks(),
        }
    }

    /// Between the parts there is nothing but zeros.
    fn verify_gaps(&self) -> Result<(), ArchiveError> {
        let mut end = 0;
        for part in self.parts() {
            let gap = self.bytes.get(end as usize..part.offset as usize);
            if gap.is_none_or(|gap| gap.iter().any(|&byte| byte != 0)) {
                return Err(ArchiveError::corrupt("padding"));
            }
            end = part.offset.saturating_add(part.len);
        }
        Ok(())
    }

    fn verify_blocks(&self) -> Result<(), ArchiveError> {
        let index = self.block_index()?;
        let (mut expected, mut indexed) =
            (KeySorter::new(self.memory / 8), KeySorter::new(self.memory / 8));
        // Of the index block that is being read, the keys: each is expected once.
        let (mut current, mut keys) = (0, BTreeSet::new());
        for (number, record) in (0..).zip(self.iter(0..self.len())) {
            let key = position_key(record?.position());
            let Some(index) = &index else { continue };
            let (segment, _, nth) = self.locate(number)?;
            let block = segment.first_block + u64::from(nth / segment.index_records);
            if block != current {
                (current, keys) = (block, BTreeSet::new());
            }
            let key = index.high_bits(key);
            if keys.insert(key) {
                expected.push((key, block as u32))?;
            }
        }
        let Some(index) = index else { return Ok(()) };
        let mut last = None;
        for bucket in 0..index.buckets() {
            let mut pushed = Ok(());
            index.each(bucket, |cut, block| {
                let entry = (index.aligned(cut), block);
                if last.replace(entry) != Some(entry) {
                    pushed = indexed.push(entry);
                }
                pushed.is_ok()
            })?;
            pushed?;
        }
        if digest(indexed)? == digest(expected)? {
            Ok(())
        } else {
            Err(ArchiveError::corrupt("position index"))
        }
    }

    fn verify_record_index(&self, index: &RecordIndex) -> Result<(), ArchiveError> {
        let mut queries = Vec::with_capacity(1 << 12);
        let mut found = 0u64;
        let mut from = 0;
        while from < self.len() {
            queries.clear();
            let to = (from + (1 << 12)).min(self.len());
            for record in self.iter(from..to) {
                queries.push(Query::from(record?.position()));
            }
            let mut own = vec![false; queries.len()];
            self.find_numbers(&queries, |query, number| {
                own[query] |= number == from + query as u64;
            })?;
            found += own.iter().filter(|&&own| own).count() as u64;
            from = to;
        }
        let mut entries = 0u64;
        index.each(|_, _| {
            entries += 1;
            Ok(())
        })?;
        if found == self.len() && entries == found {
            Ok(())
        } else {
            Err(ArchiveError::corrupt("position index"))
        }
    }
}

/// Stands for all entries of an index, in whatever order and however often each came.
fn digest(entries: KeySorter) -> Result<blake3::Hash, ArchiveError> {
    let mut hasher = blake3::Hasher::new();
    entries.finish(|(key, block)| {
        hasher.update(&key.to_le_bytes());
        hasher.update(&block.to_le_bytes());
        Ok::<(), ArchiveError>(())
    })?;
    Ok(hasher.finalize())
}

/// Why records of a block cannot be read.
fn refused(block: &Block, first: u64) -> ArchiveError {
    block.refusal().at("block of record", first)
}

/// What was made of a segment's model.
fn decoder(shared: &SharedCoder, place: usize) -> Result<&SegmentCoder, ArchiveError> {
    let codec = shared.get().map_or(Err(&Refusal::Damaged), Result::as_ref);
    codec.map_err(|refusal| refusal.at("model", place as u64))
}

/// For each block that may hold some of the positions, which; blocks as the index counts them,
/// ascending.
fn blocks_of(
    index: &BlockIndex,
    queries: &[Query],
) -> Result<Vec<(u64, Vec<usize>)>, ArchiveError> {
    let mut pairs = Vec::new();
    for (number, query) in queries.iter().enumerate() {
        pairs.extend(index.find(query.key())?.into_iter().map(|block| (block, number)));
    }
    pairs.sort_unstable();
    let groups = pairs.chunk_by(|a, b| a.0 == b.0);
    Ok(groups
        .map(|group| (group[0].0.into(), group.iter().map(|&(_, number)| number).collect()))
        .collect())
}

/// Records in order; see [`Archive::iter`].
pub struct ArchiveRecords<'a> {
    archive: &'a Archive,
    next: u64,
    end: u64,
    block: std::vec::IntoIter<EpdRecord>,
}

impl fmt::Debug for ArchiveRecords<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ArchiveRecords")
            .field("next", &self.next)
            .field("end", &self.end)
            .finish_non_exhaustive()
    }
}

impl ArchiveRecords<'_> {
    fn read(&mut self) -> Result<EpdRecord, ArchiveError> {
        if let Some(record) = self.block.next() {
            return Ok(record);
        }
        let (segment, place, nth) = self.archive.locate(self.next)?;
        if segment.is_fast() {
            return self.archive.fast(place)?.record(nth);
        }
        let (block, first) = self.archive.block(place, nth / segment.block_records)?;
        let corrupt = || refused(&block, first);
        let mut records = block.records().ok_or_else(corrupt)?;
        records.drain(..((self.next - first) as usize).min(records.len()));
        self.block = records.into_iter();
        self.block.next().ok_or_else(corrupt)
    }
}

impl Iterator for ArchiveRecords<'_> {
    type Item = Result<EpdRecord, ArchiveError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.next >= self.end {
            return None;
        }
        let record = self.read();
        self.next = if record.is_ok() { self.next + 1 } else { self.end };
        Some(record)
    }
}

/// Visits those records of a block in a range that are wanted; `first` is the number of the
/// block's first record. False when `visit` was.
fn visit_records(
    block: &Block,
    first: u64,
    range: Range<usize>,
    wanted: &Wanted,
    visit: &mut impl FnMut(usize, u64, EpdRecord) -> bool,
) -> Result<bool, ArchiveError> {
    let corrupt = || refused(block, first);
    let start = range.start;
    let rows = block.rows_in(range).ok_or_else(corrupt)?;
    let found = wanted.among(&rows).ok_or_else(corrupt)?;
    let (Some((from, _)), Some((to, _))) = (found.first(), found.last()) else { return Ok(true) };
    let (from, to) = (start + from, start + to);
    let records = block.records_in(from..to + 1).ok_or_else(corrupt)?;
    for (nth, query) in found {
        let at = start + nth;
        let record = records.get(at - from).cloned().ok_or_else(corrupt)?;
        if !visit(query, first + at as u64, record) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Queries to look for among rows.
struct Wanted<'a> {
    queries: &'a [Query],
    /// The numbers of the queries, with rows of their pieces.
    rows: Vec<(usize, Row)>,
}

impl<'a> Wanted<'a> {
    fn new(queries: &'a [Query], wanted: &[usize]) -> Wanted<'a> {
        let row = |&number: &usize| {
            // What is no board is not found.
            let (position, _) = packed::unpack(queries[number].board().as_ref()).ok()?;
            Some((number, Row::of_position(&position)))
        };
        Wanted { queries, rows: wanted.iter().filter_map(row).collect() }
    }

    /// Which of some rows have the identity of which queries; `None` when a row is none. The
    /// pieces of most rows rule them out.
    fn among(&self, rows: &[Row]) -> Option<Vec<(usize, usize)>> {
        let mut found = Vec::new();
        for (nth, row) in rows.iter().enumerate() {
            for (number, _) in self.rows.iter().filter(|(_, wanted)| wanted.has_pieces_of(row)) {
                let board = packed::pack(&row.position()?.identity());
                if board == *self.queries[*number].board() {
                    found.push((nth, *number));
                }
            }
        }
        Some(found)
    }
}

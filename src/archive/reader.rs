//! Reading archives.

use std::collections::HashMap;
use std::fs::File;
use std::ops::{Deref, Range};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use memmap2::Mmap;
use zerocopy::FromBytes;

use super::block_index::BlockIndex;
use super::error::ArchiveError;
use super::fast::{FastRow, FastSegment, RecordIndex};
use super::layout::{
    CODER_ROWS, CODER_SHIPPED, CODER_TEXT, CODER_TREE, Checked, Footer, HAS_INDEX, HAS_OPERATIONS,
    Header, INDEX_OF_RECORDS, SORTED, Section, Segment, VERBATIM,
};
use super::row::{COLUMNS, NAMES, Row};
use super::segment::{Block, Codec};
use super::side::{self, Restored};
use super::tree::{self, Model};
use super::{Level, directory, map};
use crate::codec::key::position_key;
use crate::codec::packed::{self, PackedBoard};
use crate::codec::query::Query;
use crate::model::EpdRecord;
use crate::text::{WriteOptions, epd};

/// Models of segments that are kept once they were needed.
const KEPT_MODELS: usize = 16;
/// The most records of a block that a reader takes.
const MAX_BLOCK_RECORDS: u32 = 65_535;
/// Blocks that are decoded side by side.
const SIDE_BY_SIDE: u32 = 16;
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
/// Opening reads the header, the footer and 92 bytes a segment (a segment holds about a million
/// records); everything else is read, and its check verified, when it is needed. An archive can be
/// shared between threads, and the file between processes.
pub struct Archive {
    bytes: Bytes,
    footer: Footer,
    segments: Vec<Segment>,
    models: Mutex<Vec<(usize, Arc<Codec>)>>,
}

/// A part of the file, for those who want to know where the bytes are.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Part {
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
        let entries = footer.segments.of(&bytes, "segment table")?;
        let mut segments = Vec::new();
        let (mut records, mut blocks) = (0u64, 0u64);
        for (number, entry) in (0..).zip(entries.chunks(size_of::<Segment>())) {
            let segment = *Segment::read(entry)?;
            let whole = segment.first_record.get() == records
                && segment.first_block.get() == blocks
                && segment.records.get() > 0
                && (1..=MAX_BLOCK_RECORDS).contains(&segment.block_records.get())
                && segment.index_records.get() > 0
                && (segment.coder == CODER_ROWS
                    || segment.block_records.get() % u32::from(segment.index_records.get()) == 0)
                && segment.coder <= CODER_TEXT
                && segment.flags & !HAS_OPERATIONS == 0;
            if !whole {
                return Err(ArchiveError::corrupt_at("segment entry", number));
            }
            records += u64::from(segment.records.get());
            blocks += match segment.coder {
                CODER_ROWS => u64::from(segment.records.get()),
                _ => u64::from(segment.records.get()).div_ceil(segment.index_records.get().into()),
            };
            segments.push(segment);
        }
        if footer.records.get() != records {
            return Err(ArchiveError::corrupt("footer"));
        }
        Ok(Archive { bytes, footer, segments, models: Mutex::default() })
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
        match self.segments.first() {
            Some(segment) if segment.coder == CODER_ROWS => Level::Fast,
            _ => Level::Default,
        }
    }

    /// Whether positions are found without reading the whole archive.
    pub fn has_index(&self) -> bool {
        self.footer.has(HAS_INDEX)
    }

    /// The parts of the file in their order.
    pub fn parts(&self) -> Vec<Part> {
        let mut parts = Vec::new();
        let mut put = |name, segment, section: &Section| {
            if section.len.get() > 0 {
                let (offset, len) = (section.offset.get(), section.len.get());
                parts.push(Part { name, segment, offset, len });
            }
        };
        for (number, segment) in (0..).zip(&self.segments) {
            let names = part_names(segment);
            put(names[0], Some(number), &segment.model);
            put(names[1], Some(number), &segment.directory);
            put(names[2], Some(number), &segment.blocks);
        }
        put("segment table", None, &self.footer.segments);
        put("position index", None, &self.footer.index);
        put("lists of equal keys", None, &self.footer.lists);
        put("side data", None, &self.footer.side);
        parts.push(Part {
            name: "header",
            segment: None,
            offset: 0,
            len: size_of::<Header>() as u64,
        });
        let len = size_of::<Footer>() as u64;
        parts.push(Part {
            name: "footer",
            segment: None,
            offset: self.bytes.len() as u64 - len,
            len,
        });
        parts.sort_by_key(|part| part.offset);
        parts
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
            if segment.coder == CODER_ROWS {
                continue;
            }
            let codec = self.codec(place)?;
            let Some(model) = codec.model() else { continue };
            any = true;
            let encoder = model.encoder();
            for number in 0..segment.records.get().div_ceil(segment.block_records.get()) {
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
        Ok(self.segments.partition_point(|segment| segment.first_record.get() <= number) - 1)
    }

    fn codec(&self, place: usize) -> Result<Arc<Codec>, ArchiveError> {
        let mut kept = self.models.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = kept.iter().position(|&(of, _)| of == place) {
            kept[..=at].rotate_right(1);
            return Ok(Arc::clone(&kept[0].1));
        }
        let segment = &self.segments[place];
        let codec = match segment.coder {
            CODER_TREE => {
                let bytes = segment.model.checked(&self.bytes, "model")?;
                let model =
                    Model::read(bytes).ok_or(ArchiveError::corrupt_at("model", place as u64))?;
                Codec::Tree(Box::new(model))
            }
            CODER_SHIPPED => Codec::Shipped(tree::shipped().ok_or(ArchiveError::corrupt("model"))?),
            _ => Codec::Text,
        };
        let codec = Arc::new(codec);
        kept.insert(0, (place, Arc::clone(&codec)));
        kept.truncate(KEPT_MODELS);
        Ok(codec)
    }

    fn fast(&self, place: usize) -> Result<FastSegment<'_>, ArchiveError> {
        let segment = &self.segments[place];
        let rows = segment.model.of(&self.bytes, "rows")?;
        let rows = <[FastRow]>::ref_from_bytes(rows)
            .ok()
            .filter(|rows| rows.len() as u64 == u64::from(segment.records.get()))
            .ok_or(ArchiveError::corrupt_at("rows", place as u64))?;
        let heap = segment.blocks.of(&self.bytes, "heap")?;
        Ok(FastSegment { rows, heap, first: segment.first_record.get() })
    }

    /// A block of a segment that is not of rows, and the number of its first record.
    fn block(&self, place: usize, number: u32) -> Result<(Block, u64), ArchiveError> {
        let mut blocks = self.blocks(place, number..number + 1)?;
        blocks.pop().ok_or(ArchiveError::corrupt("block directory"))
    }

    /// Blocks of a segment that is not of rows, each with the number of its first record.
    fn blocks(&self, place: usize, numbers: Range<u32>) -> Result<Vec<(Block, u64)>, ArchiveError> {
        let segment = &self.segments[place];
        let codec = self.codec(place)?;
        let directory = segment.directory.of(&self.bytes, "block directory")?;
        let all = segment.blocks.of(&self.bytes, "blocks")?;
        let first_of = |number: u32| {
            let before = u64::from(number) * u64::from(segment.block_records.get());
            segment.first_record.get() + before
        };
        let mut coded = Vec::with_capacity(numbers.len());
        for number in numbers.clone() {
            let (start, len) = directory::find(directory, number)?;
            let bytes = start.checked_add(len).and_then(|end| all.get(start..end));
            let bytes = bytes.ok_or(ArchiveError::corrupt_at("block directory", number.into()))?;
            coded.push((bytes, block_len(segment, first_of(number)) as usize));
        }
        let blocks = codec.decode(segment, &coded).into_iter().zip(numbers);
        blocks
            .map(|(block, number)| {
                let first = first_of(number);
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
        let place = self.segment_of(number)?;
        let segment = &self.segments[place];
        let nth = (number - segment.first_record.get()) as u32;
        if segment.coder == CODER_ROWS {
            return self.fast(place)?.record(nth);
        }
        let (block, first) = self.block(place, nth / segment.block_records.get())?;
        let record = block.record((number - first) as usize);
        record.ok_or(ArchiveError::corrupt_at("block of record", first))
    }

    /// The records with these numbers, in order.
    ///
    /// ```
    /// use epdb::archive::{Archive, PackOptions, Writer};
    /// # let mut writer = Writer::new(Vec::new(), PackOptions::default())?;
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
    pub fn iter(&self, range: Range<u64>) -> Records<'_> {
        let end = range.end.min(self.len());
        Records { archive: self, next: range.start, end, block: Vec::new().into_iter() }
    }

    /// Appends the canonical text of records, a line each, without making records of them where
    /// that can be avoided.
    ///
    /// # Errors
    /// [`ArchiveError::Corrupt`] for damage.
    pub fn write_text(&self, range: Range<u64>, out: &mut Vec<u8>) -> Result<(), ArchiveError> {
        let mut next = range.start;
        let end = range.end.min(self.len());
        while next < end {
            let place = self.segment_of(next)?;
            let segment = &self.segments[place];
            let nth = (next - segment.first_record.get()) as u32;
            if segment.coder == CODER_ROWS {
                let rows = self.fast(place)?;
                let stop = end.min(segment_end(segment));
                for nth in nth..nth + (stop - next) as u32 {
                    rows.write_text(nth, out)?;
                    out.push(b'\n');
                }
                next = stop;
                continue;
            }
            let number = nth / segment.block_records.get();
            let last = (end - 1).min(segment_end(segment) - 1) - segment.first_record.get();
            let last = (last / u64::from(segment.block_records.get())) as u32;
            for (block, first) in
                self.blocks(place, number..(last + 1).min(number + SIDE_BY_SIDE))?
            {
                let stop = end.min(first + block_len(segment, first));
                let written =
                    block.write_text((next - first) as usize, (stop - next) as usize, out);
                written.ok_or(ArchiveError::corrupt_at("block of record", first))?;
                next = stop;
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
        if self.footer.has(INDEX_OF_RECORDS) {
            let query: Query = query.into();
            self.record_index()?.find(query.key(), |number| {
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
    /// use epdb::archive::{Archive, PackOptions, Writer};
    /// use epdb::{codec::direct, codec::query::Query, model::Position};
    /// # let mut writer = Writer::new(Vec::new(), PackOptions::default())?;
    /// # writer.push(&epdb::parse_epd(b"rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1")?)?;
    /// # writer.push(&epdb::parse_epd(b"4k3/8/8/8/8/8/4P3/4K3 w - - id \"E.01\";")?)?;
    /// let archive = Archive::from_bytes(writer.finish()?)?;
    /// // Positions, or whatever else becomes a `Query`: text need not become positions first.
    /// let positions = [Position::START];
    /// let lines = [b"4k3/8/8/8/8/8/4P3/4K3 w - - 3 40"];
    /// let identities = lines.iter().filter_map(|line| direct::read_fields(*line));
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
        if self.footer.has(INDEX_OF_RECORDS) {
            return self.find_rows(queries, |query, number, segment, nth| {
                Ok(visit(query, number, segment.record(nth)?))
            });
        }
        let queries = &*queries.collect::<Vec<Query>>();
        if !self.has_index() {
            return self.scan(queries, visit);
        }
        // The index may count several blocks in what is one of the segment.
        let mut last: Option<((usize, u32), (Block, u64))> = None;
        for (block, wanted) in self.blocks_of(queries)? {
            let (place, nth) = self.place_of_block(block)?;
            let segment = &self.segments[place];
            let start = nth * u32::from(segment.index_records.get());
            let number = start / segment.block_records.get();
            let (_, (block, first)) = match last.take() {
                Some(last) if last.0 == (place, number) => last,
                _ => ((place, number), self.block(place, number)?),
            };
            let from = (segment.first_record.get() + u64::from(start) - first) as usize;
            let end = from + usize::from(segment.index_records.get());
            let range = from..end.min(block_len(segment, first) as usize);
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

    /// For each block that may hold some of the positions, which; blocks as the index counts them,
    /// ascending.
    fn blocks_of(&self, queries: &[Query]) -> Result<Vec<(u64, Vec<usize>)>, ArchiveError> {
        let index = BlockIndex::new(self.footer.index.of(&self.bytes, "position index")?)?;
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

    fn place_of_block(&self, block: u64) -> Result<(usize, u32), ArchiveError> {
        let corrupt = ArchiveError::corrupt("position index");
        let after = self.segments.partition_point(|segment| segment.first_block.get() <= block);
        let Some(place) = after.checked_sub(1) else { return Err(corrupt) };
        let segment = &self.segments[place];
        let nth = block - segment.first_block.get();
        let blocks = u64::from(segment.records.get()).div_ceil(segment.index_records.get().into());
        if nth < blocks { Ok((place, nth as u32)) } else { Err(corrupt) }
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
        if self.footer.has(INDEX_OF_RECORDS) {
            let queries = queries.into_iter().map(Q::into);
            return self.find_rows(queries, |query, number, segment, nth| {
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
        if self.footer.has(INDEX_OF_RECORDS) {
            return self.find_rows(queries.into_iter().map(Q::into), |query, number, _, _| {
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
        queries: impl Iterator<Item = Query>,
        mut visit: impl FnMut(usize, u64, FastSegment, u32) -> Result<bool, ArchiveError>,
    ) -> Result<(), ArchiveError> {
        let index = self.record_index()?;
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

    fn record_index(&self) -> Result<RecordIndex<'_>, ArchiveError> {
        RecordIndex::new(
            self.footer.index.of(&self.bytes, "position index")?,
            self.footer.lists.of(&self.bytes, "lists of equal keys")?,
        )
    }

    /// The row of a record at level fast: its segment, and its number there.
    fn row(&self, number: u32) -> Result<(FastSegment<'_>, u32), ArchiveError> {
        let segment = self.fast(self.segment_of(number.into())?)?;
        Ok((segment, (u64::from(number) - segment.first) as u32))
    }

    /// Whether the input can be had back byte for byte.
    pub fn is_verbatim(&self) -> bool {
        self.footer.has(VERBATIM)
    }

    /// Whether the order of the records is not that of the input.
    pub fn is_sorted(&self) -> bool {
        self.footer.has(SORTED)
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
        if !self.is_verbatim() {
            return Err(ArchiveError::NotVerbatim.into());
        }
        let side = self.footer.side.of(&self.bytes, "side data")?;
        let mut next = 0;
        let records = side::restore(
            side,
            |records, out| {
                let end = next + records;
                if end > self.len() {
                    return Err(ArchiveError::corrupt("side data"));
                }
                self.write_text(next..end, out)?;
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
        let footer = &self.footer;
        self.verify_gaps()?;
        footer.segments.checked(&self.bytes, "segment table")?;
        footer.index.checked(&self.bytes, "position index")?;
        footer.lists.checked(&self.bytes, "lists of equal keys")?;
        footer.side.checked(&self.bytes, "side data")?;
        for segment in &self.segments {
            let [model, _, blocks] = part_names(segment);
            segment.model.checked(&self.bytes, model)?;
            let directory = segment.directory.checked(&self.bytes, "block directory")?;
            let coded = segment.blocks.checked(&self.bytes, blocks)?;
            if segment.coder != CODER_ROWS {
                let count = segment.records.get().div_ceil(segment.block_records.get());
                directory::check(directory, count, coded.len())?;
            }
        }
        if self.is_verbatim() {
            self.restore(|_| Ok::<(), ArchiveError>(()))?;
        }
        if footer.has(INDEX_OF_RECORDS) { self.verify_record_index() } else { self.verify_blocks() }
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
        let index = match self.has_index() {
            true => Some(BlockIndex::new(footer_section(&self.footer.index, &self.bytes)?)?),
            false => None,
        };
        let mut expected = Vec::new();
        for (number, record) in (0..).zip(self.iter(0..self.len())) {
            let key = position_key(record?.position());
            let Some(index) = &index else { continue };
            let segment = &self.segments[self.segment_of(number)?];
            let nth =
                (number - segment.first_record.get()) / u64::from(segment.index_records.get());
            expected.push((index.cut(key), (segment.first_block.get() + nth) as u32));
        }
        let Some(index) = index else { return Ok(()) };
        expected.sort_unstable();
        expected.dedup();
        let mut indexed = Vec::with_capacity(expected.len());
        for bucket in 0..index.buckets() {
            index.each(bucket, |cut, block| {
                indexed.push((cut, block));
                indexed.len() <= 2 * self.len() as usize
            })?;
        }
        indexed.sort_unstable();
        indexed.dedup();
        if indexed == expected { Ok(()) } else { Err(ArchiveError::corrupt("position index")) }
    }

    fn verify_record_index(&self) -> Result<(), ArchiveError> {
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
        let index = self.record_index()?;
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

fn footer_section<'a>(section: &Section, bytes: &'a [u8]) -> Result<&'a [u8], ArchiveError> {
    section.of(bytes, "position index")
}

/// What the three parts of a segment are called.
const fn part_names(segment: &Segment) -> [&'static str; 3] {
    match segment.coder {
        CODER_ROWS => ["rows", "block directory", "heap"],
        CODER_TEXT => ["model", "block directory", "text blocks"],
        _ => ["model", "block directory", "blocks"],
    }
}

/// The number behind the last record of a segment.
fn segment_end(segment: &Segment) -> u64 {
    segment.first_record.get() + u64::from(segment.records.get())
}

/// The records of the block that begins with this one.
fn block_len(segment: &Segment, first: u64) -> u64 {
    segment_end(segment).saturating_sub(first).min(segment.block_records.get().into())
}

/// Records in order; see [`Archive::iter`].
pub struct Records<'a> {
    archive: &'a Archive,
    next: u64,
    end: u64,
    block: std::vec::IntoIter<EpdRecord>,
}

impl Records<'_> {
    fn read(&mut self) -> Result<EpdRecord, ArchiveError> {
        if let Some(record) = self.block.next() {
            return Ok(record);
        }
        let place = self.archive.segment_of(self.next)?;
        let segment = &self.archive.segments[place];
        let nth = (self.next - segment.first_record.get()) as u32;
        if segment.coder == CODER_ROWS {
            return self.archive.fast(place)?.record(nth);
        }
        let (block, first) = self.archive.block(place, nth / segment.block_records.get())?;
        let corrupt = || ArchiveError::corrupt_at("block of record", first);
        let mut records = block.records().ok_or_else(corrupt)?;
        records.drain(..((self.next - first) as usize).min(records.len()));
        self.block = records.into_iter();
        self.block.next().ok_or_else(corrupt)
    }
}

impl Iterator for Records<'_> {
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
    let corrupt = || ArchiveError::corrupt_at("block of record", first);
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
    /// The numbers of the queries, with rows of their men.
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

    /// Which of some rows have the identity of which queries; `None` when a row is none. The men
    /// of most rows tell that they have not.
    fn among(&self, rows: &[Row]) -> Option<Vec<(usize, usize)>> {
        let mut found = Vec::new();
        for (nth, row) in rows.iter().enumerate() {
            for (number, _) in self.rows.iter().filter(|(_, wanted)| wanted.has_men_of(row)) {
                let board = packed::pack(&row.position()?.identity());
                if board == *self.queries[*number].board() {
                    found.push((nth, *number));
                }
            }
        }
        Some(found)
    }
}

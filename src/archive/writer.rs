//! Writing archives.

use std::io::Write;

use zerocopy::IntoBytes;

use super::error::ArchiveError;
use super::layout::{
    CODER_ROWS, Checked, Footer, HAS_INDEX, Header, INDEX_OF_RECORDS, SORTED, Section, Segment,
    VERBATIM,
};
use super::segment::Waiting;
use super::side::SideWriter;
use super::sink::Sink;
use super::sorter::KeySorter;
use super::{block_index, fast};
use crate::codec::key::position_key;
use crate::model::EpdRecord;
use crate::text::{WriteOptions, epd};

/// How records are coded.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum Level {
    /// Rows of fixed size: several times larger, and found fastest.
    Fast,
    /// Small: blocks under a model of the positions.
    #[default]
    Default,
}

/// How an archive is written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PackOptions {
    /// The coding.
    pub level: Level,
    /// Whether records can be found by position. Without it about two bytes a record are saved,
    /// and looking for a position reads the whole archive.
    pub index: bool,
    /// Records in a block: more make a smaller archive and slower access. From 1 to 65,535.
    pub block_records: u32,
    /// Whether the order of the records may be changed for a smaller archive. Level fast keeps it
    /// all the same.
    pub sorted: bool,
    /// Whether the input can be had back byte for byte ([`Archive::restore`](super::Archive::restore)):
    /// files, and what they hold beside records, are then told to the writer too. The order is
    /// kept.
    pub verbatim: bool,
    /// Bytes of memory, roughly, that writing may take. Less than 32 MiB counts as that.
    pub memory: usize,
}

impl Default for PackOptions {
    fn default() -> PackOptions {
        PackOptions {
            level: Level::Default,
            index: true,
            block_records: 64,
            sorted: false,
            verbatim: false,
            memory: 256 << 20,
        }
    }
}

/// The most records of a segment.
const SEGMENT_RECORDS: usize = 1 << 20;
/// Bytes of memory that coding takes for each byte that waits for it.
const CODING_FACTOR: usize = 8;
const MIN_MEMORY: usize = 32 << 20;

/// Writes an archive from front to back: it needs no seeking.
///
/// ```
/// use epdb::archive::{Archive, PackOptions, Writer};
/// let mut writer = Writer::new(Vec::new(), PackOptions::default())?;
/// writer.push(&epdb::parse_epd(b"4k3/8/8/8/8/8/4P3/4K3 w - - id \"E.01\";")?)?;
/// let archive = Archive::from_bytes(writer.finish()?)?;
/// assert_eq!(archive.record(0)?.text_of("id"), Some(b"E.01".to_vec()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Writer<W> {
    out: Sink<W>,
    options: PackOptions,
    waiting: Waiting,
    /// Level fast: the rows and heap that wait.
    rows: Vec<u8>,
    heap: Vec<u8>,
    segments: Vec<Segment>,
    keys: KeySorter,
    records: u64,
    blocks: u64,
    side: Option<SideWriter>,
    line: Vec<u8>,
}

impl<W: Write> Writer<W> {
    /// Begins an archive.
    ///
    /// # Errors
    /// What writing reports.
    pub fn new(out: W, options: PackOptions) -> Result<Writer<W>, ArchiveError> {
        let memory = options.memory.max(MIN_MEMORY);
        let options = PackOptions { sorted: options.sorted && !options.verbatim, ..options };
        let mut out = Sink::new(out);
        out.put(Header::new().as_bytes())?;
        let block_records = options.block_records.clamp(1, u16::MAX.into());
        Ok(Writer {
            out,
            options: PackOptions { memory, block_records, ..options },
            waiting: Waiting::default(),
            rows: Vec::new(),
            heap: Vec::new(),
            segments: Vec::new(),
            keys: KeySorter::new(memory / 4),
            records: 0,
            blocks: 0,
            side: options.verbatim.then(SideWriter::new),
            line: Vec::new(),
        })
    }

    /// Records taken so far.
    pub const fn len(&self) -> u64 {
        self.records
    }

    /// Whether no record was taken yet.
    pub const fn is_empty(&self) -> bool {
        self.records == 0
    }

    /// Takes the next record.
    ///
    /// # Errors
    /// What writing reports, and [`ArchiveError::Encode`] for a record that text could not say.
    pub fn push(&mut self, record: &EpdRecord) -> Result<(), ArchiveError> {
        match self.options.level {
            Level::Fast => {
                if self.records >= fast::MAX_RECORDS {
                    return Err(ArchiveError::LimitExceeded {
                        what: "records at level fast",
                        found: self.records + 1,
                        limit: fast::MAX_RECORDS,
                    });
                }
                fast::put(record, &mut self.rows, &mut self.heap)?;
                if self.options.index {
                    self.keys.push((position_key(record.position()), self.records as u32))?;
                }
            }
            Level::Default => self.waiting.push(record)?,
        }
        self.records += 1;
        let memory = self.options.memory / 2;
        let is_full = match self.options.level {
            Level::Fast => self.rows.len() + self.heap.len() > memory.min(64 << 20),
            Level::Default => {
                self.waiting.len() == SEGMENT_RECORDS
                    || self.waiting.is_full()
                    || self.waiting.memory() * CODING_FACTOR > memory
            }
        };
        if is_full { self.end_segment() } else { Ok(()) }
    }

    /// Verbatim: a file begins. Of the name only the last part is kept.
    ///
    /// # Errors
    /// What writing reports.
    pub fn begin_file(&mut self, name: &str) -> Result<(), ArchiveError> {
        let name = name.rsplit(['/', '\\']).next().unwrap_or(name);
        self.side.as_mut().map_or(Ok(()), |side| side.file(name))
    }

    /// Verbatim: bytes of the file that belong to no record, line end included.
    ///
    /// # Errors
    /// What writing reports.
    pub fn push_aside(&mut self, raw: &[u8]) -> Result<(), ArchiveError> {
        self.side.as_mut().map_or(Ok(()), |side| side.aside(raw))
    }

    /// Takes the next record and, in a verbatim archive, the bytes of its line, line end included.
    ///
    /// # Errors
    /// As [`Writer::push`].
    pub fn push_line(&mut self, record: &EpdRecord, raw: &[u8]) -> Result<(), ArchiveError> {
        if let Some(side) = &mut self.side {
            self.line.clear();
            epd::write(record, &WriteOptions::default(), &mut self.line);
            self.line.push(b'\n');
            side.record(&self.line, raw)?;
        }
        self.push(record)
    }

    fn end_segment(&mut self) -> Result<(), ArchiveError> {
        let before: u64 =
            self.segments.iter().map(|segment| u64::from(segment.records.get())).sum();
        let records = (self.records - before) as u32;
        if records == 0 {
            return Ok(());
        }
        let (coder, flags, block_records, sections, blocks) = match self.options.level {
            Level::Fast => {
                self.out.align()?;
                let rows = self.out.section(&std::mem::take(&mut self.rows))?;
                let heap = self.out.section(&std::mem::take(&mut self.heap))?;
                (CODER_ROWS, 0, 1, [rows, Section::default(), heap], records.into())
            }
            Level::Default => {
                let mut waiting = std::mem::take(&mut self.waiting);
                if self.options.sorted {
                    waiting.sort()?;
                }
                self.push_blocks(waiting.keys())?;
                let coded = waiting.code(self.options.block_records)?;
                let model = self.out.section(&coded.model)?;
                let directory = self.out.section(&coded.directory)?;
                self.out.begin();
                for block in &coded.blocks {
                    self.out.put(block)?;
                }
                let blocks = self.out.end();
                let sections = [model, directory, blocks];
                let count = records.div_ceil(self.options.block_records);
                (coded.coder, coded.flags, coded.block_records, sections, u64::from(count))
            }
        };
        let [model, directory, coded] = sections;
        let segment = Segment {
            first_record: before.into(),
            first_block: self.blocks.into(),
            records: records.into(),
            block_records: block_records.into(),
            coder,
            flags,
            index_records: (self.options.block_records as u16).into(),
            model,
            directory,
            blocks: coded,
            check: 0.into(),
        };
        self.segments.push(segment.sealed());
        self.blocks += blocks;
        Ok(())
    }

    /// Puts the keys of a segment into the index, with their blocks.
    fn push_blocks(&mut self, keys: &[u64]) -> Result<(), ArchiveError> {
        if !self.options.index {
            return Ok(());
        }
        for (block, keys) in (self.blocks..).zip(keys.chunks(self.options.block_records as usize)) {
            let block = u32::try_from(block).map_err(|_| ArchiveError::LimitExceeded {
                what: "blocks",
                found: block,
                limit: u32::MAX.into(),
            })?;
            keys.iter().try_for_each(|&key| self.keys.push((key, block)))?;
        }
        Ok(())
    }

    /// Writes what is left, the index and the footer, and gives the output back.
    ///
    /// # Errors
    /// What writing reports.
    pub fn finish(mut self) -> Result<W, ArchiveError> {
        self.end_segment()?;
        let segments = self.out.section(self.segments.as_slice().as_bytes())?;
        let (mut index, mut lists) = (Section::default(), Section::default());
        let mut flags = 0;
        if self.options.sorted && self.options.level == Level::Default {
            flags |= SORTED;
        }
        if self.options.index {
            flags |= HAS_INDEX;
            match self.options.level {
                Level::Fast => {
                    flags |= INDEX_OF_RECORDS;
                    (index, lists) = fast::write_index(self.keys, &mut self.out)?;
                }
                Level::Default => {
                    self.out.begin();
                    block_index::write(self.keys, self.blocks, &mut self.out)?;
                    index = self.out.end();
                }
            }
        }
        let mut side = Section::default();
        if let Some(writer) = self.side {
            flags |= VERBATIM;
            self.out.begin();
            writer.finish(&mut self.out)?;
            side = self.out.end();
        }
        let mut footer = Footer::new(0, self.records, flags);
        (footer.segments, footer.index) = (segments, index);
        (footer.lists, footer.side) = (lists, side);
        footer.file_len = (self.out.offset() + size_of::<Footer>() as u64).into();
        self.out.put(footer.sealed().as_bytes())?;
        Ok(self.out.finish()?)
    }
}

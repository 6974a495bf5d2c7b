//! Parquet files with the tables of `formats/notes/tables.md`. The rows of a file are converted to text,
//! such as EPD lines, and read by the parsers of that text. Line *n* is row *n*; both count from 1.

use std::collections::{HashSet, VecDeque};
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use bytes::Bytes;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader,
    ParquetRecordBatchReaderBuilder,
};
use parquet::arrow::{ArrowWriter, ProjectionMask, parquet_to_arrow_schema};
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::{KeyValue, RowGroupMetaData, SortingColumn};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::reader::{ChunkReader, Length};

use super::format::FileFormat;
use super::input::Input;
use super::item::GameCounter;
use super::local::Local;
use super::options::SourceOptions;
use super::output::Output;
use super::parquet_bytes::{ParquetBytes, PlacedReader};
use super::parquet_check::{CREATED_BY, CheckedWriter, FileChecks};
use super::table_text::{Shape, TextWriter};
use crate::arrow::{
    GameTable, LichessEvaluationTable, LichessGameTable, MoveTable, RecordRows, RecordTable, Row,
    ScoreViews, TableOptions, stated_view, unknown_lichess_tags,
};
use epdb_chess::error::{Error, Place, Result, panic_text, quietly};
use epdb_chess::model::{Element, EpdRecord, Game, Opcode};
use epdb_chess::text::ScoreView;
use epdb_chess::text::epd::Losses;
use epdb_chess::text::pgn::{GameLosses, GamePosition};

pub(super) struct ParquetText {
    pub(super) shape: Shape,
    pub(super) read: Box<dyn Read + Send>,
}

/// Maximum number of rows that are read at a time.
const READ_ROWS: usize = 4096;
/// Text that is made at a time, in bytes. A single row may have more.
const TEXT_BYTES: usize = 1 << 20;
/// Minimum of the memory for the pages of a batch, in bytes.
const MIN_PAGE_BYTES: u64 = 32 << 20;

/// Opens a Parquet file. A file that does not allow random access is copied first.
///
/// # Errors
/// The file is not Parquet, is damaged, or does not have the columns of a table that epdb reads.
pub(super) fn open(path: &Path, input: Input, options: &SourceOptions) -> Result<ParquetText> {
    let local = Local::new(path, input)?;
    if options.check_all {
        verify(&local)?;
    }
    let opened = Rows::open(&local, options);
    let rows = opened.map_err(|error| error.in_source(local.name()))?;
    Ok(ParquetText { shape: rows.shape, read: Box::new(rows) })
}

/// Checks all bytes of a Parquet file against the checks that epdb wrote into it. A file of another program
/// has no such checks.
fn verify(local: &Local) -> Result<()> {
    let verified = guarded(|| {
        let file = ParquetBytes::of_file(local.path())?;
        let metadata = ArrowReaderMetadata::load(&file, reader_options()).map_err(damaged)?;
        match FileChecks::read(&file, metadata.metadata())? {
            Some(checks) => checks.verify_all(&file, metadata.metadata()),
            None => Ok(()),
        }
    });
    verified.map_err(|error| error.in_source(local.name()))
}

pub(super) fn damaged(error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::new("the Parquet file is damaged or has a feature that is not read").because(error)
}

/// Runs code of the reader of Parquet, which panics at some damaged files.
pub(super) fn guarded<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    quietly(|| catch_unwind(AssertUnwindSafe(work))).unwrap_or_else(|panic| {
        let why = panic_text(&*panic);
        Err(Error::new(format!(
            "the Parquet file is damaged: reading it failed an assertion ({why})"
        )))
    })
}

/// The Arrow schema in a file may not fit its columns, so the types come from the columns.
pub(super) fn reader_options() -> ArrowReaderOptions {
    ArrowReaderOptions::new().with_skip_arrow_metadata(true)
}

/// The rows of a Parquet file as text.
struct Rows {
    shape: Shape,
    file: PageReader,
    metadata: ArrowReaderMetadata,
    checks: Option<FileChecks>,
    /// The columns that are read: the indexes of their leaves, and as a mask.
    leaves: Vec<usize>,
    mask: ProjectionMask,
    /// The row group that is read, and the number of its rows that were read.
    group: usize,
    done: usize,
    batch_rows: usize,
    batches: Option<ParquetRecordBatchReader>,
    /// The batch that is being written, and its next row.
    batch: Option<(RecordBatch, usize)>,
    writer: TextWriter,
    text: VecDeque<u8>,
    is_at_end: bool,
    /// Keeps a temporary copy.
    _file: Local,
}

impl Rows {
    fn open(local: &Local, options: &SourceOptions) -> Result<Rows> {
        guarded(|| {
            let file = ParquetBytes::of_file(local.path())?;
            let loaded = ArrowReaderMetadata::load(&file, reader_options()).map_err(damaged)?;
            let checks = FileChecks::read(&file, loaded.metadata())?;
            let shape = Shape::of(loaded.schema())?;
            let views =
                ScoreViews { forced: options.text.score_view, stated: view_in_metadata(&loaded) };
            let fields = loaded.schema().fields();
            let is_read = |root: &usize| shape.reads(&fields[*root]);
            let roots: Vec<usize> = (0..fields.len()).filter(is_read).collect();
            let descriptor = loaded.parquet_schema();
            let mask = ProjectionMask::roots(descriptor, roots);
            let is_included = |leaf: &usize| mask.leaf_included(*leaf);
            let leaves = (0..descriptor.num_columns()).filter(is_included).collect();
            let metadata = with_views(loaded)?;
            Ok(Rows {
                shape,
                file: PageReader::new(file, options.memory_bytes as u64),
                metadata,
                checks,
                leaves,
                mask,
                group: 0,
                done: 0,
                batch_rows: 0,
                batches: None,
                batch: None,
                writer: TextWriter::new(shape, views),
                text: VecDeque::new(),
                is_at_end: false,
                _file: local.clone(),
            })
        })
    }

    /// Appends the text of the next rows.
    fn fill(&mut self) -> Result<()> {
        let mut text = Vec::new();
        match self.batch.take() {
            Some((batch, row)) => {
                let next = self.writer.write(&batch, row, TEXT_BYTES, &mut text)?;
                if next < batch.num_rows() {
                    self.batch = Some((batch, next));
                }
            }
            None => match guarded(|| self.next_batch())? {
                Some(batch) => self.batch = Some((batch, 0)),
                None => {
                    self.is_at_end = true;
                    self.writer.finish(&mut text)?;
                }
            },
        }
        self.text = text.into();
        Ok(())
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        let groups = self.metadata.metadata().num_row_groups();
        while self.group < groups {
            if self.batches.is_none() {
                self.begin_group()?;
            }
            self.file.begin_batch();
            match self.batches.as_mut().and_then(Iterator::next) {
                Some(Ok(batch)) => {
                    self.done += batch.num_rows();
                    return Ok(Some(batch));
                }
                // Few rows have most of the bytes: the rest of the row group is read in smaller batches.
                Some(Err(_)) if self.file.is_over() && self.batch_rows > 1 => {
                    self.batch_rows = self.batch_rows.div_ceil(16);
                    self.batches = Some(self.read_group()?);
                }
                Some(Err(error)) => {
                    let row = self.rows_before() + self.done + 1;
                    if self.file.is_over() {
                        let reason = self.file.too_much(self.file.read.load(Ordering::Relaxed));
                        return Err(Error::new(format!("row {row} or a later row: {reason}")));
                    }
                    return Err(
                        Error::new(format!("row {row} or a later row")).because(damaged(error))
                    );
                }
                None => {
                    self.batches = None;
                    self.group += 1;
                }
            }
        }
        Ok(None)
    }

    fn rows_before(&self) -> usize {
        let groups = self.metadata.metadata().row_groups().iter().take(self.group);
        groups.map(|group| usize::try_from(group.num_rows()).unwrap_or(0)).sum()
    }

    /// Checks the columns of the next row group, and begins to read it.
    fn begin_group(&mut self) -> Result<()> {
        let metadata = Arc::clone(self.metadata.metadata());
        let group = metadata.row_group(self.group);
        if let Some(checks) = &self.checks {
            for &leaf in &self.leaves {
                checks.verify_chunk(&self.file.bytes, group, self.group, leaf)?;
            }
        }
        self.done = 0;
        let rows = self.file.begin_group(group, &self.leaves, READ_ROWS);
        self.batch_rows = rows.map_err(|reason| {
            let row = self.rows_before() + 1;
            Error::new(format!("row {row}: {reason}"))
        })?;
        self.batches = Some(self.read_group()?);
        Ok(())
    }

    /// Reads the row group from the first row that was not read yet.
    fn read_group(&self) -> Result<ParquetRecordBatchReader> {
        ParquetRecordBatchReaderBuilder::new_with_metadata(self.file.clone(), self.metadata.clone())
            .with_row_groups(vec![self.group])
            .with_projection(self.mask.clone())
            .with_batch_size(self.batch_rows)
            .with_offset(self.done)
            .build()
            .map_err(damaged)
    }
}

impl Read for Rows {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.text.is_empty() && !self.is_at_end {
            self.fill()?;
        }
        self.text.read(buffer)
    }
}

/// The view of scores in the Arrow schema that the metadata of a file have.
pub(super) fn view_in_metadata(loaded: &ArrowReaderMetadata) -> Option<ScoreView> {
    let file = loaded.metadata().file_metadata();
    // The schema may not fit the columns, and the reader then panics. Only its metadata matter here.
    let schema = guarded(|| {
        parquet_to_arrow_schema(file.schema_descr(), file.key_value_metadata()).map_err(damaged)
    });
    stated_view(&schema.ok()?)
}

/// Reads texts as views of the pages. So a text that a dictionary shares among many rows is in memory once.
fn with_views(loaded: ArrowReaderMetadata) -> Result<ArrowReaderMetadata> {
    let fields: Vec<Field> = loaded.schema().fields().iter().map(|field| viewed(field)).collect();
    let options = ArrowReaderOptions::new().with_schema(Arc::new(Schema::new(fields)));
    ArrowReaderMetadata::try_new(Arc::clone(loaded.metadata()), options).map_err(damaged)
}

fn viewed(field: &Field) -> Field {
    let inner = |field: &Arc<Field>| Arc::new(viewed(field));
    let data_type = match field.data_type() {
        DataType::Utf8 => DataType::Utf8View,
        DataType::Binary => DataType::BinaryView,
        DataType::List(item) => DataType::List(inner(item)),
        DataType::Map(entries, sorted) => DataType::Map(inner(entries), *sorted),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(inner).collect()),
        other => other.clone(),
    };
    field.clone().with_data_type(data_type)
}

/// The pages of a Parquet file, with a limit for the pages of a batch.
#[derive(Clone)]
pub(super) struct PageReader {
    bytes: ParquetBytes,
    /// Maximum number of bytes of the pages that are read for a batch.
    max_bytes: u64,
    /// Bytes of the pages that were read for the batch.
    read: Arc<AtomicU64>,
    is_over: Arc<AtomicBool>,
    /// Offsets of the contents of the pages whose headers were read.
    contents: Arc<Mutex<HashSet<u64>>>,
}

impl PageReader {
    pub(super) fn new(bytes: ParquetBytes, memory_bytes: u64) -> PageReader {
        PageReader {
            bytes,
            max_bytes: memory_bytes.saturating_mul(2).max(MIN_PAGE_BYTES),
            read: Arc::default(),
            is_over: Arc::default(),
            contents: Arc::default(),
        }
    }

    /// Begins a row group. Returns the number of its rows, up to `max_rows`, that fit a quarter of the memory, by
    /// what the file says.
    ///
    /// # Errors
    /// The reason why a mean row does not fit the memory. Columns overlap.
    pub(super) fn begin_group(
        &self,
        group: &RowGroupMetaData,
        leaves: &[usize],
        max_rows: usize,
    ) -> Result<usize, String> {
        self.contents().clear();
        refuse_overlap(group, leaves)?;
        let rows = u64::try_from(group.num_rows()).unwrap_or(0).max(1);
        let bytes = |leaf: &usize| {
            let column = group.column(*leaf);
            let values = u64::try_from(column.num_values()).unwrap_or(0).saturating_mul(32);
            u64::try_from(column.uncompressed_size()).unwrap_or(0).saturating_add(values)
        };
        let bytes = leaves.iter().map(bytes).fold(0, u64::saturating_add);
        let bytes_of_row = (bytes / rows).max(1);
        if bytes_of_row > self.max_bytes {
            return Err(self.too_much(bytes_of_row));
        }
        let fitting = self.max_bytes / 4 / bytes_of_row;
        Ok(usize::try_from(fitting).unwrap_or(max_rows).clamp(1, max_rows))
    }

    /// Adds the page whose header is at `start`.
    fn count_page(&self, start: u64, header: Option<PageHeader>) -> parquet::errors::Result<()> {
        let PageHeader { len, content, memory } = header
            .ok_or_else(|| ParquetError::General("the header of a page cannot be read".into()))?;
        let before = self.read.fetch_add(memory, Ordering::Relaxed);
        if before.saturating_add(memory) > self.max_bytes {
            self.is_over.store(true, Ordering::Relaxed);
            return Err(ParquetError::General("the pages of a batch do not fit the memory".into()));
        }
        // A page without content is not looked at twice, and the next header begins in its place.
        if content > 0 {
            self.contents().insert(start.saturating_add(len));
        }
        Ok(())
    }

    fn contents(&self) -> MutexGuard<'_, HashSet<u64>> {
        self.contents.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn begin_batch(&self) {
        self.read.store(0, Ordering::Relaxed);
        self.is_over.store(false, Ordering::Relaxed);
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    fn too_much(&self, bytes: u64) -> String {
        let max_bytes = self.max_bytes;
        format!(
            "{bytes} bytes are needed at once, and {max_bytes} fit the memory: give more --memory"
        )
    }
}

/// Refuses columns of which one begins in another one: its first header could stand where the content of a page is
/// expected, and would not be counted.
fn refuse_overlap(group: &RowGroupMetaData, leaves: &[usize]) -> Result<(), String> {
    let range_of = |leaf: &usize| {
        let column = group.column(*leaf);
        let start = column.dictionary_page_offset().unwrap_or_else(|| column.data_page_offset());
        start..start.saturating_add(column.compressed_size())
    };
    let mut ranges: Vec<Range<i64>> = leaves.iter().map(range_of).collect();
    ranges.sort_unstable_by_key(|range| range.start);
    let overlaps = ranges.windows(2).any(|pair| pair[0].end > pair[1].start);
    if overlaps { Err("two columns overlap".into()) } else { Ok(()) }
}

/// Estimated memory of a value of a page, besides its bytes.
const VALUE_BYTES: u64 = 8;
/// Maximum depth of structures in the header of a page.
const MAX_DEPTH: u32 = 8;
/// Maximum number of bytes of the header of a page. It may have the smallest and the largest value.
const MAX_HEADER: u64 = 16 << 20;

struct PageHeader {
    /// Bytes of the header.
    len: u64,
    /// Bytes of the page in the file.
    content: u64,
    /// Estimated memory of the page.
    memory: u64,
}

/// Reads the header of a page, which is in the compact protocol of Thrift.
struct HeaderReader<R> {
    input: R,
    len: u64,
}

impl<R: Read> HeaderReader<R> {
    /// `None` if this is no header. Its fields are: type, uncompressed size, compressed size, perhaps a checksum, and
    /// a structure whose first field is the number of values.
    fn header(mut self) -> Option<PageHeader> {
        let mut size = None;
        let mut content = None;
        let mut values = 0;
        let mut id = 0;
        while let Some((kind, next)) = self.field(id)? {
            id = next;
            match (kind, id) {
                (Kind::INTEGER, 2) => size = Some(self.number()?),
                (Kind::INTEGER, 3) => content = Some(self.number()?),
                (Kind::STRUCTURE, _) => values = self.values()?,
                _ => self.skip(kind, 0)?,
            }
        }
        let memory = values.saturating_mul(VALUE_BYTES).saturating_add(size?);
        Some(PageHeader { len: self.len, content: content?, memory })
    }

    /// Reads the structure of a kind of page, and returns the number of values; 0 if there is none.
    fn values(&mut self) -> Option<u64> {
        let mut values = 0;
        let mut id = 0;
        while let Some((kind, next)) = self.field(id)? {
            id = next;
            match (kind, id) {
                (Kind::INTEGER, 1) => values = self.number()?,
                _ => self.skip(kind, 0)?,
            }
        }
        Some(values)
    }

    fn byte(&mut self) -> Option<u8> {
        let mut byte = [0];
        self.input.read_exact(&mut byte).ok()?;
        self.len += 1;
        Some(byte[0])
    }

    /// The kind and the id of the next field; `Some(None)` at the end of a structure.
    #[expect(clippy::option_option, reason = "the outer one is for bytes that are no header")]
    fn field(&mut self, before: u64) -> Option<Option<(Kind, u64)>> {
        let byte = self.byte()?;
        if byte == 0 {
            return Some(None);
        }
        let id = match byte >> 4 {
            0 => self.number()?,
            delta => before.checked_add(delta.into())?,
        };
        Some(Some((Kind(byte & 0x0f), id)))
    }

    /// A number in zigzag form; a number below 0, which no size is, becomes the largest number.
    fn number(&mut self) -> Option<u64> {
        let number = self.varint()?;
        Some(if number & 1 == 0 { number >> 1 } else { u64::MAX })
    }

    fn varint(&mut self) -> Option<u64> {
        let mut number = 0_u64;
        for place in 0..10 {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f).checked_shl(7 * place)?;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    fn skip(&mut self, kind: Kind, depth: u32) -> Option<()> {
        match kind {
            Kind::TRUE | Kind::FALSE => {}
            Kind::BYTE => _ = self.byte()?,
            Kind::SHORT | Kind::INTEGER | Kind::LONG => _ = self.varint()?,
            Kind::BINARY => {
                for _ in 0..self.varint()? {
                    self.byte()?;
                }
            }
            Kind::STRUCTURE if depth < MAX_DEPTH => {
                while let Some((kind, _)) = self.field(0)? {
                    self.skip(kind, depth + 1)?;
                }
            }
            _ => return None,
        }
        Some(())
    }
}

/// The kind of a field in the compact protocol of Thrift; headers have no others.
#[derive(Copy, Clone, PartialEq, Eq)]
struct Kind(u8);

impl Kind {
    const TRUE: Kind = Kind(1);
    const FALSE: Kind = Kind(2);
    const BYTE: Kind = Kind(3);
    const SHORT: Kind = Kind(4);
    const INTEGER: Kind = Kind(5);
    const LONG: Kind = Kind(6);
    const BINARY: Kind = Kind(8);
    const STRUCTURE: Kind = Kind(12);
}

impl Length for PageReader {
    fn len(&self) -> u64 {
        self.bytes.size()
    }
}

impl ChunkReader for PageReader {
    type T = BufReader<PlacedReader>;

    /// The reader of pages calls this for the header of each page, before it reads and decompresses the page. If
    /// it looked at the header alone, as at the end of each page of a list, it calls this again for the content.
    fn get_read(&self, start: u64) -> parquet::errors::Result<Self::T> {
        if !self.contents().remove(&start) {
            let input = self.bytes.get_read(start)?.take(MAX_HEADER);
            self.count_page(start, HeaderReader { input, len: 0 }.header())?;
        }
        self.bytes.get_read(start)
    }

    fn get_bytes(&self, start: u64, length: usize) -> parquet::errors::Result<Bytes> {
        self.bytes.get_bytes(start, length)
    }
}

/// Writes a table of another program as a Parquet file, which is then a source like any other.
///
/// # Errors
/// Parquet cannot hold a column, a batch is an error, or writing fails.
pub fn write_table(
    file: File,
    schema: SchemaRef,
    batches: impl Iterator<Item = Result<RecordBatch, ArrowError>>,
) -> Result<()> {
    let properties = WriterProperties::builder()
        .set_statistics_enabled(EnabledStatistics::None)
        .set_max_row_group_row_count(Some(GROUP_ROWS));
    let writer = ArrowWriter::try_new(file, schema, Some(properties.build()));
    let mut writer = writer.map_err(cannot_write)?;
    for batch in batches {
        let batch = batch.map_err(|error| Error::new("cannot read the table").because(error))?;
        writer.write(&batch).map_err(cannot_write)?;
    }
    writer.close().map_err(cannot_write).map(drop)
}

/// A Parquet file that is being written.
pub(super) struct ParquetTarget {
    writer: ArrowWriter<CheckedWriter>,
    rows: Table,
    games: GameCounter,
    count: usize,
    /// A row group is written when it has this number of bytes in memory.
    group_bytes: usize,
}

enum Table {
    Records(RecordTable),
    Games(GameTable),
    Moves(MoveTable),
    Evaluations(LichessEvaluationTable),
    LichessGames(LichessGameTable),
}

const WRITE_ROWS: usize = 8192;
/// Default of [`ParquetTarget::group_bytes`].
const GROUP_BYTES: usize = 64 << 20;
const GROUP_ROWS: usize = 128 << 10;

impl ParquetTarget {
    pub(super) fn new(
        output: Output,
        format: FileFormat,
        memory_bytes: Option<usize>,
        is_sorted_by_key: bool,
    ) -> Result<ParquetTarget> {
        let options = TableOptions::default();
        let rows = match format {
            FileFormat::ParquetGames => {
                Table::Games(GameTable::new(&TableOptions { white_view: true, ..options })?)
            }
            FileFormat::ParquetAllRecords => {
                let columns = Some(RecordRows::all_columns());
                Table::Records(RecordTable::new(&TableOptions { columns, ..options })?)
            }
            FileFormat::ParquetMoves => Table::Moves(MoveTable::new(&options)?),
            FileFormat::ParquetLichessEvaluations => {
                Table::Evaluations(LichessEvaluationTable::new()?)
            }
            FileFormat::ParquetLichessGames => Table::LichessGames(LichessGameTable::new()?),
            _ => Table::Records(RecordTable::new(&options)?),
        };
        let output = CheckedWriter::new(output);
        let schema = rows.schema();
        let key = if is_sorted_by_key { schema.index_of("key").ok() } else { None };
        let writer =
            ArrowWriter::try_new(output, schema, Some(properties(key))).map_err(cannot_write)?;
        let group_bytes = memory_bytes.map_or(GROUP_BYTES, |bytes| bytes / 2);
        Ok(ParquetTarget { writer, rows, games: GameCounter::default(), count: 0, group_bytes })
    }

    /// Writes a record, with data from the game of its position. `from` is the place from which the
    /// record was read. Returns what the table does not have of it.
    ///
    /// # Errors
    /// The file is a table of games, the table cannot hold the record, or the output fails.
    pub(super) fn write(
        &mut self,
        record: &EpdRecord,
        from: Option<(&Place, Option<GamePosition<'_>>)>,
    ) -> Result<Losses> {
        let placed = |error: Error| match from {
            Some((place, _)) => error.at(place.clone()),
            None => error,
        };
        let losses = match &mut self.rows {
            Table::Records(table) => {
                let row = Row::new(record);
                let row = match from {
                    Some((place, Some(game))) => row.of_game(game, self.games.count(record, place)),
                    Some((place, None)) => row.of_table(place),
                    None => row,
                };
                table.push(&row).map_err(placed)?;
                Losses::default()
            }
            Table::Moves(table) => {
                table.push(record).map_err(placed)?;
                losses_of_record(record, &[Opcode::KEPT_GAMES, Opcode::TALLY])
            }
            Table::Evaluations(table) => {
                table.push(record).map_err(placed)?;
                losses_of_record(record, &[Opcode::ACD, Opcode::ACN, Opcode::CE, Opcode::PV])
            }
            Table::Games(_) | Table::LichessGames(_) => {
                return Err(Error::new("cannot write positions into a table of games"));
            }
        };
        self.end_row()?;
        Ok(losses)
    }

    /// Writes a game. Returns the parts of it that the table does not have.
    ///
    /// # Errors
    /// The file is not a table of games, the table cannot hold the game, or the output fails.
    pub(super) fn write_game(&mut self, game: &Game) -> Result<GameLosses> {
        let losses = match &mut self.rows {
            Table::Games(table) => {
                table.push(game)?;
                losses_of_table(game)
            }
            Table::LichessGames(table) => {
                table.push(game)?;
                GameLosses { tags: unknown_lichess_tags(game), ..GameLosses::default() }
            }
            _ => return Err(Error::new("cannot write games into a table of positions")),
        };
        self.end_row()?;
        Ok(losses)
    }

    fn end_row(&mut self) -> Result<()> {
        self.count += 1;
        if self.count == WRITE_ROWS { self.write_rows() } else { Ok(()) }
    }

    fn write_rows(&mut self) -> Result<()> {
        self.count = 0;
        let batch = self.rows.finish()?;
        self.writer.write(&batch).map_err(cannot_write)?;
        if self.writer.in_progress_size() > self.group_bytes {
            self.writer.flush().map_err(cannot_write)?;
        }
        self.check_groups()
    }

    /// Makes the checks of row groups that were written.
    fn check_groups(&mut self) -> Result<()> {
        let done = self.writer.inner().groups();
        let ranges: Vec<Vec<(u64, u64)>> = self.writer.flushed_row_groups()[done..]
            .iter()
            .map(|group| group.columns().iter().map(|column| column.byte_range()).collect())
            .collect();
        if ranges.is_empty() {
            return Ok(());
        }
        self.writer.sync().map_err(|error| Error::new("cannot write Parquet").because(error))?;
        let output = self.writer.inner_mut();
        ranges.iter().try_for_each(|group| output.end_group(group))
    }

    pub(super) fn finish(mut self) -> Result<()> {
        self.write_rows()?;
        self.writer.flush().map_err(cannot_write)?;
        self.check_groups()?;
        for (key, value) in self.writer.inner().key_values() {
            self.writer.append_key_value_metadata(KeyValue::new(key, value));
        }
        self.writer.into_inner().map_err(cannot_write)?.finish()
    }
}

/// The parts of a record that are not in a table with columns for these operations only.
fn losses_of_record(record: &EpdRecord, columns: &[Opcode]) -> Losses {
    let counters = [Opcode::FMVN, Opcode::HMVC];
    let mut losses = Losses::default();
    losses.counters += u64::from(record.counters() != (None, None));
    for operation in record.operations() {
        let is_known = |opcode: &Opcode| *opcode == operation.opcode;
        losses.operations += u64::from(!columns.iter().chain(&counters).any(is_known));
    }
    losses
}

fn losses_of_table(game: &Game) -> GameLosses {
    let mut losses = GameLosses::default();
    let mut depth = 0_u32;
    for element in game.elements() {
        match element {
            Element::VariationBegin => {
                losses.variations += 1;
                depth += 1;
            }
            Element::VariationEnd => depth -= 1,
            Element::Nag(_) => losses.nags += 1,
            Element::Escape(_) => losses.escapes += 1,
            // The columns of clocks and evaluations are those of the main line.
            Element::Comment(comment) => {
                losses.comments += u64::from(depth > 0 || !is_in_columns(comment));
            }
            Element::Move(_) | Element::NullMove => {}
        }
    }
    losses
}

/// Whether a comment has nothing but a clock and an evaluation, which are columns.
fn is_in_columns(comment: &str) -> bool {
    comment.split_inclusive(']').all(|part| {
        let part = part.trim();
        part.ends_with(']') && (part.starts_with("[%clk ") || part.starts_with("[%eval "))
    })
}

fn cannot_write(error: ParquetError) -> Error {
    Error::new("cannot write Parquet").because(error)
}

impl Table {
    fn schema(&self) -> SchemaRef {
        match self {
            Table::Records(table) => table.schema(),
            Table::Games(table) => table.schema(),
            Table::Moves(table) => table.schema(),
            Table::Evaluations(table) => table.schema(),
            Table::LichessGames(table) => table.schema(),
        }
    }

    fn finish(&mut self) -> Result<RecordBatch> {
        match self {
            Table::Records(table) => table.finish(),
            Table::Games(table) => table.finish(),
            Table::Moves(table) => table.finish(),
            Table::Evaluations(table) => table.finish(),
            Table::LichessGames(table) => table.finish(),
        }
    }
}

/// zstd, statistics, and a bloom filter of the keys. `key` is the index of the column by which rows are
/// sorted; before it are no nested columns.
fn properties(key: Option<usize>) -> WriterProperties {
    let sorting = key.and_then(|key| i32::try_from(key).ok()).map(|column_idx| {
        vec![SortingColumn { column_idx, descending: false, nulls_first: false }]
    });
    WriterProperties::builder()
        .set_created_by(CREATED_BY.to_string())
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_max_row_group_row_count(Some(GROUP_ROWS))
        .set_column_bloom_filter_enabled("key".into(), true)
        .set_sorting_columns(sorting)
        .build()
}

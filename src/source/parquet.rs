//! Parquet files with the tables of `formats/tables.md`. The rows of a file are converted to text,
//! such as EPD lines, and read by the parsers of that text. Line *n* is row *n*; both count from 1.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use arrow_array::types::{Int64Type, UInt64Type};
use arrow_array::{ArrayRef, PrimitiveArray, RecordBatch};
use arrow_schema::{DataType, Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

use super::format::FileFormat;
use super::input::Input;
use super::local::Local;
use super::output::Output;
use super::table_text::{Shape, TextWriter};
use crate::arrow::{
    GameCounter, GameTable, LichessEvaluationTable, LichessGameTable, MoveTable, RecordTable, Row,
    TableOptions,
};
use crate::error::{Error, Place, Result};
use crate::model::{EpdRecord, Game};
use crate::text::pgn::GamePosition;

/// The text of a Parquet file.
pub(super) struct ParquetText {
    pub(super) shape: Shape,
    pub(super) read: Box<dyn Read + Send>,
}

/// Rows that are read at a time.
const READ_ROWS: usize = 4096;

/// Opens a Parquet file. A file that does not allow random access is copied first.
///
/// # Errors
/// The file is not Parquet, is damaged, or does not have the columns of a table that epdb reads.
pub(super) fn open(path: &Path, input: Input) -> Result<ParquetText> {
    let local = Local::new(path, input)?;
    let failed = |error: Error| error.in_source(local.name());
    let file = std::fs::File::open(local.path())
        .map_err(|error| failed(Error::new("cannot read").because(error)))?;
    let builder = ParquetRecordBatchReaderBuilder::try_new(file)
        .map_err(|error| failed(damaged(error)))?
        .with_batch_size(READ_ROWS);
    let shape = Shape::of(builder.schema()).map_err(failed)?;
    let batches = builder.build().map_err(|error| failed(damaged(error)))?;
    let writer = TextWriter::new(shape);
    let text = VecDeque::new();
    Ok(ParquetText {
        shape,
        read: Box::new(Rows { batches: Some(batches), writer, text, _file: local.clone() }),
    })
}

fn damaged(error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::new("the Parquet file is damaged or has a feature that is not read").because(error)
}

/// The rows of a Parquet file as text.
struct Rows {
    /// `None` at the end.
    batches: Option<ParquetRecordBatchReader>,
    writer: TextWriter,
    text: VecDeque<u8>,
    /// Keeps a temporary copy.
    _file: Local,
}

impl Rows {
    /// Appends the text of the next rows.
    fn fill(&mut self) -> Result<()> {
        let Some(batches) = &mut self.batches else { return Ok(()) };
        let mut text = Vec::new();
        match batches.next() {
            Some(batch) => self.writer.write(&batch.map_err(damaged)?, &mut text)?,
            None => {
                self.batches = None;
                self.writer.finish(&mut text)?;
            }
        }
        self.text = text.into();
        Ok(())
    }
}

impl Read for Rows {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.text.is_empty() && self.batches.is_some() {
            self.fill()?;
        }
        self.text.read(buffer)
    }
}

/// A Parquet file that is being written.
pub(super) struct ParquetTarget {
    writer: ArrowWriter<Output>,
    schema: SchemaRef,
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

/// Rows that are written at a time.
const WRITE_ROWS: usize = 8192;
/// Default of [`ParquetTarget::group_bytes`].
const GROUP_BYTES: usize = 64 << 20;
/// Maximum number of rows of a row group.
const GROUP_ROWS: usize = 128 << 10;

impl ParquetTarget {
    /// # Errors
    /// The output fails.
    pub(super) fn new(
        output: Output,
        format: FileFormat,
        memory_bytes: Option<usize>,
    ) -> Result<ParquetTarget> {
        let options = TableOptions::new();
        let rows = match format {
            FileFormat::ParquetGames => Table::Games(GameTable::new(&options.white_view(true))?),
            FileFormat::ParquetMoves => Table::Moves(MoveTable::new(&options)?),
            FileFormat::ParquetLichessEvaluations => {
                Table::Evaluations(LichessEvaluationTable::new()?)
            }
            FileFormat::ParquetLichessGames => Table::LichessGames(LichessGameTable::new()?),
            _ => Table::Records(RecordTable::new(&options)?),
        };
        let schema = signed_schema(&rows.schema());
        let writer = ArrowWriter::try_new(output, Arc::clone(&schema), Some(properties()))
            .map_err(|error| Error::new("cannot write Parquet").because(error))?;
        let group_bytes = memory_bytes.map_or(GROUP_BYTES, |bytes| bytes / 2);
        Ok(ParquetTarget {
            writer,
            schema,
            rows,
            games: GameCounter::default(),
            count: 0,
            group_bytes,
        })
    }

    /// Writes a record, with data from the game of its position. `from` is the place from which the
    /// record was read.
    ///
    /// # Errors
    /// The file is a table of games, the table cannot hold the record, or the output fails.
    pub(super) fn write(
        &mut self,
        record: &EpdRecord,
        from: Option<(&Place, Option<GamePosition<'_>>)>,
    ) -> Result<()> {
        let placed = |error: Error| match from {
            Some((place, _)) => error.at(place.clone()),
            None => error,
        };
        match &mut self.rows {
            Table::Records(table) => {
                let row = Row::new(record);
                let row = match from {
                    Some((place, Some(game))) => row.of_game(game, self.games.count(record, place)),
                    _ => row,
                };
                table.push(&row).map_err(placed)?;
            }
            Table::Moves(table) => table.push(record).map_err(placed)?,
            Table::Evaluations(table) => table.push(record)?,
            Table::Games(_) | Table::LichessGames(_) => {
                return Err(Error::new("cannot write positions into a table of games"));
            }
        }
        self.end_row()
    }

    /// Writes a game.
    ///
    /// # Errors
    /// The file is not a table of games, the table cannot hold the game, or the output fails.
    pub(super) fn write_game(&mut self, game: &Game) -> Result<()> {
        match &mut self.rows {
            Table::Games(table) => table.push(game)?,
            Table::LichessGames(table) => table.push(game)?,
            _ => return Err(Error::new("cannot write games into a table of positions")),
        }
        self.end_row()
    }

    fn end_row(&mut self) -> Result<()> {
        self.count += 1;
        if self.count == WRITE_ROWS { self.write_rows() } else { Ok(()) }
    }

    fn write_rows(&mut self) -> Result<()> {
        self.count = 0;
        let batch = self.rows.finish()?;
        let failed = |error| Error::new("cannot write Parquet").because(error);
        self.writer.write(&signed(&batch, &self.schema)?).map_err(failed)?;
        if self.writer.in_progress_size() > self.group_bytes {
            self.writer.flush().map_err(failed)?;
        }
        Ok(())
    }

    /// Completes the file.
    ///
    /// # Errors
    /// The output fails.
    pub(super) fn finish(mut self) -> Result<()> {
        self.write_rows()?;
        let output = self.writer.into_inner();
        output.map_err(|error| Error::new("cannot write Parquet").because(error))?.finish()?;
        Ok(())
    }
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

/// zstd, statistics, and a bloom filter of the keys.
fn properties() -> WriterProperties {
    WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_max_row_group_row_count(Some(GROUP_ROWS))
        .set_column_bloom_filter_enabled("key".into(), true)
        .build()
}

/// The schema with int64 in place of uint64, which many readers of Parquet do not know.
fn signed_schema(schema: &Schema) -> SchemaRef {
    let fields = schema.fields().iter().map(|field| match field.data_type() {
        DataType::UInt64 => field.as_ref().clone().with_data_type(DataType::Int64),
        _ => field.as_ref().clone(),
    });
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

/// The batch with the bits of uint64 as int64.
fn signed(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch> {
    let columns = batch.columns().iter().map(|array| match array.data_type() {
        DataType::UInt64 => {
            let bits = array.as_any().downcast_ref::<PrimitiveArray<UInt64Type>>();
            match bits {
                Some(bits) => Arc::new(bits.unary::<_, Int64Type>(u64::cast_signed)) as ArrayRef,
                None => ArrayRef::clone(array),
            }
        }
        _ => ArrayRef::clone(array),
    });
    RecordBatch::try_new(Arc::clone(schema), columns.collect())
        .map_err(|error| Error::new("the batch cannot be made").because(error))
}

//! Columns of Parquet files that epdb wrote. No record is built: only the columns that are asked for are read
//! and checked, and only the row groups that may have rows for a filter.

use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use arrow_array::{BooleanArray, RecordBatch};
use arrow_schema::{ArrowError, DataType, Schema};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowPredicateFn, ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader,
    ParquetRecordBatchReaderBuilder, RowFilter,
};
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::statistics::Statistics;

use super::address::{is_address, without_query};
use super::delta::name_of;
use super::format::FileFormat;
use super::options::SourceOptions;
use super::parquet::{PageReader, damaged, guarded, reader_options, view_in_metadata};
use super::parquet_bytes::{ParquetBytes, cannot_read};
use super::parquet_check::FileChecks;
use epdb_chess::error::{Error, Result};
use epdb_chess::text::{ParseOptions, ScoreView};

/// A Parquet file that epdb wrote.
#[derive(Debug)]
pub struct ColumnFile {
    bytes: ParquetBytes,
    metadata: ArrowReaderMetadata,
    checks: FileChecks,
    /// Whether the bloom filters are as they were written; looked at with the first of them.
    has_sound_filters: OnceLock<bool>,
    view: Option<ScoreView>,
    memory_bytes: u64,
}

/// The last bytes of a Parquet file.
const MAGIC: &[u8] = b"PAR1";

/// Decides which rows of a batch are wanted.
pub type RowTest = Box<dyn FnMut(&RecordBatch) -> Result<BooleanArray> + Send>;

impl ColumnFile {
    /// Opens a file or an address; `None` if it is not a Parquet file that epdb wrote, if it has other columns than
    /// the table `all`, if the options change how its records are read, or if its server does not send ranges.
    /// Batches have the types of `all`. An address is asked only if its name ends with `.parquet`.
    ///
    /// # Errors
    /// The file cannot be read, or its footer is damaged.
    pub fn open(path: &Path, all: &Schema, options: &SourceOptions) -> Result<Option<ColumnFile>> {
        let is_plain = options.format.is_none_or(FileFormat::is_parquet)
            && options.text == ParseOptions::default()
            && options.max_line.is_none()
            && !options.deny_warnings
            && !options.check_all;
        let may_be_parquet = if is_address(path) {
            FileFormat::from_name(without_query(path)).is_some_and(FileFormat::is_parquet)
        } else {
            path.is_file()
        };
        if !is_plain || !may_be_parquet {
            return Ok(None);
        }
        let opened = guarded(|| ColumnFile::try_open(path, all, options.memory_bytes));
        opened.map_err(|error| error.in_source(name_of(path)))
    }

    fn try_open(path: &Path, all: &Schema, memory_bytes: usize) -> Result<Option<ColumnFile>> {
        let Some(bytes) = ParquetBytes::open(path)? else { return Ok(None) };
        let end = bytes.size().saturating_sub(MAGIC.len() as u64)..bytes.size();
        if bytes.read(&end).map_err(cannot_read)? != MAGIC {
            return Ok(None);
        }
        let loaded = ArrowReaderMetadata::load(&bytes, reader_options()).map_err(damaged)?;
        let Some(checks) = FileChecks::read(&bytes, loaded.metadata())? else { return Ok(None) };
        let mut fields = Vec::new();
        for field in loaded.schema().fields() {
            let Ok(known) = all.field_with_name(field.name()) else { return Ok(None) };
            fields.push(field.as_ref().clone().with_data_type(known.data_type().clone()));
        }
        let view = view_in_metadata(&loaded);
        let options = ArrowReaderOptions::new().with_schema(Arc::new(Schema::new(fields)));
        let metadata = ArrowReaderMetadata::try_new(Arc::clone(loaded.metadata()), options);
        // A file of an older version may have other types.
        let Ok(metadata) = metadata else { return Ok(None) };
        Ok(Some(ColumnFile {
            bytes,
            metadata,
            checks,
            has_sound_filters: OnceLock::new(),
            view,
            memory_bytes: memory_bytes as u64,
        }))
    }

    /// Names and types of the columns.
    pub fn schema(&self) -> &Schema {
        self.metadata.schema()
    }

    /// The view of the scores.
    pub const fn view(&self) -> Option<ScoreView> {
        self.view
    }

    /// Number of row groups.
    pub fn groups(&self) -> usize {
        self.metadata.metadata().num_row_groups()
    }

    /// Number of rows of a row group.
    pub fn rows(&self, group: usize) -> usize {
        usize::try_from(self.group(group).num_rows()).unwrap_or(0)
    }

    fn group(&self, group: usize) -> &RowGroupMetaData {
        self.metadata.metadata().row_group(group)
    }

    /// The leaf of a column that is not nested.
    fn leaf(&self, column: &str) -> Option<usize> {
        let columns = self.metadata.parquet_schema();
        (0..columns.num_columns()).find(|leaf| columns.column(*leaf).path().string() == column)
    }

    /// The least and the greatest value of a column of integers in a row group, by its statistics.
    fn range(&self, group: usize, column: &str) -> Option<(i128, i128)> {
        let is_unsigned =
            *self.schema().field_with_name(column).ok()?.data_type() == DataType::UInt64;
        match self.group(group).column(self.leaf(column)?).statistics()? {
            Statistics::Int32(range) => {
                Some(((*range.min_opt()?).into(), (*range.max_opt()?).into()))
            }
            Statistics::Int64(range) => {
                let whole =
                    |bits: i64| if is_unsigned { bits.cast_unsigned().into() } else { bits.into() };
                Some((whole(*range.min_opt()?), whole(*range.max_opt()?)))
            }
            _ => None,
        }
    }

    /// Whether a row group may have one of these values in a column of integers. A single value is looked up in
    /// the bloom filter too.
    pub fn may_have(&self, group: usize, column: &str, values: &RangeInclusive<i128>) -> bool {
        let (least, greatest) = (*values.start(), *values.end());
        let range = self.range(group, column);
        if range.is_some_and(|(first, last)| greatest < first || last < least) {
            return false;
        }
        least != greatest || self.bloom_may_have(group, column, least).unwrap_or(true)
    }

    fn bloom_may_have(&self, group: usize, column: &str, value: i128) -> Option<bool> {
        // Values of int32 have other bits in a filter.
        let leaf = self.leaf(column)?;
        let is_wide = matches!(
            self.schema().field_with_name(column).ok()?.data_type(),
            DataType::UInt64 | DataType::Int64
        );
        if !is_wide || self.group(group).column(leaf).bloom_filter_offset().is_none() {
            return None;
        }
        // A filter that is damaged could hide a value.
        let is_sound = || self.checks.verify_others(&self.bytes, self.metadata.metadata()).is_ok();
        if !*self.has_sound_filters.get_or_init(is_sound) {
            return None;
        }
        let reader = ParquetRecordBatchReaderBuilder::new_with_metadata(
            self.bytes.clone(),
            self.metadata.clone(),
        );
        let filter =
            guarded(|| reader.get_row_group_column_bloom_filter(group, leaf).map_err(damaged));
        Some(filter.ok()??.check(&(value as i64)))
    }

    /// Whether a column of pairs may have this name, by the statistics of all row groups.
    pub fn may_have_name(&self, column: &str, name: &str) -> bool {
        let columns = self.metadata.parquet_schema();
        let is_of_names = |leaf: &usize| {
            let descriptor = columns.column(*leaf);
            let path = descriptor.path().parts();
            path.first().is_some_and(|root| root == column)
                && path.last().is_some_and(|part| part == "name")
        };
        let Some(leaf) = (0..columns.num_columns()).find(is_of_names) else { return false };
        (0..self.groups()).any(|group| {
            let chunk = self.group(group).column(leaf);
            let Some(Statistics::ByteArray(range)) = chunk.statistics() else { return true };
            match (range.min_opt(), range.max_opt()) {
                (Some(first), Some(last)) => {
                    first.data() <= name.as_bytes() && name.as_bytes() <= last.data()
                }
                // Without bounds, only a row group in which each value is missing has no such name.
                _ => range.null_count_opt() != u64::try_from(chunk.num_values()).ok(),
            }
        })
    }

    /// The rows of a row group: the columns with these indexes, in the order of the file. `filter` has the
    /// indexes of the columns that its test sees.
    ///
    /// # Errors
    /// A column is damaged.
    pub fn read(
        &self,
        group: usize,
        columns: &[usize],
        filter: Option<(&[usize], RowTest)>,
        batch_rows: usize,
    ) -> Result<ColumnReader> {
        guarded(|| self.try_read(group, columns, filter, batch_rows))
    }

    fn try_read(
        &self,
        group: usize,
        columns: &[usize],
        filter: Option<(&[usize], RowTest)>,
        batch_rows: usize,
    ) -> Result<ColumnReader> {
        let descriptor = self.metadata.parquet_schema();
        let mask = |roots: &[usize]| ProjectionMask::roots(descriptor, roots.iter().copied());
        let output = mask(columns);
        let tested = filter.as_ref().map(|(roots, _)| mask(roots));
        let is_read = |leaf: &usize| {
            output.leaf_included(*leaf)
                || tested.as_ref().is_some_and(|tested| tested.leaf_included(*leaf))
        };
        let leaves: Vec<usize> = (0..descriptor.num_columns()).filter(is_read).collect();
        let range_of = |leaf: &usize| {
            let (start, length) = self.group(group).column(*leaf).byte_range();
            start..start.saturating_add(length)
        };
        self.bytes.prefetch(&leaves.iter().map(range_of).collect::<Vec<_>>())?;
        for &leaf in &leaves {
            self.checks.verify_chunk(&self.bytes, self.group(group), group, leaf)?;
        }
        let pages = PageReader::new(self.bytes.clone(), self.memory_bytes);
        let rows = pages.begin_group(self.group(group), &leaves, batch_rows).map_err(Error::new)?;
        let mut reader = ParquetRecordBatchReaderBuilder::new_with_metadata(
            pages.clone(),
            self.metadata.clone(),
        )
        .with_row_groups(vec![group])
        .with_projection(output)
        .with_batch_size(rows);
        if let (Some((_, mut test)), Some(tested)) = (filter, tested) {
            let test = move |batch: RecordBatch| {
                test(&batch).map_err(|error| ArrowError::from_external_error(Box::new(error)))
            };
            let test = Box::new(ArrowPredicateFn::new(tested, test));
            reader = reader.with_row_filter(RowFilter::new(vec![test]));
        }
        let reader = reader.build().map_err(damaged)?;
        Ok(ColumnReader { reader, pages })
    }
}

/// The batches of a row group.
pub struct ColumnReader {
    reader: ParquetRecordBatchReader,
    pages: PageReader,
}

impl std::fmt::Debug for ColumnReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ColumnReader").finish_non_exhaustive()
    }
}

impl Iterator for ColumnReader {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Result<RecordBatch>> {
        self.pages.begin_batch();
        let next = guarded(|| Ok(self.reader.next()));
        match next {
            Err(error) => Some(Err(error)),
            Ok(batch) => batch.map(|batch| batch.map_err(damaged)),
        }
    }
}

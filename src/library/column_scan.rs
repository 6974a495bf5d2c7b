//! Scans of Parquet files by columns. A table that epdb wrote already has the columns of a scan, and most
//! fields of its filter, so no record is built from its rows.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt64Type};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, BooleanArray, RecordBatch};
use arrow_schema::{Schema, SchemaRef};
use rayon::prelude::*;

use super::expression::Expression;
use super::field::{BuiltinField, Field, points};
use super::value::{EvalContext, Value};
use epdb_chess::error::{Error, Result};
use epdb_chess::model::score::Evaluation;
use epdb_chess::model::{EpdRecord, Opcode, Operands, Position};
use epdb_chess::text::{Profile, ScoreView, fen};
use epdb_source::arrow::{
    BatchColumns, Kind, RecordRows, RecordTable, TableOptions, number_at, text_at,
};
use epdb_source::{ColumnFile, ColumnReader, SourceOptions};

/// Columns that are read to make the columns of a scan, from a file that has all of them.
pub(crate) struct ColumnScan {
    file: ColumnFile,
    schema: SchemaRef,
    /// The columns of the scan in the file, and their places in a batch of the file.
    columns: Vec<usize>,
    places: Vec<usize>,
    filter: Option<Arc<ColumnFilter>>,
}

impl ColumnScan {
    /// A scan with this schema, of a table with columns of `all`; `None` if the file does not have all columns of
    /// the scan, or not all fields of the filter. A filter is for records.
    pub(crate) fn new(
        path: &Path,
        all: &Schema,
        schema: &SchemaRef,
        filter: Option<&Expression>,
        view: ScoreView,
        options: &SourceOptions,
    ) -> Result<Option<ColumnScan>> {
        let Some(file) = ColumnFile::open(path, all, options)? else { return Ok(None) };
        let Some(places) = places_of(&file, schema, view) else { return Ok(None) };
        let filter = match filter {
            Some(expression) => {
                let Some(filter) = ColumnFilter::new(&file, expression) else { return Ok(None) };
                Some(Arc::new(filter))
            }
            None => None,
        };
        let mut columns = places.clone();
        columns.sort_unstable();
        let in_batch = |column: &usize| columns.iter().position(|read| read == column).unwrap_or(0);
        let places = places.iter().map(in_batch).collect();
        Ok(Some(ColumnScan { file, schema: Arc::clone(schema), columns, places, filter }))
    }

    /// The row groups that may have rows of the scan.
    pub(crate) fn groups(&self) -> impl Iterator<Item = usize> {
        (0..self.file.groups()).filter(|group| {
            self.filter.as_ref().is_none_or(|filter| filter.may_take(&self.file, *group))
        })
    }

    pub(crate) fn all_rows(&self) -> usize {
        (0..self.file.groups()).map(|group| self.file.rows(group)).sum()
    }

    /// Calls `take` with the batches of a row group until it returns false.
    pub(crate) fn read(
        &self,
        group: usize,
        batch_rows: usize,
        take: &mut dyn FnMut(RecordBatch) -> Result<bool>,
    ) -> Result<()> {
        for batch in self.reader(group, batch_rows)? {
            let columns = batch?.project(&self.places);
            let batch = columns.and_then(|batch| batch.with_schema(Arc::clone(&self.schema)));
            let batch =
                batch.map_err(|error| Error::new("the batch cannot be made").because(error))?;
            if !take(batch)? {
                break;
            }
        }
        Ok(())
    }

    fn reader(&self, group: usize, batch_rows: usize) -> Result<ColumnReader> {
        let Some(filter) = self.filter.clone() else {
            return self.file.read(group, &self.columns, None, batch_rows);
        };
        let columns = filter.columns.clone();
        let test = Box::new(move |batch: &RecordBatch| filter.test(batch));
        self.file.read(group, &self.columns, Some((&columns, test)), batch_rows)
    }
}

/// Number of rows that are counted at a time.
const COUNTED_ROWS: usize = 1 << 16;

/// The number of records of a Parquet file for which an expression holds, if its columns are enough to count
/// them.
///
/// # Errors
/// The file cannot be read or is damaged.
pub fn count_by_columns(
    path: &Path,
    filter: Option<&Expression>,
    options: &SourceOptions,
) -> Result<Option<u64>> {
    let all = TableOptions { columns: Some(RecordRows::all_columns()), ..Default::default() };
    let all = RecordTable::new(&all)?.schema();
    let none = Arc::new(Schema::empty());
    let Some(scan) = ColumnScan::new(path, &all, &none, filter, ScoreView::Mover, options)? else {
        return Ok(None);
    };
    let groups: Vec<usize> = scan.groups().collect();
    let rows = groups.into_par_iter().map(|group| {
        let mut rows = 0;
        scan.read(group, COUNTED_ROWS, &mut |batch| {
            rows += batch.num_rows() as u64;
            Ok(true)
        })?;
        Ok(rows)
    });
    rows.sum::<Result<u64>>().map(Some)
}

/// Columns whose values depend on the view of scores.
const SCORES: [&str; 5] = ["cp", "mate", "score_view", "evals_cp", "evals_mate"];

/// The indexes in the file of the columns of a scan; `None` if the file does not have them with these values.
fn places_of(file: &ColumnFile, schema: &Schema, view: ScoreView) -> Option<Vec<usize>> {
    let mut places = Vec::with_capacity(schema.fields().len());
    for field in schema.fields() {
        let place = file.schema().index_of(field.name()).ok()?;
        let has_type = file.schema().field(place).data_type() == field.data_type();
        let has_view = !SCORES.contains(&field.name().as_str()) || file.view() == Some(view);
        if !has_type || !has_view {
            return None;
        }
        places.push(place);
    }
    // `operations` has only what the other columns of its table do not have.
    let is_whole = places.len() == file.schema().fields().len();
    (is_whole || schema.index_of("operations").is_err()).then_some(places)
}

/// An expression whose fields are columns.
struct ColumnFilter {
    expression: Expression,
    /// The columns with the values of fields.
    cells: Vec<Cell>,
    /// The column `fen`, if a field needs the position.
    needs_position: bool,
    columns: Vec<usize>,
    ranges: Vec<ColumnRange>,
    /// Whether nothing but the ranges decides.
    is_of_ranges: bool,
}

/// The numbers that a column must have.
struct ColumnRange {
    column: String,
    kind: Kind,
    numbers: RangeInclusive<i128>,
}

/// The column that has the value of a field.
#[derive(Clone, Debug)]
enum Cell {
    Number(String),
    Thousands(String),
    /// A number that counts as a text too.
    Word(String),
    Text(String),
    Key,
    Result,
    /// `cp` and `mate`, from the view of the side to move.
    Score,
}

impl ColumnFilter {
    fn new(file: &ColumnFile, expression: &Expression) -> Option<ColumnFilter> {
        let has = |name: &str| file.schema().field_with_name(name).is_ok();
        let mut fields = Vec::new();
        let mut cells = Vec::new();
        let mut needs_position = false;
        for field in expression.fields() {
            match cell_of(file, &field) {
                Some(cell) => {
                    fields.push(field);
                    cells.push(cell);
                }
                None if field.is_of_position() && is_not_in_operations(file, &field) => {
                    needs_position = true;
                }
                None => return None,
            }
        }
        if expression.check_records().is_err() || needs_position && !has("fen") {
            return None;
        }
        let names = cells.iter().flat_map(Cell::columns).chain(needs_position.then_some("fen"));
        let columns: BTreeSet<usize> =
            names.filter_map(|name| file.schema().index_of(name).ok()).collect();
        let mut of_fields = Vec::new();
        let is_decided = expression.ranges(&mut of_fields);
        let range = |(field, numbers): &(Field, RangeInclusive<i128>)| {
            let cell = &cells[fields.iter().position(|known| known == field)?];
            let (Cell::Number(_) | Cell::Key) = cell else { return None };
            let column = cell.columns()[0].to_string();
            Some(ColumnRange { column, kind: cell.kind(), numbers: numbers.clone() })
        };
        let ranges: Vec<ColumnRange> = of_fields.iter().filter_map(range).collect();
        Some(ColumnFilter {
            expression: expression.with_cells(&fields),
            cells,
            needs_position,
            columns: columns.into_iter().collect(),
            is_of_ranges: is_decided && ranges.len() == of_fields.len(),
            ranges,
        })
    }

    fn may_take(&self, file: &ColumnFile, group: usize) -> bool {
        self.ranges.iter().all(|range| file.may_have(group, &range.column, &range.numbers))
    }

    /// The rows of a batch for which the expression holds.
    fn test(&self, batch: &RecordBatch) -> Result<BooleanArray> {
        if self.is_of_ranges {
            return self.test_ranges(batch);
        }
        let columns = BatchColumns::new(batch, 0);
        let arrays = self.cells.iter().map(|cell| cell.arrays(columns));
        let arrays = arrays.collect::<Result<Vec<_>>>()?;
        let fens =
            if self.needs_position { Some(columns.required("fen", Kind::Text)?) } else { None };
        let mut record = EpdRecord::new(Position::START);
        let mut holds = Vec::with_capacity(batch.num_rows());
        let mut values = vec![Value::Missing; self.cells.len()];
        for row in 0..batch.num_rows() {
            if let Some(text) = text_at(fens.as_ref(), row) {
                record = fen::parse(text.as_bytes(), Profile::Lenient).map_err(|diagnostic| {
                    columns.invalid(row, "fen", "not a position").because(diagnostic)
                })?;
            }
            for (place, cell) in self.cells.iter().enumerate() {
                values[place] = cell.value(&arrays[place], row);
            }
            let subject = EvalContext { row: &values, ..EvalContext::from_record(&record) };
            holds.push(self.expression.holds(&subject));
        }
        Ok(holds.into())
    }

    /// The rows whose numbers are in all ranges.
    fn test_ranges(&self, batch: &RecordBatch) -> Result<BooleanArray> {
        let columns = BatchColumns::new(batch, 0);
        let mut holds = vec![true; batch.num_rows()];
        for range in &self.ranges {
            let array = columns.required(&range.column, range.kind)?;
            match range.kind {
                Kind::U64 => range.narrow::<UInt64Type>(&array, &mut holds),
                _ => range.narrow::<Int64Type>(&array, &mut holds),
            }
        }
        Ok(holds.into())
    }
}

impl ColumnRange {
    /// Excludes the rows whose numbers are missing or out of the range.
    fn narrow<T: ArrowPrimitiveType<Native: Into<i128>>>(
        &self,
        array: &ArrayRef,
        holds: &mut [bool],
    ) {
        for (holds, number) in holds.iter_mut().zip(array.as_primitive::<T>()) {
            *holds &= number.is_some_and(|number| self.numbers.contains(&number.into()));
        }
    }
}

/// The column that has the same value as a field of the records that are read from the table.
fn cell_of(file: &ColumnFile, field: &Field) -> Option<Cell> {
    let has = |name: &str| file.schema().field_with_name(name).is_ok();
    let column = |name: &str| has(name).then(|| name.to_string());
    match field {
        Field::BuiltinField(BuiltinField::Key) => has("key").then_some(Cell::Key),
        Field::BuiltinField(BuiltinField::Result) => has("result").then_some(Cell::Result),
        Field::BuiltinField(BuiltinField::GameNumber) => column("game").map(Cell::Number),
        Field::BuiltinField(BuiltinField::Ply) => column("ply").map(Cell::Number),
        Field::Operation(_) if !is_not_in_operations(file, field) => None,
        Field::Operation(opcode) => {
            let name = opcode.to_string();
            let standard = opcode.standard().map(|entry| entry.operands);
            match standard {
                Some(Operands::Integer(..)) if has(&name) => Some(Cell::Number(name)),
                Some(Operands::Str { .. }) if has(&name) => Some(Cell::Text(name)),
                _ if *opcode == Opcode::CE => {
                    let has_scores = has("cp") && has("mate");
                    (has_scores && file.view() == Some(ScoreView::Mover)).then_some(Cell::Score)
                }
                _ if *opcode == Opcode::ACN => column("knodes").map(Cell::Thousands),
                _ if *opcode == Opcode::ACD => column("depth").map(Cell::Word),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Whether `operations` of a table has no operation of the field.
fn is_not_in_operations(file: &ColumnFile, field: &Field) -> bool {
    match field {
        Field::Operation(opcode) => {
            let has = file.schema().field_with_name("operations").is_ok();
            has && !file.may_have_name("operations", &opcode.to_string())
        }
        _ => true,
    }
}

impl Cell {
    fn columns(&self) -> Vec<&str> {
        match self {
            Cell::Number(name) | Cell::Thousands(name) | Cell::Word(name) | Cell::Text(name) => {
                vec![name]
            }
            Cell::Key => vec!["key"],
            Cell::Result => vec!["result"],
            Cell::Score => vec!["cp", "mate"],
        }
    }

    const fn kind(&self) -> Kind {
        match self {
            Cell::Text(_) | Cell::Result => Kind::Text,
            Cell::Key => Kind::U64,
            _ => Kind::I64,
        }
    }

    fn arrays(&self, columns: BatchColumns<'_>) -> Result<Vec<ArrayRef>> {
        let column = |name| columns.required(name, self.kind());
        self.columns().into_iter().map(column).collect()
    }

    fn value<'a>(&self, arrays: &'a [ArrayRef], row: usize) -> Value<'a> {
        let number = |place: usize| number_at(arrays.get(place), row);
        let value = match self {
            Cell::Number(_) => number(0).map(|number| Value::whole(number.into())),
            Cell::Thousands(_) => number(0).map(|number| Value::whole(i128::from(number) * 1000)),
            Cell::Word(_) => {
                number(0).map(|number| Value::Word(number.to_string().into_bytes().into()))
            }
            Cell::Text(_) => {
                text_at(arrays.first(), row).map(|text| Value::Text(Cow::Borrowed(text.as_bytes())))
            }
            Cell::Key => key_at(&arrays[0], row).map(Value::Key),
            Cell::Result => {
                let text = text_at(arrays.first(), row);
                text.and_then(|text| points(text.as_bytes())).map(Value::Number)
            }
            Cell::Score => {
                let is_opponents = false;
                let score = number(0).map(Evaluation::Centipawns);
                let score = score.or_else(|| number(1).map(Evaluation::Mate));
                score
                    .and_then(|score| score.ce(is_opponents).ok())
                    .map(|ce| Value::whole(ce.into()))
            }
        };
        value.unwrap_or(Value::Missing)
    }
}

fn key_at(array: &ArrayRef, row: usize) -> Option<u64> {
    let keys = array.as_primitive::<UInt64Type>();
    keys.is_valid(row).then(|| keys.value(row))
}

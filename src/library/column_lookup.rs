//! Lookups of whole columns of positions in a library. Each answer is a table with the number of its query.

use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, StringArray, UInt64Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use rayon::prelude::*;

use super::explore::{Entry, ExploreOptions, Explored, MoveRow, explore_many};
use super::field;
use super::scan::{kind_of, put};
use super::value::EvalContext;
use epdb_chess::codec::packed;
use epdb_chess::codec::query::Query;
use epdb_chess::error::{Error, Result};
use epdb_chess::model::{Cell, EpdRecord, MoveTally, Position};
use epdb_chess::text::{Profile, fen};
use epdb_source::arrow::{
    BatchColumns, CellWriter, Kind, MoveRows, RecordRows, Row, TableOptions, text_at,
};
use epdb_source::{Collection, repeat_if_replaced, visit_on_threads};

/// Number of queries that are looked up together, so that each block of an archive is decoded once for them.
pub const QUERIES_AT_ONCE: usize = 1 << 19;
/// Number of queries that a thread turns into rows at a time.
const QUERIES_OF_BATCH: usize = 1 << 13;

/// The positions of a column of FENs or of packed boards. A row without a position has the reason as an error.
///
/// # Errors
/// The column has another type.
pub fn positions(column: &ArrayRef) -> Result<Vec<Result<Position>>> {
    let batch = RecordBatch::try_from_iter([("positions", ArrayRef::clone(column))]);
    let batch = batch.map_err(|error| Error::new("the column of positions").because(error))?;
    let columns = BatchColumns::new(&batch, 0);
    let value_type = match column.data_type() {
        DataType::Dictionary(_, value) => value,
        other => other,
    };
    let missing = || Err(Error::new("there is no position"));
    match value_type {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {
            let texts = columns.required("positions", Kind::Text)?;
            let parse = |row| text_at(Some(&texts), row).map_or_else(missing, position_of_fen);
            Ok((0..texts.len()).into_par_iter().map(parse).collect())
        }
        DataType::Binary
        | DataType::LargeBinary
        | DataType::BinaryView
        | DataType::FixedSizeBinary(_) => {
            let boards = columns.required("positions", Kind::Bytes)?;
            let boards = columns.convert(&boards, "positions", &DataType::BinaryView)?;
            let boards = boards.as_binary_view();
            let decode = |row| {
                if boards.is_null(row) {
                    return missing();
                }
                Ok(packed::decode(boards.value(row))?.0)
            };
            Ok((0..boards.len()).into_par_iter().map(decode).collect())
        }
        found => Err(Error::new(format!(
            "the column of positions is of type {found}: expected FENs, as text, or packed boards, as \
             binary (a key is not a position)"
        ))),
    }
}

fn position_of_fen(text: &str) -> Result<Position> {
    match fen::parse(text.trim().as_bytes(), Profile::Lenient) {
        Ok(record) => Ok(*record.position()),
        Err(diagnostic) => Err(Error::new(format!("`{text}` is not a FEN")).because(diagnostic)),
    }
}

/// A question about many positions, whose answers are tables.
pub trait PositionQuestion: Send + Sync {
    /// The schema of the batches.
    fn schema(&self) -> SchemaRef;

    /// Answers the question for positions, in batches in their order. `first_query` is the number of the first
    /// position.
    ///
    /// # Errors
    /// A query has no position and must have one, or the library is damaged.
    fn answer(
        &self,
        library: &Collection,
        positions: &[Result<Position>],
        first_query: u64,
    ) -> Result<Vec<RecordBatch>>;
}

/// The batches for this many queries. `make` gets the places of the queries of one batch.
fn in_batches(
    queries: usize,
    make: impl Fn(Range<usize>) -> Result<RecordBatch> + Sync,
) -> Result<Vec<RecordBatch>> {
    let batches = (0..queries.div_ceil(QUERIES_OF_BATCH)).into_par_iter();
    let places =
        batches.map(|nth| nth * QUERIES_OF_BATCH..queries.min((nth + 1) * QUERIES_OF_BATCH));
    places.map(&make).collect()
}

/// Options of a [`PositionLookup`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LookupOptions {
    /// Columns of the table of records, or fields; the default columns if there are none.
    pub columns: Option<Vec<String>>,
    /// True if each record of a query has a row. Otherwise each query has one row, with its first record.
    pub all: bool,
    /// True if scores are from White's view.
    pub white_view: bool,
    /// True if a query without a position is an error. Otherwise its row has the reason in the column `error`.
    pub refuses_faults: bool,
}

/// A lookup of many positions. The rows have the columns `query`, the number of the query from 0, `matches`, the
/// number of its records, perhaps `error`, and columns of the records.
#[derive(Debug)]
pub struct PositionLookup {
    rows: RecordRows,
    options: LookupOptions,
    /// The field of each column of the records, by its place; `None` for columns of the table itself.
    fields: Vec<Option<field::Field>>,
}

/// The records of a query.
#[derive(Default)]
struct Answer {
    matches: u64,
    /// The numbers and the rows of those records that have rows.
    rows: Vec<(u64, Vec<u8>)>,
}

impl PositionLookup {
    /// # Errors
    /// A column is neither a column of the table of records nor a field, or is there twice.
    pub fn new(options: LookupOptions) -> Result<PositionLookup> {
        let names = options.columns.clone().unwrap_or_else(RecordRows::default_columns);
        let fields = names.iter().map(|name| field::Field::parse(name).ok()).collect();
        let table = TableOptions { columns: Some(names), white_view: options.white_view };
        let rows = RecordRows::new(&table, &other_column)?;
        Ok(PositionLookup { rows, options, fields })
    }

    fn find(&self, library: &Collection, positions: &[Result<Position>]) -> Result<Vec<Answer>> {
        let (places, queries) = queries(positions);
        let answers = EachQuery::<Answer>::new(positions.len());
        visit_on_threads(library, &queries, &|nth, found| {
            let number = found.number();
            let has_earlier =
                |answer: &Answer| answer.rows.iter().any(|(other, _)| *other < number);
            let mut answer = answers.get(places[nth]);
            answer.matches += 1;
            if !self.options.all && has_earlier(&answer) {
                return Ok(());
            }
            drop(answer);
            let mut row = Vec::new();
            self.write(&found.record()?, &mut row)?;
            answers.get(places[nth]).rows.push((number, row));
            Ok(())
        })?;
        Ok(answers.finish(|answer| {
            answer.rows.sort_unstable_by_key(|(number, _)| *number);
            if !self.options.all {
                answer.rows.truncate(1);
            }
        }))
    }

    fn write(&self, record: &EpdRecord, out: &mut Vec<u8>) -> Result<()> {
        let subject = EvalContext::from_record(record);
        let mut other = |place: usize, cell: CellWriter<'_>| {
            put(cell, &self.fields[place], &subject);
        };
        self.rows.write(&Row::new(record), &mut other, out)
    }

    fn batch(
        &self,
        answers: &[Answer],
        positions: &[Result<Position>],
        first_query: u64,
    ) -> Result<RecordBatch> {
        let mut batch = self.rows.batch();
        let mut missing = Vec::new();
        self.rows.write_missing(&mut |_, _| {}, &mut missing);
        let mut about = QueryColumns::default();
        for (query, (answer, position)) in (first_query..).zip(answers.iter().zip(positions)) {
            let mut rows = answer.rows.len();
            answer.rows.iter().try_for_each(|(_, row)| batch.push(row))?;
            // A query that finds nothing has a row, unless only records have rows.
            if rows == 0 && (!self.options.all || position.is_err()) {
                batch.push(&missing)?;
                rows = 1;
            }
            for _ in 0..rows {
                about.queries.push(query);
                about.matches.push(answer.matches);
                about.errors.push(position.as_ref().err().map(Error::to_string));
            }
        }
        about.put_before(&batch.finish()?, self.schema())
    }
}

impl PositionQuestion for PositionLookup {
    fn schema(&self) -> SchemaRef {
        with_queries(&self.rows.schema(), &["query", "matches"], !self.options.refuses_faults)
    }

    fn answer(
        &self,
        library: &Collection,
        positions: &[Result<Position>],
        first_query: u64,
    ) -> Result<Vec<RecordBatch>> {
        if self.options.refuses_faults {
            refuse_faults(positions, first_query)?;
        }
        let answers = repeat_if_replaced(library, || self.find(library, positions))?;
        in_batches(positions.len(), |places| {
            let query = first_query + places.start as u64;
            self.batch(&answers[places.clone()], &positions[places], query)
        })
    }
}

#[derive(Default)]
struct QueryColumns {
    queries: Vec<u64>,
    matches: Vec<u64>,
    errors: Vec<Option<String>>,
}

impl QueryColumns {
    /// The batch with the first columns of a schema.
    fn put_before(self, batch: &RecordBatch, schema: SchemaRef) -> Result<RecordBatch> {
        let mut columns: Vec<ArrayRef> = vec![
            Arc::new(UInt64Array::from(self.queries)),
            Arc::new(UInt64Array::from(self.matches)),
        ];
        if schema.fields().len() > columns.len() + batch.num_columns() {
            columns.push(Arc::new(StringArray::from(self.errors)));
        }
        columns.extend(batch.columns().iter().cloned());
        RecordBatch::try_new(schema, columns)
            .map_err(|error| Error::new("the batch cannot be made").because(error))
    }
}

/// A schema after columns of numbers, and perhaps `error`.
fn with_queries(schema: &Schema, numbers: &[&str], has_errors: bool) -> SchemaRef {
    let numbers = numbers.iter().map(|name| Field::new(*name, DataType::UInt64, false));
    let mut fields: Vec<Arc<Field>> = numbers.map(Arc::new).collect();
    if has_errors {
        fields.push(Arc::new(Field::new("error", DataType::Utf8, true)));
    }
    fields.extend(schema.fields().iter().cloned());
    Arc::new(Schema::new(fields))
}

fn other_column(name: &str) -> Result<Kind> {
    Ok(kind_of(&field::Field::parse(name).map_err(Error::new)?))
}

fn queries(positions: &[Result<Position>]) -> (Vec<usize>, Vec<Query>) {
    let known = positions.par_iter().enumerate();
    let known = known.filter_map(|(place, position)| Some((place, position.as_ref().ok()?)));
    known.map(|(place, position)| (place, Query::from(position))).unzip()
}

/// The results that threads collect for each query.
struct EachQuery<T>(Vec<Mutex<T>>);

impl<T: Default + Send> EachQuery<T> {
    fn new(queries: usize) -> EachQuery<T> {
        EachQuery(std::iter::repeat_with(Mutex::default).take(queries).collect())
    }

    fn get(&self, query: usize) -> MutexGuard<'_, T> {
        self.0[query].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the collection; `end` completes what is there for each query.
    fn finish(self, end: impl Fn(&mut T) + Sync) -> Vec<T> {
        let finish = |collected: Mutex<T>| {
            let mut collected = collected.into_inner().unwrap_or_else(PoisonError::into_inner);
            end(&mut collected);
            collected
        };
        self.0.into_par_iter().map(finish).collect()
    }
}

fn records(library: &Collection, queries: &[Query]) -> Result<Vec<Vec<EpdRecord>>> {
    let records = EachQuery::<Vec<(u64, EpdRecord)>>::new(queries.len());
    visit_on_threads(library, queries, &|query, found| {
        let record = found.record()?;
        records.get(query).push((found.number(), record));
        Ok(())
    })?;
    let records = records.finish(|records| records.sort_by_key(|(number, _)| *number));
    let in_order = records.into_par_iter();
    Ok(in_order.map(|records| records.into_iter().map(|(_, record)| record).collect()).collect())
}

fn refuse_faults(positions: &[Result<Position>], first_query: u64) -> Result<()> {
    let mut numbered = (first_query..).zip(positions);
    match numbered.find_map(|(query, position)| Some((query, position.as_ref().err()?))) {
        Some((query, error)) => Err(Error::new(format!("row {query}, counted from 0: {error}"))),
        None => Ok(()),
    }
}

/// An exploration of many positions. Each move of a position is a row: `query`, the number of the query from 0,
/// columns of the table of moves, `games` with a known result, `score`, White's share of their points, `weight` in an
/// opening book, and perhaps `reached` and `ce` of the position after the move.
#[derive(Debug)]
pub struct PositionExploration {
    rows: MoveRows,
    options: ExploreOptions,
    has_children: bool,
}

/// The columns of [`PositionExploration`] that are in the table of moves.
const MOVE_COLUMNS: [&str; 10] = [
    "uci",
    "san",
    "white",
    "draws",
    "black",
    "unknown",
    "rated_games",
    "rating_sum",
    "first_year",
    "last_year",
];
/// The other columns; the last two are about the position after a move.
const OTHER_COLUMNS: [&str; 5] = ["games", "score", "weight", "reached", "ce"];

impl PositionExploration {
    /// `has_children` decides whether the positions after moves are looked up too.
    ///
    /// # Errors
    /// The order of the moves depends on the positions after them, and these are not looked up.
    pub fn new(options: ExploreOptions, has_children: bool) -> Result<PositionExploration> {
        if options.sort.is_by_child() && !has_children {
            return Err(Error::new("this order of moves needs children=True"));
        }
        let others = if has_children { &OTHER_COLUMNS[..] } else { &OTHER_COLUMNS[..3] };
        let names = ["query"].iter().chain(&MOVE_COLUMNS).chain(others);
        let columns = Some(names.map(|name| name.to_string()).collect());
        let table = TableOptions { columns, ..Default::default() };
        let other = |name: &str| {
            Ok(match name {
                "query" => Kind::U64,
                "score" => Kind::F64,
                _ => Kind::I64,
            })
        };
        Ok(PositionExploration { rows: MoveRows::new(&table, &other)?, options, has_children })
    }

    fn batch(&self, explored: &[Explored], first_query: u64) -> Result<RecordBatch> {
        let mut batch = self.rows.batch();
        let mut out = Vec::new();
        for (query, explored) in (first_query..).zip(explored) {
            let one = |row: &MoveRow| MoveTally { mv: row.mv, san: row.san, counts: row.counts };
            let moves: Vec<MoveTally> = explored.rows.iter().map(one).collect();
            let mut other = |one: &MoveTally, place: usize, mut cell: CellWriter<'_>| {
                let row = explored.row(one.mv);
                // `CHILD_COLUMNS` follow `query` and the columns of the move.
                let number = match place.checked_sub(1 + MOVE_COLUMNS.len()) {
                    None => Some(query.into()),
                    Some(0) => Some((one.counts.games() - one.counts.unknown).into()),
                    Some(1) => {
                        if let Some(score) = one.counts.score_of_white() {
                            cell.fraction(score);
                        }
                        None
                    }
                    Some(2) => row.and_then(|row| row.weight).map(i128::from),
                    Some(3) => row.and_then(|row| row.reached).map(i128::from),
                    Some(_) => row.and_then(|row| row.ce).map(i128::from),
                };
                if let Some(number) = number {
                    cell.whole(number);
                }
            };
            let cell = Cell::default();
            self.rows.write_moves(&explored.position, &cell, &moves, &mut other, &mut out);
        }
        batch.push(&out)?;
        batch.finish()
    }
}

impl PositionQuestion for PositionExploration {
    fn schema(&self) -> SchemaRef {
        self.rows.schema()
    }

    /// Every query has a position.
    fn answer(
        &self,
        library: &Collection,
        positions: &[Result<Position>],
        first_query: u64,
    ) -> Result<Vec<RecordBatch>> {
        refuse_faults(positions, first_query)?;
        let (_, queries) = queries(positions);
        let found = repeat_if_replaced(library, || records(library, &queries))?;
        let entries = found.into_par_iter().map(|records| Entry::from_records(&records));
        let entries = entries.collect::<Result<Vec<_>>>()?;
        let positions = positions.iter().filter_map(|position| position.as_ref().ok().copied());
        let known = positions.zip(entries).collect();
        let explored = explore_many(known, self.has_children, &self.options, &mut |queries| {
            repeat_if_replaced(library, || records(library, queries))
        })?;
        in_batches(explored.len(), |places| {
            let query = first_query + places.start as u64;
            self.batch(&explored[places], query)
        })
    }
}

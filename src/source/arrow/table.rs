//! The common part of the three tables: columns by name, and batches of rows.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{Field, Schema, SchemaRef};

use super::cells::{Cells, Kind};
use super::row::{self, CellWriter};
use epdb_chess::error::{Error, Result};

/// Options of a table.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TableOptions {
    /// The columns, in this order; `None` for the default columns.
    pub columns: Option<Vec<String>>,
    /// True if scores are from White's view, and not from that of the side to move.
    pub white_view: bool,
}

/// The columns of a table, of the type `C`.
pub(super) trait Columns: Copy + 'static {
    /// All columns of the table: name, column, type, and whether a table has it by default.
    fn all() -> Vec<(String, Self, Kind, bool)>;

    /// Whether the column has scores.
    fn is_score(self) -> bool {
        false
    }

    /// Whether [`Layout::write`] writes the column.
    fn is_put(self) -> bool {
        true
    }
}

pub(super) fn all_names<C: Columns>() -> Vec<String> {
    C::all().into_iter().map(|(name, ..)| name).collect()
}

#[derive(Clone, Debug)]
pub(super) struct Column<C> {
    name: String,
    kind: Kind,
    /// The column of the table; `None` if the caller fills it.
    pub(super) own: Option<C>,
}

/// Finds the type of a column by its name, if the column does not belong to the table.
pub(crate) type OtherColumns<'o> = dyn Fn(&str) -> Result<Kind> + 'o;
/// Writes the value of a column by its place, if the column does not belong to the table.
pub(crate) type PutOther<'o> = dyn FnMut(usize, CellWriter<'_>) + 'o;

/// The columns of a table whose own columns are `C`.
#[derive(Debug)]
pub(super) struct Layout<C> {
    pub(super) columns: Vec<Column<C>>,
    /// The places of the columns that [`Layout::write`] writes.
    put: Vec<usize>,
    pub(super) white_view: bool,
    schema: SchemaRef,
}

impl<C: Columns> Layout<C> {
    /// `other` has the types of columns that the table does not know.
    pub(super) fn new(options: &TableOptions, other: &OtherColumns<'_>) -> Result<Layout<C>> {
        let columns = match &options.columns {
            Some(names) => named(names, other)?,
            None => {
                let all = C::all().into_iter().filter(|(.., is_default)| *is_default);
                all.map(|(name, own, kind, _)| Column { name, kind, own: Some(own) }).collect()
            }
        };
        let schema = schema(&columns, options.white_view);
        let is_put = |place: &usize| columns[*place].own.is_none_or(Columns::is_put);
        let put = (0..columns.len()).filter(is_put).collect();
        Ok(Layout { schema, columns, put, white_view: options.white_view })
    }

    pub(super) fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    /// A batch without rows.
    pub(super) fn batch(&self) -> Batch {
        let cells = self.columns.iter().map(|column| column.kind.cells()).collect();
        Batch { schema: self.schema(), cells, rows: 0 }
    }

    /// Writes the value of a column.
    pub(super) fn cell<'o>(&self, place: usize, out: &'o mut Vec<u8>) -> CellWriter<'o> {
        CellWriter::new(place, self.columns[place].kind, out)
    }

    /// Writes a row: calls `put` for each column of the table, and `other` for each other one.
    pub(super) fn write(
        &self,
        out: &mut Vec<u8>,
        other: &mut PutOther<'_>,
        mut put: impl FnMut(C, CellWriter<'_>),
    ) {
        for &place in &self.put {
            match self.columns[place].own {
                Some(own) => put(own, self.cell(place, out)),
                None => other(place, self.cell(place, out)),
            }
        }
        row::end_row(out);
    }
}

/// Rows that become a batch.
pub struct Batch {
    schema: SchemaRef,
    cells: Vec<Cells>,
    rows: usize,
}

impl fmt::Debug for Batch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batch").field("rows", &self.rows).finish_non_exhaustive()
    }
}

impl Batch {
    /// Appends rows.
    ///
    /// # Errors
    /// The bytes are not rows of this table.
    pub fn push(&mut self, mut rows: &[u8]) -> Result<()> {
        while !rows.is_empty() {
            self.push_row(&mut rows)
                .ok_or_else(|| Error::new("internal error: the bytes are not a row"))?;
        }
        Ok(())
    }

    fn push_row(&mut self, row: &mut &[u8]) -> Option<()> {
        while let Some(column) = row::take_column(row)? {
            let cells = self.cells.get_mut(column)?;
            cells.fill(self.rows);
            cells.take(row)?;
        }
        self.rows += 1;
        Some(())
    }

    /// Returns the rows so far, and starts the next batch.
    ///
    /// # Errors
    /// Arrow refuses the batch.
    pub fn finish(&mut self) -> Result<RecordBatch> {
        let rows = std::mem::take(&mut self.rows);
        let arrays = self.cells.iter_mut().map(|cells| cells.finish(rows)).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), arrays, &options)
            .map_err(|error| Error::new("the batch cannot be made").because(error))
    }
}

/// A table: `R` writes its rows.
#[derive(Debug)]
pub(super) struct Table<R> {
    pub(super) rows: R,
    batch: Batch,
    /// Memory for rows.
    bytes: Vec<u8>,
}

impl<R> Table<R> {
    pub(super) const fn new(rows: R, batch: Batch) -> Table<R> {
        Table { rows, batch, bytes: Vec::new() }
    }

    /// Appends the rows that `write` writes.
    pub(super) fn push(
        &mut self,
        write: impl FnOnce(&R, &mut Vec<u8>) -> Result<()>,
    ) -> Result<()> {
        self.bytes.clear();
        write(&self.rows, &mut self.bytes)?;
        self.batch.push(&self.bytes)
    }

    pub(super) fn finish(&mut self) -> Result<RecordBatch> {
        self.batch.finish()
    }
}

#[cfg(feature = "parquet")]
impl<C: Columns> Table<Layout<C>> {
    pub(super) fn with_default_columns() -> Result<Table<Layout<C>>> {
        let layout = Layout::new(&TableOptions::default(), &unknown)?;
        let batch = layout.batch();
        Ok(Table::new(layout, batch))
    }

    /// Appends a row, whose values `put` writes.
    pub(super) fn push_row(&mut self, put: impl FnMut(C, CellWriter<'_>)) -> Result<()> {
        self.push(|layout, out| {
            layout.write(out, &mut |_, _| {}, put);
            Ok(())
        })
    }
}

/// The columns with these names.
fn named<C: Columns>(names: &[String], other: &OtherColumns<'_>) -> Result<Vec<Column<C>>> {
    let all = C::all();
    let mut columns: Vec<Column<C>> = Vec::with_capacity(names.len());
    for name in names {
        if columns.iter().any(|column| column.name == *name) {
            return Err(Error::new(format!("the column `{name}` is named twice")));
        }
        let (own, kind) = match all.iter().find(|(known, ..)| known == name) {
            Some((_, own, kind, _)) => (Some(*own), *kind),
            None => (None, other(name)?),
        };
        columns.push(Column { name: name.clone(), kind, own });
    }
    Ok(columns)
}

fn schema<C: Columns>(columns: &[Column<C>], white_view: bool) -> SchemaRef {
    let view = view_name(white_view);
    let field = |column: &Column<C>| {
        let is_score = column.own.is_some_and(Columns::is_score);
        let metadata = is_score.then(|| ("score_view".to_string(), view.to_string()));
        Field::new(&column.name, column.kind.data_type(), true)
            .with_metadata(HashMap::from_iter(metadata))
    };
    Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()))
}

/// The name of the view of scores, in metadata and in the column `score_view`.
pub(super) const fn view_name(white_view: bool) -> &'static str {
    if white_view { "white" } else { "mover" }
}

/// The error for a column that the table does not have.
pub(super) fn unknown(name: &str) -> Result<Kind> {
    Err(Error::new(format!("the table has no column `{name}`")))
}

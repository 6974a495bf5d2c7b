//! Tables of records, games and moves in the memory format of Apache Arrow, for data frames and
//! databases. Names and types of their columns are on the page `formats/notes/tables.md`.
//!
//! [`RecordTable`], [`GameTable`] and [`MoveTable`] take rows and make batches of them. [`records`] converts
//! batches of the table of records back to records.
//!
//! ```
//! use epdb_source::arrow::{RecordTable, Row, TableOptions, records};
//! let line = b"8/8/8/4k3/8/1K6/8/8 b - - bm Ke4; ce 0;";
//! let record = epdb_chess::parse_epd(line)?;
//! let columns = TableOptions { columns: Some(["fen", "ce", "bm"].map(String::from).into_iter().collect()), ..Default::default() };
//! let mut table = RecordTable::new(&columns)?;
//! table.push(&Row::new(&record))?;
//! let batch = table.finish()?;
//! assert_eq!((batch.num_rows(), batch.num_columns()), (1, 3));
//! assert_eq!(epdb_chess::format_epd(&records(&batch, None)?[0]), line);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod cells;
mod columns;
mod from_table;
mod games;
#[cfg(feature = "parquet")]
mod lichess;
mod moves;
mod records;
mod row;
mod table;

pub use cells::Kind;
#[cfg(feature = "parquet")]
pub(crate) use columns::pairs_at;
pub use columns::{BatchColumns, number_at, text_at};
pub use from_table::records;
#[cfg(feature = "parquet")]
pub(crate) use from_table::{
    RecordColumns, RowViews, ScoreViews, fault_of_fen, is_record_column, stated_view,
};
pub use games::GameRows;
pub use games::GameTable;
#[cfg(feature = "parquet")]
pub(crate) use lichess::{LichessEvaluationTable, LichessGameTable, unknown_lichess_tags};
pub use moves::MoveRows;
pub use moves::MoveTable;
pub use records::RecordRows;
pub use records::{RecordTable, Row};
pub use row::CellWriter;
pub use table::Batch;
pub use table::TableOptions;

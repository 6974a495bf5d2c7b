//! The table of the moves of a library.

use std::fmt;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use super::cells::Kind;
use super::row::CellWriter;
use super::table::{Batch, Columns, Layout, OtherColumns, Table, TableOptions, all_names, unknown};
use epdb_chess::codec::key::position_key;
use epdb_chess::error::{Error, Result};
use epdb_chess::model::rules::Playable;
use epdb_chess::model::{Cell, EpdRecord, MoveTally, Opcode, Position, Tally};
use epdb_chess::text::san;

/// A column of the table of moves.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum MoveColumn {
    Fen,
    Key,
    Uci,
    San,
    White,
    Draws,
    Black,
    Unknown,
    RatedGames,
    RatingSum,
    FirstYear,
    LastYear,
    Year,
    Month,
    Speed,
    Rating,
}

use MoveColumn as C;

impl Columns for MoveColumn {
    fn all() -> Vec<(String, Self, Kind, bool)> {
        let own = [
            ("fen", C::Fen, Kind::Text),
            ("key", C::Key, Kind::U64),
            ("uci", C::Uci, Kind::Text),
            ("san", C::San, Kind::Text),
            ("white", C::White, Kind::I64),
            ("draws", C::Draws, Kind::I64),
            ("black", C::Black, Kind::I64),
            ("unknown", C::Unknown, Kind::I64),
            ("rated_games", C::RatedGames, Kind::I64),
            ("rating_sum", C::RatingSum, Kind::I64),
            ("first_year", C::FirstYear, Kind::I16),
            ("last_year", C::LastYear, Kind::I16),
            ("split_year", C::Year, Kind::I16),
            ("split_month", C::Month, Kind::I16),
            ("split_speed", C::Speed, Kind::Name),
            ("split_rating", C::Rating, Kind::I16),
        ];
        own.into_iter().map(|(name, own, kind)| (name.to_string(), own, kind, true)).collect()
    }
}

struct MoveRow<'a> {
    fen: &'a str,
    key: u64,
    playable: Option<&'a Playable>,
    cell: &'a Cell,
    one: &'a MoveTally,
}

/// Writes the rows of the table of moves.
#[derive(Debug)]
pub struct MoveRows(Layout<MoveColumn>);

impl MoveRows {
    /// The names of all columns of the table.
    pub fn all_columns() -> Vec<String> {
        all_names::<MoveColumn>()
    }

    /// # Errors
    /// The errors of [`MoveTable::new`].
    pub fn new(options: &TableOptions, other: &OtherColumns<'_>) -> Result<MoveRows> {
        Ok(MoveRows(Layout::new(options, other)?))
    }

    /// The schema of the batches.
    pub fn schema(&self) -> SchemaRef {
        self.0.schema()
    }

    /// A batch without rows.
    pub fn batch(&self) -> Batch {
        self.0.batch()
    }

    /// Writes the moves of a record of a library: one row for each move and each group of games.
    /// `other` writes the other columns of a move.
    ///
    /// # Errors
    /// The record has no tally.
    pub fn write(
        &self,
        record: &EpdRecord,
        other: &mut dyn FnMut(&MoveTally, usize, CellWriter<'_>),
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let tally = record.operands(Opcode::TALLY).and_then(Tally::from_operands);
        let tally = tally.ok_or_else(|| {
            Error::new(
                "the record has no `tally`: a table of moves is made from a library, and `epdb \
                 tally` makes a library from games",
            )
        })?;
        for part in tally.parts() {
            self.write_moves(record.position(), &part.cell, &part.moves, other, out);
        }
        Ok(())
    }

    /// Writes moves of a position in a group of games.
    pub fn write_moves(
        &self,
        position: &Position,
        cell: &Cell,
        moves: &[MoveTally],
        other: &mut dyn FnMut(&MoveTally, usize, CellWriter<'_>),
        out: &mut Vec<u8>,
    ) {
        let fen = position.to_string();
        let key = position_key(position);
        let playable = Playable::new(position).ok();
        for one in moves {
            let row = MoveRow { fen: &fen, key, playable: playable.as_ref(), cell, one };
            let mut other = |place, cell: CellWriter<'_>| other(one, place, cell);
            self.0.write(out, &mut other, |own, cell| put(own, cell, &row));
        }
    }
}

/// The table of moves.
pub struct MoveTable(Table<MoveRows>);

impl fmt::Debug for MoveTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("MoveTable").field(&self.schema()).finish()
    }
}

impl MoveTable {
    /// A table without rows.
    ///
    /// # Errors
    /// A column does not belong to the table, or is named twice.
    pub fn new(options: &TableOptions) -> Result<MoveTable> {
        let rows = MoveRows::new(options, &unknown)?;
        let batch = rows.batch();
        Ok(MoveTable(Table::new(rows, batch)))
    }

    /// The schema of the batches.
    pub fn schema(&self) -> SchemaRef {
        self.0.rows.schema()
    }

    /// Appends the moves of a record of a library: one row for each move and each group of games.
    ///
    /// # Errors
    /// The record has no tally.
    pub fn push(&mut self, record: &EpdRecord) -> Result<()> {
        self.0.push(|rows, out| rows.write(record, &mut |_, _, _| {}, out))
    }

    /// Returns the rows so far as a batch, and starts the next batch.
    ///
    /// # Errors
    /// Arrow refuses the batch.
    pub fn finish(&mut self) -> Result<RecordBatch> {
        self.0.finish()
    }
}

fn put(own: MoveColumn, mut cells: CellWriter<'_>, row: &MoveRow<'_>) {
    let counts = &row.one.counts;
    let number = match own {
        C::Fen => return cells.text(row.fen),
        C::San => return cells.text(&row.one.san.to_string()),
        C::Uci => {
            if let Some(playable) = row.playable {
                cells.text(&san::uci(playable, row.one.mv));
            }
            return;
        }
        C::Speed => {
            if let Some(speed) = row.cell.speed {
                cells.text(speed.name());
            }
            return;
        }
        C::Key => Some(row.key.into()),
        C::White => Some(counts.white.into()),
        C::Draws => Some(counts.draws.into()),
        C::Black => Some(counts.black.into()),
        C::Unknown => Some(counts.unknown.into()),
        C::RatedGames => Some(counts.elo.games.into()),
        C::RatingSum => Some(counts.elo.sum.into()),
        C::FirstYear => counts.years.map(|(first, _)| first.into()),
        C::LastYear => counts.years.map(|(_, last)| last.into()),
        C::Year => row.cell.year.map(i128::from),
        C::Month => row.cell.month.map(i128::from),
        C::Rating => row.cell.rating.map(i128::from),
    };
    if let Some(number) = number {
        cells.whole(number);
    }
}

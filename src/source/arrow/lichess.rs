//! The tables that lichess publishes as Parquet files: evaluations and games.

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use super::cells::Kind;
use super::records::{centipawns_of, depth_of, knodes_of, mate_of};
use super::row::CellWriter;
use super::table::{Columns, Layout, Table};
use epdb_chess::error::{Error, Result};
use epdb_chess::model::rules::Playable;
use epdb_chess::model::{EpdRecord, Game, Opcode, Operand};
use epdb_chess::text::pgn::{self, PgnFormatOptions};
use epdb_chess::text::san;

/// A column of `Lichess/chess-position-evaluations`.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum EvaluationColumn {
    Fen,
    Line,
    Depth,
    Knodes,
    Centipawns,
    Mate,
}

impl Columns for EvaluationColumn {
    fn all() -> Vec<(String, Self, Kind, bool)> {
        use EvaluationColumn as C;
        let own = [
            ("fen", C::Fen, Kind::Text),
            ("line", C::Line, Kind::Text),
            ("depth", C::Depth, Kind::I64),
            ("knodes", C::Knodes, Kind::I64),
            ("cp", C::Centipawns, Kind::I64),
            ("mate", C::Mate, Kind::I64),
        ];
        own.into_iter().map(|(name, own, kind)| (name.to_string(), own, kind, true)).collect()
    }
}

/// The table of evaluations of lichess: scores are from White's view.
#[derive(Debug)]
pub(crate) struct LichessEvaluationTable(Table<Layout<EvaluationColumn>>);

impl LichessEvaluationTable {
    pub(crate) fn new() -> Result<LichessEvaluationTable> {
        Ok(LichessEvaluationTable(Table::with_default_columns()?))
    }

    /// The columns.
    pub(crate) fn schema(&self) -> SchemaRef {
        self.0.rows.schema()
    }

    pub(crate) fn finish(&mut self) -> Result<RecordBatch> {
        self.0.finish()
    }

    /// Appends a record.
    ///
    /// # Errors
    /// The record has no score. Also the errors of [`LichessEvaluationTable::finish`].
    pub(crate) fn push(&mut self, record: &EpdRecord) -> Result<()> {
        if centipawns_of(record, true).or_else(|| mate_of(record, true)).is_none() {
            return Err(Error::new(
                "the record has no score in `ce`, and each row of a table of evaluations has one: \
                 `--where 'has(ce)'` takes the records that have it",
            ));
        }
        self.0.push_row(|column, cell| put_evaluation(column, cell, record))
    }
}

fn put_evaluation(column: EvaluationColumn, mut cells: CellWriter<'_>, record: &EpdRecord) {
    let number = match column {
        EvaluationColumn::Fen => return cells.text(&record.position().to_string()),
        EvaluationColumn::Line => {
            if let Some(line) = line_of(record) {
                cells.text(&line);
            }
            return;
        }
        EvaluationColumn::Depth => depth_of(record),
        EvaluationColumn::Knodes => knodes_of(record),
        EvaluationColumn::Centipawns => centipawns_of(record, true),
        EvaluationColumn::Mate => mate_of(record, true),
    };
    if let Some(number) = number {
        cells.whole(number);
    }
}

/// The principal variation in coordinates, up to the first move that is not legal.
fn line_of(record: &EpdRecord) -> Option<String> {
    let mut playable = Playable::new(record.position()).ok()?;
    let mut moves = Vec::new();
    for operand in record.operands(Opcode::PV)? {
        let Operand::Move { mv, .. } = operand else { break };
        moves.push(san::uci(&playable, *mv));
        playable = playable.after(*mv);
    }
    Some(moves.join(" "))
}

/// The tags that are columns of `Lichess/standard-chess-games` before `movetext`, then the tags
/// that only games from a set-up position have.
const GAME_TAGS: [(&str, Kind); 19] = [
    ("Event", Kind::Text),
    ("Site", Kind::Text),
    ("White", Kind::Text),
    ("Black", Kind::Text),
    ("Result", Kind::Text),
    ("WhiteTitle", Kind::Text),
    ("BlackTitle", Kind::Text),
    ("WhiteElo", Kind::I16),
    ("BlackElo", Kind::I16),
    ("WhiteRatingDiff", Kind::I16),
    ("BlackRatingDiff", Kind::I16),
    ("UTCDate", Kind::Text),
    ("UTCTime", Kind::Text),
    ("ECO", Kind::Text),
    ("Opening", Kind::Text),
    ("Termination", Kind::Text),
    ("TimeControl", Kind::Text),
    ("SetUp", Kind::Text),
    ("FEN", Kind::Text),
];

/// The number of tags of a game that the table of games of lichess does not have.
pub(crate) fn unknown_lichess_tags(game: &Game) -> u64 {
    let is_known = |name: &str, value: &str| {
        let column = GAME_TAGS.iter().find(|(column, _)| *column == name);
        column.is_some_and(|(_, kind)| *kind == Kind::Text || value.parse::<i16>().is_ok())
    };
    let is_lost = |(name, value): &(&str, &str)| game.has_tag(name) && !is_known(name, value);
    game.tags().filter(is_lost).count() as u64
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum LichessGameColumn {
    Tag(&'static str, Kind),
    Movetext,
}

impl Columns for LichessGameColumn {
    fn all() -> Vec<(String, Self, Kind, bool)> {
        let tag = |(name, kind): (&'static str, Kind)| {
            (name.to_string(), LichessGameColumn::Tag(name, kind), kind, true)
        };
        let mut all: Vec<_> = GAME_TAGS.into_iter().map(tag).collect();
        all.push(("movetext".to_string(), LichessGameColumn::Movetext, Kind::Text, true));
        all
    }
}

#[derive(Debug)]
pub(crate) struct LichessGameTable(Table<Layout<LichessGameColumn>>);

impl LichessGameTable {
    pub(crate) fn new() -> Result<LichessGameTable> {
        Ok(LichessGameTable(Table::with_default_columns()?))
    }

    /// The columns.
    pub(crate) fn schema(&self) -> SchemaRef {
        self.0.rows.schema()
    }

    pub(crate) fn finish(&mut self) -> Result<RecordBatch> {
        self.0.finish()
    }

    /// Appends a game.
    pub(crate) fn push(&mut self, game: &Game) -> Result<()> {
        let movetext = movetext_line(game)?;
        self.0.push_row(|column, mut cell| match column {
            LichessGameColumn::Tag(name, kind) => put_tag(cell, game, name, kind),
            LichessGameColumn::Movetext => cell.text(&movetext),
        })
    }
}

fn put_tag(mut cells: CellWriter<'_>, game: &Game, name: &str, kind: Kind) {
    // `tag` has values for tags that the game lacks, too.
    if !game.has_tag(name) {
        return;
    }
    let Some(value) = game.tag(name) else { return };
    if kind == Kind::Text {
        cells.text(value);
    } else if let Ok(number) = value.parse::<i16>() {
        cells.whole(number.into());
    }
}

fn movetext_line(game: &Game) -> Result<String> {
    let mut text = Vec::new();
    pgn::format(game, &PgnFormatOptions::default(), &mut text)
        .map_err(|error| Error::new("the movetext").because(error))?;
    let text = String::from_utf8_lossy(&text);
    let movetext = text.split_once("\n\n").map_or("", |(_, movetext)| movetext);
    Ok(movetext.split_whitespace().collect::<Vec<_>>().join(" "))
}

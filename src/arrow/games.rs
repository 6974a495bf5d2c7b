//! The table of games.

use std::fmt;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use super::cells::{Cells, Kind};
use super::table::{Columns, OtherColumns, PutOther, Table, TableOptions, unknown};
use crate::codec::polyglot::BookMove;
use crate::error::Result;
use crate::model::{Color, Counters, Element, EpdRecord, Game, Opcode, Start};
use crate::text::pgn::{PositionOptions, positions};
use crate::text::{CastlingForm, EnPassantForm, fen};

/// The tags with columns of their own, in this order: the seven tag roster, and what the databases
/// of lichess and most collections have besides.
const TAGS: [&str; 17] = [
    "Event",
    "Site",
    "Date",
    "Round",
    "White",
    "Black",
    "Result",
    "WhiteElo",
    "BlackElo",
    "WhiteTitle",
    "BlackTitle",
    "ECO",
    "Opening",
    "TimeControl",
    "Termination",
    "UTCDate",
    "UTCTime",
];

/// A column of the table of games.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum GameColumn {
    Tag(&'static str),
    OtherTags,
    Fen,
    Moves,
    Evaluations,
}

use GameColumn as C;

impl Columns for GameColumn {
    fn all() -> Vec<(String, Self, Kind, bool)> {
        let tags = TAGS.map(|tag| (tag.to_string(), C::Tag(tag), Kind::Name, true));
        let mut all = tags.to_vec();
        let others = [
            ("tags", C::OtherTags, Kind::Map),
            ("start", C::Fen, Kind::Text),
            ("moves", C::Moves, Kind::U16s),
            ("evals_cp", C::Evaluations, Kind::I32s),
        ];
        all.extend(others.map(|(name, own, kind)| (name.to_string(), own, kind, true)));
        all
    }

    fn is_score(self) -> bool {
        self == C::Evaluations
    }
}

/// The table of games.
pub struct GameTable(Table<GameColumn>);

impl fmt::Debug for GameTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("GameTable").field(&self.schema()).finish()
    }
}

impl GameTable {
    /// A table without rows.
    ///
    /// # Errors
    /// A column is not one of the table, or is named twice.
    pub fn new(options: &TableOptions) -> Result<GameTable> {
        GameTable::with_others(options, &unknown)
    }

    /// [`GameTable::new`] with columns that the caller fills.
    pub(crate) fn with_others(
        options: &TableOptions,
        other: &OtherColumns<'_>,
    ) -> Result<GameTable> {
        Ok(GameTable(Table::new(options, other)?))
    }

    /// The schema of the batches.
    pub fn schema(&self) -> SchemaRef {
        self.0.schema()
    }

    /// Returns the rows so far as a batch, and begins anew.
    ///
    /// # Errors
    /// Arrow refuses the batch.
    pub fn finish(&mut self) -> Result<RecordBatch> {
        self.0.finish()
    }

    /// Appends a game.
    pub fn push(&mut self, game: &Game) {
        self.push_with(game, &mut |_, _| {});
    }

    /// [`GameTable::push`]; `other` fills the other columns.
    pub(crate) fn push_with(&mut self, game: &Game, other: &mut PutOther<'_>) {
        for (place, column) in Arc::clone(&self.0.columns).iter().enumerate() {
            let white_view = self.0.white_view;
            let cells = self.0.at(place);
            match column.own {
                Some(own) => put(own, cells, game, white_view),
                None => other(place, cells),
            }
        }
        self.0.end_row();
    }
}

/// Appends the value of one column, if the game has it.
fn put(own: GameColumn, cells: &mut Cells, game: &Game, white_view: bool) {
    match own {
        C::Tag(name) if game.has_tag(name) => cells.text(game.tag(name).unwrap_or_default()),
        C::Tag(_) => {}
        C::OtherTags => {
            cells.map(game.tags().filter(|(name, _)| game.has_tag(name) && !TAGS.contains(name)))
        }
        C::Fen if *game.start() != Start::ARRAY => {
            let start = game.start();
            let mut text = Vec::new();
            fen::format_fields(&start.position, CastlingForm::XFen, EnPassantForm::Keep, &mut text);
            let Counters { halfmove_clock, fullmove_number } = start.counters;
            text.extend_from_slice(format!(" {halfmove_clock} {fullmove_number}").as_bytes());
            cells.text(std::str::from_utf8(&text).unwrap_or_default());
        }
        C::Fen => {}
        C::Moves => {
            let bits = |mv| BookMove::from(mv).bits();
            cells.numbers(game.plies().map(|ply| ply.map_or(0, bits)));
        }
        C::Evaluations => {
            if has_comments(game) {
                put_evaluations(cells, game, white_view);
            }
        }
    }
}

fn has_comments(game: &Game) -> bool {
    game.elements().any(|element| matches!(element, Element::Comment(_)))
}

/// Appends the evaluations of the positions after each move, unless no position has one.
fn put_evaluations(cells: &mut Cells, game: &Game, white_view: bool) {
    let options = PositionOptions::new().evaluations(true);
    let evaluation = |record: EpdRecord| {
        let score = i32::try_from(record.integer(Opcode::CE)?).ok()?;
        let is_turned = white_view && record.position().turn() == Color::Black;
        Some(if is_turned { -score } else { score })
    };
    let mut scores: Vec<Option<i32>> = positions(game, &options).skip(1).map(evaluation).collect();
    if scores.iter().any(Option::is_some) {
        scores.resize(game.plies().count(), None);
        cells.optional(scores);
    }
}

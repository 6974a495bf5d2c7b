//! The table of games.

use std::fmt;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use super::cells::{Cells, Kind};
use super::table::{Columns, OtherColumns, PutOther, Table, TableOptions, unknown};
use crate::codec::polyglot::BookMove;
use crate::error::Result;
use crate::model::{Color, Counters, Element, Game, Start};
use crate::text::pgn::{clock_ms, engine_score, evaluation};

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
    Clocks,
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
            ("clocks_ms", C::Clocks, Kind::I32s),
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

    /// Returns the rows so far as a batch, and starts the next batch.
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
            let Start { position, counters } = game.start();
            let Counters { halfmove_clock, fullmove_number } = counters;
            cells.text(&format!("{position} {halfmove_clock} {fullmove_number}"));
        }
        C::Fen => {}
        C::Moves => {
            let bits = |mv| BookMove::from(mv).bits();
            cells.numbers(game.plies().map(|ply| ply.map_or(0, bits)));
        }
        C::Clocks => put_values(cells, &clocks(game)),
        C::Evaluations => put_values(cells, &evaluations(game, white_view)),
    }
}

/// Appends a value for each ply, unless no ply has one.
fn put_values(cells: &mut Cells, values: &[Option<i32>]) {
    if values.iter().any(Option::is_some) {
        cells.optional(values.iter().copied());
    }
}

/// The time that the player of each ply has left after it, in milliseconds.
fn clocks(game: &Game) -> Vec<Option<i32>> {
    let mut clocks = Vec::new();
    each_comment(game, |ply, comment| match comment {
        None => clocks.push(None),
        Some(comment) => {
            let clock = clock_ms(comment).and_then(|clock| i32::try_from(clock).ok());
            if let (Some(last), Some(_)) = (clocks.get_mut(ply), clock) {
                *last = clock;
            }
        }
    });
    clocks
}

/// The evaluation of the position after each ply.
fn evaluations(game: &Game, white_view: bool) -> Vec<Option<i32>> {
    let view = |turn: Color| if white_view { Color::White } else { turn };
    let turn_after = |ply: usize| match ply % 2 {
        0 => !game.start().position.turn(),
        _ => game.start().position.turn(),
    };
    let (mut stated, mut engines) = (Vec::new(), Vec::new());
    each_comment(game, |ply, comment| match comment {
        None => {
            stated.push(None);
            engines.push(None);
        }
        Some(comment) => {
            if let Some(found) = evaluation(comment, view(turn_after(ply))) {
                stated[ply] = Some(found);
            }
            // An engine evaluates the position before its move, from its own view.
            if let (Some(before), Some(score)) = (ply.checked_sub(1), engine_score(comment)) {
                let is_turned = white_view && turn_after(before) == Color::Black;
                engines[before] = Some(if is_turned { -score } else { score });
            }
        }
    });
    stated.into_iter().zip(engines).map(|(stated, engine)| stated.or(engine)).collect()
}

/// Calls `visit` with each ply of the main line, from 0, then with the same ply and each comment on
/// it.
fn each_comment(game: &Game, mut visit: impl FnMut(usize, Option<&str>)) {
    let (mut plies, mut depth) = (0_usize, 0_u32);
    for element in game.elements() {
        match element {
            Element::VariationBegin => depth += 1,
            Element::VariationEnd => depth -= 1,
            Element::Move(_) | Element::NullMove if depth == 0 => {
                visit(plies, None);
                plies += 1;
            }
            Element::Comment(comment) if depth == 0 && plies > 0 => {
                visit(plies - 1, Some(comment));
            }
            _ => {}
        }
    }
}

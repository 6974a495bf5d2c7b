//! The table of games.

use std::cell::LazyCell;
use std::fmt;
use std::ops::Deref;

use arrow_array::RecordBatch;
use arrow_array::types::Date32Type;
use arrow_cast::parse::Parser;
use arrow_schema::SchemaRef;

use super::cells::Kind;
use super::row::CellWriter;
use super::table::{
    Batch, Columns, Layout, OtherColumns, PutOther, Table, TableOptions, all_names, unknown,
    view_name,
};
use epdb_chess::codec::polyglot::BookMove;
use epdb_chess::error::Result;
use epdb_chess::model::score::Score;
use epdb_chess::model::{Color, Counters, Element, Game, GameResult, Start};
use epdb_chess::text::pgn::{clock_ms, engine_score, evaluation};

/// The tags with columns of their own, in this order: the seven tag roster, and the other tags of the
/// databases of lichess and of most collections.
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
    Mates,
    ScoreView,
    Rating(Color),
    Date,
    BaseSeconds,
    IncrementSeconds,
    Plies,
    Score,
}

use GameColumn as C;

impl Columns for GameColumn {
    fn all() -> Vec<(String, Self, Kind, bool)> {
        let tags = TAGS.map(|tag| (tag.to_string(), C::Tag(tag), Kind::Name, true));
        let mut all = tags.to_vec();
        let others = [
            ("white_elo", C::Rating(Color::White), Kind::I16),
            ("black_elo", C::Rating(Color::Black), Kind::I16),
            // DuckDB and Spark take `date` and the tag `Date` for one name.
            ("game_date", C::Date, Kind::Date),
            ("base_s", C::BaseSeconds, Kind::I32),
            ("increment_s", C::IncrementSeconds, Kind::I32),
            ("plies", C::Plies, Kind::I32),
            ("score", C::Score, Kind::F64),
            ("tags", C::OtherTags, Kind::Pairs),
            ("start", C::Fen, Kind::Text),
            ("moves", C::Moves, Kind::U16s),
            ("clocks_ms", C::Clocks, Kind::I32s),
            ("evals_cp", C::Evaluations, Kind::I32s),
            ("evals_mate", C::Mates, Kind::I32s),
            ("score_view", C::ScoreView, Kind::Name),
        ];
        all.extend(others.map(|(name, own, kind)| (name.to_string(), own, kind, true)));
        all
    }

    fn is_score(self) -> bool {
        matches!(self, C::Evaluations | C::Mates)
    }
}

/// Writes the rows of the table of games.
#[derive(Debug)]
pub struct GameRows(Layout<GameColumn>);

impl GameRows {
    /// The names of all columns of the table.
    pub fn all_columns() -> Vec<String> {
        all_names::<GameColumn>()
    }

    /// # Errors
    /// The errors of [`GameTable::new`].
    pub fn new(options: &TableOptions, other: &OtherColumns<'_>) -> Result<GameRows> {
        Ok(GameRows(Layout::new(options, other)?))
    }

    /// The schema of the batches.
    pub fn schema(&self) -> SchemaRef {
        self.0.schema()
    }

    /// A batch without rows.
    pub fn batch(&self) -> Batch {
        self.0.batch()
    }

    /// Writes the row of a game; `other` writes the other columns.
    pub fn write(&self, game: &Game, other: &mut PutOther<'_>, out: &mut Vec<u8>) {
        let white_view = self.0.white_view;
        let scores = LazyCell::new(|| scores(game));
        self.0.write(out, other, |own, cell| put(own, cell, game, &scores, white_view));
    }
}

/// The table of games.
pub struct GameTable(Table<GameRows>);

impl fmt::Debug for GameTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("GameTable").field(&self.schema()).finish()
    }
}

impl GameTable {
    /// A table without rows.
    ///
    /// # Errors
    /// A column does not belong to the table, or is named twice.
    pub fn new(options: &TableOptions) -> Result<GameTable> {
        let rows = GameRows::new(options, &unknown)?;
        let batch = rows.batch();
        Ok(GameTable(Table::new(rows, batch)))
    }

    /// The schema of the batches.
    pub fn schema(&self) -> SchemaRef {
        self.0.rows.schema()
    }

    /// Appends a game.
    ///
    /// # Errors
    /// The errors of [`GameTable::finish`].
    pub fn push(&mut self, game: &Game) -> Result<()> {
        self.0.push(|rows, out| {
            rows.write(game, &mut |_, _| {}, out);
            Ok(())
        })
    }

    /// Returns the rows so far as a batch, and starts the next batch.
    ///
    /// # Errors
    /// Arrow refuses the batch.
    pub fn finish(&mut self) -> Result<RecordBatch> {
        self.0.finish()
    }
}

/// Writes the value of one column, if the game has it. `scores` are those of the game.
fn put(
    own: GameColumn,
    mut cells: CellWriter<'_>,
    game: &Game,
    scores: &impl Deref<Target = Vec<Option<Score>>>,
    white_view: bool,
) {
    match own {
        C::Tag(name) if game.has_tag(name) => cells.text(game.tag(name).unwrap_or_default()),
        C::Tag(_) => {}
        C::OtherTags => {
            let is_other = |name| game.has_tag(name) && !TAGS.contains(&name);
            cells.pairs(&game.tags().filter(|(name, _)| is_other(name)).collect::<Vec<_>>());
        }
        C::Fen if *game.start() != Start::ARRAY => {
            let Start { position, counters } = game.start();
            let Counters { halfmove_clock, fullmove_number } = counters;
            cells.text(&format!("{position} {halfmove_clock} {fullmove_number}"));
        }
        C::Fen => {}
        C::Moves => {
            let bits = |mv| BookMove::from(mv).bits();
            cells.numbers(&game.plies().map(|ply| ply.map_or(0, bits)).collect::<Vec<_>>());
        }
        C::Clocks => cells.optional(clocks(game).iter().copied()),
        C::Evaluations => cells.optional(seen(game, scores, white_view, centipawns)),
        C::Mates => cells.optional(seen(game, scores, white_view, moves_to_mate)),
        C::ScoreView => {
            if scores.iter().any(Option::is_some) {
                cells.text(view_name(white_view));
            }
        }
        C::Rating(color) => {
            let name = if color == Color::White { "WhiteElo" } else { "BlackElo" };
            put_number(cells, game.tag(name).and_then(|text| text.trim().parse::<i64>().ok()));
        }
        C::Date => put_number(cells, date(game)),
        C::BaseSeconds => put_number(cells, time_control(game).map(|(base, _)| base)),
        C::IncrementSeconds => {
            put_number(cells, time_control(game).map(|(_, increment)| increment))
        }
        C::Plies => put_number(cells, i64::try_from(game.plies().count()).ok()),
        C::Score => {
            let score = match game.result() {
                GameResult::WhiteWins => 1.0,
                GameResult::Draw => 0.5,
                GameResult::BlackWins => 0.0,
                GameResult::Unknown => return,
            };
            cells.fraction(score);
        }
    }
}

fn put_number(mut cells: CellWriter<'_>, number: Option<i64>) {
    if let Some(number) = number {
        cells.whole(number.into());
    }
}

/// The day of the tag `Date`, or else of `UTCDate`, in days since 1970; `None` if it is not complete.
fn date(game: &Game) -> Option<i64> {
    let day = |name| Date32Type::parse(&game.tag(name)?.replace('.', "-"));
    day("Date").or_else(|| day("UTCDate")).map(i64::from)
}

/// Seconds of `TimeControl` for the game and for each move: those of `180+2` or `600`.
fn time_control(game: &Game) -> Option<(i64, i64)> {
    let text = game.tag("TimeControl")?.trim();
    let (base, increment) = text.split_once('+').unwrap_or((text, "0"));
    Some((base.parse().ok()?, increment.parse().ok()?))
}

/// The time that the player of each ply has left after it, in milliseconds.
fn clocks(game: &Game) -> Vec<Option<i32>> {
    let mut clocks = Vec::new();
    each_comment(game, |ply, comment| match comment {
        None => clocks.push(None),
        Some(comment) => {
            let clock = clock_ms(comment).and_then(|clock| i32::try_from(clock).ok());
            if clock.is_some() {
                clocks[ply] = clock;
            }
        }
    });
    clocks
}

/// The evaluation of the position after each ply, for its side to move.
fn scores(game: &Game) -> Vec<Option<Score>> {
    let mut scores: Vec<Option<i32>> = Vec::new();
    let mut is_stated_before = false;
    each_comment(game, |ply, comment| match comment {
        None => {
            is_stated_before = scores.last().is_some_and(Option::is_some);
            scores.push(None);
        }
        Some(comment) => {
            scores[ply] = evaluation(comment, turn_after(game, ply)).or(scores[ply]);
            // An engine evaluates the position before its move, from its own view.
            if !is_stated_before
                && let Some(before) = ply.checked_sub(1)
                && let Some(score) = engine_score(comment)
            {
                scores[before] = Some(score);
            }
        }
    });
    scores.into_iter().map(|ce| Score::from_ce(ce?.into()).ok()).collect()
}

/// A part of the score after each ply.
fn seen(
    game: &Game,
    scores: &[Option<Score>],
    white_view: bool,
    part: fn(Score) -> Option<i32>,
) -> impl ExactSizeIterator<Item = Option<i32>> {
    let is_turned = move |ply: usize| white_view && turn_after(game, ply) == Color::Black;
    scores.iter().enumerate().map(move |(ply, score)| {
        let value = part((*score)?)?;
        Some(if is_turned(ply) { -value } else { value })
    })
}

fn centipawns(score: Score) -> Option<i32> {
    match score {
        Score::Centipawns(value) => Some(value),
        _ => None,
    }
}

/// The number of moves to mate; below 0 if the side to move gets mated.
fn moves_to_mate(score: Score) -> Option<i32> {
    let moves = i32::try_from(score.full_moves()?).ok()?;
    Some(if matches!(score, Score::Mates(_)) { moves } else { -moves })
}

/// The side to move after a ply.
fn turn_after(game: &Game, ply: usize) -> Color {
    let first = game.start().position.turn();
    if ply.is_multiple_of(2) { !first } else { first }
}

/// Visits the moves of the main line. For each move, `visit` gets its ply, from 0, and `None`; then, for each
/// comment on the move, the same ply and the comment.
fn each_comment(game: &Game, mut visit: impl FnMut(usize, Option<&str>)) {
    let mut plies = 0_usize;
    let mut depth = 0_u32;
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

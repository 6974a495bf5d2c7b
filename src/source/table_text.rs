//! Conversion of the rows of a table to text: EPD lines, lines of the files of lichess, or PGN. The
//! parsers of these texts then read the table.

use std::fmt::Write as _;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type, UInt16Type};
use arrow_array::{Array, ArrayRef, RecordBatch, StringArray};
use arrow_schema::{DataType, Schema, TimeUnit};

use super::lichess::puzzle;
use crate::arrow::{Kind, cast_to, column, each_entry, number_at, text_at, write_lines};
use crate::codec::polyglot::BookMove;
use crate::error::{Error, Result};
use crate::model::rules::Playable;
use crate::model::{
    Cell, Color, GameCounts, MoveTally, Position, Ratings, Speed, Start, Tally, TallyPart,
};
use crate::text::{Profile, fen, san};

/// The kind of a table. The columns of a file show the kind.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Shape {
    /// The table of records.
    Records,
    /// The table of games.
    Games,
    /// The table of moves.
    Moves,
    /// Evaluations of lichess.
    Evaluations,
    /// Puzzles of lichess.
    Puzzles,
    /// Games of lichess.
    LichessGames,
}

impl Shape {
    /// Finds the table that has the columns of a schema.
    ///
    /// # Errors
    /// No table has these columns.
    pub(super) fn of(schema: &Schema) -> Result<Shape> {
        let has = |name: &str| schema.field_with_name(name).is_ok();
        let is_list = |name: &str| {
            schema.field_with_name(name).is_ok_and(|field| {
                matches!(field.data_type(), DataType::List(_) | DataType::LargeList(_))
            })
        };
        Ok(if has("movetext") {
            Shape::LichessGames
        } else if is_list("moves") {
            Shape::Games
        } else if has("FEN") && has("Moves") {
            Shape::Puzzles
        } else if has("fen") && has("uci") && has("draws") {
            Shape::Moves
        } else if has("fen") && has("line") && (has("cp") || has("mate")) {
            Shape::Evaluations
        } else if has("fen") || has("board") {
            Shape::Records
        } else {
            let names: Vec<&str> =
                schema.fields().iter().map(|field| field.name().as_str()).collect();
            return Err(Error::new(format!(
                "its columns ({}) are those of no table: expected fen or board (records), moves \
                 (games), fen, uci, white, draws, black (moves), fen, line, cp, mate (evaluations \
                 of lichess), FEN, Moves (puzzles) or movetext (games of lichess)",
                names.join(", ")
            )));
        })
    }
}

/// Writes batches of a table as text.
pub(super) struct TextWriter {
    shape: Shape,
    has_header: bool,
    /// The position whose moves are being read, and the moves so far.
    moves: Option<(String, Vec<TallyPart>)>,
}

impl TextWriter {
    pub(super) const fn new(shape: Shape) -> TextWriter {
        TextWriter { shape, has_header: false, moves: None }
    }

    /// Appends the text of a batch.
    ///
    /// # Errors
    /// A column has another type than that of the table.
    pub(super) fn write(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<()> {
        match self.shape {
            Shape::Records => write_lines(batch, out),
            Shape::Games => write_games(batch, out),
            Shape::Moves => self.write_moves(batch, out),
            Shape::Evaluations => write_evaluations(batch, out),
            Shape::Puzzles => self.write_puzzles(batch, out),
            Shape::LichessGames => write_lichess_games(batch, out),
        }
    }

    /// Appends the record whose rows ended with the last batch.
    ///
    /// # Errors
    /// The counts of the moves of the last position are too large for a tally.
    pub(super) fn finish(&mut self, out: &mut Vec<u8>) -> Result<()> {
        let Some((fen, parts)) = self.moves.take() else { return Ok(()) };
        let tally = Tally::new(parts).ok_or_else(|| {
            Error::new(format!("the counts of the moves of `{fen}` are too large"))
        })?;
        out.extend_from_slice(format!("{fen} tally \"").as_bytes());
        out.extend_from_slice(&tally.to_text());
        out.extend_from_slice(b"\";\n");
        Ok(())
    }

    /// Consecutive rows with the same position are one record.
    fn write_moves(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<()> {
        let fens = required(batch, "fen", Kind::Text)?;
        let moves = required(batch, "uci", Kind::Text)?;
        let speeds = column(batch, "split_speed", Kind::Text)?;
        let counts = MoveCounts::new(batch)?;
        for row in 0..batch.num_rows() {
            let (fen, uci) = (text(&fens, row), text(&moves, row));
            if self.moves.as_ref().is_none_or(|(known, _)| known != fen) {
                self.finish(out)?;
                self.moves = Some((fen.to_string(), Vec::new()));
            }
            let unreadable = || Error::new(format!("row {row}: `{fen}` and `{uci}`"));
            let record = fen::parse(fen.as_bytes(), Profile::Lenient)
                .map_err(|error| unreadable().because(error))?;
            let playable =
                Playable::new(record.position()).map_err(|error| unreadable().because(error))?;
            let read = san::parse(&playable, uci.as_bytes(), Profile::Lenient)
                .map_err(|error| unreadable().because(error))?;
            let speed = text_at(speeds.as_ref(), row).and_then(Speed::from_name);
            let counted = counts.at(row)?;
            let one = MoveTally { mv: read.mv, san: read.san, counts: counted };
            let part = TallyPart {
                cell: Cell { speed, ..counts.cell(row) },
                reached: counted.games(),
                moves: vec![one],
            };
            if let Some((_, parts)) = &mut self.moves {
                parts.push(part);
            }
        }
        Ok(())
    }

    /// Writes rows as lines of `lichess_db_puzzle.csv`.
    fn write_puzzles(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<()> {
        if !std::mem::replace(&mut self.has_header, true) {
            out.extend_from_slice(puzzle::NAMES.join(",").as_bytes());
            out.push(b'\n');
        }
        let columns =
            puzzle::NAMES.map(|name| batch.column_by_name(name).map(|array| words(name, array)));
        let columns = columns.into_iter().map(Option::transpose).collect::<Result<Vec<_>>>()?;
        let games = column(batch, "GameId", Kind::Text)?;
        for row in 0..batch.num_rows() {
            for (place, column) in columns.iter().enumerate() {
                let value = column.as_ref().filter(|it| it.is_valid(row)).map(|it| it.value(row));
                let game = || text_at(games.as_ref(), row);
                let value = match value {
                    None if puzzle::NAMES[place] == "GameUrl" => {
                        game().map(|game| format!("https://lichess.org/{game}"))
                    }
                    value => value.map(ToString::to_string),
                };
                let value = value.unwrap_or_default();
                if place > 0 {
                    out.push(b',');
                }
                match value.contains([',', '"', '\n', '\r']) {
                    true => out.extend(format!("\"{}\"", value.replace('"', "\"\"")).bytes()),
                    false => out.extend(value.bytes()),
                }
            }
            out.push(b'\n');
        }
        Ok(())
    }
}

/// The counts in the columns of the table of moves.
struct MoveCounts(Vec<Option<ArrayRef>>);

impl MoveCounts {
    const NAMES: [&str; 11] = [
        "white",
        "draws",
        "black",
        "unknown",
        "rated_games",
        "rating_sum",
        "first_year",
        "last_year",
        "split_year",
        "split_month",
        "split_rating",
    ];

    fn new(batch: &RecordBatch) -> Result<MoveCounts> {
        let columns = MoveCounts::NAMES.map(|name| column(batch, name, Kind::I64));
        Ok(MoveCounts(columns.into_iter().collect::<Result<_>>()?))
    }

    fn number<T: TryFrom<i64>>(&self, place: usize, row: usize) -> Option<T> {
        number_at::<Int64Type>(self.0[place].as_ref(), row)?.try_into().ok()
    }

    fn at(&self, row: usize) -> Result<GameCounts> {
        let count = |place: usize| match &self.0[place] {
            Some(array) if array.is_valid(row) => self.number(place, row).ok_or_else(|| {
                Error::new(format!("row {row}: `{}` is below 0", MoveCounts::NAMES[place]))
            }),
            _ => Ok(0),
        };
        Ok(GameCounts {
            white: count(0)?,
            draws: count(1)?,
            black: count(2)?,
            unknown: count(3)?,
            elo: Ratings { games: count(4)?, sum: count(5)? },
            opponents: Ratings::default(),
            years: self.number(6, row).zip(self.number(7, row)),
        })
    }

    fn cell(&self, row: usize) -> Cell {
        Cell {
            year: self.number(8, row),
            month: self.number(9, row),
            speed: None,
            rating: self.number(10, row),
        }
    }
}

/// Writes rows as lines of `lichess_db_eval.jsonl`.
fn write_evaluations(batch: &RecordBatch, out: &mut Vec<u8>) -> Result<()> {
    let fens = required(batch, "fen", Kind::Text)?;
    let lines = required(batch, "line", Kind::Text)?;
    let numbers = ["depth", "knodes", "cp", "mate"];
    let numbers = numbers.map(|name| column(batch, name, Kind::I64));
    let [depth, knodes, cp, mate] = numbers;
    let (depth, knodes, cp, mate) = (depth?, knodes?, cp?, mate?);
    for row in 0..batch.num_rows() {
        let number = |array: &Option<ArrayRef>| number_at::<Int64Type>(array.as_ref(), row);
        let mut variation = serde_json::Map::new();
        for (name, value) in [("cp", number(&cp)), ("mate", number(&mate))] {
            variation.extend(value.map(|value| (name.to_string(), value.into())));
        }
        variation.insert("line".to_string(), text(&lines, row).into());
        let line = serde_json::json!({
            "fen": text(&fens, row),
            "evals": [{
                "pvs": [variation],
                "knodes": number(&knodes).unwrap_or(0),
                "depth": number(&depth).unwrap_or(0),
            }],
        });
        out.extend_from_slice(line.to_string().as_bytes());
        out.push(b'\n');
    }
    Ok(())
}

/// Writes rows of the table of games as PGN.
fn write_games(batch: &RecordBatch, out: &mut Vec<u8>) -> Result<()> {
    let tags = tag_columns(batch, &["start", "tags", "moves", "evals_cp", "clocks_ms"])?;
    let map = column(batch, "tags", Kind::Map)?;
    let starts = column(batch, "start", Kind::Text)?;
    let moves = required(batch, "moves", Kind::U16s)?;
    let (evaluations, clocks) =
        (column(batch, "evals_cp", Kind::I32s)?, column(batch, "clocks_ms", Kind::I32s)?);
    let is_white_view = batch
        .schema_ref()
        .field_with_name("evals_cp")
        .is_ok_and(|field| field.metadata().get("score_view").is_some_and(|it| it == "white"));
    for row in 0..batch.num_rows() {
        let result = write_tags(&tags, row, out);
        if let Some(map) = map.as_ref().filter(|map| map.is_valid(row)) {
            each_entry(map, row, |name, value| write_tag(name, value, out));
        }
        out.push(b'\n');
        let start = match text_at(starts.as_ref(), row) {
            Some(fen) => {
                let read = fen::parse(fen.as_bytes(), Profile::Lenient);
                *read
                    .map_err(|error| Error::new(format!("row {row}: `{fen}`")).because(error))?
                    .position()
            }
            None => Start::ARRAY.position,
        };
        let moves = moves.as_list::<i32>().value(row);
        let values = |lists: &Option<ArrayRef>| {
            let lists = lists.as_ref().filter(|lists| lists.is_valid(row))?;
            Some(lists.as_list::<i32>().value(row))
        };
        let (evaluations, clocks) = (values(&evaluations), values(&clocks));
        let line = MoveLine { start, moves: &moves, evaluations, clocks, is_white_view };
        line.write(out).map_err(|error| Error::new(format!("row {row}")).because(error))?;
        out.extend_from_slice(format!("{result}\n\n").as_bytes());
    }
    Ok(())
}

/// The moves of a game with evaluations and clocks.
struct MoveLine<'a> {
    start: Position,
    moves: &'a ArrayRef,
    evaluations: Option<ArrayRef>,
    clocks: Option<ArrayRef>,
    is_white_view: bool,
}

impl MoveLine<'_> {
    fn write(&self, out: &mut Vec<u8>) -> Result<()> {
        let mut playable = Playable::new(&self.start).ok();
        for (ply, bits) in self.moves.as_primitive::<UInt16Type>().iter().enumerate() {
            let bits = BookMove::from_bits(bits.unwrap_or(0));
            if bits == BookMove::NONE {
                out.extend_from_slice(b"-- ");
                playable = None;
                continue;
            }
            let played = playable.as_ref().and_then(|it| Some((it, bits.legal_in(it)?)));
            let Some((before, mv)) = played else {
                return Err(Error::new(format!("move {} of the game is not legal", ply + 1)));
            };
            out.extend_from_slice(san::format(before, mv).as_bytes());
            let after = before.after(mv);
            self.write_comment(ply, after.position().turn(), out);
            out.push(b' ');
            playable = Some(after);
        }
        Ok(())
    }

    /// Writes the evaluation and the clock after a ply as a comment.
    fn write_comment(&self, ply: usize, turn: Color, out: &mut Vec<u8>) {
        let value = |values: &Option<ArrayRef>| {
            let values = values.as_ref()?.as_primitive::<Int32Type>();
            (ply < values.len() && values.is_valid(ply)).then(|| values.value(ply))
        };
        let is_turned = !self.is_white_view && turn == Color::Black;
        let score = value(&self.evaluations).map(|score| if is_turned { -score } else { score });
        let parts = [
            score.map(|score| format!("[%eval {}]", evaluation_text(score))),
            value(&self.clocks).map(|clock| format!("[%clk {}]", clock_text(clock))),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        if !parts.is_empty() {
            out.extend_from_slice(format!(" {{{}}}", parts.join(" ")).as_bytes());
        }
    }
}

/// A score from White's view as in `[%eval 0.34]` or `[%eval #-3]`.
fn evaluation_text(score: i32) -> String {
    match score.unsigned_abs() {
        0..=32_000 => format!("{:.2}", f64::from(score) / 100.0),
        size => {
            let moves = 32_767_u32.saturating_sub(size).div_ceil(2);
            format!("#{}{moves}", if score < 0 { "-" } else { "" })
        }
    }
}

/// Milliseconds as in `[%clk 0:02:59.5]`.
fn clock_text(clock: i32) -> String {
    let (seconds, millis) = (clock.max(0) / 1000, clock.max(0) % 1000);
    let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
    let fraction = match millis {
        0 => String::new(),
        _ => format!(".{millis:03}").trim_end_matches('0').to_string(),
    };
    format!("{hours}:{minutes:02}:{:02}{fraction}", seconds % 60)
}

/// Writes rows of the games of lichess as PGN.
fn write_lichess_games(batch: &RecordBatch, out: &mut Vec<u8>) -> Result<()> {
    let tags = tag_columns(batch, &["movetext"])?;
    let movetexts = required(batch, "movetext", Kind::Text)?;
    for row in 0..batch.num_rows() {
        let result = write_tags(&tags, row, out);
        out.push(b'\n');
        let movetext = text(&movetexts, row).trim();
        out.extend_from_slice(movetext.as_bytes());
        if !movetext.ends_with(&result) {
            out.extend_from_slice(format!(" {result}").as_bytes());
        }
        out.extend_from_slice(b"\n\n");
    }
    Ok(())
}

/// The columns of a table of games whose names can be names of tags, as text.
fn tag_columns(batch: &RecordBatch, others: &[&str]) -> Result<Vec<(String, StringArray)>> {
    let schema = batch.schema_ref();
    let mut tags = Vec::new();
    for (field, array) in schema.fields().iter().zip(batch.columns()) {
        let is_tag = field.name().starts_with(|first: char| first.is_ascii_uppercase());
        if is_tag && !others.contains(&field.name().as_str()) {
            tags.push((field.name().clone(), words(field.name(), array)?));
        }
    }
    Ok(tags)
}

/// Writes the tags of a row and returns the result of the game.
fn write_tags(tags: &[(String, StringArray)], row: usize, out: &mut Vec<u8>) -> String {
    let mut result = "*".to_string();
    for (name, values) in tags.iter().filter(|(_, values)| values.is_valid(row)) {
        let value = values.value(row);
        if name == "Result" {
            result = value.to_string();
        }
        match name.ends_with("Date") {
            true => write_tag(name, &value.replace('-', "."), out),
            false => write_tag(name, value, out),
        }
    }
    result
}

fn write_tag(name: &str, value: &str, out: &mut Vec<u8>) {
    let value = value.replace('\\', "\\\\").replace('"', "\\\"");
    out.extend_from_slice(format!("[{name} \"{value}\"]\n").as_bytes());
}

/// A column as texts. The texts of a list are separated by blanks, and a time stamp is its number of
/// milliseconds.
fn words(name: &str, array: &ArrayRef) -> Result<StringArray> {
    let array = match array.data_type() {
        DataType::List(_) | DataType::LargeList(_) => return joined(name, array),
        DataType::Timestamp(..) => {
            let millis = cast_to(array, name, &DataType::Timestamp(TimeUnit::Millisecond, None))?;
            cast_to(&millis, name, &DataType::Int64)?
        }
        _ => ArrayRef::clone(array),
    };
    Ok(cast_to(&array, name, &DataType::Utf8)?.as_string().clone())
}

fn joined(name: &str, array: &ArrayRef) -> Result<StringArray> {
    let lists = cast_to(array, name, &Kind::Texts.data_type())?;
    let lists = lists.as_list::<i32>();
    let text = |row: usize| {
        lists.is_valid(row).then(|| {
            let mut text = String::new();
            for word in lists.value(row).as_string::<i32>().iter().flatten() {
                let blank = if text.is_empty() { "" } else { " " };
                // Writing to a string does not fail.
                let _ = write!(text, "{blank}{word}");
            }
            text
        })
    };
    Ok((0..lists.len()).map(text).collect())
}

fn required(batch: &RecordBatch, name: &str, kind: Kind) -> Result<ArrayRef> {
    column(batch, name, kind)?.ok_or_else(|| Error::new(format!("there is no column `{name}`")))
}

/// The text of a cell; empty if it is missing.
fn text(array: &ArrayRef, row: usize) -> &str {
    text_at(Some(array), row).unwrap_or_default()
}

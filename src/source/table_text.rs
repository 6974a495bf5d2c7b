//! Conversion of the rows of a table to text: EPD lines, lines of the files of lichess, or PGN. The
//! parsers of these texts then read the table. A text of the table never becomes more than its own part of
//! that text.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, UInt16Type};
use arrow_array::{Array, ArrayRef, RecordBatch, StringViewArray};
use arrow_cast::cast;
use arrow_cast::display::array_value_to_string;
use arrow_schema::{DataType, Field, Schema, TimeUnit};

use super::lichess::puzzle;
use super::lines::{write_fault, write_row};
use crate::arrow::{
    BatchColumns, Kind, RecordColumns, RowViews, ScoreViews, fault_of_fen, is_record_column,
    number_at, pairs_at, text_at,
};
use epdb_chess::codec::polyglot::BookMove;
use epdb_chess::error::{Error, Result};
use epdb_chess::model::{
    Cell, Color, GameCounts, MoveTally, Ratings, Replay, Speed, Start, Tally, TallyPart,
    is_tag_name,
};
use epdb_chess::model::{Counters, rules::Playable};
use epdb_chess::text::pgn::{GameReader, PgnReadOptions};
use epdb_chess::text::{Profile, ScoreView, fen, san};

/// The kind of a table. The columns of a file show the kind.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Shape {
    Records,
    Games,
    Moves,
    Evaluations,
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

    /// Whether a table of this kind is read from a column. Other columns may have any type.
    pub(super) fn reads(self, field: &Field) -> bool {
        let name = field.name().as_str();
        match self {
            Shape::Records => is_record_column(name),
            Shape::Games => GAME_COLUMNS.contains(&name) || is_tag_column(field),
            Shape::Moves => {
                ["fen", "uci", "split_speed"].contains(&name) || MoveCounts::NAMES.contains(&name)
            }
            Shape::Evaluations => ["fen", "line", "depth", "knodes", "cp", "mate"].contains(&name),
            Shape::Puzzles => puzzle::NAMES.contains(&name) || name == "GameId",
            Shape::LichessGames => name == "movetext" || is_tag_column(field),
        }
    }
}

/// The columns of the table of games that are not tags.
const GAME_COLUMNS: [&str; 7] =
    ["start", "tags", "moves", "evals_cp", "evals_mate", "clocks_ms", "score_view"];

/// Whether a column of a table of games can be a tag: its name can be the name of a tag and begins with a
/// capital letter, and its values are not nested.
fn is_tag_column(field: &Field) -> bool {
    let name = field.name();
    let begins = name.starts_with(|first: char| first.is_ascii_uppercase());
    begins && is_tag_name(name) && !field.data_type().is_nested()
}

/// Writes the rows of batches as text, one row at a time.
pub(super) struct TextWriter {
    shape: Shape,
    views: ScoreViews,
    next_row: u64,
    /// The position whose moves are being read, and the moves so far.
    moves: Option<(String, Vec<TallyPart>)>,
}

impl TextWriter {
    pub(super) const fn new(shape: Shape, views: ScoreViews) -> TextWriter {
        TextWriter { shape, views, next_row: 1, moves: None }
    }

    /// Appends the text of rows of a batch, from `row` on, until all are written or `out` is full.
    /// Returns the number of the next row of the batch.
    ///
    /// # Errors
    /// A column has another type than that of the table, or a value of a row cannot be read.
    pub(super) fn write(
        &mut self,
        batch: &RecordBatch,
        mut row: usize,
        full: usize,
        out: &mut Vec<u8>,
    ) -> Result<usize> {
        let first_row = self.next_row - row as u64;
        let columns = BatchColumns::new(batch, first_row);
        let rows = RowWriter::new(self.shape, columns, self.views)?;
        if self.shape == Shape::Puzzles && self.next_row == 1 {
            out.extend_from_slice(puzzle::NAMES.join(",").as_bytes());
            out.push(b'\n');
        }
        while row < batch.num_rows() && out.len() < full {
            match &rows {
                RowWriter::Moves(moves) => self.write_move(moves, row, out)?,
                rows => rows.write(row, out)?,
            }
            row += 1;
            self.next_row += 1;
        }
        Ok(row)
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
    fn write_move(&mut self, rows: &MoveRows<'_>, row: usize, out: &mut Vec<u8>) -> Result<()> {
        let fen = rows.columns.fen(&rows.fens, "fen", row)?;
        if self.moves.as_ref().is_none_or(|(known, _)| known != fen) {
            self.finish(out)?;
            self.moves = Some((fen.to_string(), Vec::new()));
        }
        let part = rows.part(fen, row)?;
        if let Some((_, parts)) = &mut self.moves {
            parts.push(part);
        }
        Ok(())
    }
}

/// The columns of a batch, ready to write its rows.
enum RowWriter<'b> {
    Records(RecordColumns<'b>),
    Games(GameRows<'b>),
    Moves(MoveRows<'b>),
    Evaluations(EvaluationRows<'b>),
    Puzzles(PuzzleRows<'b>),
    LichessGames(LichessGameRows<'b>),
}

impl<'b> RowWriter<'b> {
    fn new(shape: Shape, columns: BatchColumns<'b>, views: ScoreViews) -> Result<RowWriter<'b>> {
        Ok(match shape {
            Shape::Records => RowWriter::Records(RecordColumns::new(columns, views)?),
            Shape::Games => RowWriter::Games(GameRows::new(columns, views)?),
            Shape::Moves => RowWriter::Moves(MoveRows::new(columns)?),
            Shape::Evaluations => RowWriter::Evaluations(EvaluationRows::new(columns)?),
            Shape::Puzzles => RowWriter::Puzzles(PuzzleRows::new(columns)?),
            Shape::LichessGames => RowWriter::LichessGames(LichessGameRows::new(columns)?),
        })
    }

    fn write(&self, row: usize, out: &mut Vec<u8>) -> Result<()> {
        match self {
            RowWriter::Records(rows) => {
                let start = out.len();
                match rows.write_line(row, out) {
                    Ok(()) => write_row(&rows.table_row(row), out),
                    Err(fault) => {
                        out.truncate(start);
                        write_fault(&fault, out);
                    }
                }
                out.push(b'\n');
                Ok(())
            }
            RowWriter::Games(rows) => rows.write(row, out),
            RowWriter::Evaluations(rows) => rows.write(row, out),
            RowWriter::Puzzles(rows) => rows.write(row, out),
            RowWriter::LichessGames(rows) => rows.write(row, out),
            // Several rows are one record.
            RowWriter::Moves(_) => Ok(()),
        }
    }
}

impl BatchColumns<'_> {
    /// The FEN in a cell.
    ///
    /// # Errors
    /// The cell is empty, or its text is more than a FEN.
    fn fen<'a>(&self, array: &'a ArrayRef, name: &str, row: usize) -> Result<&'a str> {
        let fen = text_at(Some(array), row).unwrap_or_default().trim();
        match fault_of_fen(fen) {
            None => Ok(fen),
            Some(fault) => Err(self.invalid(row, name, &format!("`{fen}` {fault}"))),
        }
    }
}

/// The columns of the table of moves.
struct MoveRows<'b> {
    columns: BatchColumns<'b>,
    fens: ArrayRef,
    moves: ArrayRef,
    speeds: Option<ArrayRef>,
    counts: MoveCounts<'b>,
}

impl<'b> MoveRows<'b> {
    fn new(columns: BatchColumns<'b>) -> Result<MoveRows<'b>> {
        Ok(MoveRows {
            columns,
            fens: columns.required("fen", Kind::Text)?,
            moves: columns.required("uci", Kind::Text)?,
            speeds: columns.get("split_speed", Kind::Text)?,
            counts: MoveCounts::new(columns)?,
        })
    }

    fn part(&self, fen: &str, row: usize) -> Result<TallyPart> {
        let uci = text_at(Some(&self.moves), row).unwrap_or_default();
        let unreadable = || self.columns.invalid(row, "uci", &format!("`{uci}` in `{fen}`"));
        let record = fen::parse(fen.as_bytes(), Profile::Lenient)
            .map_err(|error| unreadable().because(error))?;
        let playable =
            Playable::new(record.position()).map_err(|error| unreadable().because(error))?;
        let read = san::parse(&playable, uci.as_bytes(), Profile::Lenient)
            .map_err(|error| unreadable().because(error))?;
        let speed = match text_at(self.speeds.as_ref(), row) {
            None => None,
            Some(name) => Some(Speed::from_name(name).ok_or_else(|| {
                self.columns.invalid(row, "split_speed", &format!("`{name}` is not a speed"))
            })?),
        };
        let counts = self.counts.at(row)?;
        let cell = Cell { speed, ..self.counts.cell(row)? };
        let reached = counts.games();
        let one = MoveTally { mv: read.mv, san: read.san, counts };
        Ok(TallyPart { cell, reached, moves: vec![one] })
    }
}

/// The counts in the columns of the table of moves.
struct MoveCounts<'b> {
    columns: BatchColumns<'b>,
    numbers: Vec<Option<ArrayRef>>,
}

impl<'b> MoveCounts<'b> {
    const NAMES: [&'static str; 11] = [
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

    fn new(columns: BatchColumns<'b>) -> Result<MoveCounts<'b>> {
        let numbers = MoveCounts::NAMES.iter().map(|name| columns.get(name, Kind::I64));
        Ok(MoveCounts { columns, numbers: numbers.collect::<Result<_>>()? })
    }

    fn number<T: TryFrom<i64>>(&self, place: usize, row: usize) -> Result<Option<T>> {
        let Some(number) = number_at(self.numbers[place].as_ref(), row) else { return Ok(None) };
        T::try_from(number).map(Some).map_err(|_| {
            self.columns.invalid(
                row,
                MoveCounts::NAMES[place],
                &format!("{number} is out of range"),
            )
        })
    }

    fn at(&self, row: usize) -> Result<GameCounts> {
        let count = |place: usize| Ok::<_, Error>(self.number(place, row)?.unwrap_or(0));
        Ok(GameCounts {
            white: count(0)?,
            draws: count(1)?,
            black: count(2)?,
            unknown: count(3)?,
            elo: Ratings {
                games: self.number(4, row)?.unwrap_or_default(),
                sum: self.number(5, row)?.unwrap_or_default(),
            },
            opponents: Ratings::default(),
            years: self.number(6, row)?.zip(self.number(7, row)?),
        })
    }

    fn cell(&self, row: usize) -> Result<Cell> {
        Ok(Cell {
            year: self.number(8, row)?,
            month: self.number(9, row)?,
            speed: None,
            rating: self.number(10, row)?,
        })
    }
}

struct EvaluationRows<'b> {
    columns: BatchColumns<'b>,
    fens: ArrayRef,
    lines: ArrayRef,
    depth: Option<ArrayRef>,
    knodes: Option<ArrayRef>,
    cp: Option<ArrayRef>,
    mate: Option<ArrayRef>,
}

impl<'b> EvaluationRows<'b> {
    fn new(columns: BatchColumns<'b>) -> Result<EvaluationRows<'b>> {
        Ok(EvaluationRows {
            columns,
            fens: columns.required("fen", Kind::Text)?,
            lines: columns.required("line", Kind::Text)?,
            depth: columns.get("depth", Kind::I64)?,
            knodes: columns.get("knodes", Kind::I64)?,
            cp: columns.get("cp", Kind::I64)?,
            mate: columns.get("mate", Kind::I64)?,
        })
    }

    /// Writes a row as a line of `lichess_db_eval.jsonl`. Missing numbers are left out.
    fn write(&self, row: usize, out: &mut Vec<u8>) -> Result<()> {
        let put = |object: &mut serde_json::Map<_, _>, name: &str, array: &Option<ArrayRef>| {
            if let Some(value) = number_at(array.as_ref(), row) {
                object.insert(name.to_string(), value.into());
            }
        };
        let mut variation = serde_json::Map::new();
        put(&mut variation, "cp", &self.cp);
        put(&mut variation, "mate", &self.mate);
        let line = text_at(Some(&self.lines), row).unwrap_or_default();
        variation.insert("line".to_string(), line.into());
        let mut analysis = serde_json::Map::new();
        analysis.insert("pvs".to_string(), serde_json::json!([variation]));
        put(&mut analysis, "knodes", &self.knodes);
        put(&mut analysis, "depth", &self.depth);
        let fen = self.columns.fen(&self.fens, "fen", row)?;
        let line = serde_json::json!({ "fen": fen, "evals": [analysis] });
        out.extend_from_slice(line.to_string().as_bytes());
        out.push(b'\n');
        Ok(())
    }
}

struct PuzzleRows<'b> {
    columns: BatchColumns<'b>,
    /// The columns of [`puzzle::NAMES`], as text.
    texts: Vec<Option<ArrayRef>>,
    games: Option<ArrayRef>,
}

impl<'b> PuzzleRows<'b> {
    fn new(columns: BatchColumns<'b>) -> Result<PuzzleRows<'b>> {
        let texts = puzzle::NAMES.iter().map(|name| {
            let array = columns.batch().column_by_name(name);
            array.map(|array| puzzle_texts(columns, name, array)).transpose()
        });
        let texts = texts.collect::<Result<_>>()?;
        Ok(PuzzleRows { columns, texts, games: columns.get("GameId", Kind::Text)? })
    }

    /// Writes a row as a line of `lichess_db_puzzle.csv`.
    fn write(&self, row: usize, out: &mut Vec<u8>) -> Result<()> {
        for (place, (name, texts)) in puzzle::NAMES.iter().zip(&self.texts).enumerate() {
            let game = || text_at(self.games.as_ref(), row);
            let value = match text_at(texts.as_ref(), row) {
                None if *name == "GameUrl" => {
                    game().map(|game| format!("https://lichess.org/{game}"))
                }
                value => value.map(ToString::to_string),
            };
            let value = value.unwrap_or_default();
            let fault = match *name {
                "FEN" => fault_of_fen(value.trim()),
                _ if value.contains(|c: char| c.is_ascii_control()) => {
                    Some("has a control character")
                }
                _ => None,
            };
            if let Some(fault) = fault {
                return Err(self.columns.invalid(row, name, &format!("{value:?} {fault}")));
            }
            if place > 0 {
                out.push(b',');
            }
            if value.contains([',', '"']) {
                out.extend(format!("\"{}\"", value.replace('"', "\"\"")).bytes());
            } else {
                out.extend(value.bytes());
            }
        }
        out.push(b'\n');
        Ok(())
    }
}

/// A column of puzzles as texts. The texts of a list are separated by blanks, and a time stamp is its number
/// of milliseconds.
fn puzzle_texts(columns: BatchColumns<'_>, name: &str, array: &ArrayRef) -> Result<ArrayRef> {
    let text = Kind::Text.read_type();
    match array.data_type() {
        DataType::List(_) | DataType::LargeList(_) => {
            let lists = columns.convert(array, name, &Kind::Texts.read_type())?;
            let lists = lists.as_list::<i32>();
            let joined = |row: usize| {
                let words = lists.value(row);
                let words: Vec<&str> = words.as_string_view().iter().flatten().collect();
                lists.is_valid(row).then(|| words.join(" "))
            };
            let texts: StringViewArray = (0..lists.len()).map(joined).collect();
            Ok(Arc::new(texts))
        }
        DataType::Timestamp(..) => columns.convert(&epoch_ms(array)?, name, &text),
        _ => columns.convert(array, name, &text),
    }
}

struct TagColumns<'b> {
    columns: BatchColumns<'b>,
    tags: Vec<(&'b str, ArrayRef)>,
}

impl<'b> TagColumns<'b> {
    fn new(columns: BatchColumns<'b>) -> Result<TagColumns<'b>> {
        let batch = columns.batch();
        let mut tags = Vec::new();
        for (field, array) in batch.schema_ref().fields().iter().zip(batch.columns()) {
            if is_tag_column(field) {
                tags.push((field.name().as_str(), tag_texts(columns, field.name(), array)?));
            }
        }
        Ok(TagColumns { columns, tags })
    }

    /// Writes the tags of a row and returns the result of the game.
    fn write(&self, row: usize, out: &mut Vec<u8>) -> Result<Option<&str>> {
        let mut result = None;
        for (name, texts) in &self.tags {
            let Some(value) = text_at(Some(texts), row) else { continue };
            if *name == "Result" {
                result = Some(value.trim());
            }
            if name.ends_with("Date") {
                self.write_tag(row, name, name, &value.replace('-', "."), out)?;
            } else {
                self.write_tag(row, name, name, value, out)?;
            }
        }
        Ok(result)
    }

    fn write_tag(
        &self,
        row: usize,
        column: &str,
        name: &str,
        value: &str,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        if !is_tag_name(name) {
            let reason = format!("{name:?} is not the name of a tag");
            return Err(self.columns.invalid(row, column, &reason));
        }
        if value.contains(|c: char| c.is_ascii_control()) {
            let reason = format!("{value:?} has a control character, which a tag cannot have");
            return Err(self.columns.invalid(row, column, &reason));
        }
        let value = value.replace('\\', "\\\\").replace('"', "\\\"");
        out.extend_from_slice(format!("[{name} \"{value}\"]\n").as_bytes());
        Ok(())
    }
}

/// A column as values of a tag: dates as in PGN, and whole numbers without a fraction.
fn tag_texts(columns: BatchColumns<'_>, name: &str, array: &ArrayRef) -> Result<ArrayRef> {
    if !matches!(array.data_type(), DataType::Timestamp(..) | DataType::Date32 | DataType::Date64) {
        return columns.convert(array, name, &Kind::Text.read_type());
    }
    let times = cast(&epoch_ms(array)?, &DataType::Timestamp(TimeUnit::Millisecond, None))
        .map_err(|error| Error::new(format!("the column `{name}`")).because(error))?;
    let text_of = |row: usize| {
        if times.is_null(row) {
            return None;
        }
        let text = array_value_to_string(&times, row).ok()?;
        let (date, time) = text.split_once('T')?;
        let date = date.replace('-', ".");
        if name.ends_with("Date") {
            Some(date)
        } else if name.ends_with("Time") {
            Some(time.to_string())
        } else {
            Some(format!("{date} {time}"))
        }
    };
    Ok(Arc::new((0..times.len()).map(text_of).collect::<StringViewArray>()))
}

/// A time stamp or date as milliseconds since 1970.
fn epoch_ms(array: &ArrayRef) -> Result<ArrayRef> {
    let zone = match array.data_type() {
        DataType::Timestamp(_, zone) => zone.clone(),
        _ => None,
    };
    let millis = cast(array, &DataType::Timestamp(TimeUnit::Millisecond, zone));
    let millis = millis.and_then(|millis| cast(&millis, &DataType::Int64));
    millis.map_err(|error| Error::new("a time stamp is out of range").because(error))
}

/// The columns of the table of games.
struct GameRows<'b> {
    columns: BatchColumns<'b>,
    tags: TagColumns<'b>,
    other_tags: Option<ArrayRef>,
    starts: Option<ArrayRef>,
    moves: ArrayRef,
    evaluations: Option<ArrayRef>,
    mates: Option<ArrayRef>,
    clocks: Option<ArrayRef>,
    views: RowViews,
}

impl<'b> GameRows<'b> {
    fn new(columns: BatchColumns<'b>, views: ScoreViews) -> Result<GameRows<'b>> {
        Ok(GameRows {
            columns,
            tags: TagColumns::new(columns)?,
            other_tags: columns.get("tags", Kind::Pairs)?,
            starts: columns.get("start", Kind::Text)?,
            moves: columns.required("moves", Kind::U16s)?,
            evaluations: columns.get("evals_cp", Kind::I32s)?,
            mates: columns.get("evals_mate", Kind::I32s)?,
            clocks: columns.get("clocks_ms", Kind::I32s)?,
            views: RowViews::new(columns, views)?,
        })
    }

    /// Writes a row as a game of PGN.
    fn write(&self, row: usize, out: &mut Vec<u8>) -> Result<()> {
        let before = out.len();
        let mut result = self.tags.write(row, out)?.unwrap_or("*").to_string();
        for (name, value) in pairs_at(self.other_tags.as_ref(), row) {
            if name == "Result" {
                result = value.to_string();
            }
            self.tags.write_tag(row, "tags", name, value, out)?;
        }
        let start = self.start(row)?;
        let has_fen = out[before..].windows(6).any(|text| text == b"\n[FEN ")
            || out[before..].starts_with(b"[FEN ");
        if !has_fen && let Some(fen) = text_at(self.starts.as_ref(), row) {
            self.tags.write_tag(row, "start", "SetUp", "1", out)?;
            self.tags.write_tag(row, "start", "FEN", fen.trim(), out)?;
        }
        out.push(b'\n');
        self.write_moves(row, start, out)?;
        out.extend_from_slice(format!("{}\n\n", marker(&result)).as_bytes());
        Ok(())
    }

    fn start(&self, row: usize) -> Result<Start> {
        let Some(starts) = self.starts.as_ref().filter(|starts| starts.is_valid(row)) else {
            return Ok(Start::ARRAY);
        };
        let fen = self.columns.fen(starts, "start", row)?;
        let read = fen::parse(fen.as_bytes(), Profile::Lenient).map_err(|error| {
            self.columns.invalid(row, "start", &format!("`{fen}`")).because(error)
        })?;
        let counters = Counters { halfmove_clock: 0, fullmove_number: 1 };
        let counters = read.fen_counters().unwrap_or(counters);
        Ok(Start { position: *read.position(), counters })
    }

    fn write_moves(&self, row: usize, start: Start, out: &mut Vec<u8>) -> Result<()> {
        if self.moves.is_null(row) {
            return Ok(());
        }
        let moves = self.moves.as_list::<i32>().value(row);
        let values = |lists: &Option<ArrayRef>| {
            let lists = lists.as_ref().filter(|lists| lists.is_valid(row))?;
            Some(lists.as_list::<i32>().value(row))
        };
        let evaluations = values(&self.evaluations);
        let mates = values(&self.mates);
        let clocks = values(&self.clocks);
        let mut replay = Replay::new(&start);
        for (ply, bits) in moves.as_primitive::<UInt16Type>().iter().enumerate() {
            let bits = BookMove::from_bits(bits.unwrap_or(0));
            let played = replay.as_mut().and_then(|replay| play(replay, bits));
            let Some((san, turn)) = played else {
                let reason = format!("move {} of the game is not legal", ply + 1);
                return Err(self.columns.invalid(row, "moves", &reason));
            };
            out.extend_from_slice(san.as_bytes());
            let score = match (value_at(&evaluations, ply), value_at(&mates, ply)) {
                (Some(score), _) => Some(self.evaluation(row, score, turn)?),
                (None, Some(moves)) => Some(self.mate(row, moves, turn)?),
                (None, None) => None,
            };
            let clock = value_at(&clocks, ply);
            write_comment(score, clock, out);
            out.push(b' ');
        }
        Ok(())
    }

    /// An evaluation as in `[%eval 0.34]`. `turn` is the side to move after the ply.
    fn evaluation(&self, row: usize, score: i32, turn: Color) -> Result<String> {
        let is_turned = self.is_turned(row, "evals_cp", turn)?;
        if score.unsigned_abs() > 32_767 {
            let reason = format!("{score} is not a score: it is beyond 32767");
            return Err(self.columns.invalid(row, "evals_cp", &reason));
        }
        Ok(evaluation_text(if is_turned { -score } else { score }))
    }

    /// A mate as in `[%eval #-3]`. In 0 moves, the side to move is checkmated.
    fn mate(&self, row: usize, moves: i32, turn: Color) -> Result<String> {
        let is_turned = self.is_turned(row, "evals_mate", turn)?;
        let is_blacks = match moves {
            0 => turn == Color::White,
            _ => (moves < 0) != is_turned,
        };
        Ok(format!("#{}{}", if is_blacks { "-" } else { "" }, moves.unsigned_abs()))
    }

    /// Whether the sign of a score is not that of White's view.
    fn is_turned(&self, row: usize, column: &str, turn: Color) -> Result<bool> {
        let view = self.views.at(row).map_err(|error| {
            self.columns.invalid(row, column, "a score without a view").because(error)
        })?;
        Ok(view == ScoreView::Mover && turn == Color::Black)
    }
}

/// Makes a move. Returns its SAN and the side to move after it; `None` if it is not legal.
fn play(replay: &mut Replay, bits: BookMove) -> Option<(String, Color)> {
    let playable = replay.playable();
    let san = if bits == BookMove::NONE {
        if playable.is_check() {
            return None;
        }
        replay.play_null_move();
        "--".to_string()
    } else {
        let mv = bits.legal_in(&playable)?;
        replay.play(mv);
        san::format(&playable, mv).to_string()
    };
    Some((san, replay.position().turn()))
}

fn value_at(values: &Option<ArrayRef>, ply: usize) -> Option<i32> {
    let values = values.as_ref()?.as_primitive::<Int32Type>();
    (ply < values.len() && values.is_valid(ply)).then(|| values.value(ply))
}

fn write_comment(score: Option<String>, clock: Option<i32>, out: &mut Vec<u8>) {
    let score = score.map(|score| format!("[%eval {score}]"));
    let clock = clock.map(|clock| format!("[%clk {}]", clock_text(clock)));
    let parts: Vec<String> = score.into_iter().chain(clock).collect();
    if !parts.is_empty() {
        out.extend_from_slice(format!(" {{{}}}", parts.join(" ")).as_bytes());
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
    let seconds = clock.max(0) / 1000;
    let millis = clock.max(0) % 1000;
    let hours = seconds / 3600;
    let minutes = seconds / 60 % 60;
    let fraction = match millis {
        0 => String::new(),
        _ => format!(".{millis:03}").trim_end_matches('0').to_string(),
    };
    format!("{hours}:{minutes:02}:{:02}{fraction}", seconds % 60)
}

const MARKERS: [&str; 5] = ["1-0", "0-1", "1/2-1/2", "*", "0-0"];

/// The mark of a result at the end of a game.
fn marker(result: &str) -> &str {
    MARKERS.into_iter().find(|marker| *marker == result.trim()).unwrap_or("*")
}

struct LichessGameRows<'b> {
    columns: BatchColumns<'b>,
    tags: TagColumns<'b>,
    movetexts: ArrayRef,
}

impl<'b> LichessGameRows<'b> {
    fn new(columns: BatchColumns<'b>) -> Result<LichessGameRows<'b>> {
        Ok(LichessGameRows {
            columns,
            tags: TagColumns::new(columns)?,
            movetexts: columns.required("movetext", Kind::Text)?,
        })
    }

    /// Writes a row as a game of PGN.
    fn write(&self, row: usize, out: &mut Vec<u8>) -> Result<()> {
        let result = self.tags.write(row, out)?.map(marker);
        out.push(b'\n');
        let movetext = text_at(Some(&self.movetexts), row).unwrap_or_default().trim();
        if !is_one_game(movetext) {
            let reason = "the text is not the moves of one game";
            return Err(self.columns.invalid(row, "movetext", reason));
        }
        out.extend_from_slice(movetext.as_bytes());
        let last = movetext.split_ascii_whitespace().next_back();
        if last.is_none_or(|last| !MARKERS.contains(&last)) {
            let marker = result.unwrap_or("*");
            out.extend_from_slice(format!(" {marker}").as_bytes());
        }
        out.extend_from_slice(b"\n\n");
        Ok(())
    }
}

/// Whether a text is the movetext of one game and nothing else. So it cannot become tags or a further game,
/// and no comment in it goes on in the next row.
fn is_one_game(movetext: &str) -> bool {
    if is_plainly_one_game(movetext) {
        return true;
    }
    let text = format!("[White \"row\"]\n\n{movetext}\n\n[White \"next row\"]\n\n*\n");
    let mut reader = GameReader::new(text.as_bytes(), PgnReadOptions::default());
    let mut players = Vec::new();
    while let Ok(Some(read)) = reader.next_game() {
        players.push(read.game.ok().and_then(|game| game.tag("White").map(str::to_string)));
    }
    players.len() == 2 && players[1].as_deref() == Some("next row")
}

/// [`is_one_game`] for most movetexts, without parsing them: they are on one line, their comments are closed,
/// and outside of comments the number 1 is not repeated and only the last word is a result.
fn is_plainly_one_game(movetext: &str) -> bool {
    if movetext.bytes().any(|byte| byte.is_ascii_control()) {
        return false;
    }
    let mut text = movetext;
    let mut whites = 0;
    let mut blacks = 0;
    let mut has_ended = false;
    loop {
        let end = text.find('{').unwrap_or(text.len());
        let moves = &text[..end];
        if moves.contains([';', '%', '[', '(', '}']) {
            return false;
        }
        for word in moves.split_ascii_whitespace() {
            if has_ended {
                return false;
            }
            has_ended = MARKERS.contains(&word);
            if word.starts_with("1...") {
                blacks += 1;
            } else if word.starts_with("1.") || word == "1" {
                whites += 1;
            }
        }
        let Some(comment) = text.get(end + 1..) else { break };
        match comment.find('}') {
            Some(close) => text = &comment[close + 1..],
            None => return false,
        }
    }
    whites <= 1 && blacks <= 1
}

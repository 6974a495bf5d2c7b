//! `/api/record`, `/api/game` and `/api/line`: a record by number, a stored game by id, typed moves as a
//! line.

use serde::{Deserialize, Serialize};

use crate::line::ParsedLine;
use crate::{Explorer, Refusal};
use epdb_chess::model::GameId;
use epdb_chess::text::pgn::{self, PgnFormatOptions};
use epdb_source::Lookup;

#[derive(Deserialize, Debug)]
pub(crate) struct RecordQuery {
    source: Option<String>,
    #[serde(default)]
    number: String,
}

#[derive(Serialize)]
pub(crate) struct NumberedRecord {
    number: u64,
    /// Number of records.
    count: u64,
    fen: String,
}

pub(crate) fn record(explorer: &Explorer, query: &RecordQuery) -> Result<NumberedRecord, Refusal> {
    let served = explorer.source(query.source.as_deref())?;
    let number: u64 =
        query.number.parse().map_err(|_| Refusal::bad_request("number: a number is expected"))?;
    let count = served.lookup().len();
    let missing = || Refusal::not_found(format!("there is no record {number} of {count}"));
    let record = served.lookup().record(number)?.ok_or_else(missing)?;
    Ok(NumberedRecord { number, count, fen: record.position().to_string() })
}

#[derive(Deserialize, Debug)]
pub(crate) struct GameQuery {
    source: Option<String>,
    #[serde(default)]
    id: String,
}

#[derive(Serialize)]
pub(crate) struct GameText {
    pgn: String,
}

pub(crate) fn game(explorer: &Explorer, query: &GameQuery) -> Result<GameText, Refusal> {
    let served = explorer.source(query.source.as_deref())?;
    let id: GameId = query.id.parse().map_err(|error| Refusal::bad_request(format!("{error}")))?;
    let game = served.kept_game(id)?;
    let game = game.ok_or_else(|| Refusal::not_found(format!("no game {id} is kept")))?;
    let mut text = Vec::new();
    pgn::format(&game, &PgnFormatOptions::default(), &mut text)
        .map_err(|error| Refusal::bad_request(error.to_string()))?;
    Ok(GameText { pgn: String::from_utf8_lossy(&text).into_owned() })
}

#[derive(Deserialize, Debug)]
pub(crate) struct LineQuery {
    #[serde(default)]
    text: String,
    fen: Option<String>,
    #[serde(default)]
    play: String,
}

/// The start of a line, and its moves in coordinates.
#[derive(Serialize)]
pub(crate) struct LineObject {
    start: String,
    play: Vec<String>,
}

pub(crate) fn line(query: &LineQuery) -> Result<LineObject, Refusal> {
    let before = ParsedLine::parse(query.fen.as_deref(), &query.play)?;
    let read = before.read_on(&query.text)?;
    let play = read.line().coordinates().iter().map(ToString::to_string).collect();
    Ok(LineObject { start: read.fens().swap_remove(0), play })
}

//! `/api/record`, `/api/game` and `/api/line`: a record by number, a stored game by id, typed moves as a
//! line.

use std::sync::Arc;

use axum::extract::State;
use serde::{Deserialize, Serialize};

use crate::answer::{Answer, Refusal, blocking, object};
use crate::app::App;
use crate::extract::Query;
use crate::line::ParsedLine;
use epdb_chess::model::GameId;
use epdb_chess::text::pgn::{self, PgnFormatOptions};
use epdb_source::Lookup;

#[derive(Deserialize, Debug)]
pub(super) struct RecordQuery {
    source: Option<String>,
    #[serde(default)]
    number: String,
}

/// A record with its number and the total.
#[derive(Serialize)]
struct NumberedRecord {
    number: u64,
    /// Number of records.
    count: u64,
    fen: String,
}

pub(super) async fn record(
    State(app): State<Arc<App>>,
    Query(query): Query<RecordQuery>,
) -> Answer {
    let served = app.source(query.source.as_deref())?;
    let number: u64 =
        query.number.parse().map_err(|_| Refusal::bad_request("number: a number is expected"))?;
    blocking(move || {
        let count = served.lookup().len();
        let missing = || Refusal::not_found(format!("there is no record {number} of {count}"));
        let record = served.lookup().record(number)?.ok_or_else(missing)?;
        Ok(object(&NumberedRecord { number, count, fen: record.position().to_string() }))
    })
    .await
}

#[derive(Deserialize, Debug)]
pub(super) struct GameQuery {
    source: Option<String>,
    #[serde(default)]
    id: String,
}

#[derive(Serialize)]
struct GameText {
    pgn: String,
}

pub(super) async fn game(State(app): State<Arc<App>>, Query(query): Query<GameQuery>) -> Answer {
    let served = app.source(query.source.as_deref())?;
    let id: GameId = query.id.parse().map_err(|error| Refusal::bad_request(format!("{error}")))?;
    blocking(move || {
        let game = served.kept_game(id)?;
        let game = game.ok_or_else(|| Refusal::not_found(format!("no game {id} is kept")))?;
        let mut text = Vec::new();
        pgn::format(&game, &PgnFormatOptions::default(), &mut text)
            .map_err(|error| Refusal::bad_request(error.to_string()))?;
        Ok(object(&GameText { pgn: String::from_utf8_lossy(&text).into_owned() }))
    })
    .await
}

#[derive(Deserialize, Debug)]
pub(super) struct LineQuery {
    #[serde(default)]
    text: String,
    fen: Option<String>,
    #[serde(default)]
    play: String,
}

/// The start of a line, and its moves in coordinates.
#[derive(Serialize)]
struct LineObject {
    start: String,
    play: Vec<String>,
}

pub(super) async fn line(Query(query): Query<LineQuery>) -> Answer {
    let before = ParsedLine::parse(query.fen.as_deref(), &query.play)?;
    let read = before.read_on(&query.text)?;
    let play = read.line().coordinates().iter().map(ToString::to_string).collect();
    Ok(object(&LineObject { start: read.fens().swap_remove(0), play }))
}

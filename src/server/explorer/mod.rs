//! The API of the opening explorer of lichess.org, for programs that can use another server.
//!
//! `/masters`, `/lichess` and `/player` return the moves played in a position, `/masters/pgn/{id}`
//! a game. `/master`, `/master/pgn/{id}`, `/personal` and `/lichess/history` are older names. A
//! query has
//! - `fen`: the start of the line, with blanks or underscores, by default the start array. `play`:
//!   moves from there in coordinates, separated by commas, with castling in either notation;
//! - `variant`: `standard`, `chess`, `chess960` or `fromPosition`; others are refused;
//! - `moves`: the maximum number of moves, by default 12;
//! - `topGames`, `recentGames`: the maximum numbers of games to list. Their limits, which are also
//!   the defaults, are 15 top games on `/masters`, and 4 top games and 8 recent games elsewhere;
//! - `since`, `until`: a year, or a month such as `2020-05`. Programs send `1952` and `3000` if
//!   nothing is selected, so these bounds are ignored;
//! - `speeds`, `ratings` (not on `/masters`), `modes` (on `/player`): words separated by commas;
//! - `history` (on `/lichess`): also the games by month, if the library is split by month;
//! - `player`, `color` (on `/player`): select the library that was tallied for this player with
//!   this colour;
//! - `source`: the name of a library.
//!
//! Empty and unknown parameters are ignored, and so is an access token. The answer is
//! [`PositionObject`](epdb_library::explore::object::PositionObject) with lists of games. If the library is
//! not split by a filter, the filter is not applied, and the header `X-Epdb-Not-Split` names it. With
//! `strict`, the request is refused. Errors are plain text with the status 400, or 404 if a library or a game
//! does not exist. The opening name of a position is the last name on its line.

mod answer;
mod object;
mod player;
mod query;

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;
use axum::routing::get;

use self::answer::{ExplorerAnswer, answer_query};
use self::query::{ExplorerQuery, ParsedQuery};
use super::answer::{Answer, Refusal, blocking, object};
use super::app::App;
use super::extract::{Path, Query};
use super::sources::Served;
use epdb_chess::error::Error;
use epdb_chess::model::GameId;
use epdb_chess::text::pgn::{self, PgnFormatOptions};

/// The routes of the API.
pub(super) fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/masters", get(masters))
        .route("/master", get(masters))
        .route("/masters/pgn/{id}", get(game))
        .route("/master/pgn/{id}", get(game))
        .route("/lichess", get(lichess))
        .route("/lichess/history", get(lichess_history))
        .route("/player", get(player))
        .route("/personal", get(player))
}

async fn masters(State(app): State<Arc<App>>, Query(query): Query<ExplorerQuery>) -> Answer {
    let question = ParsedQuery::for_masters(&query)?;
    let served = named(&app, &query, "masters")?;
    let answered = answer(app, served, question).await?;
    Ok(answered.named_in(object(&answered.object)))
}

async fn lichess(State(app): State<Arc<App>>, Query(query): Query<ExplorerQuery>) -> Answer {
    let question = ParsedQuery::for_lichess(&query)?;
    let served = named(&app, &query, "lichess")?;
    let answered = answer(app, served, question).await?;
    Ok(answered.named_in(object(&answered.object)))
}

async fn lichess_history(app: State<Arc<App>>, Query(query): Query<ExplorerQuery>) -> Answer {
    lichess(app, Query(query.only_history())).await
}

/// Answers with one line of JSON. lichess.org sends several lines while it still counts games.
async fn player(State(app): State<Arc<App>>, Query(query): Query<ExplorerQuery>) -> Answer {
    let question = ParsedQuery::for_player(&query)?;
    let served = player::library(&app, &query)?;
    let mut answered = answer(app, served, question).await?;
    answered.object.queue_position = Some(0);
    let line = serde_json::to_string(&answered.object).map_err(Error::from_cause)? + "\n";
    Ok(answered.named_in(([(header::CONTENT_TYPE, "application/x-ndjson")], line)))
}

/// Answers a query. Without an index the whole library may be read, and another machine may let the
/// lookup wait.
async fn answer(
    app: Arc<App>,
    served: Arc<Served>,
    question: ParsedQuery,
) -> Result<ExplorerAnswer, Refusal> {
    let is_short = served.lookup().has_index() && !served.lookup().is_remote();
    let own = Arc::clone(&app);
    let lookup = move || answer_query(&own, &served, &question);
    if is_short { app.short_lookups.run(lookup).await } else { blocking(lookup).await }
}

/// The game with this id in the named source. If no source is named, all sources are searched, the
/// source for `/masters` first.
async fn game(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    Query(query): Query<ExplorerQuery>,
) -> Answer {
    blocking(move || {
        let missing = || Refusal::not_found(format!("no game {id}"));
        let parsed: GameId = id.parse().map_err(|_| missing())?;
        let mut sources = vec![named(&app, &query, "masters")?];
        if query.source(&app).is_none() {
            sources.extend(app.sources.all());
        }
        for served in sources {
            if let Some(game) = served.kept_game(parsed)? {
                let mut text = Vec::new();
                pgn::format(&game, &PgnFormatOptions::default(), &mut text)
                    .map_err(|error| Refusal::not_found(error.to_string()))?;
                return Ok(
                    ([(header::CONTENT_TYPE, "application/x-chess-pgn")], text).into_response()
                );
            }
        }
        Err(missing())
    })
    .await
}

/// The source that the query names, else the source called `name`, else the first source.
fn named(app: &App, query: &ExplorerQuery, name: &str) -> Result<Arc<Served>, Refusal> {
    match query.source(app) {
        Some(named) => app.source(Some(named)),
        None => app.sources.get(name).map_or_else(|| app.source(None), Ok),
    }
}

//! The questions of the explorer: the server's own API, and that of lichess.org.

use std::sync::Arc;

use axum::Router;
use axum::extract::{RawQuery, State};
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use super::answer::{Answer, blocking};
use super::app::App;
use super::extract::Path;
use epdb_explorer::{self as explorer, Question};

/// The header with the filters that were not applied because the library is not split by them.
pub(super) const NOT_SPLIT: HeaderName = HeaderName::from_static("x-epdb-not-split");
/// The header which warns that a position has more records than were read.
const RECORDS_CUT: HeaderName = HeaderName::from_static("x-epdb-records-cut");

pub(super) fn routes() -> Router<Arc<App>> {
    let ask = |question| {
        get(async move |State(app): State<Arc<App>>, RawQuery(query): RawQuery| {
            answer(app, question, query.unwrap_or_default()).await
        })
    };
    Router::new()
        .route("/api/sources", ask(Question::Sources))
        .route("/api/position", ask(Question::Position))
        .route("/api/games", ask(Question::Games))
        .route("/api/line", ask(Question::Line))
        .route("/api/record", ask(Question::Record))
        .route("/api/game", ask(Question::Game))
        .route("/api/search", ask(Question::Search))
        .route("/masters", ask(Question::Masters))
        .route("/master", ask(Question::Masters))
        .route("/masters/pgn/{id}", get(game))
        .route("/master/pgn/{id}", get(game))
        .route("/lichess", ask(Question::Lichess))
        .route("/lichess/history", ask(Question::History))
        .route("/player", ask(Question::Player))
        .route("/personal", ask(Question::Player))
}

/// Answers a question. Without an index the whole library may be read, and another machine may let the
/// lookup wait.
async fn answer(app: Arc<App>, question: Question, query: String) -> Answer {
    let explorer = app.explorer();
    let is_short = question.is_quick(&explorer, &query);
    let lookup = move || Ok(question.answer(&explorer, &query)?);
    let answered =
        if is_short { app.short_lookups.run(lookup).await } else { blocking(lookup).await };
    Ok(response(question, answered?))
}

/// The answer with headers that name the parts of the query that were not applied.
fn response(question: Question, answered: explorer::Answer) -> Response {
    let explorer::Answer { mut json, not_split, cut_after } = answered;
    let mut media_type = "application/json";
    // lichess.org sends several lines while it still counts the games of a player.
    if question == Question::Player {
        json.push('\n');
        media_type = "application/x-ndjson";
    }
    let mut response = ([(header::CONTENT_TYPE, media_type)], json).into_response();
    if !not_split.is_empty()
        && let Ok(value) = HeaderValue::from_str(&not_split.join(", "))
    {
        response.headers_mut().insert(NOT_SPLIT, value);
    }
    if let Some(records) = cut_after {
        response.headers_mut().insert(RECORDS_CUT, records.into());
    }
    response
}

async fn game(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
) -> Answer {
    let explorer = app.explorer();
    let find = move || Ok(explorer.pgn_of_game(&id, &query.unwrap_or_default())?);
    let text = blocking(find).await?;
    Ok(([(header::CONTENT_TYPE, "application/x-chess-pgn")], text).into_response())
}

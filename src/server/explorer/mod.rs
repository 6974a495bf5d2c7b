//! The dialect of the opening explorer of lichess.org, for programs that are pointed at another server.
//!
//! `/masters`, `/lichess` and `/player` tell what was played in a position, `/masters/pgn/{id}` gives a game;
//! `/master`, `/master/pgn/{id}`, `/personal` and `/lichess/history` are older names. A query is
//! - `fen`: where the line begins, with blanks or underscores; the start array where there is none. `play`:
//!   moves from there in coordinates with commas between, castling in either form;
//! - `variant`: `standard`, `chess`, `chess960` or `fromPosition`; others are refused;
//! - `moves`: at most so many, 12 where it is not said;
//! - `topGames`, `recentGames`: at most so many of the games that the library keeps: 15 on `/masters`, which
//!   lists the best only, and else 4 and 8;
//! - `since`, `until`: a year, or a month such as `2020-05`. `1952` and `3000`, the bounds that programs send
//!   where nothing is chosen, are none;
//! - `speeds`, `ratings` (not on `/masters`), `modes` (on `/player`): words with commas between;
//! - `history` (on `/lichess`): also the games by month, where the library tells months apart;
//! - `player`, `color` (on `/player`): the library that was tallied for them answers;
//! - `source`: the library by its name.
//!
//! What is empty is not said, and what else is there does not matter; nor does a token. The answer is
//! [`PositionObject`](crate::library::explore::object::PositionObject) with lists of games. What a library cannot
//! split by is not applied, and named in the header `X-Epdb-Not-Split`; with `strict` it is refused. Errors are
//! plain text with the status 400, or 404 where a library or a game is not there. A position has the name of the
//! last one on the line that has one.

mod asked;
mod object;
mod player;
mod tell;

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;
use axum::routing::get;

use self::asked::{Asked, Question};
use self::tell::tell;
use super::answer::{Answer, Refusal, blocking, object};
use super::app::App;
use super::extract::{Path, Query};
use super::sources::Served;
use crate::error::Error;
use crate::model::GameId;
use crate::text::pgn::{self, PgnFormatOptions};

/// Its paths.
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

async fn masters(State(app): State<Arc<App>>, Query(asked): Query<Asked>) -> Answer {
    let answer = blocking(move || {
        let question = Question::of_masters(&asked)?;
        tell(&app, &*named(&app, &asked, "masters")?, &question)
    });
    let told = answer.await?;
    Ok(told.named_in(object(&told.object)))
}

async fn lichess(State(app): State<Arc<App>>, Query(asked): Query<Asked>) -> Answer {
    let answer = blocking(move || {
        let question = Question::of_lichess(&asked)?;
        tell(&app, &*named(&app, &asked, "lichess")?, &question)
    });
    let told = answer.await?;
    Ok(told.named_in(object(&told.object)))
}

async fn lichess_history(app: State<Arc<App>>, Query(asked): Query<Asked>) -> Answer {
    lichess(app, Query(asked.only_history())).await
}

/// A line of JSON: lichess.org sends more of them while it still counts games.
async fn player(State(app): State<Arc<App>>, Query(asked): Query<Asked>) -> Answer {
    let answer = blocking(move || {
        let question = Question::of_player(&asked)?;
        tell(&app, &*player::library(&app, &asked)?, &question)
    });
    let mut told = answer.await?;
    told.object.queue_position = Some(0);
    let line = serde_json::to_string(&told.object).map_err(Error::from_cause)? + "\n";
    Ok(told.named_in(([(header::CONTENT_TYPE, "application/x-ndjson")], line)))
}

/// The game of an id: of a source that is named, else of any, and first of the one that answers `/masters`.
async fn game(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    Query(asked): Query<Asked>,
) -> Answer {
    blocking(move || {
        let missing = || Refusal::not_found(format!("no game {id}"));
        let parsed: GameId = id.parse().map_err(|_| missing())?;
        let mut sources = vec![named(&app, &asked, "masters")?];
        if asked.source(&app).is_none() {
            sources.extend(app.sources.all());
        }
        for served in sources {
            if let Some(game) = served.kept_game(parsed)? {
                let mut text = Vec::new();
                pgn::format(&game, &PgnFormatOptions::new(), &mut text)
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

/// The source that is named, else the one of this name, else the first.
fn named(app: &App, asked: &Asked, name: &str) -> Result<Arc<Served>, Refusal> {
    match asked.source(app) {
        Some(named) => app.source(Some(named)),
        None => app.sources.get(name).map_or_else(|| app.source(None), Ok),
    }
}

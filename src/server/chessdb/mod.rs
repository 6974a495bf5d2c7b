//! The dialect of chessdb.cn: `/cdb.php?action=...&board=FEN`, plain text, or JSON with `json=1`.
//!
//! A move is worth what `ce` says of the position that it leads to; where no record has that position and the
//! record of the position itself names the move (`pm`, `pv`), what its own `ce` says. Scores are the mover's, in
//! centipawns up to 9999, and 30000 less the plies to a mate.
//! - `queryall`: the moves that have a score, the best first, each with a rank (2 best, 1 good, 0 other) and how
//!   many scored and good replies it leaves; with `showall=1` also those that have none;
//! - `querybest`, `query`, `querylearn`: the best of them, and without scores the move that the record names;
//! - `querysearch`: those of rank 1 and 2;
//! - `queryscore`: the score of the position, its own or that of its best move;
//! - `querypv`: a line of best moves, and what the record at its end goes on with.
//!
//! Castling is `e1g1` where king and rooks with rights stand as in the start array, else the king takes its
//! rook. Nothing is stored or queued: `store` is refused as chessdb refuses strangers, and `queue` says `ok` of a
//! position that has scores, and nothing (`{}`) of others, where clients would ask for ever. Whether it learns is not asked, and there are no limits of rate. `source` names
//! another library than the first.

mod known;
mod line;
mod rank;
mod reply;

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde::Deserialize;

use self::known::Known;
use self::reply::Reply;
use super::answer::{Answer, Refusal, blocking, object};
use super::app::App;
use super::extract::Query;
use super::line::AskedLine;
use super::sources::Served;
use crate::model::rules::Playable;

/// Its path.
pub(super) fn routes() -> Router<Arc<App>> {
    Router::new().route("/cdb.php", get(query))
}

/// The words of a query; others do not matter.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Asked {
    action: String,
    board: String,
    json: String,
    showall: String,
    source: Option<String>,
}

async fn query(State(app): State<Arc<App>>, Query(asked): Query<Asked>) -> Answer {
    blocking(move || {
        let is_json = is_true(&asked.json);
        if asked.action.is_empty() {
            return Ok(().into_response());
        }
        if asked.board.is_empty() {
            return Ok(rendered(&Reply::word("invalid parameters"), is_json, ""));
        }
        let reply = match board(&asked.board) {
            None => Reply::word("invalid board"),
            Some(playable) => reply(&*app.source(asked.source.as_deref())?, &playable, &asked)?,
        };
        Ok(rendered(&reply, is_json, "\0"))
    })
    .await
}

/// What is answered to a question about a position.
fn reply(served: &Served, playable: &Playable, asked: &Asked) -> Result<Reply, Refusal> {
    let known = || Known::of(served, playable);
    Ok(match &*asked.action {
        "queryall" => rank::all(served, &known()?, is_true(&asked.showall))?,
        "querybest" | "query" | "querylearn" => rank::best(&known()?),
        "querysearch" => rank::good(&known()?),
        "queryscore" => known()?.score_reply(),
        "querypv" => line::best(served, known()?)?,
        "queue" => known()?.queue_reply(),
        "store" => Reply::word("tokenerror"),
        "queryengine" => Reply::word("invalid parameters"),
        _ => Reply::default(),
    })
}

/// A position that can be asked for.
fn board(text: &str) -> Option<Playable> {
    AskedLine::parse(Some(text), "").ok()?.playable().ok()
}

/// What PHP takes for true.
fn is_true(text: &str) -> bool {
    ["1", "true", "on", "yes"].contains(&&*text.trim().to_ascii_lowercase())
}

/// A reply as text, which ends with a zero byte where a board was given, or as JSON.
fn rendered(reply: &Reply, is_json: bool, end: &str) -> Response {
    if is_json {
        return object(reply);
    }
    let plain = [(header::CONTENT_TYPE, "text/plain; charset=utf-8")];
    (plain, format!("{reply}{end}")).into_response()
}

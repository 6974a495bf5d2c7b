//! The dialect of chessdb.cn: `/cdb.php?action=...&board=FEN`, plain text, or JSON with `json=1`.
//!
//! The score of a move is the `ce` of the position after it. If no record has that position, but the record
//! before the move has the move in `pv`, `pm` or `bm`, the `ce` of the record before the move counts. Scores
//! are from the mover's view. They are centipawns up to 9999, or for a mate 30000 minus the number of plies
//! to the mate. The actions are
//! - `queryall`: moves with a score, best first, each with a rank (2 best, 1 good, 0 other) and the
//!   number of scored and of good replies; with `showall=1` also moves without a score;
//! - `querybest`, `query`, `querylearn`: the best move; without scores, the move that the record
//!   names;
//! - `querysearch`: the moves of rank 1 and 2;
//! - `queryscore`: the score of the position: its own score, or the score of its best move;
//! - `querypv`: the line of best moves, continued by the record at its end.
//!
//! Castling is `e1g1` if king and rooks with rights are on the squares of the start array;
//! otherwise the king takes its rook. Nothing is stored or queued. `store` is refused with the
//! error that chessdb sends to strangers. `queue` answers `ok` for a position with at least five
//! scored moves, and nothing (`{}`) for others: because nothing is queued, an `ok` would make
//! clients repeat their requests for ever. The parameter `learn` is ignored, and there are no rate
//! limits. `source` names a library; the default is the first one.

mod known;
mod rank;
mod reply;

use std::collections::HashSet;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde::Deserialize;

use self::known::{Known, named};
use self::reply::{LineReply, Named, Reply};
use super::answer::{Answer, Refusal, blocking, object};
use super::app::App;
use super::extract::Query;
use epdb_chess::model::rules::{Move, Playable};
use epdb_explorer::{ParsedLine, Served};

pub(super) fn routes() -> Router<Arc<App>> {
    Router::new().route("/cdb.php", get(query))
}

/// The query parameters; all other parameters are ignored.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct CdbQuery {
    action: String,
    board: String,
    json: String,
    showall: String,
    source: Option<String>,
}

async fn query(State(app): State<Arc<App>>, Query(asked): Query<CdbQuery>) -> Answer {
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

/// The answer to a query about a position.
fn reply(served: &Served, playable: &Playable, asked: &CdbQuery) -> Result<Reply, Refusal> {
    let known = || Known::look_up(served, playable);
    Ok(match &*asked.action {
        "queryall" => rank::all(served, &known()?, is_true(&asked.showall))?,
        "querybest" | "query" | "querylearn" => rank::best(&known()?),
        "querysearch" => rank::good(&known()?),
        "queryscore" => known()?.score_reply(),
        "querypv" => best_line(served, known()?)?,
        "queue" => known()?.queue_reply(),
        "store" => Reply::word("tokenerror"),
        "queryengine" => Reply::word("invalid parameters"),
        _ => Reply::default(),
    })
}

/// A position with legal moves.
fn board(text: &str) -> Option<Playable> {
    ParsedLine::parse(Some(text), "").ok()?.playable().ok()
}

/// Whether a value is true as PHP defines truth.
fn is_true(text: &str) -> bool {
    ["1", "true", "on", "yes"].contains(&&*text.trim().to_ascii_lowercase())
}

/// A reply as text, with a final zero byte if a board was sent, or as JSON.
fn rendered(reply: &Reply, is_json: bool, end: &str) -> Response {
    if is_json {
        return object(reply);
    }
    let plain = [(header::CONTENT_TYPE, "text/plain; charset=utf-8")];
    (plain, format!("{reply}{end}")).into_response()
}

/// Maximum number of moves of a line.
const LONGEST: usize = 200;

/// The line of best moves from a position, up to a repetition. If there are no further scores, the
/// line continues with the moves of the last record.
fn best_line(served: &Served, mut known: Known) -> Result<Reply, Refusal> {
    let score = known.moves.first().map(|first| first.score);
    let Some(score) = score else { return Ok(known.nothing()) };
    let mut line = Vec::new();
    let mut seen = HashSet::from([known.playable.position().identity()]);
    while line.len() < LONGEST {
        let Some(first) = known.moves.first().filter(|first| first.is_of_child) else {
            add_told(&mut line, known.playable, &known.line);
            break;
        };
        line.push(first.named.clone());
        let is_new = seen.insert(first.after.identity());
        let Ok(playable) = Playable::new(&first.after) else { break };
        if !is_new {
            break;
        }
        known = Known::look_up(served, &playable)?;
    }
    let (pv, pv_san) =
        line.into_iter().map(|Named { uci, san }| (uci, san)).unzip::<_, _, Vec<_>, Vec<_>>();
    let line = Some(LineReply { score, depth: pv.len(), pv, pv_san });
    Ok(Reply { line, ..Reply::word("ok") })
}

/// Adds the moves that a record continues with, as far as they are legal.
fn add_told(line: &mut Vec<Named>, mut playable: Playable, told: &[Move]) {
    for &mv in told.iter().take(LONGEST - line.len()) {
        if !playable.is_legal(mv) {
            break;
        }
        line.push(named(&playable, mv));
        playable = playable.after(mv);
    }
}

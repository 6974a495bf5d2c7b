//! `/api/game`: a game that positions list.

use std::sync::Arc;

use axum::extract::State;
use serde::{Deserialize, Serialize};

use crate::model::GameId;
use crate::server::answer::{Answer, Refusal, blocking, object};
use crate::server::app::App;
use crate::server::extract::Query;
use crate::text::pgn::{self, PgnFormatOptions};

#[derive(Deserialize, Debug)]
pub(super) struct Asked {
    source: Option<String>,
    #[serde(default)]
    id: String,
}

#[derive(Serialize)]
struct GameText {
    pgn: String,
}

pub(super) async fn game(State(app): State<Arc<App>>, Query(asked): Query<Asked>) -> Answer {
    let served = app.source(asked.source.as_deref())?;
    let id: GameId = asked.id.parse().map_err(|error| Refusal::bad_request(format!("{error}")))?;
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

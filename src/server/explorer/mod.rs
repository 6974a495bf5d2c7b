//! The dialect of the opening explorer of lichess.org.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Query, State};
use axum::routing::get;
use serde::Deserialize;

use super::answer::{Answer, Refusal, blocking, object};
use super::app::App;
use crate::error::Error;
use crate::library::explore::object::{PositionObject, Shown};
use crate::library::explore::{ExploreOptions, explore};
use crate::model::Position;
use crate::text::{ParseOptions, PositionLine, Profile};

/// Its paths.
pub(super) fn routes() -> Router<Arc<App>> {
    Router::new().route("/masters", get(masters))
}

#[derive(Deserialize, Debug)]
struct Asked {
    fen: Option<String>,
    #[serde(default)]
    play: String,
}

async fn masters(State(app): State<Arc<App>>, Query(asked): Query<Asked>) -> Answer {
    blocking(move || {
        let served =
            app.source(app.sources.get("masters").map(|it| it.name().to_string()).as_deref())?;
        let start = asked.fen.unwrap_or_else(|| Position::START.to_string());
        let text = format!("{start} moves {}", asked.play.replace(',', " "));
        let line = PositionLine::parse(text.as_bytes(), &ParseOptions::new(Profile::Lenient))
            .map_err(|error| Refusal::bad_request(error.to_string()))?
            .ok_or_else(|| Refusal::bad_request("no position"))?;
        let mut ask = |queries: &[_]| served.records(queries);
        let explored = explore::<Error>(line.end(), 1, &ExploreOptions::new(), &mut ask)?;
        Ok(object(&PositionObject::new(&Shown::new(&explored, &app.names))))
    })
    .await
}

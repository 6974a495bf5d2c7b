//! The server's own API, for everything that the other APIs cannot express.

mod batch;
mod position;
mod record;
mod sources;

use std::sync::Arc;

use axum::Router;
use axum::http::header;
use axum::response::IntoResponse;
use axum::routing::{get, post};

use super::app::App;

/// The routes of the API.
pub(super) fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/api/sources", get(sources::sources))
        .route("/api/position", get(position::position))
        .route("/api/line", get(record::line))
        .route("/api/record", get(record::record))
        .route("/api/game", get(record::game))
        .route("/api/batch", post(batch::batch))
        .route("/api/openapi.json", get(openapi))
}

/// The OpenAPI document.
async fn openapi() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/json")], include_str!("openapi.json"))
}

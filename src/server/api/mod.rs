//! The server's own API, for everything that the other APIs cannot express.

mod batch;

use std::sync::Arc;

use axum::Router;
use axum::http::header;
use axum::response::IntoResponse;
use axum::routing::{get, post};

use super::app::App;

pub(super) fn routes() -> Router<Arc<App>> {
    Router::new().route("/api/batch", post(batch::batch)).route("/api/openapi.json", get(openapi))
}

async fn openapi() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/json")], include_str!("openapi.json"))
}

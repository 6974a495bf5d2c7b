//! What those who run the server ask: whether it is well, and what it did.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;
use axum::routing::get;

use super::app::App;

/// What Prometheus expects.
const METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Its paths.
pub(super) fn routes() -> Router<Arc<App>> {
    Router::new().route("/healthz", get(async || "ok\n")).route("/metrics", get(metrics))
}

async fn metrics(State(app): State<Arc<App>>) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, METRICS)], app.metrics.text(&app.sources.all()))
}

//! The server's own paths: what no other dialect says.

use std::sync::Arc;

use axum::Router;
use axum::routing::get;

use super::app::App;

/// Its paths.
pub(super) fn routes() -> Router<Arc<App>> {
    Router::new().route("/healthz", get(async || "ok\n"))
}

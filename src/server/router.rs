//! Which path leads where.

use std::sync::Arc;

use axum::routing::get;
use axum::{Router, middleware};

use super::app::App;
use super::{api, chessdb, explorer, keep};

/// All paths.
pub(super) fn router(app: Arc<App>) -> Router {
    let questions =
        Router::new().merge(explorer::routes()).merge(chessdb::routes()).merge(api::routes());
    let keep = middleware::from_fn_with_state(Arc::clone(&app), keep::keep);
    let routes = questions.layer(keep).route("/healthz", get(async || "ok\n"));
    match app.settings.base_path.trim_end_matches('/') {
        "" => routes.with_state(app),
        base => Router::new().nest(base, routes).with_state(app),
    }
}

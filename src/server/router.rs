//! Which path leads where.

use std::sync::Arc;

use axum::Router;

use super::app::App;
use super::{api, explorer};

/// All paths.
pub(super) fn router(app: Arc<App>) -> Router {
    let routes = Router::new().merge(explorer::routes()).merge(api::routes());
    match app.settings.base_path.trim_end_matches('/') {
        "" => routes.with_state(app),
        base => Router::new().nest(base, routes).with_state(app),
    }
}

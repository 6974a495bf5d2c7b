//! Which path leads where, and what all answers go through.

use std::any::Any;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Response};
use tower::util::option_layer;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::SizeAbove;

use super::answer::Refusal;
use super::app::App;
use super::guard::{Guard, guard, no_method, no_path};
use super::observe::observe;
use super::{api, chessdb, cors, explorer, health, keep, page};
use crate::error::panic_text;

/// Bodies of fewer bytes go as they are.
const COMPRESSED_FROM: u64 = 1024;

/// All paths, for a server at an address.
pub(super) fn router(app: Arc<App>, listen: SocketAddr) -> Router {
    let questions =
        Router::new().merge(explorer::routes()).merge(chessdb::routes()).merge(api::routes());
    let keep = from_fn_with_state(Arc::clone(&app), keep::keep);
    let routes = questions.layer(keep).merge(health::routes()).merge(page::routes());
    let settings = &app.settings;
    let routes = settings.base_path.before(routes);
    let routes = routes.method_not_allowed_fallback(no_method).fallback(no_path);
    let guarded = Arc::new(Guard::new(settings, listen));
    // A stream of lines is flushed when no more of them are there.
    let large = SizeAbove::new(COMPRESSED_FROM);
    let cors = (!settings.cors.is_empty()).then(|| cors::layer(&settings.cors));
    // The last one meets the request first.
    routes
        .with_state(Arc::clone(&app))
        .layer(CompressionLayer::new().gzip(true).zstd(true).compress_when(large))
        .layer(option_layer(cors))
        .layer(from_fn_with_state(guarded, guard))
        .layer(CatchPanicLayer::custom(failed))
        .layer(from_fn_with_state(app, observe))
}

/// The answer where there should have been one.
fn failed(panic: Box<dyn Any + Send>) -> Response {
    Refusal::failed(panic_text(&*panic)).into_response()
}

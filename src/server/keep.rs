//! Questions that were answered already are not asked again.

use std::sync::Arc;

use axum::body::{Body, HttpBody};
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http_body_util::BodyExt;

use super::app::App;
use super::cache::{Kept, Question};

/// Longer answers are not kept.
const LONGEST: u64 = 256 << 10;

/// Gives an answer that was given before, or has it made and keeps it.
pub(super) async fn keep(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    if request.method() != Method::GET {
        return next.run(request).await;
    }
    // Before the answer is made: what changes meanwhile makes another question of it.
    let uri = request.uri().path_and_query().map_or("/", |uri| uri.as_str());
    let question = Question { changes: app.sources.changes(), uri: uri.into() };
    if let Some(Kept { headers, body }) = app.answers.get(&question) {
        return (headers, body).into_response();
    }
    let (parts, body) = next.run(request).await.into_parts();
    let is_short = body.size_hint().upper().is_some_and(|len| len <= LONGEST);
    if parts.status != StatusCode::OK || !is_short {
        return Response::from_parts(parts, body);
    }
    match body.collect().await {
        Ok(body) => {
            let body = body.to_bytes();
            let kept = Kept { headers: parts.headers.clone(), body: body.clone() };
            app.answers.insert(question, kept);
            Response::from_parts(parts, Body::from(body))
        }
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

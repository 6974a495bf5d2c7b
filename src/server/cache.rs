//! Answers, cached until the sources change.

use std::sync::Arc;

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http_body_util::BodyExt;
use quick_cache::Weighter;
use quick_cache::sync::Cache;

use super::app::App;

/// About what an answer takes beside its bytes.
const OVERHEAD: u64 = 512;

/// Answers by question.
pub(super) type Answers = Cache<Question, Kept, Weight>;

/// A path with what is behind it, and how many times that what is served had changed when it was asked.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Question {
    pub(super) changes: u64,
    pub(super) uri: Box<str>,
}

/// An answer.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

/// What an answer takes, in bytes.
#[derive(Clone, Debug)]
pub(super) struct Weight;

impl Weighter<Question, Kept> for Weight {
    fn weight(&self, question: &Question, kept: &Kept) -> u64 {
        OVERHEAD + (question.uri.len() + kept.body.len()) as u64
    }
}

/// Room for answers of so many bytes together.
pub(super) fn answers(bytes: usize) -> Answers {
    let answers = bytes / (OVERHEAD as usize + 4096);
    Cache::with_weighter(answers, bytes as u64, Weight)
}

/// Longer answers are not kept.
const LONGEST: u64 = 256 << 10;

/// Gives an answer that was given before, or has it made and keeps it.
pub(super) async fn cache_answers(
    State(app): State<Arc<App>>,
    request: Request,
    next: Next,
) -> Response {
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

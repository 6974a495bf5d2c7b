//! The state that all requests share, and the cache of answers.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http_body_util::BodyExt;
use quick_cache::Weighter;
use quick_cache::sync::Cache;

use super::answer::{Refusal, ShortLookups};
use super::metrics::Metrics;
use super::settings::{ServerSettings, SourceSpec};
use super::sources::Sources;
use epdb_chess::error::Result;
use epdb_explorer::{Explorer, Served};
use epdb_library::names::Names;

/// The cache of answers gets the memory divided by this number.
const ANSWERS_OF_MEMORY: usize = 8;

/// The state that all requests share.
#[derive(Debug)]
pub(super) struct App {
    pub(super) settings: ServerSettings,
    /// The folder of the site that is served instead of libraries.
    pub(super) site: Option<PathBuf>,
    pub(super) sources: Arc<Sources>,
    names: Arc<Names>,
    pub(super) answers: Answers,
    pub(super) metrics: Metrics,
    pub(super) short_lookups: ShortLookups,
}

impl App {
    /// Reads the names of openings and opens all sources, for a runtime with this number of
    /// threads. `begins` is called before each source.
    pub(super) fn open(
        settings: ServerSettings,
        threads: usize,
        begins: &dyn Fn(&SourceSpec),
    ) -> Result<App> {
        let names = Names::from_files(&settings.openings)?;
        for (place, found) in names.warnings() {
            tracing::warn!("{}:{}:{found}", place.source, place.number());
        }
        let sources = Sources::open(&settings.sources, settings.memory_bytes, begins)?;
        let answers = answers(settings.memory_bytes / ANSWERS_OF_MEMORY);
        let names = Arc::new(names);
        let metrics = Metrics::new();
        let short_lookups = ShortLookups::new(threads);
        let site = settings.site().map(Path::to_path_buf);
        Ok(App { settings, site, sources, names, answers, metrics, short_lookups })
    }

    /// The sources in their current state.
    pub(super) fn explorer(&self) -> Explorer {
        let (changes, sources) = self.sources.current();
        let names = Arc::clone(&self.names);
        Explorer { sources, changes, names, strict: self.settings.strict }
    }

    /// The source with this name, or the first source if no name is given.
    pub(super) fn source(&self, name: Option<&str>) -> Result<Arc<Served>, Refusal> {
        Ok(Arc::clone(self.explorer().source(name)?))
    }
}

/// Approximate size of a cached answer without its body, in bytes.
const OVERHEAD: u64 = 512;

pub(super) type Answers = Cache<CacheKey, CachedAnswer, AnswerWeighter>;

/// The key of a cached answer: path, query, and version of the served data.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct CacheKey {
    pub(super) changes: u64,
    pub(super) uri: Box<str>,
}

#[derive(Clone, Debug)]
pub(super) struct CachedAnswer {
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

/// Size of an answer, in bytes.
#[derive(Clone, Debug)]
pub(super) struct AnswerWeighter;

impl Weighter<CacheKey, CachedAnswer> for AnswerWeighter {
    fn weight(&self, question: &CacheKey, kept: &CachedAnswer) -> u64 {
        OVERHEAD + (question.uri.len() + kept.body.len()) as u64
    }
}

pub(super) fn answers(bytes: usize) -> Answers {
    let answers = bytes / (OVERHEAD as usize + 4096);
    Cache::with_weighter(answers, bytes as u64, AnswerWeighter)
}

/// Maximum length of a cached answer.
const LONGEST: u64 = 256 << 10;

/// Returns a cached answer, or computes the answer and caches it.
pub(super) async fn cache_answers(
    State(app): State<Arc<App>>,
    request: Request,
    next: Next,
) -> Response {
    if request.method() != Method::GET {
        return next.run(request).await;
    }
    // The version is read before the answer is made, so a change meanwhile gives another key.
    let uri = request.uri().path_and_query().map_or("/", |uri| uri.as_str());
    let question = CacheKey { changes: app.sources.changes(), uri: uri.into() };
    if let Some(CachedAnswer { headers, body }) = app.answers.get(&question) {
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
            let kept = CachedAnswer { headers: parts.headers.clone(), body: body.clone() };
            app.answers.insert(question, kept);
            Response::from_parts(parts, Body::from(body))
        }
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

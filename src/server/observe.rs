//! Counts and logs each answer at its end.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use axum::body::{Body, Bytes};
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::Response;
use hyper::body::{Body as _, Frame, SizeHint};
use tracing::Level;

use super::app::App;
use super::waiting;

/// Default headers of all answers.
const HEADERS: [(header::HeaderName, HeaderValue); 4] = [
    (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    (header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
    (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    (
        header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'"),
    ),
];

/// Counts and logs a request and its answer.
pub(super) async fn observe(
    State(app): State<Arc<App>>,
    mut request: Request,
    next: Next,
) -> Response {
    let route = request.extensions().get::<MatchedPath>().map(MatchedPath::as_str);
    let route = Arc::from(route.unwrap_or("none"));
    let active = ActiveRequest {
        begun: Instant::now(),
        route,
        line: tracing::enabled!(Level::DEBUG)
            .then(|| format!("{} {}", request.method(), request.uri())),
        _connection: request.extensions_mut().remove(),
    };
    let is_head = request.method() == Method::HEAD;
    let mut response = next.run(request).await;
    // A site is shown as other hosts show it.
    if app.site.is_none() {
        for (name, value) in HEADERS {
            response.headers_mut().entry(name).or_insert(value);
        }
    }
    let status = response.status().as_u16();
    response
        .map(|body| Body::new(Observed { body, bytes: 0, is_whole: is_head, status, active, app }))
}

struct ActiveRequest {
    begun: Instant,
    route: Arc<str>,
    /// Method and target, if they are logged.
    line: Option<String>,
    /// The connection is not idle while this exists.
    _connection: Option<Arc<waiting::ActiveRequest>>,
}

/// The body of an answer. When it is dropped, the answer is counted and logged.
struct Observed {
    body: Body,
    bytes: u64,
    /// True if the whole body was sent.
    is_whole: bool,
    status: u16,
    active: ActiveRequest,
    app: Arc<App>,
}

impl hyper::body::Body for Observed {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(cx);
        match &frame {
            Poll::Ready(Some(Ok(frame))) => {
                self.bytes += frame.data_ref().map_or(0, Bytes::len) as u64;
            }
            Poll::Ready(None) => self.is_whole = true,
            _ => {}
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Observed {
    fn drop(&mut self) {
        let Observed { body, bytes, is_whole, status, active, app } = self;
        let ActiveRequest { begun, route, line, .. } = active;
        let time = begun.elapsed();
        let is_whole = *is_whole || body.is_end_stream();
        app.metrics.answered(route, *status, time, *bytes);
        if !is_whole {
            app.metrics.cut();
        }
        if let Some(line) = line {
            let ms = time.as_micros() as f64 / 1e3;
            tracing::debug!(request = line, status, bytes, ms, whole = is_whole, "answered");
        }
    }
}

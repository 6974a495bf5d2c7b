//! Answers, and why there is none.

use std::num::NonZero;
use std::sync::LazyLock;
use std::thread;

use axum::Json;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use tokio::sync::Semaphore;

use crate::error::Error;

/// Why a request is not answered: a status and one line of plain text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Refusal {
    pub(super) status: StatusCode,
    pub(super) text: String,
}

/// The answer to a request.
pub(super) type Answer = Result<Response, Refusal>;

impl Refusal {
    /// The request is wrong.
    pub(super) fn bad_request(text: impl Into<String>) -> Refusal {
        Refusal { status: StatusCode::BAD_REQUEST, text: text.into() }
    }

    /// There is no such thing.
    pub(super) fn not_found(text: impl Into<String>) -> Refusal {
        Refusal { status: StatusCode::NOT_FOUND, text: text.into() }
    }
}

impl From<Error> for Refusal {
    /// What was asked is fine, and what has the answer is not: the log has the details.
    fn from(error: Error) -> Refusal {
        tracing::error!(%error, "a source cannot be read");
        Refusal {
            status: StatusCode::INTERNAL_SERVER_ERROR,
            text: "the source cannot be read; the log of the server says why".to_string(),
        }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let plain = [(header::CONTENT_TYPE, "text/plain; charset=utf-8")];
        (self.status, plain, self.text + "\n").into_response()
    }
}

/// An object as JSON.
pub(super) fn object(value: &impl Serialize) -> Response {
    Json(value).into_response()
}

/// So much work goes on at once that waits for a disk or takes long. More would only share the processors.
static WORK: LazyLock<Semaphore> = LazyLock::new(|| {
    let processors = thread::available_parallelism().map_or(2, NonZero::get);
    Semaphore::new(2 * processors)
});

/// Does work that waits for a disk or takes long on a thread that may, when it is its turn.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Refusal> + Send + 'static,
) -> Result<T, Refusal> {
    let failed = |error: tokio::task::JoinError| {
        tracing::error!(%error, "a request failed");
        Refusal {
            status: StatusCode::INTERNAL_SERVER_ERROR,
            text: "failed; the log says why".into(),
        }
    };
    let turn = WORK.acquire().await;
    let done = tokio::task::spawn_blocking(work).await;
    drop(turn);
    done.map_err(failed)?
}

//! Answers and refusals.

use std::borrow::Cow;
use std::fmt::Display;
use std::num::NonZero;
use std::sync::{Arc, LazyLock};
use std::thread;

use axum::Json;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use tokio::sync::Semaphore;

use epdb_chess::error::Error;
use epdb_explorer as explorer;

/// A refused request: a status and one line of plain text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Refusal {
    pub(super) status: StatusCode,
    pub(super) text: String,
}

pub(super) type Answer = Result<Response, Refusal>;

impl Refusal {
    pub(super) fn bad_request(text: impl Into<String>) -> Refusal {
        Refusal { status: StatusCode::BAD_REQUEST, text: text.into() }
    }

    /// The refusal of a request for something that does not exist.
    pub(super) fn not_found(text: impl Into<String>) -> Refusal {
        Refusal { status: StatusCode::NOT_FOUND, text: text.into() }
    }

    /// The refusal after an internal error. The reason `why` goes to the log.
    pub(super) fn failed(why: impl Display) -> Refusal {
        tracing::error!(%why, "a request failed");
        Refusal {
            status: StatusCode::INTERNAL_SERVER_ERROR,
            text: "failed; the log says why".to_string(),
        }
    }
}

impl From<Error> for Refusal {
    /// Converts an error of a source to a refusal, although the request was valid. The details go to the log.
    fn from(error: Error) -> Refusal {
        tracing::error!(%error, "a source cannot be read");
        Refusal {
            status: StatusCode::INTERNAL_SERVER_ERROR,
            text: "the source cannot be read; the log of the server says why".to_string(),
        }
    }
}

impl From<explorer::Refusal> for Refusal {
    fn from(refusal: explorer::Refusal) -> Refusal {
        match refusal {
            explorer::Refusal::BadRequest(text) => Refusal::bad_request(text),
            explorer::Refusal::NotFound(text) => Refusal::not_found(text),
            explorer::Refusal::Failed(error) => error.into(),
        }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let plain = [(header::CONTENT_TYPE, "text/plain; charset=utf-8")];
        (self.status, plain, format!("{}\n", one_line(&self.text))).into_response()
    }
}

pub(super) fn object(value: &impl Serialize) -> Response {
    Json(value).into_response()
}

/// Maximum number of threads for work that waits for a disk or takes long. More threads would only compete
/// for the processors.
static WORK: LazyLock<Arc<Semaphore>> = LazyLock::new(|| {
    let processors = thread::available_parallelism().map_or(2, NonZero::get);
    Arc::new(Semaphore::new(2 * processors))
});

/// Waits for a turn, and then runs work on a blocking thread. This is for work that waits for a disk or takes
/// long. Work that has begun continues and keeps its turn, even if its client is gone.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Refusal> + Send + 'static,
) -> Result<T, Refusal> {
    let turn = Arc::clone(&WORK).acquire_owned().await;
    let work = move || {
        let _turn = turn;
        work()
    };
    tokio::task::spawn_blocking(work).await.map_err(Refusal::failed)?
}

/// Places for short lookups on the threads of the runtime. One of these threads stays free, so that
/// requests are accepted even if a disk is slow.
#[derive(Debug)]
pub(super) struct ShortLookups(Semaphore);

impl ShortLookups {
    /// Places on all threads except one.
    pub(super) fn new(threads: usize) -> ShortLookups {
        ShortLookups(Semaphore::new(threads.saturating_sub(1)))
    }

    /// Runs a lookup on this thread if a place is free, because passing it to a blocking thread
    /// costs more than a short lookup. Otherwise the lookup runs on a blocking thread.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        lookup: impl FnOnce() -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        match self.0.try_acquire() {
            Ok(_place) => lookup(),
            Err(_) => blocking(lookup).await,
        }
    }
}

/// A text with its control characters escaped, so that it can neither end a line nor control a
/// terminal.
pub(super) fn one_line(text: &str) -> Cow<'_, str> {
    if !text.contains(char::is_control) {
        return Cow::Borrowed(text);
    }
    let mut line = String::with_capacity(text.len() + 8);
    for character in text.chars() {
        if character.is_control() {
            line.extend(character.escape_default())
        } else {
            line.push(character)
        }
    }
    Cow::Owned(line)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::sync::{Mutex, PoisonError, mpsc};

    use super::*;

    /// Both tests take and count places of all threads.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

    #[test]
    fn short_lookups_leave_a_thread_free() {
        let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let here = thread::current().id();
        let is_here = move || Ok(thread::current().id() == here);
        let of = |threads| runtime.block_on(ShortLookups::new(threads).run(is_here)).unwrap();
        assert_eq!([0, 1, 2, 3].map(of), [false, false, true, true]);
    }

    #[test]
    fn work_keeps_its_turn_when_who_asked_is_gone() {
        let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let runtime = tokio::runtime::Builder::new_multi_thread().build().unwrap();
        let turns = WORK.available_permits();
        let (begun, has_begun) = mpsc::channel();
        let (end, may_end) = mpsc::channel::<()>();
        let asked = runtime.spawn(blocking(move || {
            begun.send(()).unwrap();
            may_end.recv().ok();
            Ok(())
        }));
        has_begun.recv().unwrap();
        asked.abort();
        assert!(runtime.block_on(asked).unwrap_err().is_cancelled());
        assert_eq!(WORK.available_permits(), turns - 1);
        drop(end);
        let all = u32::try_from(turns).unwrap();
        drop(runtime.block_on(WORK.acquire_many(all)).unwrap());
    }
}

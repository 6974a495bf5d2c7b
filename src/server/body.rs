//! Bodies of requests, as large and as slow as they may be.

use std::error::Error;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes};
use http_body_util::{LengthLimitError, Limited};
use hyper::body::{Frame, SizeHint};
use tokio::time::{Instant, Sleep, sleep};

use super::body_places::BodyPlace;
use super::limits::Limits;

/// A body that fails where it takes more than the limits give it, or another one takes its place.
pub(super) fn limited(body: Body, limits: &Limits, place: Option<BodyPlace>) -> Body {
    let paced = Paced::new(body, limits.body_time, limits.body_rate.get(), place);
    Body::new(Limited::new(paced, limits.body_size))
}

/// Whether a body failed by its size.
pub(super) fn is_too_large(error: &axum::Error) -> bool {
    let mut cause: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if error.is::<LengthLimitError>() {
            return true;
        }
        cause = error.source();
    }
    false
}

/// The body came too slowly.
#[derive(Debug)]
struct TooSlow;

impl fmt::Display for TooSlow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the body comes too slowly")
    }
}

impl Error for TooSlow {}

/// A body for which the server waits a while, and longer by what has come of it.
struct Paced {
    body: Body,
    /// It is never waited longer than this.
    longest: Duration,
    /// Bytes that make up for a second.
    rate: u64,
    /// How long it may still be waited for.
    left: Duration,
    /// Since when it is waited for.
    since: Option<Instant>,
    end: Pin<Box<Sleep>>,
    /// Until all of it has come.
    place: Option<BodyPlace>,
}

impl Paced {
    fn new(body: Body, longest: Duration, rate: u64, place: Option<BodyPlace>) -> Paced {
        let end = Box::pin(sleep(longest));
        Paced { body, longest, rate, left: longest, since: None, end, place }
    }

    /// Some bytes have come.
    fn came(&mut self, bytes: usize) {
        let waited = self.since.take().map_or(Duration::ZERO, |since| since.elapsed());
        let earned = Duration::from_secs_f64(bytes as f64 / self.rate as f64);
        self.left = self.left.saturating_sub(waited).saturating_add(earned).min(self.longest);
    }

    /// Nothing has come yet.
    fn wait(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if self.since.is_none() {
            let now = Instant::now();
            self.since = Some(now);
            self.end.as_mut().reset(now + self.left);
        }
        let has_made_room =
            self.place.as_mut().is_some_and(|place| Pin::new(&mut place.end).poll(cx).is_ready());
        let is_over = has_made_room || self.end.as_mut().poll(cx).is_ready();
        if is_over { Poll::Ready(Some(Err(axum::Error::new(TooSlow)))) } else { Poll::Pending }
    }
}

impl hyper::body::Body for Paced {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        match Pin::new(&mut self.body).poll_frame(cx) {
            Poll::Ready(Some(Ok(frame))) => {
                self.came(frame.data_ref().map_or(0, Bytes::len));
                Poll::Ready(Some(Ok(frame)))
            }
            Poll::Pending => self.wait(cx),
            ended => {
                self.place = None;
                ended
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

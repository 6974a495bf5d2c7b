//! Request bodies, limited in size and time.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::StatusCode;
use http_body_util::{LengthLimitError, Limited};
use hyper::body::{Frame, SizeHint};
use tokio::sync::oneshot;
use tokio::time::{Instant, Sleep, sleep};

use super::answer::Refusal;
use super::limits::Limits;

/// A request body. It fails if it exceeds the limits, or if its place among the bodies in transfer is given
/// to another body.
pub(super) fn limited(body: Body, limits: &Limits, place: Option<BodyPlace>) -> Body {
    let paced = Paced::new(body, limits.body_time, limits.body_rate.get(), place);
    Body::new(Limited::new(paced, limits.body_size))
}

/// Whether a body failed because of its size.
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

/// The error of a body that arrives too slowly.
#[derive(Debug)]
struct TooSlow;

impl fmt::Display for TooSlow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the body comes too slowly")
    }
}

impl Error for TooSlow {}

/// A body with a deadline that each received byte extends.
struct Paced {
    body: Body,
    /// The latest deadline.
    longest: Duration,
    /// Number of bytes that extend the deadline by a second.
    rate: u64,
    left: Duration,
    /// The start of the current wait.
    since: Option<Instant>,
    end: Pin<Box<Sleep>>,
    /// The slot that this body takes of the limited number of bodies in transfer. It is released when the
    /// body ends.
    place: Option<BodyPlace>,
}

impl Paced {
    fn new(body: Body, longest: Duration, rate: u64, place: Option<BodyPlace>) -> Paced {
        let end = Box::pin(sleep(longest));
        Paced { body, longest, rate, left: longest, since: None, end, place }
    }

    fn extend_deadline(&mut self, bytes: usize) {
        let waited = self.since.take().map_or(Duration::ZERO, |since| since.elapsed());
        let earned = Duration::from_secs_f64(bytes as f64 / self.rate as f64);
        self.left = self.left.saturating_sub(waited).saturating_add(earned).min(self.longest);
    }

    /// Waits for bytes until the deadline, or until the place is given to another body.
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
                self.extend_deadline(frame.data_ref().map_or(0, Bytes::len));
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

/// The bodies in transfer.
#[derive(Debug)]
pub(super) struct BodyPlaces {
    maximum: usize,
    max_of_address: usize,
    coming: Mutex<Coming>,
}

/// Client and cancel signal of each body, in the order in which the bodies began.
#[derive(Debug, Default)]
struct Coming {
    next: u64,
    all: BTreeMap<u64, (IpAddr, oneshot::Sender<()>)>,
}

/// A place, which is released on drop.
#[derive(Debug)]
pub(super) struct BodyPlace {
    places: Arc<BodyPlaces>,
    number: u64,
    /// Ready if the place is given to another body.
    pub(super) end: oneshot::Receiver<()>,
}

impl BodyPlaces {
    pub(super) fn new(limits: &Limits) -> BodyPlaces {
        BodyPlaces {
            maximum: limits.bodies.get(),
            max_of_address: limits.bodies_of_address.get(),
            coming: Mutex::default(),
        }
    }

    fn coming(&self) -> MutexGuard<'_, Coming> {
        self.coming.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a place for a body from an address. If all places are taken, the oldest body is
    /// cancelled.
    ///
    /// # Errors
    /// The address has its maximum number of bodies.
    pub(super) fn enter(self: &Arc<BodyPlaces>, address: IpAddr) -> Result<BodyPlace, Refusal> {
        let address = network_of(address);
        let mut coming = self.coming();
        let own = coming.all.values().filter(|(of, _)| *of == address).count();
        if own >= self.max_of_address {
            let text = format!(
                "{own} bodies of requests are coming from this address already; end one of them, or \
                 set limits.bodies-of-address"
            );
            return Err(Refusal { status: StatusCode::TOO_MANY_REQUESTS, text });
        }
        if coming.all.len() >= self.maximum {
            // The drop cancels the oldest body.
            coming.all.pop_first();
        }
        let number = coming.next;
        coming.next += 1;
        let (told, end) = oneshot::channel();
        coming.all.insert(number, (address, told));
        Ok(BodyPlace { places: Arc::clone(self), number, end })
    }
}

impl Drop for BodyPlace {
    fn drop(&mut self) {
        self.places.coming().all.remove(&self.number);
    }
}

/// The part of an address that identifies a client: for IPv6, the 64-bit network.
fn network_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)))
        }
        address => address,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::num::NonZeroUsize;

    use super::*;

    fn places(most: usize, of_address: usize) -> Arc<BodyPlaces> {
        let number = |count| NonZeroUsize::new(count).unwrap();
        let (bodies, bodies_of_address) = (number(most), number(of_address));
        Arc::new(BodyPlaces::new(&Limits { bodies, bodies_of_address, ..Limits::default() }))
    }

    #[test]
    fn an_address_has_fewer_places_than_all() {
        let places = places(9, 2);
        let enter = |address: &str| places.enter(address.parse().unwrap());
        let held = [enter("10.0.0.1").unwrap(), enter("10.0.0.1").unwrap()];
        assert_eq!(enter("10.0.0.1").unwrap_err().status, StatusCode::TOO_MANY_REQUESTS);
        assert_eq!(enter("::ffff:10.0.0.1").unwrap_err().status, StatusCode::TOO_MANY_REQUESTS);
        let _other = enter("10.0.0.2").unwrap();
        drop(held);
        let _again = enter("10.0.0.1").unwrap();
        let _networks = ["2001:db8::1", "2001:db8::ffff:1", "2001:db8:0:1::1"].map(enter);
        assert!(enter("2001:db8::2").is_err() && enter("2001:db8:0:1::2").is_ok());
    }

    #[test]
    fn the_body_that_began_first_makes_room() {
        let places = places(2, 2);
        let enter = |address: &str| places.enter(address.parse().unwrap()).unwrap();
        let [mut first, mut second] = ["10.0.0.1", "10.0.0.2"].map(enter);
        let _third = enter("10.0.0.3");
        assert_eq!(first.end.try_recv(), Err(oneshot::error::TryRecvError::Closed));
        assert_eq!(second.end.try_recv(), Err(oneshot::error::TryRecvError::Empty));
        drop(first);
        let _fourth = enter("10.0.0.4");
        assert_eq!(second.end.try_recv(), Err(oneshot::error::TryRecvError::Closed));
    }
}

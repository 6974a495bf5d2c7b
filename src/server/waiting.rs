//! Idle connections, which are closed when others have a request.

use std::collections::BTreeMap;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, ReadBuf};
use tokio::sync::{Notify, oneshot};

/// The idle connections.
#[derive(Default)]
pub(super) struct Waiting {
    queue: Mutex<Queue>,
    has_more: Notify,
}

/// The signals that close connections, in the order in which the connections became idle.
#[derive(Default)]
struct Queue {
    next: u64,
    ends: BTreeMap<u64, oneshot::Sender<()>>,
}

impl Waiting {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a new connection, which is idle, and returns it with its reader.
    pub(super) fn connect<R>(self: &Arc<Waiting>, reader: R) -> (Connected, Reader<R>) {
        let (end, told) = oneshot::channel();
        let number = self.wait(end);
        let connected = Connected { waiting: Arc::clone(self), number: Mutex::new(number) };
        (connected, Reader { reader, told: Some(told) })
    }

    fn wait(&self, end: oneshot::Sender<()>) -> u64 {
        let mut queue = self.queue();
        let number = queue.next;
        queue.next += 1;
        queue.ends.insert(number, end);
        self.has_more.notify_one();
        number
    }

    /// Closes the connection that is idle longest, as soon as there is one.
    pub(super) async fn end_longest(&self) {
        loop {
            if let Some((_, end)) = self.queue().ends.pop_first() {
                end.send(()).ok();
                return;
            }
            self.has_more.notified().await;
        }
    }
}

pub(super) struct Connected {
    waiting: Arc<Waiting>,
    /// The number that orders the connection in the queue.
    number: Mutex<u64>,
}

impl Connected {
    fn number(&self) -> MutexGuard<'_, u64> {
        self.number.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Call this when a request has arrived. The connection is not idle until the returned value is
    /// dropped.
    pub(super) fn active_request(self: &Arc<Connected>) -> ActiveRequest {
        let end = self.waiting.queue().ends.remove(&self.number());
        ActiveRequest { connected: Arc::clone(self), end }
    }
}

impl Drop for Connected {
    fn drop(&mut self) {
        self.waiting.queue().ends.remove(&self.number());
    }
}

/// A request in progress. When its answer ends, the connection is idle again.
pub(super) struct ActiveRequest {
    connected: Arc<Connected>,
    end: Option<oneshot::Sender<()>>,
}

impl Drop for ActiveRequest {
    fn drop(&mut self) {
        if let Some(end) = self.end.take() {
            *self.connected.number() = self.connected.waiting.wait(end);
        }
    }
}

/// The input of a connection, which ends when the connection is to be closed.
pub(super) struct Reader<R> {
    reader: R,
    told: Option<oneshot::Receiver<()>>,
}

impl<R: AsyncRead + Unpin> AsyncRead for Reader<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = Pin::new(&mut self.reader).poll_read(cx, buffer);
        let is_told = self.told.as_mut().is_none_or(|told| Pin::new(told).poll(cx).is_ready());
        if is_told {
            self.told = None;
        }
        if read.is_pending() && is_told { Poll::Ready(Ok(())) } else { read }
    }
}

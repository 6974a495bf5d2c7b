//! Which connections wait for a question, so that they make room when others have one.

use std::collections::BTreeMap;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, ReadBuf};
use tokio::sync::{Notify, oneshot};

/// The connections that wait for a question.
#[derive(Default)]
pub(super) struct Waiting {
    queue: Mutex<Queue>,
    has_more: Notify,
}

/// By the order in which they came to wait: how each is told to end.
#[derive(Default)]
struct Queue {
    next: u64,
    ends: BTreeMap<u64, oneshot::Sender<()>>,
}

impl Waiting {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A new connection, which waits, and what reads it.
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

    /// Ends the connection that waits longest, as soon as one does.
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

/// A connection.
pub(super) struct Connected {
    waiting: Arc<Waiting>,
    /// Its place in the queue.
    number: Mutex<u64>,
}

impl Connected {
    fn number(&self) -> MutexGuard<'_, u64> {
        self.number.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A question has come.
    pub(super) fn asked(self: &Arc<Connected>) -> Asked {
        let end = self.waiting.queue().ends.remove(&self.number());
        Asked { connected: Arc::clone(self), end }
    }
}

impl Drop for Connected {
    fn drop(&mut self) {
        self.waiting.queue().ends.remove(&self.number());
    }
}

/// A question: with the end of its answer the connection waits for another.
pub(super) struct Asked {
    connected: Arc<Connected>,
    end: Option<oneshot::Sender<()>>,
}

impl Drop for Asked {
    fn drop(&mut self) {
        if let Some(end) = self.end.take() {
            *self.connected.number() = self.connected.waiting.wait(end);
        }
    }
}

/// What comes over a connection, which seems to be all where it is told to end.
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

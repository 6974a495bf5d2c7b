//! A channel to a client: a thread that reads lines, and one that writes them.

use std::fmt;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::input::{Input, Queue};
use super::stopwatch::Stopwatch;
use crate::referee::seat::ChannelId;
use crate::referee::wire::{Lines, write_line};

/// So many lines of a channel may wait to be heard. Then no more are read.
const WAITING_LINES: usize = 64;
/// So long a client may not take a line.
const WRITE_WITHIN: Duration = Duration::from_secs(10);
/// So long a client may take to close its side.
const LINGER: Duration = Duration::from_secs(1);

/// A channel that is open.
pub(super) struct Channel {
    /// A serial line has another number for each client that comes over it.
    id: Arc<AtomicU64>,
    outgoing: Sender<Outgoing>,
    permits: SyncSender<()>,
    writer: Option<JoinHandle<()>>,
    is_serial: bool,
}

struct Outgoing {
    line: Vec<u8>,
    is_respond: bool,
}

impl Channel {
    pub(super) fn tcp(id: ChannelId, stream: TcpStream, queue: Queue, time: Stopwatch) -> Channel {
        stream.set_nodelay(true).ok();
        stream.set_write_timeout(Some(WRITE_WITHIN)).ok();
        let clones = (stream.try_clone(), stream.try_clone());
        let (Ok(reader), Ok(writer)) = clones else {
            return Channel::open(id, io::empty(), io::sink(), |_| {}, queue, time);
        };
        let hang_up = move |done: Receiver<()>| {
            // What was said is read before the channel is gone.
            stream.shutdown(Shutdown::Write).ok();
            done.recv_timeout(LINGER).ok();
            stream.shutdown(Shutdown::Both).ok();
        };
        Channel::open(id, reader, writer, hang_up, queue, time)
    }

    pub(super) fn serial(
        id: ChannelId,
        reader: impl Read + Send + 'static,
        writer: impl Write + Send + 'static,
        queue: Queue,
        time: Stopwatch,
    ) -> Channel {
        Channel { is_serial: true, ..Channel::open(id, reader, writer, |_| {}, queue, time) }
    }

    fn open(
        id: ChannelId,
        reader: impl Read + Send + 'static,
        writer: impl Write + Send + 'static,
        hang_up: impl FnOnce(Receiver<()>) + Send + 'static,
        queue: Queue,
        time: Stopwatch,
    ) -> Channel {
        let id = Arc::new(AtomicU64::new(id));
        let (permits, permitted) = sync_channel(WAITING_LINES);
        for _ in 0..WAITING_LINES {
            permits.try_send(()).ok();
        }
        let (outgoing, lines) = channel();
        let (ended, done) = channel();
        let reading = Side { id: id.clone(), queue, time };
        let writing = reading.clone();
        thread::spawn(move || {
            reading.read(reader, &permitted);
            drop(ended);
        });
        let writer = thread::spawn(move || {
            writing.write(writer, &lines);
            hang_up(done);
        });
        Channel { id, outgoing, permits, writer: Some(writer), is_serial: false }
    }

    /// Sends a line; if it is a `respond`, the queue hears when it was written.
    pub(super) fn send(&self, line: Vec<u8>, is_respond: bool) {
        self.outgoing.send(Outgoing { line, is_respond }).ok();
    }

    /// A line was heard, so that another one may come.
    pub(super) fn let_one_more_in(&self) {
        self.permits.try_send(()).ok();
    }

    /// Closes the channel when all is written; the thread that does so ends soon.
    pub(super) fn close(mut self) -> Option<JoinHandle<()>> {
        self.writer.take()
    }

    /// Gives a serial line another number, since it cannot be closed.
    ///
    /// # Errors
    /// The channel, which is no serial line.
    pub(super) fn reopen(self, id: ChannelId) -> Result<Channel, Channel> {
        if self.is_serial {
            self.id.store(id, Ordering::Relaxed);
            Ok(self)
        } else {
            Err(self)
        }
    }
}

impl fmt::Debug for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Channel").field("id", &self.id).finish_non_exhaustive()
    }
}

/// One side of a channel.
#[derive(Clone)]
struct Side {
    id: Arc<AtomicU64>,
    queue: Queue,
    time: Stopwatch,
}

impl Side {
    fn id(&self) -> ChannelId {
        self.id.load(Ordering::Relaxed)
    }

    /// Hands on each line with the time at which it was complete.
    fn read(&self, stream: impl Read, permitted: &Receiver<()>) {
        let mut lines = Lines::new(stream);
        while let Ok(Some(incoming)) = lines.next_line() {
            let at = self.time.now();
            if permitted.recv().is_err() {
                return;
            }
            self.queue.send(Input::Came(self.id(), at, incoming)).ok();
        }
        self.queue.send(Input::Closed(self.id(), self.time.now())).ok();
    }

    fn write(&self, mut stream: impl Write, lines: &Receiver<Outgoing>) {
        for Outgoing { line, is_respond } in lines {
            if write_line(&mut stream, &line).is_err() {
                self.queue.send(Input::Closed(self.id(), self.time.now())).ok();
                return;
            }
            if is_respond {
                self.queue.send(Input::Written(self.id(), self.time.now())).ok();
            }
        }
    }
}

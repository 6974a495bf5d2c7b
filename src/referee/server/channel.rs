//! A channel to a client: a thread that reads lines, and one that writes them.

use std::fmt;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::input::{Input, Number, Permits, Queue};
use crate::seat::ChannelId;
use crate::wire::{Lines, write_line};

/// Maximum number of queued lines of a channel. Reading pauses while the queue has this number of
/// lines.
const WAITING_LINES: usize = 64;
/// Maximum time for writing a line to a client.
pub(super) const WRITE_WITHIN: Duration = Duration::from_secs(10);
/// Maximum time without an answer from the machine of a client.
#[cfg(target_os = "linux")]
const GONE_WITHIN: Duration = Duration::from_secs(20);
/// Maximum time for a client to close its side.
const LINGER: Duration = Duration::from_secs(1);

pub(super) struct Channel {
    number: Number,
    outgoing: Sender<Outgoing>,
    writer: Option<JoinHandle<()>>,
    /// The connection; `None` for a serial line.
    socket: Option<TcpStream>,
}

struct Outgoing {
    line: Vec<u8>,
    /// The channel for which [`Input::Written`] is sent after the line was written; `None` if it is not sent.
    told_for: Option<ChannelId>,
}

impl Channel {
    pub(super) fn tcp(id: ChannelId, stream: TcpStream, queue: Queue) -> io::Result<Channel> {
        stream.set_nodelay(true).ok();
        stream.set_write_timeout(Some(WRITE_WITHIN)).ok();
        keep_alive(&stream);
        let reader = stream.try_clone()?;
        let writer = stream.try_clone()?;
        let socket = stream.try_clone()?;
        let hang_up = move |done: Receiver<()>| {
            // The client can read the last lines before the connection is closed.
            stream.shutdown(Shutdown::Write).ok();
            done.recv_timeout(LINGER).ok();
            stream.shutdown(Shutdown::Both).ok();
        };
        let channel = Channel::open(id, reader, writer, hang_up, queue)?;
        Ok(Channel { socket: Some(socket), ..channel })
    }

    pub(super) fn serial(
        id: ChannelId,
        reader: impl Read + Send + 'static,
        writer: impl Write + Send + 'static,
        queue: Queue,
    ) -> io::Result<Channel> {
        Channel::open(id, reader, writer, |_| {}, queue)
    }

    fn open(
        id: ChannelId,
        reader: impl Read + Send + 'static,
        writer: impl Write + Send + 'static,
        hang_up: impl FnOnce(Receiver<()>) + Send + 'static,
        queue: Queue,
    ) -> io::Result<Channel> {
        let number = Number::new(id);
        let (outgoing, lines) = channel();
        let (ended, done) = channel();
        let reading = Side { number: number.clone(), queue };
        let writing = reading.clone();
        let writer = thread::Builder::new().spawn(move || {
            writing.write(writer, &lines);
            hang_up(done);
        })?;
        thread::Builder::new().spawn(move || {
            reading.read(reader);
            drop(ended);
        })?;
        Ok(Channel { number, outgoing, writer: Some(writer), socket: None })
    }

    /// Sends a line other than a `respond`.
    pub(super) fn send(&self, line: Vec<u8>) {
        self.outgoing.send(Outgoing { line, told_for: None }).ok();
    }

    /// Sends a `respond`. The queue gets [`Input::Written`] when it was written.
    pub(super) fn send_respond(&self, line: Vec<u8>) {
        self.outgoing.send(Outgoing { line, told_for: Some(self.number.get()) }).ok();
    }

    /// Closes the channel after all lines have been written. Returns the thread that does so.
    pub(super) fn close(mut self) -> Option<JoinHandle<()>> {
        self.writer.take()
    }

    /// Cuts a connection at once, even if lines still wait to be written.
    pub(super) fn cut(self) {
        if let Some(socket) = &self.socket {
            socket.shutdown(Shutdown::Both).ok();
        }
    }

    /// Gives a serial line another number, because such a line cannot be closed.
    ///
    /// # Errors
    /// Returns the channel itself if it is not a serial line.
    pub(super) fn reopen(self, id: ChannelId) -> Result<Channel, Channel> {
        if self.socket.is_none() {
            self.number.set(id);
            Ok(self)
        } else {
            Err(self)
        }
    }
}

impl fmt::Debug for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Channel").field("number", &self.number).finish_non_exhaustive()
    }
}

/// Makes the system notice that the machine of a client has vanished, so that another client can
/// take the seat.
#[cfg(target_os = "linux")]
fn keep_alive(stream: &TcpStream) {
    use rustix::net::sockopt;

    let millis = u32::try_from(GONE_WITHIN.as_millis()).unwrap_or(u32::MAX);
    sockopt::set_socket_keepalive(stream, true).ok();
    sockopt::set_tcp_keepidle(stream, GONE_WITHIN / 2).ok();
    sockopt::set_tcp_keepintvl(stream, GONE_WITHIN / 4).ok();
    sockopt::set_tcp_keepcnt(stream, 2).ok();
    sockopt::set_tcp_user_timeout(stream, millis).ok();
}

#[cfg(not(target_os = "linux"))]
fn keep_alive(_: &TcpStream) {}

#[derive(Clone)]
struct Side {
    number: Number,
    queue: Queue,
}

impl Side {
    /// Hands on each line as soon as it is complete.
    fn read(&self, stream: impl Read) {
        let mut lines = Lines::new(stream);
        let permits = Permits::new(WAITING_LINES);
        while let Some(permit) = permits.wait()
            && let Ok(Some(incoming)) = lines.next_line()
        {
            if self.queue.send(Input::Came(self.number.clone(), permit, incoming)).is_err() {
                return;
            }
        }
        self.queue.send(Input::Closed(self.number.clone())).ok();
    }

    fn write(&self, mut stream: impl Write, lines: &Receiver<Outgoing>) {
        for Outgoing { line, told_for } in lines {
            if write_line(&mut stream, &line).is_err() {
                self.queue.send(Input::Closed(self.number.clone())).ok();
                return;
            }
            if let Some(id) = told_for {
                self.queue.send(Input::Written(id)).ok();
            }
        }
    }
}

//! The one queue of all inputs of the referee.

use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SendError, Sender, SyncSender, channel, sync_channel};
use std::time::{Duration, Instant};

use crate::arbiter::Order;
use crate::seat::ChannelId;
use crate::wire::Incoming;

/// A command of the supervisor to the referee.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum ControlCommand {
    /// A command for the arbiter.
    Order(Order),
    /// Show the standings.
    Standings,
    /// End the referee. The tournament can be resumed later.
    Stop,
}

#[derive(Debug)]
pub(super) enum Input {
    /// A client has connected.
    Accepted(TcpStream),
    /// A line arrived.
    Came(Number, Permit, Incoming),
    /// A `respond` was written.
    Written(ChannelId),
    /// A channel has ended: no more lines will arrive.
    Closed(Number),
    /// The client of a seat has ended. The second value is the number of its start.
    Exited(usize, u64),
    /// The client of a seat wrote a line to its standard error.
    Complaint(usize, Permit, String),
    /// A supervisor gave a command.
    Control(ControlCommand),
    /// A deadline has passed, and all earlier inputs have been taken.
    Tick,
}

/// The sender of inputs, each with its time.
#[derive(Clone, Debug)]
pub(super) struct Queue {
    sender: Sender<(Duration, Input)>,
    time: Stopwatch,
}

impl Queue {
    pub(super) fn send(&self, input: Input) -> Result<(), SendError<(Duration, Input)>> {
        self.sender.send((self.time.now(), input))
    }
}

pub(super) fn queue(time: Stopwatch) -> (Queue, Receiver<(Duration, Input)>) {
    let (sender, inputs) = channel();
    (Queue { sender, time }, inputs)
}

/// The number of a channel. A serial line gets a new number when the channel of its client is
/// closed, so that each client has its own number.
#[derive(Clone, Debug)]
pub(super) struct Number(Arc<AtomicU64>);

impl Number {
    pub(super) fn new(id: ChannelId) -> Number {
        Number(Arc::new(AtomicU64::new(id)))
    }

    pub(super) fn get(&self) -> ChannelId {
        self.0.load(Ordering::Relaxed)
    }

    pub(super) fn set(&self, id: ChannelId) {
        self.0.store(id, Ordering::Relaxed);
    }
}

/// Permission to put one input into the queue. The permission is given back when the input was
/// taken.
#[derive(Debug)]
pub(super) struct Permit(SyncSender<()>);

impl Drop for Permit {
    fn drop(&mut self) {
        self.0.try_send(()).ok();
    }
}

/// Permits for a number of queued inputs of one origin.
#[derive(Debug)]
pub(super) struct Permits {
    giver: SyncSender<()>,
    free: Receiver<()>,
}

impl Permits {
    pub(super) fn new(count: usize) -> Permits {
        let (giver, free) = sync_channel(count);
        (0..count).for_each(|_| giver.try_send(()).unwrap_or(()));
        Permits { giver, free }
    }

    pub(super) fn wait(&self) -> Option<Permit> {
        self.free.recv().ok().map(|()| Permit(self.giver.clone()))
    }

    /// Takes a permit if one is free now.
    pub(super) fn try_take(&self) -> Option<Permit> {
        self.free.try_recv().ok().map(|()| Permit(self.giver.clone()))
    }
}

/// A handle by which a supervisor sends commands to a running referee.
#[derive(Clone, Debug)]
pub struct Remote(Queue);

impl Remote {
    pub(super) const fn new(queue: Queue) -> Remote {
        Remote(queue)
    }

    /// Sends a command. It has no effect if the referee has ended.
    pub fn say(&self, wish: ControlCommand) {
        self.0.send(Input::Control(wish)).ok();
    }
}

/// The time since a tournament began, in whole microseconds. It stands still while there is no
/// referee.
#[derive(Copy, Clone, Debug)]
pub(super) struct Stopwatch {
    began: Instant,
    before: Duration,
}

impl Stopwatch {
    pub(super) fn starting_at(before: Duration) -> Stopwatch {
        Stopwatch { began: Instant::now(), before }
    }

    pub(super) fn now(&self) -> Duration {
        let now = self.before + self.began.elapsed();
        Duration::from_micros(now.as_micros().min(u64::MAX.into()) as u64)
    }
}

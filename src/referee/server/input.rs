//! The one queue in which all comes to the referee.

use std::net::TcpStream;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use crate::referee::arbiter::Order;
use crate::referee::seat::ChannelId;
use crate::referee::wire::Incoming;

/// What a supervisor wants of a referee.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Wish {
    /// Something for the arbiter.
    Order(Order),
    /// Show the standings.
    Standings,
    /// End, and let the tournament be gone on with later.
    Stop,
}

/// What comes to a referee.
#[derive(Debug)]
pub(super) enum Input {
    /// A client has connected.
    Accepted(TcpStream),
    /// A line came at that time.
    Came(ChannelId, Duration, Incoming),
    /// A `respond` was written at that time.
    Written(ChannelId, Duration),
    /// Nothing more will come.
    Closed(ChannelId, Duration),
    /// The client of a player, by the number of its start, has ended.
    Exited(usize, u64),
    /// The client of a player has something to say to people.
    Complaint(usize, String),
    /// A supervisor wants something.
    Wish(Wish),
}

pub(super) type Queue = Sender<Input>;

pub(super) fn queue() -> (Queue, Receiver<Input>) {
    channel()
}

/// By which a supervisor speaks to a referee that runs.
#[derive(Clone, Debug)]
pub struct Remote(Queue);

impl Remote {
    pub(super) const fn new(queue: Queue) -> Remote {
        Remote(queue)
    }

    /// Says what is wanted; a referee that has ended does not hear it.
    pub fn say(&self, wish: Wish) {
        self.0.send(Input::Wish(wish)).ok();
    }
}

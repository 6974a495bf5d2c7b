//! The referee's view of one client.

use std::time::Duration;

use super::wire::{Request, WireError};
use epdb_chess::text::codes;

/// The number of a channel, unique in the tournament.
pub type ChannelId = u64;

/// The state of a client. Before it has signed on, and after its channel was closed, it is away.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum SeatState {
    /// No client is signed on.
    Away,
    /// The client was sent `reset`. Nothing is sent to it until the silence ends.
    Resetting {
        /// The end of the silence.
        until: Duration,
    },
    /// The client waits for a game.
    SignedOn,
    /// The client knows its game, and gets its engine ready for it.
    Preparing {
        /// Time after which the client is asked for moves, even if it did not say that it is ready.
        until: Duration,
    },
    /// The client knows the tags and the moves of its game.
    Informed,
    /// The client was sent `respond`.
    Thinking,
    /// The opponent is to move.
    Waiting,
    /// The client was sent `conclude`. Nothing is sent to it until the silence ends.
    Concluding {
        /// The end of the silence.
        until: Duration,
    },
}

impl SeatState {
    /// The state in a word.
    pub const fn word(self) -> &'static str {
        match self {
            SeatState::Away => "away",
            SeatState::Resetting { .. } => "resetting",
            SeatState::SignedOn => "signed on",
            SeatState::Preparing { .. } => "preparing",
            SeatState::Informed => "informed",
            SeatState::Thinking => "thinking",
            SeatState::Waiting => "waiting",
            SeatState::Concluding { .. } => "concluding",
        }
    }

    /// The end of the current silence; `None` if records may be sent.
    pub const fn silent_until(self) -> Option<Duration> {
        match self {
            SeatState::Resetting { until } | SeatState::Concluding { until } => Some(until),
            _ => None,
        }
    }

    /// Time at which the state ends by itself; `None` if the state does not end by itself.
    pub const fn ends(self) -> Option<Duration> {
        match self {
            SeatState::Preparing { until } => Some(until),
            _ => self.silent_until(),
        }
    }

    /// Checks that a client in this state may send a request. A `sign_on` always passes, because it
    /// is checked elsewhere.
    ///
    /// # Errors
    /// `E-REF-STATE`: a reply that was not requested.
    pub fn check(self, request: &Request) -> Result<(), WireError> {
        match (self, request) {
            (SeatState::Thinking, _) | (_, Request::SignOn { .. }) => Ok(()),
            (_, Request::SignOff | Request::Fault { .. } | Request::Ready) => Ok(()),
            (_, Request::Reply(_)) => {
                let message =
                    format!("a reply that nobody asked for; the client is {}", self.word());
                Err(WireError::new(codes::E_REF_STATE, message))
            }
        }
    }
}

/// A seat for one client of a player. It may be empty.
#[derive(Clone, Debug)]
pub(super) struct Seat {
    pub(super) state: SeatState,
    pub(super) channel: Option<ChannelId>,
    /// Number of the game that the client plays.
    pub(super) game: Option<u32>,
    /// Whether the client of the seat says when it is ready for a game.
    pub(super) says_ready: bool,
    /// True if the last client has signed off.
    pub(super) has_signed_off: bool,
    /// True if a client has ever signed on.
    pub(super) has_come: bool,
    /// Number of times that the client was started for its game.
    pub(super) starts: u32,
    /// The token of the client that was started last. This client signs on with the token.
    pub(super) token: Option<String>,
    /// The address of the client that signed on last.
    pub(super) address: String,
    /// Number of times that the client went away during its game.
    pub(super) departures: u32,
    /// Time until which an absent client is awaited.
    pub(super) awaited_until: Option<Duration>,
    /// Number of faults on the channel.
    pub(super) faults: u32,
    /// True if the game ended while the client was thinking, so that its reply may still arrive.
    pub(super) owes_reply: bool,
}

impl Seat {
    pub(super) const fn new() -> Seat {
        Seat {
            state: SeatState::Away,
            channel: None,
            game: None,
            says_ready: false,
            has_signed_off: false,
            has_come: false,
            starts: 0,
            token: None,
            address: String::new(),
            departures: 0,
            awaited_until: None,
            faults: 0,
            owes_reply: false,
        }
    }

    pub(super) fn is_away(&self) -> bool {
        self.state == SeatState::Away
    }

    /// Call this when a client has signed on.
    pub(super) fn sign_on(&mut self, channel: ChannelId) {
        self.channel = Some(channel);
        self.awaited_until = None;
        self.has_come = true;
        self.faults = 0;
        self.owes_reply = false;
    }

    /// Call this when the client is gone.
    pub(super) const fn leave(&mut self) {
        self.state = SeatState::Away;
        self.channel = None;
        self.awaited_until = None;
        self.owes_reply = false;
    }
}

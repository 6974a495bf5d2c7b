//! The time by which engines are judged.

use std::fmt;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// What comes from an engine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Heard {
    /// A line of its standard output, without the line end.
    Said(String),
    /// A line of its standard error.
    Complained(String),
    /// A line that does not end.
    TooLong,
    /// The end of its standard output.
    Closed,
}

/// A clock that can wait: for the system's time, or in tests for one that the test sets.
pub trait Clock: Send + Sync + fmt::Debug {
    /// The time that has passed since some beginning.
    fn now(&self) -> Duration;

    /// Waits for what an engine says next, until it is `until`.
    ///
    /// # Errors
    /// Nothing came in time, or nothing will come any more.
    fn receive(&self, heard: &Receiver<Heard>, until: Duration) -> Result<Heard, RecvTimeoutError>;
}

/// The clock of the system.
#[derive(Copy, Clone, Debug)]
pub struct SystemClock(Instant);

impl SystemClock {
    /// A clock that begins now.
    pub fn new() -> SystemClock {
        SystemClock(Instant::now())
    }
}

impl Default for SystemClock {
    fn default() -> SystemClock {
        SystemClock::new()
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Duration {
        self.0.elapsed()
    }

    fn receive(&self, heard: &Receiver<Heard>, until: Duration) -> Result<Heard, RecvTimeoutError> {
        heard.recv_timeout(until.saturating_sub(self.now()))
    }
}

/// What the clocks of a game show.
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug)]
pub struct ClockReading {
    /// The time that White and Black have left.
    pub left: [Duration; 2],
    /// What each gains by a move.
    pub increment: [Duration; 2],
    /// Moves until the player to move gains more time; `None` when what is left is for the whole game.
    pub moves_to_go: Option<u32>,
}

impl ClockReading {
    /// The clocks at which both players have the same.
    pub const fn of_both(left: Duration, increment: Duration, moves_to_go: Option<u32>) -> Self {
        ClockReading { left: [left; 2], increment: [increment; 2], moves_to_go }
    }

    /// The clocks after both players have thought for so long.
    pub(super) fn after(self, used: Duration) -> ClockReading {
        ClockReading { left: self.left.map(|left| left.saturating_sub(used)), ..self }
    }

    /// The increments that an engine is told, in milliseconds.
    pub(super) fn told_increments(&self) -> [Option<u64>; 2] {
        self.increment.map(|time| Some(milliseconds(time)).filter(|time| *time > 0))
    }

    /// The limits of the command `go`.
    pub(super) fn limits(&self) -> [(&'static str, Option<u64>); 5] {
        let [white, black] = self.left.map(milliseconds).map(Some);
        let [winc, binc] = self.told_increments();
        let moves_to_go = self.moves_to_go.map(u64::from);
        [
            ("wtime", white),
            ("btime", black),
            ("winc", winc),
            ("binc", binc),
            ("movestogo", moves_to_go),
        ]
    }
}

/// A time as engines are told it.
pub(super) fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

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

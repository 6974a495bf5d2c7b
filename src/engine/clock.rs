//! The clock that measures engines.

use std::fmt;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// Output of an engine process.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum EngineOutput {
    /// A line of its standard output, without the line end.
    Line(String),
    /// A line of the standard error of the process.
    Stderr(String),
    /// A line longer than the limit.
    TooLong,
    /// The end of the standard output of the process.
    Closed,
}

/// A clock that can wait: the system clock or, in tests, a clock that the test advances.
pub trait Clock: Send + Sync + fmt::Debug {
    /// Time elapsed since a fixed start.
    fn now(&self) -> Duration;

    /// Waits for the next output of an engine, at most until `until`.
    ///
    /// # Errors
    /// Nothing arrived in time, or the output has ended.
    fn receive(
        &self,
        output: &Receiver<EngineOutput>,
        until: Duration,
    ) -> Result<EngineOutput, RecvTimeoutError>;
}

/// The system clock.
#[derive(Copy, Clone, Debug)]
pub struct SystemClock(Instant);

impl SystemClock {
    /// A clock that starts now.
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

    fn receive(
        &self,
        output: &Receiver<EngineOutput>,
        until: Duration,
    ) -> Result<EngineOutput, RecvTimeoutError> {
        output.recv_timeout(until.saturating_sub(self.now()))
    }
}

/// The state of both clocks of a game.
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug)]
pub struct ClockReading {
    /// The remaining time of White and Black.
    pub left: [Duration; 2],
    /// The increment for each move of White and Black.
    pub increment: [Duration; 2],
    /// Moves until the next time control; `None` if the remaining time is for the whole game.
    pub moves_to_go: Option<u32>,
}

impl ClockReading {
    /// Clocks with the same time for both players.
    pub const fn both(left: Duration, increment: Duration, moves_to_go: Option<u32>) -> Self {
        ClockReading { left: [left; 2], increment: [increment; 2], moves_to_go }
    }

    /// The clocks after both players used the time `used`.
    pub(super) fn after(self, used: Duration) -> ClockReading {
        ClockReading { left: self.left.map(|left| left.saturating_sub(used)), ..self }
    }

    /// The increments in milliseconds, as engines receive them.
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

/// A duration in milliseconds, as engines receive it.
pub(super) fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

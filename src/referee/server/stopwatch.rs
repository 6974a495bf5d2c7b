//! The time of a tournament.

use std::time::{Duration, Instant};

/// The time since a tournament began, in whole microseconds. It does not run while no referee does.
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

//! A progress bar on stderr: only on a terminal, and only after a second.

use std::io::{self, IsTerminal, Read};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::message::is_quiet;

/// How often at most the clock is asked and the bar drawn.
const STEP: u64 = 4096;

/// Shows how far a run has come.
pub(crate) struct Progress {
    bar: ProgressBar,
    started: Instant,
    records: u64,
}

impl Progress {
    /// Begins; `bytes` is the size of the whole input where it is known.
    pub(crate) fn new(bytes: Option<u64>) -> Progress {
        let bar = ProgressBar::with_draw_target(bytes, ProgressDrawTarget::hidden());
        let template = match bytes {
            Some(_) => "{bar:30} {bytes}/{total_bytes}, {msg}, {eta} left",
            None => "{spinner} {msg}, {elapsed}",
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        Progress { bar, started: Instant::now(), records: 0 }
    }

    /// An input whose bytes count as progress.
    pub(crate) fn count<R: Read>(&self, input: R) -> impl Read + use<R> {
        Counted { input, bar: self.bar.clone() }
    }

    /// Says that one more record was read.
    pub(crate) fn record(&mut self) {
        self.records += 1;
        if !self.records.is_multiple_of(STEP) {
            return;
        }
        let due = self.started.elapsed() > Duration::from_secs(1);
        if due && self.bar.is_hidden() && io::stderr().is_terminal() && !is_quiet() {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        if !self.bar.is_hidden() {
            self.bar.set_message(format!("{} records", self.records));
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

struct Counted<R> {
    input: R,
    bar: ProgressBar,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.input.read(buffer)?;
        self.bar.inc(count as u64);
        Ok(count)
    }
}

//! Progress bars on stderr: only on a terminal, and only after a second.

use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::terminal::{is_quiet, many};

/// Shortest interval between updates of the bar.
const STEP: u64 = 4096;

pub(crate) struct Progress {
    bar: ProgressBar,
    started: Instant,
    /// Bytes of files that were read.
    bytes: Arc<AtomicU64>,
    records: u64,
    /// Whether the bar is shown at all.
    is_wanted: bool,
}

/// Whether stderr is a terminal and a bar is wanted.
fn is_watched() -> bool {
    io::stderr().is_terminal() && !is_quiet()
}

impl Progress {
    /// Starts a bar; `bytes` is the size of the whole input, if known.
    pub(crate) fn new(bytes: Option<u64>) -> Progress {
        let bar = ProgressBar::with_draw_target(bytes, ProgressDrawTarget::hidden());
        let template = match bytes {
            Some(_) => "{bar:30} {bytes}/{total_bytes}, {msg}, {eta} left",
            None => "{spinner} {msg}, {elapsed}",
        };
        bar.set_style(style(template));
        let started = Instant::now();
        Progress { bar, started, bytes: Arc::default(), records: 0, is_wanted: true }
    }

    /// A bar that is never shown, because another bar is shown.
    pub(crate) fn hidden() -> Progress {
        let mut progress = Progress::new(None);
        progress.is_wanted = false;
        progress
    }

    pub(crate) const fn bytes(&self) -> &Arc<AtomicU64> {
        &self.bytes
    }

    /// Counts a record.
    pub(crate) fn record(&mut self) {
        self.records(1);
    }

    /// Adds to the number of records read.
    pub(crate) fn records(&mut self, count: u64) {
        let steps = self.records / STEP;
        self.records += count;
        if self.records / STEP == steps {
            return;
        }
        let due = self.started.elapsed() > Duration::from_secs(1);
        if due && self.bar.is_hidden() && self.is_wanted && is_watched() {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        if !self.bar.is_hidden() {
            self.bar.set_position(self.bytes.load(Ordering::Relaxed));
            self.bar.set_message(many(self.records, "record"));
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// Progress of writing, which is shown only if there is much to write.
pub(crate) struct Writing {
    bar: ProgressBar,
}

impl Writing {
    /// Shows a bar if there is much to write.
    pub(crate) fn new(what: &'static str, is_much: bool) -> Writing {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        bar.set_style(style("{spinner} {msg}, {elapsed}"));
        bar.set_message(what);
        if is_much && is_watched() {
            bar.set_draw_target(ProgressDrawTarget::stderr());
            bar.enable_steady_tick(Duration::from_millis(200));
        }
        Writing { bar }
    }

    /// Sets the number of written records; `all` is the number of records to write, if known.
    pub(crate) fn records(&self, written: u64, all: Option<u64>) {
        if let Some(all) = all.filter(|_| self.bar.length().is_none()) {
            self.bar.set_length(all);
            self.bar.set_style(style("{bar:30} {pos} of {len} positions packed, {eta} left"));
            self.bar.reset_eta();
        }
        self.bar.inc(written);
    }
}

impl Drop for Writing {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// Lines that are redrawn at their place, if they are wanted and standard error is a terminal.
pub(crate) fn redrawn_lines(is_wanted: bool) -> ProgressBar {
    let lines = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
    lines.set_style(style("{msg}"));
    if is_wanted && is_watched() {
        lines.set_draw_target(ProgressDrawTarget::stderr());
    }
    lines
}

/// The style of a template. If the template is invalid, the default style.
fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

/// Progress of engines through the records of a file.
pub(crate) struct Searches {
    bar: ProgressBar,
    started: Instant,
}

impl Searches {
    /// Starts a bar; `records` is the number of records, if known.
    pub(crate) fn new(records: Option<u64>) -> Searches {
        let bar = ProgressBar::with_draw_target(records, ProgressDrawTarget::hidden());
        let template = match records {
            Some(_) => "{bar:30} {pos}/{len} records, {msg}, {eta} left",
            None => "{spinner} {pos} records, {msg}, {elapsed}",
        };
        bar.set_style(style(template));
        Searches { bar, started: Instant::now() }
    }

    /// Sets the number of finished records.
    pub(crate) fn show(&self, records: u64, message: impl FnOnce() -> String) {
        if self.started.elapsed() < Duration::from_secs(1) || !is_watched() {
            return;
        }
        self.bar.set_position(records);
        self.bar.set_message(message());
        if self.bar.is_hidden() {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
    }

    /// Hides the bar while lines are printed.
    pub(crate) fn suspend(&self, print: impl FnOnce()) {
        self.bar.suspend(print);
    }
}

impl Drop for Searches {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

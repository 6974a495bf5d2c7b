//! How many threads a run has.

use std::num::NonZeroUsize;
use std::sync::OnceLock;

use anyhow::Context;

use super::message::note;

/// More threads than this on each core only take memory and time.
const MOST_A_CORE: usize = 4;

/// Reads the value of `--threads`.
pub(crate) fn parse(text: &str) -> Result<NonZeroUsize, String> {
    let count: usize = text.parse().map_err(|_| "expected a number".to_string())?;
    NonZeroUsize::new(count).ok_or_else(|| "at least 1; one a core is the default".to_string())
}

/// Starts the threads, unless they were started already: as many as asked for, within bounds, or
/// one a core.
///
/// # Errors
/// The system grants no threads.
pub(crate) fn start(asked: Option<NonZeroUsize>) -> anyhow::Result<()> {
    static STARTED: OnceLock<()> = OnceLock::new();
    if STARTED.set(()).is_err() {
        return Ok(());
    }
    let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let most = MOST_A_CORE * cores;
    let count = asked.map_or(cores, NonZeroUsize::get);
    if count > most {
        note!("epdb: {count} threads are too many for {cores} cores: {most} are used");
    }
    let count = count.min(most);
    rayon::ThreadPoolBuilder::new().num_threads(count).build_global().with_context(|| {
        format!("the system grants no {count} threads: ask for fewer by --threads")
    })
}

//! An observer shows a tournament, and takes over when the referee has gone.

use std::path::Path;
use std::thread;
use std::time::Duration;

use super::game_file::Score;
use super::{Referee, Watch, tablebases};
use crate::arbiter::Action;
use crate::log::{Entry, Log, LogReader, Note, Recovered};
use epdb_chess::error::Result;

/// Interval between reads of the log.
const LOOK: Duration = Duration::from_millis(100);

/// Follows the log of a tournament and shows the tournament. When the referee has gone, takes over
/// and returns the new referee; `None` if the tournament is over or its referee was stopped.
///
/// # Errors
/// The log cannot be read or is damaged, or [`Referee::open`] fails.
pub fn observe(log: &Path, watch: &mut dyn Watch) -> Result<Option<Box<Referee>>> {
    let mut reader = LogReader::open(log)?;
    let mut seen: Option<Recovered> = None;
    loop {
        match &mut seen {
            None => {
                seen = Recovered::read(&mut reader)?;
                if let Some(Recovered { arbiter, .. }) = &seen {
                    let score = Score::new(arbiter.finished()).line(arbiter);
                    watch.message(&format!("looking on: {score}"));
                }
            }
            Some(seen) => {
                seen.follow(&mut reader, |entry| {
                    if let Entry::Note(Note::Action(Action::Message(text))) = entry {
                        watch.message(text);
                    }
                })?;
            }
        }
        if let Some(seen) = &seen {
            watch.show(&seen.arbiter.snapshot(seen.at));
            if seen.arbiter.has_ended() {
                return Ok(None);
            }
            if seen.is_stopped {
                watch.message("the referee was stopped; its command goes on");
                return Ok(None);
            }
            if let Some(mut held) = Log::lock(log)? {
                let recovered = held.recover(&seen.settings)?;
                watch.message("the referee has gone; this one takes over");
                return Referee::go_on(held, recovered, &tablebases::open, None).map(Some);
            }
        }
        thread::sleep(LOOK);
    }
}

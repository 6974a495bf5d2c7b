//! The log of a tournament: all that happened and all that was said, one line each
//! (`formats/referee_log.md`).
//!
//! Who holds the lock of the file is the referee. What an [`Arbiter`](super::Arbiter) is after the events
//! of the log, it was when the last of them was written, so a tournament goes on from its log.

mod entry;
mod file;
mod follow;

pub use entry::{Entry, Note, SettingsText};
pub(super) use file::private;
pub use file::{Log, Recovered};
pub use follow::LogReader;

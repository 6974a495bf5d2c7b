//! The log of a tournament: all events, messages and actions, one per line
//! (`formats/notes/referee_log.md`).
//!
//! The process that holds the lock of the file is the referee. Replaying the events of a log
//! restores the [`Arbiter`](super::Arbiter) as it was at the last event, so a tournament can be
//! resumed from its log.

mod entry;
mod file;
mod follow;

pub use entry::{Entry, Note, SettingsText};
pub(super) use file::private;
pub use file::{Log, Recovered};
pub use follow::LogReader;

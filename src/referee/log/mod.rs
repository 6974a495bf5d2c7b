//! The log of a tournament: all that happened and all that was said, one line each
//! (`formats/referee_log.md`).
//!
//! The process that holds the lock of the file is the referee. Replaying the events of a log gives an
//! [`Arbiter`](super::Arbiter) in the state in which the last event was written, so a tournament resumes
//! from its log.

mod entry;
mod file;
mod follow;

pub use entry::{Entry, Note, SettingsText};
pub(super) use file::private;
pub use file::{Log, Recovered};
pub use follow::LogReader;

//! What `epdb shell` puts around the processor of commands: a terminal or a script, files, the records
//! of sources, and the commands of epdb that answer questions about a position.

mod files;
mod help;
mod obey;
mod programs;
mod records;
pub(crate) mod script;
pub(crate) mod terminal;

pub(crate) use obey::Shell;

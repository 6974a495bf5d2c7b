//! What `epdb shell` puts around the processor of commands: a terminal or a script, files, the records
//! of sources, and the commands of epdb that answer questions about a position.

mod execute;
mod files;
mod records;
pub(crate) mod script;
mod subcommands;
pub(crate) mod terminal;

pub(crate) use execute::Shell;

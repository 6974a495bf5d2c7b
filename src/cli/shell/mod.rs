//! Parts of `epdb shell`: terminal and scripts, files, records of sources, and commands about a
//! position.

mod execute;
mod records;
pub(crate) mod script;
mod subcommands;
pub(crate) mod terminal;

pub(crate) use execute::Shell;
pub(crate) use subcommands::ExecuteCommand;

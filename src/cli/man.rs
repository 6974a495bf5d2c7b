//! `epdb man`: the manual pages, one a command, with all options.

use std::path::PathBuf;

use anyhow::Context;

use super::help;
use super::outcome::Outcome;

/// Write the manual pages of all commands into a folder
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Example: epdb man /usr/local/share/man/man1")]
pub(crate) struct Args {
    /// The folder; it must be there
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

/// Writes `epdb.1` and a page for each command into a folder.
pub(crate) fn run(cli: clap::Command, Args { folder }: &Args) -> anyhow::Result<Outcome> {
    let failed = || format!("cannot write into the folder {}", folder.display());
    let cli = cli.after_help(help::pages());
    clap_mangen::generate_to(cli, folder).with_context(failed)?;
    Ok(Outcome::Done)
}

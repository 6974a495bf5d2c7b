//! `epdb man`: the manual pages, one a command, with all options.

use std::path::Path;

use anyhow::Context;

use super::help;
use super::outcome::Outcome;

/// Writes `epdb.1` and a page for each command into a folder.
pub(crate) fn run(cli: clap::Command, folder: &Path) -> anyhow::Result<Outcome> {
    let failed = || format!("cannot write into the folder {}", folder.display());
    let cli = cli.after_help(help::pages());
    clap_mangen::generate_to(cli, folder).with_context(failed)?;
    Ok(Outcome::Done)
}

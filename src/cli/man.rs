//! `epdb man`: the manual pages, one a command, with all options.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Command;
use clap_mangen::Man;

use super::groups::{GROUPS, Group};
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
pub(crate) fn run(cli: Command, Args { folder }: &Args) -> anyhow::Result<Outcome> {
    let failed = || format!("cannot write into the folder {}", folder.display());
    let mut cli = cli.after_help(help::pages()).disable_help_subcommand(true);
    clap_mangen::generate_to(cli.clone(), folder).with_context(failed)?;
    cli.build();
    write_first_page(&cli, folder).with_context(failed)?;
    Ok(Outcome::Done)
}

/// Writes the page of epdb itself, with the commands in their groups.
fn write_first_page(cli: &Command, folder: &Path) -> io::Result<()> {
    let man = Man::new(cli.clone());
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    for group in &GROUPS {
        Man::new(with_only(cli, group)).render_subcommands_section(&mut page)?;
    }
    man.render_extra_section(&mut page)?;
    man.render_version_section(&mut page)?;
    fs::write(folder.join(man.get_filename()), page)
}

/// The command line with the commands of one group under its heading.
fn with_only(cli: &Command, group: &Group) -> Command {
    let only = |command: Command| {
        let is_in = group.commands.contains(&command.get_name());
        command.hide(!is_in)
    };
    cli.clone().mut_subcommands(only).subcommand_help_heading(group.heading)
}

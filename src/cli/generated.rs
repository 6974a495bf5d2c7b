//! `epdb man` and `epdb completions`: files made from the description of the command line.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Command;
use clap_mangen::Man;

use crate::cli::help;
use crate::cli::help::{GROUPS, Group, OTHERS};
use crate::cli::outcome::Outcome;
use crate::cli::output::open_output;

/// Write the manual pages of all commands into a folder
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Example: epdb man /usr/local/share/man/man1")]
pub(crate) struct ManArgs {
    /// Write the pages into this folder, which must exist
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

/// Writes `epdb.1` and a page for each command into a folder.
pub(crate) fn man(cli: Command, ManArgs { folder }: &ManArgs) -> anyhow::Result<Outcome> {
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
    for group in GROUPS.iter().chain([&OTHERS]) {
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

/// Print the completion script of a shell
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Example: epdb completions bash > /etc/bash_completion.d/epdb")]
pub(crate) struct CompletionsArgs {
    /// Shell that will read the script
    shell: clap_complete::Shell,
}

pub(crate) fn completions(
    mut cli: clap::Command,
    args: &CompletionsArgs,
) -> anyhow::Result<Outcome> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut cli, "epdb", &mut script);
    let mut output = open_output(None)?;
    output.write_all(&script)?;
    output.finish()?;
    Ok(Outcome::Done)
}

//! `epdb completions`: the completion script of a shell, with all options.

use std::io::Write;

use super::outcome::Outcome;
use super::output::open_output;

/// Print the completion script of a shell
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Example: epdb completions bash > /etc/bash_completion.d/epdb")]
pub(crate) struct Args {
    /// The shell
    shell: clap_complete::Shell,
}

pub(crate) fn run(mut cli: clap::Command, args: &Args) -> anyhow::Result<Outcome> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut cli, "epdb", &mut script);
    let mut output = open_output(None)?;
    output.write_all(&script)?;
    output.finish()?;
    Ok(Outcome::Done)
}

//! `epdb count`: a bare number.

use std::path::PathBuf;

use crate::cli::args::ReadArgs;
use crate::cli::diagnostics::Diagnostics;
use crate::cli::outcome::Outcome;
use crate::cli::source;

/// Print how many records there are
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Example: epdb count book.epd suite.epdb")]
pub(crate) struct Args {
    /// Files to read; none, or `-`, is standard input
    files: Vec<PathBuf>,
    #[command(flatten)]
    read: ReadArgs,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let mut diagnostics = Diagnostics::new(&args.read)?;
    source::read(&args.files, &args.read, &mut diagnostics, &mut |_| Ok(true))?;
    println!("{}", diagnostics.tally.records);
    diagnostics.finish()
}

//! `epdb count`: a bare number.

use std::path::PathBuf;

use crate::cli::args::ReadArgs;
use crate::cli::diagnostics::Diagnostics;
use crate::cli::outcome::Outcome;
use crate::cli::output::print_line;
use crate::cli::source::{self, Item};

/// Print how many records there are; of files of games how many games, or with --positions how
/// many positions
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Example: epdb count book.epd suite.epdb")]
pub(crate) struct Args {
    /// Files to read; none, or `-`, is standard input
    files: Vec<PathBuf>,
    #[command(flatten)]
    read: ReadArgs,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let mut diagnostics = Diagnostics::new(&args.read.form)?;
    let (read, mut any) = (&args.read, |_: Item<'_>| Ok(true));
    source::read_with_games(&args.files, read, &mut diagnostics, &mut any, &mut |_| Ok(None))?;
    print_line(diagnostics.tally.records + diagnostics.tally.games)?;
    diagnostics.finish()
}

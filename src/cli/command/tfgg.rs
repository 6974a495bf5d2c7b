//! `epdb tfgg`: the SAN Kit's name for games made regular.

use std::path::PathBuf;

use crate::cli::args::{GameTextArgs, ReadArgs};
use crate::cli::games::GamePipe;
use crate::cli::outcome::Outcome;
use epdb::source::GameFormat;

/// Write games in reduced export format: the seven tags and the moves
///
/// The same as `convert --reduced`, with any number of files in and standard output.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Example: epdb tfgg sloppy.pgn -o regular.pgn")]
pub(crate) struct Args {
    /// Files of games; none, or `-`, is standard input
    files: Vec<PathBuf>,
    #[command(flatten)]
    read: ReadArgs,
    #[command(flatten)]
    text: GameTextArgs,
    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let format = GameFormat::Pgn(args.text.pgn(true));
    let (files, read, output) = (&args.files, &args.read, args.output.as_deref());
    GamePipe { files, read, format, output }.run(|game, _, output| output.write(game))
}

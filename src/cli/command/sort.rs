//! `epdb sort`: games in archival order.

use std::path::PathBuf;

use anyhow::Context;

use crate::cli::args::{GameWriteArgs, MemoryArgs, OutputArgs, ReadArgs};
use crate::cli::file_format::FileFormat;
use crate::cli::games::{self, GameFormat};
use crate::cli::outcome::Outcome;

/// Sort games in the order of archives: by date, event, site, round, White, Black, result, moves
///
/// Rounds are compared part by part as numbers. The output is PGN in export format, or PGC.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Example: epdb sort 1991.pgn 1992.pgn -o archive.pgn")]
pub(crate) struct Args {
    /// Files of games; none, or `-`, is standard input
    files: Vec<PathBuf>,
    #[command(flatten)]
    read: ReadArgs,
    #[command(flatten)]
    games: GameWriteArgs,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    memory: MemoryArgs,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let output = args.output.output.as_deref();
    let format = args.output.to.or(output.and_then(FileFormat::of_name));
    let format = GameFormat::new(format.unwrap_or(FileFormat::Pgn), &args.games)
        .context("games become .pgn or .pgc")?;
    games::sort(&args.files, &args.read, args.memory.memory, &format, output)
}

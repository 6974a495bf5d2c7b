//! `epdb book`: opening books of Polyglot.

mod info;
mod list;
mod make;

use clap::Subcommand;

use crate::cli::outcome::Outcome;

/// List, inspect, make and merge Polyglot opening books (.bin)
///
/// A book stores only keys of positions. To find the positions, epdb plays moves from the start
/// position, or from positions in files that you name.
#[derive(clap::Args, Clone, Debug)]
#[command(arg_required_else_help = true, disable_help_subcommand = true)]
#[command(after_help = "Examples:
  epdb book make games.pgn -o book.bin --max-ply 40
  epdb book list book.bin
  epdb book merge mine.bin theirs.bin -o both.bin
  epdb book info *.bin")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Clone, Debug)]
enum Command {
    Make(Box<make::MakeArgs>),
    List(Box<list::Args>),
    Merge(make::MergeArgs),
    Info(info::Args),
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    match &args.command {
        Command::Make(args) => make::make(args),
        Command::List(args) => list::run(args),
        Command::Merge(args) => make::merge(args),
        Command::Info(args) => info::run(args),
    }
}
